//! Attributes and references (XML 1.0, 3.1, 3.3.3 and 4.1).

use std::borrow::Cow;

use memchr::memchr;

use super::{is_space, malformed};
use crate::engine::error::Result;

/// The attributes of a tag, one after the other: names with prefixes, and values as written.
pub(super) struct Attributes<'t> {
    rest: &'t str,
}

impl<'t> Attributes<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self { rest: text }
    }

    fn read(&mut self) -> Result<Option<(&'t str, &'t str)>> {
        let rest = trim_start(self.rest);
        if rest.is_empty() {
            return Ok(None);
        }
        // Attributes are set apart by white space, also the first one from the name.
        if rest.len() == self.rest.len() {
            return Err(malformed("attributes are not set apart"));
        }
        let (name, equals) = name(rest)?;
        let rest = trim_start(&rest[equals + 1..]);
        let quote = match rest.as_bytes() {
            [quote @ (b'"' | b'\''), ..] => *quote,
            _ => return Err(malformed("an attribute's value is not quoted")),
        };
        let end = memchr(quote, &rest.as_bytes()[1..])
            .ok_or_else(|| malformed("an attribute's value does not end"))?;
        self.rest = &rest[end + 2..];
        Ok(Some((name, &rest[1..=end])))
    }
}

impl<'t> Iterator for Attributes<'t> {
    type Item = Result<(&'t str, &'t str)>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.read();
        if read.is_err() {
            self.rest = "";
        }
        read.transpose()
    }
}

/// The name at the beginning, and where its `=` is.
fn name(rest: &str) -> Result<(&str, usize)> {
    let bytes = rest.as_bytes();
    let ends = |byte: &u8| is_space(*byte) || matches!(byte, b'=' | b'"' | b'\'');
    let no_value = || malformed("an attribute has no value");
    let end = bytes.iter().position(ends).ok_or_else(no_value)?;
    let spaces = bytes[end..].iter().position(|byte| !is_space(*byte));
    let equals = end + spaces.ok_or_else(no_value)?;
    if end == 0 || bytes[equals] != b'=' {
        return Err(no_value());
    }
    Ok((&rest[..end], equals))
}

/// The value that was written so: references resolved, white space made blanks.
///
/// # Errors
/// `MALFORMED_INPUT` for a reference to an entity that XML itself does not define.
pub(super) fn value(raw: &str) -> Result<Cow<'_, str>> {
    let plain = |byte: u8| !matches!(byte, b'&' | b'\t' | b'\r' | b'\n');
    // Without a way out of the loop, so that many bytes are looked at at a time.
    if raw.bytes().fold(true, |all, byte| all & plain(byte)) {
        return Ok(Cow::Borrowed(raw));
    }
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.bytes().position(|byte| !plain(byte)) {
        out.push_str(&rest[..at]);
        let special = &rest[at..];
        if let Some(reference) = special.strip_prefix('&') {
            let end = memchr(b';', reference.as_bytes())
                .ok_or_else(|| malformed("a reference does not end"))?;
            let name = &reference[..end];
            let character = resolve(name)?
                .ok_or_else(|| malformed(format_args!("the entity {name:?} is not defined")))?;
            out.push(character);
            rest = &reference[end + 1..];
        } else {
            out.push(' ');
            rest = special.strip_prefix("\r\n").unwrap_or(&special[1..]);
        }
    }
    out.push_str(rest);
    Ok(Cow::Owned(out))
}

/// What a reference expands to: a character, or `None` for an entity that XML itself does not define.
///
/// # Errors
/// `MALFORMED_INPUT` for the number of no character, and for no name at all.
pub(super) fn resolve(name: &str) -> Result<Option<char>> {
    Ok(match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "" => return Err(malformed("a reference has no name")),
        _ => match name.strip_prefix('#') {
            Some(number) => Some(
                character(number)
                    .ok_or_else(|| malformed(format_args!("&#{number}; is no character")))?,
            ),
            None => None,
        },
    })
}

fn character(number: &str) -> Option<char> {
    let (digits, radix) = match number.strip_prefix('x') {
        Some(digits) => (digits, 16),
        None => (number, 10),
    };
    // A sign is no digit, though the parser would take it.
    if !digits.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let code = u32::from_str_radix(digits, radix).ok()?;
    char::from_u32(code).filter(|character| *character != '\0')
}

fn trim_start(text: &str) -> &str {
    let spaces = text.bytes().position(|byte| !is_space(byte));
    &text[spaces.unwrap_or(text.len())..]
}
