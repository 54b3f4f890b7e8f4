//! Windows code page numbers as encodings.

use encoding_rs::{
    BIG5, EUC_JP, EUC_KR, Encoding, GB18030, GBK, IBM866, ISO_2022_JP, ISO_8859_2, ISO_8859_3,
    ISO_8859_4, ISO_8859_5, ISO_8859_6, ISO_8859_7, ISO_8859_8, ISO_8859_10, ISO_8859_13,
    ISO_8859_14, ISO_8859_15, ISO_8859_16, KOI8_R, KOI8_U, MACINTOSH, SHIFT_JIS, UTF_8, UTF_16BE,
    UTF_16LE, WINDOWS_874, WINDOWS_1250, WINDOWS_1251, WINDOWS_1252, WINDOWS_1253, WINDOWS_1254,
    WINDOWS_1255, WINDOWS_1256, WINDOWS_1257, WINDOWS_1258, X_MAC_CYRILLIC,
};

/// The code page of UTF-16 strings.
pub(super) const UTF16: u16 = 1200;

/// The encoding of a code page; `None` where we have no table for it.
pub(super) fn encoding(code_page: u16) -> Option<&'static Encoding> {
    Some(match code_page {
        // 0 is "the system's" and 32769 Excel 5's word for the ANSI page: Western where nothing else
        // is said. US-ASCII and Latin-1 are read as their superset, as every reader does.
        0 | 1252 | 20127 | 28591 | 32769 => WINDOWS_1252,
        866 => IBM866,
        874 | 28601 => WINDOWS_874,
        932 | 10001 => SHIFT_JIS,
        936 | 10008 => GBK,
        949 | 1361 | 10003 | 51949 => EUC_KR,
        950 | 10002 => BIG5,
        1200 => UTF_16LE,
        1201 => UTF_16BE,
        1250 => WINDOWS_1250,
        1251 => WINDOWS_1251,
        1253 => WINDOWS_1253,
        1254 | 28599 => WINDOWS_1254,
        1255 => WINDOWS_1255,
        1256 => WINDOWS_1256,
        1257 => WINDOWS_1257,
        1258 => WINDOWS_1258,
        10000 | 32768 => MACINTOSH,
        10007 | 10017 => X_MAC_CYRILLIC,
        20866 => KOI8_R,
        20932 | 51932 => EUC_JP,
        20936 | 51936 => GBK,
        21866 => KOI8_U,
        28592 => ISO_8859_2,
        28593 => ISO_8859_3,
        28594 => ISO_8859_4,
        28595 => ISO_8859_5,
        28596 => ISO_8859_6,
        28597 => ISO_8859_7,
        28598 | 38598 => ISO_8859_8,
        28600 => ISO_8859_10,
        28603 => ISO_8859_13,
        28604 => ISO_8859_14,
        28605 => ISO_8859_15,
        28606 => ISO_8859_16,
        50220..=50222 => ISO_2022_JP,
        54936 => GB18030,
        65001 => UTF_8,
        _ => return None,
    })
}

/// Decodes text. Without a table for the code page only plain ASCII is sure.
pub(super) fn decode(code_page: u16, bytes: &[u8]) -> Option<String> {
    match encoding(code_page) {
        Some(encoding) => Some(encoding.decode_without_bom_handling(bytes).0.into_owned()),
        None if bytes.is_ascii() => str::from_utf8(bytes).ok().map(str::to_owned),
        None => None,
    }
}

/// The ANSI code page of a Windows language identifier ([MS-LCID]), for documents older than Unicode.
pub(super) fn of_language(language: u16) -> u16 {
    match (language & 0x3FF, language) {
        (0x11, _) => 932,
        (0x12, _) => 949,
        (0x04, 0x0404 | 0x0C04 | 0x1404) => 950,
        (0x04, _) => 936,
        (0x1E, _) => 874,
        (0x02 | 0x19 | 0x22 | 0x23 | 0x2F, _) | (0x1A, 0x0C1A) => 1251,
        (0x05 | 0x0E | 0x15 | 0x18 | 0x1A | 0x1B | 0x1C | 0x24, _) => 1250,
        (0x08, _) => 1253,
        (0x1F, _) => 1254,
        (0x0D, _) => 1255,
        (0x01 | 0x20 | 0x29, _) => 1256,
        (0x25..=0x27, _) => 1257,
        (0x2A, _) => 1258,
        _ => 1252,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_decoded_by_its_code_page() {
        let cases: [(u16, &[u8], Option<&str>); 9] = [
            (1252, b"Caf\xe9 \x85", Some("Café …")),
            (1251, b"\xcf\xf0\xe8", Some("При")),
            (932, b"\x83\x65\x83\x58\x83\x67", Some("テスト")),
            (10000, b"Caf\x8e", Some("Café")),
            (10007, b"\x8f\xf0", Some("Пр")),
            (65001, "naïve".as_bytes(), Some("naïve")),
            (UTF16, b"A\0\xe9\0", Some("Aé")),
            (437, b"plain", Some("plain")),
            (437, b"Caf\x82", None),
        ];
        for (code_page, bytes, expected) in cases {
            assert_eq!(decode(code_page, bytes).as_deref(), expected, "{code_page}");
        }
    }
}
