//! The end of a supervisor. When a drain returns, no process is alive or being started.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use tokio::time::{Instant, timeout, timeout_at};

use super::dispatcher::Dispatcher;
use super::snapshot::snapshot;

/// What happens to calls that still wait for a child when a drain begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// They are served while there is time, and get `MCP_SHUTTING_DOWN` at its end. For the end of
    /// input: the client may only have closed its end and go on reading.
    Serve,
    /// They get `MCP_SHUTTING_DOWN` at once. For signals.
    Refuse,
}

/// How a drain went.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DrainSummary {
    /// Calls that were cut off at the limit, a batch counting as one.
    pub abandoned: usize,
    /// Ids of processes that could not be killed.
    pub lost: Vec<u32>,
}

/// Time for killing and reaping after the limit: the grace, and a kill that works.
const REAP: Duration = Duration::from_secs(7);

/// Ends the supervisor: see [`Supervisor::drain`](super::Supervisor::drain).
pub(super) async fn drain(
    dispatcher: &Dispatcher,
    limit: Duration,
    waiting: Waiting,
) -> DrainSummary {
    let Dispatcher { pool, calls, .. } = dispatcher;
    let first = !pool.is_closing();
    let end = Instant::now() + limit.min(Duration::from_secs(86_400));
    if waiting == Waiting::Serve {
        pool.close_to_new();
        calls.close();
        let _in_time = timeout_at(end, calls.wait()).await;
    }
    pool.close();
    calls.close();
    let complete = timeout_at(end, calls.wait()).await.is_ok();
    let abandoned = if complete { 0 } else { calls.len() };
    if !complete {
        tracing::warn!("calls are still running at the end of the drain; they are cut off");
        pool.killing.cancel();
    }
    let reaped = timeout(REAP, pool.tasks.wait()).await.is_ok();
    if !reaped {
        pool.killing.cancel();
    }
    let children = pool.children();
    let lost: Vec<u32> = children
        .iter()
        .filter_map(|(_, child)| child.pid())
        .collect();
    if !lost.is_empty() {
        tracing::error!(?lost, "engine processes that could not be killed");
    }
    if first {
        log_summary(dispatcher);
    }
    DrainSummary { abandoned, lost }
}

/// Kills every child now, without waiting.
pub(super) fn abort(dispatcher: &Dispatcher) {
    dispatcher.calls.close();
    dispatcher.pool.close();
    dispatcher.pool.kill_all();
}

fn log_summary(dispatcher: &Dispatcher) {
    let snapshot = snapshot(dispatcher);
    let records: u64 = snapshot.outcomes.values().sum();
    let list = |counts: &BTreeMap<&'static str, u64>| {
        let counted: Vec<_> = counts
            .iter()
            .filter(|(_, count)| **count > 0)
            .map(|(label, count)| format!("{label} {count}"))
            .collect();
        counted.join(", ")
    };
    tracing::info!(
        records,
        outcomes = list(&snapshot.outcomes),
        ends = list(&snapshot.recycles),
        starts = snapshot.starts.ok,
        failed_starts = snapshot.starts.failed,
        p99_us = snapshot.record_latency.p99_us,
        stuck = snapshot.queue.lost,
        "served"
    );
}
