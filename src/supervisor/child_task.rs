//! The life of a child, told by the one task that tends it: serve, idle, end, reap.
//!
//! The task owns the process, its pipes and its slot. Everyone else sends it messages. So the order
//! of events is a fact: a child is idle again before its caller hears the reply, condemned before its
//! caller hears of the failure, and its slot (and the permit of the job that it failed) comes back
//! only when it has been reaped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::select;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::sleep;

use crate::contract::Reply;

use super::admission::Permit;
use super::child::{Child, ExchangeError, IdleEvent};
use super::core::Core;
use super::failure::{Failure, Kind};
use super::os;
use super::recycle::Reason;
use super::worker::{ChildStatus, Command, Job, Outcome, Phase};

/// How long the exit status may come after the end of the output.
const STATUS_WAIT: Duration = Duration::from_millis(200);
/// How long after SIGKILL a child counts as one that cannot be killed.
const REAP_LIMIT: Duration = Duration::from_secs(2);
/// How often an idle child that is too old asks whether it may end.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// A child and what it occupies.
pub(super) struct ChildTask {
    pub(super) core: Arc<Core>,
    pub(super) child: Child,
    /// The place among the N that may live; given back after the reap.
    pub(super) slot: Option<OwnedSemaphorePermit>,
    /// It has answered the ping.
    pub(super) ready: bool,
}

/// How a child ends.
pub(super) struct Ending {
    reason: Reason,
    /// The permit of the job that it failed.
    permit: Option<Arc<Permit>>,
    /// Keeps other planned ends back.
    token: Option<OwnedSemaphorePermit>,
}

impl ChildTask {
    /// Serves records and watches the child while it is idle, until it ends.
    pub(super) async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<Command>) {
        let shared = Arc::clone(&self.child.shared);
        let ending = loop {
            select! {
                biased;
                event = self.child.next_event() => break self.reason_for(event).await,
                () = self.core.killing.cancelled() => break Reason::Shutdown.into(),
                command = inbox.recv() => match command {
                    Some(Command::Run(job)) => {
                        if let Some(ending) = self.serve(job).await {
                            break ending;
                        }
                    }
                    Some(Command::Retire(reason, token)) => {
                        break Ending { reason, permit: None, token };
                    }
                    // The handle was dropped without a word: the caller left.
                    None => break Reason::Cancelled.into(),
                },
                () = idle_too_long(&shared) => {
                    if self.claim() {
                        break Reason::Idle.into();
                    }
                    // Somebody just took it: the message is on its way.
                    self.child.shared.touch();
                }
                token = self.core.may_age(&shared) => {
                    if self.claim() {
                        break Ending { reason: Reason::Age, permit: None, token: Some(token) };
                    }
                    self.child.shared.touch();
                    sleep(Duration::from_millis(1)).await;
                }
            }
        };
        self.end(ending, Some(inbox)).await;
    }

    /// Takes this child out of the pool's idle ones, as a job would: one of the two gets it.
    fn claim(&self) -> bool {
        self.core.pools.claim(&self.child.shared)
    }

    /// Serves one record. Something back means that the child must end.
    async fn serve(&mut self, mut job: Job) -> Option<Ending> {
        if job.answer.is_closed() {
            return Some(Ending {
                reason: Reason::Cancelled,
                permit: Some(job.permit),
                token: None,
            });
        }
        let core = Arc::clone(&self.core);
        let limit = core.settings.record_timeout;
        let longest = core.settings.max_reply_bytes;
        let exchanged = self
            .child
            .exchange(
                &job.line,
                limit,
                longest,
                Some(&mut job.answer),
                &core.killing,
            )
            .await;
        let length = match exchanged {
            Ok(length) => length,
            Err(error) => return Some(self.fail(job, error).await),
        };
        let line = self.child.output().get(..length).unwrap_or_default();
        let reply = reply_of(line, job.display_name.as_deref());
        let reply = match reply {
            Ok(reply) => reply,
            Err(what) => return Some(self.violation(job, what)),
        };
        let surplus = self.child.take_line(length);
        let resident = self.child.resident();
        if resident.is_none() {
            core.note_unreadable_memory();
        }
        self.child.shared.count_served(resident);
        if surplus.is_none() && !self.child.has_ended() {
            // Idle before the caller hears of it: its lease sees a clean child.
            self.child.shared.set_phase(Phase::Idle);
            let Job { permit, answer, .. } = job;
            drop(permit);
            let _left = answer.send(Outcome::Reply(reply));
            return None;
        }
        // The reply stands, the child does not: it said more than one line, or ended behind it.
        self.child.shared.set_phase(Phase::Ending);
        let _left = job.answer.send(Outcome::Reply(reply));
        let reason = match surplus {
            Some(_) => Reason::Protocol,
            None => self.ended_by().await.0,
        };
        Some(Ending {
            reason,
            permit: Some(job.permit),
            token: None,
        })
    }

    /// Answers for a record that got no reply.
    async fn fail(&mut self, job: Job, error: ExchangeError) -> Ending {
        self.child.shared.set_phase(Phase::Ending);
        let (reason, kind) = match error {
            ExchangeError::BeforeHandOver(_)
            | ExchangeError::NotWritten
            | ExchangeError::NotTaken => {
                let reason = match error {
                    ExchangeError::BeforeHandOver(event) => self.reason_for(event).await.reason,
                    ExchangeError::NotTaken => self.reason_for(IdleEvent::Closed).await.reason,
                    _ => Reason::StdinClosed,
                };
                let _left = job.answer.send(Outcome::NotHandedOver);
                return Ending {
                    reason,
                    permit: Some(job.permit),
                    token: None,
                };
            }
            ExchangeError::Cancelled => (Reason::Cancelled, None),
            ExchangeError::Killed => (Reason::Shutdown, Some(Kind::Shutdown)),
            // Our own kill can be seen before the order that sent it.
            ExchangeError::Ended | ExchangeError::Closed | ExchangeError::StdinClosed
                if self.core.killing.is_cancelled() =>
            {
                (Reason::Shutdown, Some(Kind::Shutdown))
            }
            ExchangeError::EarlyReply => {
                let what = "it came before the record was read".to_owned();
                (Reason::Protocol, Some(Kind::Protocol(what)))
            }
            ExchangeError::Deadline => {
                let limit = self.core.settings.record_timeout;
                (Reason::Deadline, Some(Kind::Deadline(limit)))
            }
            ExchangeError::NeverRead => {
                let limit = self.core.settings.record_timeout;
                (Reason::Deadline, Some(Kind::NeverRead(limit)))
            }
            ExchangeError::Oversized => {
                let limit = self.core.settings.max_reply_bytes;
                (Reason::Protocol, Some(Kind::Oversized(limit)))
            }
            ExchangeError::Ended | ExchangeError::Closed | ExchangeError::StdinClosed => {
                match self.status_soon().await {
                    Some((how, perhaps)) => {
                        let reason = self.ended_by().await.0;
                        (reason, Some(Kind::Ended { how, perhaps }))
                    }
                    None if matches!(error, ExchangeError::StdinClosed) => {
                        (Reason::StdinClosed, Some(Kind::StdinClosed))
                    }
                    None => (Reason::Protocol, Some(Kind::Closed)),
                }
            }
        };
        if let Some(kind) = kind {
            let words = self.child.stderr_tail.shown();
            let _left = job.answer.send(Outcome::Failed(Failure { kind, words }));
        }
        Ending {
            reason,
            permit: Some(job.permit),
            token: None,
        }
    }

    fn violation(&mut self, job: Job, what: String) -> Ending {
        self.child.shared.set_phase(Phase::Ending);
        let words = self.child.stderr_tail.shown();
        let kind = Kind::Protocol(what);
        let _left = job.answer.send(Outcome::Failed(Failure { kind, words }));
        Ending {
            reason: Reason::Protocol,
            permit: Some(job.permit),
            token: None,
        }
    }

    /// Why an idle child ends.
    async fn reason_for(&mut self, event: IdleEvent) -> Ending {
        self.child.shared.set_phase(Phase::Ending);
        match event {
            // What it said may be out of a document: it is not logged.
            IdleEvent::Unasked(_) => Reason::Protocol.into(),
            IdleEvent::Closed if self.status_soon().await.is_none() => Reason::Protocol.into(),
            IdleEvent::Closed | IdleEvent::Ended => self.ended_by().await.0.into(),
        }
    }

    /// The exit status in words and a likely cause, if it comes soon.
    pub(super) async fn status_soon(&mut self) -> Option<(String, Option<String>)> {
        if !self.child.wait_end(STATUS_WAIT, &self.core.killing).await {
            return None;
        }
        let (_, how, signal) = self.described().await;
        let starting = self.child.shared.served() == 0 && !self.ready;
        let limit = self.core.settings.max_memory_bytes.unwrap_or_default() >> 20;
        let perhaps = if self.child.stderr_tail.mentions_memory() {
            Some(match limit {
                0 => "it ran out of memory".to_owned(),
                limit => format!("it reached its memory limit of {limit} MiB"),
            })
        } else if starting && signal.is_some() && limit > 0 {
            Some(format!(
                "perhaps its memory limit of {limit} MiB is too low"
            ))
        } else if signal == Some(os::KILLED) {
            Some("not by this server; perhaps the system is out of memory".to_owned())
        } else {
            None
        };
        Some((how, perhaps))
    }

    /// Exit or signal, once it has ended.
    async fn ended_by(&mut self) -> (Reason, String) {
        let (reason, how, _) = self.described().await;
        (reason, how)
    }

    async fn described(&mut self) -> (Reason, String, Option<i32>) {
        match self.child.reap().await {
            Some(status) => {
                let (how, signal) = os::describe_exit(status);
                let reason = if signal.is_some() {
                    Reason::Signal
                } else {
                    Reason::Exit
                };
                (reason, how, signal)
            }
            None => (Reason::Exit, "ended".to_owned(), None),
        }
    }

    /// Ends the child by what it takes, reaps it, and gives its place back.
    pub(super) async fn end(
        mut self,
        ending: Ending,
        inbox: Option<mpsc::UnboundedReceiver<Command>>,
    ) {
        let shared = Arc::clone(&self.child.shared);
        let core = Arc::clone(&self.core);
        shared.set_phase(Phase::Ending);
        core.pools.claim(&shared);
        if let Some(mut inbox) = inbox {
            // A job that was on its way goes to another child.
            inbox.close();
            while let Ok(command) = inbox.try_recv() {
                if let Command::Run(job) = command {
                    let _left = job.answer.send(Outcome::NotHandedOver);
                }
            }
        }
        self.child.close_stdin();
        let asked_nicely = ending.reason.is_planned()
            && self
                .child
                .wait_end(core.settings.grace, &core.killing)
                .await;
        if !asked_nicely && !self.child.has_ended() {
            shared.signal(os::StopSignal::End);
            if !self
                .child
                .wait_end(core.settings.grace, &core.killing)
                .await
            {
                self.kill(&core, &shared).await;
            }
        }
        let status = self.child.reap().await;
        log_end(
            &core,
            &shared,
            ending.reason,
            status,
            &self.child.stderr_tail.shown(),
        );
        core.note_end(&shared, ending.reason);
        drop(self.slot.take());
        let Ending {
            reason,
            permit,
            token,
        } = ending;
        drop(permit);
        if reason.wants_replacement() {
            core.replenish();
        }
        drop(token);
    }

    /// Kills it. A child that does not even end by that keeps its slot, visibly.
    async fn kill(&mut self, core: &Arc<Core>, shared: &Arc<ChildStatus>) {
        self.child.kill();
        let never = tokio_util::sync::CancellationToken::new();
        if self.child.wait_end(REAP_LIMIT, &never).await {
            return;
        }
        shared.set_phase(Phase::Lost);
        tracing::error!(
            child = shared.id,
            pid = shared.pid(),
            "an engine process cannot be killed; its place is lost until it ends"
        );
        core.admission.lose_place();
        self.child.wait_end_for_ever().await;
        core.admission.regain_place();
    }
}

impl From<Reason> for Ending {
    fn from(reason: Reason) -> Self {
        Self {
            reason,
            permit: None,
            token: None,
        }
    }
}

impl Core {
    /// Completes when an idle child is older than it may be and no other planned end is under way.
    async fn may_age(&self, shared: &ChildStatus) -> OwnedSemaphorePermit {
        let Some(expires) = shared.limits.expires() else {
            return std::future::pending().await;
        };
        tokio::time::sleep_until(expires.into()).await;
        loop {
            if let Ok(token) = Arc::clone(&self.planned).try_acquire_owned() {
                return token;
            }
            sleep(ASK_AGAIN).await;
        }
    }
}

async fn idle_too_long(shared: &ChildStatus) {
    let at = shared
        .limits
        .idle
        .and_then(|idle| shared.last_used().checked_add(idle));
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

/// A line as a reply, or what is wrong with it.
fn reply_of(line: &[u8], display_name: Option<&str>) -> Result<Reply, String> {
    let line = match line.strip_suffix(b"\r") {
        Some(line) if cfg!(windows) => line,
        Some(_) => return Err("it ends in a carriage return".to_owned()),
        None => line,
    };
    Reply::from_engine(line, display_name)
        .map_err(|error| format!("{error}: {}", super::stderr_tail::excerpt(line)))
}

fn log_end(
    core: &Core,
    shared: &ChildStatus,
    reason: Reason,
    status: Option<std::process::ExitStatus>,
    words: &str,
) {
    let how = status.map_or_else(|| "ended".to_owned(), |status| os::describe_exit(status).0);
    let (child, served, reason_word) = (shared.id, shared.served(), reason.as_str());
    // A non-zero exit after our own end of input is ordinary: it is the worst status of any record.
    if reason.is_planned() {
        tracing::debug!(child, served, reason = reason_word, how, "engine retired");
    } else if let Some(held_back) = core.lost_log.pass(Instant::now()) {
        let reason = reason_word;
        tracing::warn!(child, served, reason, how, words, held_back, "engine lost");
    }
}
