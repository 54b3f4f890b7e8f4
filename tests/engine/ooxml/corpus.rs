//! Real documents, where this machine has them.

use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Engine, assert_no_more_is_read, shared, value};

const EXTENSIONS: [&str; 15] = [
    "docx", "docm", "dotx", "dotm", "xlsx", "xlsm", "xltx", "xltm", "xlsb", "pptx", "pptm", "ppsx",
    "ppsm", "potx", "potm",
];

/// Facts that other readers found in the same documents, encrypted ones aside.
#[test]
fn known_facts_of_real_documents_are_found() {
    let Some(shared) = shared() else { return };
    let mut engine = Engine::start(&["-l", "d", "-t", "@all"]);
    let (mut facts, mut missed) = (0, Vec::new());
    for row in rows(&shared.join("golden/truth.jsonl")) {
        let path = row["path"].as_str().unwrap();
        let report = engine.ask(&json!({ "path": shared.join("corpus").join(path) }));
        if report["driver"]["id"] == "office-legacy" {
            continue;
        }
        for (target, fact) in row["facts"].as_object().unwrap() {
            facts += 1;
            if !same(value(&report, target), fact) {
                missed.push(format!(
                    "{path} {target}: {fact}, {:?}",
                    value(&report, target)
                ));
            }
        }
    }
    assert!(facts > 4000, "{facts}");
    let share = 1.0 - missed.len() as f64 / facts as f64;
    assert!(share >= 0.998, "{share}: {missed:#?}");
}

#[test]
fn no_more_is_read_than_the_original_engine_reads() {
    assert_no_more_is_read(|row| is_ours(row) && row["report"]["driver"]["id"] != "office-legacy");
}

fn rows(path: &Path) -> impl Iterator<Item = Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    rows.into_iter().filter(is_ours)
}

fn is_ours(row: &Value) -> bool {
    let path = row["path"].as_str().unwrap();
    EXTENSIONS
        .iter()
        .any(|extension| path.starts_with(&format!("{extension}/")))
}

/// Whether a value is the fact; null is "the document records nothing". White space is folded, and
/// fractions of a second without digits are none.
fn same(value: Option<&Value>, fact: &Value) -> bool {
    let fold = |value: &Value| match value {
        Value::String(text) => {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            Value::String(text.replace(".0000000Z", "Z"))
        }
        other => other.clone(),
    };
    match value {
        None => fact.is_null(),
        Some(value) => fold(value) == fold(fact),
    }
}
