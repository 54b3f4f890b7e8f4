//! What the engine says about itself: asked once, by a process of its own, and remembered until the
//! engine is another one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::time::timeout;

use crate::contract::{Envelope, ErrorCode, Reply};

use super::current_engine::CurrentEngine;
use super::engine_program::{Answer, ResolvedEngine};
use super::failure::AdmissionError;
use super::fair_queue::Lane;
use super::ledger::NO_RECORDS;
use super::os;
use super::pool::{Granted, Pool};
use super::pool_state::{Arrival, Request};
use super::settings::Settings;
use super::starter::Starter;
use super::stderr_tail::excerpt;

/// Most answers that are kept.
const MAX_ANSWERS: usize = 64;

/// A question about the engine itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Introspection {
    /// The `formats` report.
    Formats,
    /// The `targets` report of one format.
    Targets(String),
    /// The JSON Schema of reports.
    Schema,
}

impl Introspection {
    fn arguments(&self) -> Vec<String> {
        match self {
            Self::Formats => vec!["formats".to_owned()],
            // One argument, so that no name can become a flag.
            Self::Targets(format) => vec!["targets".to_owned(), format!("--format={format}")],
            Self::Schema => vec!["schema".to_owned()],
        }
    }
}

/// Asks the engine, and remembers its answers. Only good ones are kept, and there are few: one a format.
pub(super) struct Introspector {
    settings: Arc<Settings>,
    pool: Arc<Pool>,
    starter: Arc<Starter>,
    engine: Arc<CurrentEngine>,
    /// By the generation of the engine.
    known: Mutex<HashMap<(u64, Introspection), Arc<str>>>,
    /// One question at a time; who waits for it finds the answer.
    asking: tokio::sync::Mutex<()>,
}

/// Why there is no answer.
pub(super) enum NoAnswer {
    /// An error reply of the engine.
    Reply(Reply),
    /// An error of ours.
    Envelope(Envelope),
}

impl Introspector {
    pub(super) fn new(
        settings: &Arc<Settings>,
        pool: &Arc<Pool>,
        starter: &Arc<Starter>,
        engine: &Arc<CurrentEngine>,
    ) -> Self {
        Self {
            settings: Arc::clone(settings),
            pool: Arc::clone(pool),
            starter: Arc::clone(starter),
            engine: Arc::clone(engine),
            known: Mutex::default(),
            asking: tokio::sync::Mutex::new(()),
        }
    }

    /// The answer, verbatim.
    pub(super) async fn answer(&self, what: &Introspection) -> Result<Arc<str>, NoAnswer> {
        if let Some(known) = self.known(what) {
            return Ok(known);
        }
        let begun = Instant::now();
        let longest = self.settings.queue_timeout;
        // A question that hangs must not hold up each of those behind it for as long again.
        let Ok(_one_question) = timeout(longest, self.asking.lock()).await else {
            return Err(AdmissionError::WaitedTooLong {
                waited: begun.elapsed(),
                depth: self.pool.load().waiting,
            }
            .into());
        };
        if let Some(known) = self.known(what) {
            return Ok(known);
        }
        let engine = match self.engine.known() {
            Some(engine) => engine,
            None => {
                let _seat = self.pool.take_seat()?;
                let found = self.engine.find(|| ()).await;
                found.map_err(|error| NoAnswer::Envelope(error.envelope()))?
            }
        };
        self.ask(what, engine, longest).await
    }

    async fn ask(
        &self,
        what: &Introspection,
        engine: Arc<ResolvedEngine>,
        longest: Duration,
    ) -> Result<Arc<str>, NoAnswer> {
        let request = Request {
            lane: Lane::Interactive,
            want: NO_RECORDS,
            arrival: Arrival::New,
        };
        let failure =
            |why: String| NoAnswer::Envelope(Envelope::new(ErrorCode::McpEngineFailure, why));
        let (Granted::Place(place), _) = self.pool.acquire(request, longest).await? else {
            return Err(failure("no place for another process".to_owned()));
        };
        let generation = engine.generation;
        let longest = self.settings.record_timeout;
        let answer = self
            .starter
            .ask(place, Arc::clone(&engine), what.arguments(), longest)
            .await;
        let answer = answer.map_err(|why| failure(engine.cannot_start(&why)));
        let Answer { status, output, .. } = answer?;
        let text = std::str::from_utf8(output.trim_ascii()).unwrap_or_default();
        if status.success() && text.starts_with('{') {
            let answer: Arc<str> = text.into();
            self.keep(generation, what, &answer);
            return Ok(answer);
        }
        match Reply::from_engine(text.as_bytes(), None) {
            Ok(reply) if reply.is_error() => Err(NoAnswer::Reply(reply)),
            _ => {
                let (how, _) = os::describe_exit(status);
                let shown = excerpt(text.as_bytes());
                Err(failure(format!("the engine {how} and answered: {shown}")))
            }
        }
    }

    fn known(&self, what: &Introspection) -> Option<Arc<str>> {
        let key = (self.engine.generation(), what.clone());
        self.lock().get(&key).cloned()
    }

    fn keep(&self, generation: u64, what: &Introspection, answer: &Arc<str>) {
        let mut known = self.lock();
        known.retain(|(of, _), _| *of == generation);
        if known.len() < MAX_ANSWERS {
            known.insert((generation, what.clone()), Arc::clone(answer));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(u64, Introspection), Arc<str>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<AdmissionError> for NoAnswer {
    fn from(error: AdmissionError) -> Self {
        Self::Envelope(error.envelope())
    }
}
