//! Both generations of the protocol, over both transports.

use serde_json::{Value, json};

use crate::http::{HttpServer, Request};
use crate::wire::{Desk, Server, binary};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

fn modern(mut params: Value) -> Value {
    params["_meta"][VERSION] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    params
}

#[test]
fn stateless_revision_needs_no_handshake_on_stdio() {
    let desk = Desk::new();
    let mut server = Server::start(&mut binary());
    let found = server.request("server/discover", modern(json!({})))["result"].clone();
    assert_eq!(
        found["supportedVersions"],
        json!([
            "2024-11-05",
            "2025-03-26",
            "2025-06-18",
            "2025-11-25",
            "2026-07-28"
        ])
    );
    assert_eq!(
        found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "deckprobe"
    );
    assert_eq!(
        (&found["ttlMs"], &found["cacheScope"]),
        (&json!(3_600_000), &json!("public"))
    );
    assert!(found["instructions"].as_str().unwrap().contains("probe"));

    let path = desk.path("good.docx");
    let probe = json!({"name": "probe", "arguments": {"path": path, "targets": ["@header"]}});
    let result = server.request("tools/call", modern(probe))["result"].clone();
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["structuredContent"]["driver"]["profile"], "docx");
    assert_eq!(
        result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "deckprobe"
    );
    assert!(!result.to_string().contains("deckprobe.internal"));

    for (params, code) in [
        (json!({}), -32602),
        (
            json!({"_meta": {VERSION: "2031-01-01",
            "io.modelcontextprotocol/clientCapabilities": {}}}),
            -32022,
        ),
    ] {
        assert_eq!(server.request("tools/list", params)["error"]["code"], code);
    }
    for gone in [
        "ping",
        "initialize",
        "resources/subscribe",
        "logging/setLevel",
    ] {
        let answer = server.request(gone, modern(json!({"uri": "x", "level": "debug"})));
        assert_eq!(answer["error"]["code"], -32601, "{gone}: {answer}");
    }
    server.finish();
}

#[test]
fn cache_hints_are_sent_to_the_stateless_revision_only() {
    let mut old = Server::default();
    let mut new = Server::start(&mut binary());
    new.request("server/discover", modern(json!({})));
    let http = HttpServer::start(&mut binary());
    for (method, params, ttl) in [
        ("tools/list", json!({}), 3_600_000),
        ("prompts/list", json!({}), 3_600_000),
        ("resources/list", json!({}), 3_600_000),
        ("resources/templates/list", json!({}), 3_600_000),
        ("skills/list", json!({}), 3_600_000),
        (
            "resources/read",
            json!({"uri": "deckprobe://schema"}),
            3_600_000,
        ),
        (
            "resources/read",
            json!({"uri": "deckprobe://formats"}),
            3_600_000,
        ),
        (
            "resources/read",
            json!({"uri": "deckprobe://targets/pdf"}),
            3_600_000,
        ),
        ("resources/read", json!({"uri": "deckprobe://pool"}), 0),
    ] {
        let scope = if ttl == 0 { "private" } else { "public" };
        let plain = old.request(method, params.clone())["result"].clone();
        for hint in ["ttlMs", "cacheScope", "resultType", "_meta"] {
            assert!(plain[hint].is_null(), "{method}: {hint} leaks: {plain}");
        }
        let hinted = new.request(method, modern(params.clone()))["result"].clone();
        let remote = http.send(&Request::modern(method, params)).json()["result"].clone();
        for result in [hinted, remote] {
            assert_eq!(result["ttlMs"], ttl, "{method}: {result}");
            assert_eq!(result["cacheScope"], scope, "{method}");
            assert!(
                result["_meta"]["io.modelcontextprotocol/serverInfo"].is_object(),
                "{method}"
            );
        }
    }
    old.finish();
    new.finish();
}

#[test]
fn missing_resource_has_the_error_code_of_its_revision() {
    let mut old = Server::default();
    let mut new = Server::start(&mut binary());
    let params = json!({"uri": "deckprobe://nothing"});
    let was = old.request("resources/read", params.clone())["error"].clone();
    let is = new.request("resources/read", modern(params))["error"].clone();
    assert_eq!(
        (&was["code"], &is["code"]),
        (&json!(-32002), &json!(-32602))
    );
    assert_eq!(was["data"]["uri"], "deckprobe://nothing");
    assert_eq!(is["data"]["uri"], "deckprobe://nothing");
    old.finish();
    new.finish();
}

#[test]
fn prompts_are_listed_and_filled_in() {
    let mut server = Server::default();
    let list = server.request("prompts/list", json!({}))["result"]["prompts"].clone();
    assert_eq!(list[0]["name"], "triage_document");
    assert_eq!(list[0]["arguments"][0]["required"], true);
    assert_eq!(list[1]["name"], "inventory_folder");
    let mut get = |name: &str, arguments: Value| {
        server.request("prompts/get", json!({"name": name, "arguments": arguments}))
    };
    let text = |answer: &Value| {
        assert_eq!(answer["result"]["messages"][0]["role"], "user");
        answer["result"]["messages"][0]["content"]["text"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let triage = text(&get("triage_document", json!({"path": "/tmp/a \"b\".pdf"})));
    assert!(
        triage.contains(r#""/tmp/a \"b\".pdf""#) && triage.contains("@security"),
        "{triage}"
    );
    let inventory = text(&get(
        "inventory_folder",
        json!({"folder": "/x", "question": "macros"}),
    ));
    assert!(
        inventory.contains("\"/x\"") && inventory.contains("\"macros\""),
        "{inventory}"
    );
    for (name, arguments, part) in [
        ("triage_document", json!({}), "path is missing"),
        ("triage_document", json!({"path": 5}), "must be a string"),
        ("triage_document", json!({"pth": "x"}), "did you mean path?"),
        ("no_such_prompt", json!({}), "inventory_folder"),
    ] {
        let error = get(name, arguments)["error"].clone();
        assert_eq!(error["code"], -32602);
        assert!(error["message"].as_str().unwrap().contains(part), "{error}");
    }
    server.finish();
}

#[test]
fn skill_is_listed_and_matches_its_digest() {
    let mut server = Server::default();
    let list = server.request("skills/list", json!({}))["result"]["skills"].clone();
    let uri = list[0]["uri"].as_str().unwrap().to_owned();
    assert_eq!(
        list[0]["frontmatter"]["name"],
        "reading-documents-with-deckprobe"
    );
    let one = server.request("skills/get", json!({"uri": uri}))["result"]["skill"].clone();
    assert_eq!(one, list[0]);
    let read = server.request("resources/read", json!({"uri": uri}))["result"]["contents"].clone();
    assert_eq!(read[0]["mimeType"], "text/markdown");
    let text = read[0]["text"].as_str().unwrap();
    assert_eq!(one["resources"][0]["size"], text.len());
    assert_eq!(
        one["resources"][0]["digest"],
        rmcp::model::sha256_digest(text.as_bytes())
    );
    let missing = server.request("skills/get", json!({"uri": "skill://other/SKILL.md"}));
    assert_eq!(missing["error"]["code"], -32602);
    server.finish();
}

#[test]
fn http_and_stdio_give_the_same_answers() {
    let desk = Desk::new();
    let http = HttpServer::start(&mut binary());
    let mut stdio = Server::default();
    let path = desk.path("good.docx");
    for (tool, arguments) in [
        ("probe", json!({"path": path})),
        ("probe", json!({"path": desk.path("bad.docx")})),
        ("probe", json!({"path": path, "level": "no"})),
        ("probe_batch", json!({"paths": [path, "missing.pdf"]})),
        ("list_formats", json!({})),
        ("list_targets", json!({"format": "xlsx"})),
    ] {
        let there = http.send(&Request::tool(tool, arguments.clone())).json();
        let here = stdio.tool(tool, arguments);
        assert_eq!(there["result"], here, "{tool}");
    }
    let there = http.send(&Request::tool("probe", json!({"path": path, "x": 1})));
    assert_eq!(there.status, 200);
    assert_eq!(there.json()["error"]["code"], -32602);
    stdio.finish();
}
