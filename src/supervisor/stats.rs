//! Counters and latencies, for the snapshot and for the metrics facade. Names: `docs/observability.md`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::contract::{ErrorCode, Reply, ReplyStatus};
use crate::telemetry::metric;

use super::recycle::Reason;

/// How a record or call ended, a closed list of labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Ok,
    Partial,
    EngineError,
    Timeout,
    Failure,
    Overloaded,
    ShuttingDown,
    /// The caller left.
    Cancelled,
}

impl Ended {
    const ALL: [Self; 8] = [
        Self::Ok,
        Self::Partial,
        Self::EngineError,
        Self::Timeout,
        Self::Failure,
        Self::Overloaded,
        Self::ShuttingDown,
        Self::Cancelled,
    ];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Partial => "partial",
            Self::EngineError => "engine_error",
            Self::Timeout => "timeout",
            Self::Failure => "failure",
            Self::Overloaded => "overloaded",
            Self::ShuttingDown => "shutting_down",
            Self::Cancelled => "cancelled",
        }
    }

    pub(super) fn of(reply: &Reply) -> Self {
        match (reply.head().status, reply.head().code) {
            (ReplyStatus::Ok, _) => Self::Ok,
            (ReplyStatus::Partial, _) => Self::Partial,
            (_, Some(ErrorCode::McpTimeout)) => Self::Timeout,
            (_, Some(ErrorCode::McpEngineFailure)) => Self::Failure,
            (_, Some(ErrorCode::McpOverloaded)) => Self::Overloaded,
            (_, Some(ErrorCode::McpShuttingDown)) => Self::ShuttingDown,
            _ => Self::EngineError,
        }
    }
}

/// All counters of one supervisor.
pub(super) struct Stats {
    outcomes: [AtomicU64; Ended::ALL.len()],
    ends: [AtomicU64; Reason::ALL.len()],
    started: AtomicU64,
    failed_starts: AtomicU64,
    retried: AtomicU64,
    refused: AtomicU64,
    pub(super) records: Latencies,
    pub(super) waits: Latencies,
}

impl Stats {
    pub(super) fn new() -> Self {
        Self {
            outcomes: [const { AtomicU64::new(0) }; Ended::ALL.len()],
            ends: [const { AtomicU64::new(0) }; Reason::ALL.len()],
            started: AtomicU64::new(0),
            failed_starts: AtomicU64::new(0),
            retried: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            records: Latencies::new(),
            waits: Latencies::new(),
        }
    }

    pub(super) fn count_outcome(&self, ended: Ended) {
        count(self.outcomes.get(ended as usize));
        metrics::counter!(metric::RECORDS, "outcome" => ended.as_str()).increment(1);
    }

    pub(super) fn count_end(&self, reason: Reason) {
        count(self.ends.get(reason.index()));
        metrics::counter!(metric::RECYCLES, "reason" => reason.as_str()).increment(1);
    }

    pub(super) fn count_start(&self, good: bool) {
        count(Some(if good {
            &self.started
        } else {
            &self.failed_starts
        }));
        let result = if good { "ok" } else { "failed" };
        metrics::counter!(metric::STARTS, "result" => result).increment(1);
    }

    /// A process exists.
    #[allow(clippy::unused_self)]
    pub(super) fn count_child_born(&self) {
        metrics::gauge!(metric::CHILDREN).increment(1.0);
    }

    /// A process has been reaped.
    #[allow(clippy::unused_self)]
    pub(super) fn count_child_gone(&self) {
        metrics::gauge!(metric::CHILDREN).decrement(1.0);
    }

    /// How long a good start took.
    #[allow(clippy::unused_self)]
    pub(super) fn note_start(&self, took: Duration) {
        metrics::histogram!(metric::START_SECONDS).record(took);
    }

    /// A record went to a second child, as the first was dead before it got it.
    pub(super) fn count_retry(&self) {
        count(Some(&self.retried));
        metrics::counter!(metric::RESENT).increment(1);
    }

    /// A record was refused because its document ended children before.
    pub(super) fn count_refused(&self) {
        count(Some(&self.refused));
        metrics::counter!(metric::REFUSED).increment(1);
    }

    pub(super) fn note_wait(&self, wait: Duration) {
        self.waits.note(wait);
        metrics::histogram!(metric::QUEUE_WAIT_SECONDS).record(wait);
    }

    pub(super) fn note_record(&self, took: Duration) {
        self.records.note(took);
        metrics::histogram!(metric::RECORD_SECONDS).record(took);
    }

    pub(super) fn outcomes(&self) -> BTreeMap<&'static str, u64> {
        let labels = Ended::ALL.iter().map(|ended| ended.as_str());
        labels.zip(self.outcomes.iter().map(read)).collect()
    }

    pub(super) fn ends(&self) -> BTreeMap<&'static str, u64> {
        let labels = Reason::ALL.iter().map(|reason| reason.as_str());
        labels.zip(self.ends.iter().map(read)).collect()
    }

    pub(super) fn starts(&self) -> (u64, u64) {
        (read(&self.started), read(&self.failed_starts))
    }

    pub(super) fn retries(&self) -> u64 {
        read(&self.retried)
    }

    pub(super) fn refused(&self) -> u64 {
        read(&self.refused)
    }
}

/// A histogram in logarithmic buckets, about 9 % wide: enough for percentiles, and never larger.
pub(super) struct Latencies {
    buckets: [AtomicU64; BUCKETS],
}

/// Eight buckets for each doubling of microseconds, up to an hour and more.
const BUCKETS: usize = 8 * 36;

impl Latencies {
    const fn new() -> Self {
        Self {
            buckets: [const { AtomicU64::new(0) }; BUCKETS],
        }
    }

    fn note(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1);
        count(self.buckets.get(bucket_of(micros)));
    }

    /// The values counted so far.
    pub(super) fn counts(&self) -> LatencyCounts {
        LatencyCounts(self.buckets.iter().map(read).collect())
    }
}

/// How many values were in each bucket at one moment.
#[derive(Clone, Debug)]
pub(super) struct LatencyCounts(Box<[u64]>);

impl LatencyCounts {
    /// The values that came after an earlier moment.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        let both = self.0.iter().zip(&earlier.0);
        Self(both.map(|(now, then)| now.saturating_sub(*then)).collect())
    }

    pub(super) fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The upper bound in microseconds of the bucket that holds this share of all values.
    pub(super) fn percentile(&self, share: f64) -> Option<u64> {
        let total = self.total();
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rank among counted values; rounding does not matter"
        )]
        let rank = ((total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        let at = self.0.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        Some(upper_bound(at))
    }
}

/// Eight linear steps within each power of two.
fn bucket_of(micros: u64) -> usize {
    let power = micros.ilog2();
    let step = if power >= 3 {
        (micros >> (power - 3)) & 7
    } else {
        (micros << (3 - power)) & 7
    };
    let bucket = u64::from(power) * 8 + step;
    usize::try_from(bucket).unwrap_or(BUCKETS).min(BUCKETS - 1)
}

fn upper_bound(bucket: usize) -> u64 {
    let (power, step) = (bucket / 8, bucket as u64 % 8);
    // The next step's lower bound.
    ((8 + step + 1) << power) / 8
}

fn count(counter: Option<&AtomicU64>) {
    if let Some(counter) = counter {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_right_within_a_bucket() {
        let latencies = Latencies::new();
        assert_eq!(latencies.counts().percentile(0.5), None);
        for micros in 1..=10_000 {
            latencies.note(Duration::from_micros(micros));
        }
        for (share, exact) in [(0.5, 5000_u64), (0.9, 9000), (0.99, 9900)] {
            let found = latencies.counts().percentile(share).unwrap();
            assert!(
                found >= exact && found <= exact + exact / 7,
                "{share}: {found}"
            );
        }
    }

    #[test]
    fn every_duration_has_a_bucket() {
        for micros in [0, 1, 2, 3, 7, 8, 9, 1_000_000, u64::MAX] {
            let latencies = Latencies::new();
            latencies.note(Duration::from_micros(micros));
            assert_eq!(latencies.counts().total(), 1);
            assert!(latencies.counts().percentile(1.0).is_some());
        }
    }

    #[test]
    fn values_before_a_moment_do_not_count_after_it() {
        let latencies = Latencies::new();
        latencies.note(Duration::from_secs(9));
        let then = latencies.counts();
        latencies.note(Duration::from_micros(10));
        let recent = latencies.counts().since(&then);
        assert_eq!(recent.total(), 1);
        assert!(recent.percentile(1.0).unwrap() < 20);
    }

    #[test]
    fn labels_are_listed_in_the_order_of_their_index() {
        for (index, ended) in Ended::ALL.into_iter().enumerate() {
            assert_eq!(ended as usize, index);
        }
    }
}
