//! Numbers: sheets in the document's order, tables by name.

use serde_json::json;

use super::build::{Package, message, reference, spreadsheet};
use super::{assert_unknown, assert_values, deep};
use crate::harness::Engine;

#[test]
fn sheets_and_tables_are_what_the_document_names() {
    let report = deep("a.numbers", &spreadsheet().build());
    assert_eq!(report["status"], "ok", "{report}");
    let table = |name: &str, rows: u64, columns: u64| {
        json!({"name": name, "rows": rows, "columns": columns, "filtered_rows": 0, "hidden_rows": 0,
            "hidden_columns": 0, "default_row_height_pt": null, "default_column_width_pt": null})
    };
    let mut first = table("Ausgaben", 15, 3);
    for (key, value) in [
        ("filtered_rows", json!(4)),
        ("hidden_rows", json!(2)),
        ("hidden_columns", json!(1)),
        ("default_row_height_pt", json!(20.5)),
        ("default_column_width_pt", json!(98.0)),
    ] {
        first[key] = value;
    }
    assert_values(
        &report,
        &[
            // The form that stands among the sheets is a view of a table, not a sheet.
            ("numbers.sheet_count", json!(2)),
            ("numbers.sheet_names", json!(["Übersicht", "Zahlen"])),
            ("numbers.table_count", json!(2)),
            (
                "numbers.table_dimensions",
                json!([first, table("Table 2", 8, 9)]),
            ),
            ("numbers.hidden_row_count", json!(2)),
            ("numbers.hidden_column_count", json!(1)),
            ("numbers.filtered_row_count", json!(4)),
            ("numbers.formula_definition_count", json!(3)),
            ("numbers.table_component_count", json!(2)),
            ("document.application", json!("Apple Numbers")),
        ],
    );
}

/// A spreadsheet whose sheets have these names.
fn named(names: &[Option<&[u8]>]) -> Package {
    let ids: Vec<u64> = (0..names.len() as u64).map(|n| 30 + n).collect();
    let mut objects = vec![(1, 1, message().references(1, &ids).bytes(8, "x"))];
    for (id, name) in ids.into_iter().zip(names) {
        objects.push((
            id,
            2,
            name.map_or_else(message, |name| message().bytes(1, name)),
        ));
    }
    spreadsheet().component("Document", &objects)
}

#[test]
fn any_text_is_a_name() {
    // W-30: a control character in one name made the whole list unknown.
    let package = named(&[
        Some(b"tab\tand\nbreak"),
        Some(b""),
        Some("\u{1F4CA}".as_bytes()),
    ]);
    let report = deep("a.numbers", &package.build());
    assert_values(
        &report,
        &[(
            "numbers.sheet_names",
            json!(["tab\tand\nbreak", "", "\u{1F4CA}"]),
        )],
    );
}

#[test]
fn a_sheet_without_a_readable_name_still_counts() {
    for name in [None, Some(b"\xFF\xFE".as_slice())] {
        let report = deep("a.numbers", &named(&[Some(b"one"), name]).build());
        assert_values(&report, &[("numbers.sheet_count", json!(2))]);
        assert_unknown(&report, &["numbers.sheet_names"]);
    }
}

#[test]
fn sheets_may_stand_in_other_components() {
    // W-30: sheets outside the document component made the whole list unknown.
    let package = spreadsheet()
        .component(
            "Document",
            &[
                (30, 2, message().bytes(1, "before the root")),
                (32, 3, message()),
                (1, 1, message().references(1, &[30, 31, 32]).bytes(8, "x")),
            ],
        )
        .component("Sheet-31", &[(31, 2, message().bytes(1, "elsewhere"))]);
    for level in ["m", "d"] {
        let report = Engine::start(&["-l", level, "-t", "sheet_names,sheet_count"])
            .probe("a.numbers", &package.build());
        assert_values(
            &report,
            &[
                (
                    "numbers.sheet_names",
                    json!(["before the root", "elsewhere"]),
                ),
                ("numbers.sheet_count", json!(2)),
            ],
        );
    }
}

#[test]
fn a_sheet_that_is_nowhere_makes_the_list_unknown() {
    let objects = [(
        1,
        1,
        message()
            .references(1, &[30])
            .message(4, &reference(2))
            .bytes(8, "x"),
    )];
    let report = deep(
        "a.numbers",
        &spreadsheet().component("Document", &objects).build(),
    );
    assert_unknown(&report, &["numbers.sheet_count", "numbers.sheet_names"]);
    assert_values(&report, &[("numbers.table_count", json!(2))]);
}
