//! A small vocabulary for tests that drive the engine.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use serde_json::{Value, json};

use crate::support::zip;

/// Runs the engine once with these arguments and this standard input.
pub(crate) fn run(arguments: &[&str], stdin: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_deckprobe-mcp"))
        .arg("engine")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let stdin = stdin.to_vec();
    // A child that refuses its arguments never reads, so a failed write is no failure of the test.
    let writer = std::thread::spawn(move || drop(pipe.write_all(&stdin)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

/// The one JSON value that a run printed.
pub(crate) fn json_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {:?}", String::from_utf8_lossy(&output.stdout)))
}

/// A persistent engine: one record in, one reply out.
pub(crate) struct Engine {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Engine {
    /// Starts `deckprobe-mcp engine --jsonl` with more arguments.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_deckprobe-mcp"))
            .args(["engine", "--jsonl"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            stdin,
            stdout,
        }
    }

    /// Sends one record and returns its reply.
    pub(crate) fn ask(&mut self, record: &Value) -> Value {
        serde_json::from_str(&self.ask_text(record)).unwrap()
    }

    /// Sends one record and returns its reply as it was printed.
    pub(crate) fn ask_text(&mut self, record: &Value) -> String {
        writeln!(self.stdin, "{record}").unwrap();
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'), "no whole reply to {record}: {line:?}");
        line
    }

    /// The process id of the engine.
    #[allow(
        dead_code,
        reason = "for tests that look at memory, which not every system offers"
    )]
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Probes bytes under a name.
    pub(crate) fn probe(&mut self, name: &str, bytes: &[u8]) -> Value {
        self.ask(&record(name, bytes))
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A record that carries its bytes.
pub(crate) fn record(name: &str, bytes: &[u8]) -> Value {
    use base64::Engine as _;
    let data = base64::engine::general_purpose::STANDARD.encode(bytes);
    json!({ "name": name, "data_base64": data })
}

/// The value of a target in a full report.
#[allow(dead_code, reason = "for the drivers' modules")]
pub(crate) fn value<'r>(report: &'r Value, target: &str) -> Option<&'r Value> {
    report["results"][target].get("value")
}

/// The shared folder with the corpus and the reference reports, where this machine has it.
pub(crate) fn shared() -> Option<PathBuf> {
    std::env::var_os("DECKPROBE_TEST_SHARED").map(PathBuf::from)
}

/// A name and just enough bytes to be routed to a profile: a signature, or a package whose document
/// is empty, and nothing behind it.
pub(crate) fn container_for(profile: &str) -> (String, Vec<u8>) {
    let (extension, bytes) = match profile {
        "pdf" => ("pdf", b"%PDF-1.7".to_vec()),
        "encrypted-ooxml" => ("docx", CFB_SIGNATURE.to_vec()),
        "doc" | "xls" | "ppt" => (profile, CFB_SIGNATURE.to_vec()),
        "key" | "numbers" | "pages" => (profile, zip::archive([("Index/Document.iwa", "")])),
        other => (other, b"PK\x03\x04".to_vec()),
    };
    (format!("a.{extension}"), bytes)
}

const CFB_SIGNATURE: &[u8] = b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1";

/// Targets that look where the original does not: in embedded objects, and in fields of every part
/// (docs/differences.md).
const LOOKS_FURTHER: [&str; 3] = [
    "security.active_content_risk",
    "security.has_external_relationships",
    "security.has_macros",
];

/// Checks on the documents of the shared corpus that these rows of the reference reports are about, that
/// for 95 % of them no more bytes are read than the original engine read for the same targets. At deep,
/// `@all` includes targets of ours, which read parts that the original never opens, and so do the targets
/// of [`LOOKS_FURTHER`].
#[track_caller]
pub(crate) fn assert_no_more_is_read(concerns: impl Fn(&Value) -> bool) {
    let Some(shared) = shared() else { return };
    for (golden, flags) in [
        ("metadata-default", &[][..]),
        ("deep-all", &[]),
        ("header", &["-l", "h", "-t", "@header"]),
        (
            "exact-structure",
            &["-c", "x", "-l", "d", "-t", "@structure"],
        ),
    ] {
        let mut engine = Engine::start(flags);
        let bytes_of =
            |report: &Value| report["execution"]["actual_cost"]["physical_bytes_read"].as_u64();
        let text = std::fs::read_to_string(shared.join(format!("golden/{golden}.jsonl"))).unwrap();
        let mut more = Vec::new();
        let mut compared = 0;
        for row in text.lines() {
            let row: Value = serde_json::from_str(row).unwrap();
            let Some(theirs) = bytes_of(&row["report"]).filter(|_| concerns(&row)) else {
                continue;
            };
            let path = row["path"].as_str().unwrap();
            let mut record = json!({ "path": shared.join("corpus").join(path) });
            if golden == "deep-all" {
                let results = row["report"]["results"].as_object().unwrap();
                let mut targets: Vec<&str> = results.keys().map(String::as_str).collect();
                targets.retain(|target| !LOOKS_FURTHER.contains(target));
                record["options"] = json!({ "level": "deep", "targets": targets });
            }
            let report = engine.ask(&record);
            compared += 1;
            match bytes_of(&report) {
                Some(ours) if ours > theirs => more.push(format!("{path}: {ours} > {theirs}")),
                _ => {}
            }
        }
        assert!(compared > 0, "{golden}");
        let share = 1.0 - more.len() as f64 / f64::from(compared);
        assert!(share >= 0.95, "{golden}: {share}: {more:#?}");
    }
}

/// What writes a seed of a fuzz target, by target and name, when `DECKPROBE_FUZZ_SEEDS` names a folder
/// for it.
pub(crate) fn seed_writer() -> Option<impl Fn(&str, &str, &[u8])> {
    let folder = PathBuf::from(std::env::var_os("DECKPROBE_FUZZ_SEEDS")?);
    Some(move |target: &str, name: &str, bytes: &[u8]| {
        let folder = folder.join(target);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(name), bytes).unwrap();
    })
}
