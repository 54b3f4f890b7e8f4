//! Printing reports, straight into the output buffer.
//!
//! Two orders of keys exist (contract §2): a single-shot full report keeps declaration order;
//! everything in `--jsonl` and every values view is sorted at all depths.

mod diagnostics;
mod evidence;

use self::evidence::Evidence;
use super::budget::Cost;
use super::catalogue::{DriverId, Profile, Target, TargetSet};
use super::findings::Findings;
use super::json;
use super::plan::Plan;
use super::source::Source;
use super::version::TOOL_VERSION;
use crate::contract::{SCHEMA_VERSION, View};

/// The order of keys of a full report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyOrder {
    Declared,
    Sorted,
}

/// Everything that a report is printed from.
pub(crate) struct Report<'r> {
    pub(crate) source: &'r Source,
    pub(crate) profile: Profile,
    pub(crate) plan: &'r Plan,
    /// `None` when only the plan was asked for.
    pub(crate) findings: Option<&'r Findings>,
    /// What [`Plan::unresolved`] says of the findings.
    pub(crate) unresolved: TargetSet,
    pub(crate) cost: Cost,
    /// Milliseconds since the start of the probe, with `--telemetry`.
    pub(crate) elapsed_ms: Option<f64>,
    /// Which values were clipped, one sentence each.
    pub(crate) truncated: &'r [String],
    /// Why the probe was cut short, when values that were already known are reported all the same.
    pub(crate) cut_short: Option<&'r str>,
}

impl Report<'_> {
    /// Whether every request was satisfied (`status` is `ok`). A plan alone always is.
    pub(crate) fn is_ok(&self) -> bool {
        self.findings.is_none() || self.unresolved.is_empty()
    }

    /// Appends the report as compact JSON, without line feed.
    pub(crate) fn write(&self, view: View, order: KeyOrder, out: &mut Vec<u8>) {
        match (view, order) {
            (View::Values, _) => self.write_values(out),
            (View::Report, KeyOrder::Sorted) => self.write_sorted(out),
            (View::Report, KeyOrder::Declared) => self.write_declared(out),
        }
    }

    fn status(&self) -> &'static str {
        if self.is_ok() { "ok" } else { "partial" }
    }

    fn write_sorted(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"diagnostics\":");
        diagnostics::write(self, KeyOrder::Sorted, out);
        out.extend_from_slice(b",\"driver\":");
        self.driver(out);
        out.extend_from_slice(b",\"execution\":{\"actual_cost\":{");
        if let Some(elapsed) = self.elapsed_ms {
            out.extend_from_slice(b"\"elapsed_ms\":");
            json::float(out, elapsed);
            out.push(b',');
        }
        out.extend_from_slice(b"\"expanded_bytes\":");
        json::number(out, self.cost.expanded_bytes);
        out.extend_from_slice(b",\"physical_bytes_read\":");
        json::number(out, self.cost.physical_bytes);
        out.extend_from_slice(b",\"random_reads\":");
        json::number(out, self.cost.random_reads);
        out.extend_from_slice(b"},\"estimated_cost\":");
        json::number(out, self.plan.estimated_cost);
        out.extend_from_slice(b",\"paths\":");
        self.paths(out);
        if !self.plan.granted.is_empty() {
            out.extend_from_slice(b",\"piggyback_targets\":");
            ids(out, self.plan.granted);
        }
        out.extend_from_slice(b",\"probe_level\":\"");
        out.extend_from_slice(self.plan.level.as_str().as_bytes());
        out.extend_from_slice(b"\",\"unresolved_targets\":");
        ids(out, self.unresolved);
        out.extend_from_slice(b"},\"input\":");
        self.input(out, KeyOrder::Sorted);
        out.extend_from_slice(b",\"results\":");
        self.results(out, KeyOrder::Sorted);
        out.extend_from_slice(b",\"schema_version\":");
        json::number(out, SCHEMA_VERSION.into());
        self.tail(out);
    }

    fn write_declared(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"schema_version\":");
        json::number(out, SCHEMA_VERSION.into());
        out.extend_from_slice(b",\"tool_version\":");
        json::word(out, TOOL_VERSION);
        out.extend_from_slice(b",\"status\":");
        json::word(out, self.status());
        out.extend_from_slice(b",\"input\":");
        self.input(out, KeyOrder::Declared);
        out.extend_from_slice(b",\"driver\":");
        self.driver(out);
        out.extend_from_slice(b",\"results\":");
        self.results(out, KeyOrder::Declared);
        out.extend_from_slice(b",\"execution\":{\"probe_level\":\"");
        out.extend_from_slice(self.plan.level.as_str().as_bytes());
        out.extend_from_slice(b"\",\"paths\":");
        self.paths(out);
        out.extend_from_slice(b",\"estimated_cost\":");
        json::number(out, self.plan.estimated_cost);
        out.extend_from_slice(b",\"actual_cost\":{\"physical_bytes_read\":");
        json::number(out, self.cost.physical_bytes);
        out.extend_from_slice(b",\"expanded_bytes\":");
        json::number(out, self.cost.expanded_bytes);
        out.extend_from_slice(b",\"random_reads\":");
        json::number(out, self.cost.random_reads);
        if let Some(elapsed) = self.elapsed_ms {
            out.extend_from_slice(b",\"elapsed_ms\":");
            json::float(out, elapsed);
        }
        out.extend_from_slice(b"},\"unresolved_targets\":");
        ids(out, self.unresolved);
        if !self.plan.granted.is_empty() {
            out.extend_from_slice(b",\"piggyback_targets\":");
            ids(out, self.plan.granted);
        }
        out.extend_from_slice(b"},\"diagnostics\":");
        diagnostics::write(self, KeyOrder::Declared, out);
        out.push(b'}');
    }

    fn write_values(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"diagnostics\":");
        diagnostics::write(self, KeyOrder::Sorted, out);
        out.extend_from_slice(b",\"driver\":");
        self.driver(out);
        out.extend_from_slice(b",\"input\":");
        self.input(out, KeyOrder::Sorted);
        out.extend_from_slice(b",\"piggyback_targets\":");
        ids(out, self.plan.granted);
        out.extend_from_slice(b",\"schema_version\":");
        json::number(out, SCHEMA_VERSION.into());
        out.extend_from_slice(b",\"status\":");
        json::word(out, self.status());
        out.extend_from_slice(b",\"tool_version\":");
        json::word(out, TOOL_VERSION);
        out.extend_from_slice(b",\"unresolved_targets\":");
        ids(out, self.unresolved);
        out.extend_from_slice(b",\"values\":{");
        if let Some(findings) = self.findings {
            let known = self
                .plan
                .wanted()
                .iter()
                .filter_map(|target| findings.value(target).map(|value| (target, value)));
            json::separated(out, known, |out, (target, value)| {
                key(out, target);
                value.write(out);
            });
        }
        out.extend_from_slice(b"},\"view\":\"values\"}");
    }

    fn tail(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"status\":");
        json::word(out, self.status());
        out.extend_from_slice(b",\"tool_version\":");
        json::word(out, TOOL_VERSION);
        out.push(b'}');
    }

    fn driver(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"id\":");
        json::word(out, DriverId::as_str(self.profile.driver()));
        out.extend_from_slice(b",\"profile\":");
        json::word(out, self.profile.name());
        out.push(b'}');
    }

    fn input(&self, out: &mut Vec<u8>, order: KeyOrder) {
        out.extend_from_slice(b"{\"display_name\":");
        json::string(out, self.source.display_name());
        let size = |out: &mut Vec<u8>| {
            out.extend_from_slice(b",\"file_size\":");
            json::number(out, self.source.size());
        };
        if order == KeyOrder::Sorted {
            size(out);
        }
        out.extend_from_slice(b",\"source_kind\":");
        json::word(out, self.source.kind().as_str());
        if order == KeyOrder::Declared {
            size(out);
        }
        out.push(b'}');
    }

    fn paths(&self, out: &mut Vec<u8>) {
        json::words(out, self.plan.paths.iter().map(|path| path.name()));
    }

    fn results(&self, out: &mut Vec<u8>, order: KeyOrder) {
        out.push(b'{');
        json::separated(out, self.plan.wanted().iter(), |out, target| {
            key(out, target);
            Evidence::of(self, target).write(target, order, out);
        });
        out.push(b'}');
    }
}

#[cfg(test)]
mod tests;

fn key(out: &mut Vec<u8>, target: Target) {
    json::word(out, target.id());
    out.push(b':');
}

fn ids(out: &mut Vec<u8>, set: TargetSet) {
    json::words(out, set.iter().map(Target::id));
}
