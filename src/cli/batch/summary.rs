//! What a batch came to, on stderr at its end.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt::Write as _;
use std::time::Duration;

use serde::Deserialize;

use crate::contract::{Reply, ReplyStatus};
use crate::supervisor::Snapshot;

/// Slow documents that are named.
const SLOWEST: usize = 5;

#[derive(Default)]
pub(super) struct Summary {
    outcomes: BTreeMap<String, u64>,
    formats: BTreeMap<String, u64>,
    slowest: BinaryHeap<Reverse<(Duration, String)>>,
    failed: u64,
}

impl Summary {
    pub(super) fn count(&mut self, path: &str, reply: &Reply, took: Duration) {
        let outcome = match reply.head().status {
            ReplyStatus::Ok => "ok".to_owned(),
            ReplyStatus::Partial => "partial".to_owned(),
            ReplyStatus::Error => {
                self.failed += 1;
                let code = reply.effective_code();
                code.map_or("error", |code| code.as_str()).to_owned()
            }
        };
        *self.outcomes.entry(outcome).or_default() += 1;
        if let Some(format) = format(reply) {
            *self.formats.entry(format).or_default() += 1;
        }
        self.slowest.push(Reverse((took, path.to_owned())));
        if self.slowest.len() > SLOWEST {
            self.slowest.pop();
        }
    }

    pub(super) fn failed(&self) -> u64 {
        self.failed
    }

    pub(super) fn print(self, snapshot: &Snapshot) {
        use std::io::Write;
        let total: u64 = self.outcomes.values().sum();
        let counts = |counts: &BTreeMap<String, u64>| {
            let counts: Vec<String> = counts.iter().map(|(k, n)| format!("{k} {n}")).collect();
            counts.join(", ")
        };
        let mut text = format!("{total} documents: {}\n", counts(&self.outcomes));
        // Writing to a string cannot fail.
        if !self.formats.is_empty() {
            let _infallible = writeln!(text, "formats: {}", counts(&self.formats));
        }
        let recycled: BTreeMap<String, u64> = snapshot
            .recycles
            .iter()
            .filter(|(reason, count)| **count > 0 && **reason != "discovery")
            .map(|(reason, count)| ((*reason).to_owned(), *count))
            .collect();
        if !recycled.is_empty() {
            let _infallible = writeln!(text, "recycled children: {}", counts(&recycled));
        }
        if total > 0 {
            text.push_str("slowest:\n");
        }
        for Reverse((took, path)) in self.slowest.into_sorted_vec() {
            let _infallible = writeln!(text, "  {:>8.1} ms  {path:?}", took.as_secs_f64() * 1e3);
        }
        let _closed = std::io::stderr().write_all(text.as_bytes());
    }
}

/// The profile that a report names.
fn format(reply: &Reply) -> Option<String> {
    #[derive(Deserialize)]
    struct Report {
        driver: Driver,
    }
    #[derive(Deserialize)]
    struct Driver {
        profile: String,
    }
    if reply.is_error() {
        return None;
    }
    let report: Report = serde_json::from_str(reply.json()).ok()?;
    Some(report.driver.profile)
}
