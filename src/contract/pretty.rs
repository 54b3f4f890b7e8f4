//! Indenting JSON text without parsing it, so that key order and numbers stay as they were printed.

/// Returns `json` with two-space indentation. The input must be one valid JSON value (a reply that
/// was already checked); only white space outside strings changes. Empty arrays and objects stay on
/// one line.
#[must_use]
pub fn indent(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 2);
    let mut depth = 0_usize;
    let mut rest = json.char_indices().peekable();
    while let Some((start, c)) = rest.next() {
        match c {
            '"' => {
                let mut end = json.len();
                let mut escaped = false;
                for (at, inner) in rest.by_ref() {
                    if inner == '"' && !escaped {
                        end = at + 1;
                        break;
                    }
                    escaped = inner == '\\' && !escaped;
                }
                out.push_str(&json[start..end]);
            }
            '{' | '[' => {
                out.push(c);
                while rest
                    .next_if(|(_, next)| next.is_ascii_whitespace())
                    .is_some()
                {}
                if let Some((_, close)) = rest.next_if(|(_, next)| matches!(next, '}' | ']')) {
                    out.push(close);
                } else {
                    depth += 1;
                    new_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => out.push(c),
        }
    }
    out
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    for _ in 0..depth {
        out.push_str("  ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_white_space_outside_strings_changes() {
        let cases = [
            ("{}", "{}"),
            ("[ ]", "[]"),
            (
                r#"{"b":1.0,"a":[1,2]}"#,
                "{\n  \"b\": 1.0,\n  \"a\": [\n    1,\n    2\n  ]\n}",
            ),
            (
                r#"{"k":"a,b: {\"[\\"}"#,
                "{\n  \"k\": \"a,b: {\\\"[\\\\\"\n}",
            ),
            (
                r#"["\\",{"x":{}}]"#,
                "[\n  \"\\\\\",\n  {\n    \"x\": {}\n  }\n]",
            ),
            ("18446744073709551617", "18446744073709551617"),
        ];
        for (input, expected) in cases {
            assert_eq!(indent(input), expected, "{input}");
        }
    }
}
