//! The header of a file, and the linearization dictionary behind it.

use super::lexer::Lexer;
use super::object::Object;
use super::parser::{Parser, Wanted};

/// What a header begins with.
const MARK: &[u8] = b"%PDF-";

/// Most bytes of a version.
const MAX_VERSION: usize = 8;

/// The header of a file: where `%PDF-` begins, and the version behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header<'p> {
    pub(crate) at: usize,
    pub(crate) version: &'p [u8],
}

impl<'p> Header<'p> {
    /// Bytes at the start of a file that can hold the header, which may begin at any of the
    /// first 1024 bytes (ISO 32000-1, annex H, note 13).
    pub(crate) const WITHIN: usize = Self::LAST_START + 1 + MARK.len() + MAX_VERSION;

    /// The last offset at which the header may begin.
    const LAST_START: usize = 1023;

    /// Whether these first bytes hold the header and its version to the end.
    pub(super) fn is_whole_in(head: &[u8]) -> bool {
        Header::find(head).is_some_and(|header| header.at + MARK.len() + MAX_VERSION <= head.len())
    }

    /// Finds the header in the first bytes of a file.
    pub(crate) fn find(head: &'p [u8]) -> Option<Self> {
        let starts = &head[..head.len().min(Self::LAST_START + MARK.len())];
        let at = if starts.starts_with(MARK) {
            0
        } else {
            memchr::memmem::find(starts, MARK)?
        };
        let rest = &head[at + MARK.len()..];
        let len = rest
            .iter()
            .take(MAX_VERSION)
            .take_while(|byte| byte.is_ascii_digit() || **byte == b'.')
            .count();
        Some(Self {
            at,
            version: &rest[..len],
        })
    }
}

/// The linearization dictionary (ISO 32000-2, annex F.3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Linearization {
    /// `L`: the length that the file had when it was linearized.
    pub(crate) length: u64,
    /// `N`: the number of pages.
    pub(crate) pages: Option<u64>,
    /// Where the dictionary's object ends. The first-page section follows.
    pub(super) end: u64,
}

impl Linearization {
    /// Reads the dictionary from the first bytes of a file. It must be the first object.
    pub(crate) fn read(head: &[u8], header_at: usize) -> Option<Self> {
        // Most files have none. `z` is the rarest character of the name, and the first one that an
        // escape could hide it behind is `#`.
        let may_be_name = |at: usize| head[at] == b'#' || head[..=at].ends_with(b"Lineariz");
        if !memchr::memchr2_iter(b'z', b'#', head).any(may_be_name) {
            return None;
        }
        let mut lexer = Lexer::new(head, header_at);
        // The header line and the binary comment after it are comments to the lexer.
        lexer.object_head()?;
        let wanted = Wanted::Keys(&[b"Linearized", b"L", b"N"]);
        let mut parser = Parser::new(head, lexer.position(), None);
        let object = parser.object_with(wanted).ok()?;
        let dict = object.as_dict()?;
        dict.get(b"Linearized")?.as_f64()?;
        parser.lexer.skip_space();
        parser.lexer.keyword(b"endobj");
        Some(Self {
            length: dict.get(b"L")?.as_u64()?,
            pages: dict.get(b"N").and_then(Object::as_u64),
            end: parser.lexer.position() as u64,
        })
    }
}
