//! Who gets in over HTTP: the exchanges that a person would try with `curl`.

use serde_json::{Value, json};

use crate::http::{HttpServer, Request, eventually};
use crate::wire::{Desk, binary};

const TOKEN: &str = "a-token-of-some-length-0123456789";

fn list() -> Request {
    Request::rpc("tools/list", json!({}))
}

#[test]
fn without_the_token_only_health_answers() {
    let server = HttpServer::start(binary().env("DECKPROBE_MCP_HTTP_TOKEN", TOKEN));
    let bearer = format!("Bearer {TOKEN}");
    let wrong = format!("Bearer {}x", &TOKEN[1..]);
    for (name, credentials, status) in [
        ("none", None, 401),
        ("wrong", Some(wrong.as_str()), 401),
        ("prefix", Some(&bearer[..20]), 401),
        ("longer", Some(&format!("{bearer}x")), 401),
        ("basic", Some("Basic YTpi"), 401),
        ("empty", Some("Bearer "), 401),
        ("no scheme", Some(TOKEN), 401),
        ("right", Some(&bearer), 200),
        ("right, other case", Some(&format!("bEaReR {TOKEN}")), 200),
    ] {
        for request in [list(), Request::get("/metrics")] {
            let request = match credentials {
                Some(credentials) => request.with("Authorization", credentials),
                None => request,
            };
            let response = server.send(&request);
            assert_eq!(response.status, status, "{name}: {response:?}");
            if status == 401 {
                let head = response.head.to_ascii_lowercase();
                assert!(head.contains("www-authenticate: bearer"), "{name}");
                assert!(!response.body.contains("tools"), "{name}");
            }
        }
    }
    let mut twice = list().with("Authorization", &bearer);
    twice.headers.push(("Authorization".into(), bearer));
    assert_eq!(server.send(&twice).status, 401);
    assert_eq!(server.send(&Request::get("/healthz")).status, 200);
    assert_eq!(server.send(&Request::get("/nothing")).status, 404);
}

#[test]
fn token_file_works_like_a_token() {
    let desk = Desk::new();
    let file = desk.put("token", format!("{TOKEN}\n").as_bytes());
    let server = HttpServer::start(binary().env("DECKPROBE_MCP_HTTP_TOKEN_FILE", file));
    assert_eq!(server.send(&list()).status, 401);
    let request = list().with("Authorization", &format!("Bearer {TOKEN}"));
    assert_eq!(server.send(&request).status, 200);
}

#[test]
fn foreign_origins_and_hosts_are_refused() {
    let server = HttpServer::start(binary().env(
        "DECKPROBE_MCP_HTTP_ORIGINS",
        "https://app.example:443, http://localhost:*",
    ));
    for (header, value, status) in [
        ("Origin", "https://evil.example", 403),
        ("Origin", "null", 403),
        ("Origin", "http://app.example", 403),
        ("Origin", "https://app.example", 200),
        ("Origin", "http://localhost:5173", 200),
        ("Host", "evil.example", 403),
        ("Host", "localhost.evil.example", 403),
        ("Host", "localhost:3930", 200),
        ("Host", "127.0.0.1", 200),
        ("Host", "[::1]:80", 200),
    ] {
        let response = server.send(&list().with(header, value));
        assert_eq!(response.status, status, "{header}: {value}: {response:?}");
    }
    // Without a list, no page may call at all.
    let closed = HttpServer::start(&mut binary());
    let page = list().with("Origin", "http://localhost:5173");
    assert_eq!(closed.send(&page).status, 403);
    let own = format!("http://127.0.0.1:{}", closed.address.port());
    assert_eq!(closed.send(&list().with("Origin", &own)).status, 200);
    assert_eq!(closed.send(&list()).status, 200);
}

#[test]
fn binding_beyond_loopback_needs_token_and_hosts() {
    let desk = Desk::new();
    let root = desk.root();
    let base = || {
        let mut command = binary();
        command.args(["serve", "--http", "0.0.0.0:0"]);
        command
    };
    let said = |command: &mut std::process::Command| {
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let all = said(&mut base());
    for part in [
        "DECKPROBE_MCP_ROOTS",
        "whole disk",
        "DECKPROBE_MCP_HTTP_TOKEN",
        "HTTP_HOSTS",
    ] {
        assert!(all.contains(part), "{part} is not in {all}");
    }
    let no_root = said(
        base()
            .env("DECKPROBE_MCP_HTTP_TOKEN", TOKEN)
            .env("DECKPROBE_MCP_HTTP_HOSTS", "*"),
    );
    assert!(
        no_root.contains("whole disk") && !no_root.contains("TOKEN"),
        "{no_root}"
    );
    assert!(!said(base().env("DECKPROBE_MCP_HTTP_TOKEN", "hunter2")).contains("hunter2"));

    let mut settled = binary();
    settled
        .env("DECKPROBE_MCP_HTTP_TOKEN", TOKEN)
        .env("DECKPROBE_MCP_HTTP_HOSTS", "probe.example")
        .env("DECKPROBE_MCP_ROOTS", &root);
    let mut server = HttpServer::start_at(&mut settled, "0.0.0.0:0");
    server.address.set_ip([127, 0, 0, 1].into());
    let request = Request::tool("probe", json!({"path": desk.path("good.docx")}))
        .with("Authorization", &format!("Bearer {TOKEN}"));
    assert_eq!(
        server.send(&request).status,
        403,
        "its name is not localhost"
    );
    let answer = server.send(&request.with("Host", "probe.example")).json();
    assert_ne!(answer["result"]["isError"], true, "{answer}");
}

/// Every sample belongs to a metric with a description.
fn assert_described(exposition: &str) {
    let mut described = "";
    for line in exposition.lines().filter(|line| !line.is_empty()) {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, text) = help.split_once(' ').expect("a description");
            assert!(!text.is_empty(), "{line}");
            described = name;
        } else if !line.starts_with('#') {
            assert!(
                line.starts_with(described) && !described.is_empty(),
                "{line}"
            );
        }
    }
}

#[test]
fn health_readiness_and_metrics_answer_beside_the_protocol() {
    let desk = Desk::new();
    let server = HttpServer::start(&mut binary());
    assert_eq!(server.send(&Request::get("/healthz")).body, "ok\n");
    eventually("it gets ready", || {
        server.send(&Request::get("/readyz")).status == 200
    });
    server.call(
        "tools/call",
        json!({"name": "probe", "arguments": {"path": desk.path("good.docx")}}),
    );
    server.call(
        "tools/call",
        json!({"name": "probe", "arguments": {"path": 5}}),
    );
    let metrics = server.send(&Request::get("/metrics"));
    for line in [
        r#"deckprobe_mcp_tool_calls_total{tool="probe",outcome="ok"} 1"#,
        r#"deckprobe_mcp_tool_calls_total{tool="probe",outcome="error"} 1"#,
        r#"deckprobe_mcp_tool_call_seconds_count{tool="probe"} 2"#,
    ] {
        assert!(
            metrics.body.contains(line),
            "{line} is not in {}",
            metrics.body
        );
    }
    assert!(!metrics.body.contains("good.docx"), "labels are finite");
    assert_described(&metrics.body);

    let broken = HttpServer::start(
        binary()
            .env("DECKPROBE_MCP_ENGINE", "external")
            .env("DECKPROBE_MCP_BIN", "/no/such/engine"),
    );
    assert_eq!(
        broken.send(&Request::get("/healthz")).status,
        200,
        "it lives"
    );
    eventually("it is not ready", || {
        let ready = broken.send(&Request::get("/readyz"));
        ready.status == 503 && !ready.body.contains("/no/such/engine")
    });
}

/// What is counted up at the start, before anybody asked, is counted down again.
#[test]
fn gauges_return_to_zero_when_idle() {
    for _ in 0..5 {
        let server = HttpServer::start(binary().env("DECKPROBE_MCP_PREWARM", "4"));
        let metrics = || server.send(&Request::get("/metrics")).body;
        eventually("four children are started", || {
            metrics().contains("deckprobe_starts_total{result=\"ok\"} 4")
        });
        eventually("no permit is in use", || {
            metrics().contains("\ndeckprobe_permits_in_use 0\n")
        });
        assert!(
            metrics().contains("\ndeckprobe_children 4\n"),
            "{}",
            metrics()
        );
    }
}

#[test]
fn inline_document_is_probed() {
    use base64::Engine as _;
    let base64 = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
    let server = HttpServer::start(binary().env("DECKPROBE_MCP_MAX_INLINE_BYTES", "100000"));
    let call = |arguments: Value| {
        let answer = server.call(
            "tools/call",
            json!({"name": "probe", "arguments": arguments}),
        );
        answer["result"].clone()
    };
    let document = base64(&crate::common::documents::docx("Inline"));
    let good = call(json!({"name": "a.docx", "data_base64": document, "targets": ["@header"]}));
    let report = &good["structuredContent"];
    assert_eq!(report["input"]["display_name"], "a.docx");
    assert_eq!(report["input"]["source_kind"], "jsonl_bytes");
    for (arguments, code, part) in [
        (json!({}), "MCP_INVALID_ARGUMENT", "path is missing"),
        (
            json!({"name": "a.docx"}),
            "MCP_INVALID_ARGUMENT",
            "data_base64 is missing",
        ),
        (
            json!({"data_base64": document}),
            "MCP_INVALID_ARGUMENT",
            "name is missing",
        ),
        (
            json!({"path": "a", "name": "a.docx", "data_base64": document}),
            "MCP_INVALID_ARGUMENT",
            "not both",
        ),
        (
            json!({"name": "../a.docx", "data_base64": document}),
            "MCP_INVALID_ARGUMENT",
            "name:",
        ),
        (
            json!({"name": "a.docx", "data_base64": "AAA"}),
            "MCP_INVALID_ARGUMENT",
            "base64",
        ),
        (
            json!({"name": "a.docx", "data_base64": "A A="}),
            "MCP_INVALID_ARGUMENT",
            "base64",
        ),
        (
            json!({"name": "a.docx", "data_base64": base64(&vec![0; 100_001])}),
            "MCP_INVALID_ARGUMENT",
            "DECKPROBE_MCP_MAX_INLINE_BYTES",
        ),
        (
            json!({"name": "a.docx", "data_base64": document, "budget": {"max_physical_bytes": 10}}),
            "BUDGET_EXCEEDED",
            "max_physical_bytes is 10",
        ),
        (
            json!({"name": "a.docx", "data_base64": "AAAA"}),
            "MALFORMED_INPUT",
            "",
        ),
    ] {
        let result = call(arguments);
        let error = &result["structuredContent"]["error"];
        assert_eq!(error["code"], code, "{result}");
        assert!(
            error["message"].as_str().unwrap().contains(part),
            "{result}"
        );
    }
    let properties =
        server.call("tools/list", json!({}))["result"]["tools"][0]["inputSchema"]["properties"]
            .clone();
    assert!(properties["data_base64"].is_object() && properties["name"].is_object());
}

#[cfg(unix)]
#[test]
fn requests_in_flight_finish_after_a_signal() {
    use rustix::process::{Pid, Signal, kill_process};
    let mut server = HttpServer::start(&mut binary());
    kill_process(Pid::from_child(&server.child), Signal::TERM).unwrap();
    let status = server.child.wait().unwrap();
    assert!(status.success(), "{status}");
}
