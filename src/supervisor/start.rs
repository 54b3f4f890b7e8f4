//! Starting a child: one that serves records, seen to answer before it counts as ready, or one that
//! is asked a single thing by its arguments.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, mpsc};

use crate::contract::{ErrorCode, ProbeOptions, Profile, Reply};

use super::child::{Broken, Child, Stir};
use super::core::Core;
use super::failure::StartError;
use super::recycle::{Limits, Reason};
use super::resolve::Engine;
use super::tend::Tender;
use super::worker::{Phase, Shared, Worker};

/// A request that no engine touches a file for; the cheapest sign of life.
const PING: &[u8] = b"{}\n";
/// Starts a child and sees it answer a ping within `limit`. The slot is given back when the child has
/// been reaped, also when the start fails.
pub(super) async fn start(
    core: &Arc<Core>,
    engine: &Arc<Engine>,
    profile: &Profile,
    slot: OwnedSemaphorePermit,
    limit: Duration,
) -> Result<Worker, StartError> {
    let limits = Limits::of_a_child_born(Instant::now(), &core.settings);
    let shared = Arc::new(Shared::new(
        core.next_id(),
        profile.clone(),
        Arc::clone(engine),
        limits,
    ));
    let process =
        super::spawner::spawn(engine.command(&core.settings, &engine.jsonl_arguments(profile)))
            .await
            .map_err(|error| StartError::Failed(engine.cannot_start(&error.to_string())))?;
    let mut tender = Tender {
        core: Arc::clone(core),
        child: Child::new(Arc::clone(&shared), process, engine.through_launcher()),
        slot: Some(slot),
        ready: false,
    };
    core.note_born(&shared);
    let begun = Instant::now();
    if let Err(error) = tender.greet(engine, limit).await {
        core.tracker.spawn(tender.end(Reason::Start.into(), None));
        return Err(error);
    }
    metrics::histogram!("deckprobe_start_seconds").record(begun.elapsed());
    tracing::debug!(child = shared.id, pid = shared.pid(), profile = %profile, "engine started");
    let (commands, inbox) = mpsc::unbounded_channel();
    shared.touch();
    shared.set_phase(Phase::Idle);
    core.tracker.spawn(tender.tend(inbox));
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
    engine: &Arc<Engine>,
    arguments: &[String],
    slot: OwnedSemaphorePermit,
    limit: Duration,
) -> Result<Answer, String> {
    let limits = Limits::of_a_child_born(Instant::now(), &core.settings);
    let profile = ProbeOptions::new().profile();
    let shared = Shared::new(core.next_id(), profile, Arc::clone(engine), limits);
    let shared = Arc::new(shared);
    let command = engine.command(&core.settings, arguments);
    let process = super::spawner::spawn(command)
        .await
        .map_err(|error| error.to_string())?;
    let mut tender = Tender {
        core: Arc::clone(core),
        child: Child::new(Arc::clone(&shared), process, engine.through_launcher()),
        slot: Some(slot),
        ready: false,
    };
    shared.set_phase(Phase::Busy);
    core.note_born(&shared);
    let longest = core.settings.max_reply_bytes;
    let output = tender
        .child
        .whole_output(limit, longest, &core.killing)
        .await;
    let status = match &output {
        Ok(_) => tender.status_soon().await,
        Err(_) => None,
    };
    let (exit, perhaps) = match status {
        Some((_, perhaps)) => (tender.child.reap().await, perhaps),
        None => (None, None),
    };
    let launch_failure = tender.child.words.launch_failure().map(str::to_owned);
    let words = tender.child.words.shown() + &noted(perhaps);
    core.tracker
        .spawn(tender.end(Reason::Discovery.into(), None));
    if let Some(why) = launch_failure {
        return Err(why);
    }
    match (output, exit) {
        (Ok(output), Some(status)) => Ok(Answer {
            status,
            output,
            words,
        }),
        (Err(Broken::Deadline), _) => {
            Err(format!("it did not answer within {} ms", limit.as_millis()))
        }
        (Err(Broken::Oversized), _) => Err(format!("it printed more than {longest} bytes")),
        (Err(_), _) => Err("the server is shutting down".to_owned()),
        (Ok(_), None) => Err("it closed its output and went on".to_owned()),
    }
}

impl Tender {
    /// Pings the child, so that a start that fails is never blamed on a document.
    async fn greet(&mut self, engine: &Engine, limit: Duration) -> Result<(), StartError> {
        let core = Arc::clone(&self.core);
        let longest = core.settings.max_reply_bytes;
        let answer = self
            .child
            .exchange(PING, limit, longest, None, &core.killing)
            .await;
        let length = match answer {
            Ok(length) => length,
            Err(broken) => return Err(self.failed_start(engine, broken, limit).await),
        };
        let line = self.child.output().get(..length).unwrap_or_default();
        let reply = Reply::from_engine(line, None).map_err(|error| {
            let excerpt = super::words::excerpt(line);
            StartError::Failed(
                engine.cannot_start(&format!("its first line is no reply ({error}): {excerpt}")),
            )
        })?;
        match reply.head().code {
            Some(ErrorCode::InvalidRequest) => {}
            // The command line was refused: these options are at fault, not the engine.
            Some(ErrorCode::CliSyntax) => return Err(StartError::Refused(reply)),
            _ => {
                let what = super::words::excerpt(reply.json().as_bytes());
                let why = format!("it does not answer as a deckprobe engine does: {what}");
                return Err(StartError::Failed(engine.cannot_start(&why)));
            }
        }
        if let Some(more) = self.child.take_line(length) {
            let why = format!("it printed something nobody asked for: {more}");
            return Err(StartError::Failed(engine.cannot_start(&why)));
        }
        self.ready = true;
        self.child.catch_up_on_words();
        core.note_confinement(self.child.words.applied());
        Ok(())
    }

    async fn failed_start(
        &mut self,
        engine: &Engine,
        broken: Broken,
        limit: Duration,
    ) -> StartError {
        let why = match broken {
            Broken::Killed => return StartError::ShuttingDown,
            Broken::Deadline | Broken::DeafUntilDeadline => {
                format!("it was not ready within {} ms", limit.as_millis())
            }
            Broken::BeforeHandOver(Stir::Unasked(what)) => {
                // The command line was refused before the ping was written.
                let line = self.child.output().split(|byte| *byte == b'\n').next();
                let refusal = line.and_then(|line| Reply::from_engine(line, None).ok());
                if let Some(reply) = refusal.filter(Reply::is_error) {
                    return StartError::Refused(reply);
                }
                format!("it printed something nobody asked for: {what}")
            }
            Broken::Oversized => "its first line does not end".to_owned(),
            _ => match self.status_soon().await {
                Some((how, perhaps)) => format!("it {how} before it was ready{}", noted(perhaps)),
                None => "it closed its pipes before it was ready".to_owned(),
            },
        };
        if let Some(why) = self.child.words.launch_failure() {
            return StartError::Failed(engine.cannot_start(why));
        }
        let words = self.child.words.shown();
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
