//! What holds for every format: the command line, discovery and the catalogue.

use serde_json::{Value, json};

use crate::harness::{Engine, json_of, run, shared};

#[test]
fn syntax_errors_are_one_json_line_in_declaration_order_and_stdin_is_never_read() {
    for arguments in [
        &["--nonsense"][..],
        &["--nonsense", "--pretty"],
        &["--jsonl", "a.pdf"],
        &["--jsonl", "--pretty"],
        &["--jsonl", "-n", "a.pdf"],
        &["-l", "h", "-l", "h", "x"],
        &["-N", "-N", "x"],
        &["-t", "-x", "x"],
        &["targets", "pdf", "-f", "pdf"],
    ] {
        let output = run(arguments, b"");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let text = String::from_utf8(output.stdout.clone()).unwrap();
        let version = env!("CARGO_PKG_VERSION");
        let head = format!(
            r#"{{"schema_version":2,"tool_version":"2.4.0+builtin.{version}","status":"error","error":{{"code":"CLI_SYNTAX","message":"error: "#
        );
        assert!(text.starts_with(&head), "{text}");
        assert!(text.ends_with("\",\"exit_code\":2}}\n"), "{text}");
        assert_eq!(text.matches('\n').count(), 1);
    }
    for pairs in ["title", "title=none", "=low", "title=", "title=low,", ""] {
        let output = run(&["--jsonl", "-C", pairs], b"{}\n");
        assert_eq!(output.status.code(), Some(1), "{pairs:?}");
        assert_eq!(json_of(&output)["error"]["code"], "INVALID_REQUEST");
    }
}

#[test]
fn help_and_version_are_plain_text() {
    let version = run(&["--version"], b"");
    let text = String::from_utf8(version.stdout).unwrap();
    assert_eq!(
        text,
        format!("deckprobe 2.4.0+builtin.{}\n", env!("CARGO_PKG_VERSION"))
    );
    let help = run(&["--help"], b"");
    assert!(help.status.success());
    assert!(
        String::from_utf8(help.stdout)
            .unwrap()
            .contains("--max-expanded-bytes")
    );
}

#[test]
fn discovery_is_one_line_with_sorted_keys_and_indented_on_demand() {
    for arguments in [
        &["formats"][..],
        &["schema"],
        &["targets"],
        &["targets", "-f", "PDF"],
    ] {
        let text = String::from_utf8(run(arguments, b"").stdout).unwrap();
        let sorted = serde_json::from_str::<Value>(&text).unwrap().to_string();
        assert!(text == format!("{sorted}\n"), "{arguments:?}");
        // Options before a subcommand are accepted and mean nothing.
        let ignored: Vec<_> = ["--jsonl", "-C", "nonsense"]
            .iter()
            .chain(arguments)
            .copied()
            .collect();
        assert!(run(&ignored, b"").stdout == text.as_bytes(), "{ignored:?}");
        let pretty: Vec<_> = arguments.iter().copied().chain(["--pretty"]).collect();
        let pretty = String::from_utf8(run(&pretty, b"").stdout).unwrap();
        assert!(pretty.lines().count() > 10);
        assert_eq!(
            serde_json::from_str::<Value>(&pretty).unwrap().to_string(),
            sorted
        );
    }
    let refused = run(&["targets", ".Dot"], b"");
    assert_eq!(refused.status.code(), Some(3));
    assert_eq!(
        json_of(&refused)["error"]["message"],
        "unsupported format: dot"
    );
}

#[test]
fn formats_lists_every_driver_with_its_profiles() {
    let report = json_of(&run(&["formats"], b""));
    let formats = report["formats"].as_array().unwrap();
    let of = |format: &Value| json!([format["driver"], format["profiles"]]);
    let ours: Vec<_> = formats.iter().map(of).collect();
    let count: usize = formats
        .iter()
        .map(|format| format["profiles"].as_array().unwrap().len())
        .sum();
    assert_eq!((ours.len(), count), (8, 23));
    assert!(formats.iter().all(|format| format["support"].is_string()));
    if let Some(shared) = shared() {
        let text = std::fs::read(shared.join("contract/formats.json")).unwrap();
        let theirs: Value = serde_json::from_slice(&text).unwrap();
        let theirs: Vec<_> = theirs["formats"]
            .as_array()
            .unwrap()
            .iter()
            .map(of)
            .collect();
        assert_eq!(ours, theirs);
    }
}

/// Members of a target that are the contract's to say.
const FACTS: [&str; 6] = [
    "id",
    "aliases",
    "value_type",
    "scope",
    "min_level",
    "cost_class",
];

#[test]
fn the_catalogue_is_the_contracts_and_more() {
    let Some(shared) = shared() else { return };
    for entry in std::fs::read_dir(shared.join("contract/targets")).unwrap() {
        let theirs: Value =
            serde_json::from_slice(&std::fs::read(entry.unwrap().path()).unwrap()).unwrap();
        let profile = theirs["profile"].as_str().unwrap();
        if profile == "encrypted-ooxml" {
            continue;
        }
        let ours = json_of(&run(&["targets", profile], b""));
        let find = |id: &Value| {
            let targets = ours["targets"].as_array().unwrap();
            targets
                .iter()
                .find(|target| &target["id"] == id)
                .unwrap_or_else(|| panic!("{profile}: {id} is missing"))
        };
        for target in theirs["targets"].as_array().unwrap() {
            let own = find(&target["id"]);
            for fact in FACTS {
                assert_eq!(own[fact], target[fact], "{profile} {} {fact}", target["id"]);
            }
            if target["applicable"] == true {
                assert_eq!(own["applicable"], true, "{profile} {}", target["id"]);
                if profile != "xlsb" {
                    for fact in ["supported_levels", "selectors"] {
                        assert_eq!(own[fact], target[fact], "{profile} {} {fact}", target["id"]);
                    }
                }
            }
        }
        let order = |report: &Value| -> Vec<Value> {
            let known = theirs["targets"].as_array().unwrap();
            let targets = report["targets"].as_array().unwrap().iter();
            targets
                .map(|target| target["id"].clone())
                .filter(|id| known.iter().any(|target| target["id"] == *id))
                .collect()
        };
        assert_eq!(order(&ours), order(&theirs), "{profile}");
        for (own, option) in ours["format_options"]
            .as_array()
            .unwrap()
            .iter()
            .zip(theirs["format_options"].as_array().unwrap())
        {
            for fact in ["key", "value_type", "default", "allowed"] {
                assert_eq!(own[fact], option[fact], "{profile} {fact}");
            }
        }
        if profile == "xlsb" {
            continue; // Answered like every workbook, which the original cannot.
        }
        for (selector, levels) in theirs["selector_expansions"].as_object().unwrap() {
            for (level, expected) in levels.as_object().unwrap() {
                let own = &ours["selector_expansions"][selector][level];
                if selector == "@all" && level == "deep" {
                    let own = own.as_array().unwrap();
                    for id in expected.as_array().unwrap() {
                        assert!(own.contains(id), "{profile} {selector} {level} {id}");
                    }
                } else {
                    assert_eq!(own, expected, "{profile} {selector} {level}");
                }
            }
        }
    }
}

#[test]
fn plan_only_looks_at_the_signature_and_no_further() {
    let mut engine = Engine::start(&["-P", "-t", "title,@header"]);
    let report = engine.probe("a.docx", b"PK\x03\x04 and nothing else");
    assert_eq!(report["status"], "ok");
    assert_eq!(
        report["execution"]["paths"],
        json!(["ooxml.identity", "ooxml.core_properties"])
    );
    assert_eq!(report["results"]["document.title"]["status"], "planned");
    assert_eq!(report["execution"]["actual_cost"]["physical_bytes_read"], 8);
}
