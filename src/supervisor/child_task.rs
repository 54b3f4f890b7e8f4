//! The task that owns one child, from its start until it is reaped.
//!
//! It has the process, its pipes, its limits and a kill token. It gets records through its inbox, and
//! reports through [`ChildEvents`] what the owner of its place has to know. So the order of events is
//! certain: a child is idle before its caller gets the reply, condemned before its caller gets the
//! failure, and its place is free only when it has been reaped.

use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::process::Command;
use tokio::select;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep_until;
use tokio_util::sync::CancellationToken;

use crate::contract::Reply;

use super::child::{Child, ChildLimits, ExchangeError, IdleEvent};
use super::child_status::ChildStatus;
use super::ending::{end, exit_soon};
use super::failure::{Failure, FailureKind, StartError};
use super::launch_spec::Applied;
use super::os;
use super::ping::ping;
use super::recycle::{Reason, RecycleLimits};
use super::spawner;
use super::stderr_tail::excerpt;

/// How often an idle child that is too old tries again to end, while another planned end is under way.
const RETRY_AGE: Duration = Duration::from_secs(1);

/// What a child reports to the owner of its place.
pub(super) trait ChildEvents: Send + 'static {
    /// The process exists.
    fn started(&self);
    /// It has answered the ping. What the launcher put in force comes with it.
    fn ready(&self, applied: Option<&Applied>);
    /// It can take another record. `due` is the limit that it has reached. A reason in return means
    /// that it has to end.
    fn idle(&self, due: Option<Reason>) -> Option<Reason>;
    /// It is idle and wants to end. `false` when it may not, as a record is on its way.
    fn may_retire(&self, reason: Reason) -> bool;
    /// It ends, whatever it was doing.
    fn ending(&self, reason: Reason);
    /// It was killed and does not end.
    fn lost(&self);
    /// It has been reaped.
    fn ended(self, reason: Reason, status: Option<ExitStatus>, stderr: &str);
}

/// One record on its way to a child.
pub(super) struct Job {
    /// The LF-terminated line.
    pub(super) line: Vec<u8>,
    /// The name that a good reply carries.
    pub(super) display_name: Option<String>,
    /// Time until its deadline.
    pub(super) limit: Duration,
    /// Where the outcome goes. Closed means that the caller left.
    pub(super) answer: oneshot::Sender<Outcome>,
}

/// What became of a record.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The engine's reply.
    Reply(Reply),
    /// It never reached the child, which had ended before or refused the write as a whole.
    NotHandedOver,
    /// It was handed over and got no reply.
    Failed(Failure),
    /// It got a line that is not a reply to it, from a child that has served others: the line may be
    /// left over from one of those, so nothing is known about this record.
    Doubtful(Failure),
}

/// An order for a child's task.
pub(super) enum Order {
    /// Serve this record.
    Run(Job),
    /// End the child, which is idle.
    Retire(Reason),
}

/// What others hold of a child.
pub(super) struct ChildHandle {
    pub(super) info: Arc<ChildStatus>,
    inbox: mpsc::UnboundedSender<Order>,
}

impl ChildHandle {
    /// A handle, and the inbox for the task.
    pub(super) fn new(info: ChildStatus) -> (Self, mpsc::UnboundedReceiver<Order>) {
        let (inbox, orders) = mpsc::unbounded_channel();
        let info = Arc::new(info);
        (Self { info, inbox }, orders)
    }

    /// Hands a record to the task. A task that is gone drops it, which the caller sees.
    pub(super) fn run(&self, job: Job) {
        let _gone = self.inbox.send(Order::Run(job));
    }

    pub(super) fn retire(&self, reason: Reason) {
        let _gone = self.inbox.send(Order::Retire(reason));
    }
}

/// What the task of a child works with.
pub(super) struct ChildTask<E> {
    pub(super) info: Arc<ChildStatus>,
    pub(super) limits: ChildLimits,
    pub(super) recycle: RecycleLimits,
    /// Cancelled when every child is to be killed now.
    pub(super) kill: CancellationToken,
    pub(super) events: E,
}

impl<E: ChildEvents> ChildTask<E> {
    /// Starts the child, reports on `ready` how that went, and serves records until the child ends.
    pub(super) async fn run(
        self,
        command: Command,
        orders: mpsc::UnboundedReceiver<Order>,
        ready: oneshot::Sender<Result<(), StartError>>,
    ) {
        let engine = Arc::clone(&self.info.engine);
        let process = match spawner::spawn(command).await {
            Ok(process) => process,
            Err(error) => {
                // Its place is free before the caller knows.
                drop(self.events);
                let why = engine.cannot_start(&error.to_string());
                let _left = ready.send(Err(if os::is_shortage(&error) {
                    StartError::Shortage(why)
                } else {
                    StartError::Failed(why)
                }));
                return;
            }
        };
        let child = Child::new(Arc::clone(&self.info), process, engine.through_launcher());
        self.events.started();
        let mut serving = Serving { child, task: self };
        let Serving { child, task } = &mut serving;
        let pinged = ping(child, &engine, &task.limits, &task.kill).await;
        if pinged.is_err() {
            task.events.ending(Reason::Start);
            let _left = ready.send(pinged);
            serving.end(Reason::Start, None).await;
            return;
        }
        task.info.touch();
        task.events.ready(child.stderr_tail.applied());
        let _left = ready.send(Ok(()));
        serving.serve_all(orders).await;
    }
}

/// A child that is ready, and the task that serves it.
struct Serving<E> {
    child: Child,
    task: ChildTask<E>,
}

impl<E: ChildEvents> Serving<E> {
    /// Serves records, and watches the child while it is idle, until it ends.
    async fn serve_all(mut self, mut orders: mpsc::UnboundedReceiver<Order>) {
        let mut may_age_at = self.task.recycle.expires();
        let reason = loop {
            let idle_too_long_at = self.idle_too_long_at();
            select! {
                biased;
                event = self.child.next_event() => break self.reason_for(event).await,
                () = self.task.kill.cancelled() => break Reason::Shutdown,
                order = orders.recv() => match order {
                    Some(Order::Run(job)) => {
                        if let Some(reason) = self.serve(job).await {
                            break reason;
                        }
                    }
                    Some(Order::Retire(reason)) => break reason,
                    None => break Reason::Shutdown,
                },
                () = maybe_sleep_until(idle_too_long_at) => {
                    if self.task.events.may_retire(Reason::Idle) {
                        break Reason::Idle;
                    }
                    // A record is on its way.
                    self.task.info.touch();
                }
                () = maybe_sleep_until(may_age_at) => {
                    if self.task.events.may_retire(Reason::Age) {
                        break Reason::Age;
                    }
                    may_age_at = Instant::now().checked_add(RETRY_AGE);
                }
            }
        };
        self.task.events.ending(reason);
        self.end(reason, Some(orders)).await;
    }

    fn idle_too_long_at(&self) -> Option<Instant> {
        let idle = self.task.recycle.idle?;
        self.task.info.last_used().checked_add(idle)
    }

    /// Serves one record. A reason in return means that the child must end.
    async fn serve(&mut self, mut job: Job) -> Option<Reason> {
        if job.answer.is_closed() {
            // Its caller left before anything was written: the child is as good as before.
            return self.task.events.idle(None);
        }
        let max_reply_bytes = self.task.limits.max_reply_bytes;
        let exchanged = self
            .child
            .exchange(
                &job.line,
                job.limit,
                max_reply_bytes,
                Some(&mut job.answer),
                &self.task.kill,
            )
            .await;
        let length = match exchanged {
            Ok(length) => length,
            Err(error) => return Some(self.fail(job, error).await),
        };
        let line = self.child.output().get(..length).unwrap_or_default();
        let reply = match reply_of(line, job.display_name.as_deref()) {
            Ok(reply) => reply,
            Err(what) => return Some(self.violation(job, what)),
        };
        let surplus = self.child.take_line(length).is_some();
        let resident = self.child.resident();
        self.task.info.count_served(resident);
        if resident.is_none() {
            warn_of_unreadable_memory(&self.task.recycle);
        }
        if !surplus && !self.child.has_ended() {
            let info = &self.task.info;
            let due = self
                .task
                .recycle
                .reached(info.served(), info.resident(), Instant::now());
            let end = self.task.events.idle(due);
            let _left = job.answer.send(Outcome::Reply(reply));
            return end;
        }
        // The reply counts, but the child printed more than one line, or ended after it.
        self.task.events.ending(Reason::Protocol);
        let _left = job.answer.send(Outcome::Reply(reply));
        Some(if surplus {
            Reason::Protocol
        } else {
            self.exit_reason().await
        })
    }

    /// Answers for a record that got no line.
    async fn fail(&mut self, job: Job, error: ExchangeError) -> Reason {
        self.task.events.ending(Reason::Protocol);
        let ChildLimits {
            record_timeout,
            max_reply_bytes,
            ..
        } = self.task.limits;
        let (reason, kind) = match error {
            ExchangeError::BeforeHandOver(_)
            | ExchangeError::NotWritten
            | ExchangeError::NotTaken => {
                let reason = match error {
                    ExchangeError::BeforeHandOver(event) => self.reason_for(event).await,
                    ExchangeError::NotTaken => self.reason_for(IdleEvent::Closed).await,
                    _ => Reason::StdinClosed,
                };
                let _left = job.answer.send(Outcome::NotHandedOver);
                return reason;
            }
            ExchangeError::Cancelled => return Reason::Cancelled,
            ExchangeError::Killed => (Reason::Shutdown, FailureKind::Shutdown),
            // Our own kill can be seen before the token that announces it.
            ExchangeError::Ended | ExchangeError::Closed | ExchangeError::StdinClosed
                if self.task.kill.is_cancelled() =>
            {
                (Reason::Shutdown, FailureKind::Shutdown)
            }
            ExchangeError::EarlyReply => {
                let what = "it came before the record was read".to_owned();
                return self.violation(job, what);
            }
            ExchangeError::Deadline => (Reason::Deadline, FailureKind::Deadline(record_timeout)),
            ExchangeError::NeverRead => (Reason::Deadline, FailureKind::NeverRead(record_timeout)),
            ExchangeError::Oversized => (Reason::Protocol, FailureKind::Oversized(max_reply_bytes)),
            ExchangeError::Ended | ExchangeError::Closed | ExchangeError::StdinClosed => {
                let ChildTask { limits, kill, .. } = &self.task;
                match exit_soon(&mut self.child, limits, true, kill).await {
                    Some(exit) => {
                        let (how, perhaps) = (exit.how, exit.perhaps);
                        (exit.reason, FailureKind::Ended { how, perhaps })
                    }
                    None if matches!(error, ExchangeError::StdinClosed) => {
                        (Reason::StdinClosed, FailureKind::StdinClosed)
                    }
                    None => (Reason::Protocol, FailureKind::Closed),
                }
            }
        };
        let stderr = self.child.stderr_tail.shown();
        let _left = job.answer.send(Outcome::Failed(Failure { kind, stderr }));
        reason
    }

    /// Answers for a record whose line is not a reply to it.
    fn violation(&mut self, job: Job, what: String) -> Reason {
        self.task.events.ending(Reason::Protocol);
        let stderr = self.child.stderr_tail.shown();
        let kind = FailureKind::Protocol(what);
        let failure = Failure { kind, stderr };
        let _left = job.answer.send(match self.task.info.served() {
            0 => Outcome::Failed(failure),
            _ => Outcome::Doubtful(failure),
        });
        Reason::Protocol
    }

    /// Why an idle child ends.
    async fn reason_for(&mut self, event: IdleEvent) -> Reason {
        self.task.events.ending(Reason::Protocol);
        match event {
            // What it printed may come from a document: it is not logged.
            IdleEvent::Unasked(_) => Reason::Protocol,
            IdleEvent::Closed | IdleEvent::Ended => self.exit_reason().await,
        }
    }

    /// Exit or signal; neither if it does not end soon.
    async fn exit_reason(&mut self) -> Reason {
        let ChildTask { limits, kill, .. } = &self.task;
        let exit = exit_soon(&mut self.child, limits, true, kill).await;
        exit.map_or(Reason::Protocol, |exit| exit.reason)
    }

    /// Ends the child, reaps it, and reports that its place is free.
    async fn end(mut self, reason: Reason, orders: Option<mpsc::UnboundedReceiver<Order>>) {
        if let Some(mut orders) = orders {
            // A record that was on its way goes to another child.
            orders.close();
            while let Ok(order) = orders.try_recv() {
                if let Order::Run(job) = order {
                    let _left = job.answer.send(Outcome::NotHandedOver);
                }
            }
        }
        let ChildTask {
            limits,
            kill,
            events,
            ..
        } = self.task;
        let lost = || events.lost();
        let status = end(&mut self.child, reason, limits.grace, &kill, lost).await;
        let stderr = self.child.stderr_tail.shown();
        events.ended(reason, status, &stderr);
    }
}

async fn maybe_sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

/// The memory of children cannot be read here, so that limit has no effect; logged once.
fn warn_of_unreadable_memory(limits: &RecycleLimits) {
    static WARNED: AtomicBool = AtomicBool::new(false);
    if limits.has_memory_limit() && !WARNED.swap(true, Ordering::Relaxed) {
        tracing::warn!(
            "the resident memory of engine processes cannot be read on this system; \
             DECKPROBE_MCP_MAX_RSS_MB has no effect"
        );
    }
}

/// A line as a reply, or what is wrong with it.
fn reply_of(line: &[u8], display_name: Option<&str>) -> Result<Reply, String> {
    let line = match line.strip_suffix(b"\r") {
        Some(line) if cfg!(windows) => line,
        Some(_) => return Err("it ends in a carriage return".to_owned()),
        None => line,
    };
    Reply::from_engine(line, display_name).map_err(|error| format!("{error}: {}", excerpt(line)))
}
