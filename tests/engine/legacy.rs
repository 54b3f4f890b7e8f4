//! Binary Office documents and encrypted packages.
//!
//! The names of tests begin with the line of the contract's defect list (§10) that they answer.

mod container;
mod corpus;
mod excel;
pub(crate) mod make;
mod package;
mod powerpoint;
mod properties;
mod references;
mod seeds;
mod word;

use serde_json::Value;

use crate::harness::{Engine, value};

/// Probes bytes once, for these targets at deep.
fn probe(name: &str, bytes: &[u8], targets: &str) -> Value {
    Engine::start(&["-l", "deep", "-t", targets]).probe(name, bytes)
}

/// Probes bytes once with these flags.
fn probe_with(flags: &[&str], name: &str, bytes: &[u8]) -> Value {
    Engine::start(flags).probe(name, bytes)
}

/// The targets' values, `null` where there is none.
fn values(name: &str, bytes: &[u8], targets: &str) -> Vec<Value> {
    let report = probe(name, bytes, targets);
    assert!(report["error"].is_null(), "{name}: {report}");
    targets
        .split(',')
        .map(|target| value(&report, target).cloned().unwrap_or_default())
        .collect()
}

/// Bytes that a probe read.
fn physical_bytes(report: &Value) -> u64 {
    report["execution"]["actual_cost"]["physical_bytes_read"]
        .as_u64()
        .unwrap()
}

/// Asks for one target under every physical budget from what it costs down to nothing: below its cost
/// there is a budget error, never another answer.
fn assert_budget_is_honest(name: &str, bytes: &[u8], target: &str) {
    let whole = probe(name, bytes, target);
    let expected = value(&whole, target).cloned();
    assert!(expected.is_some(), "{name}: {whole}");
    // What comes in as bytes is in the budget as a whole, so the sweep needs a file.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let record = serde_json::json!({ "path": path });
    let cost = physical_bytes(&whole);
    let mut refused = 0;
    for budget in (0..=cost).rev().step_by(97) {
        let budget_flag = format!("--probe-size={budget}");
        let reply = Engine::start(&["-l", "deep", "-t", target, &budget_flag]).ask(&record);
        match value(&reply, target) {
            Some(found) => assert_eq!(Some(found), expected.as_ref(), "{name} at {budget}"),
            None => {
                refused += 1;
                let code = reply["error"]["code"].as_str();
                let status = reply["results"][target]["status"].as_str();
                assert!(
                    code == Some("BUDGET_EXCEEDED") || status == Some("budget_exceeded"),
                    "{name} at {budget} of {cost}: {reply}"
                );
            }
        }
    }
    assert!(refused > 0, "{name}: {cost}");
}
