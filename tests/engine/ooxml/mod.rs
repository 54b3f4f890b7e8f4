//! Office Open XML: packages that `build` writes, and what the engine says of them. The codes are
//! those of the contract's list of defects of the original engine.

mod bounds;
mod build;
mod corpus;
mod excel;
mod facts;
mod package;
mod powerpoint;
mod properties;
mod references;
mod security;
mod seeds;
mod word;

use serde_json::Value;

use crate::harness::{Engine, value};
use crate::support::zip;

/// The deep report with every target on a package.
fn deep(name: &str, bytes: &[u8]) -> Value {
    probe(&["-l", "d", "-t", "@all"], name, bytes)
}

/// The report on a package with other flags. A busy machine must not run out of time.
fn probe(flags: &[&str], name: &str, bytes: &[u8]) -> Value {
    Engine::start(&[&["-T60000"], flags].concat()).probe(name, bytes)
}

/// Checks the values of targets in a report; `null` means that the target is unknown.
#[track_caller]
fn assert_values(report: &Value, expected: &[(&str, Value)]) {
    for (target, expected) in expected {
        let status = &report["results"][target]["status"];
        if expected.is_null() {
            assert_eq!(status, "unknown", "{target} in {report}");
        } else {
            assert_eq!(
                value(report, target),
                Some(expected),
                "{target} in {report}"
            );
        }
    }
}

/// Checks that a record was refused, with this code and a message that has these words.
#[track_caller]
fn assert_refused(reply: &Value, code: &str, words: &str) {
    assert_eq!(reply["error"]["code"], code, "{reply}");
    let message = reply["error"]["message"].as_str().unwrap();
    assert!(message.contains(words), "{message}");
}
