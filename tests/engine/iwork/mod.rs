//! Apple iWork: documents that `build` writes, and what the engine says of them.

mod build;
mod corpus;
mod damage;
mod keynote;
mod numbers;
mod package;
mod pages;
mod seeds;
mod xml_document;

use serde_json::Value;

use crate::harness::{Engine, value};

/// The deep report with every target on a document. The time is no matter here, so that a busy machine
/// makes no difference.
fn deep(name: &str, bytes: &[u8]) -> Value {
    Engine::start(&["-l", "d", "-t", "@all", "-T", "60000"]).probe(name, bytes)
}

/// Checks the values of targets in a report. `null` in the table is the value null, and a missing
/// value has to be asked for with [`assert_unknown`].
fn assert_values(report: &Value, expected: &[(&str, Value)]) {
    for (target, expected) in expected {
        let found = value(report, target);
        assert_eq!(found, Some(expected), "{target} in {report}");
    }
}

/// Checks that targets were looked for and are not known.
fn assert_unknown(report: &Value, targets: &[&str]) {
    for target in targets {
        assert_eq!(
            report["results"][target]["status"], "unknown",
            "{target} in {report}"
        );
    }
}
