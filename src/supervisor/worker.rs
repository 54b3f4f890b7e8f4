//! The supervisor's handle to one child: what the pool keeps, and what the task that tends the child
//! shares with everyone who looks at it.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use crate::contract::{Profile, Reply};

use super::admission::Permit;
use super::failure::Failure;
use super::os;
use super::recycle::{Reason, RecycleLimits};
use super::resolve::ResolvedEngine;

/// What a child is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Phase {
    /// It has not answered the ping yet.
    Starting,
    /// Ready for a record.
    Idle,
    /// A record is in flight.
    Busy,
    /// It is being ended.
    Ending,
    /// It was killed and does not end.
    Lost,
}

impl Phase {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Idle => "idle",
            Self::Busy => "busy",
            Self::Ending => "ending",
            Self::Lost => "lost",
        }
    }

    const fn from_u8(n: u8) -> Self {
        match n {
            0 => Self::Starting,
            1 => Self::Idle,
            2 => Self::Busy,
            3 => Self::Ending,
            _ => Self::Lost,
        }
    }
}

/// What is known about one child, from its start until it is reaped.
pub(super) struct ChildStatus {
    pub(super) id: u64,
    pub(super) profile: Profile,
    pub(super) engine: Arc<ResolvedEngine>,
    pub(super) born: Instant,
    pub(super) limits: RecycleLimits,
    phase: AtomicU8,
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
        profile: Profile,
        engine: Arc<ResolvedEngine>,
        limits: RecycleLimits,
    ) -> Self {
        Self {
            id,
            profile,
            engine,
            born: Instant::now(),
            limits,
            phase: AtomicU8::new(Phase::Starting as u8),
            served: AtomicU64::new(0),
            resident: AtomicU64::new(0),
            used: AtomicU64::new(0),
            pid: Mutex::new(None),
        }
    }

    pub(super) fn phase(&self) -> Phase {
        Phase::from_u8(self.phase.load(Ordering::Acquire))
    }

    pub(super) fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Release);
    }

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

    pub(super) fn resident(&self) -> u64 {
        self.resident.load(Ordering::Relaxed)
    }

    pub(super) fn touch(&self) {
        let millis = self.born.elapsed().as_millis();
        self.used
            .store(u64::try_from(millis).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// When it was last used.
    pub(super) fn last_used(&self) -> Instant {
        let since = std::time::Duration::from_millis(self.used.load(Ordering::Relaxed));
        self.born.checked_add(since).unwrap_or(self.born)
    }

    pub(super) fn pid(&self) -> Option<u32> {
        *self.pid.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_pid(&self, pid: Option<u32>) {
        *self.pid.lock().unwrap_or_else(PoisonError::into_inner) = pid;
    }

    /// Signals the child's process group, if it has not been reaped.
    pub(super) fn signal(&self, ask: os::StopSignal) {
        let pid = self.pid.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pid) = *pid
            && let Err(error) = os::signal_group(pid, ask)
        {
            tracing::error!(pid, %error, "cannot signal an engine process");
        }
    }

    /// Kills what is left of the group and forgets the id: to be called when the child has ended and
    /// is about to be reaped.
    pub(super) fn give_up_pid(&self) {
        let mut pid = self.pid.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pid) = pid.take() {
            // Its grandchildren; the child itself is past feeling it.
            let _best_effort = os::signal_group(pid, os::StopSignal::Kill);
        }
    }

    /// The planned reason for which it should serve no further record.
    pub(super) fn due(&self) -> Option<Reason> {
        self.limits
            .reached(self.served(), self.resident(), Instant::now())
    }
}

/// One record on its way to a child.
pub(super) struct Job {
    /// The LF-terminated line.
    pub(super) line: Vec<u8>,
    /// The name that a good reply carries.
    pub(super) display_name: Option<String>,
    /// ChildStatus with the caller; kept by the tending task until a condemned child is reaped.
    pub(super) permit: Arc<Permit>,
    /// Where the outcome goes. Closed means that the caller left.
    pub(super) answer: oneshot::Sender<Outcome>,
}

/// What became of a record.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The engine's reply.
    Reply(Reply),
    /// It never reached the child, which was known dead before or refused the write whole.
    NotHandedOver,
    /// It was handed over and got no reply.
    Failed(Failure),
}

/// What a tending task can be told.
pub(super) enum Command {
    Run(Job),
    /// End the child, which is idle. The token keeps other planned ends back meanwhile.
    Retire(Reason, Option<OwnedSemaphorePermit>),
}

/// The handle to an idle or leased child: deadpool's object. Whoever drops it ends the child.
pub(super) struct Worker {
    pub(super) shared: Arc<ChildStatus>,
    commands: mpsc::UnboundedSender<Command>,
}

impl Worker {
    pub(super) fn new(shared: Arc<ChildStatus>, commands: mpsc::UnboundedSender<Command>) -> Self {
        Self { shared, commands }
    }

    /// Hands a job to the tending task. A task that is gone drops it, which the caller sees.
    pub(super) fn run(&mut self, job: Job) {
        let _gone = self.commands.send(Command::Run(job));
    }

    /// Ends the child for a planned reason.
    pub(super) fn retire(self, reason: Reason, token: Option<OwnedSemaphorePermit>) {
        let _gone = self.commands.send(Command::Retire(reason, token));
    }
}
