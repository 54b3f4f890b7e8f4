//! What the pool looks like at one moment. Taken without a permit and without waiting; the numbers
//! are each true, not all of the same instant.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::child_status::ChildStatus;
use super::dispatcher::Dispatcher;
use super::engine_program::EngineInfo;
use super::failure_log::FailureView;
use super::launch_spec::Applied;
use super::pool::Pool;
use super::settings::Settings;
use super::stats::LatencyCounts;

/// The state of the pool.
#[derive(Clone, Debug, Serialize)]
pub struct Snapshot {
    /// `idle` (nothing was started yet), `ready`, `failing` (starts fail), `stuck` (every place is
    /// lost), `ending`.
    pub state: &'static str,
    /// Time since the supervisor started.
    pub uptime_ms: u64,
    /// The engine, once it is known.
    pub engine: Option<EngineInfo>,
    /// What confines the children; absent before the first start.
    pub sandbox: Option<Applied>,
    /// The limits in force.
    pub limits: LimitsView,
    /// Permits and the queue before them.
    pub queue: QueueView,
    /// Option sets that have children or had some lately, the most used first; at most 16 of them.
    pub profiles: Vec<ProfileView>,
    /// Option sets that are remembered in all.
    pub profiles_known: usize,
    /// Every engine process that is alive.
    pub workers: Vec<WorkerView>,
    /// The circuit breaker.
    pub breaker: BreakerSummary,
    /// Records by outcome since the start.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Ended children by reason since the start.
    pub recycles: BTreeMap<&'static str, u64>,
    /// Starts since the start.
    pub starts: Starts,
    /// Records that went to a second child because the first was dead before it got them.
    pub resent: u64,
    /// Documents remembered because they ended their child.
    pub suspects: usize,
    /// Records refused because of that.
    pub refused: u64,
    /// The last records that failed without a report, the latest first; at most 20 of them.
    pub failures: Vec<FailureView>,
    /// From hand-over to reply.
    pub record_latency: LatencyView,
    /// From call to permit.
    pub queue_latency: LatencyView,
}

/// The limits in force.
#[derive(Clone, Debug, Serialize)]
pub struct LimitsView {
    /// Most processes at once.
    pub max_concurrency: usize,
    /// Places in the queue.
    pub max_queue: usize,
    /// Deadline of one record.
    pub record_timeout_ms: u64,
    /// Longest wait for a permit.
    pub queue_timeout_ms: u64,
    /// Idle limit; absent when there is none.
    pub idle_ms: Option<u64>,
    /// Records a child may serve; absent when there is no limit.
    pub max_records: Option<u64>,
    /// Age limit; absent when there is none.
    pub max_age_ms: Option<u64>,
    /// Resident memory limit; absent when there is none.
    pub max_rss_bytes: Option<u64>,
}

/// Permits and the queue.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct QueueView {
    /// Permits in all.
    pub permits: usize,
    /// Permits in use: running jobs, background starts, children that are being killed.
    pub permits_in_use: usize,
    /// Places lost to children that cannot be killed.
    pub lost: usize,
    /// Single calls that wait.
    pub waiting: usize,
    /// Batches under way.
    pub batches: usize,
}

/// One option set.
#[derive(Clone, Debug, Serialize)]
pub struct ProfileView {
    /// The options as the engine's arguments; `default` for none.
    pub profile: String,
    /// Idle children.
    pub idle: usize,
    /// Uses, halved now and then.
    pub uses: u64,
}

/// One engine process.
#[derive(Clone, Debug, Serialize)]
pub struct WorkerView {
    /// Its number, counted from the start.
    pub id: u64,
    /// The process id; absent once it is reaped.
    pub pid: Option<u32>,
    /// `starting`, `idle`, `busy`, `ending` or `lost`.
    pub state: &'static str,
    /// Its option set.
    pub profile: String,
    /// The version of the engine that it runs.
    pub tool_version: String,
    /// Time since its start.
    pub age_ms: u64,
    /// Time since it was last used.
    pub unused_ms: u64,
    /// Records it has answered.
    pub served: u64,
    /// Resident memory after its last record.
    pub rss_bytes: u64,
}

/// The circuit breaker.
#[derive(Clone, Debug, Serialize)]
pub struct BreakerSummary {
    /// `closed`, `backoff`, `open` or `trial`.
    pub state: &'static str,
    /// Failed starts within the window.
    pub recent_failures: usize,
    /// Why the last start failed, until one succeeds.
    pub last_reason: Option<String>,
    /// When the next start is allowed.
    pub retry_in_ms: Option<u64>,
}

/// Starts.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Starts {
    /// Children that became ready.
    pub ok: u64,
    /// Those that did not, and failed searches for the engine.
    pub failed: u64,
}

/// A latency distribution, in microseconds, within about 12 %.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LatencyView {
    /// Values seen.
    pub count: u64,
    /// Half are at most this.
    pub p50_us: Option<u64>,
    /// Nine in ten are at most this.
    pub p90_us: Option<u64>,
    /// Ninety-nine in a hundred are at most this.
    pub p99_us: Option<u64>,
}

impl LatencyView {
    pub(super) fn of(counts: &LatencyCounts) -> Self {
        Self {
            count: counts.total(),
            p50_us: counts.percentile(0.5),
            p90_us: counts.percentile(0.9),
            p99_us: counts.percentile(0.99),
        }
    }
}

/// The state of the pool now.
pub(super) fn snapshot(dispatcher: &Dispatcher) -> Snapshot {
    let Dispatcher {
        settings,
        pool,
        stats,
        ..
    } = dispatcher;
    let now = Instant::now();
    let load = pool.load();
    let (ok, failed) = stats.starts();
    let breaker = dispatcher.breaker.view(now);
    let engine = dispatcher.engine.peek();
    let state = match breaker.state {
        _ if pool.is_closing() => "ending",
        _ if load.places.lost >= load.places.total => "stuck",
        "open" | "trial" | "backoff" => "failing",
        _ if ok == 0 => "idle",
        _ => "ready",
    };
    let children = pool.children();
    let workers = children
        .iter()
        .map(|(state, child)| worker(state, child, now));
    let mut workers: Vec<WorkerView> = workers.collect();
    workers.sort_by_key(|worker| worker.id);
    Snapshot {
        state,
        uptime_ms: millis(dispatcher.born.elapsed()),
        engine: engine.map(|engine| engine.info.clone()),
        sandbox: dispatcher.starter.sandbox(),
        limits: limits(settings),
        queue: QueueView {
            permits: load.places.total,
            permits_in_use: load.places.in_use,
            lost: load.places.lost,
            waiting: load.waiting,
            batches: load.batches,
        },
        profiles: profiles(pool),
        profiles_known: pool.profiles.len(),
        workers,
        breaker: BreakerSummary {
            state: breaker.state,
            recent_failures: breaker.recent_failures,
            last_reason: breaker.last_reason,
            retry_in_ms: breaker.retry_in.map(millis),
        },
        outcomes: stats.outcomes(),
        recycles: stats.ends(),
        starts: Starts { ok, failed },
        resent: stats.retries(),
        suspects: dispatcher.quarantine.remembered(),
        refused: stats.refused(),
        failures: dispatcher.failures.entries(),
        record_latency: LatencyView::of(&stats.records.counts()),
        queue_latency: LatencyView::of(&stats.waits.counts()),
    }
}

fn profiles(pool: &Pool) -> Vec<ProfileView> {
    const SHOWN: usize = 16;
    let profiles = pool.profiles.by_use().into_iter().take(SHOWN);
    profiles
        .map(|profile| ProfileView {
            profile: profile.profile.to_string(),
            idle: pool.places_of(profile.id).1,
            uses: profile.uses(),
        })
        .collect()
}

fn worker(state: &'static str, child: &ChildStatus, now: Instant) -> WorkerView {
    let profile = child.profile.as_ref();
    WorkerView {
        id: child.id,
        pid: child.pid(),
        state,
        profile: profile.map_or_else(|| "default".to_owned(), |p| p.profile.to_string()),
        tool_version: child.engine.info.tool_version.clone(),
        age_ms: millis(now.saturating_duration_since(child.born)),
        unused_ms: millis(now.saturating_duration_since(child.last_used())),
        served: child.served(),
        rss_bytes: child.resident(),
    }
}

fn limits(settings: &Settings) -> LimitsView {
    LimitsView {
        max_concurrency: settings.max_concurrency,
        max_queue: settings.max_queue,
        record_timeout_ms: millis(settings.record_timeout),
        queue_timeout_ms: millis(settings.queue_timeout),
        idle_ms: settings.idle.map(millis),
        max_records: settings.max_records,
        max_age_ms: settings.max_age.map(millis),
        max_rss_bytes: settings.max_rss_bytes,
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
