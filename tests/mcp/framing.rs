//! Lines that are no requests, and requests that come in strange ways.

use std::time::Duration;

use serde_json::json;

use crate::wire::{Server, binary};

#[test]
fn malformed_line_gets_an_error_and_the_server_goes_on() {
    let mut server = Server::default();
    let cases: [(&[u8], i64, serde_json::Value); 11] = [
        (b"hello\n", -32700, json!(null)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1\n", -32700, json!(null)),
        (b"\xff\xfe\n", -32700, json!(null)),
        (b"42\n", -32600, json!(null)),
        (b"[]\n", -32600, json!(null)),
        (b"[1]\n", -32600, json!(null)),
        (
            b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]\n",
            -32600,
            json!(null),
        ),
        (b"{}\n", -32600, json!(null)),
        (
            b"{\"jsonrpc\":\"1.0\",\"id\":77,\"method\":\"ping\"}\n",
            -32600,
            json!(77),
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}\n",
            -32600,
            json!(null),
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{},\"error\":{}}\n",
            -32600,
            json!("x"),
        ),
    ];
    for (bytes, code, id) in cases {
        server.send_raw(bytes);
        let answer = server.line();
        let shown = String::from_utf8_lossy(bytes);
        assert_eq!(answer["error"]["code"], code, "{shown} gave {answer}");
        assert_eq!(answer["id"], id, "{shown} gave {answer}");
    }
    server.send_raw(b"\n   \n\r\n");
    assert!(server.request("ping", json!({}))["result"].is_object());
    server.finish();
}

#[test]
fn oversized_line_is_answered_under_its_own_id() {
    let mut server = Server::default();
    let filler = "x".repeat(5 * 1024 * 1024);
    for line in [
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":501,\"method\":\"ping\",\"params\":{{\"a\":\"{filler}\"}}}}\n"
        ),
        format!(
            "{{\"method\":\"ping\",\"params\":{{\"id\":1,\"a\":\"{filler}\"}},\"jsonrpc\":\"2.0\",\"id\":501}}\n"
        ),
    ] {
        server.send_raw(line.as_bytes());
        let answer = server.line();
        assert_eq!(answer["id"], 501);
        assert_eq!(answer["error"]["code"], -32600);
        assert!(
            answer["error"]["message"]
                .as_str()
                .unwrap()
                .contains("bytes")
        );
    }
    assert!(server.request("ping", json!({}))["result"].is_object());
    server.finish();
}

#[test]
fn notification_before_the_handshake_does_not_end_the_server() {
    let mut server = Server::start(&mut binary());
    server.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 1}}),
    );
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/unheard-of"}));
    server.send(&json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    assert!(server.request("ping", json!({}))["result"].is_object());
    assert_eq!(
        server.initialize("2025-11-25")["protocolVersion"],
        "2025-11-25"
    );
    server.finish();
}

#[test]
fn duplicate_id_is_refused_and_the_first_request_is_still_answered() {
    let mut server = Server::open(binary().env("DECKPROBE_MCP_PREWARM", "0"));
    let request = json!({"jsonrpc": "2.0", "id": "same", "method": "tools/call",
        "params": {"name": "list_formats", "arguments": {}}});
    server.send_raw(format!("{request}\n{request}\n").as_bytes());
    let (first, second) = (server.line(), server.line());
    let refused = if first["error"].is_object() {
        &first
    } else {
        &second
    };
    assert_eq!(refused["error"]["code"], -32600);
    assert!(refused["id"].is_null(), "it would be taken for the answer");
    let answered = if first["error"].is_object() {
        &second
    } else {
        &first
    };
    assert_eq!(answered["id"], "same");
    assert!(answered["result"].is_object());
    server.finish();
}

#[test]
fn cancelling_an_unknown_or_finished_request_is_ignored() {
    let mut server = Server::default();
    let done = server.ask("ping", json!({}));
    server.answer(done);
    for id in [
        json!(done),
        json!(done),
        json!(4711),
        json!("4711"),
        json!(null),
        json!({}),
    ] {
        server.send(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": id}}),
        );
    }
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled"}));
    assert!(server.request("ping", json!({}))["result"].is_object());
    assert!(server.is_silent_for(Duration::from_millis(50)));
    server.finish();
}
