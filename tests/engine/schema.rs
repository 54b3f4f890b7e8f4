//! What the engine prints is what its schema says, and what the reference schema accepts.

use serde_json::{Value, json};

use crate::harness::{Engine, json_of, record, run, shared};

fn own_schema() -> jsonschema::Validator {
    jsonschema::validator_for(&json_of(&run(&["schema"], b""))).unwrap()
}

fn reference_schema() -> Option<jsonschema::Validator> {
    let text = std::fs::read(shared()?.join("contract/report.schema.json")).unwrap();
    Some(jsonschema::validator_for(&serde_json::from_slice(&text).unwrap()).unwrap())
}

fn check(validator: &jsonschema::Validator, reply: &Value) {
    let faults: Vec<_> = validator
        .iter_errors(reply)
        .map(|fault| fault.to_string())
        .collect();
    assert!(faults.is_empty(), "{faults:?}\n{reply}");
}

/// Records with as many shapes of reply as can be had without a document.
fn records() -> Vec<Value> {
    vec![
        json!({}),
        json!({"path": "/nonexistent.pdf"}),
        record("a.pdf", b"junk"),
        record("a.unknown", b"junk"),
        record("a.docx", b"PK\x03\x04 no directory"),
        json!({"path": "/x.pdf", "options": {"level": "nonsense"}}),
    ]
}

#[test]
fn replies_of_every_shape_fit_our_schema_and_the_reference() {
    let schemas: Vec<_> = std::iter::once(own_schema())
        .chain(reference_schema())
        .collect();
    for flags in [
        &[][..],
        &["--view=values"],
        &["-P"],
        &["-P", "--view=values"],
        &["--telemetry"],
    ] {
        let mut engine = Engine::start(flags);
        for record in records() {
            let reply = engine.ask(&record);
            schemas.iter().for_each(|schema| check(schema, &reply));
        }
    }
}

#[test]
fn the_schema_refuses_what_is_no_reply() {
    let schema = own_schema();
    for not_a_reply in [
        json!({}),
        json!([]),
        json!({"schema_version": 2, "tool_version": "x", "status": "error"}),
        json!({"schema_version": 1, "tool_version": "x", "status": "error",
            "error": {"code": "SOURCE_IO", "exit_code": 2, "message": ""}}),
        json!({"schema_version": 2, "tool_version": "x", "status": "error",
            "error": {"code": "MCP_TIMEOUT", "exit_code": 4, "message": ""}}),
    ] {
        assert!(!schema.is_valid(&not_a_reply), "{not_a_reply}");
    }
}

#[test]
fn every_report_over_the_corpus_fits_both_schemas() {
    let (Some(shared), Some(reference)) = (shared(), reference_schema()) else {
        return;
    };
    let own = own_schema();
    let manifest = std::fs::read_to_string(shared.join("corpus/MANIFEST.tsv")).unwrap();
    for flags in [
        &[][..],
        &["-l", "d", "-t", "@all"],
        &["-t", "@summary,@security", "--view=values"],
    ] {
        let mut engine = Engine::start(flags);
        for row in manifest.lines().skip(1) {
            let path = shared.join("corpus").join(row.split('\t').next().unwrap());
            let reply = engine.ask(&json!({ "path": path }));
            check(&own, &reply);
            check(&reference, &reply);
        }
    }
}
