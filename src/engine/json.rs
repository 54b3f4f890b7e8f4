//! Printing JSON straight into the output buffer.

use crate::contract::escape_line_breaks;

/// Whether a string with this byte may have to be escaped. The last two begin U+0085 and U+2028.
fn is_escaped(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\' || byte == 0xC2 || byte == 0xE2
}

/// Appends a string with JSON's escapes, and those of [`escape_line_breaks`]; other UTF-8 stays as it
/// is.
pub(crate) fn string(out: &mut Vec<u8>, text: &str) {
    // Without a way out of the loop, so that many bytes are looked at at a time.
    if text.bytes().fold(false, |any, byte| any | is_escaped(byte)) {
        // A string always serializes.
        let json = serde_json::to_string(text).unwrap_or_default();
        out.extend_from_slice(escape_line_breaks(&json).as_bytes());
        return;
    }
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

/// Appends words of ours, in which nothing has to be escaped.
pub(crate) fn word(out: &mut Vec<u8>, word: &'static str) {
    debug_assert!(!word.bytes().any(is_escaped), "{word:?}");
    out.push(b'"');
    out.extend_from_slice(word.as_bytes());
    out.push(b'"');
}

/// Appends an unsigned number.
pub(crate) fn number(out: &mut Vec<u8>, n: u64) {
    let _infallible = serde_json::to_writer(out, &n);
}

/// Appends a float in shortest round-trip form; what JSON cannot say becomes `null`.
pub(crate) fn float(out: &mut Vec<u8>, x: f64) {
    let _infallible = serde_json::to_writer(out, &x);
}

/// Appends items with commas between them.
pub(crate) fn separated<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) {
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, item);
    }
}

/// Appends an array of words of ours.
pub(crate) fn words(out: &mut Vec<u8>, items: impl IntoIterator<Item = &'static str>) {
    out.push(b'[');
    separated(out, items, word);
    out.push(b']');
}
