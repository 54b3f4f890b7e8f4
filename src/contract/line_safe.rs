//! JSON that stays on its line: U+0085, U+2028 and U+2029 are escaped.
//!
//! JSON allows them inside strings, and many line readers split on them.

use std::borrow::Cow;

/// The three characters in UTF-8, and their escapes.
const BREAKS: [(&str, &str); 3] = [
    ("\u{85}", "\\u0085"),
    ("\u{2028}", "\\u2028"),
    ("\u{2029}", "\\u2029"),
];

/// Escapes the characters in a JSON text. Outside strings they cannot occur, so the text need not be
/// parsed, and its value does not change.
#[must_use]
pub fn escape_line_breaks(json: &str) -> Cow<'_, str> {
    let Some(first) = next_break(json, 0) else {
        return Cow::Borrowed(json);
    };
    let mut escaped = String::with_capacity(json.len() + 16);
    let mut copied = 0;
    let mut next = Some(first);
    while let Some((at, len, escape)) = next {
        escaped.push_str(&json[copied..at]);
        escaped.push_str(escape);
        copied = at + len;
        next = next_break(json, copied);
    }
    escaped.push_str(&json[copied..]);
    Cow::Owned(escaped)
}

/// Position, length and escape of the next one.
fn next_break(json: &str, from: usize) -> Option<(usize, usize, &'static str)> {
    // The lead bytes of the three sequences.
    let leads = memchr::memchr2_iter(0xC2, 0xE2, &json.as_bytes()[from..]);
    leads.map(|at| from + at).find_map(|at| {
        BREAKS
            .iter()
            .find(|(text, _)| json.as_bytes()[at..].starts_with(text.as_bytes()))
            .map(|(text, escape)| (at, text.len(), *escape))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_three_characters_change_and_the_value_does_not() {
        let text = "{\"a\u{85}\u{2028}\":\"é\u{a0}–\u{2029}\u{202a}\"}";
        let escaped = escape_line_breaks(text);
        assert_eq!(escaped, "{\"a\\u0085\\u2028\":\"é\u{a0}–\\u2029\u{202a}\"}");
        let parse = |text| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(parse(&escaped), parse(text));
        assert!(matches!(escape_line_breaks("\"é–\""), Cow::Borrowed(_)));
        assert_eq!(escape_line_breaks("\u{2028}"), "\\u2028");
    }
}
