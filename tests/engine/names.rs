//! Names of targets: what a selector leaves out, names of other formats, and misspelled ones.

use serde_json::json;

use crate::common::{docx, pdf};
use crate::harness::{Engine, value};

#[test]
fn a_selector_that_the_level_narrows_lists_what_is_left_out_in_both_views() {
    for view in ["full", "values"] {
        let mut engine = Engine::start(&["-t", "@security", "--view", view]);
        let report = engine.probe("a.pdf", &pdf("<<>>"));
        let narrowed: Vec<_> = report["diagnostics"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|diagnostic| diagnostic["code"] == "SELECTOR_NARROWED")
            .collect();
        assert_eq!(narrowed.len(), 1, "{report}");
        assert_eq!(narrowed[0]["level"], "info");
        let message = narrowed[0]["message"].as_str().unwrap();
        assert!(message.contains("security.has_javascript"), "{message}");
        assert!(message.ends_with("(level deep)"), "{message}");
        assert_eq!(report["status"], "ok", "it changes nothing else: {report}");
    }
    for flags in [
        &["-l", "d", "-t", "@security"][..],
        &["-t", "@default"],
        &["-t", "@header"],
        &[],
    ] {
        let text = Engine::start(flags)
            .probe("a.pdf", &pdf("<<>>"))
            .to_string();
        assert!(!text.contains("SELECTOR_NARROWED"), "{flags:?} {text}");
    }
}

#[test]
fn an_empty_selector_says_which_level_has_something() {
    let mut engine = Engine::start(&["-l", "h", "-t", "@assets"]);
    let refused = engine.probe("a.docx", &docx(""));
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(
        message.starts_with(
            "invalid request: the target set is empty: @assets at level header leaves out"
        ),
        "{message}"
    );
    assert!(message.contains("(level metadata)"), "{message}");
}

#[test]
fn one_list_of_names_serves_documents_of_several_formats() {
    let mut engine = Engine::start(&["-t", "page_count,slide_count,sheet_count,file_size"]);
    for (name, bytes, own) in [
        ("a.pdf", pdf("<<>>"), "pdf.page_count"),
        ("a.docx", docx(""), "word.page_count"),
    ] {
        let report = engine.probe(name, &bytes);
        let results = report["results"].as_object().unwrap();
        assert_eq!(
            results.keys().collect::<Vec<_>>(),
            ["document.file_size", own],
            "{report}"
        );
        let diagnostics = report["diagnostics"].as_array().unwrap();
        let foreign = diagnostics
            .iter()
            .find(|diagnostic| diagnostic["code"] == "TARGET_NOT_APPLICABLE")
            .unwrap_or_else(|| panic!("{report}"));
        assert_eq!(foreign["level"], "info");
        let message = foreign["message"].as_str().unwrap();
        assert!(
            message.contains("slide_count (pptx, key, ppt); sheet_count (xlsx, numbers, xls)"),
            "{message}"
        );
    }
    // Nothing applies: a report without results, not an error.
    let mut engine = Engine::start(&["-t", "slide_count,sheet_count"]);
    let report = engine.probe("a.pdf", &pdf("<<>>"));
    assert_eq!(report["results"], json!({}), "{report}");
    assert_eq!(report["diagnostics"].as_array().unwrap().len(), 1);
}

#[test]
fn one_name_of_another_format_and_a_name_of_none_are_errors_that_help() {
    for (targets, expected) in [
        ("slide_count", "slide_count (a target of pptx, key, ppt)"),
        ("page_cuont,title", "page_cuont (did you mean page_count?)"),
        ("nonsense,title", "nonsense"),
        (
            "has_javascript",
            "security.has_javascript (needs level deep)",
        ),
    ] {
        let mut engine = Engine::start(&["-t", targets]);
        let refused = engine.probe("a.pdf", &pdf("<<>>"));
        assert_eq!(refused["error"]["code"], "UNSUPPORTED_TARGET");
        assert_eq!(
            refused["error"]["message"],
            format!("unsupported target: {expected}")
        );
    }
    let mut engine = Engine::start(&["-t", "sheet_count,page_count"]);
    let report = engine.probe("a.pdf", &pdf("<<>>"));
    assert_eq!(value(&report, "pdf.page_count"), Some(&json!(1)));
}
