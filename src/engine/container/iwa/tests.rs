use super::*;
use crate::contract::{Budget, Level, Limits};

/// Hands out bytes in pieces of a given length.
struct Pieces<'a>(&'a [u8], usize);

impl Feed for Pieces<'_> {
    fn more(&mut self, out: &mut Vec<u8>) -> Result<bool> {
        let (piece, rest) = self.0.split_at(self.1.min(self.0.len()));
        out.extend_from_slice(piece);
        self.0 = rest;
        Ok(!piece.is_empty())
    }
}

/// Keeps every message of type 7, and has enough after `stop` of them.
#[derive(Default)]
struct Keep {
    seen: Vec<(u64, Vec<u8>)>,
    stop: Option<usize>,
}

impl Visitor for Keep {
    fn wants(&mut self, _: u64, kind: u32) -> bool {
        kind == 7
    }

    fn message(&mut self, identifier: u64, _: u32, payload: &[u8]) -> Result<(), DecodeError> {
        if payload == b"broken" {
            return Err(DecodeError);
        }
        self.seen.push((identifier, payload.to_vec()));
        Ok(())
    }

    fn is_satisfied(&self) -> bool {
        self.stop == Some(self.seen.len())
    }
}

fn meter(expanded: u64) -> Meter {
    Meter::start(Limits::with(
        Level::Deep,
        &Budget {
            max_expanded_bytes: Some(expanded),
            ..Budget::default()
        },
    ))
}

/// An archive with small numbers, so that every varint is one byte.
fn archive(identifier: u8, messages: &[(u8, &[u8])]) -> Vec<u8> {
    let mut info = vec![0x08, identifier];
    for (kind, payload) in messages {
        info.extend([0x12, 4, 0x08, *kind, 0x18, payload.len() as u8]);
    }
    let mut bytes = vec![info.len() as u8];
    bytes.extend(info);
    for (_, payload) in messages {
        bytes.extend_from_slice(payload);
    }
    bytes
}

fn chunk(kind: u8, bytes: &[u8]) -> Vec<u8> {
    let mut chunk = vec![kind];
    chunk.extend(&(bytes.len() as u32).to_le_bytes()[..3]);
    chunk.extend(bytes);
    chunk
}

fn snappy(bytes: &[u8]) -> Vec<u8> {
    chunk(0, &snap::raw::Encoder::new().compress_vec(bytes).unwrap())
}

fn read(bytes: &[u8], step: usize, keep: &mut Keep, meter: &Meter) -> Result<MessageCounts> {
    let mut counts = MessageCounts::default();
    walk(
        Decoder::new(Pieces(bytes, step), meter, "x.iwa"),
        &mut counts,
        keep,
    )?;
    Ok(counts)
}

fn document() -> Vec<u8> {
    let mut plain = archive(1, &[(7, b"first")]);
    plain.extend(archive(2, &[(9, &[0; 100]), (7, b"second")]));
    plain.extend(archive(3, &[]));
    plain.extend(archive(4, &[(7, b"")]));
    plain
}

#[test]
fn archives_are_found_across_chunks_and_pieces_of_any_size() {
    let plain = document();
    for cut in [1, 7, 50, plain.len()] {
        let mut bytes = Vec::new();
        for (index, part) in plain.chunks(cut).enumerate() {
            bytes.extend(if index % 2 == 0 {
                snappy(part)
            } else {
                chunk(1, part)
            });
        }
        for step in [1, 5, 4096] {
            let meter = meter(10_000);
            let mut keep = Keep::default();
            let counts = read(&bytes, step, &mut keep, &meter).unwrap();
            assert_eq!(
                keep.seen,
                [
                    (1, b"first".to_vec()),
                    (2, b"second".to_vec()),
                    (4, Vec::new())
                ]
            );
            assert_eq!(
                (counts.messages(), counts.of_kind(7), counts.of_kind(9)),
                (4, 3, 1)
            );
            assert_eq!(meter.cost().expanded_bytes, plain.len() as u64);
        }
    }
}

#[test]
fn nothing_is_decoded_behind_what_is_wanted() {
    let mut bytes = snappy(&document());
    bytes.extend(snappy(&vec![0; 1 << 20]));
    bytes.extend(b"and then no chunk at all");
    let meter = meter(10_000);
    let mut keep = Keep {
        stop: Some(2),
        ..Keep::default()
    };
    read(&bytes, 4096, &mut keep, &meter).unwrap();
    assert_eq!(keep.seen.len(), 2);
    assert_eq!(meter.cost().expanded_bytes, document().len() as u64);
}

#[test]
fn damage_is_named_and_what_was_before_it_is_seen() {
    let good = snappy(&archive(1, &[(7, b"first")]));
    let mut huge = archive(2, &[]);
    huge[0] = 0x7F;
    let lying = {
        // Claims 4 GiB in one Snappy block of eleven bytes.
        let mut block = vec![0xFF, 0xFF, 0xFF, 0xFF, 0x0F];
        block.extend([0; 6]);
        chunk(0, &block)
    };
    let cases: [(Vec<u8>, &str); 8] = [
        (b"\0\0".to_vec(), "chunk header"),
        (chunk(2, b"x"), "chunk type 2"),
        (b"\x01\xFF\xFF\xFFabc".to_vec(), "longer than the component"),
        (chunk(0, b"\x05\xF0"), "Snappy"),
        (lying, "Snappy"),
        (chunk(1, &huge), "inside an archive"),
        (chunk(1, &[0x80; 12]), "a length"),
        (snappy(&archive(9, &[(7, b"broken")])), "type 7"),
    ];
    for (bad, words) in cases {
        let mut bytes = good.clone();
        bytes.extend(&bad);
        let mut keep = Keep::default();
        let error = read(&bytes, 3, &mut keep, &meter(10_000)).unwrap_err();
        assert!(error.is_malformed(), "{error}");
        assert!(error.message().contains(words), "{error} / {words}");
        assert_eq!(keep.seen, [(1, b"first".to_vec())]);
    }
}

#[test]
fn the_expansion_budget_is_asked_before_a_block_is_unpacked() {
    let bytes = snappy(&vec![0; 1 << 20]);
    let meter = meter(100_000);
    let error = read(&bytes, 4096, &mut Keep::default(), &meter).unwrap_err();
    assert!(error.is_budget(), "{error}");
    assert_eq!(meter.cost().expanded_bytes, 0);
}

#[test]
fn more_objects_than_a_document_may_have_are_a_spent_budget() {
    // 2 bytes an archive without messages: `01` info length would need a field, so the empty info.
    let bytes = snappy(&vec![0; 1_000_001]);
    let error = read(&bytes, 1 << 16, &mut Keep::default(), &meter(10_000_000)).unwrap_err();
    assert!(
        error.is_budget() && error.message().contains("1000000"),
        "{error}"
    );
}
