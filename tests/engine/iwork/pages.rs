//! Pages: one body among many texts.

use serde_json::json;

use super::build::{message, reference, text};
use super::{assert_values, deep};

#[test]
fn a_text_document_is_measured() {
    let report = deep("a.pages", &text("Größe 😀\nzwei\n").build());
    assert_eq!(report["status"], "ok", "{report}");
    assert_values(
        &report,
        &[
            // W-30: the shortest form of the 32-bit float, not 595.280029296875.
            (
                "pages.page_size",
                json!({"width_pt": 595.28, "height_pt": 841.89}),
            ),
            ("pages.orientation", json!("portrait")),
            (
                "pages.aspect_ratio",
                json!({"width": 595.28, "height": 841.89, "decimal": 595.28 / 841.89}),
            ),
            ("pages.body_text_length", json!(14)),
            ("pages.body_paragraph_break_count", json!(2)),
            ("pages.section_count", json!(2)),
            ("pages.section_names", json!(["Deckblatt", "Text Page"])),
            ("pages.cached_page_count", json!(7)),
            ("pages.change_tracking_enabled", json!(true)),
            ("pages.table_count", json!(0)),
            ("pages.table_component_count", json!(0)),
            ("document.application", json!("Apple Pages")),
        ],
    );
    assert_eq!(
        report["results"]["pages.cached_page_count"]["confidence"],
        "high"
    );
}

#[test]
fn a_body_in_pieces_is_one_text() {
    let body = message()
        .bytes(3, "one\n")
        .bytes(3, "two")
        .number(1, 0)
        .bytes(3, "\n\n");
    let objects = [
        (20, 2005, body),
        (
            1,
            10_000,
            message().message(4, &reference(20)).bytes(15, ""),
        ),
    ];
    let report = deep("a.pages", &text("").component("Document", &objects).build());
    assert_values(
        &report,
        &[
            ("pages.body_text_length", json!(9)),
            ("pages.body_paragraph_break_count", json!(3)),
            ("pages.section_count", json!(0)),
            ("pages.section_names", json!([])),
            ("pages.change_tracking_enabled", json!(false)),
        ],
    );
}

#[test]
fn what_the_document_does_not_say_is_null() {
    let not_utf8 = message().bytes(3, b"\xFF\xFF");
    for (body, storage) in [
        (Some(20), not_utf8),
        (Some(99), message()),
        (None, message()),
    ] {
        let document = body.map_or_else(message, |id| message().message(4, &reference(id)));
        let objects = [(1, 10_000, document.bytes(15, "")), (20, 2001, storage)];
        let package = text("")
            .component("Document", &objects)
            .without("Index/ViewState.iwa");
        let report = deep("a.pages", &package.build());
        for target in [
            "pages.body_text_length",
            "pages.body_paragraph_break_count",
            "pages.cached_page_count",
            "pages.page_size",
            "pages.orientation",
        ] {
            assert_values(&report, &[(target, json!(null))]);
        }
        assert_eq!(report["status"], "ok", "null is a value: {report}");
    }
}

#[test]
fn tables_in_the_text_count() {
    let info = message().message(2, &reference(41));
    let model = message().number(6, 2).number(7, 2).bytes(8, "T");
    let package = text("x").component(
        "CalculationEngine",
        &[(40, 6007, message().message(1, &info)), (41, 6001, model)],
    );
    assert_values(
        &deep("a.pages", &package.build()),
        &[("pages.table_count", json!(1))],
    );
}
