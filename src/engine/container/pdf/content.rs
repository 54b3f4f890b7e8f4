//! What a content stream shows (ISO 32000-2, 7.8.2).

use super::lexer::Lexer;
use super::object::Name;

/// The operators of a content stream that matter here.
#[derive(Debug, Default)]
pub(crate) struct Content<'p> {
    /// Some operator shows a string that is not empty.
    pub(crate) shows_text: bool,
    pub(crate) has_inline_image: bool,
    /// The external objects that are painted.
    pub(crate) painted: Vec<Name<'p>>,
}

/// Most external objects of a stream that are kept.
const MAX_PAINTED: usize = 64;

impl<'p> Content<'p> {
    /// Reads a stream, or the beginning of one, up to the first text.
    pub(crate) fn read(data: &'p [u8]) -> Self {
        let mut content = Self::default();
        let mut lexer = Lexer::new(data, 0);
        let (mut name, mut has_string) = (None, false);
        while let Some(byte) = next(&mut lexer) {
            match byte {
                b'(' => {
                    lexer.bump();
                    match lexer.literal_string() {
                        Ok(string) => has_string |= !string.is_empty(),
                        Err(_) => break,
                    }
                }
                b'<' if !lexer.rest().starts_with(b"<<") => {
                    lexer.bump();
                    match lexer.hex_string() {
                        Ok(string) => has_string |= !string.is_empty(),
                        Err(_) => break,
                    }
                }
                b'/' => {
                    lexer.bump();
                    name = Some(Name(lexer.name()));
                }
                b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b')' => lexer.bump(),
                byte if byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.') => {
                    lexer.regular();
                }
                _ => {
                    match lexer.regular() {
                        b"Tj" | b"TJ" | b"'" | b"\"" if has_string => {
                            content.shows_text = true;
                            return content;
                        }
                        b"Do" if content.painted.len() < MAX_PAINTED => {
                            content.painted.extend(name.take());
                        }
                        b"BI" => content.has_inline_image = true,
                        b"ID" => skip_inline_image(&mut lexer),
                        _ => {}
                    }
                    has_string = false;
                }
            }
        }
        content
    }
}

fn next(lexer: &mut Lexer<'_>) -> Option<u8> {
    lexer.skip_space();
    lexer.peek()
}

/// Steps over the data of an inline image, which end with `EI` between white space.
fn skip_inline_image(lexer: &mut Lexer<'_>) {
    let rest = lexer.rest();
    let is_end = |at: &usize| {
        at.checked_sub(1)
            .is_some_and(|before| rest[before].is_ascii_whitespace())
            && rest.get(at + 2).is_none_or(u8::is_ascii_whitespace)
    };
    let end = memchr::memmem::find_iter(rest, b"EI").find(is_end);
    let skipped = end.map_or(rest.len(), |at| at + 2);
    lexer.set_position(lexer.position() + skipped);
}

#[cfg(test)]
mod tests {
    use super::Content;

    #[test]
    fn text_and_images_are_found_among_the_operators() {
        let text: [&[u8]; 4] = [
            b"BT /F1 12 Tf (Hi) Tj ET",
            b"[(A) -20 <42>] TJ",
            b"q 1 0 0 1 0 0 cm 3 Tr (x)' Q",
            b"BI /W 1 ID \x00EI(\x01 EI (y) Tj",
        ];
        for data in text {
            assert!(Content::read(data).shows_text, "{data:?}");
        }
        let none: [&[u8]; 5] = [
            b"BT () Tj ET",
            b"/Im0 Do",
            b"(a string) /Tj gs",
            b"BI ID (x) Tj ",
            b"(unfinished Tj",
        ];
        for data in none {
            assert!(!Content::read(data).shows_text, "{data:?}");
        }
        let content = Content::read(b"q /Im#30 Do Q BI /W 1 ID x EI /Fm1 Do");
        assert!(content.has_inline_image);
        assert_eq!(content.painted.len(), 2);
        assert!(content.painted[0].is(b"Im0"));
    }
}
