//! The edges of both transports: limits, half-open clients, malformed requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::chaos::Chaos;
use crate::http::{HttpServer, Request, eventually, exchange, until_busy};
use crate::wire::{Server, binary};

/// More calls than run at once, none of which ends.
fn overfull(chaos: &Chaos) -> (Server, Vec<i64>) {
    let mut server = Server::open(chaos.command().env("DECKPROBE_MCP_DRAIN_MS", "300"));
    server.tool("probe", chaos.probe("reply~first"));
    let document = chaos.probe("silent~x");
    let ids = (0..1100)
        .map(|_| server.ask_tool("probe", document.clone()))
        .collect();
    (server, ids)
}

#[test]
fn pings_and_cancels_are_heard_while_calls_wait_for_their_turn() {
    let chaos = Chaos::new();
    let (mut server, ids) = overfull(&chaos);
    assert!(server.request("ping", json!({}))["result"].is_object());
    for id in &ids {
        let params = json!({"requestId": id});
        server.send(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}),
        );
    }
    let result = server.tool("probe", chaos.probe("reply~last"));
    assert_ne!(result["isError"], true, "{result}");
    let answered =
        |line: &serde_json::Value| line["id"].as_i64().is_some_and(|id| ids.contains(&id));
    assert!(
        !server.seen.iter().any(answered),
        "cancelled means no reply"
    );
    server.finish();
}

#[test]
fn end_of_input_is_seen_while_calls_wait_for_their_turn() {
    let chaos = Chaos::new();
    let (mut server, _) = overfull(&chaos);
    server.close_stdin();
    assert!(server.wait().success());
    chaos.wait_for(0);
}

#[test]
fn sighup_finishes_the_running_call() {
    let chaos = Chaos::new();
    let mut server = Server::open(&mut chaos.command());
    server.tool("probe", chaos.probe("reply~first"));
    let id = server.ask_tool("probe", chaos.probe("wait:800~x"));
    until_busy(|| server.pool());
    kill_process(Pid::from_child(&server.child), Signal::HUP).unwrap();
    let answer = server.answer(id);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert!(server.wait().success());
    chaos.wait_for(0);
}

#[test]
fn byte_order_mark_before_the_first_message_is_skipped() {
    let mut server = Server::start(&mut binary());
    server.send_raw(b"\xEF\xBB\xBF");
    assert_eq!(
        server.initialize("2025-11-25")["serverInfo"]["name"],
        "deckprobe"
    );
    server.finish();
}

/// A client that closes its ends in the middle of many calls is no error of the server.
#[test]
fn client_that_leaves_causes_no_error_in_the_log() {
    let chaos = Chaos::new();
    let mut child = chaos
        .command()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let hello = json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params":
        {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "l", "version": "1"}}});
    writeln!(stdin, "{hello}").unwrap();
    let mut first = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut first).unwrap();
    for id in 0..20 {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params":
            {"name": "probe", "arguments": chaos.probe(&format!("wait:50~{id}"))}});
        writeln!(stdin, "{call}").unwrap();
    }
    drop(stdout);
    let mut log = String::new();
    let mut stderr = child.stderr.take().unwrap();
    drop(stdin);
    stderr.read_to_string(&mut log).unwrap();
    child.wait().unwrap();
    assert!(!log.contains("ERROR"), "{log}");
}

/// The answer of a call with progress begins at once, and its place is not given back with it.
#[test]
fn http_place_is_held_until_the_last_byte_of_a_stream() {
    let chaos = Chaos::new();
    let server = HttpServer::start(chaos.command().env("DECKPROBE_MCP_HTTP_MAX_REQUESTS", "2"));
    let call = |verbs: &str| {
        Request::rpc(
            "tools/call",
            json!({"name": "probe", "arguments": chaos.probe(verbs), "_meta": {"progressToken": "p"}}),
        )
    };
    let streams: Vec<TcpStream> = ["silent~a", "silent~b"]
        .map(|verbs| {
            let mut stream = TcpStream::connect(server.address).unwrap();
            stream
                .set_read_timeout(Some(Duration::from_secs(20)))
                .unwrap();
            stream.write_all(&call(verbs).bytes()).unwrap();
            // The head of the stream: the call waits behind it.
            let mut head = [0; 12];
            stream.read_exact(&mut head).unwrap();
            assert_eq!(&head, b"HTTP/1.1 200");
            stream
        })
        .into();
    let refused = server.send(&Request::rpc("ping", json!({})));
    assert_eq!(refused.status, 503, "{refused:?}");
    drop(streams);
    eventually("the places are free again", || {
        server.send(&Request::rpc("ping", json!({}))).status == 200
    });
}

#[test]
fn health_and_calls_get_through_a_crowd_of_silent_connections() {
    let server = HttpServer::start(binary().env("DECKPROBE_MCP_HTTP_MAX_REQUESTS", "4"));
    let silent: Vec<TcpStream> = (0..200)
        .map(|_| TcpStream::connect(server.address).unwrap())
        .collect();
    assert_eq!(server.send(&Request::get("/healthz")).status, 200);
    assert_eq!(server.send(&Request::rpc("ping", json!({}))).status, 200);
    drop(silent);
}

#[test]
fn malformed_http_requests_are_400() {
    let server = HttpServer::start(&mut binary());
    let post = |extra: &str, body: &str| {
        format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nConnection: close\r\n{extra}\r\n{body}"
        )
    };
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}}).to_string();
    let length = format!("Content-Length: {}\r\n", body.len());
    for (name, request) in [
        (
            "truncated JSON",
            post("Content-Length: 9\r\n", "{\"jsonrpc"),
        ),
        (
            "malformed chunk",
            post("Transfer-Encoding: chunked\r\n", "zz\r\n{}\r\n0\r\n\r\n"),
        ),
        (
            "two hosts",
            post(&format!("Host: localhost\r\n{length}"), &body),
        ),
        (
            "two origins",
            post(&format!("Origin: null\r\nOrigin: null\r\n{length}"), &body),
        ),
        (
            "user in the host",
            post(&length, &body).replace("Host: localhost", "Host: localhost@evil.example"),
        ),
    ] {
        let answer = exchange(server.address, request.as_bytes());
        assert_eq!(answer.status, 400, "{name}: {answer:?}");
    }
    for accept in ["*/*", "application/json, */*;q=0.1"] {
        let answer = server.send(&Request::rpc("ping", json!({})).with("Accept", accept));
        assert_eq!(answer.status, 200, "{accept}: {answer:?}");
    }
}
