//! Which packages are accepted, and what the container says.

use serde_json::json;

use super::build::{
    CONTENT_TYPES, MAIN_TYPES, Package, SHEET_NS, SLIDE_NS, WORD_NS, relationships_xml,
};
use super::zip::{Archive, Packing, Part};
use super::{assert_refused, assert_values, deep, probe};

#[test]
fn every_extension_with_its_own_content_type_is_accepted() {
    // the original refuses all macro-enabled and binary packages.
    for (extension, _) in MAIN_TYPES {
        let bytes = Package::new(extension).build();
        let report = probe(
            &["-l", "h", "-t", "@header"],
            &format!("a.{extension}"),
            &bytes,
        );
        assert_values(
            &report,
            &[
                ("document.format_profile", json!(extension)),
                ("document.format", json!("office-open-xml")),
                ("document.extension_matches", json!(true)),
                ("security.encrypted", json!(false)),
            ],
        );
        assert_eq!(report["status"], "ok");
    }
}

#[test]
fn the_content_type_of_the_main_part_decides_and_nothing_else() {
    // W-19: parts whose types contain the text of another profile's.
    let macros =
        Package::new("xlsm").typed("xl/metadata.xml", "spreadsheetml.sheetMetadata+xml", "");
    let glossary = Package::new("dotx").typed(
        "word/glossary/document.xml",
        "wordprocessingml.document.glossary+xml",
        "",
    );
    let cases = [
        ("a.xlsx", macros.build()),
        ("a.docx", glossary.build()),
        ("a.docx", Package::new("xlsx").build()),
        ("a.pptx", Package::new("ppsx").build()),
    ];
    for (name, bytes) in cases {
        assert_refused(&deep(name, &bytes), "MALFORMED_INPUT", "does not match");
    }
}

#[test]
fn the_main_part_is_found_through_the_relationships() {
    //
    let cases = [
        ("word/document2.xml", "word/document2.xml"),
        ("other/place.xml", "/other/place.xml"),
        ("Word/Document.XML", "word/document.xml"),
        ("word/a b.xml", "word/a%20b.xml"),
        ("main.xml", "./x/../main.xml"),
    ];
    for (name, target) in cases {
        let body = format!("<w:document xmlns:w='{WORD_NS}'><w:p/><w:p/></w:document>");
        let package = Package::new("docx").main_at(name, target).main(body);
        let report = deep("a.docx", &package.build());
        assert_values(&report, &[("word.paragraph_count", json!(2))]);
    }
}

#[test]
fn of_two_candidates_the_relationship_chooses() {
    let decoy = format!("<w:document xmlns:w='{WORD_NS}'><w:p/></w:document>");
    let real = format!("<w:document xmlns:w='{WORD_NS}'><w:p/><w:p/><w:p/></w:document>");
    let package = Package::new("docx")
        .main_at("word/real.xml", "word/real.xml")
        .main(real)
        .typed("word/document.xml", MAIN_TYPES[0].1, decoy);
    let report = deep("a.docx", &package.build());
    assert_values(&report, &[("word.paragraph_count", json!(3))]);
}

#[test]
fn names_in_other_case_and_with_other_slashes_are_found() {
    //
    let rename = |from: &str, to: &str| {
        let (from, to) = (from.as_bytes(), to.as_bytes().to_vec());
        Archive::new(
            Package::new("docx")
                .core("<dc:title>T</dc:title>")
                .entries()
                .into_iter()
                .map(|mut part| {
                    if part.name == from {
                        part.name.clone_from(&to);
                    }
                    part
                }),
        )
        .build()
    };
    for (from, to) in [
        (CONTENT_TYPES, "[content_types].xml"),
        ("word/document.xml", "\\word\\document.xml"),
        ("docProps/core.xml", "/docprops/CORE.xml"),
        ("_rels/.rels", "_RELS\\.rels"),
    ] {
        let report = deep("a.docx", &rename(from, to));
        assert_values(
            &report,
            &[
                ("document.title", json!("T")),
                ("word.table_count", json!(0)),
                ("office.conformance", json!("transitional")),
            ],
        );
    }
}

#[test]
fn what_keeps_the_package_from_being_read_is_named() {
    // the original says that the part is missing.
    let package = Package::new("docx").core("<dc:title>T</dc:title>");
    let encrypted = package.build_with(CONTENT_TYPES, |part| part.flags(1));
    assert_refused(&deep("a.docx", &encrypted), "MALFORMED_INPUT", "encrypted");
    let packed = package.build_with(CONTENT_TYPES, |part| part.packing(Packing::Claimed(14)));
    assert_refused(&deep("a.docx", &packed), "MALFORMED_INPUT", "method 14");
    let wrong = package.build_with(CONTENT_TYPES, |part| part.claimed_crc(1));
    assert_refused(&deep("a.docx", &wrong), "MALFORMED_INPUT", "checksum");
    let none = Archive::new([Part::new("word/document.xml", "")]).build();
    assert_refused(&deep("a.docx", &none), "MALFORMED_INPUT", CONTENT_TYPES);
    assert_refused(&deep("a.docx", b"PK\x03\x04"), "MALFORMED_INPUT", "ZIP");
}

#[test]
fn a_part_that_cannot_be_read_costs_only_what_it_would_have_said() {
    let package = Package::new("docx")
        .core("<dc:title>T</dc:title>")
        .app("<Pages>3</Pages>");
    for change in [
        |part: Part| part.flags(1),
        |part: Part| part.packing(Packing::Claimed(12)),
        |part: Part| part.claimed_crc(1),
    ] {
        let report = deep("a.docx", &package.build_with("docProps/core.xml", change));
        assert_values(
            &report,
            &[
                ("document.title", json!(null)),
                ("word.page_count", json!(3)),
                ("office.package_entry_count", json!(5)),
            ],
        );
    }
}

#[test]
fn conformance_is_that_of_the_main_part() {
    // W-18.
    for extension in ["docx", "xlsx", "pptx"] {
        let name = format!("a.{extension}");
        let report = deep(&name, &Package::new(extension).build());
        assert_values(&report, &[("office.conformance", json!("transitional"))]);
        let strict = Package::strict(extension).app("<Application>X</Application>");
        let report = deep(&name, &strict.build());
        assert_values(
            &report,
            &[
                ("office.conformance", json!("strict")),
                ("document.application", json!("X")),
            ],
        );
    }
    // Without relationships the root element tells, in every encoding and however late it comes.
    let late = format!("<!--{}-->", "http://purl.oclc.org/ooxml/ ".repeat(300));
    for (package, expected) in [
        (Package::strict("docx"), "strict"),
        (Package::new("docx"), "transitional"),
    ] {
        let root = String::from_utf8(package.parts[0].2.clone()).unwrap();
        let utf16 = format!("\u{feff}{root}")
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        for content in [
            root.clone().into_bytes(),
            (late.clone() + &root).into_bytes(),
            utf16,
        ] {
            let mut package = package.clone().main(content);
            package.root.clear();
            assert_values(
                &deep("a.docx", &package.build()),
                &[("office.conformance", json!(expected))],
            );
        }
    }
    // The strict namespace in a comment makes nothing strict.
    let package = Package::new("docx");
    let bytes = package.build_with(CONTENT_TYPES, |mut part| {
        part.content.extend(b"<!-- http://purl.oclc.org/ooxml/ -->");
        part
    });
    assert_values(
        &deep("a.docx", &bytes),
        &[("office.conformance", json!("transitional"))],
    );
}

#[test]
fn without_relationships_the_content_types_have_to_do() {
    let package = Package::strict("docx").core("<dc:title>T</dc:title>");
    for broken in [
        package.build_with("_rels/.rels", |part| part.claimed_crc(1)),
        Archive::new(
            package
                .entries()
                .into_iter()
                .filter(|part| part.name != b"_rels/.rels"),
        )
        .build(),
    ] {
        let report = deep("a.docx", &broken);
        assert_values(
            &report,
            &[
                ("document.title", json!("T")),
                ("office.conformance", json!("strict")),
                ("word.paragraph_count", json!(0)),
            ],
        );
    }
}

#[test]
fn every_part_may_be_in_utf_16() {
    // R-4, of all parts at once: content types, relationships, properties and the main part.
    let cases = [
        (
            "docx",
            format!("<w:document xmlns:w='{WORD_NS}'><w:p/><w:p/></w:document>"),
            ("word.paragraph_count", json!(2)),
        ),
        (
            "xlsx",
            format!(
                "<workbook xmlns='{SHEET_NS}'><sheets><sheet name='Größe'/></sheets></workbook>"
            ),
            ("excel.sheet_names", json!(["Größe"])),
        ),
        (
            "pptx",
            format!(
                "<p:presentation xmlns:p='{SLIDE_NS}'><p:sldSz cx='1' cy='2'/></p:presentation>"
            ),
            ("powerpoint.orientation", json!("portrait")),
        ),
    ];
    for (extension, main, fact) in cases {
        let package = Package::new(extension)
            .main(main)
            .core("<dc:title>T</dc:title>")
            .app("<Application>X</Application>");
        let entries = package.entries().into_iter().map(|mut part| {
            let text = String::from_utf8(part.content).unwrap();
            let text = text.replace("encoding='UTF-8'", "encoding='UTF-16'");
            part.content = format!("\u{feff}{text}")
                .encode_utf16()
                .flat_map(u16::to_be_bytes)
                .collect();
            part
        });
        let report = deep(&format!("a.{extension}"), &Archive::new(entries).build());
        assert_values(
            &report,
            &[
                ("document.title", json!("T")),
                ("document.application", json!("X")),
                ("office.conformance", json!("transitional")),
                ("security.has_external_relationships", json!(false)),
                fact,
            ],
        );
    }
}

#[test]
fn entries_are_counted_by_distinct_name() {
    let mut archive = Archive::new(Package::new("docx").entries());
    archive.parts.push(Part::new("word/", ""));
    archive
        .parts
        .push(Part::new("word/document.xml", "the later one"));
    let report = deep("a.docx", &archive.build());
    assert_values(
        &report,
        &[
            ("office.package_entry_count", json!(4)),
            ("word.table_count", json!(null)),
        ],
    );
}

#[test]
fn relationships_to_nowhere_do_no_harm() {
    let rels = relationships_xml(&[("officeDocument", "word/missing.xml", false)]);
    let bytes = Package::new("docx").build_with("_rels/.rels", |mut part| {
        part.content = rels.clone().into_bytes();
        part
    });
    assert_values(&deep("a.docx", &bytes), &[("word.table_count", json!(0))]);
}
