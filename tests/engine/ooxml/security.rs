//! Macros, signatures, external relationships and embedded objects.

use serde_json::{Value, json};

use super::build::{Package, relationships_xml};
use super::{assert_values, deep};

fn facts(
    macros: bool,
    signed: bool,
    external: bool,
    embedded: bool,
    risk: &str,
) -> Vec<(&str, Value)> {
    vec![
        ("security.has_macros", json!(macros)),
        ("security.has_digital_signature", json!(signed)),
        ("security.has_external_relationships", json!(external)),
        ("security.has_embedded_files", json!(embedded)),
        ("security.active_content_risk", json!(risk)),
        ("security.password_protected", json!(false)),
        ("security.encrypted", json!(false)),
    ]
}

#[test]
fn what_a_package_holds_is_read_from_the_parts_that_define_it() {
    let hyperlink = relationships_xml(&[("hyperlink", "http://example.org/", true)]);
    let ole = relationships_xml(&[("oleObject", "../other/o.bin", false)]);
    let signature = "application/vnd.openxmlformats-package.digital-signature-xmlsignature+xml";
    let vba = "application/vnd.ms-office.vbaProject";
    let cases = [
        (
            "docx",
            Package::new("docx"),
            facts(false, false, false, false, "none"),
        ),
        (
            "docm",
            Package::new("docm").typed("word/vbaProject.bin", vba, ""),
            facts(true, false, false, false, "high"),
        ),
        (
            "docm",
            Package::new("docm").typed("word/code.bin", vba, ""),
            facts(true, false, false, false, "high"),
        ),
        (
            // W-23: Excel 4.0 macro sheets are macros.
            "xlsm",
            Package::new("xlsm").typed(
                "xl/macrosheets/sheet1.xml",
                "application/vnd.ms-excel.macrosheet+xml",
                "",
            ),
            facts(true, false, false, false, "high"),
        ),
        (
            // W-23: ActiveX controls are active content.
            "xlsx",
            Package::new("xlsx").typed(
                "xl/activeX/activeX1.xml",
                "application/vnd.ms-office.activeX+xml",
                "",
            ),
            facts(false, false, false, false, "medium"),
        ),
        (
            "docx",
            Package::new("docx").part("word/_rels/document.xml.rels", hyperlink.clone()),
            facts(false, false, true, false, "low"),
        ),
        (
            "docx",
            Package::new("docx").part("word/_rels/document.xml.rels", ole),
            facts(false, false, false, true, "medium"),
        ),
        (
            "pptx",
            Package::new("pptx").part("ppt/embeddings/a.xlsx", ""),
            facts(false, false, false, true, "medium"),
        ),
        (
            "xlsx",
            Package::new("xlsx").typed("sigs/one.xml", signature, ""),
            facts(false, true, false, false, "none"),
        ),
    ];
    for (extension, package, expected) in cases {
        let report = deep(&format!("a.{extension}"), &package.build());
        assert_values(&report, &expected);
        assert_eq!(
            report["results"]["security.has_javascript"]["status"],
            "unsupported"
        );
    }
}

#[test]
fn signatures_are_counted_once() {
    let signature = "application/vnd.openxmlformats-package.digital-signature-xmlsignature+xml";
    let package = Package::new("docx")
        .part("_xmlsignatures/origin.sigs", "")
        .part("_xmlsignatures/_rels/sig1.xml", "")
        .typed("_xmlsignatures/sig1.xml", signature, "")
        .part("_XMLSignatures/Sig2.XML", "");
    let report = deep("a.docx", &package.build());
    assert_values(&report, &[("security.signature_count", json!(2))]);
    // A folder without anything in it is no signature.
    let package = Package::new("docx").part("_xmlsignatures/", "");
    assert_values(
        &deep("a.docx", &package.build()),
        &facts(false, false, false, false, "none"),
    );
}

#[test]
fn a_damaged_relationship_part_leaves_open_only_what_it_could_have_said() {
    //
    let hyperlink = relationships_xml(&[("hyperlink", "http://example.org/", true)]);
    let package = Package::new("docx")
        .core("<dc:title>T</dc:title>")
        .part("word/_rels/document.xml.rels", hyperlink)
        .part("word/_rels/broken.xml.rels", "<Relationships><");
    let report = deep("a.docx", &package.build());
    assert_values(
        &report,
        &[
            ("document.title", json!("T")),
            ("security.has_macros", json!(false)),
            ("security.has_digital_signature", json!(false)),
            ("security.has_external_relationships", json!(true)),
            ("security.has_embedded_files", json!(null)),
            ("security.active_content_risk", json!(null)),
            ("security.signature_count", json!(0)),
        ],
    );
    let utf16: Vec<u8> = "\u{feff}<?xml version='1.0' encoding='utf-16'?>"
        .encode_utf16()
        .chain(
            relationships_xml(&[("image", "x", false), ("hyperlink", "http://e.org", true)])
                .encode_utf16(),
        )
        .flat_map(u16::to_le_bytes)
        .collect();
    let package = Package::new("docx").part("word/_rels/document.xml.rels", utf16);
    assert_values(
        &deep("a.docx", &package.build()),
        &facts(false, false, true, false, "low"),
    );
}
