//! PDF through the real engine.

mod build;
mod corpus;
mod damage;
mod encryption;
mod facts;
mod features;
mod hostile;
mod large;
mod pages;
mod properties;
mod seeds;
mod signals;
mod structure;

use serde_json::Value;

use crate::harness::{Engine, value};

/// Everything that there is to know.
/// Everything, with a time budget that a busy machine and a debug build do not reach.
const ALL: &[&str] = &["-l", "d", "-t", "@all", "-T", "120000"];

/// Probes for everything and returns the report.
fn report(bytes: impl AsRef<[u8]>) -> Value {
    Engine::start(ALL).probe("a.pdf", bytes.as_ref())
}

/// Checks targets of a report; `null` means "no value".
#[track_caller]
fn expect(report: &Value, facts: &[(&str, Value)]) {
    for (target, expected) in facts {
        let found = value(report, target).cloned().unwrap_or(Value::Null);
        assert_eq!(found, *expected, "{target} in {report:#}");
    }
}
