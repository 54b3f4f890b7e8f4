//! Writes what the fuzz targets `engine` and `jsonl` begin with, when `DECKPROBE_FUZZ_SEEDS` names a
//! folder for it.

use std::path::Path;

use crate::harness::{record, seed_writer};
use crate::support::zip;

#[test]
fn seeds_are_written_when_asked_for() {
    let Some(write) = seed_writer() else { return };
    let package = zip::archive([("[Content_Types].xml", ""), ("Index/Document.iwa", "")]);
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let docx = std::fs::read(fixtures.join("quarterly.docx")).unwrap();
    let pdf = std::fs::read(fixtures.join("page.pdf")).unwrap();
    for (extension, document) in [(0, &pdf), (8, &docx), (12, &package), (23, &package)] {
        for options in 0..5 {
            let bytes = [&[extension, options], &document[..]].concat();
            write("engine", &format!("{extension}-{options}"), &bytes);
        }
    }
    let mut bytes = record("a.docx", &docx);
    bytes["options"] = serde_json::json!({
        "targets": ["title", "@all"], "level": "deep", "min_confidence": "low", "view": "values",
        "target_confidence": {"title": "exact"}, "budget": {"max_physical_bytes": 9},
    });
    let bytes = bytes.to_string();
    for (name, lines) in [
        (
            "paths",
            &b"\"/n/a.pdf\"\n\n{\"path\":\"/n/b\",\"name\":\"x.docx\"}\r\n{}\n[1]\n"[..],
        ),
        ("options", bytes.as_bytes()),
        (
            "escapes",
            b"\xFF\n\"\\ud83d\\ude00.key\"\n{\"x\":\"\\ud800\"}\n",
        ),
        ("nonsense", b"\xEF\xBB\xBF{}\n\0\n1e999\ntrue null\n"),
    ] {
        write("jsonl", name, lines);
    }
}
