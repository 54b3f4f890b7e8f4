//! Beginnings and ends: the end of input, signals, and what must not be left behind.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::wire::{Desk, PATIENCE, Server, binary};

#[test]
fn calls_in_flight_are_answered_after_the_end_of_input() {
    let desk = Desk::new();
    let mut server = Server::default();
    let ids: Vec<i64> = (0..20)
        .map(|_| server.ask_tool("probe", json!({"path": desk.path("good.docx")})))
        .collect();
    server.close_stdin();
    for id in ids {
        let answer = server.answer(id);
        assert_eq!(
            answer["result"]["structuredContent"]["input"]["display_name"], "good.docx",
            "{answer}"
        );
    }
    assert!(server.wait().success());
}

#[test]
fn script_that_pipes_everything_at_once_gets_every_answer() {
    let desk = Desk::new();
    let mut lines = String::from(concat!(
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","#,
        r#""capabilities":{},"clientInfo":{"name":"pipe","version":"1"}}}"#
    ));
    for id in 1..=50 {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params":
            {"name": "probe", "arguments": {"path": desk.path("page.pdf")}}});
        lines.push_str(&format!("\n{call}"));
    }
    // A file as standard input, and no line feed at its end.
    let script = desk.put("script.jsonl", lines.as_bytes());
    let output = binary()
        .stdin(std::fs::File::open(script).unwrap())
        .stderr(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success());
    let answers: std::collections::BTreeSet<i64> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .filter(|answer| answer["result"].is_object())
        .filter_map(|answer| answer["id"].as_i64())
        .collect();
    assert_eq!(answers, (0..=50).collect());
}

/// Clients of the Node family give socket pairs, not pipes.
#[cfg(unix)]
#[test]
fn socket_pairs_work_like_pipes() {
    use std::io::{BufRead, BufReader, Write};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    let (mut input, theirs_in) = UnixStream::pair().unwrap();
    let (output, theirs_out) = UnixStream::pair().unwrap();
    let mut child = binary()
        .stdin(OwnedFd::from(theirs_in))
        .stdout(OwnedFd::from(theirs_out))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    output.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut lines = BufReader::new(output).lines();
    for id in 0..200 {
        let ping = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        writeln!(input, "{ping}").unwrap();
        let answer: serde_json::Value =
            serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(answer["id"], id);
    }
    drop(input);
    assert!(child.wait().unwrap().success());
    assert!(lines.next().is_none());
}

#[test]
fn end_of_input_before_the_first_message_exits_zero() {
    let started = Instant::now();
    let mut server = Server::start(&mut binary());
    server.close_stdin();
    assert!(server.wait().success());
    assert!(started.elapsed() < PATIENCE);
    assert!(server.seen.is_empty());
}

#[test]
fn initialize_does_not_wait_for_the_engine() {
    let mut command = binary();
    command
        .env("DECKPROBE_MCP_ENGINE", "external")
        .env("DECKPROBE_MCP_BIN", "/no/such/engine");
    let mut server = Server::start(&mut command);
    assert_eq!(
        server.initialize("2025-11-25")["serverInfo"]["name"],
        "deckprobe"
    );
    assert!(server.request("tools/list", json!({}))["result"]["tools"].is_array());
    server.finish();
}

#[cfg(target_os = "linux")]
mod processes {
    use super::*;
    use rustix::process::{Pid, Signal, kill_process};

    /// All living descendants of a process, as (pid, start time).
    fn descendants(root: u32) -> Vec<(u32, u64)> {
        let mut known = vec![root];
        let mut found = Vec::new();
        loop {
            let before = known.len();
            for entry in std::fs::read_dir("/proc").unwrap().flatten() {
                let Some(pid) = entry
                    .file_name()
                    .to_str()
                    .and_then(|name| name.parse().ok())
                else {
                    continue;
                };
                if let Some((parent, start)) = stat(pid)
                    && known.contains(&parent)
                    && !known.contains(&pid)
                {
                    known.push(pid);
                    found.push((pid, start));
                }
            }
            if known.len() == before {
                return found;
            }
        }
    }

    /// Parent and start time of a living process; zombies count as gone only for their parent.
    fn stat(pid: u32) -> Option<(u32, u64)> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = text[text.rfind(')')? + 2..].split(' ').collect();
        if fields[0] == "Z" {
            return None;
        }
        Some((fields[1].parse().ok()?, fields[19].parse().ok()?))
    }

    fn assert_all_gone(children: &[(u32, u64)]) {
        let until = Instant::now() + Duration::from_secs(5);
        for (pid, start) in children {
            while stat(*pid).is_some_and(|(_, now)| now == *start) {
                assert!(Instant::now() < until, "process {pid} is still there");
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }

    /// A server with a warm child, seen from outside.
    fn warm() -> (Server, Vec<(u32, u64)>) {
        let desk = Desk::new();
        let mut server = Server::default();
        server.tool("probe", json!({"path": desk.path("good.docx")}));
        let children = descendants(server.child.id());
        (server, children)
    }

    fn signal(server: &Server, signal: Signal) {
        let pid = Pid::from_child(&server.child);
        kill_process(pid, signal).unwrap();
    }

    #[test]
    fn no_process_survives_the_server() {
        let (mut server, children) = warm();
        server.close_stdin();
        assert!(server.wait().success());
        assert_all_gone(&children);

        for end in [Signal::TERM, Signal::INT] {
            let (mut server, children) = warm();
            signal(&server, end);
            assert!(server.wait().success(), "{end:?}");
            assert_all_gone(&children);
        }

        let (mut server, children) = warm();
        signal(&server, Signal::KILL);
        server.wait();
        assert_all_gone(&children);
    }
}

/// Many clients give us a pipe for stderr and never read it.
#[cfg(target_os = "linux")]
#[test]
fn unread_stderr_does_not_delay_answers() {
    let desk = Desk::new();
    let (_unread, log) = std::io::pipe().unwrap();
    let mut command = binary();
    command.env("DECKPROBE_MCP_LOG", "trace");
    let mut server = Server::open_with_log(&mut command, log.into());
    for _ in 0..600 {
        let result = server.tool("probe", json!({"path": desk.path("good.docx")}));
        assert_ne!(result["isError"], true, "{result}");
    }
    server.finish();
}

#[cfg(target_os = "linux")]
#[test]
fn closed_stderr_changes_nothing() {
    let desk = Desk::new();
    let (reader, log) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = binary();
    command.env("DECKPROBE_MCP_LOG", "trace");
    let mut server = Server::open_with_log(&mut command, log.into());
    let result = server.tool("probe", json!({"path": desk.path("good.docx")}));
    assert_ne!(result["isError"], true, "{result}");
    server.finish();
}

#[test]
fn client_that_closes_stdout_ends_the_server_without_an_error() {
    let mut child = binary()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    {
        use std::io::Write;
        let stdin = child.stdin.as_mut().unwrap();
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        // The server may be gone before the second write.
        let _closed = stdin.write_all(format!("{hello}\n").as_bytes());
        std::thread::sleep(Duration::from_millis(200));
        let _closed = stdin.write_all(format!("{hello}\n").as_bytes());
    }
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!stderr.contains("panic"), "{stderr}");
}
