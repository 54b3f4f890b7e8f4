use super::*;
use crate::contract::{Budget, Level, Limits};
use crate::engine::source::SourceKind;

#[allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    clippy::cast_possible_truncation
)]
#[path = "../../../../tests/engine/support/zip.rs"]
pub(super) mod build;

use build::{Packing, Part};

const TEXT: &[u8] = b"What a part holds, what a part holds, and what a part holds.";

fn source(bytes: Vec<u8>) -> Source {
    Source::for_test("x.docx", bytes)
}

fn limited(bytes: Vec<u8>, budget: &Budget) -> Source {
    Source::bytes(
        "x.docx",
        bytes,
        SourceKind::JsonlBytes,
        Limits::with(Level::Deep, budget),
    )
    .unwrap()
}

fn read(source: &Source, name: &str) -> Result<Vec<u8>> {
    let archive = Archive::open(source)?;
    let entry = archive.find(name).expect("the entry is there");
    archive.read(entry)
}

#[test]
fn archives_of_every_build_are_read() {
    let part = || Part::new("a.xml", TEXT);
    let plain = || build::Archive::new([Part::new("b", "b"), part()]);
    let big_comment = build::Archive {
        comment: vec![b'c'; 65_535],
        ..plain()
    };
    let cases = [
        ("deflate", plain()),
        (
            "stored",
            build::Archive::new([part().packing(Packing::Stored)]),
        ),
        ("data descriptor", build::Archive::new([part().flags(8)])),
        ("padding", build::Archive::new([part().local_padding(520)])),
        ("zip64 entry", build::Archive::new([part().zip64()])),
        (
            "zip64 end",
            build::Archive {
                zip64: true,
                ..build::Archive::new([part().zip64()])
            },
        ),
        (
            "zip64 behind a prefix",
            build::Archive {
                zip64: true,
                prefix: b"#!/bin/sh\n".to_vec(),
                ..build::Archive::new([part().zip64()])
            },
        ),
        (
            "prefix",
            build::Archive {
                prefix: vec![b'x'; 3000],
                ..plain()
            },
        ),
        ("comment", big_comment),
        (
            "a comment that looks like an end record",
            build::Archive {
                comment: [b"PK\x05\x06".as_slice(), &[0xEE; 40]].concat(),
                ..plain()
            },
        ),
        (
            "junk",
            build::Archive {
                junk: vec![0; 100_000],
                ..plain()
            },
        ),
    ];
    for (what, archive) in cases {
        let source = source(archive.build());
        assert_eq!(read(&source, "a.xml").as_deref(), Ok(TEXT), "{what}");
    }
}

#[test]
fn names_are_found_as_opc_says() {
    let bytes = build::archive([
        ("[content_types].XML", "1"),
        ("/word/Document.xml", "2"),
        ("xl\\workbook.xml", "3"),
        ("caf\u{e9}.xml", "4"),
    ]);
    let source = source(bytes);
    let archive = Archive::open(&source).unwrap();
    for name in [
        "[Content_Types].xml",
        "word/document.xml",
        "/xl/workbook.xml",
        "CAF\u{e9}.xml",
    ] {
        assert!(archive.find(name).is_some(), "{name}");
        assert!(archive.find_exact(name).is_none(), "{name}");
    }
    assert!(archive.find("word/document").is_none());
    assert!(archive.find_exact("xl\\workbook.xml").is_some());
}

#[test]
fn names_that_opc_takes_for_one_have_one_hash_and_others_mostly_not() {
    for (a, b) in [
        ("", "/"),
        ("Word/Document.XML", "\\word\\document.xml"),
        (
            "ABCDEFGHIJKLMNOPQRSTUVWXYZ[]@`{",
            "abcdefghijklmnopqrstuvwxyz[]@`{",
        ),
        ("\u{c9}A", "\u{c9}a"),
    ] {
        assert_eq!(key_hash(a), key_hash(b), "{a} {b}");
        assert!(is_same_key(a, b), "{a} {b}");
    }
    for (a, b) in [
        ("[", "{"),
        ("@", "`"),
        ("\u{c9}", "\u{e9}"),
        ("a", "a/"),
        ("ab", "ba"),
    ] {
        assert_ne!(key_hash(a), key_hash(b), "{a} {b}");
    }
}

#[test]
fn of_duplicates_the_last_counts_and_once() {
    let bytes = build::archive([("a", "old"), ("b", "b"), ("a", "new"), ("A", "other case")]);
    let source = source(bytes);
    let archive = Archive::open(&source).unwrap();
    assert_eq!(archive.len(), 3);
    let names: Vec<_> = archive.entries().map(Entry::name).collect();
    assert_eq!(names, ["b", "a", "A"]);
    assert_eq!(archive.read(archive.find("a").unwrap()).unwrap(), b"new");
    assert_eq!(
        archive.read(archive.find("A").unwrap()).unwrap(),
        b"other case"
    );
}

#[test]
fn what_cannot_be_read_says_why() {
    let part = || Part::new("a.xml", TEXT);
    let cases = [
        (part().flags(1), "encrypted"),
        (part().packing(Packing::Claimed(12)), "method 12"),
        (part().claimed_crc(7), "checksum"),
        (part().claimed_size(10), "more than it claims"),
        (part().packing(Packing::Claimed(8)), "deflate"),
        (
            part().packing(Packing::Stored).claimed_size(10),
            "two sizes",
        ),
    ];
    for (part, word) in cases {
        let source = source(build::Archive::new([part]).build());
        let refused = read(&source, "a.xml").unwrap_err();
        assert!(
            refused.is_malformed() && refused.message().contains(word),
            "{refused}"
        );
    }
}

#[test]
fn broken_directories_are_refused() {
    let good = build::archive([("a", "a"), ("b", "b")]);
    let cases = [
        ("nothing", b"PK\x03\x04".to_vec()),
        ("no end record", good[..good.len() - 22].to_vec()),
        ("end record cut off", good[..good.len() - 1].to_vec()),
        (
            "more entries claimed than there are",
            build::Archive {
                claimed_entries: Some(3),
                ..build::Archive::new([Part::new("a", "a")])
            }
            .build(),
        ),
        (
            "billions of entries claimed",
            build::Archive {
                claimed_entries: Some(1 << 40),
                zip64: true,
                ..build::Archive::new([Part::new("a", "a")])
            }
            .build(),
        ),
    ];
    for (what, bytes) in cases {
        let source = source(bytes);
        let refused = Archive::open(&source).err().expect(what);
        assert!(refused.is_malformed(), "{what}: {refused}");
    }
}

#[test]
fn a_bomb_is_stopped_at_what_it_claims_and_at_the_budget() {
    let bomb = vec![0_u8; 4 << 20];
    let lying = source(build::Archive::new([Part::new("a", &bomb).claimed_size(100)]).build());
    assert!(read(&lying, "a").unwrap_err().is_malformed());
    assert!(lying.meter().cost().expanded_bytes <= 100);

    let honest = limited(
        build::archive([("a", bomb)]),
        &Budget {
            max_expanded_bytes: Some(1 << 20),
            ..Budget::default()
        },
    );
    assert!(read(&honest, "a").unwrap_err().is_budget());
    assert_eq!(honest.meter().cost().expanded_bytes, 0);
}

#[test]
fn a_prefix_costs_about_as_much_as_it_is_long() {
    // Numbers in words: hard to pack, so that the packed size is large as well.
    let content: Vec<u8> = (0..200_000_u64)
        .flat_map(|n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) as u32).to_le_bytes())
        .collect();
    for packing in [Packing::Stored, Packing::Deflate] {
        let source =
            source(build::Archive::new([Part::new("a", &content).packing(packing)]).build());
        let archive = Archive::open(&source).unwrap();
        let entry = archive.find("a").unwrap();
        assert_eq!(archive.read_prefix(entry, 500).unwrap(), content[..500]);
        assert!(source.meter().cost().physical_bytes < 8000);
        assert_eq!(source.meter().cost().expanded_bytes, 500);
        let all = archive.read_prefix(entry, u64::MAX).unwrap();
        assert_eq!(all, content);
        assert_eq!(archive.read(entry).unwrap(), content);
    }
}

#[test]
fn distinct_entries_are_counted_against_the_budget() {
    let budget = Budget {
        max_archive_entries: Some(2),
        ..Budget::default()
    };
    let two = limited(build::archive([("a", ""), ("b", ""), ("a", "")]), &budget);
    assert_eq!(Archive::open(&two).unwrap().len(), 2);
    let three = limited(build::archive([("a", ""), ("b", ""), ("c", "")]), &budget);
    assert!(Archive::open(&three).err().unwrap().is_budget());
}

#[test]
fn opening_reads_the_tail_once_and_parts_on_their_own() {
    let small = source(build::archive([("a", TEXT), ("b", TEXT)]));
    assert_eq!(read(&small, "a").as_deref(), Ok(TEXT));
    assert_eq!(small.meter().cost().physical_bytes, small.size());

    let padding = Part::new("media", vec![7; 100_000]).packing(Packing::Stored);
    let packed = build::deflate(TEXT).len() as u64;
    let large = source(build::Archive::new([Part::new("a", TEXT), padding]).build());
    assert_eq!(read(&large, "a").as_deref(), Ok(TEXT));
    assert_eq!(large.meter().cost().physical_bytes, 2048 + packed);
}

#[test]
fn a_sparse_file_with_a_monstrous_directory_costs_no_memory() {
    // C-3.
    use std::io::{Seek, SeekFrom, Write};
    let mut end = build::Archive {
        zip64: true,
        claimed_entries: Some(1 << 32),
        ..build::Archive::new([])
    }
    .build();
    let size = 1_u64 << 38;
    end[40..48].copy_from_slice(&(size - 4096).to_le_bytes());
    end[48..56].copy_from_slice(&0_u64.to_le_bytes());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sparse.docx");
    let mut file = std::fs::File::create(&path).unwrap();
    file.write_all(b"PK\x01\x02").unwrap();
    file.seek(SeekFrom::Start(size)).unwrap();
    file.write_all(&end).unwrap();
    drop(file);
    let source = Source::open(path.to_str().unwrap(), None, Limits::of(Level::Metadata)).unwrap();
    let refused = Archive::open(&source).err().unwrap();
    assert!(refused.is_budget() || refused.is_malformed(), "{refused}");
    assert!(source.meter().cost().physical_bytes < 2 << 20);
}

#[test]
fn a_look_into_an_entry_stops_when_it_has_seen_enough() {
    const STEPS: Steps = Steps {
        first: 192,
        next: 32,
    };
    let content = [
        b"<root show='0'>".as_slice(),
        &[b' '; 100_000],
        &[7; 50_000],
    ]
    .concat();
    for packing in [Packing::Stored, Packing::Deflate] {
        let filler = Part::new("filler", vec![1; 5000]).packing(Packing::Stored);
        let part = Part::new("a", &content).packing(packing);
        let source = source(build::Archive::new([part, filler]).build());
        let archive = Archive::open(&source).unwrap();
        let before = source.meter().cost().physical_bytes;
        let entry = archive.find("a").unwrap();
        let seen = archive
            .look_into(entry, STEPS, |beginning| {
                assert_eq!(beginning.is_all, packing == Packing::Deflate);
                let bytes = beginning.bytes;
                bytes.contains(&b'>').then(|| bytes.to_vec())
            })
            .unwrap();
        assert!(seen.unwrap().starts_with(b"<root show='0'>"));
        assert!(source.meter().cost().physical_bytes - before <= 192);
        let mut all = Vec::new();
        let mut ended = 0;
        let found = archive.look_into(entry, STEPS, |beginning| {
            all = beginning.bytes.to_vec();
            ended += u32::from(beginning.is_all);
            None::<()>
        });
        assert_eq!(found, Ok(None));
        assert_eq!(all, content);
        assert_eq!(ended, 1);
    }
}

#[test]
fn what_lies_between_entries_leads_nowhere_wrong() {
    // The local header says where an entry begins; here 100 bytes of nothing follow each.
    let mut bytes = Vec::new();
    let mut directory = Vec::new();
    for name in ["a", "b"] {
        let one = build::Archive::new([Part::new(name, TEXT)]).build();
        let at = one.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
        let mut record = one[at..one.len() - 22].to_vec();
        record[42..46].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
        directory.extend(record);
        bytes.extend(&one[..at]);
        bytes.extend([0; 100]);
    }
    let start = bytes.len() as u32;
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0\x02\0\x02\0");
    bytes.extend((directory.len() as u32).to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend([0, 0]);
    let source = source(bytes);
    for name in ["a", "b"] {
        assert_eq!(read(&source, name).as_deref(), Ok(TEXT));
    }
}

#[test]
fn names_that_were_made_to_collide_are_found_by_halving() {
    // Sixteen bytes whose second half makes up for what the first does to the hash.
    let mix =
        |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    let usable =
        |byte: &u8| byte.is_ascii() && !byte.is_ascii_uppercase() && !b"\\/".contains(byte);
    let colliding: Vec<String> = (0..)
        .filter_map(|number: u32| {
            let first = format!("{number:08x}");
            let word = u64::from_le_bytes(first.as_bytes().try_into().unwrap());
            let second = (mix(16, word).rotate_left(5) ^ 0x1234_5678).to_le_bytes();
            let second = second.iter().all(usable).then_some(second)?;
            Some(first + std::str::from_utf8(&second).unwrap())
        })
        .take(50)
        .collect();
    assert_eq!(key_hash(&colliding[0]), key_hash(&colliding[49]));
    // Thousands of names that are one for OPC.
    let cased = |bits: u32| -> String {
        let letter = |bit: u32| if bits >> bit & 1 == 0 { 'a' } else { 'A' };
        (0..20).map(letter).collect()
    };
    let all = || (0..3_000).map(cased).chain(colliding.iter().cloned());
    let parts: Vec<_> = all()
        .map(|name| Part::new(&name, "").packing(Packing::Stored))
        .collect();
    let source = source(build::Archive::new(parts).build());
    let archive = Archive::open(&source).unwrap();
    for name in all() {
        assert_eq!(archive.find(&name).unwrap().name(), name);
        assert_eq!(archive.find_exact(&name).unwrap().name(), name);
    }
    for bits in 3_000..6_000 {
        let last = archive.find(&cased(bits)).unwrap();
        assert_eq!(last.name(), cased(2_999));
        assert!(archive.find_exact(&cased(bits)).is_none());
    }
}
