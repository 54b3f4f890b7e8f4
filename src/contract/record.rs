//! One input of an engine in `--jsonl` mode: printed by the supervisor, parsed by the engine
//! (contract §1.4).

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Envelope, ErrorCode, ProbeOptions};

/// What a record names as its document. `S` is the type of its strings: owned, or borrowed from the
/// line that was parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input<S = String> {
    /// A file, by a path that the engine can open.
    Path {
        /// The path to open, absolute and resolved by the access check.
        path: S,
        /// The name that the caller gave. It becomes `input.display_name` and decides the extension;
        /// without it the engine takes the last component of `path`.
        name: Option<S>,
    },
    /// Bytes that travel inside the record.
    Bytes {
        /// The display name, which decides the extension.
        name: S,
        /// The document as standard base64 with padding, exactly as the caller sent it.
        data_base64: S,
    },
}

/// A record: an input that fits on one line and gets exactly one reply.
///
/// The constructors refuse what would break the framing or the pairing of lines and replies: a record
/// prints as valid JSON, is never blank and holds no raw line break, since JSON escapes those.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record<S = String> {
    input: Input<S>,
}

impl Record {
    /// A record for a file.
    ///
    /// # Errors
    /// `MCP_INVALID_ARGUMENT` when the path is empty or holds a NUL, which no file system call
    /// accepts.
    pub fn from_path(path: impl Into<String>, name: Option<String>) -> Result<Self, Envelope> {
        let path = path.into();
        if path.is_empty() {
            return Err(invalid("path is empty; give the path of a file"));
        }
        if path.contains('\0') || name.as_ref().is_some_and(|name| name.contains('\0')) {
            return Err(invalid(
                "path holds a NUL character, which no file name can",
            ));
        }
        Ok(Self {
            input: Input::Path { path, name },
        })
    }

    /// A record for bytes. The engine decodes the base64 text; the caller bounds its size.
    ///
    /// # Errors
    /// `MCP_INVALID_ARGUMENT` when the name is empty.
    pub fn from_base64(
        name: impl Into<String>,
        data_base64: impl Into<String>,
    ) -> Result<Self, Envelope> {
        let name = name.into();
        if name.is_empty() {
            return Err(invalid(
                "name is empty; inline bytes need a name with an extension",
            ));
        }
        Ok(Self {
            input: Input::Bytes {
                name,
                data_base64: data_base64.into(),
            },
        })
    }
}

impl<S: AsRef<str>> Record<S> {
    /// The document that the record names, without the record.
    pub(crate) fn into_input(self) -> Input<S> {
        self.input
    }

    /// The document that the record names.
    #[must_use]
    pub fn input(&self) -> &Input<S> {
        &self.input
    }

    /// The `input.display_name` of a report on this record, where it can be known.
    #[must_use]
    pub fn display_name(&self) -> Option<&str> {
        match &self.input {
            Input::Bytes { name, .. } => Some(name.as_ref()),
            Input::Path {
                name: Some(name), ..
            } => Some(name.as_ref()),
            Input::Path { path, name: None } => std::path::Path::new(path.as_ref())
                .file_name()
                .and_then(std::ffi::OsStr::to_str),
        }
    }

    /// Appends the record as one LF-terminated line. `options` is given only to an engine that
    /// understands the `"options"` member (the built-in one).
    pub fn write_line(&self, options: Option<&ProbeOptions>, line: &mut Vec<u8>) {
        #[derive(Serialize, Default)]
        struct Wire<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            path: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            name: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            data_base64: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            options: Option<&'a ProbeOptions>,
        }
        let mut wire = Wire {
            options,
            ..Wire::default()
        };
        match &self.input {
            Input::Path { path, name } => {
                wire.path = Some(path.as_ref());
                wire.name = name.as_ref().map(AsRef::as_ref);
            }
            Input::Bytes { name, data_base64 } => {
                wire.name = Some(name.as_ref());
                wire.data_base64 = Some(data_base64.as_ref());
            }
        }
        // Writing strings, maps and integers to memory cannot fail.
        let _infallible = serde_json::to_writer(&mut *line, &wire);
        line.push(b'\n');
    }
}

/// Why a line is not a record.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Not JSON, or a member has the wrong type.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The members do not name one document.
    #[error("a record needs a path (with or without a name), or a name with data_base64")]
    Members,
}

impl<'a> Record<Cow<'a, str>> {
    /// Parses a line as a record and the text of its `"options"`, which is our extension. A string is
    /// a path, an object names its members, and unknown members are ignored.
    ///
    /// # Errors
    /// When the line is not a record.
    pub fn parse(line: &'a str) -> Result<(Self, Option<&'a str>), RecordError> {
        let wire = Wire::parse(line)?;
        let unwrap = |text: Text<'a>| text.0;
        let input = match (wire.path, wire.name, wire.data_base64) {
            (Some(path), name, None) => Input::Path {
                path: path.0,
                name: name.map(unwrap),
            },
            (None, Some(name), Some(data)) => Input::Bytes {
                name: name.0,
                data_base64: data.0,
            },
            _ => return Err(RecordError::Members),
        };
        Ok((Self { input }, wire.options.map(RawValue::get)))
    }
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

/// Whether a line that is otherwise JSON escapes half of a surrogate pair. The parser does not check
/// the members that it ignores, and the contract refuses the line for those too.
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

fn invalid(message: &str) -> Envelope {
    Envelope::new(ErrorCode::McpInvalidArgument, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(record: &Record) -> String {
        let mut line = Vec::new();
        record.write_line(None, &mut line);
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn a_record_is_always_one_line_of_json() {
        let names = [
            "plain.pdf",
            "a\nb.docx",
            "\r.pdf",
            "\u{2028}.key",
            "-l",
            "\"quoted\\\".xls",
        ];
        for name in names {
            let record = Record::from_path(format!("/tmp/{name}"), Some(name.into())).unwrap();
            let text = line(&record);
            assert_eq!(text.matches('\n').count(), 1, "{name:?}");
            let back: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(back["path"], format!("/tmp/{name}"));
            assert_eq!(back["name"], name);
            assert_eq!(record.display_name(), Some(name));
        }
    }

    #[test]
    fn paths_and_names_that_no_file_system_accepts_are_refused() {
        for (path, name) in [("", None), ("a\0b", None), ("a.pdf", Some("x\0.pdf"))] {
            let refused = Record::from_path(path, name.map(String::from)).unwrap_err();
            assert_eq!(refused.code, ErrorCode::McpInvalidArgument);
        }
        assert!(Record::from_base64("", "AAAA").is_err());
    }

    #[test]
    fn base64_is_printed_as_it_was_given() {
        let record = Record::from_base64("x.pdf", "JVBERi0=").unwrap();
        assert_eq!(
            line(&record),
            "{\"name\":\"x.pdf\",\"data_base64\":\"JVBERi0=\"}\n"
        );
    }

    #[test]
    fn lines_that_are_not_records_are_refused() {
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
            let refused = Record::parse(line).unwrap_err();
            assert!(matches!(refused, RecordError::Json(_)), "{line}: {refused}");
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
            let refused = Record::parse(line).unwrap_err();
            assert!(matches!(refused, RecordError::Members), "{line}: {refused}");
        }
        for line in [
            r#" "a.pdf" "#,
            r#"{"path":"a.pdf","name":"b"}"#,
            r#"{"name":"a.pdf","base64":"QUI=","path":null,"more":[1e999,"\ud83d\ude00","\\ud800"]}"#,
        ] {
            assert!(Record::parse(line).is_ok(), "{line}");
        }
    }

    #[test]
    fn a_record_parses_to_what_it_was_printed_from_with_its_options() {
        let options = ProbeOptions::new().with_targets(["@summary"]).unwrap();
        let text = serde_json::to_string(&options).unwrap();
        for record in [
            Record::from_path("/tmp/a\n\u{2028}\"b\\.pdf", None).unwrap(),
            Record::from_path("/store/17", Some("\u{1f600}.key".into())).unwrap(),
            Record::from_base64("x.pdf", "JVBERi0=").unwrap(),
        ] {
            for options in [None, Some(&options)] {
                let mut printed = Vec::new();
                record.write_line(options, &mut printed);
                let line = std::str::from_utf8(&printed).unwrap();
                let (parsed, brought) = Record::parse(line.trim_end_matches('\n')).unwrap();
                assert_eq!(brought, options.map(|_| text.as_str()));
                let mut again = Vec::new();
                parsed.write_line(options, &mut again);
                assert_eq!(again, printed);
                assert_eq!(parsed.display_name(), record.display_name());
            }
        }
    }

    #[test]
    fn a_payload_is_borrowed_from_its_line() {
        let line = r#"{"name":"caf\u00e9.pdf","data_base64":"AAAA"}"#;
        let (record, options) = Record::parse(line).unwrap();
        let Input::Bytes { name, data_base64 } = record.input() else {
            panic!("no bytes");
        };
        assert_eq!(name, "café.pdf");
        assert!(matches!(data_base64, Cow::Borrowed("AAAA")));
        assert_eq!(options, None);
    }
}
