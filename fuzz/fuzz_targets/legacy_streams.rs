//! What is inside a compound file: the target writes a sound container, so that mutations reach the
//! readers of Word, Excel, PowerPoint, property sets and encryption headers.
//!
//! The first byte chooses the kind; two bytes each are the length of two streams; the rest is the
//! property set.
#![no_main]

use std::cell::RefCell;
use std::io::{Cursor, Write};

use deckprobe_mcp::engine::fuzzing::Prober;
use libfuzzer_sys::fuzz_target;

thread_local! {
    static PROBER: RefCell<Prober> = RefCell::new(Prober::new().expect("the options are known"));
}

/// Extension, and names of the first and the second stream.
const KINDS: [(&str, &str, &str); 4] = [
    ("a.doc", "WordDocument", "1Table"),
    ("a.xls", "Workbook", "Book"),
    ("a.ppt", "PowerPoint Document", "Current User"),
    ("a.docx", "EncryptionInfo", "EncryptedPackage"),
];

fn compound(streams: &[(&str, &[u8])]) -> std::io::Result<Vec<u8>> {
    let mut file = cfb::CompoundFile::create(Cursor::new(Vec::new()))?;
    for (name, content) in streams {
        file.create_stream(name)?.write_all(content)?;
    }
    file.flush()?;
    Ok(file.into_inner().into_inner())
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, mut rest)) = bytes.split_first() else {
        return;
    };
    let mut take = || {
        let (length, tail) = rest.split_at(rest.len().min(2));
        let length = length
            .iter()
            .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        let (piece, tail) = tail.split_at(length.min(tail.len()));
        rest = tail;
        piece
    };
    let (name, first, second) = KINDS[usize::from(choice & 3)];
    let streams = [
        (first, take()),
        (second, take()),
        ("\u{5}SummaryInformation", rest),
    ];
    // The writer's own limits are not what is tested.
    let Ok(file) = compound(&streams) else {
        return;
    };
    let reply = PROBER.with_borrow_mut(|prober| prober.probe(name, &file));
    assert!(reply.starts_with(b"{") && reply.len() < 16 << 20);
});
