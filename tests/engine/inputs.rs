//! Paths, names and standard input (contract §1.4, §8).

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{Engine, json_of, record, run};

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

fn code(reply: &Value) -> &str {
    reply["error"]["code"].as_str().unwrap_or("none")
}

#[test]
fn a_path_that_cannot_be_read_is_an_io_error_with_the_words_of_the_system() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(at("plain.pdf"), b"%PDF-1.7").unwrap();
    #[cfg_attr(not(unix), expect(unused_mut, reason = "links are made on Unix only"))]
    let mut paths = vec![
        String::new(),
        at("missing.pdf"),
        at("plain.pdf/below.pdf"),
        at("a\0b.pdf"),
    ];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(at("missing.pdf"), at("dangling.pdf")).unwrap();
        std::os::unix::fs::symlink(at("loop.pdf"), at("loop.pdf")).unwrap();
        paths.extend([at("dangling.pdf"), at("loop.pdf")]);
    }
    let mut engine = Engine::start(&[]);
    for path in paths {
        let reply = engine.ask(&json!({ "path": path }));
        assert_eq!(
            (code(&reply), &reply["error"]["exit_code"]),
            ("SOURCE_IO", &json!(2)),
            "{path:?}"
        );
        let message = reply["error"]["message"].as_str().unwrap();
        let is_nul = path.contains('\0');
        assert!(is_nul || message.contains("(os error "), "{message}");
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_refused_and_never_waited_for() {
    use std::time::{Duration, Instant};
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    assert!(
        Command::new("mkfifo")
            .arg(at("fifo.pdf"))
            .status()
            .unwrap()
            .success()
    );
    let _socket = std::os::unix::net::UnixListener::bind(at("socket.pdf")).unwrap();
    std::fs::create_dir(at("folder.pdf")).unwrap();
    std::os::unix::fs::symlink(at("fifo.pdf"), at("link.pdf")).unwrap();
    let started = Instant::now();
    let mut engine = Engine::start(&[]);
    for path in [
        at("fifo.pdf"),
        at("socket.pdf"),
        at("folder.pdf"),
        at("link.pdf"),
        "/dev/null".into(),
    ] {
        let reply = engine.ask(&json!({ "path": path, "name": "a.pdf" }));
        let expected = format!("invalid request: input is not a regular file: {path}");
        assert_eq!(reply["error"]["message"], expected);
    }
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn the_name_decides_the_extension_and_is_printed_as_it_was_given() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plain.bin");
    std::fs::write(&path, b"PK\x03\x04").unwrap();
    let mut engine = Engine::start(&["-P", "-t", "@header"]);
    let mut ask = |name: Option<&str>| engine.ask(&json!({ "path": path, "name": name }));
    let refused = ask(None)["error"]["message"].to_string();
    assert!(
        refused.starts_with("\"unsupported format: .bin ("),
        "{refused}"
    );
    for name in ["x/y.DOCX", "\u{2028}\n.docx", "..docx", "a.docx/"] {
        let reply = ask(Some(name));
        assert_eq!(reply["input"]["display_name"], name);
        assert_eq!(reply["driver"]["profile"], "docx");
        assert_eq!(reply["input"]["source_kind"], "local_file");
        assert_eq!(reply["input"]["file_size"], 4);
    }
    for name in [
        "",
        ".docx",
        "docx",
        "..",
        "a.",
        "a.docx ",
        "a.docx\n",
        "docx/a",
        "a\\b.docx\\c",
    ] {
        assert_eq!(code(&ask(Some(name))), "UNSUPPORTED_FORMAT", "{name:?}");
    }
    let refused = ask(Some("a."))["error"]["message"].to_string();
    assert!(
        refused.starts_with("\"unsupported format: . ("),
        "{refused}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_name_that_is_not_utf8_has_no_extension() {
    use std::os::unix::ffi::OsStrExt as _;
    let directory = tempfile::tempdir().unwrap();
    let path = directory
        .path()
        .join(std::ffi::OsStr::from_bytes(b"\xFF.docx"));
    std::fs::write(&path, b"PK\x03\x04").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_deckprobe-mcp"))
        .arg("engine")
        .arg(&path)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(code(&json_of(&output)), "UNSUPPORTED_FORMAT");
}

#[test]
fn a_budget_of_nothing_allows_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.docx");
    std::fs::write(&path, b"PK\x03\x04").unwrap();
    for flag in ["-b0", "-b3", "-T0"] {
        let mut engine = Engine::start(&[flag]);
        let reply = engine.ask(&json!({ "path": path }));
        assert_eq!(
            (code(&reply), &reply["error"]["exit_code"]),
            ("BUDGET_EXCEEDED", &json!(4)),
            "{flag}"
        );
    }
    let mut engine = Engine::start(&["-b0"]);
    assert_eq!(code(&engine.probe("a.docx", b"P")), "BUDGET_EXCEEDED");
    assert_eq!(
        code(&engine.probe("a.docx", b"")),
        "MALFORMED_INPUT",
        "nothing has to be read"
    );
}

#[test]
fn a_single_report_keeps_declaration_order_also_when_indented() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.docx");
    std::fs::write(&path, b"PK\x03\x04").unwrap();
    let path = path.to_str().unwrap();
    let options = [
        "-P",
        "-t",
        "title,@header",
        "-o",
        "author",
        "--telemetry",
        "-c",
        "x",
        path,
    ];
    let compact = String::from_utf8(run(&options, b"").stdout).unwrap();
    let keys = [
        "schema_version",
        "tool_version",
        "status",
        "input",
        "display_name",
        "source_kind",
        "file_size",
        "driver",
        "id",
        "profile",
        "results",
        "target",
        "status",
        "confidence",
        "confidence_score",
        "path",
        "source",
        "execution",
        "probe_level",
        "paths",
        "estimated_cost",
        "actual_cost",
        "physical_bytes_read",
        "expanded_bytes",
        "random_reads",
        "elapsed_ms",
        "unresolved_targets",
        "diagnostics",
        "level",
        "code",
        "message",
    ];
    let mut rest = &compact[..];
    for key in keys {
        let quoted = format!("\"{key}\":");
        let (_, behind) = rest
            .split_once(&quoted)
            .unwrap_or_else(|| panic!("{key} in {compact}"));
        rest = behind;
    }
    let untimed: Vec<_> = options
        .iter()
        .copied()
        .filter(|flag| *flag != "--telemetry")
        .collect();
    let compact = String::from_utf8(run(&untimed, b"").stdout).unwrap();
    let pretty: Vec<_> = untimed.iter().copied().chain(["--pretty"]).collect();
    let pretty = String::from_utf8(run(&pretty, b"").stdout).unwrap();
    assert!(pretty.lines().count() > 50);
    let squeezed: String = pretty
        .lines()
        .map(str::trim_start)
        .collect::<String>()
        .replace("\": ", "\":");
    assert_eq!(squeezed, compact.trim_end());
    // Everything else is sorted, single-shot or not.
    for more in [&["--view=values"][..], &["-t", "nonsense"]] {
        let arguments: Vec<_> = ["-P", path].iter().chain(more).copied().collect();
        let text = String::from_utf8(run(&arguments, b"").stdout).unwrap();
        let sorted = serde_json::from_str::<Value>(&text).unwrap().to_string();
        assert_eq!(text.trim_end(), sorted);
    }
}

#[test]
fn a_plan_is_never_partial_and_the_same_input_is_with_strict() {
    let docx = b"PK\x03\x04";
    let output = run(
        &[
            "-P",
            "--strict",
            "-c",
            "exact",
            "-t",
            "title,@header",
            "-n",
            "a.docx",
            "-",
        ],
        docx,
    );
    assert_eq!(output.status.code(), Some(0));
    let report = json_of(&output);
    assert_eq!(report["status"], "ok");
    assert_eq!(
        report["execution"]["unresolved_targets"],
        json!(["document.title"])
    );
    assert_eq!(
        report["diagnostics"][0]["code"],
        "UNSUPPORTED_TARGET_AT_REQUESTED_LEVEL"
    );
    assert_eq!(report["results"]["document.title"]["status"], "unsupported");
    assert_eq!(report["results"]["document.title"]["path"], "planner");
    assert_eq!(report["results"]["document.format"]["path"], "plan-only");
    assert_eq!(report["input"]["source_kind"], "stdin");
}

#[test]
fn an_asserted_format_is_checked_before_the_targets() {
    for (asserted, profile, fits) in [
        ("WORD", "docx", true),
        ("docx", "docx", true),
        ("docm", "docx", false),
        ("docx", "encrypted-ooxml", false),
        ("word", "encrypted-ooxml", false),
        ("office-legacy", "encrypted-ooxml", true),
        ("legacy", "xls", true),
        ("xlt", "xls", false),
        ("iwork", "key", true),
        ("numbers", "key", false),
    ] {
        let (name, bytes) = crate::harness::container_for(profile);
        let mut engine = Engine::start(&["-P", "-f", asserted, "-t", "nonsense"]);
        let reply = engine.ask(&record(&name, &bytes));
        let expected = if fits {
            "UNSUPPORTED_TARGET"
        } else {
            "INVALID_REQUEST"
        };
        assert_eq!(code(&reply), expected, "{asserted} {profile}");
    }
}

#[test]
fn a_path_beginning_with_a_dash_goes_behind_two_dashes() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("-a.docx"), b"PK\x03\x04").unwrap();
    let ask = |arguments: &[&str], folder: &Path| {
        let output = Command::new(env!("CARGO_BIN_EXE_deckprobe-mcp"))
            .arg("engine")
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        json_of(&output)
    };
    assert_eq!(
        ask(&["-P", "--", "-a.docx"], directory.path())["status"],
        "ok"
    );
    assert_eq!(
        code(&ask(&["-P", "-a.docx"], directory.path())),
        "CLI_SYNTAX"
    );
}

#[test]
fn a_broken_package_comes_before_an_unknown_target_only_where_routing_opens_it() {
    for (name, target, expected) in [
        ("a.docx", "nonsense", "UNSUPPORTED_TARGET"),
        ("a.docx", "title", "none"),
        ("a.key", "nonsense", "MALFORMED_INPUT"),
        ("a.pages", "slide_count", "MALFORMED_INPUT"),
        ("a.numbers", "@header", "MALFORMED_INPUT"),
    ] {
        let mut engine = Engine::start(&["-P", "-t", target]);
        let reply = engine.probe(name, b"PK\x03\x04 and nothing else");
        assert_eq!(code(&reply), expected, "{name} {target}");
    }
    let (name, bytes) = crate::harness::container_for("key");
    let mut engine = Engine::start(&["-P", "-t", "nonsense"]);
    assert_eq!(code(&engine.probe(&name, &bytes)), "UNSUPPORTED_TARGET");
}
