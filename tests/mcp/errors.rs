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
fn every_failure_has_its_code_its_status_and_its_hint() {
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
        // Some hosts show the first block only: it is the envelope with the hint in it.
        let mut text: Value =
            serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        let inside = text["error"].as_object_mut().unwrap().remove("hint");
        assert_eq!(&text, envelope);
        let hint = hint(&result);
        let inside = inside.unwrap();
        assert_eq!(hint.strip_prefix("Hint: "), inside.as_str());
        assert!(
            hint.starts_with("Hint: ") && hint.contains(part),
            "{code}: {hint}"
        );
        assert_eq!(hint.lines().count(), 1);
    }
    server.finish();
}

/// A real path that no JSON can carry is reached by the path that was asked for.
#[cfg(target_os = "linux")]
#[test]
fn link_to_a_name_that_is_not_utf8_is_probed_and_a_loop_of_links_is_unreadable() {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    let desk = Desk::new();
    let odd = desk
        .root()
        .join(std::ffi::OsStr::from_bytes(b"odd-\xff.docx"));
    std::fs::copy(desk.path("good.docx"), &odd).unwrap();
    symlink(&odd, desk.root().join("even.docx")).unwrap();
    symlink("around", desk.root().join("around")).unwrap();
    let mut server = Server::default();
    let result = server.tool("probe", json!({"path": desk.path("even.docx")}));
    let name = &result["structuredContent"]["input"]["display_name"];
    assert_eq!(name, "even.docx", "{result}");
    let (code, message) = server.refusal("probe", json!({"path": desk.path("around")}));
    assert_eq!(code, "MCP_PATH_UNREADABLE");
    assert!(message.contains("symbolic links"), "{message}");
    server.finish();
}

/// Names that would be flags, lines or commands somewhere are names here.
#[cfg(unix)]
#[test]
fn unusual_file_names_are_probed_like_any_other() {
    let desk = Desk::new();
    let document = crate::common::documents::docx("odd");
    let mut server = Server::default();
    for name in [
        "--strict.docx",
        "-.docx",
        "a b.docx",
        "a\nb.docx",
        "a\"b'.docx",
        "\u{202e}xcod.docx",
        "%2e%2e.docx",
        "*.docx",
        "$HOME.docx",
        "a,b=c.docx",
    ] {
        let path = desk.put(name, &document);
        let result = server.tool("probe", json!({"path": path, "targets": ["title"]}));
        let report = &result["structuredContent"];
        assert_eq!(report["input"]["display_name"], name, "{result}");
        assert_eq!(report["results"]["document.title"]["value"], "odd");
    }
    server.finish();
}
