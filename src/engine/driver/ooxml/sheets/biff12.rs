//! The record stream of binary workbook parts ([MS-XLSB] 2.1.4).

use crate::engine::error::{ProbeError, Result};

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record<'b> {
    pub(super) kind: u16,
    pub(super) data: &'b [u8],
}

/// Reads records one after the other.
#[derive(Debug)]
pub(super) struct Records<'b>(pub(super) &'b [u8]);

impl<'b> Iterator for Records<'b> {
    type Item = Result<Record<'b>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let record = self.read();
        if record.is_none() {
            self.0 = &[];
        }
        Some(record.ok_or_else(|| ProbeError::malformed("a BIFF12 record is cut off")))
    }
}

impl<'b> Records<'b> {
    fn read(&mut self) -> Option<Record<'b>> {
        let kind = self.number(2)?;
        let len = usize::try_from(self.number(4)?).ok()?;
        let (data, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(Record {
            kind: u16::try_from(kind).ok()?,
            data,
        })
    }

    /// A number of at most `max` bytes with seven bits each; the eighth says that more follow.
    fn number(&mut self, max: u32) -> Option<u32> {
        let mut number = 0;
        for index in 0..max {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u32::from(byte & 0x7F) << (7 * index);
            if byte & 0x80 == 0 {
                break;
            }
        }
        Some(number)
    }
}

/// Takes a string from the front of record data: a 32-bit count of UTF-16 units, then the units
/// (`XLWideString`, 2.5.169).
pub(super) fn wide_string(data: &mut &[u8]) -> Option<String> {
    let (count, rest) = data.split_at_checked(4)?;
    let count = u32::from_le_bytes(count.try_into().ok()?);
    if count == u32::MAX {
        // A nullable string that is null.
        *data = rest;
        return Some(String::new());
    }
    let len = usize::try_from(count).ok()?.checked_mul(2)?;
    let (units, rest) = rest.split_at_checked(len)?;
    *data = rest;
    let units = units
        .chunks_exact(2)
        .map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
    Some(
        char::decode_utf16(units)
            .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect(),
    )
}
