//! The text of a Word document, counted while it is read: no copy of it is ever held.

use super::bytes::{u16_at, u32_at};
use super::codepage;
use super::references::Outside;
use crate::engine::container::cfb::Stream;
use crate::engine::driver::field_code::{self, Outside as Field};
use crate::engine::error::Result;

/// Bytes of text that are read at a time.
const CHUNK: usize = 16 * 1024;

/// Deepest nesting of fields that is followed; real documents stay below ten.
const MAX_FIELD_DEPTH: usize = 1024;

/// Characters of a field's code that are looked at.
const MAX_CODE: usize = 64;

/// A run of text in the main stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Where it begins, in bytes.
    pub(super) offset: u64,
    /// Its length in characters: bytes for a code page, UTF-16 units without one.
    pub(super) characters: u32,
    pub(super) code_page: Option<u16>,
}

impl Piece {
    fn bytes(&self) -> u64 {
        u64::from(self.characters) << u32::from(self.code_page.is_none())
    }
}

/// What a reader of the text would count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TextCounts {
    pub(super) words: u64,
    /// Code points, line breaks and tabs included.
    pub(super) characters: u64,
    /// Lines with something on them.
    pub(super) paragraphs: u64,
    /// What fields bring in from, or lead to, outside the document.
    pub(super) outside: Outside,
}

/// Reads a piece table ([MS-DOC] §2.9.38) and cuts it at `length` characters: the main document, before
/// footnotes, headers and the rest. Word 6 pieces are all of one code page. `None` when the table is
/// damaged.
pub(super) fn pieces(clx: &[u8], length: u32, word_6: Option<u16>) -> Option<Vec<Piece>> {
    let table = piece_table(clx)?;
    let count = table.len().checked_sub(4)? / 12;
    let mut pieces = Vec::with_capacity(count);
    for index in 0..count {
        let (start, end) = (u32_at(table, index * 4)?, u32_at(table, index * 4 + 4)?);
        if end < start {
            return None;
        }
        if start >= length {
            break;
        }
        let place = u32_at(table, (count + 1) * 4 + index * 8 + 2)?;
        let compressed = place & 0x4000_0000 != 0;
        let place = u64::from(place & 0x3FFF_FFFF);
        let (offset, code_page) = match word_6 {
            Some(code_page) => (place, Some(code_page)),
            None if compressed => (place / 2, Some(1252)),
            None => (place, None),
        };
        pieces.push(Piece {
            offset,
            characters: end.min(length) - start,
            code_page,
        });
    }
    let covered: u64 = pieces.iter().map(|piece| u64::from(piece.characters)).sum();
    // A table that does not reach the end of the text is damaged.
    (covered == u64::from(length)).then_some(pieces)
}

/// Skips the property modifiers in front of the table.
fn piece_table(clx: &[u8]) -> Option<&[u8]> {
    let mut rest = clx;
    loop {
        match rest.first()? {
            1 => rest = rest.get(3 + usize::from(u16_at(rest, 1)?)..)?,
            2 => {
                let len = usize::try_from(u32_at(rest, 1)?).ok()?;
                return rest.get(5..5_usize.checked_add(len)?);
            }
            _ => return None,
        }
    }
}

/// Counts the text of pieces. `None` when they do not fit into the stream, or overlap: pieces own their
/// bytes, so together they are never longer than the stream.
pub(super) fn count(stream: &mut Stream<'_>, pieces: &[Piece]) -> Result<Option<TextCounts>> {
    let total: u64 = pieces.iter().map(Piece::bytes).sum();
    if total > stream.len() {
        return Ok(None);
    }
    let mut counter = Counter::default();
    let mut buffer = vec![0; CHUNK];
    for piece in pieces {
        let mut at = piece.offset;
        let end = at + piece.bytes();
        let mut decoder = piece.code_page.map(Decoder::new);
        while at < end {
            #[expect(clippy::cast_possible_truncation, reason = "at most a chunk")]
            let wanted = (end - at).min(CHUNK as u64) as usize;
            let chunk = &mut buffer[..wanted];
            if stream.read_at(at, chunk)? < wanted {
                return Ok(None);
            }
            stream.meter().check_clock()?;
            match &mut decoder {
                Some(decoder) => decoder.feed(chunk, at + wanted as u64 == end, &mut counter),
                None => counter.utf16(chunk),
            }
            at += wanted as u64;
        }
    }
    Ok(Some(counter.finish()))
}

/// Decodes 8-bit text piece by piece.
enum Decoder {
    /// One byte a character: only white space and marks matter, not which letter it is.
    Single,
    Multi(encoding_rs::Decoder),
}

impl Decoder {
    fn new(code_page: u16) -> Self {
        match codepage::encoding(code_page) {
            Some(encoding) if !encoding.is_single_byte() => {
                Self::Multi(encoding.new_decoder_without_bom_handling())
            }
            _ => Self::Single,
        }
    }

    fn feed(&mut self, bytes: &[u8], last: bool, counter: &mut Counter) {
        match self {
            Self::Single => {
                for byte in bytes {
                    // 0x85 is an ellipsis in these code pages, no line end.
                    let c = if *byte == 0x85 {
                        '…'
                    } else {
                        char::from(*byte)
                    };
                    counter.push(c);
                }
            }
            Self::Multi(decoder) => {
                let mut text = String::with_capacity(bytes.len() * 3 + 16);
                let _ = decoder.decode_to_string(bytes, &mut text, last);
                text.chars().for_each(|c| counter.push(c));
            }
        }
    }
}

/// Counts the text as it is shown, and beside it as it is stored: field codes are instructions, not
/// words, but when field marks do not match up nothing can be said about them.
#[derive(Debug, Default)]
struct Counter {
    shown: Tally,
    stored: Tally,
    /// For each open field, whether its result has begun.
    fields: Vec<bool>,
    /// How many of them are still in their code.
    in_code: usize,
    unbalanced: bool,
    /// The start of the innermost field's code.
    code: String,
    outside: Outside,
    high_surrogate: Option<u16>,
}

impl Counter {
    fn utf16(&mut self, bytes: &[u8]) {
        for pair in bytes.as_chunks::<2>().0 {
            let unit = u16::from_le_bytes(*pair);
            let high = self.high_surrogate.take();
            match unit {
                0xD800..=0xDBFF => {
                    if high.is_some() {
                        self.push(char::REPLACEMENT_CHARACTER);
                    }
                    self.high_surrogate = Some(unit);
                }
                // One character, whichever it is: no white space lies beyond the first plane.
                0xDC00..=0xDFFF => self.push(char::REPLACEMENT_CHARACTER),
                _ => {
                    if high.is_some() {
                        self.push(char::REPLACEMENT_CHARACTER);
                    }
                    self.push(char::from_u32(unit.into()).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
            }
        }
    }

    fn push(&mut self, c: char) {
        match c {
            '\u{13}' => self.begin_field(),
            '\u{14}' => self.begin_result(),
            '\u{15}' => self.end_field(),
            // Anchors of pictures and drawn objects.
            '\u{1}' | '\u{8}' => {}
            _ => {
                self.stored.push(c);
                if self.in_code == 0 {
                    self.shown.push(c);
                } else if self.code.len() < MAX_CODE {
                    self.code.push(c);
                }
            }
        }
    }

    fn begin_field(&mut self) {
        self.judge_code();
        if self.fields.len() < MAX_FIELD_DEPTH {
            self.fields.push(false);
            self.in_code += 1;
        } else {
            self.unbalanced = true;
        }
    }

    fn begin_result(&mut self) {
        self.judge_code();
        match self.fields.last_mut() {
            Some(in_result) if !*in_result => {
                *in_result = true;
                self.in_code -= 1;
            }
            Some(_) => {}
            None => self.unbalanced = true,
        }
    }

    fn end_field(&mut self) {
        self.judge_code();
        match self.fields.pop() {
            Some(true) => {}
            Some(false) => self.in_code -= 1,
            None => self.unbalanced = true,
        }
    }

    /// Looks at the code that a field mark has ended.
    fn judge_code(&mut self) {
        match field_code::outside(&self.code) {
            Some(Field::Dde) => self.outside.dde = true,
            Some(Field::Link) => self.outside.links = true,
            Some(Field::Hyperlink) => self.outside.hyperlinks = true,
            None => {}
        }
        self.code.clear();
    }

    fn finish(mut self) -> TextCounts {
        if self.high_surrogate.take().is_some() {
            self.push(char::REPLACEMENT_CHARACTER);
        }
        let matched = !self.unbalanced && self.fields.is_empty();
        let tally = if matched { self.shown } else { self.stored };
        TextCounts {
            outside: self.outside,
            ..tally.finish()
        }
    }
}

#[derive(Debug, Default)]
struct Tally {
    counts: TextCounts,
    in_word: bool,
    line_has_text: bool,
}

impl Tally {
    fn push(&mut self, c: char) {
        self.counts.characters += 1;
        match c {
            // Paragraph end, page or section break, line break.
            '\r' | '\u{c}' | '\u{b}' | '\n' => self.end_line(),
            // The end of a table cell separates words, not paragraphs.
            '\u{7}' => self.in_word = false,
            _ if c.is_whitespace() => self.in_word = false,
            _ => {
                self.counts.words += u64::from(!self.in_word);
                self.in_word = true;
                self.line_has_text = true;
            }
        }
    }

    fn end_line(&mut self) {
        self.counts.paragraphs += u64::from(self.line_has_text);
        self.in_word = false;
        self.line_has_text = false;
    }

    fn finish(mut self) -> TextCounts {
        self.end_line();
        self.counts
    }
}
