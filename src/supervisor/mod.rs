//! The supervisor: it keeps warm engine children and gives every record exactly one reply.
//!
//! # Theory of operation
//!
//! A call first gets a *permit* from [`admission`](self) (N of them; two lanes, a bounded queue). With
//! it, it checks an idle child out of the pool of its *profile*, or starts one in a *slot* (also N of
//! them: a slot is held from the start of a process until it is reaped, so never more than N are
//! alive). One task tends each child from start to reap and owns its pipes; callers send it one record
//! at a time and get one outcome back. A *lease* makes the checkout safe to drop: a child with a
//! record in flight never returns to its pool.
//!
//! Files: `fair_queue`, `admission` (permits) · `keyed_pool`, `checkout`, `lease` (children by profile) ·
//! `start`, `child`, `child_task`, `worker` (one child) · `spawner`, `launcher`, `os` (processes) · `resolve`,
//! `current_engine`, `introspection` (the engine) · `recycle`, `breaker`, `quarantine` (what ends and what is
//! held back) · `batch`, `drain`, `snapshot`, `stats` (the rest of the public face).

mod admission;
mod batch;
mod breaker;
mod checkout;
mod child;
mod child_task;
mod core;
mod current_engine;
mod drain;
mod failure;
mod fair_queue;
mod introspection;
mod jitter;
mod keyed_pool;
mod launcher;
mod lease;
mod log_throttle;
mod os;
mod quarantine;
mod recycle;
mod resolve;
mod settings;
mod snapshot;
mod spawner;
mod start;
mod stats;
mod stderr_tail;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use tracing::Instrument;

use crate::contract::{CONTRACT_VERSION, Envelope, ProbeOptions, Profile, Record, Reply};

use self::admission::Permit;
use self::core::Core;
use self::failure::Failure;
use self::fair_queue::Lane;
use self::stats::Ended;
use self::worker::Outcome;

pub use batch::Batch;
pub use drain::{DrainSummary, Waiting};
pub use launcher::{Applied, CHILD_MARK, intercept_launch};
pub use recycle::Reason;
pub use resolve::check_sandbox;
pub use settings::{EngineChoice, SandboxMode, Settings};
pub use snapshot::{
    BreakerSummary, LatencyView, LimitsView, ProfileView, QueueView, Snapshot, Starts, WorkerView,
};

/// A discovery answer of the engine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Introspection {
    /// The `formats` report.
    Formats,
    /// The `targets` report of one format.
    Targets(String),
    /// The JSON Schema of reports.
    Schema,
}

/// Which kind of engine was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineKind {
    /// A `deckprobe` binary.
    External,
    /// The engine inside our own binary.
    Builtin,
}

/// The engine in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EngineInfo {
    /// Which kind it is.
    pub kind: EngineKind,
    /// The program that is started.
    pub path: PathBuf,
    /// The version that it reports.
    pub tool_version: String,
}

/// The running supervisor. Clones are handles to the same one; when the last is dropped without a
/// [`drain`](Self::drain), idle children end by themselves.
#[derive(Clone)]
pub struct Supervisor {
    handle: Arc<Handle>,
}

struct Handle {
    core: Arc<Core>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.core.abandon();
    }
}

impl Supervisor {
    /// Starts a supervisor on the current tokio runtime. Returns at once: finding the engine and
    /// prewarming go on in the background.
    #[must_use]
    pub fn start(settings: Settings) -> Self {
        let core = Core::new(settings);
        if core.settings.prewarm > 0 {
            core.tracker.spawn(Arc::clone(&core).prewarm());
        }
        Self {
            handle: Arc::new(Handle { core }),
        }
    }

    /// Probes one record. Always exactly one reply: the engine's, or an envelope of ours. Dropping
    /// the future cancels the probe and kills the child that it runs on.
    pub async fn probe(&self, record: &Record, options: &ProbeOptions) -> Reply {
        let core = &self.handle.core;
        let _under_way = core.calls.token();
        let tally = OutcomeGuard { core };
        let span = record_span();
        let call = async {
            let asked = Instant::now();
            let longest = core.settings.queue_timeout;
            match core.admission.acquire(Lane::Interactive, longest).await {
                Ok(permit) => {
                    core.stats.note_wait(asked.elapsed());
                    core.run(record, options, permit, tally).await
                }
                Err(refusal) => tally.done(core.reply(&refusal.envelope())),
            }
        };
        call.instrument(span).await
    }

    /// Probes many records; an entry that is already an error answers as it is. Records are taken
    /// from the iterator as their turns come, which may be from another task.
    ///
    /// # Errors
    /// `MCP_OVERLOADED` or `MCP_SHUTTING_DOWN` when the batch as a whole finds no place.
    pub fn batch<I>(&self, records: I, options: ProbeOptions) -> Result<Batch, Envelope>
    where
        I: IntoIterator<Item = Result<Record, Envelope>>,
        I::IntoIter: Send + 'static,
    {
        self.handle.core.batch(records.into_iter(), options)
    }

    /// A discovery answer, verbatim, cached by the engine's identity. Only the first call of a kind
    /// needs a permit.
    ///
    /// # Errors
    /// The engine's own error envelope, or one of ours.
    pub async fn introspect(&self, what: &Introspection) -> Result<Arc<str>, Reply> {
        let _under_way = self.handle.core.calls.token();
        self.handle.core.introspect(what).await
    }

    /// The engine in use; waits for the search to end.
    ///
    /// # Errors
    /// `MCP_ENGINE_FAILURE` when there is no usable engine, with the reason.
    pub async fn engine(&self) -> Result<EngineInfo, Envelope> {
        let engine = self.handle.core.engine().await;
        engine
            .map(|engine| engine.info.clone())
            .map_err(|error| error.envelope())
    }

    /// The `tool_version` for envelopes that other layers make: the engine's where it is known.
    #[must_use]
    pub fn tool_version(&self) -> Arc<str> {
        self.handle.core.tool_version()
    }

    /// The state of the pool now. Needs no permit and waits for nothing.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.handle.core.snapshot()
    }

    /// Ends the supervisor: new calls are refused, those in flight are answered within `limit`, and
    /// when it returns no child of ours is alive or being started. Repeating it is harmless.
    pub async fn drain(&self, limit: Duration, waiting: Waiting) -> DrainSummary {
        self.handle.core.drain(limit, waiting).await
    }

    /// Kills every child now, without waiting. For a second signal, just before the process exits.
    pub fn abort(&self) {
        self.handle.core.abort();
    }
}

impl Core {
    /// Runs one record under a permit, and counts how it ended.
    async fn run(
        self: &Arc<Self>,
        record: &Record,
        options: &ProbeOptions,
        permit: Permit,
        tally: OutcomeGuard<'_>,
    ) -> Reply {
        let profile = options.profile();
        let span = tracing::Span::current();
        span.record("profile", tracing::field::display(&profile));
        tracing::trace!("admitted");
        let reply = self
            .attempts(record, options, &profile, Arc::new(permit))
            .await;
        span.record("outcome", Ended::of(&reply).as_str());
        tally.done(reply)
    }

    /// Tries a record; once more if the child proves to have been dead before it got it.
    async fn attempts(
        self: &Arc<Self>,
        record: &Record,
        options: &ProbeOptions,
        profile: &Profile,
        permit: Arc<Permit>,
    ) -> Reply {
        if self.quarantine.remembers_any() {
            let document = quarantine::document_key(record, options).await;
            if let Some(refusal) = self.quarantine.refusal(document, Instant::now()) {
                self.stats.count_refused();
                return self.reply(&refusal);
            }
        }
        let engine = match self.engine().await {
            Ok(engine) => engine,
            Err(error) => return error.reply(&self.tool_version()),
        };
        let per_record = engine.takes_options_per_record();
        let key = if per_record {
            ProbeOptions::new().profile()
        } else {
            profile.clone()
        };
        for attempt in 0..2 {
            if attempt > 0 {
                self.stats.count_retry();
            }
            let mut lease = match self.checkout(&key, &permit).await {
                Ok(lease) => lease,
                Err(error) => return error.reply(&self.tool_version()),
            };
            let mut line = Vec::new();
            record.write_line(per_record.then_some(options), &mut line);
            let display_name = record.display_name().map(str::to_owned);
            let handed_over = Instant::now();
            tracing::Span::current().record("child", lease.child_id());
            tracing::trace!("handed over");
            match lease.run(line, display_name).await {
                Outcome::Reply(reply) => {
                    self.stats.note_record(handed_over.elapsed());
                    return reply;
                }
                Outcome::NotHandedOver => {}
                Outcome::Failed(failure) => return self.failed(&failure, record, options).await,
            }
        }
        self.reply(&failure::never_handed_over())
    }

    /// The reply for a record that cost a child.
    async fn failed(&self, failure: &Failure, record: &Record, options: &ProbeOptions) -> Reply {
        let mut envelope = failure.envelope(options.budget().timeout_ms);
        if self.quarantine.is_on() && failure.blames_the_document() {
            let document = quarantine::document_key(record, options).await;
            self.quarantine
                .strike(document, &mut envelope, Instant::now());
        }
        self.reply(&envelope)
    }

    /// Starts the children that the first calls will find.
    async fn prewarm(self: Arc<Self>) {
        let wanted = self.settings.prewarm.min(self.settings.max_concurrency);
        let profile = ProbeOptions::new().profile();
        let Ok(pool) = self.pools.of(self.weak(), &profile) else {
            return;
        };
        let starts = (0..wanted).filter_map(|_| {
            let permit = self.admission.try_background()?;
            let (core, pool) = (Arc::clone(&self), Arc::clone(&pool));
            Some(
                self.tracker
                    .spawn(async move { core.warm_up(&pool, permit).await }),
            )
        });
        for start in starts.collect::<Vec<_>>() {
            if let Ok(Err(error)) = start.await
                && !self.is_ending()
            {
                tracing::warn!(reason = %error.envelope().message, "no engine could be started in advance");
            }
        }
    }

    fn tool_version(&self) -> Arc<str> {
        let engine = self.engine.current();
        engine.map_or_else(
            || CONTRACT_VERSION.into(),
            |engine| engine.info.tool_version.as_str().into(),
        )
    }

    fn reply(&self, envelope: &Envelope) -> Reply {
        Reply::from_envelope(envelope, &self.tool_version())
    }
}

/// The span of one record, from its call to its reply. Nothing of a document is in it.
fn record_span() -> tracing::Span {
    use tracing::field::Empty;
    tracing::debug_span!("record", profile = Empty, child = Empty, outcome = Empty)
}

/// Counts a record however it ends, also when its future is dropped.
struct OutcomeGuard<'a> {
    core: &'a Core,
}

impl OutcomeGuard<'_> {
    fn done(self, reply: Reply) -> Reply {
        self.core.stats.count_outcome(Ended::of(&reply));
        std::mem::forget(self);
        reply
    }
}

impl Drop for OutcomeGuard<'_> {
    fn drop(&mut self) {
        self.core.stats.count_outcome(Ended::Cancelled);
    }
}
