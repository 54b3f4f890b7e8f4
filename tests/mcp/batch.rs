//! `batch`: lists and trees of documents, as a person or a pipeline runs it.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::wire::{Desk, binary};

fn batch(args: &[&str]) -> Command {
    let mut command = binary();
    command.arg("batch").args(args).stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Output {
    batch(args).output().unwrap()
}

fn lines(text: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(text).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A tree with documents, a hidden one, an ignored one and a file of another kind.
fn tree() -> tempfile::TempDir {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let home = tempfile::tempdir().unwrap();
    let copy = |from: &str, to: &str| {
        let to = home.path().join(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(fixtures.join(from), to).unwrap();
    };
    copy("quarterly.docx", "a/one.docx");
    copy("page.pdf", "a/two.PDF");
    copy("page.pdf", "b/three.pdf");
    copy("page.pdf", ".hidden.pdf");
    copy("page.pdf", "ignored.pdf");
    std::fs::write(home.path().join("notes.txt"), "text").unwrap();
    std::fs::write(home.path().join(".ignore"), "ignored.pdf\n").unwrap();
    home
}

fn names(output: &Output) -> Vec<String> {
    let name = |line: &Value| {
        let path = Path::new(line["path"].as_str().unwrap()).to_owned();
        path.file_name().unwrap().to_str().unwrap().to_owned()
    };
    lines(&output.stdout).iter().map(name).collect()
}

#[test]
fn a_directory_is_walked_in_order_for_known_extensions() {
    let home = tree();
    let root = home.path().to_str().unwrap();
    let plain = run(&[root]);
    assert_eq!(plain.status.code(), Some(0), "{}", stderr(&plain));
    assert_eq!(names(&plain), ["one.docx", "two.PDF", "three.pdf"]);
    let said = stderr(&plain);
    assert!(
        said.contains("3 documents: ok") || said.contains("3 documents: partial"),
        "{said}"
    );
    assert!(said.contains("formats: docx 1, pdf 2"), "{said}");
    let all = run(&["--hidden", "--no-ignore", "--quiet", root]);
    assert_eq!(
        names(&all),
        [
            ".hidden.pdf",
            "one.docx",
            "two.PDF",
            "three.pdf",
            "ignored.pdf"
        ]
    );
    assert_eq!(stderr(&all), "");
    let every = run(&["--all-files", root]);
    assert_eq!(every.status.code(), Some(1));
    assert!(names(&every).contains(&"notes.txt".to_owned()));
}

#[test]
fn lists_hold_paths_and_records_and_a_bad_line_costs_itself() {
    let desk = Desk::new();
    let good = desk.path("good.docx");
    let list = desk.path("list");
    let bytes = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/page.pdf"));
    let inline = json!({"name": "inline.pdf", "data_base64": base64(&bytes.unwrap())});
    let text = format!(
        "{good}\r\n\n{}\n{}\n{inline}\n{{\"path\":\n/no/such.pdf\n",
        json!(good),
        json!({"path": good, "name": "renamed.docx"}),
    );
    std::fs::write(&list, &text).unwrap();
    let from_file = run(&["--from", &list, "-t", "format"]);
    assert_eq!(from_file.status.code(), Some(1), "{}", stderr(&from_file));
    let mut child = batch(&["-", "-t", "format", "--quiet"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let from_stdin = child.wait_with_output().unwrap();
    for output in [&from_file, &from_stdin] {
        let lines = lines(&output.stdout);
        let codes: Vec<&Value> = lines
            .iter()
            .map(|line| &line["report"]["error"]["code"])
            .collect();
        assert_eq!(lines.len(), 6);
        assert_eq!(
            codes,
            [
                &Value::Null,
                &Value::Null,
                &Value::Null,
                &Value::Null,
                &json!("INVALID_REQUEST"),
                &json!("MCP_PATH_NOT_FOUND"),
            ]
        );
        assert_eq!(lines[2]["report"]["input"]["display_name"], "renamed.docx");
        assert_eq!(lines[3]["path"], "inline.pdf");
        assert!(lines[4]["path"].as_str().unwrap().ends_with(":6"));
    }
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = chunk
            .iter()
            .fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
        let word = word << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let six = (word >> (18 - 6 * at)) as usize & 63;
            text.push(if at <= chunk.len() {
                char::from(ALPHABET[six])
            } else {
                '='
            });
        }
    }
    text
}

#[test]
fn csv_has_a_column_for_every_target_of_any_format_and_narrows_the_targets_to_each() {
    let home = tree();
    let root = home.path().to_str().unwrap();
    let output = run(&["--format", "csv", "-t", "title,page_count,word_count", root]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let mut rows = csv::Reader::from_reader(&output.stdout[..]);
    let header: Vec<String> = rows.headers().unwrap().iter().map(String::from).collect();
    assert_eq!(
        header[..5],
        ["path", "status", "format", "error_code", "error_message"]
    );
    let rows: Vec<HashMap<String, String>> = rows.deserialize().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0]["document.title"], "Quarterly figures");
    assert_eq!(rows[0]["word.word_count"], "5");
    assert_eq!(
        (
            rows[1]["format"].as_str(),
            rows[1]["pdf.page_count"].as_str()
        ),
        ("pdf", "1")
    );
    assert_eq!(rows[1]["word.word_count"], "");
    let unknown = run(&["-t", "no_such_target", root]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("no_such_target"));
}

#[test]
fn an_output_file_appears_when_it_is_complete_and_errors_have_their_own() {
    let home = tree();
    let desk = Desk::new();
    let (out, errors) = (desk.path("out.jsonl"), desk.path("errors.jsonl"));
    let root = home.path().to_str().unwrap();
    let args = [
        root,
        "/no/such.pdf",
        "--out",
        &out,
        "--errors",
        &errors,
        "--unordered",
    ];
    let output = run(&args);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!(lines(&std::fs::read(&out).unwrap()).len(), 4);
    let failed = lines(&std::fs::read(&errors).unwrap());
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0]["path"], "/no/such.pdf");
    assert!(!Path::new(&format!("{out}.partial")).exists());
    let nowhere = run(&[root, "--out", "/no/such/directory/out"]);
    assert_eq!(nowhere.status.code(), Some(2), "{}", stderr(&nowhere));
    let engineless = batch(&[root])
        .env("DECKPROBE_MCP_ENGINE", "external")
        .env("DECKPROBE_MCP_BIN", "/no/such/engine")
        .output()
        .unwrap();
    assert_eq!(engineless.status.code(), Some(2));
}

/// The first document is answered, the signal is sent while the list is still open, and the second
/// run does the rest: nothing twice, nothing lost, with a half-written row in between.
#[cfg(unix)]
#[test]
fn an_interrupted_output_is_completed_by_resume() {
    for format in ["jsonl", "csv"] {
        let home = tree();
        let desk = Desk::new();
        let out = desk.path("out");
        let partial = format!("{out}.partial");
        let path = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
        let (one, two) = (path("a/one.docx"), path("a/two.PDF"));
        let args = ["-", "--out", &out, "--format", format, "-t", "title"];
        let mut child = batch(&args)
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        writeln!(stdin, "{one}\n{one}").unwrap();
        let rows = |name: &str| {
            let text = std::fs::read_to_string(name).unwrap_or_default();
            text.matches("a/one.docx").count()
        };
        while rows(&partial) < 2 {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        let said: Vec<String> = BufReader::new(child.stderr.take().unwrap())
            .lines()
            .map(Result::unwrap)
            .collect();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert!(
            said.iter().any(|line| line.contains("--resume")),
            "{said:?}"
        );
        assert!(!Path::new(&out).exists());
        drop(stdin);

        let mut cut = std::fs::OpenOptions::new()
            .append(true)
            .open(&partial)
            .unwrap();
        cut.write_all(b"{\"path\":\"half").unwrap();
        let list = desk.path("list");
        std::fs::write(&list, format!("{one}\n{one}\n{two}\n{one}\n")).unwrap();
        let rest = [
            "--from", &list, "--out", &out, "--format", format, "-t", "title",
        ];
        let refused = run(&rest);
        assert_eq!(
            refused.status.code(),
            Some(2),
            "it would overwrite what was done"
        );
        let resumed = run(&[&rest[..], &["--resume"]].concat());
        assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
        assert!(
            stderr(&resumed).contains("2 documents"),
            "{}",
            stderr(&resumed)
        );
        let text = std::fs::read_to_string(&out).unwrap();
        assert_eq!(text.matches("a/one.docx").count(), 3, "{text}");
        assert_eq!(text.matches("a/two.PDF").count(), 1, "{text}");
        assert!(!text.contains("half"), "{text}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn hanging_and_crashing_documents_cost_their_own_rows_in_either_order() {
    let chaos = crate::chaos::Chaos::new();
    let files = [
        "reply~1", "silent~2", "reply~3", "abort~4", "reply~5", "exit:7~6", "reply~7",
    ];
    let paths: Vec<String> = files.iter().map(|verbs| chaos.path(verbs)).collect();
    let run = |more: &[&str]| {
        let mut command = chaos.command();
        command
            .args(["batch", "--jobs", "2"])
            .args(more)
            .args(&paths);
        let output = command
            .env("DECKPROBE_MCP_TIMEOUT_MS", "2000")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(
            stderr(&output).contains("recycled children: "),
            "{}",
            stderr(&output)
        );
        lines(&output.stdout)
    };
    let ordered = run(&[]);
    let shown: Vec<&str> = ordered
        .iter()
        .map(|line| line["path"].as_str().unwrap())
        .collect();
    assert_eq!(shown, paths);
    let unordered = run(&["--unordered"]);
    // The document that hangs until its deadline is the last one to finish.
    assert_eq!(unordered.last().unwrap()["path"], paths[1].as_str());
    for output in [ordered, unordered] {
        assert_eq!(output.len(), paths.len());
        for line in output {
            let at = paths
                .iter()
                .position(|path| line["path"] == path.as_str())
                .unwrap();
            let code = &line["report"]["error"]["code"];
            match at {
                1 => assert_eq!(code, "MCP_TIMEOUT"),
                3 | 5 => assert_eq!(code, "MCP_ENGINE_FAILURE"),
                _ => assert_eq!(code, &Value::Null, "{line}"),
            }
        }
    }
}

/// `DECKPROBE_TEST_LONG=1 cargo test --test mcp memory_does_not` prints the peaks.
#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_list() {
    let long = std::env::var_os("DECKPROBE_TEST_LONG").is_some();
    let (few, many) = if long { (2_000, 200_000) } else { (500, 2_000) };
    let (few, many) = (peak_of(few), peak_of(many));
    println!("peak resident memory: {few} KiB and {many} KiB");
    // Short lists have not filled every buffer yet.
    let allowed = if long { few / 10 } else { few / 4 };
    assert!(many <= few + allowed, "{few} KiB and {many} KiB");
}

/// The peak of the process after it has answered that many records of a list that is still open.
#[cfg(target_os = "linux")]
fn peak_of(records: usize) -> u64 {
    let desk = Desk::new();
    let good = desk.path("good.docx");
    let mut child = batch(&["-", "--quiet", "-t", "title"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let feeder = std::thread::spawn(move || {
        for _ in 0..records {
            writeln!(stdin, "{good}").unwrap();
        }
        stdin
    });
    let answers = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(answers.take(records).map(Result::unwrap).count(), records);
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let peak = peak.trim().trim_end_matches(" kB").parse().unwrap();
    drop(feeder.join().unwrap());
    assert!(child.wait().unwrap().success());
    peak
}
