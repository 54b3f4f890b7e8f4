//! What the engine says about itself: asked once, by a child of its own, and remembered until the
//! engine is another one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::time::timeout;

use crate::contract::{Envelope, ErrorCode, Reply};

use super::Introspection;
use super::admission::AdmissionError;
use super::core::Core;
use super::fair_queue::Lane;
use super::start;

/// Remembered answers. Only good ones are kept, and of those there are few: one a format.
#[derive(Default)]
pub(super) struct Answers {
    known: Mutex<HashMap<(u64, Introspection), Arc<str>>>,
    /// One question at a time; who waits for it finds the answer in the books.
    asking: tokio::sync::Mutex<()>,
}

/// Most answers that are kept.
const MOST: usize = 64;

impl Answers {
    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    fn get(&self, generation: u64, what: &Introspection) -> Option<Arc<str>> {
        self.lock().get(&(generation, what.clone())).cloned()
    }

    fn keep(&self, generation: u64, what: &Introspection, answer: &Arc<str>) {
        let mut known = self.lock();
        if known.len() < MOST {
            known.insert((generation, what.clone()), Arc::clone(answer));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(u64, Introspection), Arc<str>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Core {
    /// A discovery answer, verbatim.
    pub(super) async fn introspect(
        self: &Arc<Self>,
        what: &Introspection,
    ) -> Result<Arc<str>, Reply> {
        if let Some(known) = self.answers.get(self.engine.generation(), what) {
            return Ok(known);
        }
        let begun = Instant::now();
        let longest = self.settings.queue_timeout;
        // A question that hangs must not hold up each of those behind it for as long again.
        let Ok(_one_question) = timeout(longest, self.answers.asking.lock()).await else {
            let refusal = AdmissionError::WaitedTooLong {
                waited: begun.elapsed(),
                depth: self.admission.load().waiting,
            };
            return Err(self.reply(&refusal.envelope()));
        };
        if let Some(known) = self.answers.get(self.engine.generation(), what) {
            return Ok(known);
        }
        let permit = self
            .admission
            .acquire(Lane::Interactive, longest)
            .await
            .map_err(|refusal| self.reply(&refusal.envelope()))?;
        let asked = self.ask(what).await;
        drop(permit);
        asked
    }

    async fn ask(self: &Arc<Self>, what: &Introspection) -> Result<Arc<str>, Reply> {
        let version = self.tool_version();
        let engine = self.engine().await.map_err(|e| e.reply(&version))?;
        let slot = self
            .slot(self.settings.start_timeout)
            .await
            .map_err(|e| e.reply(&version))?;
        let generation = engine.generation;
        let arguments = arguments(what);
        let limit = self.settings.record_timeout;
        let core = Arc::clone(self);
        let answer = self.tracker.spawn(async move {
            start::run_once(&core, &engine, &arguments, slot, limit)
                .await
                .map_err(|why| engine.cannot_start(&why))
        });
        let failure = |why: String| self.reply(&Envelope::new(ErrorCode::McpEngineFailure, why));
        let answer = answer.await.unwrap_or_else(|error| Err(error.to_string()));
        let start::Answer { status, output, .. } = answer.map_err(failure)?;
        let text = std::str::from_utf8(output.trim_ascii()).unwrap_or_default();
        if status.success() && text.starts_with('{') {
            let answer: Arc<str> = text.into();
            self.answers.keep(generation, what, &answer);
            return Ok(answer);
        }
        match Reply::from_engine(text.as_bytes(), None) {
            Ok(reply) if reply.is_error() => Err(reply),
            _ => {
                let (how, _) = super::os::describe_exit(status);
                let shown = super::stderr_tail::excerpt(text.as_bytes());
                Err(failure(format!("the engine {how} and answered: {shown}")))
            }
        }
    }
}

fn arguments(what: &Introspection) -> Vec<String> {
    match what {
        Introspection::Formats => vec!["formats".to_owned()],
        // Written as one argument, so that no name can become a flag.
        Introspection::Targets(format) => vec!["targets".to_owned(), format!("--format={format}")],
        Introspection::Schema => vec!["schema".to_owned()],
    }
}
