//! What all parts of one supervisor share, and the books of who is alive.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::admission::Admission;
use super::breaker::{Attempt, Breaker};
use super::current_engine::CurrentEngine;
use super::failure::StartError;
use super::introspection::Answers;
use super::keyed_pool::{KeyedPools, retire_all};
use super::launcher::Applied;
use super::log_throttle::LogThrottle;
use super::quarantine::Quarantine;
use super::recycle::Reason;
use super::stats::Stats;
use super::worker::{ChildStatus, Worker};
use super::{SandboxMode, Settings};
use crate::telemetry::metric;

/// The shared middle of a supervisor.
pub(super) struct Core {
    pub(super) settings: Settings,
    pub(super) admission: Arc<Admission>,
    /// One for each process that may be alive, from the start until the reap.
    pub(super) slots: Arc<Semaphore>,
    /// Held by a planned end of a healthy child, so that they come one at a time.
    pub(super) planned: Arc<Semaphore>,
    pub(super) pools: KeyedPools,
    pub(super) breaker: Arc<Breaker>,
    pub(super) quarantine: Quarantine,
    pub(super) stats: Stats,
    pub(super) engine: CurrentEngine,
    pub(super) answers: Answers,
    /// Every call that is under way.
    pub(super) calls: TaskTracker,
    /// Every task that owns a process or a start.
    pub(super) tracker: TaskTracker,
    /// The end has begun: nothing is started any more.
    pub(super) stopping: CancellationToken,
    /// Every child is to be killed now.
    pub(super) killing: CancellationToken,
    pub(super) born: Instant,
    /// Children that have not been reaped, by number.
    live: Mutex<HashMap<u64, Arc<ChildStatus>>>,
    /// What is in force in the last child that was started.
    confinement: Mutex<Option<Applied>>,
    replenishing: AtomicBool,
    memory_is_unreadable: AtomicBool,
    pub(super) lost_log: LogThrottle,
    /// The counters were logged at the end.
    pub(super) summed_up: AtomicBool,
    next_id: AtomicU64,
    me: Weak<Core>,
}

impl Core {
    pub(super) fn new(mut settings: Settings) -> Arc<Self> {
        settings.max_concurrency = settings.max_concurrency.max(1);
        let n = settings.max_concurrency;
        Arc::new_cyclic(|me| Self {
            admission: Admission::new(n, settings.max_queue),
            slots: Arc::new(Semaphore::new(n)),
            planned: Arc::new(Semaphore::new(1)),
            pools: KeyedPools::new(n),
            breaker: Breaker::new(),
            quarantine: Quarantine::new(settings.strikes),
            stats: Stats::new(),
            engine: CurrentEngine::default(),
            answers: Answers::default(),
            calls: TaskTracker::new(),
            tracker: TaskTracker::new(),
            stopping: CancellationToken::new(),
            killing: CancellationToken::new(),
            born: Instant::now(),
            live: Mutex::default(),
            confinement: Mutex::default(),
            replenishing: AtomicBool::new(false),
            memory_is_unreadable: AtomicBool::new(false),
            lost_log: LogThrottle::default(),
            summed_up: AtomicBool::new(false),
            next_id: AtomicU64::new(1),
            me: Weak::clone(me),
            settings,
        })
    }

    pub(super) fn weak(&self) -> &Weak<Self> {
        &self.me
    }

    pub(super) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// A process exists.
    pub(super) fn register(&self, shared: &Arc<ChildStatus>) {
        self.live().insert(shared.id, Arc::clone(shared));
        metrics::gauge!(metric::CHILDREN).increment(1.0);
    }

    /// A process has been reaped.
    pub(super) fn note_end(&self, shared: &ChildStatus, reason: Reason) {
        self.live().remove(&shared.id);
        metrics::gauge!(metric::CHILDREN).decrement(1.0);
        self.stats.count_end(reason);
    }

    /// How a start went: the breaker and the counters hear of it.
    pub(super) fn note_start(&self, started: &Result<Worker, StartError>, attempt: Attempt) {
        match started {
            // Refused options say nothing about the engine: it starts.
            Ok(_) | Err(StartError::Refused(_)) => attempt.succeeded(),
            Err(StartError::Failed(reason)) => attempt.failed(reason),
            Err(_) => drop(attempt),
        }
        self.stats.count_start(started.is_ok());
    }

    /// What the launcher put in force; said once.
    pub(super) fn note_confinement(&self, applied: Option<&Applied>) {
        let mut known = self.confinement_lock();
        if known.as_ref() == applied {
            return;
        }
        if let Some(applied) = applied {
            let (landlock, seccomp) = (&applied.landlock, applied.seccomp);
            if applied.missing.is_empty() {
                tracing::info!(landlock, seccomp, "engine sandbox");
            } else {
                let missing = applied.missing.join("; ");
                tracing::warn!(landlock, seccomp, missing, "engine sandbox is incomplete");
            }
        } else if self.settings.sandbox != SandboxMode::Off {
            tracing::warn!("this system offers no engine sandbox");
        }
        *known = applied.cloned();
    }

    /// The memory of children cannot be read here, so that limit is off; said once.
    pub(super) fn note_unreadable_memory(&self) {
        let limited = self.settings.max_rss_bytes.is_some();
        if limited && !self.memory_is_unreadable.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "the resident memory of engine processes cannot be read on this system; \
                 DECKPROBE_MCP_MAX_RSS_MB has no effect"
            );
        }
    }

    pub(super) fn confinement(&self) -> Option<Applied> {
        self.confinement_lock().clone()
    }

    /// Every process that has not been reaped.
    pub(super) fn living(&self) -> Vec<Arc<ChildStatus>> {
        self.live().values().cloned().collect()
    }

    /// The planned reason to end a child that has just served a record, with the token that keeps
    /// others back. `None` also when another planned end is under way: it is asked again after the
    /// next record.
    pub(super) fn due_end(
        &self,
        shared: &ChildStatus,
    ) -> Option<(Reason, Option<OwnedSemaphorePermit>)> {
        if shared.engine.generation != self.engine.generation() {
            return Some((Reason::Upgraded, None));
        }
        let reason = shared.due()?;
        let token = Arc::clone(&self.planned).try_acquire_owned().ok()?;
        Some((reason, Some(token)))
    }

    /// Starts a child in the background for the profile used most, if there is room, so that the next
    /// call finds a warm one. One such start at a time; one that fails is not repeated from here.
    pub(super) fn replenish(&self) {
        if self.settings.prewarm == 0 || self.is_ending() {
            return;
        }
        let Some(core) = self.me.upgrade() else {
            return;
        };
        if self.replenishing.swap(true, Ordering::AcqRel) {
            return;
        }
        self.tracker.spawn(async move {
            if let Some(pool) = core.pools.by_use().into_iter().next()
                && pool.idle_count() == 0
                && core.slots.available_permits() > 0
                && let Some(permit) = core.admission.try_background()
            {
                let _reported = core.warm_up(&pool, permit).await;
            }
            core.replenishing.store(false, Ordering::Release);
        });
    }

    pub(super) fn is_ending(&self) -> bool {
        self.stopping.is_cancelled()
    }

    /// The end: nobody is admitted and nothing is started any more; what waits is refused.
    pub(super) fn close(&self) {
        self.stopping.cancel();
        self.admission.close();
        self.tracker.close();
        self.calls.close();
    }

    /// Ends every idle child.
    pub(super) fn retire_idle(&self) {
        retire_all(self.pools.claim_all(|_| true), Reason::Shutdown);
    }

    fn live(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Arc<ChildStatus>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn confinement_lock(&self) -> std::sync::MutexGuard<'_, Option<Applied>> {
        self.confinement
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
