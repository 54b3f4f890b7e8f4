//! What leads out of a package, macros in unusual places, and the signals that follow.

use serde_json::json;

use super::build::{Package, RELATIONSHIP_NS, SHEET_NS, WORD_NS, core_xml, relationships_xml};
use super::zip::Archive;
use super::{assert_values, deep, probe};
use crate::harness::value;

fn story(root: &str, body: &str) -> String {
    format!("<w:{root} xmlns:w='{WORD_NS}'>{body}</w:{root}>")
}

fn field(code: &str) -> String {
    format!(
        "<w:p><w:r><w:fldChar w:fldCharType='begin'/></w:r><w:r><w:instrText>{code}</w:instrText></w:r>\
         <w:r><w:fldChar w:fldCharType='end'/></w:r></w:p>"
    )
}

fn document(body: &str) -> String {
    story("document", &format!("<w:body>{body}</w:body>"))
}

#[test]
fn fields_with_an_address_are_external_references_at_every_level() {
    let external = "security.has_external_relationships";
    for (code, expected, risk) in [
        ("DDEAUTO c:\\\\prog \"topic\"", true, "medium"),
        (
            "INCLUDEPICTURE \"http://example.org/a.png\" \\d",
            true,
            "low",
        ),
        ("LINK Excel.Sheet.8 \"c:\\\\a.xls\"", true, "low"),
        ("HYPERLINK \"http://example.org\"", true, "low"),
        ("HYPERLINK \\l \"here\"", false, "none"),
        ("PAGE", false, "none"),
    ] {
        let package = Package::new("docx").main(document(&field(code)));
        let report = deep("a.docx", &package.build());
        assert_values(
            &report,
            &[
                (external, json!(expected)),
                ("security.active_content_risk", json!(risk)),
            ],
        );
        let shallow = probe(&["-t", external], "a.docx", &package.build());
        assert_values(&shallow, &[(external, json!(expected))]);
        let header = Package::new("docx").typed(
            "word/header1.xml",
            "wordprocessingml.header+xml",
            story("hdr", &field(code)),
        );
        let report = deep("a.docx", &header.build());
        assert_values(&report, &[(external, json!(expected))]);
    }
}

#[test]
fn connections_and_external_links_of_workbooks_are_external_references() {
    for (name, kind, signal) in [
        (
            "xl/connections.xml",
            "spreadsheetml.connections+xml",
            "external_connection",
        ),
        (
            "xl/externalLinks/externalLink1.xml",
            "spreadsheetml.externalLink+xml",
            "external_link",
        ),
    ] {
        let package = Package::new("xlsx").typed(name, kind, format!("<x xmlns='{SHEET_NS}'/>"));
        let report = deep("a.xlsx", &package.build());
        assert_values(
            &report,
            &[
                ("security.has_external_relationships", json!(true)),
                ("security.active_content_risk", json!("low")),
                (
                    "security.risk_signals",
                    json!([{"count": 1, "signal": signal, "severity": "low", "location": name}]),
                ),
            ],
        );
    }
}

#[test]
fn external_link_targets_are_those_of_the_link_parts() {
    let package = Package::new("xlsx")
        .typed(
            "xl/externalLinks/externalLink1.xml",
            "spreadsheetml.externalLink+xml",
            "<x/>",
        )
        .part(
            "xl/externalLinks/_rels/externalLink1.xml.rels",
            relationships_xml(&[("externalLinkPath", "file:///c:/b.xlsx", true)]),
        );
    let report = deep("a.xlsx", &package.build());
    assert_values(
        &report,
        &[("excel.external_link_targets", json!(["file:///c:/b.xlsx"]))],
    );
}

#[test]
fn properties_come_from_the_part_of_the_standard_relationship_type() {
    let foreign = "http://schemas.openxmlformats.org/officedocument/2006/relationships/metadata/core-properties";
    let core_type = "application/vnd.openxmlformats-package.core-properties+xml";
    for foreign_first in [true, false] {
        let mut package = Package::new("docx")
            .core("<dc:title>standard</dc:title>")
            .typed(
                "docProps/other.xml",
                core_type,
                core_xml("<dc:title>other</dc:title>"),
            );
        let entry = (foreign.to_owned(), "docProps/other.xml".to_owned());
        let at = if foreign_first { 0 } else { package.root.len() };
        package.root.insert(at, entry);
        let report = deep("a.docx", &package.build());
        assert_values(&report, &[("document.title", json!("standard"))]);
    }
    let mut package = Package::new("docx").app("<Application>standard</Application>").typed(
        "docProps/other.xml",
        "extended-properties+xml",
        "<Properties xmlns='http://schemas.openxmlformats.org/officeDocument/2006/extended-properties'>\
         <Application>other</Application></Properties>",
    );
    let foreign = format!("{RELATIONSHIP_NS}/extendedProperties");
    package
        .root
        .insert(0, (foreign, "docProps/other.xml".into()));
    let report = deep("a.docx", &package.build());
    assert_values(&report, &[("document.application", json!("standard"))]);
}

#[test]
fn a_vba_project_may_be_known_by_its_relationship_alone() {
    let vba = "http://schemas.microsoft.com/office/2006/relationships/vbaProject";
    for (extension, folder) in [
        ("docm", "word"),
        ("docx", "word"),
        ("xlsm", "xl"),
        ("pptm", "ppt"),
    ] {
        let main = match folder {
            "word" => "document",
            "xl" => "workbook",
            _ => "presentation",
        };
        let package = Package::new(extension)
            .part(&format!("{folder}/data.dat"), "code")
            .part(
                &format!("{folder}/_rels/{main}.xml.rels"),
                relationships_xml(&[(vba, "data.dat", false)]),
            );
        let name = format!("a.{extension}");
        for flags in [&["-t", "has_macros"][..], &["-l", "d", "-t", "@all"]] {
            let report = probe(flags, &name, &package.build());
            assert_values(&report, &[("security.has_macros", json!(true))]);
        }
    }
}

/// A VBA project as a compound file, with one module whose source is packed as one literal chunk.
fn vba_project(storage: &str, source: &str) -> Vec<u8> {
    let mut chunk = Vec::new();
    for eight in source.as_bytes().chunks(8) {
        chunk.push(0);
        chunk.extend(eight);
    }
    let mut module = vec![0xEE; 40];
    module.push(1);
    module.extend((0xB000 | u16::try_from(chunk.len() - 1).unwrap()).to_le_bytes());
    module.extend(chunk);
    let path = |name: &str| format!("{storage}VBA/{name}");
    crate::legacy::make::compound(&[
        (&path("dir"), b"dir"),
        (&path("_VBA_PROJECT"), b"x"),
        (&path("Module1"), &module),
    ])
}

#[test]
fn macros_inside_an_embedded_object_are_found_and_the_evidence_says_where() {
    let inner = Package::new("xlsm").typed(
        "xl/vbaProject.bin",
        "application/vnd.ms-office.vbaProject",
        "",
    );
    for (name, content) in [
        ("word/embeddings/sheet.xlsm", inner.build()),
        (
            "word/embeddings/oleObject1.bin",
            vba_project("_VBA_PROJECT_CUR/", "Attribute VB_Name"),
        ),
        (
            "word/embeddings/oleObject2.bin",
            crate::legacy::make::compound(&[("Package", &inner.build())]),
        ),
    ] {
        let package = Package::new("docx").part(name, content);
        for targets in ["has_macros", "@all"] {
            let report = probe(&["-l", "d", "-t", targets], "a.docx", &package.build());
            assert_values(&report, &[("security.has_macros", json!(true))]);
            let evidence = report["results"]["security.has_macros"].to_string();
            assert!(evidence.contains(name), "{evidence}");
        }
        // Below deep the object is not opened, and the answer does not claim to know.
        let report = probe(&["-t", "has_macros"], "a.docx", &package.build());
        let shallow = &report["results"]["security.has_macros"];
        assert_eq!(
            (&shallow["value"], &shallow["confidence"]),
            (&json!(false), &json!("high"))
        );
        assert!(
            shallow["source"].to_string().contains("not read"),
            "{shallow}"
        );
    }
    let harmless =
        Package::new("docx").part("word/embeddings/sheet.xlsx", Package::new("xlsx").build());
    let report = deep("a.docx", &harmless.build());
    assert_values(
        &report,
        &[
            ("security.has_macros", json!(false)),
            ("security.active_content_risk", json!("medium")),
        ],
    );
}

#[test]
fn signals_name_macros_that_run_by_themselves_templates_and_programs() {
    let source = "Attribute VB_Name = \"M\"\r\nSub AutoOpen()\r\nEnd Sub\r\n";
    let package = Package::new("docm")
        .typed(
            "word/vbaProject.bin",
            "application/vnd.ms-office.vbaProject",
            vba_project("", source),
        )
        .part("word/embeddings/tool.exe", "MZ a program")
        .part(
            "word/_rels/settings.xml.rels",
            relationships_xml(&[("attachedTemplate", "http://example.org/t.dotm", true)]),
        );
    let report = deep("a.docm", &package.build());
    let signals = value(&report, "security.risk_signals").unwrap();
    let found = |signal: &str| {
        let list = signals.as_array().unwrap();
        list.iter().find(|entry| entry["signal"] == signal).cloned()
    };
    assert_eq!(found("auto_exec_macro").unwrap()["detail"], "AutoOpen");
    assert_eq!(
        found("vba_macros").unwrap()["location"],
        "word/vbaProject.bin"
    );
    assert_eq!(
        found("embedded_program").unwrap()["location"],
        "word/embeddings/tool.exe"
    );
    let template = found("remote_template").unwrap();
    assert_eq!(template["detail"], "http://example.org/t.dotm");
    assert_eq!(template["location"], "word/settings.xml");
    assert_values(&report, &[("security.active_content_risk", json!("high"))]);
}

#[test]
fn an_end_record_inside_the_comment_of_an_archive_is_not_taken_for_its_own() {
    let plain = Package::new("docx").core("<dc:title>T</dc:title>");
    let fake = [&b"PK\x05\x06"[..], &[0; 18]].concat();
    for comment in [
        fake.clone(),
        [&b"before "[..], &fake, b" after"].concat(),
        b"PK\x05\x06 is the signature of an end record".to_vec(),
    ] {
        let mut bytes = Archive::new(plain.entries()).build();
        let length = bytes.len();
        bytes[length - 2..].copy_from_slice(&u16::try_from(comment.len()).unwrap().to_le_bytes());
        bytes.extend(&comment);
        let report = deep("a.docx", &bytes);
        assert_values(&report, &[("document.title", json!("T"))]);
    }
}
