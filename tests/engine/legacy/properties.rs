//! Property sets.

use serde_json::json;

use super::make::{Property, compound, property_set, word};
use super::values;
use crate::harness::Engine;

/// A document with this `SummaryInformation`.
fn with_summary(properties: &[(u32, Property<'_>)]) -> Vec<u8> {
    with_stream("\u{5}SummaryInformation", &property_set(properties))
}

fn with_stream(name: &str, content: &[u8]) -> Vec<u8> {
    let (main, table) = word(0, b"x\r");
    compound(&[("WordDocument", &main), ("1Table", &table), (name, content)])
}

/// What one title reads like.
fn title(properties: &[(u32, Property<'_>)]) -> serde_json::Value {
    values("a.doc", &with_summary(properties), "document.title").remove(0)
}

#[test]
fn w24_text_is_decoded_by_the_code_page_and_ends_at_a_nul() {
    let cases: [(u16, &[u8], &str); 9] = [
        (1252, b"Caf\xe9 \x93q\x94\0", "Café “q”"),
        (1251, b"\xc2\xe8\xed\xe0\0", "Вина"),
        (1255, b"\xe9\xe5\xfa\xf8\0", "יותר"),
        (
            932,
            b"\x83f\x83B\x83\x8c\x83N\x83g\x83\x8a\0",
            "ディレクトリ",
        ),
        (936, b"\xbb\xc3\xb5\xc6\xc6\xac 1\0", "幻灯片 1"),
        (10000, b"\x80pfel\0", "Äpfel"),
        (10007, b"\x8f\xf0\xe8\xe2\xe5\xf2\0", "Привет"),
        (65001, "Größe\0".as_bytes(), "Größe"),
        (1252, b"kept\0cut off\0", "kept"),
    ];
    for (code_page, text, expected) in cases {
        let found = title(&[(1, Property::I2(code_page)), (2, Property::Text(text))]);
        assert_eq!(found, expected, "{code_page}");
    }
    // With code page 1200 a byte string holds UTF-16.
    let utf16: Vec<u8> = "Ωmega\0x"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(
        title(&[(1, Property::I2(1200)), (2, Property::Text(&utf16))]),
        "Ωmega"
    );
    // A wide string needs no code page.
    assert_eq!(
        title(&[(1, Property::I2(1251)), (2, Property::Wide("日本"))]),
        "日本"
    );
    // A page that we have no table for: plain text is sure, the rest is not.
    assert_eq!(
        title(&[(1, Property::I2(437)), (2, Property::Text(b"plain\0"))]),
        "plain"
    );
    assert!(title(&[(1, Property::I2(437)), (2, Property::Text(b"Caf\x82\0"))]).is_null());
}

#[test]
fn w25_times_description_and_version_are_told() {
    let targets = "document.created_at,document.modified_at,document.description";
    let file = with_summary(&[
        (6, Property::Text(b"some words\0")),
        (12, Property::Time(125_962_560_000_000_000)),
        (13, Property::Time(133_801_200_009_999_999)),
    ]);
    let expected = json!(["2000-02-29T00:00:00Z", "2024-12-31T12:00:00Z", "some words"]);
    assert_eq!(json!(values("a.doc", &file, targets)), expected);
    let version = property_set(&[(23, Property::I4(10 << 16 | 4219))]);
    let file = with_stream("\u{5}DocumentSummaryInformation", &version);
    assert_eq!(
        values("a.doc", &file, "document.application_version"),
        ["10.4219"]
    );
}

#[test]
fn absent_and_blank_properties_are_unknown() {
    for property in [
        Property::Text(b"\0"),
        Property::Text(b"  \0"),
        Property::I4(5),
    ] {
        assert!(title(&[(2, property)]).is_null());
    }
    let unset = with_summary(&[(12, Property::Time(0)), (13, Property::Time(u64::MAX))]);
    let targets = "document.created_at,document.modified_at,document.title";
    assert_eq!(
        json!(values("a.doc", &unset, targets)),
        json!([null, null, null])
    );
}

#[test]
fn counts_are_read_as_unsigned() {
    let file = with_summary(&[
        (14, Property::I2(0xFFFF)),
        (15, Property::I4(0xFFFF_FFFF)),
        (16, Property::I4(3)),
    ]);
    let targets = "word.page_count,word.word_count,word.character_count";
    // Asked alone, each comes from the summary.
    for (target, expected) in targets.split(',').zip([0xFFFF_u64, 0xFFFF_FFFF, 3]) {
        assert_eq!(values("a.doc", &file, target), [expected], "{target}");
    }
}

/// Damage in a property set never ends a probe, and no claimed size is believed.
#[test]
fn damaged_property_sets_are_survived() {
    let good = property_set(&[
        (1, Property::I2(1252)),
        (2, Property::Text(b"title\0")),
        (12, Property::Time(125_962_560_000_000_000)),
    ]);
    let mut engine = Engine::start(&["-t", "title,created_at,page_count"]);
    for length in 0..good.len() {
        let reply = engine.probe(
            "a.doc",
            &with_stream("\u{5}SummaryInformation", &good[..length]),
        );
        assert!(reply["error"].is_null(), "cut at {length}: {reply}");
    }
    for at in 0..good.len() {
        for byte in [0, 0x7F, 0xFF] {
            let mut bad = good.clone();
            bad[at] = byte;
            let reply = engine.probe("a.doc", &with_stream("\u{5}SummaryInformation", &bad));
            assert!(reply["error"].is_null(), "{byte} at {at}: {reply}");
        }
    }
}
