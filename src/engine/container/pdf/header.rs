//! The header of a file, and the linearization dictionary behind it.

use super::lexer::Lexer;
use super::parser::{Parser, Wanted};

/// The places of the header: where `%PDF-` begins, and the version that follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header<'p> {
    pub(crate) at: usize,
    pub(crate) version: &'p [u8],
}

impl<'p> Header<'p> {
    /// Bytes at the start of a file within which the header may stand (ISO 32000-1, annex H, note 13).
    pub(crate) const WITHIN: usize = 1024;

    /// Finds the header in the first bytes of a file.
    pub(crate) fn find(head: &'p [u8]) -> Option<Self> {
        let head = &head[..head.len().min(Self::WITHIN)];
        const MARK: &[u8] = b"%PDF-";
        let at = if head.starts_with(MARK) {
            0
        } else {
            memchr::memmem::find(head, MARK)?
        };
        let rest = &head[at + MARK.len()..];
        let len = rest
            .iter()
            .take(8)
            .take_while(|byte| byte.is_ascii_digit() || **byte == b'.')
            .count();
        Some(Self {
            at,
            version: &rest[..len],
        })
    }
}

/// Reads the linearization dictionary if the first object of a file is one, and returns its `L`, the
/// length that the file had when it was linearized (ISO 32000-2, annex F.3.3).
pub(crate) fn linearized_length(head: &[u8], header_at: usize) -> Option<u64> {
    // Most files say nothing of it. `z` is the rarest character of the name, and the first one that an
    // escape could hide it behind is `#`.
    let may_be_name = |at: usize| head[at] == b'#' || head[..=at].ends_with(b"Lineariz");
    if !memchr::memchr2_iter(b'z', b'#', head).any(may_be_name) {
        return None;
    }
    let mut lexer = Lexer::new(head, header_at);
    // The header line and the binary comment after it are comments to the lexer.
    lexer.object_head()?;
    let wanted = Wanted::Keys(&[b"Linearized", b"L"]);
    let mut parser = Parser::new(head, lexer.position(), None);
    let object = parser.object_with(wanted).ok()?;
    let dict = object.as_dict()?;
    dict.get(b"Linearized")?.as_f64()?;
    dict.get(b"L")?.as_u64()
}
