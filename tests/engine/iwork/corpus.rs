//! Real documents, where this machine has them.

use serde_json::Value;

use crate::harness::{Engine, shared, value};

/// Facts that other readers found in the same documents.
#[test]
fn known_facts_of_real_documents_are_found() {
    let Some(shared) = shared() else { return };
    let table = std::fs::read_to_string(shared.join("golden/truth.jsonl")).unwrap();
    let mut engine = Engine::start(&["-l", "d", "-t", "@all", "-T", "60000"]);
    let (mut facts, mut missed) = (0, Vec::new());
    for line in table.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let path = row["path"].as_str().unwrap();
        if !["key/", "numbers/", "pages/"]
            .iter()
            .any(|kind| path.starts_with(kind))
        {
            continue;
        }
        let file = shared.join("corpus").join(path);
        let report = engine.ask(&serde_json::json!({ "path": file }));
        for (target, fact) in row["facts"].as_object().unwrap() {
            facts += 1;
            if value(&report, target) != Some(fact) {
                missed.push(format!("{path} {target}: {fact}"));
            }
        }
    }
    assert!(facts > 300, "{facts}");
    let share = (facts - missed.len()) as f64 / facts as f64;
    assert!(share >= 0.995, "{share}: {missed:#?}");
}
