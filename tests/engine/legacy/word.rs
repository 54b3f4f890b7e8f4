//! Word documents.

use serde_json::json;

use super::make::{Piece, Property, TEXT_AT, compound, doc, property_set, word, word_of_pieces};
use super::{assert_budget_is_honest, physical_bytes, probe, values};
use crate::harness::{Engine, value};

const COUNTS: &str = "word.word_count,word.character_count,word.paragraph_count";

#[test]
fn the_text_of_the_main_document_is_counted() {
    let cases: [(&[u8], [u64; 3]); 6] = [
        (b"One two\rthree\r", [3, 14, 2]),
        // Line and page breaks end lines; cells are tabs; anchors are nothing.
        (b"a\x0bb\x0cc\x07d\x07\x07\r\r\x01\x08", [4, 11, 3]),
        (b"caf\xe9\xa0noir \x85\r", [3, 12, 1]),
        (b"\r\r \r", [0, 4, 0]),
        (b"", [0, 0, 0]),
        (b"no end", [2, 6, 1]),
    ];
    for (text, expected) in cases {
        assert_eq!(values("a.doc", &doc(text), COUNTS), expected, "{text:?}");
    }
}

/// Field codes are instructions: only results are words.
#[test]
fn w27_field_codes_are_not_words() {
    let cases: [(&[u8], [u64; 3]); 4] = [
        (
            b"See \x13 HYPERLINK \"http://a.example/\" \x14the page\x15 now\r",
            [4, 17, 1],
        ),
        (
            b"\x13 TOC \\o \x13 PAGEREF x \x14skipped\x15 \x14One\x15 two\r",
            [2, 8, 1],
        ),
        (b"\x13 DATE \x15none\r", [1, 5, 1]),
        // Marks that do not match up: nothing is taken for a code.
        (b"\x13 lost and found\r", [3, 16, 1]),
    ];
    for (text, expected) in cases {
        assert_eq!(values("a.doc", &doc(text), COUNTS), expected, "{text:?}");
    }
}

#[test]
fn pieces_are_read_in_order_and_in_their_own_encoding() {
    let mut text = b"first ".to_vec();
    let wide: Vec<u8> = "второй 😀 "
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    text.extend(&wide);
    let pieces = [
        Piece {
            offset: TEXT_AT + 6,
            characters: wide.len() / 2,
            compressed: false,
        },
        Piece {
            offset: TEXT_AT,
            characters: 6,
            compressed: true,
        },
    ];
    let (main, table) = word_of_pieces(0, &text, &pieces);
    let file = compound(&[("WordDocument", &main), ("1Table", &table)]);
    assert_eq!(values("a.doc", &file, COUNTS), [3, 9 + 6, 1]);
    // The flag names a stream that is not there: the other one is taken.
    let file = compound(&[("WordDocument", &main), ("0Table", &table)]);
    assert_eq!(values("a.doc", &file, COUNTS), [3, 9 + 6, 1]);
}

/// An encrypted document tells that it is, and its counts are unknown rather than those of noise.
#[test]
fn w27_an_encrypted_document_has_no_counts() {
    const ENCRYPTED: u16 = 1 << 8;
    const OBFUSCATED: u16 = 1 << 15;
    let targets = "security.encrypted,security.password_protected,security.encryption_scheme,\
                   security.encryption_algorithm,security.encryption_key_bits,\
                   office.content_probe_supported,word.word_count,word.paragraph_count";
    let rc4 = [1, 0, 1, 0];
    let mut crypto_api = vec![4, 0, 2, 0];
    for field in [4_u32, 32, 4, 0, 0x6801, 0x8004, 128, 1] {
        crypto_api.extend(field.to_le_bytes());
    }
    let cases: [(u16, &[u8], _); 3] = [
        (0, &rc4, json!(["rc4", "RC4", 40])),
        (0, &crypto_api, json!(["cryptoapi", "RC4", 128])),
        (OBFUSCATED, &[], json!(["xor", "XOR", 16])),
    ];
    for (flags, header, how) in cases {
        let (mut main, mut table) = word(ENCRYPTED | flags, b"zqxj zqxj\r");
        main[0x0E..0x12].copy_from_slice(&u32::try_from(header.len()).unwrap().to_le_bytes());
        table.splice(0..0, header.iter().copied());
        let file = compound(&[("WordDocument", &main), ("1Table", &table)]);
        let found = values("a.doc", &file, targets);
        assert_eq!(found[..2], [true, true], "{how}");
        assert_eq!(json!(found[2..5]), how);
        assert_eq!(json!(found[5..]), json!([false, null, null]), "{how}");
    }
}

/// What cannot be found is unknown, not zero.
#[test]
fn w27_a_missing_table_stream_or_an_unknown_block_gives_no_counts() {
    let (main, mut table) = word(0, b"text\r");
    let without_table = compound(&[("WordDocument", &main)]);
    let unknown_block = compound(&[("WordDocument", &[0; 2000]), ("1Table", &table)]);
    table.truncate(12);
    let cut_table = compound(&[("WordDocument", &main), ("1Table", &table)]);
    let files = [
        ("no table stream", without_table),
        ("no information block", unknown_block),
        ("a cut piece table", cut_table),
    ];
    for (what, file) in files {
        let report = probe("a.doc", &file, COUNTS);
        for target in COUNTS.split(',') {
            assert_eq!(
                report["results"][target]["status"], "unknown",
                "{what}: {target}"
            );
        }
    }
}

/// Word 6 and 95 keep their text in one run of the system's code page.
#[test]
fn w27_word_95_documents_are_counted() {
    let mut main = vec![0; 0x300];
    main[..4].copy_from_slice(&[0xDC, 0xA5, 0x68, 0]);
    main[6..8].copy_from_slice(&0x0411_u16.to_le_bytes());
    let text = b"\x93\xfa\x96{ \x8c\xea\r";
    main[0x18..0x1C].copy_from_slice(&0x300_u32.to_le_bytes());
    main[0x34..0x38].copy_from_slice(&u32::try_from(text.len()).unwrap().to_le_bytes());
    main.extend(text);
    let file = compound(&[("WordDocument", &main)]);
    assert_eq!(values("a.doc", &file, COUNTS), [2, 5, 1]);
}

/// Pieces own their bytes: a table that reads the same text a thousand times is damaged. The reference
/// engine repeats the text (200 million characters from 151 KB).
#[test]
fn u7_overlapping_pieces_are_refused_before_they_are_read() {
    let text = vec![b'x'; 100_000];
    let pieces: Vec<_> = (0..2000)
        .map(|_| Piece {
            offset: TEXT_AT,
            characters: 100_000,
            compressed: true,
        })
        .collect();
    let (main, table) = word_of_pieces(0, &text, &pieces);
    let file = compound(&[("WordDocument", &main), ("1Table", &table)]);
    let report = probe("a.doc", &file, "word.word_count");
    assert_eq!(report["results"]["word.word_count"]["status"], "unknown");
    let read = physical_bytes(&report);
    assert!(read < 60_000, "{read} bytes of {}", file.len());
}

#[test]
fn the_page_count_comes_from_the_summary_whatever_the_confidence() {
    let (main, table) = word(0, b"text\r");
    let summary = property_set(&[(14, Property::I4(7))]);
    let file = compound(&[
        ("WordDocument", &main),
        ("1Table", &table),
        ("\u{5}SummaryInformation", &summary),
    ]);
    assert_eq!(values("a.doc", &file, "word.page_count"), [7]);
    // With `-c exact` the plan takes a path that has no exact count: the value stands, and is marked.
    let exact = Engine::start(&["-c", "exact", "-t", "page_count"]).probe("a.doc", &file);
    assert_eq!(value(&exact, "word.page_count"), Some(&json!(7)));
    assert_eq!(exact["diagnostics"][0]["code"], "INSUFFICIENT_CONFIDENCE");
}

#[test]
fn a_template_is_one_by_its_flag_or_its_extension() {
    let (main, table) = word(1, b"x\r");
    let flagged = compound(&[("WordDocument", &main), ("1Table", &table)]);
    let plain = doc(b"x\r");
    for (name, file, expected) in [
        ("a.doc", &flagged, true),
        ("a.dot", &plain, true),
        ("a.doc", &plain, false),
    ] {
        assert_eq!(values(name, file, "word.is_template"), [expected], "{name}");
    }
}

/// The pool stays when its last object is deleted.
#[test]
fn w29_only_a_pool_with_an_object_in_it_embeds_one() {
    let (main, table) = word(0, b"x\r");
    let with = |path: &str| {
        compound(&[
            ("WordDocument", &main),
            ("1Table", &table),
            (path, b"object"),
        ])
    };
    for (path, expected) in [("ObjectPool/", false), ("ObjectPool/_1234/Ole", true)] {
        let found = values("a.doc", &with(path), "security.has_embedded_files");
        assert_eq!(found, [expected], "{path}");
    }
}

#[test]
fn w23_macros_are_a_project_not_a_name() {
    let (main, table) = word(0, b"x\r");
    let with =
        |path: &str| compound(&[("WordDocument", &main), ("1Table", &table), (path, b"dir")]);
    for (path, expected) in [
        ("Macros/VBA/dir", true),
        ("Macros/", false),
        ("My vba notes", false),
        ("ObjectPool/_1/Macros/VBA/dir", true),
    ] {
        assert_eq!(
            values("a.doc", &with(path), "security.has_macros"),
            [expected],
            "{path}"
        );
    }
}

#[test]
fn links_out_of_the_document_and_passwords_to_modify_are_seen() {
    let targets = "security.has_external_relationships,security.active_content_risk";
    let cases: [(&[u8], _); 4] = [
        (
            b"\x13 HYPERLINK \"http://a.example\" \x14a\x15\r",
            json!([true, "low"]),
        ),
        (
            b"\x13 HYPERLINK \\l \"mark\" \x14a\x15\r",
            json!([false, "none"]),
        ),
        (
            b"\x13 IF a \x13 INCLUDEPICTURE x \x14\x15 \x14\x15\r",
            json!([true, "low"]),
        ),
        (b"\x13 PAGE \x141\x15\r", json!([false, "none"])),
    ];
    for (text, expected) in cases {
        assert_eq!(
            json!(values("a.doc", &doc(text), targets)),
            expected,
            "{text:?}"
        );
    }
    for (flags, expected) in [(1 << 11, true), (0, false)] {
        let (main, table) = word(flags, b"x\r");
        let file = compound(&[("WordDocument", &main), ("1Table", &table)]);
        assert_eq!(
            values("a.doc", &file, "security.password_to_modify"),
            [expected]
        );
    }
}

#[test]
fn m2_a_budget_that_ends_inside_a_document_is_said_to_be_one() {
    assert_budget_is_honest("a.doc", &doc(&b"word \r".repeat(1000)), "word.word_count");
}
