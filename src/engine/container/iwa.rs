//! IWA: the components of Apple's iWork documents since 2013.
//!
//! A component is a run of chunks: one type byte (0 = a raw Snappy block, 1 = stored), the length in
//! three bytes, little endian, and as many bytes. There is no stream identifier and there are no
//! checksums. Joined, the chunks are a run of archives: the length of an `ArchiveInfo` as a varint,
//! the `ArchiveInfo` (field 1 the identifier, repeated field 2 a `MessageInfo` with field 1 the type
//! and field 3 the length), then the messages.
//!
//! A component is decoded chunk by chunk and only as far as somebody wants to know. Memory holds one
//! chunk and the message that is being looked at, never a whole component.

mod chunks;
mod lzfse;
mod wire;

use std::collections::BTreeMap;

use self::chunks::malformed;
pub(crate) use self::chunks::{Decoder, Feed};
pub(crate) use self::wire::{DecodeError, Field, Fields, Wire, message, number, reference, text};
use super::super::budget::Meter;
use super::super::error::Result;

/// Most archives, and most messages, of one document (contract §9.7).
const MAX_OBJECTS: u64 = 1_000_000;

/// Most different message types that are told apart. Real documents have about two hundred.
const MAX_TYPES: usize = 10_000;

/// Looks at the messages of components.
pub(crate) trait Visitor {
    /// Whether the payload of this message is worth reading.
    fn wants(&mut self, identifier: u64, kind: u32) -> bool;

    /// Takes the payload of a wanted message.
    fn message(&mut self, identifier: u64, kind: u32, payload: &[u8]) -> Result<(), DecodeError>;

    /// Whether everything is known, so that the rest need not be decoded.
    fn is_satisfied(&self) -> bool;
}

/// How much of what the components hold.
#[derive(Debug, Default)]
pub(crate) struct MessageCounts {
    archives: u64,
    messages: u64,
    kinds: BTreeMap<u32, u64>,
}

impl MessageCounts {
    /// All messages. An archive has one, or more where changes were appended to it.
    pub(crate) fn messages(&self) -> u64 {
        self.messages
    }

    /// Messages of one type.
    pub(crate) fn of_kind(&self, kind: u32) -> u64 {
        self.kinds.get(&kind).copied().unwrap_or(0)
    }

    /// Messages by type. `None` when there are more types than a document can have.
    pub(crate) fn kinds(&self) -> Option<&BTreeMap<u32, u64>> {
        (self.kinds.len() <= MAX_TYPES).then_some(&self.kinds)
    }

    fn archive(&mut self, meter: &Meter) -> Result<()> {
        self.archives += 1;
        if self.archives.is_multiple_of(1024) {
            meter.check_clock()?;
        }
        limit(self.archives, meter)
    }

    fn message(&mut self, kind: u32, meter: &Meter) -> Result<()> {
        self.messages += 1;
        if self.kinds.len() <= MAX_TYPES || self.kinds.contains_key(&kind) {
            *self.kinds.entry(kind).or_default() += 1;
        }
        limit(self.messages, meter)
    }
}

fn limit(count: u64, meter: &Meter) -> Result<()> {
    if count > MAX_OBJECTS {
        return Err(meter.exceeded(format_args!(
            "the IWA components hold more than {MAX_OBJECTS} objects"
        )));
    }
    Ok(())
}

/// Walks the archives of one component until it ends or the visitor is satisfied.
///
/// # Errors
/// `MALFORMED_INPUT` at the first byte that does not decode (the visitor has seen what was before
/// it), and budget errors.
pub(crate) fn walk<F: Feed>(
    mut decoder: Decoder<'_, F>,
    counts: &mut MessageCounts,
    visitor: &mut impl Visitor,
) -> Result<()> {
    let mut messages = Vec::new();
    while !visitor.is_satisfied() {
        let Some(length) = decoder.varint()? else {
            return Ok(());
        };
        counts.archive(decoder.meter())?;
        let info = decoder.take(length)?;
        let identifier = read_info(info, &mut messages).map_err(|DecodeError| {
            malformed(decoder.name(), "an archive header does not decode")
        })?;
        for &(kind, length) in &messages {
            counts.message(kind, decoder.meter())?;
            if visitor.wants(identifier, kind) {
                let payload = decoder.take(length)?;
                visitor
                    .message(identifier, kind, payload)
                    .map_err(|DecodeError| {
                        malformed(
                            decoder.name(),
                            format_args!("the message of type {kind} does not decode"),
                        )
                    })?;
            } else {
                decoder.skip(length)?;
            }
        }
    }
    Ok(())
}

/// Reads an `ArchiveInfo`: its identifier, and type and length of its messages.
fn read_info(info: &[u8], messages: &mut Vec<(u32, u64)>) -> Result<u64, DecodeError> {
    messages.clear();
    let mut identifier = 0;
    for field in Fields::of(info) {
        match field? {
            Field {
                number: 1,
                value: Wire::Varint(id),
            } => identifier = id,
            // More than the limit are not kept: counting them will end the walk.
            Field {
                number: 2,
                value: Wire::Bytes(message),
            } if messages.len() as u64 <= MAX_OBJECTS => {
                messages.push(read_message_info(message)?);
            }
            _ => {}
        }
    }
    Ok(identifier)
}

fn read_message_info(info: &[u8]) -> Result<(u32, u64), DecodeError> {
    let (mut kind, mut length) = (0, 0);
    for field in Fields::of(info) {
        match field? {
            Field {
                number: 1,
                value: Wire::Varint(n),
            } => kind = u32::try_from(n).map_err(|_| DecodeError)?,
            Field {
                number: 3,
                value: Wire::Varint(n),
            } => length = n,
            _ => {}
        }
    }
    Ok((kind, length))
}

/// Walks a component and every field of its messages, for the fuzz targets.
pub(crate) fn fuzz(bytes: &[u8]) {
    struct Whole<'b>(&'b [u8]);

    impl Feed for Whole<'_> {
        fn more(&mut self, out: &mut Vec<u8>) -> Result<bool> {
            let piece = std::mem::take(&mut self.0);
            out.extend_from_slice(piece);
            Ok(!piece.is_empty())
        }
    }

    struct Everything(u64);

    impl Visitor for Everything {
        fn wants(&mut self, _: u64, _: u32) -> bool {
            true
        }

        fn message(&mut self, _: u64, _: u32, payload: &[u8]) -> Result<(), DecodeError> {
            for field in Fields::of(payload) {
                self.0 = self.0.wrapping_add(field?.value.reference()?.unwrap_or(0));
            }
            Ok(())
        }

        fn is_satisfied(&self) -> bool {
            false
        }
    }

    let meter = Meter::start(crate::contract::Limits::of(crate::contract::Level::Deep));
    let decoder = Decoder::new(Whole(bytes), &meter, "x.iwa");
    // Whether it decodes is no matter here.
    let _ = walk(decoder, &mut MessageCounts::default(), &mut Everything(0));
}

#[cfg(test)]
mod tests;
