//! What a report looks like, to the byte.

use super::*;
use crate::contract::ProbeOptions;
use crate::contract::{Confidence, Level, escape_line_breaks};
use crate::engine::catalogue::PathId;
use crate::engine::findings::Status;

/// The report of a deck whose author is not recorded and whose slide count is doubtful.
fn print(view: View, order: KeyOrder, cut_short: Option<&str>) -> String {
    let request = ProbeOptions {
        targets: ["author", "slide_count", "extension", "has_macros"]
            .map(String::from)
            .to_vec(),
        optional_targets: vec!["mime".into(), "title".into()],
        level: Level::Metadata,
        min_confidence: Confidence::High,
        target_confidence: [
            ("has_macros".into(), Confidence::Exact),
            ("slide_count".into(), Confidence::High),
        ]
        .into(),
        format_options: [("slide_count_path".into(), "app-properties".into())].into(),
        ..ProbeOptions::default()
    };
    let mut plan = Plan::new(&request, Profile::Pptx).unwrap();
    // A path that answers for the macros is taken away, as if none were left at this level.
    plan.unsupported = TargetSet::of(&[Target::SECURITY_HAS_MACROS]);
    let mut findings = Findings::new(plan.wanted());
    findings.enter(PathId::OoxmlCoreProperties);
    findings.unknown(Target::DOCUMENT_AUTHOR);
    findings.put(
        Target::DOCUMENT_TITLE,
        "R&D \"plan\"\n",
        Confidence::High,
        "core",
    );
    findings.enter(PathId::PowerpointAppStatistics);
    let doubtful = Confidence::Medium;
    findings.put(Target::POWERPOINT_SLIDE_COUNT, 3_u64, doubtful, "app");
    findings.enter(PathId::OoxmlIdentity);
    findings.put(
        Target::DOCUMENT_EXTENSION,
        "pptx",
        Confidence::Exact,
        "name",
    );
    findings.no_value(Target::DOCUMENT_MIME_TYPE, Status::BudgetExceeded);
    let source = Source::for_test("a\u{2028}.pptx", *b"PK");
    let report = Report {
        source: &source,
        profile: Profile::Pptx,
        plan: &plan,
        findings: Some(&findings),
        unresolved: plan.unresolved(Some(&findings)),
        cost: Cost {
            physical_bytes: 10,
            expanded_bytes: 20,
            random_reads: 30,
        },
        elapsed_ms: Some(1.5),
        truncated: &[],
        cut_short,
    };
    let mut out = Vec::new();
    report.write(view, order, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn keys_of_a_streamed_report_and_of_every_values_view_are_sorted() {
    for (view, order) in [
        (View::Report, KeyOrder::Sorted),
        (View::Values, KeyOrder::Sorted),
        (View::Values, KeyOrder::Declared),
    ] {
        let text = print(view, order, Some("a \"part\"\u{1}"));
        let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(escape_line_breaks(&parsed.to_string()), text);
    }
}

#[test]
fn both_orders_say_the_same() {
    let parse = |order| -> serde_json::Value {
        serde_json::from_str(&print(View::Report, order, None)).unwrap()
    };
    assert_eq!(parse(KeyOrder::Sorted), parse(KeyOrder::Declared));
}

#[test]
fn a_single_report_keeps_declaration_order() {
    let none = |target: &str, status: &str, path: &str| {
        format!(
            r#""{target}":{{"target":"{target}","status":"{status}","confidence":"none","confidence_score":0.0,"path":"{path}","source":"none"}}"#
        )
    };
    let expected = [
        r#"{"schema_version":2,"tool_version":"#,
        &format!("\"{TOOL_VERSION}\""),
        ",\"status\":\"partial\",\"input\":{\"display_name\":\"a\\u2028.pptx\",",
        r#""source_kind":"jsonl_bytes","file_size":2},"driver":{"id":"powerpoint","profile":"pptx"},"results":{"#,
        &none("document.author", "unknown", "ooxml.core_properties"),
        r#","document.extension":{"target":"document.extension","status":"resolved","value":"pptx","confidence":"exact","confidence_score":1.0,"path":"ooxml.identity","source":"name"},"#,
        &none("document.mime_type", "budget_exceeded", "ooxml.identity"),
        r#","document.title":{"target":"document.title","status":"resolved","value":"R&D \"plan\"\n","confidence":"high","confidence_score":0.95,"path":"ooxml.core_properties","source":"core"},"#,
        r#""powerpoint.slide_count":{"target":"powerpoint.slide_count","status":"estimated","value":3,"confidence":"medium","confidence_score":0.7,"path":"powerpoint.app_statistics","source":"app"},"#,
        &none("security.has_macros", "unsupported", "planner"),
        r#"},"execution":{"probe_level":"metadata","paths":["ooxml.identity","ooxml.package_inventory","powerpoint.app_statistics","ooxml.core_properties"],"estimated_cost":17,"#,
        r#""actual_cost":{"physical_bytes_read":10,"expanded_bytes":20,"random_reads":30,"elapsed_ms":1.5},"#,
        r#""unresolved_targets":["document.author","powerpoint.slide_count","security.has_macros"],"piggyback_targets":["document.mime_type","document.title"]},"#,
        r#""diagnostics":[{"level":"warning","code":"UNSUPPORTED_TARGET_AT_REQUESTED_LEVEL","message":"no path yields security.has_macros at level metadata with the requested confidence"},"#,
        r#"{"level":"warning","code":"UNRESOLVED_TARGET","message":"document.author could not be resolved from this document"},"#,
        r#"{"level":"warning","code":"INSUFFICIENT_CONFIDENCE","message":"powerpoint.slide_count was found with confidence medium, below the requested high"}]}"#,
    ];
    assert_eq!(
        print(View::Report, KeyOrder::Declared, None),
        expected.concat()
    );
}

#[test]
fn a_values_view_holds_what_carries_a_value() {
    let parsed: serde_json::Value =
        serde_json::from_str(&print(View::Values, KeyOrder::Sorted, None)).unwrap();
    assert_eq!(
        parsed["values"],
        serde_json::json!({
            "document.extension": "pptx",
            "document.title": "R&D \"plan\"\n",
            "powerpoint.slide_count": 3,
        })
    );
    assert_eq!(parsed["view"], "values");
    assert!(parsed.get("execution").is_none());
}
