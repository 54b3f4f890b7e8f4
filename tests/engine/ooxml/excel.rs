//! Excel workbooks, XML and binary.

use serde_json::{Value, json};

use super::build::{Package, SHEET_NS, relationships_xml};
use super::{assert_values, deep, probe};

fn workbook(extension: &str, body: &str) -> Package {
    Package::new(extension).main(format!(
        "<x:workbook xmlns:x='{SHEET_NS}' xmlns:y='urn:y'>{body}</x:workbook>"
    ))
}

#[test]
fn sheets_of_every_state_are_told_apart() {
    // W-21.
    let body = "<x:sheets><x:sheet name='R&amp;D'/><x:sheet name='b' state='hidden'/>\
        <x:sheet name='c' state='veryHidden'/><x:sheet name='d' state='visible'/>\
        <x:sheet name='e' state='Visible'/><x:sheet name='f' state=''/><y:sheet name='no'/></x:sheets>\
        <x:definedNames><x:definedName name='_xlnm.Print_Area'/><x:definedName name='mine'/></x:definedNames>";
    for extension in ["xlsx", "xlsm", "xltx", "xltm"] {
        let name = format!("a.{extension}");
        let report = deep(&name, &workbook(extension, body).build());
        assert_values(
            &report,
            &[
                ("excel.sheet_count", json!(6)),
                ("excel.sheet_names", json!(["R&D", "b", "c", "d", "e", "f"])),
                ("excel.hidden_sheet_count", json!(2)),
                ("excel.defined_name_count", json!(2)),
                ("excel.is_template", json!(extension.starts_with("xlt"))),
                ("excel.binary_workbook", json!(false)),
            ],
        );
    }
}

#[test]
fn a_list_of_names_with_a_gap_is_no_list() {
    let body = "<x:sheets><x:sheet name='a'/><x:sheet name='&undefined;'/></x:sheets>";
    let report = deep("a.xlsx", &workbook("xlsx", body).build());
    assert_values(
        &report,
        &[
            ("excel.sheet_count", json!(2)),
            ("excel.sheet_names", json!(null)),
            ("excel.hidden_sheet_count", json!(0)),
        ],
    );
}

#[test]
fn shared_strings_are_counted_wherever_they_are() {
    let table = |attributes: &str| {
        format!("<sst xmlns='{SHEET_NS}' {attributes}><si><t>a</t></si><si><t>&no;</t></si></sst>")
    };
    for attributes in ["", "count='9' uniqueCount='7'", "uniqueCount='-'"] {
        let package = workbook("xlsx", "").typed(
            "xl/other.xml",
            "spreadsheetml.sharedStrings+xml",
            table(attributes),
        );
        let report = deep("a.xlsx", &package.build());
        assert_values(&report, &[("excel.shared_string_count", json!(2))]);
    }
    let report = deep("a.xlsx", &workbook("xlsx", "").build());
    assert_values(&report, &[("excel.shared_string_count", json!(null))]);
    // Of two tables the one counts that the workbook names.
    let kind = "spreadsheetml.sharedStrings+xml";
    let two = workbook("xlsx", "")
        .typed("xl/left.xml", kind, format!("<sst xmlns='{SHEET_NS}'/>"))
        .typed("xl/strings.xml", kind, table(""));
    let report = deep("a.xlsx", &two.build());
    assert_values(&report, &[("excel.shared_string_count", json!(null))]);
    let named = two.part(
        "xl/_rels/workbook.xml.rels",
        relationships_xml(&[("sharedStrings", "strings.xml", false)]),
    );
    let report = deep("a.xlsx", &named.build());
    assert_values(&report, &[("excel.shared_string_count", json!(2))]);
}

#[test]
fn parts_are_counted_by_what_they_are_not_by_their_names() {
    // W-22.
    let package = workbook("xlsx", "")
        .typed("xl/Tables/Table1.xml", "spreadsheetml.table+xml", "")
        .typed(
            "xl/tables/tableSingleCells1.xml",
            "spreadsheetml.tableSingleCells+xml",
            "",
        )
        .typed("xl/charts/c.xml", "drawingml.chart+xml", "")
        .typed(
            "xl/charts/chartEx1.xml",
            "application/vnd.ms-office.chartex+xml",
            "",
        )
        .typed(
            "xl/charts/style1.xml",
            "application/vnd.ms-office.chartstyle+xml",
            "",
        )
        .typed("xl/p/one.xml", "spreadsheetml.pivotTable+xml", "")
        .typed("xl/worksheets/a.xml", "spreadsheetml.worksheet+xml", "")
        .typed("xl/chartsheets/b.xml", "spreadsheetml.chartsheet+xml", "")
        .part("xl/media/image1.png", "")
        .part("xl/media/image1.unknown", "");
    assert_values(
        &deep("a.xlsx", &package.build()),
        &[
            ("excel.table_count", json!(1)),
            ("excel.chart_part_count", json!(2)),
            ("excel.pivot_table_part_count", json!(1)),
            ("excel.unique_image_asset_count", json!(1)),
        ],
    );
    let flags = [
        "-t",
        "sheet_count",
        "-O",
        "workbook_path=inventory",
        "-c",
        "medium",
    ];
    let report = probe(&flags, "a.xlsx", &package.build());
    assert_values(&report, &[("excel.sheet_count", json!(2))]);
    assert_eq!(
        report["results"]["excel.sheet_count"]["status"],
        "estimated"
    );
}

/// Three sheets and a name.
pub(super) fn small_binary_workbook() -> Vec<u8> {
    [
        record(131, &[]),
        bundle_sheet(0, "Größe"),
        bundle_sheet(1, "hidden"),
        bundle_sheet(2, "very"),
        record(144, &[]),
        record(39, &[0; 20]),
        record(132, &[]),
    ]
    .concat()
}

#[test]
fn binary_workbooks_say_as_much_as_the_others() {
    // R-1, and more than the original has paths for.
    let stream = small_binary_workbook();
    let strings = [
        record(159, &[9; 8]),
        record(19, &[0; 9]),
        record(19, &[0; 300]),
        record(160, &[]),
    ]
    .concat();
    let package = Package::new("xlsb").main(&stream).typed(
        "xl/sharedStrings.bin",
        "application/vnd.ms-excel.sharedStrings",
        strings,
    );
    let report = deep("a.xlsb", &package.build());
    assert_values(
        &report,
        &[
            ("excel.binary_workbook", json!(true)),
            ("excel.sheet_count", json!(3)),
            ("excel.sheet_names", json!(["Größe", "hidden", "very"])),
            ("excel.hidden_sheet_count", json!(2)),
            ("excel.defined_name_count", json!(1)),
            ("excel.shared_string_count", json!(2)),
        ],
    );
    let cut = Package::new("xlsb").main(&stream[..stream.len() - 4]);
    let report = deep("a.xlsb", &cut.build());
    assert_values(
        &report,
        &[
            ("excel.sheet_count", json!(3)),
            ("excel.defined_name_count", Value::Null),
        ],
    );
}

/// A BIFF12 record ([MS-XLSB] 2.1.4).
fn record(kind: u16, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for mut number in [usize::from(kind), data.len()] {
        loop {
            let more = number > 0x7F;
            out.push((number & 0x7F) as u8 | if more { 0x80 } else { 0 });
            number >>= 7;
            if !more {
                break;
            }
        }
    }
    [out, data.to_vec()].concat()
}

fn bundle_sheet(state: u32, name: &str) -> Vec<u8> {
    let mut data = [state.to_le_bytes(), 1_u32.to_le_bytes()].concat();
    for text in ["rId1", name] {
        data.extend((text.encode_utf16().count() as u32).to_le_bytes());
        data.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    }
    record(156, &data)
}
