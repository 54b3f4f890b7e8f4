//! LZFSE frames (`lzfse_internal.h` of the reference implementation): the log of operations that a shared
//! document keeps is compressed so, not as Snappy chunks, and it is not a run of archives.
//!
//! No target needs what is in the log, so it is not decompressed. The blocks are followed to the end of
//! the stream, which tells a valid log from a cut one.

use super::chunks::{Decoder, Feed, malformed};
use crate::engine::error::Result;

/// The four bytes that every block begins with, without the last one, which is the kind.
const MAGIC: &[u8] = b"bvx";

/// Bytes of the header of a block of kind `2`, up to the field with the header's whole size.
const HEADER_V2: usize = 32;

impl<F: Feed> Decoder<'_, F> {
    /// Whether the component is LZFSE. A chunk never begins with these bytes: its type is 0 or 1.
    ///
    /// # Errors
    /// As reading the component.
    pub(crate) fn is_lzfse(&mut self) -> Result<bool> {
        Ok(self.peek(MAGIC.len())?.is_some_and(|head| head == MAGIC))
    }

    /// Skips all blocks of an LZFSE component.
    ///
    /// # Errors
    /// `MALFORMED_INPUT` when the blocks do not lead to an end mark, and budget errors.
    pub(crate) fn skip_lzfse(&mut self) -> Result<()> {
        while let Some(length) = self.lzfse_block()? {
            self.skip_packed(length)?;
        }
        Ok(())
    }

    /// The length of the next block; `None` for the end mark.
    fn lzfse_block(&mut self) -> Result<Option<u64>> {
        let kind = match self.peek(4)? {
            Some([b'b', b'v', b'x', kind]) => *kind,
            _ => 0,
        };
        let length = match kind {
            b'$' => return Ok(None),
            // Uncompressed: the number of bytes.
            b'-' => self.peek(8)?.map(|header| 8 + word(header, 4)),
            // LZVN: the number of raw bytes, then of packed ones.
            b'n' => self.peek(12)?.map(|header| 12 + word(header, 8)),
            // LZFSE: twenty bits each for the two payloads, then the size of the header.
            b'2' => self.peek(HEADER_V2)?.map(|header| {
                let literals = long(header, 8) >> 20 & 0xF_FFFF;
                let matches = long(header, 16) >> 40 & 0xF_FFFF;
                let own = word(header, 24).max(HEADER_V2 as u64);
                own + literals + matches
            }),
            _ => None,
        };
        match length {
            Some(length) => Ok(Some(length)),
            None => Err(malformed(self.name(), "an LZFSE block is not valid")),
        }
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    let word = bytes.get(at..).and_then(<[u8]>::first_chunk);
    word.map_or(0, |word| u64::from(u32::from_le_bytes(*word)))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    let long = bytes.get(at..).and_then(<[u8]>::first_chunk);
    long.map_or(0, |long| u64::from_le_bytes(*long))
}
