//! Real documents, where this machine has them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::harness::{Engine, shared};

const CFB: [u8; 8] = [0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1];
const EXTENSIONS: [&str; 7] = ["doc", "dot", "xls", "xlt", "ppt", "pps", "pot"];

/// Facts that we knowingly answer otherwise (docs/differences.md): an XLM macro sheet is a macro; a
/// package under `.ppt` is refused as the routing says; a workbook whose stream begins in the middle of
/// a sheet tells nothing of encryption and macros.
const ARGUED: usize = 6;

/// At least 99.5 % of what independent tools found out about these files.
#[test]
fn real_documents_answer_the_facts_that_are_known_of_them() {
    let Some(shared) = shared() else {
        return;
    };
    let corpus = shared.join("corpus");
    let mut engine = Engine::start(&["-l", "deep", "-t", "@all"]);
    let (mut facts, mut wrong) = (0, BTreeMap::new());
    for row in rows(&shared.join("golden/truth.jsonl")) {
        let path = row["path"].as_str().unwrap();
        let content = std::fs::read(corpus.join(path)).unwrap();
        let family = path.split('/').next().unwrap();
        if !EXTENSIONS.contains(&family) && !content.starts_with(&CFB) {
            continue;
        }
        let report = engine.ask(&json!({ "path": corpus.join(path) }));
        for (target, fact) in row["facts"].as_object().unwrap() {
            facts += 1;
            let found = &report["results"][target]["value"];
            if normal(found) != normal(fact) {
                wrong.insert(format!("{path} {target}"), found.clone());
            }
        }
    }
    assert!(facts > 1300, "{facts}");
    assert!(
        wrong.len() <= ARGUED,
        "{} of {facts}: {wrong:#?}",
        wrong.len()
    );
}

/// Reading is never more expensive than in the reference engine, by default and for structure.
#[test]
fn real_documents_are_read_sparingly() {
    let Some(shared) = shared() else {
        return;
    };
    for (golden, flags) in [
        ("metadata-default", &[][..]),
        (
            "exact-structure",
            &["-c", "x", "-l", "d", "-t", "@structure"],
        ),
    ] {
        let mut engine = Engine::start(flags);
        let mut compared = 0;
        for row in rows(&shared.join(format!("golden/{golden}.jsonl"))) {
            let path = row["path"].as_str().unwrap();
            let cost =
                |report: &Value| report["execution"]["actual_cost"]["physical_bytes_read"].as_u64();
            if row["report"]["driver"]["id"] != "office-legacy" {
                continue;
            }
            let report = engine.ask(&json!({ "path": shared.join("corpus").join(path) }));
            if let (Some(ours), Some(theirs)) = (cost(&report), cost(&row["report"])) {
                compared += 1;
                assert!(ours <= theirs, "{path}: {ours} instead of {theirs} bytes");
            }
        }
        assert!(compared > 80, "{compared}");
    }
}

fn rows(path: &std::path::Path) -> impl Iterator<Item = Value> + use<> {
    let text = std::fs::read_to_string(path).unwrap();
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    rows.into_iter()
}

/// White space folded; "nothing recorded" and no value are the same.
fn normal(value: &Value) -> Value {
    match value {
        Value::String(text) => {
            let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
            if folded.is_empty() {
                Value::Null
            } else {
                Value::String(folded)
            }
        }
        other => other.clone(),
    }
}
