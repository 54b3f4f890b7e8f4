//! From the bytes of an XML part to UTF-8 (XML 1.0, appendix F).

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use memchr::memmem;

use crate::engine::error::{ProbeError, Result};

/// How far into a part the encoding declaration is looked for.
const DECLARATION: usize = 256;

/// Decodes a part by its byte order mark, else by how its first characters are laid out, else by its
/// declaration. UTF-8, by far the usual case, is checked and not copied.
///
/// # Errors
/// `MALFORMED_INPUT` when the bytes are not what they say they are, or say something unknown.
pub(crate) fn decode(mut bytes: Vec<u8>) -> Result<String> {
    let (encoding, mark) = detect(&bytes)?;
    if encoding == UTF_8 {
        bytes.drain(..mark);
        return String::from_utf8(bytes).map_err(|error| {
            ProbeError::malformed(format_args!("XML that is not valid UTF-8: {error}"))
        });
    }
    encoding
        .decode_without_bom_handling_and_without_replacement(&bytes[mark..])
        .map(std::borrow::Cow::into_owned)
        .ok_or_else(|| {
            ProbeError::malformed(format_args!("XML that is not valid {}", encoding.name()))
        })
}

/// The encoding and the length of the byte order mark.
pub(super) fn detect(bytes: &[u8]) -> Result<(&'static Encoding, usize)> {
    if let Some(found) = Encoding::for_bom(bytes) {
        return Ok(found);
    }
    match bytes {
        [b'<', 0, ..] => return Ok((UTF_16LE, 0)),
        [0, b'<', ..] => return Ok((UTF_16BE, 0)),
        _ => {}
    }
    let Some(label) = declared(bytes) else {
        return Ok((UTF_8, 0));
    };
    let encoding = Encoding::for_label(label).ok_or_else(|| {
        ProbeError::malformed(format_args!(
            "XML in the unknown encoding {:?}",
            String::from_utf8_lossy(label)
        ))
    })?;
    // A declaration that can be read one byte a character is not in UTF-16, whatever it says.
    let readable = encoding != UTF_16LE && encoding != UTF_16BE;
    Ok((if readable { encoding } else { UTF_8 }, 0))
}

/// The value of `encoding` in the XML declaration.
fn declared(bytes: &[u8]) -> Option<&[u8]> {
    let head = &bytes[..bytes.len().min(DECLARATION)];
    if !head.starts_with(b"<?xml") {
        return None;
    }
    let head = &head[..memmem::find(head, b"?>")?];
    let rest = head[memmem::find(head, b"encoding")? + b"encoding".len()..].trim_ascii_start();
    let rest = rest.strip_prefix(b"=")?.trim_ascii_start();
    let (quote, rest) = rest.split_first()?;
    let end = memchr::memchr(*quote, rest)?;
    matches!(quote, b'"' | b'\'').then(|| &rest[..end])
}
