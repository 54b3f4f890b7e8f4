//! Excel workbooks.

use serde_json::json;

use super::make::{bof, bound_sheet, bound_sheet_5, compound, eof, record, workbook, xls};
use super::{assert_budget_is_honest, physical_bytes, probe, values};

const SHEETS: &str = "excel.sheet_count,excel.sheet_names,excel.hidden_sheet_count";

#[test]
fn w26_sheets_are_what_the_globals_list_hidden_ones_included() {
    let globals = [
        bound_sheet("Shown", 0, 0),
        bound_sheet("Hidden", 1, 0),
        bound_sheet("Very hidden", 2, 0),
        bound_sheet("Diagramm", 0, 2),
        bound_sheet("日本 Ω", 0, 0),
        bound_sheet("Caf\u{e9}", 0, 0),
    ];
    let names = [
        "Shown",
        "Hidden",
        "Very hidden",
        "Diagramm",
        "日本 Ω",
        "Café",
    ];
    assert_eq!(
        json!(values("a.xls", &xls(&globals), SHEETS)),
        json!([6, names, 2])
    );
}

/// Charts inside a sheet are substreams of their own in the middle of it.
#[test]
fn w26_charts_in_a_sheet_are_no_sheets() {
    let chart = [bof(0x0600, 0x20), eof()].concat();
    let sheet = [bof(0x0600, 0x10), chart.clone(), chart, eof()].concat();
    let globals = [bound_sheet("A", 0, 0), bound_sheet("B", 0, 0)];
    let stream = workbook(&globals, &[sheet.clone(), sheet]);
    let file = compound(&[("Workbook", &stream)]);
    assert_eq!(
        json!(values("a.xls", &file, SHEETS)),
        json!([2, ["A", "B"], 0])
    );
}

#[test]
fn w26_biff5_names_are_in_the_workbooks_code_page() {
    for (code_page, name, expected) in [
        (1252_u16, &b"Stra\xdfe"[..], "Straße"),
        (1251, b"\xcb\xe8\xf1\xf2", "Лист"),
        (932, b"\x83V\x81[\x83g", "シート"),
        (0x8000, b"Caf\x8e", "Café"),
        (0x8001, b"Caf\xe9", "Café"),
    ] {
        let stream = [
            bof(0x0500, 5),
            record(0x0042, &code_page.to_le_bytes()),
            bound_sheet_5(name),
            eof(),
        ]
        .concat();
        let file = compound(&[("Book", &stream)]);
        assert_eq!(
            json!(values("a.xls", &file, SHEETS)),
            json!([1, [expected], 0]),
            "{code_page}"
        );
    }
}

/// Where both formats are stored, the newer one counts.
#[test]
fn a_dual_workbook_is_read_in_its_newer_form() {
    let old = [bof(0x0500, 5), bound_sheet_5(b"old"), eof()].concat();
    let new = workbook(&[bound_sheet("new", 0, 0)], &[]);
    let file = compound(&[("Book", &old), ("Workbook", &new)]);
    assert_eq!(
        values("a.xls", &file, "excel.sheet_names"),
        [json!(["new"])]
    );
}

/// Cells are never read, so their number does not matter.
#[test]
fn w26_a_workbook_of_many_records_has_its_sheets() {
    let rows = record(0x0201, &[0; 6]).repeat(600_000);
    let sheet = [bof(0x0600, 0x10), rows, eof()].concat();
    let stream = workbook(&[bound_sheet("Many", 0, 0)], &[sheet]);
    let file = compound(&[("Workbook", &stream)]);
    let report = probe("a.xls", &file, "excel.sheet_count");
    assert_eq!(report["results"]["excel.sheet_count"]["value"], 1);
    assert!(physical_bytes(&report) < 8192, "{report}");
}

/// Two cells in opposite corners cost the reference engine 390 MB a sheet.
#[test]
fn u6_no_grid_is_ever_allocated() {
    let cell = |row: u16, column: u16| {
        let mut body = row.to_le_bytes().to_vec();
        body.extend(column.to_le_bytes());
        body.extend([0; 10]);
        record(0x0203, &body)
    };
    let sheet = [bof(0x0600, 0x10), cell(0, 0), cell(65535, 255), eof()].concat();
    let globals: Vec<_> = ["A", "B", "C"].map(|name| bound_sheet(name, 0, 0)).into();
    let stream = workbook(&globals, &[sheet.clone(), sheet.clone(), sheet]);
    let file = compound(&[("Workbook", &stream)]);
    let report = probe("a.xls", &file, "@all");
    assert_eq!(report["results"]["excel.sheet_count"]["value"], 3);
    assert!(physical_bytes(&report) < 8192, "{report}");
}

#[test]
fn w26_an_encrypted_workbook_keeps_its_names_to_itself() {
    let targets = "security.encrypted,security.password_protected,security.encryption_scheme,\
                   security.encryption_key_bits,excel.sheet_count,excel.sheet_names,\
                   excel.defined_name_count";
    let mut rc4 = vec![1, 0, 1, 0, 1, 0];
    rc4.extend([0x55; 48]);
    let xor = |verifier: u16| {
        let mut body = vec![0, 0, 0x12, 0x34];
        body.extend(verifier.to_le_bytes());
        body
    };
    let cases = [
        (rc4, json!([true, true, "rc4", 40, 2, null, null])),
        (xor(0xCBEB), json!([true, true, "xor", 16, 2, null, null])),
        // Excel opens it by itself: the verifier is that of its default password.
        (
            xor(DEFAULT_VERIFIER),
            json!([true, false, "xor", 16, 2, null, null]),
        ),
    ];
    for (body, expected) in cases {
        let globals = [
            record(0x002F, &body),
            bound_sheet("@#!", 0, 0),
            bound_sheet("%&/", 0, 0),
        ];
        assert_eq!(json!(values("a.xls", &xls(&globals), targets)), expected);
    }
}

/// The verifier that Excel stores for "VelvetSweatshop".
const DEFAULT_VERIFIER: u16 = 0x9A0A;

/// An empty or foreign stream is no workbook without sheets.
#[test]
fn w26_an_unreadable_stream_gives_no_sheets() {
    for content in [
        &b""[..],
        b"garbage that is no record",
        &bof(0x0600, 5),
        &[0; 5000],
    ] {
        let file = compound(&[("Workbook", content)]);
        let report = probe("a.xls", &file, SHEETS);
        for target in SHEETS.split(',') {
            assert_eq!(report["results"][target]["status"], "unknown", "{target}");
        }
        assert_eq!(values("a.xls", &file, "quality.corrupted"), [true]);
    }
    // An empty book with its globals whole has no sheet, and that is known.
    let file = xls(&[]);
    assert_eq!(json!(values("a.xls", &file, SHEETS)), json!([0, [], 0]));
}

#[test]
fn w23_macro_sheets_and_projects_are_macros() {
    let plain = bound_sheet("A", 0, 0);
    let sheet = |kind| xls(&[bound_sheet("A", 0, kind)]);
    let book = workbook(std::slice::from_ref(&plain), &[]);
    let with = |path: &str| compound(&[("Workbook", &book), (path, b"x")]);
    let cases = [
        ("a macro sheet", sheet(1), true),
        ("a worksheet", sheet(0), false),
        (
            "a project record",
            xls(&[record(0x00D3, &[]), plain.clone()]),
            true,
        ),
        ("a project", with("_VBA_PROJECT_CUR/VBA/dir"), true),
        ("an Excel 95 project", with("_VBA_PROJECT/Module1"), true),
        (
            "the project of an object",
            with("MBD01/_VBA_PROJECT_CUR/VBA/dir"),
            true,
        ),
        ("a stream with such a name", with("vba"), false),
    ];
    for (what, file, expected) in cases {
        assert_eq!(
            values("a.xls", &file, "security.has_macros"),
            [expected],
            "{what}"
        );
    }
    // Where names are encrypted, the first record of the sheet still tells its kind.
    let mut globals = vec![record(0x002F, &[0, 0, 1, 2, 3, 4])];
    let mut bound = bound_sheet("?", 0, 0xA5);
    let place = 20 + globals[0].len() + bound.len() + 4;
    bound[4..8].copy_from_slice(&u32::try_from(place).unwrap().to_le_bytes());
    globals.push(bound);
    let stream = workbook(&globals, &[bof(0x0600, 0x40)]);
    let file = compound(&[("Workbook", &stream)]);
    assert_eq!(values("a.xls", &file, "security.has_macros"), [true]);
}

#[test]
fn r7_w29_an_embedded_document_does_not_pass_for_the_workbook() {
    let book = workbook(&[bound_sheet("Outer", 0, 0)], &[]);
    let inner = workbook(&[bound_sheet("Inner", 0, 0), bound_sheet("Two", 0, 0)], &[]);
    let set = |title: &[u8]| super::make::property_set(&[(2, super::make::Property::Text(title))]);
    // The embedded ones come first in the directory.
    let file = compound(&[
        ("MBD01/WordDocument", &[0xEC, 0xA5]),
        ("MBD01/\u{5}SummaryInformation", &set(b"inner")),
        ("MBD02/Workbook", &inner),
        ("Workbook", &book),
        ("\u{5}SummaryInformation", &set(b"outer")),
    ]);
    let targets = "document.title,excel.sheet_names,security.has_embedded_files";
    assert_eq!(
        json!(values("a.xls", &file, targets)),
        json!(["outer", ["Outer"], true])
    );
    // A link is no embedded object.
    let linked = compound(&[("LNK01/Ole", b"x"), ("Workbook", &book)]);
    assert_eq!(
        values("a.xls", &linked, "security.has_embedded_files"),
        [false]
    );
}

#[test]
fn names_strings_links_and_reservations_are_told() {
    let targets = "excel.defined_name_count,excel.shared_string_count,excel.is_template,\
                   security.password_to_modify,security.has_external_relationships";
    let mut strings = 9_u32.to_le_bytes().to_vec();
    strings.extend(4_u32.to_le_bytes());
    let user_name = record(0x0018, &[0, 0, 0, 3]);
    let built_in = record(0x0018, &[0x20, 0, 0, 1]);
    let own_book = record(0x01AE, &[1, 0, 1, 4]);
    let other_book = record(0x01AE, &[1, 0, 9, 0, 0, b'o']);
    let rich = [
        record(0x0060, &[]),
        record(0x005B, &[0, 0, 0xEB, 0xCB, 0, 0]),
        bound_sheet("A", 0, 0),
        own_book.clone(),
        other_book,
        user_name,
        built_in,
        record(0x00EB, &[0; 8000]),
        record(0x00FC, &strings),
    ];
    assert_eq!(
        json!(values("a.xls", &xls(&rich), targets)),
        json!([2, 4, true, true, true])
    );
    let poor = [
        record(0x005B, &[1, 0, 0, 0]),
        bound_sheet("A", 0, 0),
        own_book,
    ];
    assert_eq!(
        json!(values("a.xls", &xls(&poor), targets)),
        json!([0, 0, false, false, false])
    );
    assert_eq!(values("a.xlt", &xls(&poor), "excel.is_template"), [true]);
    // A hyperlink stands in its sheet.
    let mut link = vec![0; 28];
    link.extend(3_u32.to_le_bytes());
    let sheet = [bof(0x0600, 0x10), record(0x01B8, &link), eof()].concat();
    let stream = workbook(&[bound_sheet("A", 0, 0)], &[sheet]);
    let file = compound(&[("Workbook", &stream)]);
    assert_eq!(
        values("a.xls", &file, "security.has_external_relationships"),
        [true]
    );
}

#[test]
fn m2_a_budget_that_ends_inside_a_workbook_is_said_to_be_one() {
    let globals: Vec<_> = (0..60)
        .map(|i| bound_sheet(&format!("Sheet {i}"), 0, 0))
        .collect();
    assert_budget_is_honest("a.xls", &xls(&globals), "excel.sheet_names");
}

/// A list of sheets that no one could read is not made.
#[test]
fn an_endless_list_of_sheets_is_unknown() {
    let globals = vec![bound_sheet(&"x".repeat(200), 0, 0); 10_000];
    let report = probe("a.xls", &xls(&globals), SHEETS);
    for target in SHEETS.split(',') {
        assert_eq!(report["results"][target]["status"], "unknown", "{target}");
    }
    assert!(physical_bytes(&report) < 2 << 20, "{report}");
    // One that breaks off is not taken for a whole one.
    let mut cut = workbook(&[bound_sheet("A", 0, 0), bound_sheet("B", 0, 0)], &[]);
    cut.truncate(cut.len() - 6);
    let report = probe(
        "a.xls",
        &compound(&[("Workbook", &cut)]),
        "excel.sheet_count",
    );
    assert_eq!(report["results"]["excel.sheet_count"]["status"], "unknown");
}
