//! Starting processes in places of the pool: children that serve records, and processes that answer one
//! question. Every start goes on in a task of its own, so a caller that leaves cuts nothing off.

use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::breaker::{Attempt, Breaker, Verdict};
use super::child::{Child, ChildLimits, ExchangeError};
use super::child_status::ChildStatus;
use super::child_task::{ChildEvents, ChildHandle, ChildTask};
use super::ending::{end, exit_soon};
use super::engine_program::{Answer, ResolvedEngine};
use super::failure::StartError;
use super::launch_spec::Applied;
use super::ledger::PlaceId;
use super::log_throttle::LogThrottle;
use super::place::{Observers, OccupiedPlace};
use super::pool::{Lease, Pool, StartPlace};
use super::profiles::KnownProfile;
use super::recycle::{Reason, RecycleLimits};
use super::sandbox_report::SandboxReport;
use super::settings::Settings;
use super::spawner;
use super::stats::Stats;

/// Starts processes.
pub(super) struct Starter {
    settings: Arc<Settings>,
    pool: Arc<Pool>,
    breaker: Arc<Breaker>,
    observers: Arc<Observers>,
    next_id: AtomicU64,
    shortage: Shortage,
}

/// The system had no process or descriptor for a child a moment ago: others need not try.
#[derive(Default)]
struct Shortage(Mutex<Option<(Instant, String)>>);

impl Shortage {
    const LASTS: Duration = Duration::from_millis(500);

    fn note(&self, reason: &str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((Instant::now(), reason.to_owned()));
    }

    fn current(&self) -> Option<String> {
        let noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, reason) = noted.as_ref()?;
        (at.elapsed() < Self::LASTS).then(|| reason.clone())
    }
}

impl Starter {
    pub(super) fn new(
        settings: &Arc<Settings>,
        pool: &Arc<Pool>,
        breaker: &Arc<Breaker>,
        stats: &Arc<Stats>,
    ) -> Arc<Self> {
        Arc::new(Self {
            settings: Arc::clone(settings),
            pool: Arc::clone(pool),
            breaker: Arc::clone(breaker),
            observers: Arc::new(Observers {
                stats: Arc::clone(stats),
                sandbox: SandboxReport::new(settings.sandbox),
                lost_log: LogThrottle::default(),
            }),
            next_id: AtomicU64::new(1),
            shortage: Shortage::default(),
        })
    }

    /// What confines the children; `None` before the first start.
    pub(super) fn sandbox(&self) -> Option<Applied> {
        self.observers.sandbox.latest()
    }

    /// Starts a child for a caller, as soon as the breaker lets it. If the caller leaves, the child
    /// becomes idle.
    pub(super) async fn start(
        self: &Arc<Self>,
        place: StartPlace,
        engine: &Arc<ResolvedEngine>,
        profile: &Arc<KnownProfile>,
    ) -> Result<Lease, StartError> {
        let longest = self.settings.start_timeout;
        let attempt = self.breaker.admit(longest, &self.pool.closing).await?;
        let start =
            Arc::clone(self).start_child(place, attempt, Arc::clone(engine), Arc::clone(profile));
        let started = self.pool.tasks.spawn(start).await;
        started.unwrap_or_else(|error| Err(StartError::Failed(error.to_string())))
    }

    /// Starts a child in the background and leaves it idle. Does nothing while starts are held back.
    pub(super) async fn start_in_background(
        self: &Arc<Self>,
        place: StartPlace,
        engine: Arc<ResolvedEngine>,
        profile: Arc<KnownProfile>,
    ) -> Result<(), StartError> {
        let Verdict::Start(attempt) = self.breaker.ask(Instant::now()) else {
            return Ok(());
        };
        let start = Arc::clone(self).start_child(place, attempt, engine, profile);
        start.await.map(drop)
    }

    async fn start_child(
        self: Arc<Self>,
        place: StartPlace,
        attempt: Attempt,
        engine: Arc<ResolvedEngine>,
        profile: Arc<KnownProfile>,
    ) -> Result<Lease, StartError> {
        let begun = Instant::now();
        if self.pool.is_closing() {
            return Err(StartError::ShuttingDown);
        }
        if let Some(reason) = self.shortage.current() {
            return Err(StartError::Shortage(reason));
        }
        let Some(id) = place.take() else {
            return Err(StartError::ShuttingDown);
        };
        let command = engine.command(&self.settings, &engine.jsonl_arguments(&profile.profile));
        let (child, orders) = ChildHandle::new(self.status(&engine, Some(profile)));
        let child = Arc::new(child);
        let task = ChildTask {
            info: Arc::clone(&child.info),
            limits: ChildLimits::from_settings(&self.settings),
            recycle: RecycleLimits::for_child_born(begun, &self.settings),
            kill: self.pool.killing.clone(),
            events: self.occupy(id, &child),
        };
        let (sender, ready) = oneshot::channel();
        self.pool.tasks.spawn(task.run(command, orders, sender));
        let started = ready.await.unwrap_or(Err(StartError::ShuttingDown));
        if let Err(StartError::Shortage(reason)) = &started {
            self.shortage.note(reason);
        }
        let stats = &self.observers.stats;
        stats.count_start(started.is_ok());
        match &started {
            Ok(()) => {
                stats.note_start(begun.elapsed());
                let (child, pid) = (child.info.id, child.info.pid());
                tracing::debug!(child, pid, "engine started");
                attempt.succeeded();
            }
            // Refused options say nothing about the engine: it starts.
            Err(StartError::Refused(_)) => attempt.succeeded(),
            Err(StartError::Failed(reason)) => attempt.failed(reason),
            Err(
                StartError::Shortage(_) | StartError::HeldBack { .. } | StartError::ShuttingDown,
            ) => drop(attempt),
        }
        started.map(|()| self.pool.ready(id, child))
    }

    /// Runs a process that answers one question by its arguments and ends by itself.
    pub(super) async fn ask(
        self: &Arc<Self>,
        place: StartPlace,
        engine: Arc<ResolvedEngine>,
        arguments: Vec<String>,
        longest: Duration,
    ) -> Result<Answer, String> {
        let (sender, answer) = oneshot::channel();
        let question = Arc::clone(self).run_once(place, engine, arguments, longest, sender);
        self.pool.tasks.spawn(question);
        let shutting_down = || Err("the server is shutting down".to_owned());
        answer.await.unwrap_or_else(|_| shutting_down())
    }

    /// Answers on `answer`, then sees to the end of the process.
    async fn run_once(
        self: Arc<Self>,
        place: StartPlace,
        engine: Arc<ResolvedEngine>,
        arguments: Vec<String>,
        longest: Duration,
        answer: oneshot::Sender<Result<Answer, String>>,
    ) {
        let Some(id) = place.take() else { return };
        let command = engine.command(&self.settings, &arguments);
        let (handle, _no_orders) = ChildHandle::new(self.status(&engine, None));
        let handle = Arc::new(handle);
        let place = self.occupy(id, &handle);
        let process = match spawner::spawn(command).await {
            Ok(process) => process,
            Err(error) => {
                drop(place);
                let _left = answer.send(Err(error.to_string()));
                return;
            }
        };
        let through_launcher = engine.through_launcher();
        let mut child = Child::new(Arc::clone(&handle.info), process, through_launcher);
        place.started();
        self.pool.answering(id);
        let limits = ChildLimits::from_settings(&self.settings);
        let kill = &self.pool.killing;
        let answered = one_answer(&mut child, &limits, longest, kill).await;
        let reason = Reason::Discovery;
        place.ending(reason);
        if !child.has_ended() {
            // Its end may take a while: who asked does not wait for it.
            let _left = answer.send(answered);
            let lost = || place.lost();
            let status = end(&mut child, reason, limits.grace, kill, lost).await;
            place.ended(reason, status, &child.stderr_tail.shown());
            return;
        }
        // The place is free before who asked goes on, and perhaps wants every place there is.
        let status = child.reap().await;
        place.ended(reason, status, &child.stderr_tail.shown());
        let _left = answer.send(answered);
    }

    fn status(
        &self,
        engine: &Arc<ResolvedEngine>,
        profile: Option<Arc<KnownProfile>>,
    ) -> ChildStatus {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        ChildStatus::new(id, Arc::clone(engine), profile)
    }

    fn occupy(&self, id: PlaceId, child: &Arc<ChildHandle>) -> OccupiedPlace {
        OccupiedPlace::new(&self.pool, &self.observers, id, child)
    }
}

/// The whole output and the exit status of a process that answers one question.
async fn one_answer(
    child: &mut Child,
    limits: &ChildLimits,
    longest: Duration,
    kill: &tokio_util::sync::CancellationToken,
) -> Result<Answer, String> {
    let output = child
        .whole_output(longest, limits.max_reply_bytes, kill)
        .await;
    let exit = match &output {
        Ok(_) => exit_soon(child, limits, false, kill).await,
        Err(_) => None,
    };
    if let Some(why) = child.stderr_tail.launch_failure() {
        return Err(why.to_owned());
    }
    let output = output.map_err(|error| match error {
        ExchangeError::Deadline => format!("it did not answer within {} ms", longest.as_millis()),
        ExchangeError::Oversized => {
            format!("it printed more than {} bytes", limits.max_reply_bytes)
        }
        _ => "the server is shutting down".to_owned(),
    })?;
    let status: Option<ExitStatus> = child.reap().await;
    let (Some(exit), Some(status)) = (exit, status) else {
        return Err("it closed its output and did not end".to_owned());
    };
    let perhaps = exit.perhaps.map(|why| format!(" ({why})"));
    let stderr = child.stderr_tail.shown() + &perhaps.unwrap_or_default();
    Ok(Answer {
        status,
        output,
        stderr,
    })
}
