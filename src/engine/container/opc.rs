//! Packages by the Open Packaging Conventions (ISO/IEC 29500-2): parts, their content types and the
//! relationships between them.

mod content_types;
mod kind;
mod relationships;

use std::borrow::Cow;

use self::content_types::ContentTypes;
pub(crate) use self::kind::{Kind, Main};
pub(crate) use self::relationships::{Relationship, Standing};
use super::xml::{self, Token, Xml};
use super::zip::{Archive, Beginning, Entry, Steps};
use crate::engine::budget::Meter;
use crate::engine::error::{ProbeError, Result};
use crate::engine::source::Source;

/// The name of the content type stream (10.1.2.1).
const CONTENT_TYPES: &str = "[Content_Types].xml";

/// Parts above this size are read piece by piece.
const STREAMED: u64 = 4 << 20;

/// An open package. Its content types are known; no other part has been read.
pub(crate) struct Package<'s> {
    source: &'s Source,
    archive: Archive<'s>,
    types: ContentTypes,
}

impl<'s> Package<'s> {
    /// Opens the archive and reads the content types.
    ///
    /// # Errors
    /// `MALFORMED_INPUT` when either cannot be read; budget errors.
    pub(crate) fn open(source: &'s Source) -> Result<Self> {
        let archive = Archive::open(source)?;
        let entry = archive.find(CONTENT_TYPES).ok_or_else(|| {
            ProbeError::malformed(format_args!("the package has no {CONTENT_TYPES}"))
        })?;
        let text = xml::decode(archive.read(entry)?)
            .map_err(|error| error.with_note(format_args!("in {CONTENT_TYPES}")))?;
        let types = ContentTypes::parse(&text, &archive, source.meter())
            .map_err(|error| error.with_note(format_args!("in {CONTENT_TYPES}")))?;
        Ok(Self {
            source,
            archive,
            types,
        })
    }

    pub(crate) fn meter(&self) -> &'s Meter {
        self.source.meter()
    }

    /// How many distinct entries there are, folders included.
    pub(crate) fn entry_count(&self) -> usize {
        self.archive.len()
    }

    /// The entries in the order of the directory, each with what its content type makes of it.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (Entry<'_>, Kind)> {
        self.archive
            .entries()
            .map(|entry| (entry, self.types.of(entry)))
    }

    /// The entry at a position of the archive.
    ///
    /// # Panics
    /// If there is none.
    pub(crate) fn entry(&self, index: usize) -> Entry<'_> {
        self.archive.entry(index)
    }

    /// How many parts are of one of these kinds.
    pub(crate) fn count(&self, kinds: &[Kind]) -> usize {
        self.parts()
            .filter(|(_, kind)| kinds.contains(kind))
            .count()
    }

    /// The part of this kind, if there is exactly one.
    pub(crate) fn only(&self, kind: Kind) -> Option<Entry<'_>> {
        let mut all = self.parts().filter(|(_, of)| *of == kind);
        let (first, _) = all.next()?;
        all.next().is_none().then_some(first)
    }

    /// What a part is, by its content type.
    pub(crate) fn kind(&self, entry: Entry<'_>) -> Kind {
        self.types.of(entry)
    }

    /// Finds a part by name; percent-encoding in the name does not count.
    pub(crate) fn find(&self, name: &str) -> Option<Entry<'_>> {
        find(&self.archive, name)
    }

    /// Finds the part that a relationship of `from` points at; the package itself is the empty name.
    pub(crate) fn target(&self, from: &str, target: &str) -> Option<Entry<'_>> {
        self.find(&relationships::resolve(from, target))
    }

    /// The relationship part of a part; the package itself is the empty name.
    pub(crate) fn relationships_of(&self, part: &str) -> Option<Entry<'_>> {
        self.find(&relationships::part_of(part))
    }

    /// Reads a part as it is.
    ///
    /// # Errors
    /// `MALFORMED_INPUT` when the part cannot be read; budget errors.
    pub(crate) fn read(&self, entry: Entry<'_>) -> Result<Vec<u8>> {
        self.archive.read(entry)
    }

    /// Bytes of a part as an input of their own.
    pub(crate) fn unpacked(&self, bytes: Vec<u8>) -> Source {
        self.source.unpacked(bytes)
    }

    /// Reads a part from its beginning until `look` finds something.
    ///
    /// # Errors
    /// As [`Package::read`], but what comes after is neither read nor judged.
    pub(crate) fn look_into<V>(
        &self,
        entry: Entry<'_>,
        steps: Steps,
        look: impl FnMut(Beginning<'_>) -> Option<V>,
    ) -> Result<Option<V>> {
        self.archive.look_into(entry, steps, look)
    }

    /// Reads an XML part and decodes it.
    ///
    /// # Errors
    /// As [`Package::read`], and `MALFORMED_INPUT` when it is not in the encoding that it names.
    pub(crate) fn read_text(&self, entry: Entry<'_>) -> Result<String> {
        xml::decode(self.read(entry)?)
            .map_err(|error| error.with_note(format_args!("in {}", entry.name())))
    }

    /// Calls `visit` with every token of an XML part, as [`xml::read_pieces`] does. A large part is never
    /// held as a whole.
    ///
    /// # Errors
    /// As [`Package::read_text`], and those of `visit`. It has seen what came before.
    pub(crate) fn scan(
        &self,
        entry: Entry<'_>,
        visit: &mut dyn FnMut(&Xml<'_>, Token<'_>) -> Result<()>,
    ) -> Result<()> {
        if entry.size() > STREAMED {
            self.archive.check_size(entry)?;
            let mut stream = self.archive.stream(entry);
            return xml::read_pieces(self.meter(), |bytes| stream.more(bytes), visit);
        }
        let text = self.read_text(entry)?;
        let mut xml = Xml::new(&text, self.meter());
        while let Some(token) = xml.next()? {
            visit(&xml, token)?;
        }
        Ok(())
    }

    /// Calls `each` with the relationships of one relationship part.
    ///
    /// # Errors
    /// `MALFORMED_INPUT` when the part is damaged: `each` has seen what came before; budget errors.
    pub(crate) fn relationships(
        &self,
        entry: Entry<'_>,
        each: impl FnMut(&Relationship<'_>),
    ) -> Result<()> {
        let text = self.read_text(entry)?;
        relationships::parse(&text, self.meter(), each)
            .map_err(|error| error.with_note(format_args!("in {}", entry.name())))
    }
}

/// Finds a part by name, as it is written and else with percent-encoding undone.
fn find<'a>(archive: &'a Archive<'_>, name: &str) -> Option<Entry<'a>> {
    archive.find(name).or_else(|| match undo_percent(name) {
        Cow::Owned(plain) => archive.find(&plain),
        Cow::Borrowed(_) => None,
    })
}

fn undo_percent(name: &str) -> Cow<'_, str> {
    if !name.contains('%') {
        return Cow::Borrowed(name);
    }
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let code = (first == b'%')
            .then(|| tail.get(..2))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let Some(byte) = code {
            bytes.push(byte);
            rest = &tail[2..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(name), Cow::Owned)
}

#[cfg(test)]
mod tests;
