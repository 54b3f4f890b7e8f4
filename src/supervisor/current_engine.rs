//! The engine in use: found on first need, checked for an upgrade now and then, found anew after one.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::breaker::Breaker;
use super::engine_program::{Answer, FileIdentity, ResolvedEngine};
use super::failure::StartError;
use super::fair_queue::Lane;
use super::ledger::NO_RECORDS;
use super::pool::{Granted, Pool};
use super::pool_state::{Arrival, Request};
use super::resolve;
use super::settings::Settings;
use super::starter::Starter;
use super::stats::Stats;

/// How often the file on disk is checked, while there are calls.
const CHECK_EVERY: Duration = Duration::from_secs(1);
/// How long a file that proved not to be a usable engine is left alone, unless it changes again.
const REFUSED_FOR: Duration = Duration::from_secs(30);

/// The resolved engine, and what it takes to find it. The breaker paces searches that fail.
pub(super) struct CurrentEngine {
    settings: Arc<Settings>,
    pool: Arc<Pool>,
    starter: Arc<Starter>,
    breaker: Arc<Breaker>,
    stats: Arc<Stats>,
    known: Mutex<Known>,
    generation: AtomicU64,
    /// One search at a time.
    searching: tokio::sync::Mutex<()>,
    checking: AtomicBool,
}

#[derive(Default)]
struct Known {
    engine: Option<Arc<ResolvedEngine>>,
    checked: Option<Instant>,
    /// Why the last search failed, and when. For those who waited for that search, not for later calls.
    failed: Option<(String, Instant)>,
    /// What was on disk when a new engine was refused, and when that was.
    refused: Option<(FileIdentity, Instant)>,
}

impl CurrentEngine {
    pub(super) fn new(
        settings: &Arc<Settings>,
        pool: &Arc<Pool>,
        starter: &Arc<Starter>,
        breaker: &Arc<Breaker>,
        stats: &Arc<Stats>,
    ) -> Arc<Self> {
        Arc::new(Self {
            settings: Arc::clone(settings),
            pool: Arc::clone(pool),
            starter: Arc::clone(starter),
            breaker: Arc::clone(breaker),
            stats: Arc::clone(stats),
            known: Mutex::default(),
            generation: AtomicU64::new(0),
            searching: tokio::sync::Mutex::new(()),
            checking: AtomicBool::new(false),
        })
    }

    /// Counts the engines that were found.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// The engine, if it has been found.
    pub(super) fn peek(&self) -> Option<Arc<ResolvedEngine>> {
        self.lock().engine.clone()
    }

    /// The engine, if it has been found, for a call that will use it: its file is checked for an upgrade
    /// in the background when that is due.
    pub(super) fn known(self: &Arc<Self>) -> Option<Arc<ResolvedEngine>> {
        let engine = {
            let mut known = self.lock();
            let engine = known.engine.clone()?;
            let now = Instant::now();
            let recently = |at: Instant| now.saturating_duration_since(at) < CHECK_EVERY;
            if known.checked.is_some_and(recently) {
                return Some(engine);
            }
            known.checked = Some(now);
            engine
        };
        self.check_for_an_upgrade(&engine);
        Some(engine)
    }

    /// The engine; searches for it if it is not known. `first` is called by the one who found it, before
    /// anyone else sees it.
    pub(super) async fn find(
        self: &Arc<Self>,
        first: impl FnOnce(),
    ) -> Result<Arc<ResolvedEngine>, StartError> {
        if let Some(engine) = self.known() {
            return Ok(engine);
        }
        let begun = Instant::now();
        let _one_search = self.searching.lock().await;
        if let Some(engine) = self.peek() {
            return Ok(engine);
        }
        // A search that hangs is waited for once, not by one call after the other.
        if let Some(reason) = self.failure_since(begun) {
            return Err(StartError::Failed(reason));
        }
        let longest = self.settings.start_timeout;
        let attempt = self.breaker.admit(longest, &self.pool.closing).await?;
        match self.search(1).await {
            Ok(engine) => {
                attempt.succeeded();
                first();
                self.set(Arc::clone(&engine));
                Ok(engine)
            }
            Err(_) if self.pool.is_closing() => Err(StartError::ShuttingDown),
            Err(reason) => {
                attempt.failed(&reason);
                self.lock().failed = Some((reason.clone(), Instant::now()));
                self.stats.count_start(false);
                Err(StartError::Failed(reason))
            }
        }
    }

    /// Searches in a task of its own: a caller that leaves does not cut it off.
    async fn search(self: &Arc<Self>, generation: u64) -> Result<Arc<ResolvedEngine>, String> {
        let this = Arc::clone(self);
        let search = self.pool.tasks.spawn(async move {
            let ask = |engine| this.version_of(engine);
            resolve::resolve(&this.settings, generation, ask)
                .await
                .map(Arc::new)
        });
        search.await.unwrap_or_else(|error| Err(error.to_string()))
    }

    /// Asks a candidate for its version.
    async fn version_of(&self, engine: Arc<ResolvedEngine>) -> Result<Answer, String> {
        let longest = self.settings.start_timeout;
        let request = Request {
            lane: Lane::Interactive,
            want: NO_RECORDS,
            arrival: Arrival::Inside,
        };
        let granted = self.pool.acquire(request, longest).await;
        let place = match granted {
            Ok((Granted::Place(place), _)) => place,
            Ok((Granted::Child(_), _)) => return Err("no place for another process".to_owned()),
            Err(error) => return Err(error.envelope().message),
        };
        let question = vec!["--version".to_owned()];
        self.starter.ask(place, engine, question, longest).await
    }

    /// Checks the file in the background. One that was replaced is resolved anew, and the children of
    /// the old one end, idle ones at once and busy ones after their record.
    fn check_for_an_upgrade(self: &Arc<Self>, engine: &Arc<ResolvedEngine>) {
        if self.pool.is_closing() || self.checking.swap(true, Ordering::AcqRel) {
            return;
        }
        let (this, engine) = (Arc::clone(self), Arc::clone(engine));
        self.pool.tasks.spawn(async move {
            let checked = Arc::clone(&engine);
            let outdated = tokio::task::spawn_blocking(move || checked.outdated()).await;
            if let Ok(Some((why, identity))) = outdated
                && !this.was_refused(&identity)
            {
                tracing::info!(path = %engine.info.path.display(), "{why}");
                match this.search(engine.generation + 1).await {
                    Ok(fresh) => this.set(fresh),
                    Err(reason) => {
                        tracing::error!(reason, "the new engine is not usable");
                        this.lock().refused = Some((identity, Instant::now()));
                    }
                }
            }
            this.checking.store(false, Ordering::Release);
        });
    }

    fn set(&self, engine: Arc<ResolvedEngine>) {
        let generation = engine.generation;
        {
            let mut known = self.lock();
            self.generation.store(generation, Ordering::Release);
            known.engine = Some(engine);
            known.checked = Some(Instant::now());
        }
        self.pool.expect_generation(generation);
    }

    fn failure_since(&self, begun: Instant) -> Option<String> {
        let known = self.lock();
        let failed = known.failed.as_ref().filter(|(_, at)| *at >= begun);
        failed.map(|(reason, _)| reason.clone())
    }

    /// Whether this very file was refused a moment ago: examining it again would start a process every
    /// second.
    fn was_refused(&self, identity: &FileIdentity) -> bool {
        let known = self.lock();
        let refused = known.refused.as_ref();
        refused.is_some_and(|(seen, at)| seen == identity && at.elapsed() < REFUSED_FOR)
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
