//! Word documents: what the file information block tells ([MS-DOC] §2.5).

use super::bytes::{u16_at, u32_at};
use super::encryption::Encryption;
use super::word_text::{self, Piece, TextCounts};
use crate::engine::container::cfb::{Cfb, EntryId, Stream};
use crate::engine::error::Result;

/// Name of the main stream.
pub(super) const STREAM: &str = "WordDocument";

/// First `nFib` of the binary format that Word 97 introduced and every later version writes.
const WORD_97: u16 = 0xC1;

/// The file information block, as far as it is needed.
#[derive(Debug)]
pub(super) struct Word<'s> {
    cfb: Cfb<'s>,
    home: EntryId,
    stream: Stream<'s>,
    version: u16,
    language: u16,
    flags: u16,
    /// Size of the encryption header, or the verifier of XOR obfuscation.
    key: u32,
    counts: Option<Option<TextCounts>>,
}

/// Flags at offset 0x0A of the block (§2.5.2).
mod flag {
    pub(super) const TEMPLATE: u16 = 1;
    pub(super) const COMPLEX: u16 = 1 << 2;
    pub(super) const ENCRYPTED: u16 = 1 << 8;
    pub(super) const TABLE_1: u16 = 1 << 9;
    pub(super) const WRITE_RESERVATION: u16 = 1 << 11;
    pub(super) const EXTENDED_CHARACTERS: u16 = 1 << 12;
    pub(super) const OBFUSCATED: u16 = 1 << 15;
}

impl<'s> Word<'s> {
    /// Reads the start of the block. `None` when the stream does not begin with one.
    pub(super) fn open(cfb: &Cfb<'s>, home: EntryId) -> Result<Option<Self>> {
        let Some(mut stream) = cfb.stream_named(home, STREAM) else {
            return Ok(None);
        };
        let Some(base) = stream.read_array_alone::<32>(0)? else {
            return Ok(None);
        };
        // 0xA5EC since Word 97, 0xA5DC for Word 6 and 95; others are not in compound files.
        if !matches!(u16_at(&base, 0), Some(0xA5EC | 0xA5DC)) {
            return Ok(None);
        }
        let field = |at| u16_at(&base, at).unwrap_or_default();
        Ok(Some(Self {
            cfb: cfb.clone(),
            home,
            stream,
            version: field(2),
            language: field(6),
            flags: field(0x0A),
            key: u32_at(&base, 0x0E).unwrap_or_default(),
            counts: None,
        }))
    }

    pub(super) fn is_template(&self) -> bool {
        self.has(flag::TEMPLATE)
    }

    /// Whether a password is asked for before the document may be changed.
    pub(super) fn has_password_to_modify(&self) -> bool {
        self.has(flag::WRITE_RESERVATION)
    }

    /// How the document is encrypted, if it is (§2.2.6).
    pub(super) fn encryption(&mut self) -> Result<Option<Encryption>> {
        if !self.has(flag::ENCRYPTED) {
            return Ok(None);
        }
        if self.has(flag::OBFUSCATED) || self.version < WORD_97 {
            return Ok(Some(Encryption::xor()));
        }
        let Some(mut table) = self.table_stream() else {
            return Ok(Some(Encryption::unrecognised()));
        };
        let header = table.read_range(0, u64::from(self.key).min(4096))?;
        Encryption::of_info(&header, table.meter()).map(Some)
    }

    /// The counts of the main document's text, made at the first call. `None` when it is encrypted or
    /// cannot be found.
    pub(super) fn counts(&mut self) -> Result<Option<TextCounts>> {
        match self.counts {
            Some(known) => Ok(known),
            None => {
                let counts = self.count_text()?;
                Ok(*self.counts.insert(counts))
            }
        }
    }

    fn count_text(&mut self) -> Result<Option<TextCounts>> {
        if self.has(flag::ENCRYPTED) {
            return Ok(None);
        }
        let Some(pieces) = self.pieces()? else {
            return Ok(None);
        };
        word_text::count(&mut self.stream, &pieces)
    }

    /// Where the text of the main document is, in order.
    fn pieces(&mut self) -> Result<Option<Vec<Piece>>> {
        if self.version < WORD_97 {
            return self.pieces_of_word_6();
        }
        // ccpText, then fcClx and lcbClx (§2.5.5, §2.5.6).
        let (Some(length), Some(place)) = (
            self.stream.read_array::<4>(0x4C)?.map(u32::from_le_bytes),
            self.stream.read_array::<8>(0x1A2)?,
        ) else {
            return Ok(None);
        };
        let Some(mut table) = self.table_stream() else {
            return Ok(None);
        };
        let at = u32_at(&place, 0).unwrap_or_default();
        let len = u32_at(&place, 4).unwrap_or_default();
        let clx = table.read_range(at.into(), len.into())?;
        Ok(word_text::pieces(&clx, length, None))
    }

    /// Word 6 and 95: the text is one run unless the document was saved fast; the piece table is in the
    /// main stream itself.
    fn pieces_of_word_6(&mut self) -> Result<Option<Vec<Piece>>> {
        if self.has(flag::EXTENDED_CHARACTERS) {
            // Far East versions store two bytes a character in a layout that is not documented.
            return Ok(None);
        }
        let (Some(start), Some(length), Some(place)) = (
            self.stream.read_array::<4>(0x18)?.map(u32::from_le_bytes),
            self.stream.read_array::<4>(0x34)?.map(u32::from_le_bytes),
            self.stream.read_array::<8>(0x160)?,
        ) else {
            return Ok(None);
        };
        let code_page = super::codepage::of_language(self.language);
        if !self.has(flag::COMPLEX) {
            return Ok(Some(vec![Piece {
                offset: start.into(),
                characters: length,
                code_page: Some(code_page),
            }]));
        }
        let at = u32_at(&place, 0).unwrap_or_default();
        let len = u32_at(&place, 4).unwrap_or_default();
        let clx = self.stream.read_range(at.into(), len.into())?;
        Ok(word_text::pieces(&clx, length, Some(code_page)))
    }

    /// The stream with the piece table: the one that the flag names, else the other.
    fn table_stream(&self) -> Option<Stream<'s>> {
        let (first, second) = if self.has(flag::TABLE_1) {
            ("1Table", "0Table")
        } else {
            ("0Table", "1Table")
        };
        (self.cfb.stream_named(self.home, first))
            .or_else(|| self.cfb.stream_named(self.home, second))
    }

    fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}
