//! One line of `--jsonl` as a record (contract §1.4).

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::error::{ProbeError, Result};
use super::source::{Source, SourceKind};
use crate::contract::Limits;

/// A record: what to probe, and perhaps how. It borrows from its line.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    input: Input<'a>,
    options: Option<&'a RawValue>,
}

#[derive(Debug)]
enum Input<'a> {
    Path {
        path: Text<'a>,
        name: Option<Text<'a>>,
    },
    Bytes {
        name: Text<'a>,
        data: Text<'a>,
    },
}

impl<'a> Record<'a> {
    /// Parses the line with this number: a string is a path, an object names its members. Unknown
    /// members are ignored.
    ///
    /// # Errors
    /// `INVALID_REQUEST` for what is no record.
    pub(crate) fn parse(line: &'a str, number: u64) -> Result<Self> {
        let wire = Wire::parse(line).map_err(|error| {
            ProbeError::invalid(format_args!("JSONL line {number} is invalid: {error}"))
        })?;
        let input = match (wire.path, wire.name, wire.data_base64) {
            (Some(path), name, None) => Input::Path { path, name },
            (None, Some(name), Some(data)) => Input::Bytes { name, data },
            _ => {
                return Err(ProbeError::invalid(
                    "a record needs a path (with or without a name), or a name with data_base64",
                ));
            }
        };
        Ok(Self {
            input,
            options: wire.options,
        })
    }

    /// The text of the record's own option set, if it brings one. Our extension.
    pub(crate) fn options(&self) -> Option<&'a str> {
        self.options.map(RawValue::get)
    }

    /// Opens the file or decodes the bytes.
    ///
    /// # Errors
    /// As [`Source::open`] and [`Source::bytes`]; `INVALID_REQUEST` for text that is not base64.
    pub(crate) fn source(&self, limits: Limits) -> Result<Source> {
        match &self.input {
            Input::Path { path, name } => {
                Source::open(&path.0, name.as_ref().map(|name| &*name.0), limits)
            }
            Input::Bytes { name, data } => Source::bytes(
                &name.0,
                decode(&data.0, limits)?,
                SourceKind::JsonlBytes,
                limits,
            ),
        }
    }
}

fn decode(data: &str, limits: Limits) -> Result<Vec<u8>> {
    // Checked before decoding, so that no memory is taken for what is refused anyway.
    let at_least = (data.len() as u64 / 4).saturating_mul(3).saturating_sub(2);
    if at_least > limits.physical_bytes {
        return Err(ProbeError::budget(format_args!(
            "the payload has at least {at_least} bytes, more than the physical read budget of {}",
            limits.physical_bytes
        )));
    }
    BASE64
        .decode(data)
        .map_err(|error| ProbeError::invalid(format_args!("invalid JSONL base64 payload: {error}")))
}

/// A string, borrowed from the line unless it holds escapes: a payload of many megabytes is never
/// copied before it is decoded.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The members of a record; `null` is the same as absent.
#[derive(Deserialize, Default)]
struct Wire<'a> {
    #[serde(borrow, default)]
    path: Option<Text<'a>>,
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
    #[serde(borrow, default, alias = "base64")]
    data_base64: Option<Text<'a>>,
    #[serde(borrow, default)]
    options: Option<&'a RawValue>,
}

impl<'a> Wire<'a> {
    fn parse(line: &'a str) -> serde_json::Result<Self> {
        match line.trim_start().as_bytes().first() {
            Some(b'{') => {
                let wire = serde_json::from_str(line)?;
                if has_lone_surrogate(line) {
                    return Err(serde::de::Error::custom("lone surrogate in an escape"));
                }
                Ok(wire)
            }
            Some(b'"') => Ok(Self {
                path: Some(serde_json::from_str(line)?),
                ..Self::default()
            }),
            _ => {
                serde_json::from_str::<IgnoredAny>(line)?;
                Err(serde::de::Error::custom("expected a path or an object"))
            }
        }
    }
}

/// Whether the line, which is JSON but for this, escapes half a surrogate pair. Members that are
/// ignored are skipped by the parser without a look at it, and it makes the line no text either.
fn has_lone_surrogate(line: &str) -> bool {
    let unit_at = |at: usize| {
        let digits = line.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &line.as_bytes()[at..]) {
        at += found;
        match unit_at(at) {
            Some(0xD800..=0xDBFF) if matches!(unit_at(at + 6), Some(0xDC00..=0xDFFF)) => at += 12,
            Some(0xD800..=0xDFFF) => return true,
            Some(_) => at += 6,
            None => at += 2,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Budget, Level};

    fn source(line: &str) -> Result<Source> {
        Record::parse(line, 7)?.source(Limits::of(Level::Header))
    }

    #[test]
    fn records_that_do_not_parse_are_refused_with_their_line_number() {
        for line in [
            "{",
            "nonsense",
            "\u{feff}{}",
            "\0",
            "\"a.pdf\" \"b.pdf\"",
            "{\"path\":\"a\0b\"}",
            "{\"path\":\"\\ud800\"}",
            "{\"path\":\"a.pdf\",\"other\":\"\\uD800\"}",
            "{\"path\":\"a.pdf\",\"other\":[\"\\\\\\udbff\\udbff\\udc00\"]}",
            "{\"path\":\"a.pdf\",\"other\":\"\\ud800\\n\"}",
            "\"\\udc00\"",
            "1",
            &"9".repeat(10_000),
            "true",
            "null",
            "[]",
            "[\"a.pdf\"]",
            r#"{"path":1}"#,
            r#"{"name":["a"],"base64":""}"#,
            r#"{"path":"a","path":"b"}"#,
            r#"{"path":"a","path":null}"#,
            r#"{"name":"a","data_base64":"","base64":""}"#,
        ] {
            let refused = Record::parse(line, 7).unwrap_err();
            assert!(
                refused
                    .message()
                    .starts_with("invalid request: JSONL line 7 is invalid: "),
                "{refused}"
            );
        }
    }

    #[test]
    fn only_three_combinations_of_members_are_records() {
        for line in [
            "{}",
            r#"{"path":null}"#,
            r#"{"name":"a.pdf"}"#,
            r#"{"data_base64":""}"#,
            r#"{"path":"a.pdf","data_base64":""}"#,
            r#"{"path":"a.pdf","name":"b.pdf","base64":""}"#,
        ] {
            let refused = Record::parse(line, 7).unwrap_err();
            assert!(refused.message().contains("a record needs"), "{refused}");
        }
        let bytes = source(
            r#"{"name":"a.pdf","base64":"QUI=","path":null,"more":[1e999,"\ud83d\ude00","\\ud800"]}"#,
        );
        let bytes = bytes.unwrap();
        assert_eq!((bytes.display_name(), bytes.size()), ("a.pdf", 2));
        for line in [
            r#" "/nonexistent/a.pdf" "#,
            r#"{"path":"/nonexistent/a.pdf","name":"b"}"#,
        ] {
            let refused = source(line).unwrap_err();
            assert!(
                refused.message().contains("/nonexistent/a.pdf"),
                "{refused}"
            );
        }
    }

    #[test]
    fn payloads_are_standard_base64_with_padding_and_within_the_budget() {
        for data in [
            "AA", "AAA", "A A=", "AB==", "AA==\\n", "_-==", "=", "AA==AA==",
        ] {
            let line = format!(r#"{{"name":"a.pdf","base64":"{data}"}}"#);
            let refused = source(&line).unwrap_err();
            assert!(
                refused
                    .message()
                    .starts_with("invalid request: invalid JSONL base64 payload: "),
                "{data}: {refused}"
            );
        }
        for (data, size) in [
            ("", 0),
            ("AA==", 1),
            ("AAA=", 2),
            ("AAAA", 3),
            ("AAAAAA==", 4),
        ] {
            let line = format!(r#"{{"name":"a.pdf","base64":"{data}"}}"#);
            for allowed in 0..6 {
                let budget = Budget {
                    max_physical_bytes: Some(allowed),
                    ..Budget::default()
                };
                let limits = Limits::with(Level::Header, &budget);
                match Record::parse(&line, 1).unwrap().source(limits) {
                    Ok(source) => assert!(source.size() == size && size <= allowed),
                    Err(refused) => assert!(refused.is_budget() && size > allowed, "{refused}"),
                }
            }
        }
    }

    #[test]
    fn a_payload_is_borrowed_from_its_line() {
        let line = r#"{"name":"caf\u00e9.pdf","data_base64":"AAAA"}"#;
        let Input::Bytes { name, data } = Record::parse(line, 1).unwrap().input else {
            panic!("no bytes");
        };
        assert_eq!(name.0, "café.pdf");
        assert!(matches!(data.0, Cow::Borrowed("AAAA")));
    }
}
