//! Reading a large part piece by piece, so that it is never held as a whole.

use encoding_rs::DecoderResult;

use super::{Binding, Token, Xml, encoding, malformed};
use crate::engine::budget::Meter;
use crate::engine::error::{ProbeError, Result};

/// Decoded text that is collected before it is parsed.
const PIECE: usize = 256 * 1024;

/// Longest token: a comment, CDATA section or run of text that cannot be divided.
const MAX_TOKEN: usize = 8 << 20;

/// The state of a reader between two pieces.
#[derive(Debug, Default)]
struct Carried {
    /// The names of the open elements, one after the other, and where each ends.
    names: String,
    ends: Vec<usize>,
    /// Depth, prefix and namespace of each declaration.
    bindings: Vec<(usize, String, super::Ns)>,
}

impl<'t> Xml<'t> {
    fn resume(text: &'t str, carried: &'t Carried, meter: &'t Meter) -> Self {
        let mut xml = Self::new(text, meter);
        let mut start = 0;
        xml.open.reserve(carried.ends.len());
        for &end in &carried.ends {
            xml.open.push(&carried.names[start..end]);
            start = end;
        }
        xml.bindings
            .extend(carried.bindings.iter().map(|(depth, prefix, ns)| Binding {
                depth: *depth,
                prefix,
                ns: *ns,
            }));
        xml
    }

    fn carry(self) -> Carried {
        let mut carried = Carried::default();
        for name in &self.open {
            carried.names.push_str(name);
            carried.ends.push(carried.names.len());
        }
        carried.bindings = self
            .bindings
            .iter()
            .map(|binding| (binding.depth, binding.prefix.to_owned(), binding.ns))
            .collect();
        carried
    }
}

/// Calls `visit` with every token of a part whose bytes `more` appends to a buffer until it returns false.
/// The reader that `visit` gets answers for depth and namespaces; it must not be advanced.
///
/// # Errors
/// As [`Xml::next`], and those of `more` and `visit`.
pub(crate) fn read_pieces(
    meter: &Meter,
    mut more: impl FnMut(&mut Vec<u8>) -> Result<bool>,
    visit: &mut dyn FnMut(&Xml<'_>, Token<'_>) -> Result<()>,
) -> Result<()> {
    let mut raw = Vec::new();
    let mut ended = !more(&mut raw)?;
    let (encoding, mark) = encoding::detect(&raw)?;
    raw.drain(..mark);
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut text = String::new();
    let mut carried = Carried::default();
    let mut wanted = PIECE;
    loop {
        decode(&mut decoder, &mut raw, &mut text, ended)?;
        while !ended && text.len() < wanted {
            ended = !more(&mut raw)?;
            decode(&mut decoder, &mut raw, &mut text, ended)?;
        }
        let mut xml = Xml::resume(&text, &carried, meter);
        let finished = read_piece(&mut xml, ended, visit)?;
        let read = xml.at;
        let next = xml.carry();
        if finished {
            return Ok(());
        }
        carried = next;
        text.drain(..read);
        if read > 0 {
            wanted = PIECE;
        } else if wanted < MAX_TOKEN {
            wanted *= 2;
        } else {
            return Err(malformed("a token is too long"));
        }
    }
}

/// Reads the whole tokens of a piece. True at the end of the document.
fn read_piece(
    xml: &mut Xml<'_>,
    is_last: bool,
    visit: &mut dyn FnMut(&Xml<'_>, Token<'_>) -> Result<()>,
) -> Result<bool> {
    // Text runs up to the next `<`, so what stands before the last one is whole.
    let end = if is_last {
        xml.text.len()
    } else {
        xml.text.rfind('<').unwrap_or_default()
    };
    while is_last || xml.at < end || xml.closing {
        match xml.next() {
            Ok(Some(token)) => visit(xml, token)?,
            Ok(None) => return Ok(is_last),
            // The piece ends inside a token, which is read again with the next piece. Damage looks the
            // same, until the last piece or the longest token.
            Err(error) if !is_last && error.is_malformed() => break,
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

fn decode(
    decoder: &mut encoding_rs::Decoder,
    raw: &mut Vec<u8>,
    text: &mut String,
    last: bool,
) -> Result<()> {
    let room = decoder
        .max_utf8_buffer_length_without_replacement(raw.len())
        .ok_or_else(|| ProbeError::malformed("an XML part is larger than memory"))?;
    text.reserve(room);
    let (result, _) = decoder.decode_to_string_without_replacement(raw, text, last);
    match result {
        DecoderResult::InputEmpty => {
            raw.clear();
            Ok(())
        }
        _ => Err(malformed("the text is not in its encoding")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Level, Limits};

    /// All tokens of a text that arrives in steps of a few bytes.
    fn tokens(bytes: &[u8], step: usize) -> Result<Vec<String>> {
        let meter = Meter::start(Limits::of(Level::Deep));
        let mut rest = bytes;
        let mut found = Vec::new();
        read_pieces(
            &meter,
            |out| {
                let (head, tail) = rest.split_at(step.min(rest.len()));
                out.extend(head);
                rest = tail;
                Ok(!head.is_empty())
            },
            &mut |xml, token| {
                found.push(match token {
                    Token::Open(tag) => format!("{} {:?} {:?}", xml.depth(), xml.ns(&tag), tag),
                    other => format!("{} {other:?}", xml.depth()),
                });
                Ok(())
            },
        )?;
        Ok(found)
    }

    fn whole(text: &str) -> Vec<String> {
        let meter = Meter::start(Limits::of(Level::Deep));
        let mut xml = Xml::new(text, &meter);
        let mut found = Vec::new();
        while let Some(token) = xml.next().unwrap() {
            found.push(match token {
                Token::Open(tag) => format!("{} {:?} {:?}", xml.depth(), xml.ns(&tag), tag),
                other => format!("{} {other:?}", xml.depth()),
            });
        }
        found
    }

    fn long() -> String {
        let ns = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";
        let body =
            "<w:p a='<'><![CDATA[<x>]]><!-- <y> --><w:t>über &amp; ü</w:t><q xmlns='urn:q'/></w:p>";
        format!("<w:d xmlns:w='{ns}'>{}</w:d>\n", body.repeat(20_000))
    }

    #[test]
    fn pieces_give_the_tokens_of_the_whole() {
        let text = long();
        assert!(text.len() > 4 * PIECE);
        let expected = whole(&text);
        for step in [50_001, 1 << 20] {
            assert!(tokens(text.as_bytes(), step).unwrap() == expected);
        }
        let wide: Vec<u8> = [0xFF, 0xFE]
            .into_iter()
            .chain(text.encode_utf16().flat_map(u16::to_le_bytes))
            .collect();
        assert!(tokens(&wide, 65_537).unwrap() == expected);
    }

    #[test]
    fn damage_in_a_later_piece_is_found() {
        let text = long();
        let cut = &text[..text.len() - 10];
        assert!(tokens(cut.as_bytes(), 1 << 16).is_err());
        let crossed = text.replacen("</w:t>", "</w:p>", 1);
        assert!(tokens(crossed.as_bytes(), 1 << 16).is_err());
        let mut bad = text.into_bytes();
        let middle = bad.len() / 2;
        bad[middle] = 0xFF;
        assert!(tokens(&bad, 1 << 16).is_err());
    }

    #[test]
    fn a_token_that_never_ends_is_given_up() {
        let endless = format!("<a><!--{}", "x".repeat(3 * MAX_TOKEN));
        let refused = tokens(endless.as_bytes(), 1 << 20).unwrap_err();
        assert!(refused.is_malformed());
        let long = format!("<a><!--{}--></a>", "x".repeat(MAX_TOKEN / 2));
        assert_eq!(tokens(long.as_bytes(), 1 << 20).unwrap().len(), 2);
    }
}
