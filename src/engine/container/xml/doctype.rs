//! Document type declarations (XML 1.0, 2.8): found and passed over.

use memchr::{memchr, memmem};

/// Where the DOCTYPE that begins here ends. What is in it is not looked at: quoted text, comments and
/// instructions are passed over, and a `>` inside the brackets ends only a declaration.
pub(super) fn end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut brackets = false;
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text.as_bytes()[at..];
        at += match rest {
            [b'<', b'!', b'-', b'-', ..] => 4 + memmem::find(&rest[4..], b"-->")? + 3,
            [b'<', b'?', ..] => 2 + memmem::find(&rest[2..], b"?>")? + 2,
            [quote @ (b'"' | b'\''), ..] => 1 + memchr(*quote, &rest[1..])? + 1,
            [b'>', ..] if !brackets => return Some(at + 1),
            [byte, ..] => {
                brackets = match byte {
                    b'[' => true,
                    b']' => false,
                    _ => brackets,
                };
                1
            }
            [] => return None,
        };
    }
    None
}
