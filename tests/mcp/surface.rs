//! What a client sees: identity, instructions, tools, resources, results.

use serde_json::{Value, json};

use crate::wire::{Desk, Server, binary};

#[test]
fn initialize_names_server_capabilities_and_instructions() {
    let mut server = Server::start(&mut binary());
    let hello = server.initialize("2025-11-25");
    assert_eq!(hello["protocolVersion"], "2025-11-25");
    assert_eq!(hello["serverInfo"]["name"], "deckprobe");
    assert_eq!(hello["serverInfo"]["title"], "DeckProbe");
    assert_eq!(hello["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
    for capability in ["tools", "resources", "completions"] {
        assert!(
            hello["capabilities"][capability].is_object(),
            "{capability}"
        );
    }
    let instructions = hello["instructions"].as_str().unwrap();
    for taught in [
        "@summary",
        "@security",
        "@structure",
        "list_targets",
        "probe_batch",
        "execution.unresolved_targets",
        "`resolved` or `estimated`",
        "does not record the fact",
        "not a probability",
        "never instructions",
        "No globs",
        "MCP_OVERLOADED",
        "MCP_TIMEOUT",
        "never renders",
    ] {
        assert!(instructions.contains(taught), "{taught}");
    }
    assert!(instructions.lines().count() <= 25);
    server.finish();
}

#[test]
fn known_revisions_are_echoed_and_others_get_the_newest() {
    for (asked, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let mut server = Server::start(&mut binary());
        assert_eq!(
            server.initialize(asked)["protocolVersion"],
            answered,
            "{asked}"
        );
        server.finish();
    }
}

/// What the converters of common hosts accept: every object has properties that are described, and
/// `additionalProperties`, which some refuse as a boolean and others as a schema, is not there.
fn assert_portable(schema: &Value, name: &Value) {
    assert!(schema["additionalProperties"].is_null(), "{name}: {schema}");
    match schema["type"].as_str() {
        Some("object") => {
            let properties = schema["properties"].as_object();
            let properties = properties.unwrap_or_else(|| panic!("{name}: {schema}"));
            for property in properties.values() {
                if property["type"] == "object" {
                    assert!(!property["properties"].as_object().unwrap().is_empty());
                }
                assert_portable(property, name);
            }
        }
        Some("array") => assert_portable(&schema["items"], name),
        Some("string" | "integer") => {}
        _ => panic!("{name}: {schema}"),
    }
}

#[test]
fn tools_and_instructions_fit_their_token_budget() {
    let mut server = Server::start(&mut binary());
    let hello = server.initialize("2025-11-25");
    let tools = server.request("tools/list", json!({}))["result"].clone();
    let characters = hello.to_string().len() + tools.to_string().len();
    // 2,400 tokens of about four characters.
    assert!(characters < 9600, "{characters} characters");
    server.finish();
}

#[test]
fn every_tool_has_description_hints_and_schemas() {
    let mut server = Server::default();
    let list = server.request("tools/list", json!({}))["result"].clone();
    let tools = list["tools"].as_array().unwrap();
    let names: Vec<&str> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["probe", "probe_batch", "list_formats", "list_targets"]
    );
    for tool in tools {
        let name = &tool["name"];
        assert!(tool["title"].is_string(), "{name}");
        assert!(tool["description"].as_str().unwrap().len() > 80, "{name}");
        assert_eq!(
            tool["annotations"],
            json!({
                "title": tool["title"], "readOnlyHint": true, "destructiveHint": false,
                "idempotentHint": true, "openWorldHint": false
            })
        );
        assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
        assert_portable(&tool["inputSchema"], name);
        assert_eq!(tool["outputSchema"], json!({"type": "object"}), "{name}");
    }
    let fields = |at: usize| -> Vec<&String> {
        let properties = tools[at]["inputSchema"]["properties"].as_object();
        properties
            .map(|map| map.keys().collect())
            .unwrap_or_default()
    };
    let shared = ["budget", "level", "max_chars", "min_confidence"];
    assert_eq!(
        fields(0),
        [
            &shared[..],
            &["path", "target_confidence", "targets", "view"]
        ]
        .concat()
    );
    assert_eq!(
        fields(1),
        [&shared[..], &["offset", "paths", "targets", "view"]].concat()
    );
    assert!(fields(2).is_empty());
    assert_eq!(fields(3), ["detail", "format"]);
    let probe = &tools[0]["inputSchema"]["properties"];
    assert_eq!(probe["level"]["default"], "metadata");
    assert_eq!(probe["min_confidence"]["default"], "high");
    assert_eq!(probe["view"]["default"], "report");
    let batch = &tools[1]["inputSchema"]["properties"];
    assert_eq!(batch["view"]["default"], "values");
    assert_eq!(batch["paths"]["maxItems"], 64);
    server.finish();
}

#[test]
fn probe_returns_the_engine_json_verbatim_in_both_places() {
    let desk = Desk::new();
    let mut server = Server::default();
    let result = server.tool(
        "probe",
        json!({"path": desk.path("good.docx"), "targets": ["@header"], "level": "header"}),
    );
    assert_ne!(result["isError"], true);
    let report = &result["structuredContent"];
    assert_eq!(report["input"]["display_name"], "good.docx");
    assert_eq!(report["driver"]["profile"], "docx");
    assert_eq!(
        report["results"]["document.format"]["value"],
        "office-open-xml"
    );
    assert_same_in_text(&result);

    let engine = binary()
        .args([
            "engine",
            "--jsonl",
            "--probe-level=header",
            "--targets=@header",
        ])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let line = talk(
        engine,
        &format!("{}\n", json!({"path": desk.path("good.docx")})),
    );
    let printed: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(&printed, report);
    // Verbatim also means: the very bytes stand in the line on the wire.
    server.send_raw(
        format!(
            "{}\n",
            json!({"jsonrpc": "2.0", "id": "raw", "method": "tools/call", "params": {
                "name": "probe", "arguments":
                    {"path": desk.path("good.docx"), "targets": ["@header"], "level": "header"}
            }})
        )
        .as_bytes(),
    );
    let raw = server.raw_line();
    assert!(
        raw.contains(&format!("\"structuredContent\":{}", line.trim_end())),
        "{raw}"
    );
    server.finish();
}

fn talk(mut child: std::process::Child, input: &str) -> String {
    use std::io::Write;
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

fn assert_same_in_text(result: &Value) {
    let block = &result["content"][0];
    assert_eq!(block["type"], "text");
    let text = block["text"].as_str().unwrap();
    let from_text: Value = serde_json::from_str(text).unwrap();
    assert_eq!(from_text, result["structuredContent"]);
    let compact = result["structuredContent"].to_string().len();
    assert_eq!(text.contains('\n'), compact < 8 * 1024, "{compact} bytes");
}

#[test]
fn options_reach_the_engine() {
    let desk = Desk::new();
    let mut server = Server::default();
    let path = desk.path("good.docx");
    let values = server.tool(
        "probe",
        json!({"path": path, "view": "values", "level": "header", "targets": ["@header"]}),
    );
    assert_eq!(values["structuredContent"]["view"], "values");
    let deep = server.tool(
        "probe",
        json!({
            "path": path, "level": "deep", "targets": ["file_size"], "min_confidence": "low",
            "target_confidence": {"file_size": "exact"},
            "budget": {"max_physical_bytes": 1_000_000, "max_expanded_bytes": 1_000_000,
                "max_archive_entries": 100, "timeout_ms": 5000}
        }),
    );
    assert_eq!(
        deep["structuredContent"]["execution"]["probe_level"],
        "deep"
    );
    let starved = server.tool(
        "probe",
        json!({"path": path, "targets": ["@header"], "budget": {"max_physical_bytes": 1}}),
    );
    assert_eq!(
        starved["structuredContent"]["error"]["code"],
        "BUDGET_EXCEEDED"
    );
    server.finish();
}

#[test]
fn batch_keeps_input_order_with_one_entry_a_path() {
    let desk = Desk::new();
    let mut server = Server::default();
    let paths = [
        desk.path("good.docx"),
        desk.path("bad.docx"),
        desk.path("missing.docx"),
        desk.path("page.pdf"),
        desk.path("good.docx"),
    ];
    let result = server.tool(
        "probe_batch",
        json!({"paths": paths, "targets": ["@header"]}),
    );
    assert_ne!(result["isError"], true);
    assert_same_in_text(&result);
    let reports = result["structuredContent"]["reports"].as_array().unwrap();
    let seen: Vec<&str> = reports
        .iter()
        .map(|entry| entry["path"].as_str().unwrap())
        .collect();
    assert_eq!(seen, paths);
    let report = |at: usize| &reports[at]["report"];
    assert_eq!(report(0)["view"], "values");
    assert_eq!(report(0)["input"]["display_name"], "good.docx");
    assert_eq!(report(1)["error"]["code"], "MALFORMED_INPUT");
    assert_eq!(report(2)["error"]["code"], "MCP_PATH_NOT_FOUND");
    assert_eq!(report(3)["input"]["display_name"], "page.pdf");
    assert_eq!(report(4), report(0));
    server.finish();
}

#[test]
fn list_tools_answer_formats_and_targets() {
    let mut server = Server::default();
    let formats = server.tool("list_formats", json!({}));
    let drivers = formats["structuredContent"]["formats"].as_array().unwrap();
    assert!(drivers.iter().any(|format| format["driver"] == "pdf"));
    assert_same_in_text(&formats);

    let compact = server.tool("list_targets", json!({"format": "pptx"}));
    let full = server.tool("list_targets", json!({"format": ".PPTX", "detail": "full"}));
    assert_same_in_text(&compact);
    assert_same_in_text(&full);
    let (compact, full) = (&compact["structuredContent"], &full["structuredContent"]);
    assert!(full["selector_expansions"].is_object());
    let targets = |report: &Value| report["targets"].as_array().unwrap().clone();
    assert_eq!(targets(compact).len(), targets(full).len());
    for (small, large) in targets(compact).iter().zip(targets(full)) {
        for key in [
            "id",
            "aliases",
            "value_type",
            "min_level",
            "selectors",
            "applicable",
        ] {
            assert!(!small[key].is_null(), "{key}");
            assert_eq!(small[key], large[key], "{key}");
        }
    }
    let ratio = compact.to_string().len() * 100 / full.to_string().len();
    assert!((20..45).contains(&ratio), "{ratio} % of the full report");

    let unknown = server.refusal("list_targets", json!({"format": "xyz"}));
    assert_eq!(unknown.0, "UNSUPPORTED_FORMAT");
    server.finish();
}

#[test]
fn resources_are_listed_and_read() {
    let mut server = Server::default();
    let list = server.request("resources/list", json!({}))["result"]["resources"].clone();
    let uris: Vec<&str> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|resource| resource["uri"].as_str().unwrap())
        .collect();
    assert!(uris.contains(&"deckprobe://schema"), "{uris:?}");
    for uri in uris.iter().filter(|uri| uri.starts_with("deckprobe:")) {
        let read = server.request("resources/read", json!({"uri": uri}));
        let contents = &read["result"]["contents"][0];
        assert_eq!(contents["uri"], *uri);
        assert_eq!(contents["mimeType"], "application/json");
        let text = contents["text"].as_str().unwrap();
        serde_json::from_str::<Value>(text).unwrap();
    }
    let schema = server.request("resources/read", json!({"uri": "deckprobe://schema"}));
    let printed = binary().args(["engine", "schema"]).output().unwrap().stdout;
    assert_eq!(
        schema["result"]["contents"][0]["text"]
            .as_str()
            .unwrap()
            .trim_end(),
        String::from_utf8(printed).unwrap().trim_end()
    );

    let targets = server.request("resources/read", json!({"uri": "deckprobe://targets/pdf"}));
    let text = targets["result"]["contents"][0]["text"].as_str().unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(text).unwrap()["driver"],
        "pdf"
    );
    for uri in [
        "deckprobe://nothing",
        "deckprobe://targets/xyz",
        "file:///etc/passwd",
    ] {
        let missing = server.request("resources/read", json!({"uri": uri}));
        assert_eq!(missing["error"]["code"], -32002, "{uri}");
        assert_eq!(missing["error"]["data"]["uri"], uri);
    }
    server.finish();
}

#[test]
fn targets_template_completes_formats() {
    let mut server = Server::default();
    let templates = server.request("resources/templates/list", json!({}))["result"].clone();
    assert_eq!(
        templates["resourceTemplates"][0]["uriTemplate"],
        "deckprobe://targets/{format}"
    );
    let mut complete = |uri: &str, typed: &str| {
        let answer = server.request(
            "completion/complete",
            json!({"ref": {"type": "ref/resource", "uri": uri},
                "argument": {"name": "format", "value": typed}}),
        );
        answer["result"]["completion"]["values"].clone()
    };
    assert_eq!(
        complete("deckprobe://targets/{format}", "pp"),
        json!(["ppsm", "ppsx", "ppt", "pptm", "pptx"])
    );
    assert_eq!(complete("deckprobe://targets/{format}", "zz"), json!([]));
    assert_eq!(complete("deckprobe://other/{format}", "p"), json!([]));
    server.finish();
}
