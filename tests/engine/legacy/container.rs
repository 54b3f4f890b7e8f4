//! Compound files, sound and broken.

use serde_json::{Value, json};

use super::make::{
    Property, bound_sheet, compound, compound_of, doc, property_set, word, workbook, xls,
};
use super::{physical_bytes, probe, values};
use crate::harness::Engine;

const SECTOR: usize = 512;

/// Every default report on a plain document was partial because of this.
#[test]
fn w29_what_is_not_encrypted_says_so() {
    let targets = "security.encrypted,security.password_protected,security.encryption_scheme,\
                   office.content_probe_supported,office.cfb_container";
    for (name, file) in [
        ("a.doc", doc(b"x\r")),
        ("a.xls", xls(&[bound_sheet("A", 0, 0)])),
    ] {
        let report = probe(name, &file, targets);
        assert_eq!(report["status"], "ok", "{report}");
        let found = values(name, &file, targets);
        assert_eq!(
            json!(found),
            json!([false, false, null, true, true]),
            "{name}"
        );
        let header = Engine::start(&["-l", "header", "-t", "@header"]).probe(name, &file);
        assert_eq!(header["status"], "ok", "{header}");
    }
}

/// Unused slots of the directory's last sector are no entries.
#[test]
fn w29_only_entries_in_use_are_counted() {
    let book = workbook(&[], &[]);
    let file = compound(&[("Workbook", &book), ("A/B/C", b"x"), ("D/", b"")]);
    assert_eq!(values("a.xls", &file, "office.cfb_entry_count"), [6]);
}

#[test]
fn both_layouts_and_both_stream_sizes_are_read() {
    for version in [cfb::Version::V3, cfb::Version::V4] {
        // One stream below the mini stream's limit, one above it, and one of many sectors.
        for words in [10, 1000, 60_000] {
            let (main, table) = word(0, &b"word ".repeat(words));
            let summary = property_set(&[(2, Property::Text(b"A title\0"))]);
            let file = compound_of(
                version,
                &[
                    ("1Table", &table),
                    ("WordDocument", &main),
                    ("\u{5}SummaryInformation", &summary),
                ],
            );
            let targets = "word.word_count,document.title,quality.corrupted";
            let found = values("a.doc", &file, targets);
            assert_eq!(
                json!(found),
                json!([words, "A title", false]),
                "{version:?} {words}"
            );
        }
    }
}

/// A file of more than 109 allocation table sectors needs the DIFAT.
#[test]
fn large_files_are_read_through_the_difat_and_only_where_needed() {
    let filler = vec![0; 8 << 20];
    let summary = property_set(&[(2, Property::Text(b"far away\0"))]);
    let book = workbook(&[bound_sheet("A", 0, 0)], &[]);
    let file = compound(&[
        ("Filler", &filler),
        ("Workbook", &book),
        ("\u{5}SummaryInformation", &summary),
    ]);
    let report = probe("a.xls", &file, "document.title,excel.sheet_count");
    assert_eq!(report["results"]["document.title"]["value"], "far away");
    assert!(physical_bytes(&report) < 8192, "{report}");
    assert_eq!(values("a.xls", &file, "quality.corrupted"), [false]);
}

#[test]
fn the_roots_name_and_letter_case_do_not_matter() {
    let mut file = compound(&[
        ("WORDDOCUMENT", &word(0, b"a b\r").0),
        ("1TABLE", &word(0, b"a b\r").1),
    ]);
    let root = directory(&file);
    for name in [&b"R\0\0\0"[..], b"X\0Y\0", &[0xFF; 4]] {
        file[root..root + 64].fill(0);
        file[root..root + name.len()].copy_from_slice(name);
        assert_eq!(values("a.doc", &file, "word.word_count"), [2]);
    }
}

/// Where the directory begins in a file.
fn directory(file: &[u8]) -> usize {
    sector(u32::from_le_bytes(file[0x30..0x34].try_into().unwrap()))
}

fn sector(number: u32) -> usize {
    (number as usize + 1) * SECTOR
}

/// Where the FAT's first sector is.
fn fat(file: &[u8]) -> usize {
    sector(u32::from_le_bytes(file[0x4C..0x50].try_into().unwrap()))
}

/// Where the entry of this name is.
fn entry(file: &[u8], name: &str) -> usize {
    let name: Vec<u8> = name
        .encode_utf16()
        .chain([0])
        .flat_map(u16::to_le_bytes)
        .collect();
    (directory(file)..file.len())
        .step_by(128)
        .find(|at| file[*at..].starts_with(&name))
        .unwrap()
}

fn put(file: &mut [u8], at: usize, value: u32) {
    file[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// The first sector of a stream.
fn start(file: &[u8], name: &str) -> u32 {
    let at = entry(file, name) + 0x74;
    u32::from_le_bytes(file[at..at + 4].try_into().unwrap())
}

/// A document whose streams all have sectors of their own.
fn large_doc() -> Vec<u8> {
    let (main, mut table) = word(0, &b"word ".repeat(4000));
    table.resize(5000, 0);
    let mut summary = property_set(&[(2, Property::Text(b"A title\0"))]);
    summary.resize(5000, 0);
    compound(&[
        ("WordDocument", &main),
        ("1Table", &table),
        ("\u{5}SummaryInformation", &summary),
    ])
}

/// Damage in one place leaves the rest: what runs through it is unknown, and the file is called damaged.
#[test]
fn broken_chains_cost_what_runs_through_them() {
    let sound = large_doc();
    let targets = "document.title,word.word_count,quality.corrupted";
    assert_eq!(
        json!(values("a.doc", &sound, targets)),
        json!(["A title", 4000, false])
    );
    let main = start(&sound, "WordDocument");
    let link = |file: &[u8], number: u32| fat(file) + number as usize * 4;
    type Case<'c> = (&'c str, &'c dyn Fn(&mut Vec<u8>), Value);
    let cases: [Case<'_>; 8] = [
        (
            "a circle",
            &|file| {
                let at = link(file, main + 5);
                put(file, at, main + 1)
            },
            json!(["A title", null, true]),
        ),
        (
            "a sector linked to itself",
            &|file| {
                let at = link(file, main + 3);
                put(file, at, main + 3)
            },
            json!(["A title", null, true]),
        ),
        (
            "a link behind the end of the file",
            &|file| {
                let at = link(file, main + 3);
                put(file, at, 0x00FF_FFFF)
            },
            json!(["A title", null, true]),
        ),
        (
            "a chain that ends too early",
            &|file| {
                let at = link(file, main + 3);
                put(file, at, 0xFFFF_FFFE)
            },
            json!(["A title", null, true]),
        ),
        (
            "a size beyond the file",
            &|file| {
                let at = entry(file, "\u{5}SummaryInformation") + 0x78;
                put(file, at, 0xFFFF_FFF0)
            },
            json!(["A title", 4000, true]),
        ),
        (
            "two streams in one place",
            &|file| {
                let at = entry(file, "\u{5}SummaryInformation") + 0x74;
                put(file, at, main)
            },
            json!([null, 4000, true]),
        ),
        (
            "rubbish in the high half of a size",
            &|file| {
                let at = entry(file, "WordDocument") + 0x7C;
                put(file, at, 0xDEAD_BEEF)
            },
            json!(["A title", 4000, false]),
        ),
        (
            "a lost allocation table",
            &|file| put(file, 0x4C, 0x00FF_FFFF),
            // Each chain's first sector is known without it.
            json!(["A title", null, true]),
        ),
    ];
    for (what, damage, expected) in cases {
        let mut file = sound.clone();
        damage(&mut file);
        assert_eq!(json!(values("a.doc", &file, targets)), expected, "{what}");
    }
}

/// Whatever the tree of names looks like, every entry is visited once.
#[test]
fn circles_in_the_directory_are_walked_once() {
    let sound = large_doc();
    for (at, link) in [(0x44, 0_u32), (0x48, 0), (0x44, 1), (0x48, 2)] {
        let mut file = sound.clone();
        for name in ["WordDocument", "1Table", "\u{5}SummaryInformation"] {
            let place = entry(&file, name) + at;
            put(&mut file, place, link);
        }
        let report = probe("a.doc", &file, "word.word_count,quality.corrupted");
        let found = &report["results"];
        assert_eq!(
            found["quality.corrupted"]["value"], true,
            "{at:x} {link}: {report}"
        );
        // What no name leads to any more is not guessed at, unless the document itself is lost.
        let words = &found["word.word_count"]["value"];
        assert!(words.is_null() || words == 4000, "{at:x} {link}: {report}");
        assert!(physical_bytes(&report) < 2 * file.len() as u64);
    }
    // The root leads nowhere: the document is taken up again.
    let mut file = sound.clone();
    let root = directory(&file);
    put(&mut file, root + 0x4C, 0x0FFF_FFFF);
    assert_eq!(values("a.doc", &file, "word.word_count"), [4000]);
    // The directory's own chain in a circle.
    let mut file = sound;
    let first = u32::from_le_bytes(file[0x30..0x34].try_into().unwrap());
    let at = fat(&file) + first as usize * 4;
    put(&mut file, at, first);
    let report = probe("a.doc", &file, "word.word_count,quality.corrupted");
    assert_eq!(report["results"]["word.word_count"]["value"], 4000);
    assert_eq!(report["results"]["quality.corrupted"]["value"], true);
    assert!(physical_bytes(&report) < 2 * file.len() as u64);
}

/// A container without a readable directory is malformed, and says so.
#[test]
fn without_a_directory_there_is_no_document() {
    let sound = large_doc();
    for length in [8, 100, 511, 512, 600] {
        let reply = probe("a.doc", &sound[..length], "word.word_count");
        assert_eq!(
            reply["error"]["code"], "MALFORMED_INPUT",
            "{length}: {reply}"
        );
    }
    let mut lost = sound;
    put(&mut lost, 0x30, 0x00FF_FFFF);
    let reply = probe("a.doc", &lost, "word.word_count");
    assert_eq!(reply["error"]["code"], "MALFORMED_INPUT", "{reply}");
}

/// A sparse file of 64 GiB, a FAT that claims it all: reads stay within the budget and near the data.
#[test]
fn claims_of_size_cost_nothing() {
    let mut file = large_doc();
    let main = entry(&file, "WordDocument");
    put(&mut file, main + 0x78, 0xFFFF_FFFF);
    // Every FAT sector is the first one, over and over.
    let first = u32::from_le_bytes(file[0x4C..0x50].try_into().unwrap());
    for slot in 0..109 {
        put(&mut file, 0x4C + slot * 4, first);
    }
    put(&mut file, 0x44, first);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.doc");
    std::fs::write(&path, &file).unwrap();
    std::fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(64 << 30)
        .unwrap();
    let mut engine = Engine::start(&["-l", "deep", "-t", "@all"]);
    let report = engine.ask(&json!({ "path": path }));
    assert_eq!(
        report["results"]["document.title"]["value"], "A title",
        "{report}"
    );
    assert!(physical_bytes(&report) < 4 << 20, "{report}");
}

/// Every byte of the structures, flipped in turn: one process answers them all.
#[test]
fn no_single_damaged_byte_ends_the_engine() {
    let (main, table) = word(0, b"a few words\r");
    let summary = property_set(&[(2, Property::Text(b"A title\0"))]);
    let sound = compound(&[
        ("WordDocument", &main),
        ("1Table", &table),
        ("\u{5}SummaryInformation", &summary),
    ]);
    let mut engine = Engine::start(&["-l", "deep", "-t", "@all"]);
    let structures = (8..0x60)
        .chain(fat(&sound)..fat(&sound) + 64)
        .chain(directory(&sound)..directory(&sound) + 512);
    for at in structures {
        for flip in [0x01, 0x80, 0xFF] {
            let mut file = sound.clone();
            file[at] ^= flip;
            let reply = engine.probe("a.doc", &file);
            let code = reply["error"]["code"].as_str();
            assert!(
                matches!(code, None | Some("MALFORMED_INPUT")),
                "{flip:#x} at {at:#x}: {reply}"
            );
        }
    }
}

#[test]
fn signatures_stand_in_the_clear() {
    let targets = "security.has_digital_signature,security.signature_count";
    let book = workbook(&[], &[]);
    let with = |path: &str| compound(&[("Workbook", &book), (path, b"x")]);
    for (path, expected) in [
        ("_xmlsignatures/1234", json!([true, 1])),
        ("_signatures", json!([true, null])),
        ("MBD1/_xmlsignatures/1234", json!([false, 0])),
        ("Other", json!([false, 0])),
    ] {
        assert_eq!(
            json!(values("a.xls", &with(path), targets)),
            expected,
            "{path}"
        );
    }
}
