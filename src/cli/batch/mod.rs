//! `batch`: an inventory of any number of documents. Inputs and outputs are streams, so memory does
//! not grow with the list.

mod catalogue;
mod input;
mod output;
mod progress;
mod summary;

use std::collections::HashMap;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{Stream, StreamExt, stream};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use self::catalogue::Catalogue;
use self::input::{Document, Item, Walk};
use self::output::{Format, Output, Row};
use self::progress::Progress;
use self::summary::Summary;
use super::args::{BatchArgs, BatchFormat};
use super::{USAGE, block_on, complain, configure};
use crate::access::Access;
use crate::contract::{Envelope, Input, ProbeOptions, Record, Reply, View};
use crate::supervisor::{Settings, Supervisor, Waiting};

/// Exit status when some records failed.
const SOME_FAILED: u8 = 1;
/// Exit status after an interruption, as usual on Unix.
const INTERRUPTED: u8 = 130;
/// Records that may be ahead of the oldest unfinished one, for each job. A document that takes long
/// must not keep the other jobs idle while the output stays in order.
const AHEAD: usize = 64;
/// Items that the producer may be ahead.
const QUEUED: usize = 1024;

pub(super) fn run(args: &BatchArgs) -> ExitCode {
    let view = match args.format {
        BatchFormat::Csv => View::Values,
        BatchFormat::Jsonl => args.view.into(),
    };
    let options = match args.flags.options() {
        Ok(options) => options.with_view(view),
        Err(error) => {
            complain(&error.to_string());
            return ExitCode::from(USAGE);
        }
    };
    let config = match configure(&args.root.quiet()) {
        Ok(config) => config,
        Err(code) => return code,
    };
    let mut settings = config.supervisor;
    settings.max_concurrency = args.jobs();
    block_on(batch(args, options, settings))
}

async fn batch(args: &BatchArgs, options: ProbeOptions, settings: Settings) -> ExitCode {
    let access = Access::new(settings.roots.clone());
    let supervisor = Arc::new(Supervisor::start(settings));
    let outcome = match Job::prepare(args, options, access, Arc::clone(&supervisor)).await {
        Ok(job) => job.run(args).await,
        Err(message) => Err(message),
    };
    supervisor.drain(Duration::ZERO, Waiting::Refuse).await;
    outcome.unwrap_or_else(|message| {
        complain(&message);
        ExitCode::from(USAGE)
    })
}

/// Everything that is settled before the first document.
struct Job {
    prober: Arc<Prober>,
    output: Output,
    /// Documents that an earlier output has already, by the hash of their path.
    done: HashMap<u64, u32>,
    walk: Walk,
}

/// What one document is probed with.
struct Prober {
    supervisor: Arc<Supervisor>,
    access: Access,
    options: Arc<ProbeOptions>,
    /// By extension, where the targets had to be narrowed to those of the format.
    narrowed: HashMap<String, Arc<ProbeOptions>>,
    permits: Semaphore,
    stop: CancellationToken,
}

/// A document with its answer.
struct Done {
    path: String,
    reply: Reply,
    took: Duration,
}

impl Job {
    async fn prepare(
        args: &BatchArgs,
        options: ProbeOptions,
        access: Access,
        supervisor: Arc<Supervisor>,
    ) -> Result<Self, String> {
        supervisor.engine().await.map_err(|error| error.message)?;
        let is_csv = args.format == BatchFormat::Csv;
        let needs_targets = is_csv || !options.targets().is_empty();
        let catalogue = Catalogue::load(&supervisor, needs_targets).await?;
        catalogue.check(&options)?;
        let format = if is_csv {
            Format::Csv(catalogue.columns(&options))
        } else {
            Format::Jsonl
        };
        let (output, done) = Output::open(args, format)?;
        let walk = Walk {
            hidden: args.hidden,
            ignored: args.no_ignore,
            extensions: (!args.all_files).then(|| catalogue.extensions()),
        };
        let prober = Prober {
            supervisor,
            access,
            narrowed: catalogue.narrowed(&options),
            options: Arc::new(options),
            permits: Semaphore::new(args.jobs()),
            stop: CancellationToken::new(),
        };
        Ok(Self {
            prober: Arc::new(prober),
            output,
            done,
            walk,
        })
    }

    async fn run(self, args: &BatchArgs) -> Result<ExitCode, String> {
        let Self {
            prober,
            mut output,
            done,
            walk,
        } = self;
        let stop = prober.stop.clone();
        let signals = tokio::spawn(stop_on_signals(stop.clone()));
        let (sender, items) = mpsc::channel(QUEUED);
        let found = input::produce(args, walk, sender)?;
        let mut progress = Progress::new(args.quiet, Arc::clone(&found));
        let mut summary = Summary::default();
        let mut answers = answers(&prober, items, done, args.unordered, args.jobs());
        while let Some(answer) = answers.next().await {
            // A document that was not started before the interruption has no answer.
            let Some(answer) = answer else { continue };
            summary.count(&answer.path, &answer.reply, answer.took);
            progress.advance();
            if !output.send(Row::new(answer.path, &answer.reply)).await {
                stop.cancel();
                break;
            }
        }
        drop(answers);
        signals.abort();
        progress.finish();
        let interrupted = stop.is_cancelled();
        let failed = summary.failed();
        let closed = output.finish(!interrupted).await;
        if !args.quiet {
            summary.print(&prober.supervisor.snapshot());
        }
        match closed {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                return Err(format!("the output cannot be written: {error}"));
            }
            // The reader has left: what it did not want is not probed.
            Err(_) => {}
            Ok(()) if interrupted => {
                complain(&how_to_go_on(args));
                return Ok(ExitCode::from(INTERRUPTED));
            }
            Ok(()) => {}
        }
        if let Some(problem) = found.problem() {
            return Err(problem);
        }
        Ok(if failed > 0 {
            ExitCode::from(SOME_FAILED)
        } else {
            ExitCode::SUCCESS
        })
    }
}

type Answers = Pin<Box<dyn Stream<Item = Option<Done>>>>;

/// Probes items as they come: in their order, or as they finish.
fn answers(
    prober: &Arc<Prober>,
    items: mpsc::Receiver<Item>,
    done: HashMap<u64, u32>,
    unordered: bool,
    jobs: usize,
) -> Answers {
    let stopped = prober.stop.clone().cancelled_owned();
    let prober = Arc::clone(prober);
    let probes = stream::unfold((items, done), next_item)
        .take_until(Box::pin(stopped))
        .map(move |item| Arc::clone(&prober).answer(item));
    let window = jobs.saturating_mul(AHEAD);
    if unordered {
        Box::pin(probes.buffer_unordered(window))
    } else {
        Box::pin(probes.buffered(window))
    }
}

/// The next item that is not done yet. A path that is listed twice is done when it was twice.
async fn next_item(
    (mut items, mut done): (mpsc::Receiver<Item>, HashMap<u64, u32>),
) -> Option<(Item, (mpsc::Receiver<Item>, HashMap<u64, u32>))> {
    loop {
        let item = items.recv().await?;
        match done.get_mut(&output::key(&item.path)) {
            Some(left) if *left > 0 => *left -= 1,
            _ => return Some((item, (items, done))),
        }
    }
}

impl Prober {
    async fn answer(self: Arc<Self>, item: Item) -> Option<Done> {
        let _permit = self.permits.acquire().await.ok()?;
        if self.stop.is_cancelled() {
            return None;
        }
        let begun = Instant::now();
        let reply = match self.record(&item.path, item.document).await {
            Ok(record) => {
                let options = self.options_for(&record);
                self.supervisor.probe(&record, options).await
            }
            Err(envelope) => Reply::from_envelope(&envelope, &self.supervisor.tool_version()),
        };
        Some(Done {
            path: item.path,
            reply,
            took: begun.elapsed(),
        })
    }

    async fn record(&self, path: &str, document: Document) -> Result<Record, Envelope> {
        let name = match document {
            Document::File => return self.access.admit(path).await,
            Document::Bytes(record) => return Ok(*record),
            Document::Failed(envelope) => return Err(*envelope),
            Document::Named(name) => name,
        };
        match self.access.admit(path).await?.into_input() {
            Input::Path { path, .. } => Record::from_path(path, Some(name)),
            Input::Bytes { name, data_base64 } => Record::from_base64(name, data_base64),
        }
    }

    fn options_for(&self, record: &Record) -> &ProbeOptions {
        let narrowed = record
            .display_name()
            .and_then(|name| name.rsplit_once('.'))
            .and_then(|(_, extension)| self.narrowed.get(&extension.to_ascii_lowercase()));
        narrowed.unwrap_or(&self.options)
    }
}

/// Stops the batch at the first signal and the process at the second.
async fn stop_on_signals(stop: CancellationToken) {
    signal().await;
    complain("stopping after the documents in hand; once more to end at once");
    stop.cancel();
    signal().await;
    std::process::exit(i32::from(INTERRUPTED));
}

#[cfg(unix)]
async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        },
        Err(_) => drop(tokio::signal::ctrl_c().await),
    }
}

#[cfg(not(unix))]
async fn signal() {
    drop(tokio::signal::ctrl_c().await);
}

fn how_to_go_on(args: &BatchArgs) -> String {
    match &args.out {
        Some(out) => format!(
            "interrupted; what is done is in {}: repeat the command with --resume to go on",
            output::partial(out).display()
        ),
        None => "interrupted; with --out FILE the command could go on where it stopped".into(),
    }
}
