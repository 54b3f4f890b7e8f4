//! Budgets: what they stop, and what they leave standing (contract §4, §10 E).

use serde_json::{Value, json};

use crate::harness::{Engine, json_of, run, value};
use crate::support::zip;

const TYPES: &str = r#"<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/><Override PartName="/docProps/core.xml" ContentType="application/vnd.openxmlformats-package.core-properties+xml"/><Override PartName="/docProps/app.xml" ContentType="application/vnd.openxmlformats-officedocument.extended-properties+xml"/></Types>"#;
const RELS: &str = r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="a" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/><Relationship Id="b" Type="http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties" Target="docProps/core.xml"/><Relationship Id="c" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/extended-properties" Target="docProps/app.xml"/></Relationships>"#;
const DOCUMENT: &str = r#"<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p/></w:body></w:document>"#;
const APP: &str = r#"<Properties xmlns="http://schemas.openxmlformats.org/officeDocument/2006/extended-properties"><Words>5</Words></Properties>"#;

/// A document whose core properties are padded with this many blanks.
fn docx(padding: usize) -> Vec<u8> {
    titled("T", padding)
}

fn titled(title: &str, padding: usize) -> Vec<u8> {
    let core = format!(
        r#"<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/">{}<dc:title>{title}</dc:title></cp:coreProperties>"#,
        " ".repeat(padding)
    );
    zip::archive([
        ("[Content_Types].xml", TYPES),
        ("_rels/.rels", RELS),
        ("word/document.xml", DOCUMENT),
        ("docProps/core.xml", &core),
        ("docProps/app.xml", APP),
    ])
}

#[test]
fn a_budget_costs_the_part_that_does_not_fit_and_not_what_fits() {
    let bytes = docx(9 << 20);
    for targets in ["title,word_count", "word_count,title"] {
        let mut engine = Engine::start(&["-t", targets]);
        let report = engine.probe("a.docx", &bytes);
        assert_eq!(report["status"], "partial", "{report}");
        assert_eq!(value(&report, "word.word_count"), Some(&json!(5)));
        let title = &report["results"]["document.title"];
        assert_eq!(title["status"], "budget_exceeded");
        assert_eq!(title["path"], "ooxml.core_properties");
        assert_eq!(
            report["execution"]["unresolved_targets"],
            json!(["document.title"])
        );
        let codes: Vec<&Value> = report["diagnostics"]
            .as_array()
            .unwrap()
            .iter()
            .map(|diagnostic| &diagnostic["code"])
            .collect();
        assert_eq!(codes, ["UNRESOLVED_TARGET", "BUDGET_EXCEEDED"]);
    }
    for (flags, status) in [(&[][..], 0), (&["--strict"], 5)] {
        let arguments: Vec<_> = ["-t", "title,word_count", "-n", "a.docx", "-"]
            .iter()
            .chain(flags)
            .copied()
            .collect();
        assert_eq!(run(&arguments, &bytes).status.code(), Some(status));
    }
}

#[test]
fn with_nothing_known_a_budget_is_an_error_that_says_what_was_spent() {
    // M-7.
    let bytes = docx(9 << 20);
    for targets in ["title", "title,author"] {
        let output = run(&["-t", targets, "-n", "a.docx", "-"], &bytes);
        assert_eq!(output.status.code(), Some(4));
        let reply = json_of(&output);
        assert_eq!(reply["error"]["code"], "BUDGET_EXCEEDED");
        let message = reply["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("budget exceeded: "), "{message}");
        assert!(
            message.contains("; spent ") && message.contains("bytes read"),
            "{message}"
        );
    }
}

#[test]
fn no_budget_is_ever_read_as_a_part_that_is_not_there() {
    let bytes = docx(3000);
    for flag in ["--probe-size", "--max-expanded-bytes"] {
        let mut answered = 0;
        for limit in (0..bytes.len() as u64 + 4000).step_by(7) {
            let options = if flag == "--probe-size" {
                json!({"max_physical_bytes": limit})
            } else {
                json!({"max_expanded_bytes": limit})
            };
            let mut record = crate::harness::record("a.docx", &bytes);
            record["options"] = json!({"targets": ["title"], "budget": options});
            let mut out = Vec::new();
            let mut engine = deckprobe_mcp::engine::Session::new([""; 0]).unwrap();
            engine.answer(record.to_string().as_bytes(), 1, &mut out);
            let reply: Value = serde_json::from_slice(&out).unwrap();
            if reply["error"]["code"] == "BUDGET_EXCEEDED" {
                assert_eq!(
                    answered, 0,
                    "{flag} {limit}: a larger budget answers as well"
                );
                continue;
            }
            assert_eq!(
                value(&reply, "document.title"),
                Some(&json!("T")),
                "{flag} {limit}"
            );
            answered += 1;
        }
        assert!(answered > 10, "{flag}");
    }
}

#[test]
fn a_reply_that_no_reader_would_take_is_an_error_and_the_next_record_is_answered() {
    // Each of these is printed as two bytes.
    let long = titled(&"\"".repeat((8 << 20) + 1), 0);
    let whole = [
        "-l",
        "d",
        "-T60000",
        "-t",
        "title",
        "-O",
        "long_values=whole",
    ];
    let mut engine = Engine::start(&whole);
    let refused = engine.probe("a.docx", &long);
    assert_eq!(refused["error"]["code"], "BUDGET_EXCEEDED", "{refused}");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("ask for fewer targets"), "{message}");
    let fits = engine.probe("a.docx", &titled(&"\"".repeat(8 << 19), 0));
    let title = value(&fits, "document.title").unwrap().as_str().unwrap();
    assert_eq!(title.len(), 8 << 19);
}

#[test]
fn what_a_document_is_costs_no_budget() {
    let core = docx(9 << 20);
    let entries: Vec<(String, &str)> = (0..5000).map(|n| (format!("x/{n}"), "")).collect();
    let many = zip::archive(
        [
            ("[Content_Types].xml", TYPES),
            ("word/document.xml", DOCUMENT),
        ]
        .into_iter()
        .chain(entries.iter().map(|(name, text)| (name.as_str(), *text))),
    );
    for (flags, bytes) in [
        (&["-t", "title,@header"][..], &core),
        (&["-l", "h", "-t", "@header"], &many),
        (&["-e", "10", "-t", "@header,title"], &many),
    ] {
        let mut engine = Engine::start(flags);
        let report = engine.probe("a.docx", bytes);
        assert_eq!(report["status"], "partial", "{report}");
        for (target, expected) in [
            ("document.format_profile", json!("docx")),
            ("document.format", json!("office-open-xml")),
            ("document.extension_matches", json!(true)),
            ("document.file_size", json!(bytes.len())),
        ] {
            assert_eq!(
                value(&report, target),
                Some(&expected),
                "{flags:?} {target}"
            );
        }
        let codes = report["diagnostics"].as_array().unwrap();
        assert_eq!(codes.last().unwrap()["code"], "BUDGET_EXCEEDED");
    }
}

#[test]
fn a_long_value_is_clipped_and_costs_nothing_else() {
    let title = "é".repeat(20 << 20);
    let bytes = titled(&title, 0);
    let all = ["-l", "d", "-T60000", "-t", "title,word_count,@header"];
    let mut engine = Engine::start(&all);
    let report = engine.probe("a.docx", &bytes);
    assert_eq!(report["status"], "ok", "{report}");
    let clipped = value(&report, "document.title").unwrap().as_str().unwrap();
    assert_eq!(clipped.chars().count(), 4097);
    assert!(clipped.starts_with("éé") && clipped.ends_with("é…"));
    assert_eq!(value(&report, "word.word_count"), Some(&json!(5)));
    let diagnostic = &report["diagnostics"][0];
    assert_eq!(diagnostic["code"], "VALUE_TRUNCATED");
    let message = diagnostic["message"].as_str().unwrap();
    for part in [
        "document.title",
        "20971520 characters",
        "4096",
        "document.long_values=whole",
    ] {
        assert!(message.contains(part), "{message}");
    }
    let medium = titled(&"é".repeat(5000), 0);
    let whole = [&all[..], &["-O", "long_values=whole"]].concat();
    let report = Engine::start(&whole).probe("a.docx", &medium);
    assert_eq!(report["diagnostics"], json!([]));
    let title = value(&report, "document.title").unwrap().as_str().unwrap();
    assert_eq!(title.chars().count(), 5000);
}
