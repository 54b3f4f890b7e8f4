//! XML in streams: from bytes to UTF-8.

use std::borrow::Cow;

/// Decodes XML. ISO 16684-1, 7.1 allows UTF-16 and UTF-32 too: they are recognised by their byte order
/// mark, or else by the zeros around the first character. Invalid bytes are replaced.
pub(super) fn utf8(data: &[u8]) -> Cow<'_, str> {
    use encoding_rs::{UTF_8, UTF_16BE, UTF_16LE};
    let (encoding, text) = match data {
        [0, 0, 0xFE, 0xFF, text @ ..] => return utf32(text, u32::from_be_bytes),
        [0xFF, 0xFE, 0, 0, text @ ..] => return utf32(text, u32::from_le_bytes),
        [0, 0, 0, b'<', ..] => return utf32(data, u32::from_be_bytes),
        [b'<', 0, 0, 0, ..] => return utf32(data, u32::from_le_bytes),
        [0xFE, 0xFF, text @ ..] => (UTF_16BE, text),
        [0xFF, 0xFE, text @ ..] => (UTF_16LE, text),
        [0, b'<', ..] => (UTF_16BE, data),
        [b'<', 0, ..] => (UTF_16LE, data),
        [0xEF, 0xBB, 0xBF, text @ ..] => (UTF_8, text),
        text => (UTF_8, text),
    };
    encoding.decode_without_bom_handling(text).0
}

fn utf32(data: &[u8], unit: impl Fn([u8; 4]) -> u32) -> Cow<'_, str> {
    let (units, _) = data.as_chunks::<4>();
    let text = units
        .iter()
        .map(|bytes| char::from_u32(unit(*bytes)).unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    Cow::Owned(text)
}
