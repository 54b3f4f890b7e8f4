//! Text strings: from bytes to Unicode (ISO 32000-2, 7.9.2 and annex D.2).

/// Decodes a text string: by its byte order mark, else as UTF-8 where it is valid and has characters
/// beyond ASCII, else as PDFDocEncoding. UTF-8 without a mark breaks the standard, but is common;
/// text in PDFDocEncoding is hardly ever valid UTF-8 by chance.
pub(crate) fn decode(bytes: &[u8]) -> String {
    let mut text = if let Some(rest) = bytes.strip_prefix(b"\xFE\xFF") {
        utf16(rest, u16::from_be_bytes)
    } else if let Some(rest) = bytes.strip_prefix(b"\xFF\xFE") {
        utf16(rest, u16::from_le_bytes)
    } else if let Some(rest) = bytes.strip_prefix(b"\xEF\xBB\xBF") {
        without_language(String::from_utf8_lossy(rest).chars())
    } else if bytes.iter().all(|byte| matches!(byte, b' '..=b'~')) {
        // Most strings: the same in every encoding.
        return String::from_utf8_lossy(bytes).into_owned();
    } else if let Some(text) = unmarked_utf8(bytes) {
        without_language(text.chars())
    } else {
        bytes.iter().map(|byte| pdf_doc(*byte)).collect()
    };
    // Some writers count the terminating zero of a C string.
    text.truncate(text.trim_end_matches('\0').len());
    text
}

/// Text that can only be meant as UTF-8: it is valid, and has a character beyond ASCII that is not a
/// control character.
fn unmarked_utf8(bytes: &[u8]) -> Option<&str> {
    if bytes.is_ascii() {
        return None;
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let is_control = |char: char| ('\u{80}'..='\u{9F}').contains(&char);
    (!text.contains(is_control)).then_some(text)
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let (units, _) = bytes.as_chunks::<2>();
    let chars = char::decode_utf16(units.iter().map(|pair| unit(*pair)))
        .map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER));
    without_language(chars)
}

/// Drops language escapes: `ESC language [country] ESC` (7.9.2.2). A lone ESC is kept.
fn without_language(chars: impl Iterator<Item = char>) -> String {
    const ESC: char = '\u{1B}';
    let mut out = String::new();
    let mut escape: Option<usize> = None;
    for char in chars {
        match (char, escape) {
            (ESC, Some(start)) => {
                out.truncate(start);
                escape = None;
                continue;
            }
            (ESC, None) => escape = Some(out.len()),
            // Longer than any language and country code: it was no escape.
            (_, Some(start))
                if out.len() - start > 8 || !char.is_ascii_alphanumeric() && char != '-' =>
            {
                escape = None;
            }
            _ => {}
        }
        out.push(char);
    }
    out
}

/// PDFDocEncoding (annex D.2). Codes without a character, but for control codes, are U+FFFD.
fn pdf_doc(byte: u8) -> char {
    const LOW: [char; 8] = [
        '\u{2D8}', '\u{2C7}', '\u{2C6}', '\u{2D9}', '\u{2DD}', '\u{2DB}', '\u{2DA}', '\u{2DC}',
    ];
    const HIGH: [char; 33] = [
        '\u{2022}', '\u{2020}', '\u{2021}', '\u{2026}', '\u{2014}', '\u{2013}', '\u{192}',
        '\u{2044}', '\u{2039}', '\u{203A}', '\u{2212}', '\u{2030}', '\u{201E}', '\u{201C}',
        '\u{201D}', '\u{2018}', '\u{2019}', '\u{201A}', '\u{2122}', '\u{FB01}', '\u{FB02}',
        '\u{141}', '\u{152}', '\u{160}', '\u{178}', '\u{17D}', '\u{131}', '\u{142}', '\u{153}',
        '\u{161}', '\u{17E}', '\u{FFFD}', '\u{20AC}',
    ];
    match byte {
        0x18..=0x1F => LOW[usize::from(byte - 0x18)],
        0x80..=0xA0 => HIGH[usize::from(byte - 0x80)],
        0x7F | 0xAD => char::REPLACEMENT_CHARACTER,
        _ => char::from(byte),
    }
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn strings_are_decoded_from_every_encoding_that_occurs() {
        let cases: [(&[u8], &str); 21] = [
            (b"plain", "plain"),
            (b"Caf\xe9", "Café"),
            (b"\x80\x84\x92\x9e\xa0", "•—™ž€"),
            (b"\x18\x1f", "\u{2d8}\u{2dc}"),
            (b"\x7f\x9f\xad", "\u{fffd}\u{fffd}\u{fffd}"),
            (b"\xfe\xff\0C\0a\0f\0\xe9", "Café"),
            (b"\xff\xfeC\0a\0f\0\xe9\0", "Café"),
            (b"\xef\xbb\xbfCaf\xc3\xa9", "Café"),
            (b"\xfe\xff\xd8\x3d\xde\x00", "\u{1F600}"),
            (b"\xfe\xff\xd8\x3d", "\u{fffd}"),
            (b"\xfe\xff\0\x1b\0e\0n\0U\0S\0\x1b\0H\0i", "Hi"),
            (b"\xfe\xff\0A\0\x1b\0d\0e\0\x1b\0B", "AB"),
            (b"\xfe\xff\0\x1b\0H\0i\0 \0y\0o\0u", "\u{1b}Hi you"),
            (b"\xfe\xff", ""),
            (b"C string\0", "C string"),
            (
                "Protokoll \u{2013} \u{DC}bergabe".as_bytes(),
                "Protokoll \u{2013} \u{DC}bergabe",
            ),
            ("\u{65E5}\u{672C}".as_bytes(), "\u{65E5}\u{672C}"),
            ("\u{1F600}\0".as_bytes(), "\u{1F600}"),
            // A character that is cut off, a lone Latin letter, and C1 control characters are not UTF-8.
            (b"caf\xc3\xa9 \xe2\x80", "caf\u{c3}\u{a9} \u{e2}\u{2022}"),
            (b"\xdcber", "\u{dc}ber"),
            (b"\xc2\x80", "\u{c2}\u{2022}"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(decode(bytes), expected, "{bytes:x?}");
        }
    }
}
