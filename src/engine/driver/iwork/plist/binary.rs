//! Binary property lists, as Core Foundation writes them (`CFBinaryPList.c`): objects, a table of
//! their offsets, and a trailer of 32 bytes that leads to the table.

use super::value::{MAX_ITEMS, Plist, Scalar};
use crate::engine::container::iwa::DecodeError;
use std::borrow::Cow;

pub(super) const MAGIC: &[u8] = b"bplist00";

const TRAILER: usize = 32;

/// Where the objects are.
struct Table<'a> {
    bytes: &'a [u8],
    offsets: &'a [u8],
    offset_width: usize,
    reference_width: usize,
    count: u64,
}

pub(super) fn read(bytes: &[u8]) -> Result<Plist<'_>, DecodeError> {
    let (table, top) = Table::of(bytes).or_else(|DecodeError| {
        // Some writers end the file with a line break. No more than one is taken away: the trailer
        // itself may end with white space.
        Table::of(bytes.strip_suffix(b"\n").ok_or(DecodeError)?)
    })?;
    let object = table.object(top)?;
    match object.kind {
        0xA => {
            let references = table.references(&object, object.count)?;
            references
                .map(|item| table.scalar(item))
                .collect::<Result<_, _>>()
                .map(Plist::Array)
        }
        0xD => {
            // All keys, then all values.
            let both = object.count.checked_mul(2).ok_or(DecodeError)?;
            let keys = table.references(&object, both)?;
            let values = keys.clone().skip(object.count);
            keys.take(object.count)
                .zip(values)
                .map(|(key, value)| Ok((table.scalar(key)?, table.scalar(value)?)))
                .collect::<Result<_, _>>()
                .map(Plist::Dictionary)
        }
        _ => Ok(Plist::Scalar),
    }
}

/// An object: the kind and the count of its marker, and all bytes behind the marker.
struct Object<'a> {
    kind: u8,
    count: usize,
    rest: &'a [u8],
}

impl<'a> Table<'a> {
    /// Reads the trailer. Returns the table and the number of the top object.
    fn of(bytes: &'a [u8]) -> Result<(Self, u64), DecodeError> {
        let trailer = bytes.last_chunk::<TRAILER>().ok_or(DecodeError)?;
        let long = |at: usize| {
            trailer[at..]
                .first_chunk::<8>()
                .map_or(0, |bytes| u64::from_be_bytes(*bytes))
        };
        let (offset_width, reference_width) = (usize::from(trailer[6]), usize::from(trailer[7]));
        let (count, top, start) = (long(8), long(16), long(24));
        let length = usize::try_from(count)
            .ok()
            .and_then(|count| count.checked_mul(offset_width))
            .ok_or(DecodeError)?;
        let start = usize::try_from(start).map_err(|_| DecodeError)?;
        let body = &bytes[..bytes.len() - TRAILER];
        let offsets = body
            .get(start..)
            .and_then(|table| table.get(..length))
            .ok_or(DecodeError)?;
        let is_width = |width| (1..=8).contains(&width);
        // References are not needed in a list of one object, and some writers leave their width 0.
        if !is_width(offset_width) || reference_width > 8 || top >= count {
            return Err(DecodeError);
        }
        let table = Self {
            bytes: body,
            offsets,
            offset_width,
            reference_width,
            count,
        };
        Ok((table, top))
    }

    fn object(&self, number: u64) -> Result<Object<'a>, DecodeError> {
        if number >= self.count {
            return Err(DecodeError);
        }
        let at = usize::try_from(number).map_err(|_| DecodeError)? * self.offset_width;
        let offset = self
            .offsets
            .get(at..at + self.offset_width)
            .ok_or(DecodeError)?;
        let offset = usize::try_from(integer(offset)).map_err(|_| DecodeError)?;
        let (&marker, mut rest) = self
            .bytes
            .get(offset..)
            .and_then(<[u8]>::split_first)
            .ok_or(DecodeError)?;
        let kind = marker >> 4;
        let mut count = usize::from(marker & 0xF);
        if count == 0xF && matches!(kind, 0x4..=0xD) {
            // The count is an integer object of its own.
            let (&marker, after) = rest.split_first().ok_or(DecodeError)?;
            if marker >> 4 != 1 || marker & 0xF > 3 {
                return Err(DecodeError);
            }
            let (bytes, after) = after
                .split_at_checked(1 << (marker & 0xF))
                .ok_or(DecodeError)?;
            count = usize::try_from(integer(bytes)).map_err(|_| DecodeError)?;
            rest = after;
        }
        Ok(Object { kind, count, rest })
    }

    /// The numbers of the first `count` objects that a collection holds. They are all there.
    fn references(
        &self,
        object: &Object<'a>,
        count: usize,
    ) -> Result<impl Iterator<Item = u64> + Clone + use<'a>, DecodeError> {
        let width = self.reference_width;
        if width == 0 && count > 0 {
            return Err(DecodeError);
        }
        if count > MAX_ITEMS {
            return Err(DecodeError);
        }
        let bytes = object.rest.get(..count * width).ok_or(DecodeError)?;
        Ok(bytes.chunks_exact(width.max(1)).map(integer))
    }

    fn scalar(&self, number: u64) -> Result<Scalar<'a>, DecodeError> {
        let object = self.object(number)?;
        let take = |length: usize| object.rest.get(..length).ok_or(DecodeError);
        Ok(match (object.kind, object.count) {
            (0, 8) => Scalar::Bool(false),
            (0, 9) => Scalar::Bool(true),
            // ASCII by the format; UTF-8 is a later addition.
            (5 | 7, length) => Scalar::Utf8(Cow::Borrowed(take(length)?)),
            (6, length) => Scalar::Utf16(take(length.checked_mul(2).ok_or(DecodeError)?)?),
            _ => Scalar::Other,
        })
    }
}

/// An unsigned integer, big endian.
fn integer(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |value, &byte| value << 8 | u64::from(byte))
}
