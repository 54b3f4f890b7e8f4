//! Real documents, where this machine has them.

use serde_json::{Value, json};

use super::ALL;
use crate::harness::{Engine, assert_no_more_is_read, shared, value};

/// Facts that other readers found in the same documents, damaged and encrypted ones among them.
#[test]
fn known_facts_of_real_documents_are_found() {
    let Some(shared) = shared() else { return };
    let table = std::fs::read_to_string(shared.join("golden/truth.jsonl")).unwrap();
    let mut engine = Engine::start(ALL);
    let (mut facts, mut missed) = (0, Vec::new());
    for line in table.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let path = row["path"].as_str().unwrap();
        if !path.starts_with("pdf/") {
            continue;
        }
        let report = engine.ask(&json!({ "path": shared.join("corpus").join(path) }));
        for (target, fact) in row["facts"].as_object().unwrap() {
            facts += 1;
            let found = value(&report, target).unwrap_or(&Value::Null);
            if !agrees(target, found, fact) {
                missed.push(format!("{path} {target}: {found}, known {fact}"));
            }
            if target == "pdf.page_count" {
                assert_eq!(found, fact, "{path}");
            }
        }
    }
    assert!(facts > 2000, "{facts}");
    let share = (facts - missed.len()) as f64 / facts as f64;
    assert!(share >= 0.995, "{share}: {missed:#?}");
}

#[test]
fn no_more_is_read_than_the_original_engine_reads() {
    assert_no_more_is_read(|row| row["path"].as_str().unwrap().starts_with("pdf/"));
}

/// Documents with a user password, and such whose empty password opens them, revision 6 included.
#[test]
fn strings_of_encrypted_documents_are_decrypted_or_absent() {
    let Some(shared) = shared() else { return };
    let mut engine = Engine::start(ALL);
    for entry in std::fs::read_dir(shared.join("corpus/pdf")).unwrap() {
        let report = engine.ask(&json!({ "path": entry.unwrap().path() }));
        if value(&report, "security.encrypted") != Some(&json!(true)) {
            continue;
        }
        for (target, result) in report["results"].as_object().unwrap() {
            let text = result["value"].as_str().unwrap_or_default();
            let is_clean = text
                .chars()
                .all(|char| !char.is_control() && char != '\u{FFFD}');
            assert!(is_clean, "{target}: {text:?}");
        }
    }
}

fn agrees(target: &str, found: &Value, fact: &Value) -> bool {
    let text = |value: &Value| {
        let text = value.as_str().unwrap_or_default().replace('\0', "");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    match fact {
        Value::Null => found.is_null() || found.is_string() && text(found).is_empty(),
        Value::String(_) if target.ends_with("_at") => {
            instant(&text(found)) == instant(&text(fact))
        }
        Value::String(_) => text(found) == text(fact),
        _ => found == fact,
    }
}

/// The digits of a date and its offset, of the PDF form and of ISO 8601 alike.
fn instant(text: &str) -> (String, String) {
    let text = text.trim_start_matches("D:").replace(['\'', ':'], "");
    let (date, offset) = match text
        .char_indices()
        .skip(8)
        .find(|(_, c)| matches!(c, '+' | '-' | 'Z'))
    {
        // The hyphens of an ISO date come before.
        Some((at, _)) if at > 10 => text.split_at(at),
        _ => (&text[..], ""),
    };
    let digits: String = date.chars().filter(char::is_ascii_digit).take(14).collect();
    let offset: String = offset.replace('Z', "+0000").chars().take(5).collect();
    (format!("{digits:0<14}"), offset.replace("-0000", "+0000"))
}
