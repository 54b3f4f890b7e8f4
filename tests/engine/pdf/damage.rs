//! Damaged files: recovered where that is safe, refused where it is not.

use serde_json::{Value, json};

use super::build::Pdf;
use super::{ALL, expect, report};
use crate::harness::Engine;

fn sound() -> Pdf {
    let mut pdf = Pdf::one_page("", "");
    pdf.object(6, "<</Title(Kept)/Producer(Maker 1.2)>>")
        .table("/Root 1 0 R/Info 6 0 R/ID[<00><00>]");
    pdf
}

/// What must be known of the damaged forms of [`sound`].
fn expect_recovered(report: &Value, what: &str) {
    assert_eq!(report["error"], Value::Null, "{what}: {report}");
    expect(
        report,
        &[
            ("pdf.page_count", json!(1)),
            ("document.title", json!("Kept")),
            ("document.application", json!("Maker 1.2")),
            ("pdf.repaired", json!(true)),
        ],
    );
}

#[test]
fn damaged_cross_reference_data_are_rebuilt_with_properties_and_all() {
    // R-8, W-9, W-13.
    let text = |pdf: &Pdf| String::from_utf8_lossy(&pdf.bytes).into_owned();
    let whole = text(&sound());
    let mut wrong_catalogue = Pdf::one_page("", "");
    wrong_catalogue
        .object(6, "<</Title(Kept)/Producer(Maker 1.2)>>")
        .shift(1, 1)
        .table("/Root 1 0 R/Info 6 0 R");
    let mut wrong_prev = sound();
    wrong_prev.object(9, "null").table("/Root 1 0 R/Info 6 0 R");
    let start = whole.rfind("startxref").unwrap();
    let table = whole.find("xref\n").unwrap();
    let cases = [
        ("an offset that is off by one", text(&wrong_catalogue)),
        ("no startxref", whole[..start].to_owned()),
        (
            "startxref to nowhere",
            format!("{}startxref\n7\n%%EOF", &whole[..start]),
        ),
        (
            "a wrong Prev",
            text(&wrong_prev).replace("/Prev ", "/Prev 1"),
        ),
        ("a table of words", whole.replace(" 00000 n", " zzzzz n")),
        (
            "CR only",
            whole[..table].replace('\n', "\r") + "\rtrailer<</Root 1 0 R/Info 6 0 R>>",
        ),
        (
            "written compactly",
            whole[..table].replace('\n', " ") + "trailer<</Info 6 0 R/Root 1 0 R>>",
        ),
        (
            "an early end",
            whole[..table + 30].to_owned() + "\ntrailer<</Root 1 0 R/Info 6 0 R",
        ),
    ];
    for (what, bytes) in cases {
        if what == "an early end" {
            // The trailer is cut: the catalogue is found, the properties are not named any more.
            expect(
                &report(bytes),
                &[("pdf.page_count", json!(1)), ("pdf.repaired", json!(true))],
            );
        } else {
            expect_recovered(&report(bytes), what);
        }
    }
}

#[test]
fn damage_found_late_in_the_probe_is_reported() {
    // The Info dictionary, then an annotation, whose offsets are wrong.
    for (object, targets) in [(6, "@default"), (7, "@default,annotation_count")] {
        let mut pdf = Pdf::one_page("", "/Annots[7 0 R]");
        pdf.object(6, "<</Title(Kept)>>")
            .object(7, "<</Subtype/Link>>")
            .shift(object, 3)
            .table("/Root 1 0 R/Info 6 0 R");
        let report = Engine::start(&["-t", targets]).probe("a.pdf", &pdf.bytes);
        expect(
            &report,
            &[
                ("pdf.repaired", json!(true)),
                ("document.title", json!("Kept")),
            ],
        );
    }
}

#[test]
fn objects_that_cannot_be_read_leave_their_facts_unknown() {
    // The script is in an object that is broken off, one that is larger than any object may be, and
    // object streams that cannot be decoded: there is no way to say that there is none.
    let script = "<</S/JavaScript/JS(x)";
    let large = format!("{script}/Z({})>>", "z".repeat(5 << 20));
    for object in [format!("{script}/Z(never"), large] {
        let mut pdf = Pdf::one_page("/OpenAction 5 0 R", "");
        pdf.object(5, object).table("/Root 1 0 R");
        expect(
            &report(&pdf.bytes),
            &[
                ("security.has_javascript", Value::Null),
                ("security.active_content_risk", Value::Null),
                ("pdf.page_count", json!(1)),
            ],
        );
    }
    let hex = "/AHx".repeat(9);
    for (filter, encrypt) in [
        ("/JPXDecode", ""),
        (&*format!("[{hex}]"), ""),
        ("/JPXDecode", "/Encrypt<</Filter/Other>>"),
    ] {
        let mut pdf = Pdf::one_page(
            "/OpenAction 5 0 R/Outlines 7 0 R/MarkInfo 7 0 R/AcroForm 7 0 R",
            "",
        );
        pdf.object_stream(6, &[(5, script), (7, "<<>>")])
            .stream(
                6,
                &format!("/Type/ObjStm/N 2/First 8/Filter{filter}"),
                b"00",
            )
            .xref_stream(8, &format!("/Root 1 0 R{encrypt}"));
        expect(
            &report(&pdf.bytes),
            &[
                ("security.has_javascript", Value::Null),
                ("pdf.has_outline", Value::Null),
                ("pdf.is_tagged", Value::Null),
                ("pdf.form_field_count", Value::Null),
                ("pdf.page_count", json!(1)),
                ("pdf.annotation_count", json!(0)),
            ],
        );
    }
    // Deeper than anything is read, in actions that follow one another.
    let chain = |levels: usize| {
        let open = "<</S/GoTo/Next".repeat(levels);
        format!(
            "/OpenAction{open}<</S/JavaScript/JS(x)>>{}",
            ">>".repeat(levels)
        )
    };
    for (levels, expected) in [
        (50, json!(true)),
        (94, json!(true)),
        (95, Value::Null),
        (200, Value::Null),
    ] {
        let mut pdf = Pdf::one_page(&chain(levels), "");
        pdf.table("/Root 1 0 R");
        expect(
            &report(&pdf.bytes),
            &[("security.has_javascript", expected)],
        );
        let mut pdf = Pdf::one_page("/AA<</WC 5 0 R>>", "");
        pdf.object(5, format!("<<{}>>", chain(levels)))
            .table("/Root 1 0 R");
        let expected = if levels < 95 {
            json!(true)
        } else {
            Value::Null
        };
        expect(
            &report(&pdf.bytes),
            &[("security.has_javascript", expected)],
        );
    }
    // What was found counts, whatever else cannot be read.
    let mut pdf = Pdf::one_page("/OpenAction<</S/JavaScript/JS(x)>>/AF 5 0 R", "");
    pdf.object(5, "<</EF<</F").table("/Root 1 0 R");
    expect(
        &report(&pdf.bytes),
        &[
            ("security.has_javascript", json!(true)),
            ("security.active_content_risk", json!("high")),
            ("security.has_embedded_files", Value::Null),
            ("pdf.attachment_count", Value::Null),
        ],
    );
    // What the cross-reference data do not have, or place where there is something else, is null.
    let mut pdf = Pdf::one_page("/OpenAction 5 0 R/AA 6 0 R", "");
    pdf.object(5, "<<>>").shift(5, 3).table("/Root 1 0 R");
    expect(
        &report(&pdf.bytes),
        &[("security.has_javascript", json!(false))],
    );
}

#[test]
fn repair_is_forbidden_with_none() {
    let whole = String::from_utf8_lossy(&sound().bytes).into_owned();
    let cut = &whole[..whole.rfind("startxref").unwrap()];
    let mut engine = Engine::start(&["-O", "pdf.repair_xref=none", "-l", "d", "-t", "@all"]);
    let refused = engine.probe("a.pdf", cut.as_bytes());
    assert_eq!(refused["error"]["code"], "MALFORMED_INPUT");
    let mut wrong_page = Pdf::one_page("", "");
    wrong_page.shift(3, 2).table("/Root 1 0 R");
    let report = engine.probe("a.pdf", &wrong_page.bytes);
    expect(
        &report,
        &[
            ("pdf.page_count", Value::Null),
            ("pdf.repaired", json!(false)),
        ],
    );
    assert_eq!(
        engine.probe("a.pdf", whole.as_bytes())["error"],
        Value::Null
    );
}

#[test]
fn foreign_bytes_before_the_header_are_stepped_over() {
    // R-6, with offsets from the header and from the start of the file.
    let whole = sound().bytes;
    for junk in [10, 1000] {
        let shifted = [vec![b'j'; junk], whole.clone()].concat();
        let report = report(shifted);
        expect(
            &report,
            &[
                ("pdf.page_count", json!(1)),
                ("document.title", json!("Kept")),
                ("pdf.version", json!("1.7")),
                ("pdf.repaired", json!(false)),
            ],
        );
    }
    let absolute = {
        let mut pdf = Pdf::new("1.7");
        pdf.bytes = [b"junk before\n".to_vec(), pdf.bytes].concat();
        pdf.object(1, "<</Type/Catalog/Pages 2 0 R>>")
            .object(2, "<</Kids[<</Type/Page>>]/Count 1>>")
            .table("/Root 1 0 R");
        pdf.bytes
    };
    expect(
        &report(absolute),
        &[("pdf.page_count", json!(1)), ("pdf.repaired", json!(false))],
    );
    let late = [vec![b'j'; 1025], whole].concat();
    assert_eq!(report(late)["error"]["code"], "MALFORMED_INPUT");
}

#[test]
fn files_without_a_document_are_refused() {
    for bytes in [
        &b"%PDF-1.7"[..],
        b"%PDF-1.7\n1 0 obj\n<</Type/Page>>\nendobj\n",
        b"%PDF-1.7\nstartxref\n0\n%%EOF",
        b"%PDF-1.7\ntrailer<</Root 1 0 R>>",
    ] {
        let report = report(bytes);
        assert_eq!(report["error"]["code"], "MALFORMED_INPUT", "{report}");
    }
}

#[test]
fn every_form_of_a_table_that_writers_make_is_read() {
    let body = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Kids[<</Type/Page>>]/Count 1>>endobj\n";
    let second = body.find("2 0 obj").unwrap();
    let tables = [
        // Lines of 19 bytes; of 21; numbered from one; two subsections; blanks after the head.
        format!("xref\n0 3\n0000000000 65535 f\n0000000009 00000 n\n{second:010} 00000 n\n"),
        format!("xref\n0 3\n0000000000 65535 f  \n0000000009 00000 n  \n{second:010} 00000 n  \n"),
        format!("xref\n1 3\n0000000000 65535 f \n0000000009 00000 n \n{second:010} 00000 n \n"),
        format!(
            "xref\n0 1\n0000000000 65535 f \n1 2\n0000000009 00000 n \n{second:010} 00000 n \n"
        ),
        format!(
            "xref\r\n0 3 \r\n0000000000 65535 f\r\n0000000009 00000 n\r\n{second:010} 00000 n\r\n"
        ),
    ];
    for table in tables {
        let bytes = format!(
            "{body}{table}trailer<</Root 1 0 R/Size 3>>\nstartxref\n{}\n%%EOF",
            body.len()
        );
        expect(
            &Engine::start(ALL).probe("a.pdf", bytes.as_bytes()),
            &[
                ("pdf.page_count", json!(1)),
                ("pdf.repaired", json!(false)),
                ("pdf.object_count", json!(2)),
            ],
        );
    }
}

#[test]
fn a_scan_ignores_documents_embedded_in_streams() {
    let inner = sound().bytes;
    let mut outer = Pdf::new("1.7");
    outer
        .object(11, "<</Type/Catalog/Pages 12 0 R>>")
        .object(12, "<</Kids[<</Type/Page>><</Type/Page>>]/Count 2>>")
        .stream(13, "", &inner)
        .raw("trailer<</Root 11 0 R>>");
    let report = report(&outer.bytes);
    expect(
        &report,
        &[
            ("pdf.page_count", json!(2)),
            ("document.title", json!(null)),
            ("pdf.object_count", json!(3)),
        ],
    );
}

#[test]
fn a_lost_catalogue_is_found_also_in_an_object_stream() {
    let mut pdf = Pdf::new("1.7");
    pdf.object_stream(
        4,
        &[
            (1, "<</Type/Catalog/Pages 2 0 R>>"),
            (2, "<</Kids[<</Type/Page>>]/Count 1>>"),
        ],
    );
    expect(
        &report(&pdf.bytes),
        &[
            ("pdf.page_count", json!(1)),
            ("pdf.repaired", json!(true)),
            ("pdf.xref_type", json!("unknown")),
        ],
    );
}
