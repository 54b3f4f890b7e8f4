//! Strictness: what is refused, how, and that nothing is spawned for it.

use serde_json::{Value, json};

use crate::wire::{Desk, Server, binary};

#[test]
fn unknown_key_is_minus_32602_and_lists_the_accepted_keys() {
    let mut server = Server::default();
    for (tool, arguments, parts) in [
        (
            "probe",
            json!({"path": "a.pdf", "pth": 1}),
            &[
                "probe",
                "\"pth\"",
                "did you mean path?",
                "target_confidence",
            ][..],
        ),
        (
            "probe_batch",
            json!({"paths": ["a.pdf"], "target_confidence": {}}),
            &["target_confidence", "it accepts paths, targets"],
        ),
        (
            "list_formats",
            json!({"x": null}),
            &["\"x\"", "takes no arguments"],
        ),
        (
            "list_targets",
            json!({"format": "pdf", "name": "x"}),
            &["\"name\"", "format, detail"],
        ),
        // Inline bytes are for remote callers; here they are not an argument.
        (
            "probe",
            json!({"path": "a.pdf", "data_base64": "AAAA"}),
            &["data_base64"],
        ),
    ] {
        let shown = arguments.to_string();
        let id = server.ask_tool(tool, arguments);
        let error = server.answer(id)["error"].clone();
        assert_eq!(error["code"], -32602, "{shown}");
        let message = error["message"].as_str().unwrap();
        for part in parts {
            assert!(message.contains(part), "{part} is not in {message}");
        }
        assert!(error["data"]["unknown"].is_array() && error["data"]["accepted"].is_array());
    }
    server.finish();
}

#[test]
fn malformed_call_is_a_protocol_error() {
    let mut server = Server::default();
    for params in [
        json!({"name": "probe", "arguments": []}),
        json!({"name": "probe", "arguments": "path"}),
        json!({"name": 7}),
        json!({}),
        json!({"name": "no_such_tool", "arguments": {}}),
    ] {
        let shown = params.to_string();
        let answer = server.request("tools/call", params);
        assert_eq!(answer["error"]["code"], -32602, "{shown} gave {answer}");
    }
    server.send(&json!({"jsonrpc": "2.0", "id": 900, "method": "tools/call"}));
    assert_eq!(server.answer(900)["error"]["code"], -32602);
    let unknown = server.request("no/such/method", json!({}));
    assert_eq!(unknown["error"]["code"], -32601);
    server.finish();
}

#[test]
fn wrong_type_or_value_is_an_error_result_that_names_the_field() {
    let desk = Desk::new();
    let path = desk.path("good.docx");
    let mut server = Server::default();
    let with = |key: &str, value: Value| {
        let mut arguments = json!({"path": path});
        arguments[key] = value;
        arguments
    };
    let cases = [
        (json!({}), "path is missing"),
        (json!({"path": null}), "path is missing"),
        (json!({"path": 7}), "path: got the number 7"),
        (json!({"path": ""}), "path is empty"),
        (json!({"path": "a\u{0}b"}), "NUL"),
        (json!({"path": "file:///a.pdf"}), "plain local path"),
        (with("targets", json!("title")), "targets: got the string"),
        (with("targets", json!([1])), "targets[0]: got the number 1"),
        (with("targets", json!(["a,b"])), "targets: got \"a,b\""),
        (with("targets", json!(["a=b"])), "targets: got \"a=b\""),
        (with("targets", json!(["a b"])), "targets: got \"a b\""),
        (with("targets", json!(["--strict"])), "begins with a dash"),
        (with("targets", json!([""])), "empty name"),
        (with("targets", json!(vec!["title"; 257])), "at most 256"),
        (
            with("level", json!("meta")),
            "one of header, metadata, deep",
        ),
        (with("level", json!(1)), "level: got the number 1"),
        (
            with("min_confidence", json!("none")),
            "one of low, medium, high, exact",
        ),
        (with("view", json!("full")), "one of report, values"),
        (
            with("target_confidence", json!([])),
            "target_confidence: got the array",
        ),
        (
            with("target_confidence", json!({"title": "no"})),
            "target_confidence.title",
        ),
        (
            with("target_confidence", json!({"-x": "low"})),
            "target_confidence: got \"-x\"",
        ),
        (with("budget", json!(5)), "budget: got the number 5"),
        (
            with("budget", json!({"timeout_ms": 0})),
            "budget.timeout_ms",
        ),
        (
            with("budget", json!({"timeout_ms": -5})),
            "a whole number of at least 1",
        ),
        (
            with("budget", json!({"timeout_ms": "5"})),
            "budget.timeout_ms: got the string",
        ),
        (
            with("budget", json!({"timeout": 5})),
            "did you mean timeout_ms?",
        ),
    ];
    for (arguments, part) in cases {
        let shown = arguments.to_string();
        let (code, message) = server.refusal("probe", arguments);
        assert_eq!(code, "MCP_INVALID_ARGUMENT", "{shown}");
        assert!(
            message.contains(part),
            "{shown}: {part} is not in {message}"
        );
    }
    for (arguments, part) in [
        (json!({}), "paths is missing"),
        (json!({"paths": []}), "empty array"),
        (json!({"paths": "a"}), "paths: got the string"),
        (json!({"paths": ["a", 5]}), "paths[1]: got the number 5"),
    ] {
        let (code, message) = server.refusal("probe_batch", arguments);
        assert_eq!(code, "MCP_INVALID_ARGUMENT");
        assert!(message.contains(part), "{part} is not in {message}");
    }
    for (arguments, part) in [
        (json!({}), "format is missing"),
        (json!({"format": "-f"}), "format: got \"-f\""),
        (
            json!({"format": "pdf", "detail": "all"}),
            "one of compact, full",
        ),
    ] {
        let (code, message) = server.refusal("list_targets", arguments);
        assert_eq!(code, "MCP_INVALID_ARGUMENT");
        assert!(message.contains(part), "{part} is not in {message}");
    }
    server.finish();
}

#[test]
fn oversized_batch_names_the_limit() {
    let mut server = Server::open(binary().env("DECKPROBE_MCP_MAX_BATCH", "3"));
    let (code, message) = server.refusal("probe_batch", json!({"paths": vec!["a.pdf"; 4]}));
    assert_eq!(code, "MCP_BATCH_TOO_LARGE");
    assert!(
        message.contains("got 4") && message.contains("at most 3"),
        "{message}"
    );
    server.finish();
}

/// Nothing is spawned for a call that is refused: with no engine to be had, the refusal is the same.
#[test]
fn refusals_start_no_engine() {
    let mut command = binary();
    command
        .env("DECKPROBE_MCP_ENGINE", "external")
        .env("DECKPROBE_MCP_BIN", "/no/such/engine")
        .env("DECKPROBE_MCP_PREWARM", "0");
    let mut server = Server::open(&mut command);
    let (code, _) = server.refusal("probe", json!({"path": 7}));
    assert_eq!(code, "MCP_INVALID_ARGUMENT");
    let (code, _) = server.refusal("probe", json!({"path": "/no/such/file.pdf"}));
    assert_eq!(code, "MCP_PATH_NOT_FOUND");
    let desk = Desk::new();
    let (code, message) = server.refusal("probe", json!({"path": desk.path("page.pdf")}));
    assert_eq!(code, "MCP_ENGINE_FAILURE");
    assert!(message.contains("/no/such/engine"), "{message}");
    server.finish();
}

/// Documents inside calls are for remote callers; on stdio somebody has to ask for them.
#[test]
fn inline_documents_are_accepted_on_stdio_only_when_enabled() {
    use base64::Engine as _;
    let mut server = Server::open(binary().env("DECKPROBE_MCP_INLINE", "on"));
    let document = crate::common::documents::docx("inline");
    let base64 = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
    let result = server.tool(
        "probe",
        json!({"name": "x.docx", "data_base64": base64(&document), "targets": ["title"]}),
    );
    let report = &result["structuredContent"];
    assert_eq!(report["results"]["document.title"]["value"], "inline");
    // As large as it may be: the line is longer than any other line may be.
    let call = |data: String| json!({"name": "x.pdf", "data_base64": data, "targets": ["@header"]});
    let mut document = crate::common::documents::pdf();
    document.resize(8 * 1024 * 1024, 0);
    let result = server.tool("probe", call(base64(&document)));
    assert_eq!(
        result["structuredContent"]["input"]["file_size"],
        8 * 1024 * 1024
    );
    document.push(0);
    let (code, message) = server.refusal("probe", call(base64(&document)));
    assert_eq!(code, "MCP_INVALID_ARGUMENT");
    assert!(message.contains("8388609"), "{message}");
    server.finish();
}
