//! A document inside a call: `name` and `data_base64` instead of `path`.
//!
//! It is bounded before it is decoded, never written to disk, and refused early if it exceeds the
//! engine's own budget.

use serde_json::{Value, json};

use super::super::arguments::{Arguments, invalid};
use crate::contract::{Envelope, ErrorCode, Limits, ProbeOptions, Record};

/// Longest name, in bytes: the limit of common file systems.
const LONGEST_NAME: usize = 255;

/// The two arguments, with their schemas.
pub(super) fn fields(most: u64) -> [(&'static str, Value); 2] {
    let name = json!({
        "type": "string", "minLength": 1, "maxLength": LONGEST_NAME,
        "description": "With data_base64, instead of path: the file name of the document; its extension \
            decides the format.",
    });
    let data = json!({
        "type": "string",
        "description": format!(
            "With name, instead of path: the document itself as standard base64 with padding, at most \
             {most} bytes before encoding. It is never written to disk."
        ),
    });
    [("name", name), ("data_base64", data)]
}

/// Reads the two fields into a record.
pub(super) fn read(
    arguments: &mut Arguments,
    options: &ProbeOptions,
    most: u64,
) -> Result<Record, Envelope> {
    if !arguments.has("name") && !arguments.has("data_base64") {
        return Err(invalid(
            "path is missing; it accepts a string (or give name and data_base64)",
        ));
    }
    let name = arguments.required_string("name")?;
    let data = arguments.required_string("data_base64")?;
    if name.len() > LONGEST_NAME || name.contains(['/', '\\', '\0']) {
        return Err(invalid(format!(
            "name: it accepts a file name of at most {LONGEST_NAME} bytes, without directories"
        )));
    }
    let size = decoded_size(&data).ok_or_else(|| {
        invalid("data_base64: it accepts standard base64 with padding, without white space")
    })?;
    if size > most {
        return Err(invalid(format!(
            "data_base64: got a document of {size} bytes; it accepts at most {most} \
             (DECKPROBE_MCP_MAX_INLINE_BYTES)"
        )));
    }
    let budget = Limits::with(options.level(), &options.budget()).physical_bytes;
    if size > budget {
        return Err(Envelope::new(
            ErrorCode::BudgetExceeded,
            format!(
                "budget exceeded: the document has {size} bytes and max_physical_bytes is {budget}"
            ),
        ));
    }
    Record::from_base64(name, data)
}

/// The size after decoding, without decoding; `None` if it is not base64.
fn decoded_size(data: &str) -> Option<u64> {
    let bytes = data.as_bytes();
    let padding = bytes.iter().rev().take_while(|byte| **byte == b'=').count();
    let digits = &bytes[..bytes.len() - padding];
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    if !bytes.len().is_multiple_of(4) || padding > 2 || !digits.iter().all(is_digit) {
        return None;
    }
    // The bits that padding leaves unused must be zero, or an engine refuses the document.
    let unused = (1 << (2 * padding)) - 1;
    if digits
        .last()
        .is_some_and(|digit| value(*digit) & unused != 0)
    {
        return None;
    }
    Some((bytes.len() / 4 * 3 - padding) as u64)
}

/// The value of a base64 digit.
fn value(digit: u8) -> u8 {
    match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        _ => 63,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;

    #[test]
    fn decoded_size_is_known_without_decoding() {
        for len in 0..40 {
            let data = base64::engine::general_purpose::STANDARD.encode(vec![0xff; len]);
            assert_eq!(decoded_size(&data), Some(len as u64), "{data}");
        }
        for bad in [
            "A", "AAA", "AAAA\n", "AA AA", "AA==AAAA", "====", "-_AA", "A===", "ÄÄ", "AAB=",
            "AB==", "AAAAAP==",
        ] {
            assert_eq!(decoded_size(bad), None, "{bad:?}");
        }
    }
}
