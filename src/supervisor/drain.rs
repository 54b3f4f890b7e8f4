//! The end: a barrier. When it returns, nothing of ours is alive or still being started.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::Serialize;
use tokio::time::{Instant, timeout, timeout_at};

use super::core::Core;
use super::os;
use super::worker::Phase;

/// What becomes of calls that still wait for a child when a drain begins.
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

impl Core {
    pub(super) async fn drain(self: &Arc<Self>, limit: Duration, waiting: Waiting) -> DrainSummary {
        let end = Instant::now() + limit.min(Duration::from_secs(86_400));
        if waiting == Waiting::Serve {
            self.admission.close_to_new();
            self.calls.close();
            let _in_time = timeout_at(end, self.calls.wait()).await;
        }
        self.close();
        let complete = timeout_at(end, self.calls.wait()).await.is_ok();
        let abandoned = if complete { 0 } else { self.calls.len() };
        if !complete {
            tracing::warn!("calls are still running at the end of the drain; they are cut off");
            self.killing.cancel();
        }
        self.retire_idle();
        let reaped = timeout(REAP, self.tracker.wait()).await.is_ok();
        if !reaped {
            self.killing.cancel();
        }
        let lost: Vec<u32> = self
            .living()
            .iter()
            .filter_map(|child| child.pid())
            .collect();
        if !lost.is_empty() {
            tracing::error!(?lost, "engine processes that could not be killed");
        }
        self.log_summary();
        DrainSummary { abandoned, lost }
    }

    /// Kills every child now, without waiting.
    pub(super) fn abort(&self) {
        self.close();
        self.killing.cancel();
        for child in self.living() {
            child.signal(os::StopSignal::Kill);
        }
    }

    /// The supervisor was dropped without a drain: idle children end by themselves.
    pub(super) fn abandon(&self) {
        self.close();
        self.retire_idle();
    }

    /// Once: the end may be asked for more than once.
    fn log_summary(&self) {
        if self.summed_up.swap(true, Ordering::Relaxed) {
            return;
        }
        let snapshot = self.snapshot();
        let records: u64 = snapshot.outcomes.values().sum();
        let told = |counts: &std::collections::BTreeMap<&'static str, u64>| {
            let told: Vec<_> = counts
                .iter()
                .filter(|(_, count)| **count > 0)
                .map(|(label, count)| format!("{label} {count}"))
                .collect();
            told.join(", ")
        };
        let stuck = self
            .living()
            .iter()
            .filter(|child| child.phase() == Phase::Lost)
            .count();
        tracing::info!(
            records,
            outcomes = told(&snapshot.outcomes),
            ends = told(&snapshot.recycles),
            starts = snapshot.starts.ok,
            failed_starts = snapshot.starts.failed,
            p99_us = snapshot.record_latency.p99_us,
            stuck,
            "served"
        );
    }
}
