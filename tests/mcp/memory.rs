//! Large replies: bounded memory on both transports, and no call lost.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::chaos::Chaos;
use crate::hostile::peak_mib;
use crate::http::{HttpServer, Request};

/// Most resident memory of the server, in MiB.
const MOST_MIB: u64 = 192;
/// The size of one report, as a PDF with a hostile title once had.
const REPORT: usize = 14_000_000;

fn assert_bounded(pid: u32, when: &str) {
    let peak = peak_mib(pid);
    assert!(peak < MOST_MIB, "{peak} MiB resident {when}");
}

fn command(chaos: &Chaos) -> Command {
    let mut command = chaos.command();
    command
        .env("DECKPROBE_MCP_MAX_CONCURRENCY", "4")
        .env("DECKPROBE_MCP_TIMEOUT_MS", "120000");
    command
}

/// A client of raw lines that reads when it wants to.
struct Client {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Client {
    fn open(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut client = Self {
            child,
            stdin,
            stdout,
        };
        client.send(&json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params":
            {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "m", "version": "1"}}}));
        assert_eq!(client.read()["id"], "hello");
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").unwrap();
    }

    fn call(&mut self, id: usize, tool: &str, arguments: Value) {
        let params = json!({"name": tool, "arguments": arguments});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Reads so many answers, each a whole report, and returns their ids.
    fn read_reports(&mut self, count: usize) -> HashSet<String> {
        (0..count)
            .map(|_| {
                let mut line = String::new();
                self.stdout.read_line(&mut line).unwrap();
                assert!(line.len() > 2 * REPORT, "{line:.300}");
                let id = line.split("\"id\":").nth(1).unwrap();
                id.split(',').next().unwrap().to_owned()
            })
            .collect()
    }

    fn end(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Waits until the server has stopped working: its processor time does not grow any more.
fn until_quiet(pid: u32) {
    let ticks = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let rest = stat.rsplit(") ").next().unwrap();
        let fields: Vec<u64> = rest
            .split(' ')
            .map(|field| field.parse().unwrap_or(0))
            .collect();
        fields[11] + fields[12]
    };
    let limit = Instant::now() + Duration::from_secs(120);
    let mut last = ticks();
    let mut quiet = 0;
    while quiet < 15 {
        assert!(Instant::now() < limit, "it goes on working");
        std::thread::sleep(Duration::from_millis(100));
        let now = ticks();
        quiet = if now <= last + 1 { quiet + 1 } else { 0 };
        last = now;
    }
}

#[test]
fn unread_large_replies_are_bounded_and_all_answered() {
    let chaos = Chaos::new();
    let mut client = Client::open(&mut command(&chaos));
    let document = chaos.probe(&format!("exactly:{REPORT}~a"));
    for id in 0..16 {
        client.call(id, "probe", document.clone());
    }
    until_quiet(client.child.id());
    assert_bounded(client.child.id(), "with 16 unread replies");
    assert_eq!(client.read_reports(16).len(), 16);
    assert_bounded(client.child.id(), "after they were read");
    client.end();
}

#[test]
fn concurrent_batches_of_large_reports_end_within_the_bound() {
    let chaos = Chaos::new();
    let mut client = Client::open(&mut command(&chaos));
    let paths: Vec<String> = (0..4)
        .map(|at| chaos.path(&format!("exactly:{REPORT}~{at}")))
        .collect();
    for id in 0..4 {
        client.call(id, "probe_batch", json!({"paths": paths}));
    }
    let mut ids = HashSet::new();
    for _ in 0..4 {
        let answer = client.read();
        ids.insert(answer["id"].as_u64().unwrap());
        let reports = answer["result"]["structuredContent"]["reports"].clone();
        let status = |status: &str| {
            let entries = reports.as_array().unwrap().iter();
            entries
                .filter(|entry| entry["report"]["status"] == status)
                .count()
        };
        // As many as fit into one result, and an error for each of the others.
        assert_eq!((status("ok"), status("error")), (2, 2));
    }
    assert_eq!(ids.len(), 4);
    assert_bounded(client.child.id(), "after four batches of 56 MB");
    client.end();
}

#[test]
fn large_replies_over_http_are_bounded_and_all_answered() {
    let chaos = Chaos::new();
    let server = HttpServer::start(&mut command(&chaos));
    let document = chaos.probe(&format!("exactly:{REPORT}~a"));
    let statuses: Vec<(bool, bool)> = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..8)
            .map(|_| {
                let request = Request::tool("probe", document.clone());
                let server = &server;
                scope.spawn(move || {
                    let mut stream = TcpStream::connect(server.address).unwrap();
                    stream.write_all(&request.bytes()).unwrap();
                    let mut answer = Vec::new();
                    stream.read_to_end(&mut answer).unwrap();
                    let is_ok = answer.starts_with(b"HTTP/1.1 200");
                    (is_ok, answer.len() > 2 * REPORT)
                })
            })
            .collect();
        let answers = callers.into_iter().map(|caller| caller.join().unwrap());
        answers.collect()
    });
    assert!(statuses.iter().all(|s| *s == (true, true)), "{statuses:?}");
    assert_bounded(server.child.id(), "after eight large replies");
}

/// As in a container or under `ulimit -v`.
#[test]
fn large_replies_fit_into_one_gibibyte_of_address_space() {
    let chaos = Chaos::new();
    let mut limited = Command::new("sh");
    let bare = command(&chaos);
    limited
        .args(["-c", "ulimit -v 1048576; exec \"$0\""])
        .arg(bare.get_program());
    for (name, value) in bare.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    let mut client = Client::open(&mut limited);
    let document = chaos.probe(&format!("exactly:{REPORT}~a"));
    for id in 0..6 {
        client.call(id, "probe", document.clone());
    }
    assert_eq!(client.read_reports(6).len(), 6);
    client.end();
}

/// The text and the structured content are the engine's bytes, on both transports.
#[test]
fn large_report_is_verbatim_in_both_places() {
    let chaos = Chaos::new();
    let document = chaos.probe("exactly:300000~a");
    let mut client = Client::open(&mut command(&chaos));
    client.call(1, "probe", document.clone());
    let over_stdio = client.read()["result"].clone();
    client.end();
    let server = HttpServer::start(&mut command(&chaos));
    let over_http = server.send(&Request::tool("probe", document.clone()));
    let with_progress = Request::rpc(
        "tools/call",
        json!({"name": "probe", "arguments": document, "_meta": {"progressToken": "p"}}),
    );
    let as_events = server.send(&with_progress);
    for result in [
        &over_stdio,
        &over_http.json()["result"],
        &as_events.json()["result"],
    ] {
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(text.len(), 300_000);
        assert_eq!(
            serde_json::from_str::<Value>(text).unwrap(),
            result["structuredContent"]
        );
        assert_eq!(result["isError"], false);
    }
    // The engine's spelling: keys in its order, in the structured content too.
    let text = over_stdio["content"][0]["text"].as_str().unwrap();
    assert!(
        over_http
            .body
            .contains(&format!("\"structuredContent\":{text}"))
    );
}
