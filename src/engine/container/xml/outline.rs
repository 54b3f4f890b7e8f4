//! Finding out where a start tag ends, and what is where in it, in one pass.

use memchr::{memchr, memchr3, memmem};

use super::is_space;

/// The outline of a start tag. Positions count from its `<`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Scanned {
    pub(super) name_end: usize,
    /// Where the attributes end, which begin at `name_end`.
    pub(super) attributes_end: usize,
    /// Length with the `>`.
    pub(super) len: usize,
    /// The element has no content.
    pub(super) is_empty: bool,
    /// Some attribute may declare a namespace; if not, none does.
    pub(super) may_declare: bool,
}

/// Looks through the tag that begins here. `None` when it does not end.
pub(super) fn scan(bytes: &[u8]) -> Option<Scanned> {
    plain(bytes).or_else(|| odd(bytes))
}

/// A tag as writers write it: every attribute a name, `=` and a quoted value, and white space before
/// it. `None` for any other.
fn plain(bytes: &[u8]) -> Option<Scanned> {
    let ends_name = |byte: &u8| is_space(*byte) || matches!(byte, b'/' | b'>' | b'"' | b'\'');
    let name_end = 1 + bytes.get(1..)?.iter().position(ends_name)?;
    let mut may_declare = false;
    let mut at = name_end;
    loop {
        let spaces = bytes[at..].iter().position(|byte| !is_space(*byte))?;
        let start = at + spaces;
        let end = |is_empty| Scanned {
            name_end,
            attributes_end: start,
            len: start + 1 + usize::from(is_empty),
            is_empty,
            may_declare,
        };
        match &bytes[start..] {
            [b'>', ..] => return Some(end(false)),
            [b'/', b'>', ..] => return Some(end(true)),
            _ if spaces == 0 => return None,
            _ => {}
        }
        let is_named =
            |byte: &u8| !is_space(*byte) && !matches!(byte, b'/' | b'>' | b'"' | b'\'' | b'=');
        let equals = start + bytes[start..].iter().position(|byte| !is_named(byte))?;
        let (b'=', quote @ (b'"' | b'\'')) = (bytes[equals], *bytes.get(equals + 1)?) else {
            return None;
        };
        may_declare |= bytes[start..equals].starts_with(b"xmlns");
        at = equals + 2 + memchr(quote, &bytes[equals + 2..])? + 1;
    }
}

/// Any other tag: it ends at the first `>` outside quotes.
fn odd(bytes: &[u8]) -> Option<Scanned> {
    let end = end(bytes)?;
    let inside = &bytes[1..end];
    let is_empty = inside.ends_with(b"/");
    let inside = &inside[..inside.len() - usize::from(is_empty)];
    let name_len = inside.iter().position(|byte| is_space(*byte));
    Some(Scanned {
        name_end: 1 + name_len.unwrap_or(inside.len()),
        attributes_end: 1 + inside.len(),
        len: end + 1,
        is_empty,
        may_declare: memmem::find(inside, b"xmlns").is_some(),
    })
}

fn end(bytes: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr3(b'>', b'"', b'\'', bytes.get(at..)?)?;
        let found = bytes[at];
        if found == b'>' {
            return Some(at);
        }
        at += 1 + memchr(found, &bytes[at + 1..])? + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quick_way_sees_the_same_tags_as_the_thorough_one() {
        for tag in [
            "<a>",
            "<a/>",
            "<a />",
            "<p:a\n>",
            "<a b='>' c=\"/>\"/>",
            "<a\tb='1'\r\n  c='2' />rest",
            "<a xmlns:p='u'>",
            "<é ü='ß'>",
        ] {
            let (quick, thorough) = (plain(tag.as_bytes()).unwrap(), odd(tag.as_bytes()).unwrap());
            assert_eq!(quick.may_declare, tag.contains("xmlns"));
            assert_eq!(
                tag[quick.name_end..quick.attributes_end].trim(),
                tag[thorough.name_end..thorough.attributes_end].trim()
            );
            let attributes_end = quick.attributes_end;
            assert_eq!(
                quick,
                Scanned {
                    attributes_end,
                    ..thorough
                },
                "{tag}"
            );
        }
    }

    #[test]
    fn what_is_written_oddly_is_left_to_the_thorough_way() {
        for tag in [
            "<a b = '1'>",
            "<a b='1'c='2'>",
            "<a b>",
            "<a b=1>",
            "<a /b='1'>",
            "<a'>'>",
            "<a/b>",
        ] {
            assert_eq!(plain(tag.as_bytes()), None, "{tag}");
            assert!(odd(tag.as_bytes()).is_some());
        }
        for open in ["<", "<a", "<a b", "<a b=", "<a b='", "<a b='>"] {
            assert_eq!(scan(open.as_bytes()), None, "{open}");
        }
    }
}
