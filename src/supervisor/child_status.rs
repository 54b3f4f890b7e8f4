//! What is known about one engine process, from its start until it is reaped. The child's task writes
//! it, everyone may read it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::engine_program::ResolvedEngine;
use super::os;
use super::profiles::KnownProfile;

/// One engine process.
pub(super) struct ChildStatus {
    /// Counted from the start of the supervisor.
    pub(super) id: u64,
    pub(super) engine: Arc<ResolvedEngine>,
    /// The profile that it serves; none for a process that answers one question.
    pub(super) profile: Option<Arc<KnownProfile>>,
    pub(super) born: Instant,
    served: AtomicU64,
    resident: AtomicU64,
    /// Milliseconds from `born` to the last use.
    used: AtomicU64,
    /// The process id until it is reaped. Signals are sent under this lock only, so that an id that
    /// was given back to the system is never signalled.
    pid: Mutex<Option<u32>>,
}

impl ChildStatus {
    pub(super) fn new(
        id: u64,
        engine: Arc<ResolvedEngine>,
        profile: Option<Arc<KnownProfile>>,
    ) -> Self {
        Self {
            id,
            engine,
            profile,
            born: Instant::now(),
            served: AtomicU64::new(0),
            resident: AtomicU64::new(0),
            used: AtomicU64::new(0),
            pid: Mutex::new(None),
        }
    }

    /// Good replies.
    pub(super) fn served(&self) -> u64 {
        self.served.load(Ordering::Relaxed)
    }

    /// Counts a good reply.
    pub(super) fn count_served(&self, resident: Option<u64>) {
        self.served.fetch_add(1, Ordering::Relaxed);
        if let Some(bytes) = resident {
            self.resident.store(bytes, Ordering::Relaxed);
        }
        self.touch();
    }

    /// Resident bytes after the last record.
    pub(super) fn resident(&self) -> u64 {
        self.resident.load(Ordering::Relaxed)
    }

    /// Marks it as used now.
    pub(super) fn touch(&self) {
        let millis = self.born.elapsed().as_millis();
        self.used
            .store(u64::try_from(millis).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(super) fn last_used(&self) -> Instant {
        let since = Duration::from_millis(self.used.load(Ordering::Relaxed));
        self.born.checked_add(since).unwrap_or(self.born)
    }

    pub(super) fn pid(&self) -> Option<u32> {
        *self.pid_lock()
    }

    pub(super) fn set_pid(&self, pid: Option<u32>) {
        *self.pid_lock() = pid;
    }

    /// Signals the child's process group, if it has not been reaped.
    pub(super) fn signal(&self, signal: os::StopSignal) {
        let pid = self.pid_lock();
        if let Some(pid) = *pid
            && let Err(error) = os::signal_group(pid, signal)
        {
            tracing::error!(pid, %error, "cannot signal an engine process");
        }
    }

    /// Kills what is left of the group and forgets the id: to be called when the child has ended and
    /// is about to be reaped.
    pub(super) fn give_up_pid(&self) {
        let mut pid = self.pid_lock();
        if let Some(pid) = pid.take() {
            // For its grandchildren; the child itself has ended.
            let _best_effort = os::signal_group(pid, os::StopSignal::Kill);
        }
    }

    fn pid_lock(&self) -> MutexGuard<'_, Option<u32>> {
        self.pid.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
