//! Lines in, lines out (contract §1.4 to §1.6).

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{Engine, record, run};

/// The replies of one run, line by line.
fn replies(arguments: &[&str], stdin: &[u8]) -> Vec<String> {
    let output = run(arguments, stdin);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(String::from).collect()
}

#[test]
fn every_line_that_is_not_blank_gets_one_reply_in_order() {
    let stdin = b"\n\r\n \t\n\xE2\x80\x83\n\"/n/1.pdf\"\r\n{\"path\":\"/n/2.pdf\"}\n\xFF\n\"/n/3.pdf\n\0\n\"/n/4.pdf\"";
    let replies = replies(&["--jsonl"], stdin);
    let expected = [
        "/n/1.pdf",
        "/n/2.pdf",
        "line 7",
        "JSONL line 8 is invalid",
        "JSONL line 9 is invalid",
        "/n/4.pdf",
    ];
    assert_eq!(replies.len(), expected.len(), "{replies:?}");
    for (reply, expected) in replies.iter().zip(expected) {
        assert!(reply.contains(expected), "{reply}: {expected}");
    }
}

#[test]
fn every_reply_has_sorted_keys() {
    let records = [
        json!({}),
        json!({"path": "/nonexistent.pdf"}),
        record("a.docx", b"PK\x03\x04"),
        record("a.xyz", b""),
    ];
    for arguments in [
        &[][..],
        &["-P", "-o", "author"],
        &["-P", "--view=values", "--telemetry"],
    ] {
        let mut engine = Engine::start(arguments);
        for record in &records {
            let text = engine.ask_text(record);
            let sorted = serde_json::from_str::<Value>(&text).unwrap().to_string();
            assert_eq!(text.trim_end(), sorted);
        }
    }
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

/// C-4: the original panics.
#[test]
fn a_reader_that_leaves_ends_the_engine_quietly_and_a_full_disk_is_told() {
    let record: &[u8] = b"{\"name\":\"a.pdf\",\"base64\":\"AAAA\"}\n";
    for (arguments, closed) in [(&["formats"][..], 0), (&["--jsonl"], 2)] {
        let run = |stdout: Stdio| {
            let mut child = Command::new(env!("CARGO_BIN_EXE_deckprobe-mcp"))
                .arg("engine")
                .args(arguments)
                .stdin(Stdio::piped())
                .stdout(stdout)
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            // Whoever needs no input may be gone before it is written.
            let _gone = child.stdin.take().unwrap().write_all(record);
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            (output.status.code(), said)
        };
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        assert_eq!(
            run(writer.into()),
            (Some(closed), String::new()),
            "{arguments:?}"
        );
        if cfg!(target_os = "linux") {
            let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
            let (status, said) = run(full.unwrap().into());
            assert_eq!(status, Some(2), "{arguments:?}");
            assert!(said.contains("cannot be written"), "{arguments:?}: {said}");
        }
    }
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
