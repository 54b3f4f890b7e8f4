//! Failures: one grammar, a hint that says what to do, and a shape that strict clients accept.

use serde_json::{Value, json};

use crate::wire::{Desk, Server};

fn hint(result: &Value) -> String {
    result["content"][1]["text"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn each_kind_of_failure_has_its_code_its_status_and_its_hint() {
    let desk = Desk::new();
    let mut server = Server::default();
    desk.put("sheet.xyz", b"PK");
    std::fs::create_dir(desk.root().join("folder.pdf")).unwrap();
    let good = desk.path("good.docx");
    let cases = [
        (
            json!({"path": desk.path("bad.docx")}),
            "MALFORMED_INPUT",
            4,
            "damaged",
        ),
        (
            json!({"path": desk.path("sheet.xyz")}),
            "UNSUPPORTED_FORMAT",
            3,
            "list_formats",
        ),
        (
            json!({"path": good, "targets": ["no_such_target"]}),
            "UNSUPPORTED_TARGET",
            1,
            "list_targets with format \"docx\"",
        ),
        (
            json!({"path": good, "targets": ["title"], "target_confidence": {"author": "low"}}),
            "INVALID_REQUEST",
            1,
            "options do not fit",
        ),
        (
            json!({"path": good, "targets": ["@header"], "budget": {"max_physical_bytes": 1}}),
            "BUDGET_EXCEEDED",
            4,
            "raise the budget",
        ),
        (
            json!({"path": desk.path("none.pdf")}),
            "MCP_PATH_NOT_FOUND",
            2,
            "absolute path",
        ),
        (
            json!({"path": desk.path("folder.pdf")}),
            "MCP_NOT_A_FILE",
            2,
            "probe_batch",
        ),
    ];
    for (arguments, code, status, part) in cases {
        let result = server.tool("probe", arguments);
        assert_eq!(result["isError"], true);
        let envelope = &result["structuredContent"];
        assert_eq!(envelope["error"]["code"], code, "{envelope}");
        assert_eq!(envelope["error"]["exit_code"], status, "{envelope}");
        assert_eq!(envelope["status"], "error");
        assert_eq!(envelope["schema_version"], 2);
        assert!(envelope["tool_version"].is_string());
        let text: Value =
            serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(&text, envelope);
        let hint = hint(&result);
        assert!(
            hint.starts_with("Hint: ") && hint.contains(part),
            "{code}: {hint}"
        );
        assert_eq!(hint.lines().count(), 1);
    }
    server.finish();
}
