//! The commands for people.

use std::process::Output;

use serde_json::Value;

use crate::wire::{Desk, binary};

fn run(args: &[&str]) -> Output {
    binary().args(args).output().unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn probe_prints_one_json_value_a_document_in_order_and_the_worst_status() {
    let desk = Desk::new();
    let (good, bad) = (desk.path("good.docx"), desk.path("bad.docx"));
    let missing = desk.path("missing.pdf");
    let one = run(&["probe", "-t", "@header", "-l", "header", &good]);
    assert_eq!(one.status.code(), Some(0));
    assert_eq!(
        lines(&one)[0]["results"]["document.format"]["value"],
        "office-open-xml"
    );

    let three = run(&["probe", "--view", "values", &missing, &bad, &good]);
    assert_eq!(three.status.code(), Some(4), "the worst of 2, 4 and 0");
    let replies = lines(&three);
    assert_eq!(replies[0]["error"]["code"], "MCP_PATH_NOT_FOUND");
    assert_eq!(replies[1]["error"]["code"], "MALFORMED_INPUT");
    assert_eq!(replies[2]["view"], "values");

    let pretty = run(&["probe", "-p", "-t", "@header", &good]);
    assert!(String::from_utf8_lossy(&pretty.stdout).starts_with("{\n  \""));
    let hostile = run(&["probe", "-t", "a=b", &good]);
    assert_eq!(hostile.status.code(), Some(2));
}

/// A full disk is told; a reader that leaves is an ordinary end, and what nobody reads is not probed.
#[cfg(target_os = "linux")]
#[test]
fn output_that_is_lost_is_a_failure_and_a_reader_that_leaves_is_not() {
    let desk = Desk::new();
    let good = desk.path("good.docx");
    for args in [
        &["probe", &good][..],
        &["doctor"],
        &["completions", "bash"],
        &["--help"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        let output = binary().args(args).stdout(full.unwrap()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("cannot be written"), "{args:?}: {said}");

        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = binary().args(args).stdout(writer).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert!(output.stderr.is_empty(), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_name_that_is_not_utf8_spoils_no_other() {
    use std::os::unix::ffi::OsStrExt;
    let desk = Desk::new();
    let output = binary()
        .arg("probe")
        .arg(std::ffi::OsStr::from_bytes(b"/tmp/\xff.pdf"))
        .arg(desk.path("good.docx"))
        .output()
        .unwrap();
    let replies = lines(&output);
    assert_eq!(replies[0]["error"]["code"], "MCP_PATH_UNREADABLE");
    assert_eq!(replies[1]["input"]["display_name"], "good.docx");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn bad_settings_stop_every_command_with_one_message() {
    let desk = Desk::new();
    for args in [&[][..], &["serve"], &["probe", "x.pdf"], &["doctor"]] {
        let output = binary()
            .args(args)
            .env("DECKPROBE_MCP_TIMEOUT_MS", "soon")
            .env("DECKPROBE_MCP_MAX_CONCURRENCY", "0")
            .env("DECKPROBE_MCP_ROOTS", desk.path("nothing"))
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        assert!(!output.status.success(), "{args:?}");
        let said = [output.stdout.clone(), output.stderr.clone()].concat();
        let said = String::from_utf8_lossy(&said);
        for part in [
            "DECKPROBE_MCP_TIMEOUT_MS=\"soon\"",
            "DECKPROBE_MCP_MAX_CONCURRENCY=\"0\"",
            "DECKPROBE_MCP_ROOTS",
            "milliseconds",
        ] {
            assert!(said.contains(part), "{args:?}: {part} is not in {said}");
        }
    }
}

#[test]
fn a_root_that_is_no_directory_is_refused_before_anything_starts() {
    let desk = Desk::new();
    let root = desk.path("");
    let file = desk.path("page.pdf");
    let nothing = desk.path("nothing");
    for args in [
        &["--root"][..],
        &["--root", ""],
        &["--root", "--version"],
        &["--root", &root, "--root", &root],
        &["--root", &file],
        &["--root", &nothing],
        &["serve", "--root", "-x"],
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(
            output.stdout.is_empty() && !output.stderr.is_empty(),
            "{args:?}"
        );
    }
}

#[test]
fn doctor_proves_the_set_up_with_a_real_probe() {
    let output = run(&["doctor", "--json"]);
    assert!(output.status.success());
    let report = &lines(&output)[0];
    assert_eq!(report["healthy"], true);
    let findings = report["findings"].as_array().unwrap();
    let of = |what: &str| findings.iter().find(|finding| finding["what"] == what);
    assert!(
        of("engine").unwrap()["text"]
            .as_str()
            .unwrap()
            .starts_with("built-in 2.")
    );
    assert!(
        of("probe").unwrap()["text"]
            .as_str()
            .unwrap()
            .contains("warm in")
    );

    let broken = binary()
        .arg("doctor")
        .env("DECKPROBE_MCP_ENGINE", "external")
        .env("DECKPROBE_MCP_BIN", "/no/such/engine")
        .output()
        .unwrap();
    assert_eq!(broken.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&broken.stdout).contains("/no/such/engine"));
}

#[test]
fn help_version_and_completions_go_to_stdout() {
    for (args, part) in [
        (&["--version"][..], env!("CARGO_PKG_VERSION")),
        (&["--help"], "doctor"),
        (&["completions", "bash"], "complete"),
        (&["completions", "zsh"], "#compdef"),
    ] {
        let output = run(args);
        assert!(output.status.success(), "{args:?}");
        assert!(
            String::from_utf8_lossy(&output.stdout).contains(part),
            "{args:?}"
        );
        assert!(output.stderr.is_empty(), "{args:?}");
    }
    assert_eq!(run(&["no-such-command"]).status.code(), Some(2));
}
