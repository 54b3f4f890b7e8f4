//! What holds for every format: the command line, the framing, discovery and planning.

use serde_json::{Value, json};

use crate::harness::{Engine, json_of, record, run, shared};

#[test]
fn syntax_errors_are_one_json_line_and_stdin_is_never_read() {
    for arguments in [
        &["--nonsense"][..],
        &["--jsonl", "a.pdf"],
        &["-l", "h", "-l", "h", "x"],
    ] {
        let output = run(arguments, b"");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let text = String::from_utf8(output.stdout.clone()).unwrap();
        assert!(
            text.starts_with(r#"{"error":{"code":"CLI_SYNTAX","#),
            "{text}"
        );
        assert_eq!(text.matches('\n').count(), 1);
    }
    let output = run(&["--jsonl", "-C", "title"], b"{}\n");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(json_of(&output)["error"]["code"], "INVALID_REQUEST");
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
fn the_exit_status_of_a_stream_is_its_worst_record() {
    for (stdin, expected) in [
        ("", 0),
        ("{}\n", 1),
        ("{}\n\"/nonexistent.pdf\"\n{}\n", 2),
        ("{\"name\":\"a.pdf\",\"base64\":\"AAAA\"}\n{}", 4),
    ] {
        assert_eq!(
            run(&["--jsonl"], stdin.as_bytes()).status.code(),
            Some(expected),
            "{stdin}"
        );
    }
}

#[test]
fn standard_input_needs_a_name_and_a_name_needs_standard_input() {
    for (arguments, stdin, code) in [
        (&["-"][..], "", "INVALID_REQUEST"),
        (&["-n", "a.pdf", "b.pdf"], "", "INVALID_REQUEST"),
        (&[], "", "INVALID_REQUEST"),
        (&["-n", "a.pdf", "-"], "nonsense", "MALFORMED_INPUT"),
        (
            &["-n", "a.pdf", "-b", "3", "-"],
            "nonsense",
            "BUDGET_EXCEEDED",
        ),
        (&["-n", "a", "-"], "nonsense", "UNSUPPORTED_FORMAT"),
    ] {
        assert_eq!(
            json_of(&run(arguments, stdin.as_bytes()))["error"]["code"],
            code,
            "{arguments:?}"
        );
    }
}

#[test]
fn a_closed_output_ends_the_engine_quietly() {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_deckprobe-mcp"))
        .args(["engine", "--jsonl"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"{}\n{}\n").unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn history_does_not_show() {
    let records = [
        json!({}),
        json!({"path": "/nonexistent.pdf"}),
        record("a.pdf", b"junk"),
        record("a.unknown", b"junk"),
        json!({"path": "/nonexistent.pdf", "options": {"level": "deep"}}),
    ];
    let mut warm = Engine::start(&[]);
    for _ in 0..3 {
        for (at, record) in records.iter().enumerate().rev() {
            let fresh = Engine::start(&[]).ask_text(record);
            assert_eq!(warm.ask_text(record), fresh, "record {at}");
        }
    }
}

#[test]
fn formats_lists_every_driver_with_its_profiles() {
    let report = json_of(&run(&["formats"], b""));
    let count: usize = report["formats"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["profiles"].as_array().unwrap().len())
        .sum();
    assert_eq!(count, 23);
    assert_eq!(report["status"], "ok");
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
