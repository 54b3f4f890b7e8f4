//! The object graph: the input is what the components hold once they are decoded, so that mutations
//! reach the objects instead of breaking checksums and compression.
//!
//! The first byte chooses the extension and the form of the package; two bytes each are the length of
//! the document, of the tables' component and of the window's state; the rest is the property list.
#![no_main]

use std::cell::RefCell;

use deckprobe_mcp::engine::fuzzing::Prober;
use libfuzzer_sys::fuzz_target;

#[allow(dead_code)]
#[path = "../../tests/engine/support/zip.rs"]
mod zip;

use zip::{Archive, Packing, Part};

thread_local! {
    static PROBER: RefCell<Prober> = RefCell::new(Prober::new().expect("the options are known"));
}

/// The bytes as stored chunks.
fn chunks(plain: &[u8]) -> Vec<u8> {
    plain
        .chunks(1000)
        .flat_map(|piece| {
            let length = (piece.len() as u32).to_le_bytes();
            [&[1, length[0], length[1], length[2]], piece].concat()
        })
        .collect()
}

fn build(parts: &[(&str, Vec<u8>)]) -> Vec<u8> {
    Archive::new(
        parts
            .iter()
            .map(|(name, content)| Part::new(name, content).packing(Packing::Stored)),
    )
    .build()
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
        chunks(piece)
    };
    let index = [
        ("Index/Document.iwa", take()),
        ("Index/CalculationEngine.iwa", take()),
        ("Index/ViewState.iwa", take()),
    ];
    let properties = [("Metadata/Properties.plist", rest.to_vec())];
    let package = if choice & 4 == 0 {
        build(&[&index[..], &properties].concat())
    } else {
        build(&[&[("Index.zip", build(&index))][..], &properties].concat())
    };
    let name = ["a.key", "a.numbers", "a.pages", "a.key"][usize::from(choice & 3)];
    let reply = PROBER.with_borrow_mut(|prober| prober.probe(name, &package));
    assert!(reply.starts_with(b"{") && reply.len() < 16 << 20);
});
