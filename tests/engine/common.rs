//! Targets of ours that every format has: dates in one syntax, the digest of the file; and lines that
//! stay one line.

use serde_json::{Value, json};

use crate::harness::{Engine, record, value};
use crate::support::zip;

const TYPES: &str = r#"<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/><Override PartName="/docProps/core.xml" ContentType="application/vnd.openxmlformats-package.core-properties+xml"/></Types>"#;

/// A document with these children of its core properties.
pub(crate) fn docx(core: &str) -> Vec<u8> {
    let core = format!(
        r#"<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/">{core}</cp:coreProperties>"#
    );
    let document = r#"<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p/></w:body></w:document>"#;
    zip::archive([
        ("[Content_Types].xml", TYPES),
        ("word/document.xml", document),
        ("docProps/core.xml", &core),
    ])
}

/// A document of one page with this information dictionary.
pub(crate) fn pdf(info: &str) -> Vec<u8> {
    let mut file = b"%PDF-1.7\n".to_vec();
    let mut offsets = Vec::new();
    for (number, body) in [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 100 100]>>",
        info,
    ]
    .iter()
    .enumerate()
    {
        offsets.push(file.len());
        file.extend_from_slice(format!("{} 0 obj{body}endobj\n", number + 1).as_bytes());
    }
    let table = file.len();
    file.extend_from_slice(b"xref\n0 5\n0000000000 65535 f \n");
    for offset in offsets {
        file.extend_from_slice(format!("{offset:010} 00000 n \n").as_bytes());
    }
    file.extend_from_slice(
        format!("trailer<</Size 5/Root 1 0 R/Info 4 0 R>>\nstartxref\n{table}\n%%EOF\n").as_bytes(),
    );
    file
}

#[test]
fn dates_have_one_syntax_in_every_format_and_the_recorded_ones_stay_as_they_are() {
    let documents = [
        (
            "a.docx",
            docx("<dcterms:created>2026-01-31T12:00:00+01:00</dcterms:created>"),
            "2026-01-31T12:00:00+01:00",
        ),
        (
            "a.pdf",
            pdf("<</CreationDate(D:20260131120000+01'00')>>"),
            "D:20260131120000+01'00'",
        ),
    ];
    let mut both = Engine::start(&["-t", "created_at,created_utc,modified_utc"]);
    let mut alone = Engine::start(&["-t", "created_utc"]);
    for (name, bytes, recorded) in documents {
        let report = both.probe(name, &bytes);
        assert_eq!(
            value(&report, "document.created_at"),
            Some(&json!(recorded))
        );
        let utc = &report["results"]["document.created_utc"];
        assert_eq!(utc["value"], "2026-01-31T11:00:00Z", "{report}");
        let at = &report["results"]["document.created_at"];
        for member in ["status", "confidence", "path", "source"] {
            assert_eq!(utc[member], at[member], "{name} {member}");
        }
        let missing = &report["results"]["document.modified_utc"];
        assert_eq!(missing["status"], "unknown");
        let report = alone.probe(name, &bytes);
        assert_eq!(
            value(&report, "document.created_utc"),
            Some(&json!("2026-01-31T11:00:00Z"))
        );
        assert!(report["results"].get("document.created_at").is_none());
        assert_eq!(report["status"], "ok");
    }
}

#[test]
fn a_date_without_zone_is_an_estimate_and_text_that_is_no_date_is_unknown() {
    let mut engine = Engine::start(&["-c", "low", "-t", "created_utc"]);
    let report = engine.probe("a.pdf", &pdf("<</CreationDate(D:20260131120000)>>"));
    let utc = &report["results"]["document.created_utc"];
    assert_eq!(
        (&utc["value"], &utc["status"], &utc["confidence"]),
        (
            &json!("2026-01-31T12:00:00Z"),
            &json!("estimated"),
            &json!("medium")
        )
    );
    let report = engine.probe("a.pdf", &pdf("<</CreationDate(last Tuesday)>>"));
    assert_eq!(
        report["results"]["document.created_utc"]["status"],
        "unknown"
    );
}

#[test]
fn the_digest_is_read_only_when_it_is_asked_for_by_name_and_costs_only_itself() {
    let bytes = pdf("<</Title(T)>>");
    let expected = "document.sha256";
    let mut engine = Engine::start(&["-t", "@all", "-l", "d"]);
    let report = engine.probe("a.pdf", &bytes);
    assert!(report["results"].get(expected).is_none());
    let mut engine = Engine::start(&["-t", "sha256,title"]);
    let report = engine.probe("a.pdf", &bytes);
    let digest = value(&report, expected).and_then(Value::as_str).unwrap();
    assert_eq!(digest.len(), 64);
    assert_eq!(
        report["execution"]["paths"],
        json!(["pdf.info_dictionary", "document.digest"])
    );
    let cost = report["execution"]["actual_cost"]["physical_bytes_read"].as_u64();
    assert!(cost.unwrap() >= bytes.len() as u64);
    let again = engine.probe("b.pdf", &bytes);
    assert_eq!(value(&again, expected), value(&report, expected));
    let mut other = bytes.clone();
    other.push(b'\n');
    let other = engine.probe("a.pdf", &other);
    assert_ne!(value(&other, expected), value(&report, expected));
    // A file that does not fit loses its digest and nothing else, and is not read for it.
    let padding = "x".repeat(100_000);
    let bytes = pdf(&format!("<</Title({padding})>>"));
    let mut large = record("a.pdf", &bytes);
    let cost = |report: &Value| {
        report["execution"]["actual_cost"]["physical_bytes_read"]
            .as_u64()
            .unwrap()
    };
    large["options"] = json!({"targets": ["object_count"]});
    let without = cost(&engine.ask(&large));
    for (allowed, status) in [
        (without + bytes.len() as u64, "resolved"),
        (bytes.len() as u64, "budget_exceeded"),
    ] {
        large["options"] = json!({
            "targets": ["sha256", "object_count"],
            "budget": {"max_physical_bytes": allowed},
        });
        let report = engine.ask(&large);
        assert_eq!(report["results"][expected]["status"], status, "{report}");
        assert_eq!(value(&report, "pdf.object_count"), Some(&json!(4)));
        if status == "budget_exceeded" {
            assert_eq!(cost(&report), without);
        }
    }
}

#[test]
fn characters_that_line_readers_split_on_are_escaped_in_every_reply() {
    let title = "a\u{85}b\u{2028}c\u{2029}d–é";
    let bytes = docx(&format!("<dc:title>{title}</dc:title>"));
    for view in ["full", "values"] {
        let mut engine = Engine::start(&["-t", "title", "--view", view]);
        let mut texts = vec![engine.ask_text(&record("x\u{2028}.docx", &bytes))];
        texts.push(engine.ask_text(&record("x\u{2028}.docx", b"none")));
        texts.push(engine.ask_text(&json!({"path": "/nowhere/\u{2029}.docx"})));
        let mut bad = record("x.docx", &bytes);
        bad["options"] = json!({"targets": ["\u{85}"]});
        texts.push(engine.ask_text(&bad));
        for text in texts {
            assert!(!text.contains(['\u{85}', '\u{2028}', '\u{2029}']), "{text}");
            serde_json::from_str::<Value>(&text).unwrap();
        }
        let report = engine.probe("x.docx", &bytes);
        let found = match view {
            "full" => value(&report, "document.title").unwrap(),
            _ => &report["values"]["document.title"],
        };
        assert_eq!(found, title);
    }
    let refused = crate::harness::run(&["--no\u{2028}option"], b"");
    assert!(
        !String::from_utf8(refused.stdout)
            .unwrap()
            .contains('\u{2028}')
    );
}
