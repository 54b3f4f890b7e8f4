//! The supervisor: it keeps warm engine children and gives every record exactly one reply.
//!
//! # Theory of operation
//!
//! The *pool* has `N` places. A place is free, starting, idle, busy, dying or lost, and its process
//! occupies it from the spawn to the reap: never more than `N` are alive. A call asks the pool for a child
//! of its *profile* (its option set); in one step it claims an idle one, gets a place to start one in, has
//! the least recently used one of another profile evicted, or waits in the fair queue. Each child belongs
//! to one *task*, which owns the process and its pipes, takes one record at a time, and reports events to
//! the pool; whatever casts doubt on the order of lines ends the child. Dropping a call at any moment
//! gives back what it held.
//!
//! Files, each using only those before it: `settings`, `recycle`, `failure`, `fair_queue`, `ledger`,
//! `pool_state` (plain data) · `launch_spec`, `os`, `launcher`, `spawner`, `engine_program` (processes) · `pipes`,
//! `child`, `ping`, `ending`, `child_task` (one child) · `pool`, `place`, `breaker`, `starter` (places and
//! starts) · `resolve`, `current_engine`, `introspection` (the engine) · `quarantine`, `failure_log`, `stats`,
//! `dispatcher` (the way of a record) · `batch`, `drain`, `snapshot` · this facade.

mod batch;
mod breaker;
mod child;
mod child_status;
mod child_task;
mod current_engine;
mod dispatcher;
mod drain;
mod ending;
mod engine_program;
mod failure;
mod failure_log;
mod fair_queue;
mod introspection;
mod jitter;
mod launch_spec;
mod launcher;
mod ledger;
mod log_throttle;
mod os;
mod ping;
mod pipes;
mod place;
mod pool;
mod pool_state;
mod profiles;
mod quarantine;
mod recycle;
mod reply_memory;
mod resolve;
mod sandbox_report;
mod settings;
mod snapshot;
mod spawner;
mod starter;
mod stats;
mod stderr_tail;

use std::sync::Arc;
use std::time::Duration;

use tracing::Instrument;

use crate::contract::{Envelope, ProbeOptions, Record, Reply};

use self::dispatcher::{Dispatcher, record_span};

pub use batch::Batch;
pub use drain::{DrainSummary, Waiting};
pub use engine_program::{EngineInfo, EngineKind, check_sandbox};
pub use failure_log::FailureView;
pub use introspection::Introspection;
pub use launch_spec::{Applied, CHILD_MARK};
pub use launcher::intercept_launch;
pub use recycle::Reason;
pub use settings::{EngineChoice, SandboxMode, Settings};
pub use snapshot::{
    BreakerSummary, LatencyView, LimitsView, ProfileView, QueueView, Snapshot, Starts, WorkerView,
};

/// How many threads a runtime that serves probes should have for calls that block, such as path checks:
/// they must not take the processes that children need where a user may have few.
#[must_use]
pub fn blocking_threads() -> usize {
    const ENOUGH: usize = 72;
    let limit = os::process_limit().and_then(|limit| usize::try_from(limit).ok());
    limit.map_or(ENOUGH, |limit| (limit / 4).clamp(2, ENOUGH))
}

/// The running supervisor. Clones are handles to the same one; when the last is dropped without a
/// [`drain`](Self::drain), idle children end by themselves.
#[derive(Clone)]
pub struct Supervisor {
    handle: Arc<Handle>,
}

struct Handle {
    dispatcher: Arc<Dispatcher>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.dispatcher.calls.close();
        self.dispatcher.pool.close();
    }
}

impl Supervisor {
    /// Starts a supervisor on the current tokio runtime. Returns at once: finding the engine and
    /// prewarming go on in the background.
    #[must_use]
    pub fn start(settings: Settings) -> Self {
        let dispatcher = Dispatcher::new(settings);
        if dispatcher.settings.prewarm > 0 {
            let keep_warm = Arc::clone(&dispatcher).keep_warm();
            dispatcher.pool.tasks.spawn(keep_warm);
        }
        Self {
            handle: Arc::new(Handle { dispatcher }),
        }
    }

    /// Probes one record. Always exactly one reply: the engine's, or an envelope of ours. Dropping
    /// the future cancels the probe and kills the child that it runs on.
    pub async fn probe(&self, record: &Record, options: &ProbeOptions) -> Reply {
        let dispatcher = &self.handle.dispatcher;
        let _under_way = dispatcher.calls.token();
        let probe = dispatcher.probe(record, options);
        probe.instrument(record_span()).await
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
        self.batch_stream(futures_util::stream::iter(records), options)
    }

    /// The same for records that are made as their turns come.
    ///
    /// # Errors
    /// As [`Supervisor::batch`].
    pub fn batch_stream<S>(&self, records: S, options: ProbeOptions) -> Result<Batch, Envelope>
    where
        S: futures_util::Stream<Item = Result<Record, Envelope>> + Send + 'static,
    {
        Batch::start(&self.handle.dispatcher, records, options)
    }

    /// A discovery answer, verbatim, cached by the engine's identity. Only the first call of a kind
    /// needs a permit.
    ///
    /// # Errors
    /// The engine's own error envelope, or one of ours.
    pub async fn introspect(&self, what: &Introspection) -> Result<Arc<str>, Reply> {
        let dispatcher = &self.handle.dispatcher;
        let _under_way = dispatcher.calls.token();
        dispatcher.introspect(what).await
    }

    /// The engine in use; waits for the search to end.
    ///
    /// # Errors
    /// `MCP_ENGINE_FAILURE` when there is no usable engine, with the reason.
    pub async fn engine(&self) -> Result<EngineInfo, Envelope> {
        let engine = self.handle.dispatcher.engine.find(|| ()).await;
        engine
            .map(|engine| engine.info.clone())
            .map_err(|error| error.envelope())
    }

    /// The `tool_version` for envelopes that other layers make: the engine's where it is known.
    #[must_use]
    pub fn tool_version(&self) -> Arc<str> {
        self.handle.dispatcher.tool_version()
    }

    /// Follows the time that records take. Each call of the returned closure gives the percentiles of the
    /// records since the call before.
    pub fn recent_latency(&self) -> impl FnMut() -> LatencyView + Send + use<> {
        let stats = Arc::clone(&self.handle.dispatcher.stats);
        let mut before = stats.records.counts();
        move || {
            let now = stats.records.counts();
            let recent = now.since(&before);
            before = now;
            LatencyView::of(&recent)
        }
    }

    /// The state of the pool now. Needs no permit and waits for nothing.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        snapshot::snapshot(&self.handle.dispatcher)
    }

    /// Ends the supervisor: new calls are refused, those in flight are answered within `limit`, and
    /// when it returns no child of ours is alive or being started. Repeating it is harmless.
    pub async fn drain(&self, limit: Duration, waiting: Waiting) -> DrainSummary {
        drain::drain(&self.handle.dispatcher, limit, waiting).await
    }

    /// Kills every child now, without waiting. For a second signal, just before the process exits.
    pub fn abort(&self) {
        drain::abort(&self.handle.dispatcher);
    }
}
