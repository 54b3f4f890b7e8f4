use super::*;

#[test]
fn targets_resolve_as_references_within_the_package() {
    let cases = [
        ("", "word/document.xml", "word/document.xml"),
        ("", "/word/document.xml", "word/document.xml"),
        ("word/document.xml", "media/a.png", "word/media/a.png"),
        (
            "/word/document.xml",
            "../docProps/app.xml",
            "docProps/app.xml",
        ),
        ("word/document.xml", "../../../x", "x"),
        (
            "xl\\workbook.xml",
            "worksheets\\a.xml",
            "xl/worksheets/a.xml",
        ),
        ("a/b.xml", "./c.xml#frag", "a/c.xml"),
    ];
    for (from, target, expected) in cases {
        assert_eq!(relationships::resolve(from, target), expected);
    }
    assert_eq!(relationships::part_of(""), "_rels/.rels");
    assert_eq!(
        relationships::part_of("/word/document.xml"),
        "word/_rels/document.xml.rels"
    );
}

#[test]
fn percent_encoding_does_not_count_in_names() {
    assert_eq!(undo_percent("a%20b%C3%A9"), "a bé");
    assert_eq!(undo_percent("100%"), "100%");
    assert_eq!(undo_percent("%zz%+1"), "%zz%+1");
}

#[test]
fn content_types_are_told_apart_by_more_than_a_part_of_their_text() {
    let cases = [
        (
            "application/vnd.ms-excel.sheet.macroEnabled.main+xml",
            Kind::Main(Main::Xlsm),
        ),
        (
            "APPLICATION/VND.MS-EXCEL.SHEET.MACROENABLED.MAIN+XML",
            Kind::Main(Main::Xlsm),
        ),
        (
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheetMetadata+xml",
            Kind::Other,
        ),
        (
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document.glossary+xml",
            Kind::Other,
        ),
        ("Image/PNG", Kind::Image),
    ];
    for (content_type, expected) in cases {
        assert_eq!(Kind::of(content_type), expected, "{content_type}");
    }
}
