//! Pages: the page, the sections and the body text.

use std::collections::HashMap;

use super::damage::Damage;
use super::limit;
use super::size::{self, Size, SizeTargets};
use super::tables::Tables;
use crate::contract::Confidence::{Exact, High};
use crate::engine::catalogue::Target;
use crate::engine::container::iwa::{DecodeError, Fields, number, text};
use crate::engine::findings::Findings;
use crate::engine::value::Value;

const DOCUMENT: u32 = 10_000;
const SECTION: u32 = 10_011;
const VIEW_STATE: u32 = 10_131;
/// `TSWP.StorageArchive`, registered twice.
const STORAGE: [u32; 2] = [2001, 2005];

const SIZE: SizeTargets = SizeTargets {
    size: Target::PAGES_PAGE_SIZE,
    ratio: Target::PAGES_ASPECT_RATIO,
    orientation: Target::PAGES_ORIENTATION,
};

/// What is known of a text document.
#[derive(Default)]
pub(super) struct Pages {
    document: Option<Document>,
    /// All texts: the body is one of them.
    texts: HashMap<u64, Text>,
    /// The names of the sections.
    sections: Vec<Option<String>>,
    /// What the window's state says of the number of pages.
    view: Option<Option<u64>>,
}

/// `TP.DocumentArchive`.
#[derive(Default)]
struct Document {
    body: Option<u64>,
    size: Size,
    tracks_changes: bool,
}

/// The measures of a text.
#[derive(Clone, Copy)]
struct Text {
    utf16_units: u64,
    line_feeds: u64,
    is_utf8: bool,
}

impl Pages {
    pub(super) fn wants(kind: u32) -> bool {
        matches!(kind, DOCUMENT | SECTION | VIEW_STATE) || STORAGE.contains(&kind)
    }

    pub(super) fn message(
        &mut self,
        identifier: u64,
        kind: u32,
        payload: &[u8],
    ) -> Result<(), DecodeError> {
        match kind {
            DOCUMENT if self.document.is_none() => self.document = Some(Document::read(payload)?),
            SECTION => self.sections.push(text(payload, 26)?),
            // The cached layout of `TP.ViewStateRootArchive`.
            VIEW_STATE if self.view.is_none() => self.view = Some(number(payload, 4)?),
            _ if STORAGE.contains(&kind) => {
                let text = Text::measure(payload)?;
                self.texts.entry(identifier).or_insert(text);
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn deep(&self, tables: &Tables, damage: Damage, out: &mut Findings) {
        match &self.document {
            Some(document) => self.put_document(document, damage, out),
            None => {
                size::unknown(&SIZE, out);
                out.unknown(Target::PAGES_CHANGE_TRACKING_ENABLED);
                out.unknown(Target::PAGES_BODY_TEXT_LENGTH);
                out.unknown(Target::PAGES_BODY_PARAGRAPH_BREAK_COUNT);
            }
        }
        if damage.content {
            out.unknown(Target::PAGES_SECTION_COUNT);
            out.unknown(Target::PAGES_SECTION_NAMES);
            out.unknown(Target::PAGES_TABLE_COUNT);
        } else {
            out.put(
                Target::PAGES_SECTION_COUNT,
                self.sections.len(),
                Exact,
                "section objects",
            );
            let names = self.sections.iter().filter_map(Option::as_deref).collect();
            limit::put_texts(Target::PAGES_SECTION_NAMES, names, "section objects", out);
            out.put(
                Target::PAGES_TABLE_COUNT,
                tables.count(),
                Exact,
                "table objects",
            );
        }
        if self.view.is_none() && (damage.view || damage.content) {
            out.unknown(Target::PAGES_CACHED_PAGE_COUNT);
        } else {
            let pages = self.view.flatten();
            out.put(Target::PAGES_CACHED_PAGE_COUNT, pages, High, "view state");
        }
    }

    fn put_document(&self, document: &Document, damage: Damage, out: &mut Findings) {
        size::put(&SIZE, document.size, "document object", out);
        out.put(
            Target::PAGES_CHANGE_TRACKING_ENABLED,
            document.tracks_changes,
            Exact,
            "document object",
        );
        let body = document.body.and_then(|body| self.texts.get(&body));
        let may_be_lost = body.is_none() && document.body.is_some() && damage.content;
        let body = body.filter(|body| body.is_utf8);
        let measures = [
            (
                Target::PAGES_BODY_TEXT_LENGTH,
                body.map(|body| body.utf16_units),
            ),
            (
                Target::PAGES_BODY_PARAGRAPH_BREAK_COUNT,
                body.map(|body| body.line_feeds),
            ),
        ];
        for (target, measure) in measures {
            if may_be_lost {
                out.unknown(target);
            } else {
                out.put(target, Value::from(measure), Exact, "body text");
            }
        }
    }
}

impl Document {
    /// Field 4 names the body, 30 and 31 are width and height, 40 is whether changes are tracked.
    fn read(payload: &[u8]) -> Result<Self, DecodeError> {
        let mut document = Self::default();
        for field in Fields::of(payload) {
            let field = field?;
            match field.number {
                4 => document.body = field.value.reference()?,
                30 => document.size.width = field.value.float().unwrap_or_default(),
                31 => document.size.height = field.value.float().unwrap_or_default(),
                40 => document.tracks_changes = field.value.number().is_some_and(|n| n != 0),
                _ => {}
            }
        }
        Ok(document)
    }
}

impl Text {
    /// Measures all strings of field 3, joined.
    fn measure(payload: &[u8]) -> Result<Self, DecodeError> {
        let mut text = Self {
            utf16_units: 0,
            line_feeds: 0,
            is_utf8: true,
        };
        for field in Fields::of(payload) {
            let field = field?;
            let Some(bytes) = field.value.bytes().filter(|_| field.number == 3) else {
                continue;
            };
            match std::str::from_utf8(bytes) {
                Ok(piece) => {
                    text.utf16_units += utf16_units(piece);
                    text.line_feeds += memchr::memchr_iter(b'\n', bytes).count() as u64;
                }
                Err(_) => text.is_utf8 = false,
            }
        }
        Ok(text)
    }
}

/// Every character is one unit, and one more beyond the basic plane (four bytes in UTF-8).
fn utf16_units(text: &str) -> u64 {
    text.bytes()
        .map(|byte| u64::from(byte & 0xC0 != 0x80) + u64::from(byte >= 0xF0))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_measured_in_utf_16_units() {
        for text in ["", "abc", "é\n€", "a😀b", "\u{FFFF}\u{10FFFF}"] {
            assert_eq!(
                utf16_units(text),
                text.encode_utf16().count() as u64,
                "{text:?}"
            );
        }
    }
}
