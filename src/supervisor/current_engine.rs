//! The engine in use: found on first need, looked at again now and then, found anew after an upgrade.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::core::Core;
use super::failure::StartError;
use super::keyed_pool::retire_all;
use super::recycle::Reason;
use super::resolve::{self, FileIdentity, ResolvedEngine};

/// How often the file on disk is looked at, while there are calls.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long a file that proved to be no usable engine is left alone, unless it changes again.
const REFUSED_FOR: Duration = Duration::from_secs(30);

/// The resolved engine. A failed search is not remembered here: the breaker paces the next one.
#[derive(Default)]
pub(super) struct CurrentEngine {
    known: Mutex<Known>,
    generation: AtomicU64,
    /// One search at a time.
    searching: tokio::sync::Mutex<()>,
    looking: AtomicBool,
}

#[derive(Default)]
struct Known {
    engine: Option<Arc<ResolvedEngine>>,
    looked: Option<Instant>,
    /// Why the last search failed, and when. For those who waited for that search, not for later calls.
    failed: Option<(String, Instant)>,
    /// What was on disk when a new engine was refused, and when that was.
    refused: Option<(FileIdentity, Instant)>,
}

impl CurrentEngine {
    /// Counts the engines that were found; children of an earlier count are outdated.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// The engine, if it has been found.
    pub(super) fn current(&self) -> Option<Arc<ResolvedEngine>> {
        self.lock().engine.clone()
    }

    fn set(&self, engine: Arc<ResolvedEngine>) {
        let mut known = self.lock();
        self.generation.store(engine.generation, Ordering::Release);
        known.engine = Some(engine);
        known.looked = Some(Instant::now());
    }

    /// Whether it is time to look at the file again.
    fn look_is_due(&self) -> bool {
        let mut known = self.lock();
        let now = Instant::now();
        let due = known
            .looked
            .is_some_and(|at| now.saturating_duration_since(at) >= LOOK_EVERY);
        if due {
            known.looked = Some(now);
        }
        due
    }

    /// The failure of a search that ended after this moment: one that hangs is waited for once, and not by
    /// one call after the other.
    fn failure_since(&self, begun: Instant) -> Option<String> {
        let known = self.lock();
        let failed = known.failed.as_ref().filter(|(_, at)| *at >= begun);
        failed.map(|(reason, _)| reason.clone())
    }

    fn note_failure(&self, reason: &str) {
        self.lock().failed = Some((reason.to_owned(), Instant::now()));
    }

    /// Whether this very sight was refused a moment ago: looking again would start a process for it
    /// every second.
    fn was_refused(&self, sight: &FileIdentity) -> bool {
        let known = self.lock();
        let refused = known.refused.as_ref();
        refused.is_some_and(|(seen, at)| seen == sight && at.elapsed() < REFUSED_FOR)
    }

    fn note_refused(&self, sight: FileIdentity) {
        self.lock().refused = Some((sight, Instant::now()));
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Core {
    /// The engine; searches for it if none is known yet.
    pub(super) async fn engine(self: &Arc<Self>) -> Result<Arc<ResolvedEngine>, StartError> {
        if let Some(engine) = self.engine.current() {
            if self.engine.look_is_due() {
                self.look_for_an_upgrade(&engine);
            }
            return Ok(engine);
        }
        let begun = Instant::now();
        let _one_search = self.engine.searching.lock().await;
        if let Some(engine) = self.engine.current() {
            return Ok(engine);
        }
        if let Some(reason) = self.engine.failure_since(begun) {
            return Err(StartError::Failed(reason));
        }
        let attempt = self.may_start().await?;
        let engine = self.search(1).await;
        match engine {
            Ok(engine) => {
                attempt.succeeded();
                self.engine.set(Arc::clone(&engine));
                Ok(engine)
            }
            Err(_) if self.is_ending() => Err(StartError::ShuttingDown),
            Err(reason) => {
                attempt.failed(&reason);
                self.engine.note_failure(&reason);
                self.stats.count_start(false);
                Err(StartError::Failed(reason))
            }
        }
    }

    /// Searches in a task of its own: a caller that leaves does not cut a process off half-way.
    async fn search(self: &Arc<Self>, generation: u64) -> Result<Arc<ResolvedEngine>, String> {
        let core = Arc::clone(self);
        let search = self
            .tracker
            .spawn(async move { resolve::resolve(&core, generation).await.map(Arc::new) });
        search.await.unwrap_or_else(|error| Err(error.to_string()))
    }

    /// Looks at the file in the background; one that was replaced is resolved anew, and the children
    /// of the old one end, idle ones at once and busy ones after their record.
    fn look_for_an_upgrade(self: &Arc<Self>, engine: &Arc<ResolvedEngine>) {
        if self.is_ending() || self.engine.looking.swap(true, Ordering::AcqRel) {
            return;
        }
        let (core, engine) = (Arc::clone(self), Arc::clone(engine));
        self.tracker.spawn(async move {
            let looked_at = Arc::clone(&engine);
            let outdated = tokio::task::spawn_blocking(move || looked_at.outdated()).await;
            if let Ok(Some((why, sight))) = outdated
                && !core.engine.was_refused(&sight)
            {
                tracing::info!(path = %engine.info.path.display(), "{why}");
                match core.search(engine.generation + 1).await {
                    Ok(fresh) => {
                        core.engine.set(fresh);
                        core.answers.clear();
                        let old = |shared: &super::worker::ChildStatus| {
                            shared.engine.generation <= engine.generation
                        };
                        retire_all(core.pools.claim_all(old), Reason::Upgraded);
                    }
                    Err(reason) => {
                        tracing::error!(reason, "the new engine is not usable");
                        core.engine.note_refused(sight);
                    }
                }
            }
            core.engine.looking.store(false, Ordering::Release);
        });
    }
}
