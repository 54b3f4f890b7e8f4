//! Macros in embedded objects, references out of the document, and workbooks without a container.

use serde_json::json;

use super::make::{
    Property, bof, bound_sheet, compound, eof, property_set, record, word, workbook, xls,
};
use super::{probe_with, values};
use crate::harness::Engine;

#[test]
fn macros_inside_an_embedded_object_are_found() {
    let (main, table) = word(0, b"text\r");
    let file = compound(&[
        ("WordDocument", &main),
        ("1Table", &table),
        ("ObjectPool/_1/_VBA_PROJECT_CUR/VBA/dir", b"d"),
        ("ObjectPool/_1/_VBA_PROJECT_CUR/VBA/_VBA_PROJECT", b"d"),
    ]);
    assert_eq!(
        json!(values("a.doc", &file, "security.has_macros")),
        json!([true])
    );
    let report = probe_with(&["-t", "has_macros"], "a.doc", &file);
    assert!(
        report["results"]["security.has_macros"]
            .to_string()
            .contains("embedded"),
        "{report}"
    );
}

#[test]
fn built_in_names_count_as_in_the_xml_formats() {
    let mut built_in = vec![0x20, 0];
    built_in.extend([0; 20]);
    let globals = [
        bound_sheet("A", 0, 0),
        record(0x0018, &built_in),
        record(0x0018, &[0; 22]),
    ];
    let targets = "excel.defined_name_count";
    assert_eq!(json!(values("a.xls", &xls(&globals), targets)), json!([2]));
}

#[test]
fn a_query_in_a_sheet_is_an_external_reference() {
    let sheet = [bof(0x0600, 0x10), record(0x00DC, &[0; 12]), eof()].concat();
    let stream = workbook(&[bound_sheet("A", 0, 0)], &[sheet]);
    let file = compound(&[("Workbook", &stream)]);
    let report = probe_with(&["-l", "d", "-t", "@all"], "a.xls", &file);
    let results = &report["results"];
    assert_eq!(
        results["security.has_external_relationships"]["value"],
        true
    );
    let signals = &results["security.risk_signals"]["value"];
    assert_eq!(signals[0]["signal"], "external_connection");
}

/// The first record of a stream of BIFF 2 to 4.
fn old_bof(kind: u16, substream: u16) -> Vec<u8> {
    let mut body = vec![0, 0];
    body.extend(substream.to_le_bytes());
    if kind != 0x0009 {
        body.extend([0, 0]);
    }
    record(kind, &body)
}

#[test]
fn workbook_streams_without_a_container_are_read() {
    let targets = "excel.sheet_count,office.cfb_container,security.encrypted";
    for kind in [0x0009, 0x0209, 0x0409] {
        let file = [old_bof(kind, 0x10), eof()].concat();
        assert_eq!(
            json!(values("a.xls", &file, targets)),
            json!([1, false, false]),
            "{kind:x}"
        );
    }
    let mut header = vec![0, 0, 0, 0, 5];
    header.extend(b"First");
    let file = [
        old_bof(0x0409, 0x0100),
        record(0x008F, &header),
        old_bof(0x0409, 0x10),
        eof(),
        eof(),
    ]
    .concat();
    let names = "excel.sheet_count,excel.sheet_names";
    assert_eq!(json!(values("a.xls", &file, names)), json!([1, ["First"]]));
    let file = workbook(&[bound_sheet("A", 0, 0), bound_sheet("B", 1, 0)], &[]);
    assert_eq!(json!(values("a.xls", &file, names)), json!([2, ["A", "B"]]));
    let refused = probe_with(&["-t", "@default"], "a.doc", &file);
    assert_eq!(refused["error"]["code"], "MALFORMED_INPUT");
}

/// The path that may read the whole stream is the last, and costs only its own targets.
#[test]
fn a_stream_above_the_budget_costs_only_the_search_for_references() {
    let filler = record(0x0203, &[0; 80]).repeat(10_000);
    let sheet = [bof(0x0600, 0x10), filler, eof()].concat();
    let stream = workbook(&[bound_sheet("A", 0, 0)], &[sheet]);
    let summary = property_set(&[(2, Property::Text(b"T\0")), (8, Property::Text(b"Ann\0"))]);
    let file = compound(&[("Workbook", &stream), ("\u{5}SummaryInformation", &summary)]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.xls");
    std::fs::write(&path, &file).unwrap();
    for targets in ["@all", "title,has_external_relationships"] {
        let flags = ["-l", "d", "-b", "300000", "-t", targets];
        let report = Engine::start(&flags).ask(&json!({ "path": path }));
        let results = &report["results"];
        assert_eq!(results["document.title"]["value"], "T", "{report}");
        let external = &results["security.has_external_relationships"]["status"];
        assert_eq!(external, "budget_exceeded", "{report}");
        if targets == "@all" {
            assert_eq!(results["excel.sheet_names"]["value"], json!(["A"]));
            assert_eq!(results["document.last_modified_by"]["value"], "Ann");
        }
    }
}
