//! What a client sees when documents hang or kill their engine, and when it changes its mind.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::chaos::Chaos;
use crate::http::{HttpServer, Request, eventually, until_busy};
use crate::wire::Server;

/// A server whose engine has answered once, so that a busy worker is one that has a record.
fn warm(command: &mut std::process::Command, chaos: &Chaos) -> Server {
    let mut server = Server::open(command);
    server.tool("probe", chaos.probe("reply~first"));
    server
}

fn code(entry: &Value) -> &str {
    entry["report"]["error"]["code"].as_str().unwrap_or("ok")
}

#[test]
fn hung_record_times_out_alone() {
    let chaos = Chaos::new();
    let mut command = chaos.command();
    command
        .env("DECKPROBE_MCP_TIMEOUT_MS", "1500")
        .env("DECKPROBE_MCP_MAX_CONCURRENCY", "3");
    let mut server = Server::open(&mut command);
    let mut paths: Vec<String> = (0..20)
        .map(|at| chaos.path(&format!("reply~{at}")))
        .collect();
    paths.insert(7, chaos.path("silent~7"));
    paths.insert(12, chaos.path("signal:11~12"));
    let result = server.tool("probe_batch", json!({"paths": paths}));
    let reports = result["structuredContent"]["reports"].as_array().unwrap();
    assert_eq!(reports.len(), 22);
    for (at, (entry, path)) in reports.iter().zip(&paths).enumerate() {
        assert_eq!(entry["path"], *path);
        match at {
            7 => {
                assert_eq!(code(entry), "MCP_TIMEOUT");
                let message = entry["report"]["error"]["message"].as_str().unwrap();
                assert!(message.contains("DECKPROBE_MCP_TIMEOUT_MS"), "{message}");
            }
            12 => assert_eq!(code(entry), "MCP_ENGINE_FAILURE"),
            _ => {
                let name = path.rsplit('/').next().unwrap();
                assert_eq!(entry["report"]["input"]["display_name"], name);
            }
        }
    }
    server.finish();
    chaos.wait_for(0);
}

/// Reports of fifteen megabytes each: as many as there is room for, and an error in the place of the rest.
#[test]
fn batch_of_huge_reports_is_bounded() {
    let chaos = Chaos::new();
    let mut server = warm(&mut chaos.command(), &chaos);
    let mut paths: Vec<String> = (0..4)
        .map(|at| chaos.path(&format!("exactly:15000000~{at}")))
        .collect();
    paths.push(chaos.path("reply~small"));
    let result = server.tool("probe_batch", json!({"paths": paths}));
    let reports = result["structuredContent"]["reports"].as_array().unwrap();
    let codes: Vec<&str> = reports.iter().map(code).collect();
    let large = "MCP_BATCH_TOO_LARGE";
    assert_eq!(codes, ["ok", "ok", large, large, "ok"]);
    // The room is given back.
    let result = server.tool("probe_batch", json!({"paths": [paths[3]]}));
    assert_eq!(code(&result["structuredContent"]["reports"][0]), "ok");
    server.finish();
}

#[test]
fn engine_failures_are_errors_with_hints_and_the_server_goes_on() {
    let chaos = Chaos::new();
    let mut server = warm(
        chaos.command().env("DECKPROBE_MCP_TIMEOUT_MS", "700"),
        &chaos,
    );
    for (verbs, expected, advice) in [
        ("silent~a", "MCP_TIMEOUT", "do not resend"),
        ("signal:11~b", "MCP_ENGINE_FAILURE", "did not survive"),
        ("kill-self~c", "MCP_ENGINE_FAILURE", "did not survive"),
        ("not-json~d", "MCP_ENGINE_FAILURE", "did not survive"),
        ("exit:0~e", "MCP_ENGINE_FAILURE", "did not survive"),
        ("error~f", "MALFORMED_INPUT", "damaged"),
    ] {
        let result = server.tool("probe", chaos.probe(verbs));
        assert_eq!(result["isError"], true, "{verbs}");
        assert_eq!(
            result["structuredContent"]["error"]["code"], expected,
            "{verbs}"
        );
        let hint = result["content"][1]["text"].as_str().unwrap();
        assert!(hint.contains(advice), "{verbs}: {hint}");
        let after = server.tool("probe", chaos.probe("reply"));
        assert_eq!(
            after["structuredContent"]["input"]["display_name"],
            "reply.pdf"
        );
    }
    // What the engine left on stderr is told, and steers no terminal.
    let (_, message) = server.refusal("probe", chaos.probe("say+exit:3"));
    assert!(
        message.contains("words") && !message.contains('\u{1b}'),
        "{message:?}"
    );
    // A larger time budget does not extend the deadline, and both are named.
    let mut arguments = chaos.probe("silent~g");
    arguments["budget"] = json!({"timeout_ms": 60_000});
    let (_, message) = server.refusal("probe", arguments);
    assert!(
        message.contains("700") && message.contains("60000"),
        "{message}"
    );
    server.finish();
    chaos.wait_for(0);
}

#[test]
fn cancelled_call_kills_its_child_and_frees_its_place() {
    let chaos = Chaos::new();
    let mut server = warm(&mut chaos.command(), &chaos);
    let hung = server.ask_tool("probe", chaos.probe("silent"));
    until_busy(|| server.pool());
    let begun = Instant::now();
    server.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": hung, "reason": "changed my mind"}}),
    );
    // There is one place: this can only be answered when it is free again.
    let next = server.tool("probe", chaos.probe("reply"));
    assert_eq!(
        next["structuredContent"]["input"]["display_name"],
        "reply.pdf"
    );
    // The record's deadline is 20 s, the kill's grace a quarter of a second.
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(chaos.living(), 1, "the hung child is gone");
    assert!(
        !server.seen.iter().any(|line| line["id"] == hung),
        "a cancelled call gets no reply"
    );
    server.finish();
    chaos.wait_for(0);
}

#[test]
fn cancelled_batch_starts_no_record_and_sends_no_progress() {
    let chaos = Chaos::new();
    let mut server = warm(&mut chaos.command(), &chaos);
    let paths: Vec<String> = (0..30)
        .map(|at| chaos.path(&format!("wait:300~{at}")))
        .collect();
    let begun = Instant::now();
    let batch = server.ask(
        "tools/call",
        json!({"name": "probe_batch", "arguments": {"paths": paths},
        "_meta": {"progressToken": "batch"}}),
    );
    assert_eq!(server.line()["params"]["progressToken"], "batch");
    server.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": batch}}),
    );
    let next = server.tool("probe", chaos.probe("reply"));
    assert_eq!(
        next["structuredContent"]["input"]["display_name"],
        "reply.pdf"
    );
    assert!(
        begun.elapsed() < Duration::from_secs(6),
        "30 records would have taken 9 s"
    );
    assert!(
        server.is_silent_for(Duration::from_millis(700)),
        "{:?}",
        server.seen.last()
    );
    server.finish();
}

#[test]
fn progress_increases_is_rate_limited_and_precedes_the_reply() {
    let chaos = Chaos::new();
    let mut server = warm(
        chaos.command().env("DECKPROBE_MCP_MAX_CONCURRENCY", "2"),
        &chaos,
    );
    let paths: Vec<String> = (0..40)
        .map(|at| chaos.path(&format!("wait:40~{at}")))
        .collect();
    let begun = Instant::now();
    let id = server.ask(
        "tools/call",
        json!({"name": "probe_batch", "arguments": {"paths": paths},
        "_meta": {"progressToken": 77}}),
    );
    server.answer(id);
    let took = begun.elapsed();
    let notes: Vec<&Value> = server
        .seen
        .iter()
        .filter(|line| line["method"] == "notifications/progress")
        .map(|line| &line["params"])
        .collect();
    assert!(notes.len() >= 3, "{notes:?}");
    let most = took.as_millis() / 100 + 3;
    assert!(notes.len() as u128 <= most, "{} in {took:?}", notes.len());
    let mut last = 0.0;
    for note in &notes {
        assert_eq!(
            (&note["progressToken"], &note["total"]),
            (&json!(77), &json!(40.0))
        );
        assert!(note["progress"].as_f64().unwrap() > last, "{notes:?}");
        last = note["progress"].as_f64().unwrap();
        assert!(
            note["message"].as_str().unwrap().contains("of 40"),
            "{note}"
        );
    }
    assert_eq!(last, 40.0);
    assert_eq!(
        server.seen.last().unwrap()["id"],
        id,
        "nothing follows the reply"
    );
    assert!(server.is_silent_for(Duration::from_millis(300)));
    server.finish();
}

#[test]
fn slow_probe_sends_progress() {
    let chaos = Chaos::new();
    let mut server = warm(&mut chaos.command(), &chaos);
    let id = server.ask(
        "tools/call",
        json!({"name": "probe", "arguments": chaos.probe("wait:4500"),
        "_meta": {"progressToken": "slow"}}),
    );
    server.answer(id);
    let progress: Vec<f64> = server
        .seen
        .iter()
        .filter_map(|line| line["params"]["progress"].as_f64())
        .collect();
    assert_eq!(progress.len(), 3, "two beats and the end: {progress:?}");
    assert!(progress.windows(2).all(|pair| pair[0] < pair[1]));
    assert_eq!(progress.last(), Some(&1.0));
    server.finish();
}

#[test]
fn full_queue_answers_overloaded_at_once() {
    let chaos = Chaos::new();
    let mut server = warm(chaos.command().env("DECKPROBE_MCP_MAX_QUEUE", "1"), &chaos);
    let running = server.ask_tool("probe", chaos.probe("wait:3000~1"));
    until_busy(|| server.pool());
    let waiting = server.ask_tool("probe", chaos.probe("reply~2"));
    eventually("the queue is full", || {
        server.pool()["queue"]["waiting"] == 1
    });
    let begun = Instant::now();
    let result = server.tool("probe", chaos.probe("reply~3"));
    assert_eq!(
        result["structuredContent"]["error"]["code"],
        "MCP_OVERLOADED"
    );
    assert!(begun.elapsed() < Duration::from_millis(1500), "at once");
    assert!(
        result["content"][1]["text"]
            .as_str()
            .unwrap()
            .contains("wait")
    );
    for id in [running, waiting] {
        assert_ne!(server.answer(id)["result"]["isError"], true);
    }
    server.finish();
}

#[test]
fn call_that_waits_too_long_gets_overloaded() {
    let chaos = Chaos::new();
    let mut server = warm(
        chaos.command().env("DECKPROBE_MCP_QUEUE_TIMEOUT_MS", "300"),
        &chaos,
    );
    let running = server.ask_tool("probe", chaos.probe("wait:2500"));
    until_busy(|| server.pool());
    let (code, message) = server.refusal("probe", chaos.probe("reply"));
    assert_eq!(code, "MCP_OVERLOADED", "{message}");
    assert_ne!(server.answer(running)["result"]["isError"], true);
    server.finish();
}

fn signal(server: &Server, signal: Signal) {
    kill_process(Pid::from_child(&server.child), signal).unwrap();
}

#[test]
fn signal_finishes_the_running_call_and_refuses_the_queued_ones() {
    let chaos = Chaos::new();
    let mut server = warm(&mut chaos.command(), &chaos);
    let running = server.ask_tool("probe", chaos.probe("wait:2000"));
    until_busy(|| server.pool());
    let waiting = server.ask_tool("probe", chaos.probe("reply~waiting"));
    eventually("the other one waits", || {
        server.pool()["queue"]["waiting"] == 1
    });
    signal(&server, Signal::TERM);
    let told = server.answer(waiting)["result"]["structuredContent"]["error"]["code"].clone();
    assert_eq!(told, "MCP_SHUTTING_DOWN");
    let late = server.ask_tool("probe", chaos.probe("reply~late"));
    let told = server.answer(late)["result"]["structuredContent"]["error"]["code"].clone();
    assert_eq!(told, "MCP_SHUTTING_DOWN");
    let finished = server.answer(running);
    assert_eq!(
        finished["result"]["structuredContent"]["input"]["display_name"],
        "wait:2000.pdf"
    );
    assert!(server.wait().success());
    chaos.wait_for(0);
}

#[test]
fn second_signal_kills_server_and_children_at_once() {
    let chaos = Chaos::new();
    let mut server = warm(&mut chaos.command(), &chaos);
    server.ask_tool("probe", chaos.probe("spin"));
    until_busy(|| server.pool());
    let begun = Instant::now();
    signal(&server, Signal::TERM);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(chaos.living(), 1, "it is given time");
    signal(&server, Signal::TERM);
    assert!(!server.wait().success());
    assert!(begun.elapsed() < Duration::from_secs(5));
    chaos.wait_for(0);
}

/// A client that asks for much and reads nothing, until the server stops reading it.
fn deaf_client(
    command: &mut std::process::Command,
) -> (std::process::Child, std::process::ChildStdin) {
    use std::io::Write;
    let piped = std::process::Stdio::piped;
    let mut child = command
        .stdin(piped())
        .stdout(piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let hello = json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params":
        {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "d", "version": "1"}}});
    writeln!(stdin, "{hello}").unwrap();
    for id in 0..200 {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params":
            {"name": "list_targets", "arguments": {"format": "pptx", "detail": "full"}}});
        writeln!(stdin, "{call}").unwrap();
    }
    // Its pipe is full by then.
    std::thread::sleep(Duration::from_millis(1000));
    (child, stdin)
}

fn ends_within(child: &mut std::process::Child, limit: Duration) -> std::process::ExitStatus {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if begun.elapsed() > limit {
            child.kill().unwrap();
            panic!("it did not end within {limit:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// All is drained but the answers, which nobody takes.
#[test]
fn second_signal_ends_at_once_when_the_client_does_not_read() {
    let (mut child, _stdin) = deaf_client(&mut crate::wire::binary());
    for _ in 0..2 {
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        std::thread::sleep(Duration::from_millis(500));
    }
    assert!(!ends_within(&mut child, Duration::from_secs(3)).success());
}

#[test]
fn drain_is_bounded_when_the_client_does_not_read() {
    let (mut child, stdin) =
        deaf_client(crate::wire::binary().env("DECKPROBE_MCP_DRAIN_MS", "500"));
    drop(stdin);
    // The drain time and two seconds for the last words, not the SDK's five on top.
    assert!(ends_within(&mut child, Duration::from_millis(5500)).success());
}

/// A client that dies closes both its ends: nobody waits for what it asked for.
#[test]
fn calls_of_a_dead_client_are_cancelled() {
    use std::io::{BufRead, Write};
    let chaos = Chaos::new();
    let piped = std::process::Stdio::piped;
    let mut command = chaos.command();
    let mut child = command.stdin(piped()).stdout(piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    let hello = json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params":
        {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "d", "version": "1"}}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params":
        {"name": "probe", "arguments": chaos.probe("spin")}});
    writeln!(stdin, "{hello}\n{call}").unwrap();
    stdout.read_line(&mut String::new()).unwrap();
    eventually("the engine is busy", || chaos.living() == 1);
    drop((stdin, stdout));
    assert!(ends_within(&mut child, Duration::from_secs(4)).success());
    chaos.wait_for(0);
}

#[test]
fn busy_child_dies_with_a_killed_server() {
    let chaos = Chaos::new();
    let mut server = warm(&mut chaos.command(), &chaos);
    server.ask_tool("probe", chaos.probe("spin"));
    until_busy(|| server.pool());
    signal(&server, Signal::KILL);
    server.wait();
    chaos.wait_for(0);
}

#[test]
fn drain_after_end_of_input_ends_on_time() {
    let chaos = Chaos::new();
    let mut server = warm(chaos.command().env("DECKPROBE_MCP_DRAIN_MS", "600"), &chaos);
    let hung = server.ask_tool("probe", chaos.probe("silent"));
    until_busy(|| server.pool());
    let waiting = server.ask_tool("probe", chaos.probe("reply"));
    server.close_stdin();
    for id in [hung, waiting] {
        let answer = server.answer(id);
        assert_eq!(
            answer["result"]["structuredContent"]["error"]["code"], "MCP_SHUTTING_DOWN",
            "{answer}"
        );
    }
    assert!(server.wait().success());
    chaos.wait_for(0);
}

/// Longer than the five seconds that the SDK's own drain has.
#[test]
fn long_call_is_answered_after_the_end_of_input() {
    let chaos = Chaos::new();
    let mut server = warm(&mut chaos.command(), &chaos);
    let id = server.ask(
        "tools/call",
        json!({"name": "probe_batch",
        "arguments": {"paths": [chaos.path("wait:3200~1"), chaos.path("wait:3200~2")]},
        "_meta": {"progressToken": "p"}}),
    );
    until_busy(|| server.pool());
    server.close_stdin();
    let reports = server.answer(id)["result"]["structuredContent"]["reports"].clone();
    assert_eq!(
        reports[1]["report"]["input"]["display_name"],
        "wait:3200~2.pdf"
    );
    let progress = server
        .seen
        .iter()
        .filter(|line| line["method"].is_string())
        .count();
    assert!(progress >= 1, "progress flows on after the end of input");
    assert!(server.wait().success());
    chaos.wait_for(0);
}

#[test]
fn http_client_that_disconnects_cancels_its_call() {
    use std::io::Write;
    let chaos = Chaos::new();
    let server = HttpServer::start(chaos.command().env("DECKPROBE_MCP_TIMEOUT_MS", "60000"));
    server.send(&Request::tool("probe", chaos.probe("reply")));
    let call = json!({"name": "probe", "arguments": chaos.probe("silent")});
    for request in [
        Request::rpc("tools/call", call.clone()),
        Request::modern("tools/call", call),
    ] {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let request = request.with("Connection", "keep-alive");
        stream.write_all(&request.bytes()).unwrap();
        until_busy(|| server.pool());
        drop(stream);
        chaos.wait_for(0);
    }
    let next = server.call(
        "tools/call",
        json!({"name": "probe", "arguments": chaos.probe("reply")}),
    );
    assert_eq!(
        next["result"]["structuredContent"]["input"]["display_name"],
        "reply.pdf"
    );
}

#[test]
fn http_progress_is_an_event_stream() {
    let chaos = Chaos::new();
    let server = HttpServer::start(&mut chaos.command());
    let paths: Vec<String> = (0..5)
        .map(|at| chaos.path(&format!("wait:150~{at}")))
        .collect();
    let params = json!({"name": "probe_batch", "arguments": {"paths": paths},
        "_meta": {"progressToken": "p"}});
    let response = server.send(&Request::modern("tools/call", params));
    assert!(
        response
            .head
            .to_ascii_lowercase()
            .contains("text/event-stream"),
        "{response:?}"
    );
    let events: Vec<Value> = response
        .events()
        .iter()
        .map(|event| serde_json::from_str(event).unwrap())
        .collect();
    let (reply, notes) = events.split_last().unwrap();
    assert!(notes.len() >= 2, "{events:?}");
    assert!(
        notes
            .iter()
            .all(|note| note["method"] == "notifications/progress")
    );
    let reports = &reply["result"]["structuredContent"]["reports"];
    assert_eq!(reports.as_array().unwrap().len(), 5);
}

#[test]
fn http_calls_in_flight_finish_after_a_signal() {
    let chaos = Chaos::new();
    let mut server = HttpServer::start(&mut chaos.command());
    server.send(&Request::tool("probe", chaos.probe("reply")));
    let address = server.address;
    let request = Request::tool("probe", chaos.probe("wait:2000"));
    let running = std::thread::spawn(move || crate::http::exchange(address, &request.bytes()));
    until_busy(|| server.pool());
    kill_process(Pid::from_child(&server.child), Signal::TERM).unwrap();
    let answer = running.join().unwrap().json();
    assert_eq!(
        answer["result"]["structuredContent"]["input"]["display_name"], "wait:2000.pdf",
        "{answer}"
    );
    assert!(server.child.wait().unwrap().success());
    chaos.wait_for(0);
}

/// Discovery never changes for one engine: the first answer is kept, and later ones need no worker.
#[test]
fn introspection_is_cached_and_needs_no_worker() {
    let chaos = Chaos::new();
    let mut server = warm(&mut chaos.command(), &chaos);
    let formats = server.tool("list_formats", json!({}));
    let targets = server.tool("list_targets", json!({"format": "pdf", "detail": "full"}));
    let schema = server.request("resources/read", json!({"uri": "deckprobe://schema"}));
    let hung = server.ask_tool("probe", chaos.probe("silent"));
    eventually("the only worker is busy", || chaos.living() == 1);
    assert_eq!(server.tool("list_formats", json!({})), formats);
    let again = server.tool("list_targets", json!({"format": "pdf", "detail": "full"}));
    assert_eq!(again, targets);
    let again = server.request("resources/read", json!({"uri": "deckprobe://schema"}));
    assert_eq!(again["result"], schema["result"]);
    assert_eq!(chaos.living(), 1, "nothing was started for it");
    assert!(!server.seen.iter().any(|line| line["id"] == hung));
    server.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": hung}}),
    );
    server.finish();
}

/// The pool as a resource, while it works.
#[test]
fn pool_resource_is_live_and_needs_no_worker() {
    let chaos = Chaos::new();
    let mut server = warm(&mut chaos.command(), &chaos);
    let hung = server.ask_tool("probe", chaos.probe("silent"));
    let read = server.request("resources/read", json!({"uri": "deckprobe://pool"}));
    let text = read["result"]["contents"][0]["text"].as_str().unwrap();
    let pool: Value = serde_json::from_str(text).unwrap();
    for member in [
        "engine",
        "workers",
        "profiles",
        "queue",
        "outcomes",
        "recycles",
        "record_latency",
    ] {
        assert!(!pool[member].is_null(), "{member}: {pool}");
    }
    assert_eq!(pool["workers"].as_array().unwrap().len(), 1);
    server.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": hung}}),
    );
    server.finish();
}
