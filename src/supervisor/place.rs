//! What one process reports about itself to the pool, the counters and the log.

use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::child_task::{ChildEvents, ChildHandle};
use super::ending::describe;
use super::launch_spec::Applied;
use super::ledger::PlaceId;
use super::log_throttle::LogThrottle;
use super::pool::Pool;
use super::recycle::Reason;
use super::sandbox_report::SandboxReport;
use super::stats::Stats;

/// What all places of a pool report to.
pub(super) struct Observers {
    pub(super) stats: Arc<Stats>,
    pub(super) sandbox: SandboxReport,
    pub(super) lost_log: LogThrottle,
}

/// The place of one process. Dropped, it is free, whatever happened.
pub(super) struct OccupiedPlace {
    pool: Arc<Pool>,
    observers: Arc<Observers>,
    id: PlaceId,
    child: Arc<ChildHandle>,
    /// The process exists.
    alive: AtomicBool,
}

impl OccupiedPlace {
    pub(super) fn new(
        pool: &Arc<Pool>,
        observers: &Arc<Observers>,
        id: PlaceId,
        child: &Arc<ChildHandle>,
    ) -> Self {
        Self {
            pool: Arc::clone(pool),
            observers: Arc::clone(observers),
            id,
            child: Arc::clone(child),
            alive: AtomicBool::new(false),
        }
    }
}

impl ChildEvents for OccupiedPlace {
    fn started(&self) {
        self.alive.store(true, Ordering::Relaxed);
        self.pool.attach(self.id, &self.child);
        self.observers.stats.count_child_born();
    }

    fn ready(&self, applied: Option<&Applied>) {
        self.observers.sandbox.note(applied);
    }

    fn idle(&self, due: Option<Reason>) -> Option<Reason> {
        let generation = self.child.info.engine.generation;
        self.pool.idle(self.id, due, generation)
    }

    fn may_retire(&self, reason: Reason) -> bool {
        self.pool.may_retire(self.id, reason)
    }

    fn ending(&self, reason: Reason) {
        self.pool.condemn(self.id, reason);
    }

    fn lost(&self) {
        let info = &self.child.info;
        tracing::error!(
            child = info.id,
            pid = info.pid(),
            "an engine process cannot be killed; its place is lost until it ends"
        );
        self.pool.lose(self.id);
    }

    fn ended(self, reason: Reason, status: Option<ExitStatus>, stderr: &str) {
        let (child, served) = (self.child.info.id, self.child.info.served());
        let (how, _) = describe(status);
        let label = reason.as_str();
        // After our own end of input a non-zero exit is ordinary: it is the worst status of any record.
        if reason.is_planned() {
            tracing::debug!(child, served, reason = label, how, "engine retired");
        } else if let Some(held_back) = self.observers.lost_log.pass(Instant::now()) {
            tracing::warn!(
                child,
                served,
                reason = label,
                how,
                stderr,
                held_back,
                "engine lost"
            );
        }
        self.observers.stats.count_end(reason);
        let pool = Arc::clone(&self.pool);
        drop(self);
        if reason.wants_replacement() {
            pool.replacement_wanted.notify_one();
        }
    }
}

impl Drop for OccupiedPlace {
    fn drop(&mut self) {
        if self.alive.load(Ordering::Relaxed) {
            self.observers.stats.count_child_gone();
        }
        self.pool.free(self.id);
    }
}
