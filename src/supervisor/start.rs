//! Starting a child: one that serves records, seen to answer before it counts as ready, or one that
//! is asked a single thing by its arguments.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, mpsc};

use crate::contract::{ErrorCode, ProbeOptions, Profile, Reply};
use crate::telemetry::metric;

use super::child::{Child, ExchangeError, IdleEvent};
use super::child_task::ChildTask;
use super::core::Core;
use super::failure::StartError;
use super::recycle::{Reason, RecycleLimits};
use super::resolve::ResolvedEngine;
use super::worker::{ChildStatus, Phase, Worker};

/// A request that no engine touches a file for; the cheapest sign of life.
const PING: &[u8] = b"{}\n";
/// Starts a child and sees it answer a ping within `limit`. The slot is given back when the child has
/// been reaped, also when the start fails.
pub(super) async fn start(
    core: &Arc<Core>,
    engine: &Arc<ResolvedEngine>,
    profile: &Profile,
    slot: OwnedSemaphorePermit,
    limit: Duration,
) -> Result<Worker, StartError> {
    let limits = RecycleLimits::of_a_child_born(Instant::now(), &core.settings);
    let shared = Arc::new(ChildStatus::new(
        core.next_id(),
        profile.clone(),
        Arc::clone(engine),
        limits,
    ));
    let process =
        super::spawner::spawn(engine.command(&core.settings, &engine.jsonl_arguments(profile)))
            .await
            .map_err(|error| StartError::Failed(engine.cannot_start(&error.to_string())))?;
    let mut task = ChildTask {
        core: Arc::clone(core),
        child: Child::new(Arc::clone(&shared), process, engine.through_launcher()),
        slot: Some(slot),
        ready: false,
    };
    core.register(&shared);
    let begun = Instant::now();
    if let Err(error) = task.ping(engine, limit).await {
        core.tracker.spawn(task.end(Reason::Start.into(), None));
        return Err(error);
    }
    metrics::histogram!(metric::START_SECONDS).record(begun.elapsed());
    tracing::debug!(child = shared.id, pid = shared.pid(), profile = %profile, "engine started");
    let (commands, inbox) = mpsc::unbounded_channel();
    shared.touch();
    shared.set_phase(Phase::Idle);
    core.tracker.spawn(task.run(inbox));
    Ok(Worker::new(shared, commands))
}

/// What a child answered that was asked one thing by its arguments.
pub(super) struct Answer {
    pub(super) status: std::process::ExitStatus,
    pub(super) output: Vec<u8>,
    /// The end of its stderr, escaped, and a likely cause of a bad end.
    pub(super) words: String,
}

/// Runs a child that is asked one thing by its arguments and ends by itself.
pub(super) async fn run_once(
    core: &Arc<Core>,
    engine: &Arc<ResolvedEngine>,
    arguments: &[String],
    slot: OwnedSemaphorePermit,
    limit: Duration,
) -> Result<Answer, String> {
    let limits = RecycleLimits::of_a_child_born(Instant::now(), &core.settings);
    let profile = ProbeOptions::new().profile();
    let shared = ChildStatus::new(core.next_id(), profile, Arc::clone(engine), limits);
    let shared = Arc::new(shared);
    let command = engine.command(&core.settings, arguments);
    let process = super::spawner::spawn(command)
        .await
        .map_err(|error| error.to_string())?;
    let mut task = ChildTask {
        core: Arc::clone(core),
        child: Child::new(Arc::clone(&shared), process, engine.through_launcher()),
        slot: Some(slot),
        ready: false,
    };
    shared.set_phase(Phase::Busy);
    core.register(&shared);
    let longest = core.settings.max_reply_bytes;
    let output = task.child.whole_output(limit, longest, &core.killing).await;
    let status = match &output {
        Ok(_) => task.status_soon().await,
        Err(_) => None,
    };
    let (exit, perhaps) = match status {
        Some((_, perhaps)) => (task.child.reap().await, perhaps),
        None => (None, None),
    };
    let launch_failure = task.child.stderr_tail.launch_failure().map(str::to_owned);
    let words = task.child.stderr_tail.shown() + &noted(perhaps);
    core.tracker.spawn(task.end(Reason::Discovery.into(), None));
    if let Some(why) = launch_failure {
        return Err(why);
    }
    match (output, exit) {
        (Ok(output), Some(status)) => Ok(Answer {
            status,
            output,
            words,
        }),
        (Err(ExchangeError::Deadline), _) => {
            Err(format!("it did not answer within {} ms", limit.as_millis()))
        }
        (Err(ExchangeError::Oversized), _) => Err(format!("it printed more than {longest} bytes")),
        (Err(_), _) => Err("the server is shutting down".to_owned()),
        (Ok(_), None) => Err("it closed its output and went on".to_owned()),
    }
}

impl ChildTask {
    /// Pings the child, so that a start that fails is never blamed on a document.
    async fn ping(&mut self, engine: &ResolvedEngine, limit: Duration) -> Result<(), StartError> {
        let core = Arc::clone(&self.core);
        let longest = core.settings.max_reply_bytes;
        let answer = self
            .child
            .exchange(PING, limit, longest, None, &core.killing)
            .await;
        let length = match answer {
            Ok(length) => length,
            Err(error) => return Err(self.failed_start(engine, error, limit).await),
        };
        let line = self.child.output().get(..length).unwrap_or_default();
        let reply = Reply::from_engine(line, None).map_err(|error| {
            let excerpt = super::stderr_tail::excerpt(line);
            StartError::Failed(
                engine.cannot_start(&format!("its first line is no reply ({error}): {excerpt}")),
            )
        })?;
        match reply.head().code {
            Some(ErrorCode::InvalidRequest) => {}
            // The command line was refused: these options are at fault, not the engine.
            Some(ErrorCode::CliSyntax) => return Err(StartError::Refused(reply)),
            _ => {
                let what = super::stderr_tail::excerpt(reply.json().as_bytes());
                let why = format!("it does not answer as a deckprobe engine does: {what}");
                return Err(StartError::Failed(engine.cannot_start(&why)));
            }
        }
        if let Some(more) = self.child.take_line(length) {
            let why = format!("it printed something nobody asked for: {more}");
            return Err(StartError::Failed(engine.cannot_start(&why)));
        }
        self.ready = true;
        self.child.read_available_stderr();
        core.note_confinement(self.child.stderr_tail.applied());
        Ok(())
    }

    async fn failed_start(
        &mut self,
        engine: &ResolvedEngine,
        error: ExchangeError,
        limit: Duration,
    ) -> StartError {
        let why = match error {
            ExchangeError::Killed => return StartError::ShuttingDown,
            ExchangeError::Deadline | ExchangeError::NeverRead => {
                format!("it was not ready within {} ms", limit.as_millis())
            }
            ExchangeError::BeforeHandOver(IdleEvent::Unasked(what)) => {
                // The command line was refused before the ping was written.
                let line = self.child.output().split(|byte| *byte == b'\n').next();
                let refusal = line.and_then(|line| Reply::from_engine(line, None).ok());
                if let Some(reply) = refusal.filter(Reply::is_error) {
                    return StartError::Refused(reply);
                }
                format!("it printed something nobody asked for: {what}")
            }
            ExchangeError::Oversized => "its first line does not end".to_owned(),
            _ => match self.status_soon().await {
                Some((how, perhaps)) => format!("it {how} before it was ready{}", noted(perhaps)),
                None => "it closed its pipes before it was ready".to_owned(),
            },
        };
        if let Some(why) = self.child.stderr_tail.launch_failure() {
            return StartError::Failed(engine.cannot_start(why));
        }
        let words = self.child.stderr_tail.shown();
        let words = if words.is_empty() {
            words
        } else {
            format!("; its last words: {words}")
        };
        StartError::Failed(engine.cannot_start(&format!("{why}{words}")))
    }
}

/// A likely cause, in parentheses.
fn noted(perhaps: Option<String>) -> String {
    perhaps.map_or_else(String::new, |why| format!(" ({why})"))
}
