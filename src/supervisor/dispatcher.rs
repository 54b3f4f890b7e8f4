//! The way of one record: into the queue, to a child, and back with exactly one reply.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::contract::{CONTRACT_VERSION, Envelope, ProbeOptions, Record, Reply};

use super::breaker::Breaker;
use super::child_task::Outcome;
use super::current_engine::CurrentEngine;
use super::engine_program::ResolvedEngine;
use super::failure::{AdmissionError, Failure, StartError, never_handed_over};
use super::failure_log::FailureLog;
use super::fair_queue::{Lane, Ticket};
use super::introspection::{Introspection, Introspector, NoAnswer};
use super::ledger::{Want, Which};
use super::pool::{Granted, Lease, Pool};
use super::pool_state::{Arrival, Request};
use super::profiles::KnownProfile;
use super::quarantine::{Quarantine, document_key};
use super::reply_memory::{Beyond, ReplyMemory};
use super::settings::Settings;
use super::starter::Starter;
use super::stats::{Ended, Stats};

/// The parts of a supervisor. None of them knows this struct.
pub(super) struct Dispatcher {
    pub(super) settings: Arc<Settings>,
    /// Places, the queue before them, and the children in them.
    pub(super) pool: Arc<Pool>,
    pub(super) starter: Arc<Starter>,
    pub(super) engine: Arc<CurrentEngine>,
    pub(super) introspector: Introspector,
    pub(super) breaker: Arc<Breaker>,
    pub(super) quarantine: Quarantine,
    pub(super) stats: Arc<Stats>,
    /// Replies that have not reached their clients.
    pub(super) replies: Arc<ReplyMemory>,
    pub(super) failures: FailureLog,
    /// Every call that is under way.
    pub(super) calls: TaskTracker,
    pub(super) born: Instant,
}

/// How records with one option set are probed.
#[derive(Clone)]
pub(super) struct Plan {
    engine: Arc<ResolvedEngine>,
    profile: Arc<KnownProfile>,
}

/// A place in the pool, and what an attempt needs to ask for another.
pub(super) struct Turn {
    granted: Granted,
    lane: Lane,
    ticket: Ticket,
}

impl Dispatcher {
    pub(super) fn new(mut settings: Settings) -> Arc<Self> {
        settings.max_concurrency = settings.max_concurrency.max(1);
        let settings = Arc::new(settings);
        let pool = Pool::new(settings.max_concurrency, settings.max_queue);
        let breaker = Breaker::new();
        let stats = Arc::new(Stats::new());
        let starter = Starter::new(&settings, &pool, &breaker, &stats);
        let engine = CurrentEngine::new(&settings, &pool, &starter, &breaker, &stats);
        let introspector = Introspector::new(&settings, &pool, &starter, &engine);
        Arc::new(Self {
            quarantine: Quarantine::new(settings.strikes),
            replies: ReplyMemory::new(pool.closing.clone()),
            failures: FailureLog::default(),
            calls: TaskTracker::new(),
            born: Instant::now(),
            settings,
            pool,
            starter,
            engine,
            introspector,
            breaker,
            stats,
        })
    }

    /// Probes one record.
    pub(super) async fn probe(&self, record: &Record, options: &ProbeOptions) -> Reply {
        let outcome = OutcomeGuard { stats: &self.stats };
        let begun = Instant::now();
        match self.first_turn(options).await {
            Ok((plan, turn)) => {
                self.stats.note_wait(begun.elapsed());
                let reply = self.run(record, options, plan, turn).await;
                outcome.done(self.replies.hold(reply, None))
            }
            Err(reply) => outcome.done(reply),
        }
    }

    /// Runs one record, whose turn has come, and counts how it ended.
    pub(super) async fn run_counted(
        &self,
        record: &Record,
        options: &ProbeOptions,
        plan: Plan,
        turn: Turn,
        beyond: Option<Beyond>,
    ) -> Reply {
        let outcome = OutcomeGuard { stats: &self.stats };
        let reply = self.run(record, options, plan, turn).await;
        outcome.done(self.replies.hold(reply, beyond))
    }

    /// How to probe with these options, with an engine that is known already.
    pub(super) fn plan_now(&self, options: &ProbeOptions) -> Option<Plan> {
        Some(self.plan_with(self.engine.known()?, options))
    }

    /// The same; searches for the engine if it is not known.
    pub(super) async fn plan(&self, options: &ProbeOptions) -> Result<Plan, StartError> {
        let engine = self.engine.find(|| ()).await?;
        Ok(self.plan_with(engine, options))
    }

    /// Waits for a child or a place.
    pub(super) async fn turn(
        &self,
        plan: &Plan,
        which: Which,
        lane: Lane,
        arrival: Arrival,
        longest: Duration,
    ) -> Result<Turn, AdmissionError> {
        let profile = plan.profile.id;
        let want = Want { profile, which };
        let request = Request {
            lane,
            want,
            arrival,
        };
        let (granted, ticket) = self.pool.acquire(request, longest).await?;
        Ok(Turn {
            granted,
            lane,
            ticket,
        })
    }

    /// An answer of the engine about itself, verbatim.
    pub(super) async fn introspect(&self, what: &Introspection) -> Result<Arc<str>, Reply> {
        let answer = self.introspector.answer(what).await;
        answer.map_err(|why| match why {
            NoAnswer::Reply(reply) => reply,
            NoAnswer::Envelope(envelope) => self.reply(&envelope),
        })
    }

    /// The `tool_version` of envelopes of ours: the engine's where it is known.
    pub(super) fn tool_version(&self) -> Arc<str> {
        let engine = self.engine.peek();
        engine.map_or_else(
            || CONTRACT_VERSION.into(),
            |engine| engine.info.tool_version.as_str().into(),
        )
    }

    pub(super) fn reply(&self, envelope: &Envelope) -> Reply {
        Reply::from_envelope(envelope, &self.tool_version())
    }

    /// Starts the children that the first calls will find, and replaces lost ones later, until the end.
    pub(super) async fn keep_warm(self: Arc<Self>) {
        let profile = self.pool.profile(&ProbeOptions::new().profile());
        let wanted = self.settings.prewarm;
        let mut places = Vec::new();
        let mut reserve = || {
            let (there, _) = self.pool.places_of(profile.id);
            let more = (there..wanted).map_while(|_| self.pool.acquire_in_background(profile.id));
            places.extend(more);
        };
        // Reserved before anyone else knows the engine, so that the first calls wait for these children
        // instead of starting more.
        let engine = self.engine.find(&mut reserve).await;
        // Somebody else may have found it.
        reserve();
        if let Ok(engine) = engine {
            for place in places {
                let (starter, closing) = (Arc::clone(&self.starter), self.pool.closing.clone());
                let (engine, profile) = (Arc::clone(&engine), Arc::clone(&profile));
                self.pool.tasks.spawn(async move {
                    let started = starter.start_in_background(place, engine, profile).await;
                    if let Err(error) = started
                        && !closing.is_cancelled()
                    {
                        let reason = error.envelope().message;
                        tracing::warn!(reason, "no engine could be started in advance");
                    }
                });
            }
        }
        loop {
            tokio::select! {
                () = self.pool.replacement_wanted.notified() => self.replace().await,
                () = self.pool.closing.cancelled() => return,
            }
        }
    }

    /// Starts a child for the profile that is used most, if it has none and there is room. One that
    /// fails is not repeated from here.
    async fn replace(&self) {
        let Some(engine) = self.engine.peek() else {
            return;
        };
        let Some(profile) = self.pool.profiles.by_use().into_iter().next() else {
            return;
        };
        let (_, idle) = self.pool.places_of(profile.id);
        if idle == 0
            && let Some(place) = self.pool.acquire_in_background(profile.id)
        {
            let start = self.starter.start_in_background(place, engine, profile);
            let _reported = start.await;
        }
    }

    /// The plan and the first turn of a single call.
    async fn first_turn(&self, options: &ProbeOptions) -> Result<(Plan, Turn), Reply> {
        let refused = |error: AdmissionError| self.reply(&error.envelope());
        let longest = self.settings.queue_timeout;
        self.replies.room().await;
        let (plan, mut arrival) = match self.plan_now(options) {
            Some(plan) => (plan, Arrival::New),
            None => {
                let seat = self.pool.take_seat().map_err(refused)?;
                let plan = self.plan(options).await;
                let plan = plan.map_err(|error| error.reply(&self.tool_version()))?;
                (plan, Arrival::Seated(seat.ticket))
            }
        };
        loop {
            let turn = self
                .turn(&plan, Which::Any, Lane::Interactive, arrival, longest)
                .await;
            // The memory may have been filled while the call was queued, which is up to the clients: it
            // keeps its position and waits for them, without a limit of its own.
            match turn {
                Ok(turn) if !self.replies.has_room() => arrival = Arrival::Seated(turn.ticket),
                Err(AdmissionError::WaitedTooLong { .. }) if !self.replies.has_room() => {}
                Ok(turn) => return Ok((plan, turn)),
                Err(error) => return Err(refused(error)),
            }
            self.replies.room().await;
        }
    }

    fn plan_with(&self, engine: Arc<ResolvedEngine>, options: &ProbeOptions) -> Plan {
        // A child that takes options with each record serves every profile.
        let profile = if engine.takes_options_per_record() {
            ProbeOptions::new().profile()
        } else {
            options.profile()
        };
        let profile = self.pool.profile(&profile);
        Plan { engine, profile }
    }

    async fn run(&self, record: &Record, options: &ProbeOptions, plan: Plan, turn: Turn) -> Reply {
        let span = tracing::Span::current();
        span.record("profile", tracing::field::display(&plan.profile.profile));
        let reply = self.attempts(record, options, plan, turn).await;
        span.record("outcome", Ended::of(&reply).as_str());
        reply
    }

    /// Tries a record; once more, on a fresh child and within its deadline, if the first child proves to
    /// have ended before it got it, or answered with a line that may be left over from another record.
    async fn attempts(
        &self,
        record: &Record,
        options: &ProbeOptions,
        plan: Plan,
        turn: Turn,
    ) -> Reply {
        if self.quarantine.remembers_any(Instant::now()) {
            let document = document_key(record, options).await;
            if let Some(refusal) = self.quarantine.refusal(document, Instant::now()) {
                self.stats.count_refused();
                return self.reply(&refusal);
            }
        }
        let (lane, ticket) = (turn.lane, turn.ticket);
        let lease = match self.lease(&plan, turn).await {
            Ok(lease) => lease,
            Err(error) => return error.reply(&self.tool_version()),
        };
        let begun = Instant::now();
        let limit = self.settings.record_timeout;
        let first = match self.exchange(record, options, &plan, lease, limit).await {
            Outcome::Reply(reply) => return reply,
            Outcome::Failed(failure) => return self.failed(&failure, record, options).await,
            Outcome::Doubtful(failure) => failure.envelope(None),
            Outcome::NotHandedOver => never_handed_over(),
        };
        self.stats.count_retry();
        let left = limit.saturating_sub(begun.elapsed());
        let again = self.second_lease(&plan, lane, ticket);
        let lease = match timeout(left, again).await {
            Ok(Ok(lease)) => lease,
            Ok(Err(reply)) => return reply,
            Err(_) => return self.reply(&first),
        };
        let left = limit.saturating_sub(begun.elapsed());
        match self.exchange(record, options, &plan, lease, left).await {
            Outcome::Reply(reply) => reply,
            Outcome::Failed(failure) | Outcome::Doubtful(failure) => {
                self.failed(&failure, record, options).await
            }
            Outcome::NotHandedOver => self.reply(&never_handed_over()),
        }
    }

    /// A child for the second attempt.
    async fn second_lease(&self, plan: &Plan, lane: Lane, ticket: Ticket) -> Result<Lease, Reply> {
        let longest = self.settings.queue_timeout;
        let again = Arrival::Again(ticket);
        let turn = self.turn(plan, Which::Fresh, lane, again, longest).await;
        let turn = turn.map_err(|error| self.reply(&error.envelope()))?;
        let lease = self.lease(plan, turn).await;
        lease.map_err(|error| error.reply(&self.tool_version()))
    }

    /// The child that was granted, or a new one in the place that was. If the system has no means to
    /// start one, whichever comes first: a child of the profile that is running, or the means.
    async fn lease(&self, plan: &Plan, turn: Turn) -> Result<Lease, StartError> {
        const TRY_EVERY: Duration = Duration::from_millis(500);
        let begun = Instant::now();
        let longest = self.settings.queue_timeout;
        let Plan { engine, profile } = plan;
        let Turn {
            mut granted,
            lane,
            ticket,
        } = turn;
        let again = Arrival::Again(ticket);
        loop {
            let place = match granted {
                Granted::Child(lease) => return Ok(lease),
                Granted::Place(place) => place,
            };
            let shortage = match self.starter.start(place, engine, profile).await {
                Err(StartError::Shortage(reason)) => reason,
                started => return started,
            };
            let left = longest.saturating_sub(begun.elapsed());
            if left.is_zero() || self.pool.children().is_empty() {
                return Err(StartError::Shortage(shortage));
            }
            if self.pool.places_of(profile.id).0 == 0 {
                self.pool.evict_one();
            }
            let running = self.turn(plan, Which::Existing, lane, again, TRY_EVERY.min(left));
            let turn = match running.await {
                Err(AdmissionError::WaitedTooLong { .. }) => {
                    self.turn(plan, Which::Any, lane, again, left).await
                }
                turn => turn,
            };
            granted = match turn {
                Ok(turn) => turn.granted,
                Err(_) => return Err(StartError::Shortage(shortage)),
            };
        }
    }

    /// Hands a record to a child.
    async fn exchange(
        &self,
        record: &Record,
        options: &ProbeOptions,
        plan: &Plan,
        lease: Lease,
        limit: Duration,
    ) -> Outcome {
        let Some(info) = lease.info() else {
            return Outcome::NotHandedOver;
        };
        let per_record = plan.engine.takes_options_per_record();
        if info.engine.takes_options_per_record() != per_record {
            // The engine was replaced by one of the other kind since the plan was made.
            return Outcome::NotHandedOver;
        }
        tracing::Span::current().record("child", info.id);
        let mut line = Vec::new();
        record.write_line(per_record.then_some(options), &mut line);
        let display_name = record.display_name().map(str::to_owned);
        let handed_over = Instant::now();
        let outcome = lease.run(line, display_name, limit).await;
        if matches!(outcome, Outcome::Reply(_)) {
            self.stats.note_record(handed_over.elapsed());
        }
        outcome
    }

    /// The reply for a record that cost a child.
    async fn failed(&self, failure: &Failure, record: &Record, options: &ProbeOptions) -> Reply {
        self.failures.note(failure, record, self.born.elapsed());
        let mut envelope = failure.envelope(options.budget().timeout_ms);
        if self.quarantine.is_on() && failure.may_be_the_documents_fault() {
            let document = document_key(record, options).await;
            self.quarantine
                .strike(document, &mut envelope, Instant::now());
        }
        self.reply(&envelope)
    }
}

/// The span of one record, from its call to its reply. Nothing of a document is in it.
pub(super) fn record_span() -> tracing::Span {
    use tracing::field::Empty;
    tracing::debug_span!("record", profile = Empty, child = Empty, outcome = Empty)
}

/// Counts a record however it ends, also when its future is dropped.
struct OutcomeGuard<'a> {
    stats: &'a Stats,
}

impl OutcomeGuard<'_> {
    fn done(self, reply: Reply) -> Reply {
        self.stats.count_outcome(Ended::of(&reply));
        std::mem::forget(self);
        reply
    }
}

impl Drop for OutcomeGuard<'_> {
    fn drop(&mut self) {
        self.stats.count_outcome(Ended::Cancelled);
    }
}
