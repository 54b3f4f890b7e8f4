//! Answers that any host understands and that cost few tokens.

use serde_json::{Value, json};

use crate::wire::{Desk, Server};

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

fn many(desk: &Desk, count: usize) -> Vec<String> {
    let document = crate::common::documents::docx("Quarterly figures");
    (0..count)
        .map(|at| desk.put(&format!("report-{at}.docx"), &document))
        .collect()
}

#[test]
fn table_of_64_documents_is_below_3000_characters() {
    let desk = Desk::new();
    let mut paths = many(&desk, 63);
    paths.push(desk.path("missing.docx"));
    let mut server = Server::default();
    let arguments = json!({"paths": paths, "targets": ["has_macros"], "view": "table"});
    let result = server.tool("probe_batch", arguments);
    let table = &result["structuredContent"];
    assert!(text(&result).len() < 3000, "{}", text(&result).len());
    assert_eq!(
        serde_json::from_str::<Value>(text(&result)).unwrap(),
        *table
    );
    assert_eq!(table["same"], json!({"has_macros": false}));
    assert_eq!(table["rows"].as_array().unwrap().len(), 63);
    assert_eq!(table["rows"][7][0], "report-7.docx");
    assert_eq!(table["errors"][0]["code"], "MCP_PATH_NOT_FOUND");
    server.finish();
}

#[test]
fn max_chars_cuts_a_batch_at_a_whole_record_and_offset_continues_it() {
    let desk = Desk::new();
    let paths = many(&desk, 12);
    let mut server = Server::default();
    for view in ["values", "table"] {
        let mut offset = 0;
        let mut seen = 0;
        loop {
            let arguments = json!({"paths": paths, "targets": ["@summary"], "view": view,
                "max_chars": 2500, "offset": offset});
            let result = server.tool("probe_batch", arguments);
            assert!(
                text(&result).len() <= 2500,
                "{view}: {}",
                text(&result).len()
            );
            let answer = &result["structuredContent"];
            assert_eq!(
                serde_json::from_str::<Value>(text(&result)).unwrap(),
                *answer
            );
            let rows = answer["reports"].as_array().or(answer["rows"].as_array());
            seen += rows.unwrap().len();
            match answer["truncated"]["next_offset"].as_u64() {
                Some(next) => offset = next,
                None => break,
            }
        }
        assert_eq!(seen, 12, "{view}");
    }
    server.finish();
}

#[test]
fn max_chars_cuts_a_report_at_a_whole_value_and_names_the_rest() {
    let desk = Desk::new();
    let mut server = Server::default();
    let arguments = json!({"path": desk.path("good.docx"), "targets": ["@all"], "max_chars": 3000});
    let result = server.tool("probe", arguments);
    assert!(text(&result).len() <= 3000, "{}", text(&result).len());
    let answer = &result["structuredContent"];
    let omitted = answer["truncated"]["omitted_targets"].as_array().unwrap();
    assert!(!omitted.is_empty() && !answer["results"].as_object().unwrap().is_empty());
    let full = server.tool(
        "probe",
        json!({"path": desk.path("good.docx"), "targets": ["@all"]}),
    );
    let all = full["structuredContent"]["results"].as_object().unwrap();
    assert!(
        omitted
            .iter()
            .all(|name| all.contains_key(name.as_str().unwrap()))
    );
    server.finish();
}

#[test]
fn json_text_and_null_are_understood_and_reported_in_meta() {
    let desk = Desk::new();
    let path = desk.path("good.docx");
    let mut server = Server::default();
    let plain = json!({"path": path, "targets": ["title"], "budget": {"timeout_ms": 900}});
    let odd = json!({"path": path, "targets": "[\"title\"]", "level": null,
        "budget": "{\"timeout_ms\": 900, \"max_archive_entries\": null}"});
    let plain = server.tool("probe", plain);
    let odd = server.tool("probe", odd);
    assert_eq!(
        odd["structuredContent"]["results"],
        plain["structuredContent"]["results"]
    );
    let notes = odd["_meta"]["deckprobe/reinterpreted"].as_array().unwrap();
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert!(plain["_meta"]["deckprobe/reinterpreted"].is_null());
    let paths = json!({"paths": json!([path]).to_string()});
    let batch = server.tool("probe_batch", paths);
    assert_eq!(
        batch["structuredContent"]["reports"][0]["path"],
        json!(path)
    );
    server.finish();
}

#[test]
fn hint_names_the_target_that_was_meant() {
    let desk = Desk::new();
    let mut server = Server::default();
    let arguments = json!({"path": desk.path("page.pdf"), "targets": ["page_cuont"]});
    let result = server.tool("probe", arguments);
    let envelope: Value = serde_json::from_str(text(&result)).unwrap();
    let hint = envelope["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("did you mean `page_count`?"), "{hint}");
    server.finish();
}

#[test]
fn line_separators_in_names_are_escaped() {
    let desk = Desk::new();
    let path = desk.path("a\u{2028}b\u{85}.docx");
    let mut server = Server::default();
    server.ask_tool("probe_batch", json!({"paths": [path]}));
    let line = server.raw_line();
    assert!(
        line.contains("\\u2028") && !line.contains(['\u{2028}', '\u{85}']),
        "{line}"
    );
    server.finish();
}
