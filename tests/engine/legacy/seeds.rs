//! Writes what the fuzz targets begin with, when `DECKPROBE_FUZZ_SEEDS` names a folder for it.

use super::make::{
    Deck, Property, bof, bound_sheet, bound_sheet_5, compound, container, document, eof,
    property_set, record, slide, word, workbook,
};
use crate::harness::seed_writer;

#[test]
fn seeds_are_written_when_asked_for() {
    let Some(write) = seed_writer() else { return };
    let summary = property_set(&[
        (1, Property::I2(1252)),
        (2, Property::Text(b"A title\0")),
        (4, Property::Wide("An author")),
        (12, Property::Time(125_962_560_000_000_000)),
        (14, Property::I4(3)),
    ]);
    for (kind, (name, [(first, a), (second, b)])) in documents().into_iter().enumerate() {
        let file = compound(&[
            (first, &a),
            (second, &b),
            ("\u{5}SummaryInformation", &summary),
        ]);
        write("legacy_document", name, &file);
        let mut streams = vec![(kind & 3) as u8];
        for stream in [&a, &b] {
            streams.extend(u16::try_from(stream.len()).unwrap().to_be_bytes());
            streams.extend(stream);
        }
        streams.extend(&summary);
        write("legacy_streams", name, &streams);
    }
}

type Streams = [(&'static str, Vec<u8>); 2];

fn documents() -> [(&'static str, Streams); 4] {
    let (main, table) = word(0, b"See \x13 HYPERLINK \"x\" \x14the page\x15\rAgain\r");
    let strings = record(0x00FC, &[9, 0, 0, 0, 4, 0, 0, 0]);
    let globals = [
        record(0x005B, &[0, 0, 0xEB, 0xCB, 0, 0]),
        bound_sheet("A", 0, 0),
        bound_sheet("\u{3a9}", 1, 1),
        record(0x01AE, &[1, 0, 9, 0, 0, b'o']),
        record(0x0018, &[0, 0, 0, 3]),
        strings,
    ];
    let old = [bof(0x0500, 5), bound_sheet_5(b"old"), eof()].concat();
    let mut deck = Deck::new();
    let objects = container(0, 0x0409, &[container(0, 0x0FCC, &[])]);
    deck.object(1, &document(&[10, 11], &[2], &[5], &[objects]))
        .object(10, &slide(true))
        .object(11, &slide(false))
        .save(1);
    let mut info = vec![3, 0, 2, 0];
    for field in [0x24_u32, 32, 0x24, 0, 0x660E, 0x8004, 128, 0x18] {
        info.extend(field.to_le_bytes());
    }
    [
        ("doc", [("WordDocument", main), ("1Table", table)]),
        (
            "xls",
            [("Workbook", workbook(&globals, &[])), ("Book", old)],
        ),
        (
            "ppt",
            [
                ("PowerPoint Document", deck.stream().to_vec()),
                ("Current User", deck.current_user(false)),
            ],
        ),
        (
            "docx",
            [("EncryptionInfo", info), ("EncryptedPackage", vec![0; 64])],
        ),
    ]
}
