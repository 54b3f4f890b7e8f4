//! What the pool looks like at one moment. Taken without a permit and without waiting; the numbers
//! are each true, not all of the same instant.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::core::Core;
use super::launcher::Applied;
use super::stats::Latencies;
use super::worker::{ChildStatus, Phase};
use super::{EngineInfo, Settings};

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

impl Core {
    pub(super) fn snapshot(&self) -> Snapshot {
        let now = Instant::now();
        let load = self.admission.load();
        let (ok, failed) = self.stats.starts();
        let breaker = self.breaker.view(now);
        let engine = self.engine.current();
        let state = match breaker.state {
            _ if self.is_ending() => "ending",
            _ if load.lost >= load.total => "stuck",
            "open" | "trial" | "backoff" => "failing",
            _ if ok == 0 => "idle",
            _ => "ready",
        };
        let mut workers: Vec<WorkerView> = self.living().iter().map(|s| worker(s, now)).collect();
        workers.sort_by_key(|worker| worker.id);
        Snapshot {
            state,
            uptime_ms: millis(self.born.elapsed()),
            engine: engine.map(|engine| engine.info.clone()),
            sandbox: self.confinement(),
            limits: limits(&self.settings),
            queue: QueueView {
                permits: load.total,
                permits_in_use: load.held,
                lost: load.lost,
                waiting: load.waiting,
                batches: load.batches,
            },
            profiles: self.profiles(),
            profiles_known: self.pools.len(),
            workers,
            breaker: BreakerSummary {
                state: breaker.state,
                recent_failures: breaker.recent_failures,
                last_reason: breaker.last_reason,
                retry_in_ms: breaker.retry_in.map(millis),
            },
            outcomes: self.stats.outcomes(),
            recycles: self.stats.ends(),
            starts: Starts { ok, failed },
            resent: self.stats.retries(),
            suspects: self.quarantine.remembered(),
            refused: self.stats.refused(),
            record_latency: latency(&self.stats.records),
            queue_latency: latency(&self.stats.waits),
        }
    }

    fn profiles(&self) -> Vec<ProfileView> {
        const SHOWN: usize = 16;
        let pools = self.pools.by_use().into_iter().take(SHOWN);
        pools
            .map(|pool| ProfileView {
                profile: pool.profile.to_string(),
                idle: pool.idle_count(),
                uses: pool.uses(),
            })
            .collect()
    }
}

fn worker(shared: &ChildStatus, now: Instant) -> WorkerView {
    let phase: Phase = shared.phase();
    WorkerView {
        id: shared.id,
        pid: shared.pid(),
        state: phase.as_str(),
        profile: shared.profile.to_string(),
        tool_version: shared.engine.info.tool_version.clone(),
        age_ms: millis(now.saturating_duration_since(shared.born)),
        unused_ms: millis(now.saturating_duration_since(shared.last_used())),
        served: shared.served(),
        rss_bytes: shared.resident(),
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

fn latency(latencies: &Latencies) -> LatencyView {
    LatencyView {
        count: latencies.count(),
        p50_us: latencies.percentile(0.5),
        p90_us: latencies.percentile(0.9),
        p99_us: latencies.percentile(0.99),
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
