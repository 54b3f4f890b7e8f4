//! What a file really is: content under another name, without a name, or of no format of ours.

use serde_json::json;

use crate::common::{docx, pdf};
use crate::harness::{Engine, run, value};
use crate::support::zip;

const LEVELS: [&str; 3] = ["header", "metadata", "deep"];

#[test]
fn identity_is_answered_by_content_at_every_level_when_the_name_is_wrong() {
    let package = zip::archive([
        (
            "[Content_Types].xml",
            r#"<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>"#,
        ),
        (
            "xl/workbook.xml",
            r#"<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheets/></workbook>"#,
        ),
    ]);
    for level in LEVELS {
        for targets in ["format_profile,extension_matches", "@header"] {
            let mut engine = Engine::start(&["-l", level, "-t", targets]);
            for (name, bytes, profile) in [
                ("a.docx", &pdf("<<>>"), "pdf"),
                ("a.doc", &pdf("<<>>"), "pdf"),
                ("a.pdf", &docx(""), "docx"),
                ("a.xls", &package, "xlsx"),
                ("a.docx", &package, "xlsx"),
                ("a.pages", &package, "xlsx"),
                ("a.bin", &package, "xlsx"),
            ] {
                let report = engine.probe(name, bytes);
                assert_eq!(report["driver"]["profile"], profile, "{name} {report}");
                assert_eq!(
                    value(&report, "document.format_profile"),
                    Some(&json!(profile))
                );
                assert_eq!(
                    value(&report, "document.extension_matches"),
                    Some(&json!(false)),
                    "{name}"
                );
            }
            let report = engine.probe("a.docx", &docx(""));
            assert_eq!(
                value(&report, "document.extension_matches"),
                Some(&json!(true))
            );
        }
    }
}

#[test]
fn a_file_without_an_extension_is_probed_as_what_it_is() {
    let mut engine = Engine::start(&["-t", "title,extension_matches"]);
    for (name, bytes) in [
        ("report", pdf("<</Title(T)>>")),
        ("report", docx("<dc:title>T</dc:title>")),
    ] {
        let report = engine.probe(name, &bytes);
        assert_eq!(value(&report, "document.title"), Some(&json!("T")));
        assert_eq!(
            value(&report, "document.extension_matches"),
            Some(&json!(false))
        );
    }
    let refused = engine.probe("report", b"hello");
    assert_eq!(refused["error"]["code"], "UNSUPPORTED_FORMAT");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(
        message.ends_with("(the content is plain text)"),
        "{message}"
    );
}

#[test]
fn errors_about_the_format_say_what_the_content_is() {
    for (name, bytes, code, content) in [
        (
            "a.doc",
            &b"{\\rtf1 x}"[..],
            "MALFORMED_INPUT",
            "a Rich Text Format document",
        ),
        ("a.doc", b"<html><body>", "MALFORMED_INPUT", "an HTML page"),
        (
            "a.docx",
            b"PK\x03\x04",
            "MALFORMED_INPUT",
            "a ZIP archive without",
        ),
        (
            "a.odt",
            b"PK\x03\x04\x14\0mimetypeapplication/vnd.oasis.opendocument.text",
            "UNSUPPORTED_FORMAT",
            "an OpenDocument file",
        ),
        (
            "a.pdf",
            b"\x89PNG\r\n\x1a\n",
            "MALFORMED_INPUT",
            "a PNG picture",
        ),
        ("a.pdf", b"", "MALFORMED_INPUT", "an empty file"),
    ] {
        let mut engine = Engine::start(&["-t", "title,@header"]);
        let refused = engine.probe(name, bytes);
        assert_eq!(refused["error"]["code"], code, "{refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(
            message.contains(&format!("(the content is {content}")),
            "{message}"
        );
    }
    // Facts under a wrong name are refused, and the way to the identity is named.
    let refused = run(&["-t", "title", "-n", "a.docx", "-"], &pdf("<</Title(T)>>"));
    let text = String::from_utf8(refused.stdout).unwrap();
    assert!(
        text.contains("the content is a PDF document; format_profile"),
        "{text}"
    );
}

#[test]
fn a_damaged_document_under_its_own_name_stays_an_error_without_a_guess() {
    let mut engine = Engine::start(&["-t", "title,@header"]);
    let refused = engine.probe("a.pdf", b"%PDF-1.7\nnothing else");
    assert_eq!(refused["error"]["code"], "MALFORMED_INPUT");
    assert!(!refused.to_string().contains("the content is"), "{refused}");
}
