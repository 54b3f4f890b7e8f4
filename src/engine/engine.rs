//! The engine as an object: option sets in, reply lines out.

use std::borrow::Cow;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::{ProbeError, Result};
use super::probe::{self, Prepared};
use super::report::KeyOrder;
use super::request::Request;
use super::source::{Source, SourceKind};
use super::version::TOOL_VERSION;

/// Option sets of records that are kept with their plans.
const MAX_PREPARED: usize = 64;

/// Answers records, one line each.
///
/// It is single-threaded, keeps no state between records but the plans that it has made, and answers
/// a panic inside one record with `PARSER_FAILURE`.
#[derive(Debug)]
pub struct Engine {
    default: Rc<Prepared>,
    /// By the exact text of a record's `"options"`.
    by_options: HashMap<Box<str>, Rc<Prepared>>,
}

impl Engine {
    /// An engine for the options of a command line, as `deckprobe --jsonl` takes them.
    ///
    /// # Errors
    /// The message of the syntax error.
    pub fn new<I, S>(options: I) -> Result<Self, String>
    where
        I: IntoIterator<Item = S>,
        S: Into<std::ffi::OsString> + Clone,
    {
        super::cli::parse_options(options).map(Self::with_request)
    }

    pub(crate) fn with_request(request: Request) -> Self {
        Self {
            default: Rc::new(Prepared::new(request)),
            by_options: HashMap::new(),
        }
    }

    /// Answers one line: appends the reply and a line feed to `out` and returns the exit status that
    /// the record stands for. A blank line gets no reply, and `None`.
    ///
    /// `number` is the number of the line within the stream, for messages.
    pub fn answer(&mut self, line: &[u8], number: u64, out: &mut Vec<u8>) -> Option<u8> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let outcome = match std::str::from_utf8(line) {
            Ok(text) if text.trim().is_empty() => return None,
            Ok(text) => self.guarded(out, |engine, out| engine.record(text, number, out)),
            Err(error) => Err(ProbeError::io(
                format_args!("line {number}"),
                &std::io::Error::new(std::io::ErrorKind::InvalidData, error),
            )),
        };
        let status = outcome.unwrap_or_else(|error| write_error(&error, out));
        out.push(b'\n');
        Some(status)
    }

    /// Probes one source with the options of the command line, for single-shot use.
    pub(crate) fn single(
        &mut self,
        open: impl FnOnce(&Request) -> Result<Source>,
        out: &mut Vec<u8>,
    ) -> u8 {
        let outcome = self.guarded(out, |engine, out| {
            let source = open(engine.default.request())?;
            probe::run(&source, &engine.default, KeyOrder::Declared, out)
        });
        outcome.unwrap_or_else(|error| write_error(&error, out))
    }

    /// Runs one record so that a panic costs that record at most.
    fn guarded(
        &mut self,
        out: &mut Vec<u8>,
        run: impl FnOnce(&mut Self, &mut Vec<u8>) -> Result<u8>,
    ) -> Result<u8> {
        let before = out.len();
        let outcome = catch_unwind(AssertUnwindSafe(|| run(self, out))).unwrap_or_else(|_| {
            Err(ProbeError::internal(
                "the engine panicked on this input; please report it",
            ))
        });
        if outcome.is_err() {
            out.truncate(before);
        }
        outcome
    }

    fn record(&mut self, text: &str, number: u64, out: &mut Vec<u8>) -> Result<u8> {
        let wire = Wire::parse(text).map_err(|error| {
            ProbeError::invalid(format_args!("JSONL line {number} is invalid: {error}"))
        })?;
        let prepared = match wire.options {
            Some(options) => self.prepared(options.get())?,
            None => Rc::clone(&self.default),
        };
        let source = wire.source(prepared.request())?;
        probe::run(&source, &prepared, KeyOrder::Sorted, out)
    }

    fn prepared(&mut self, options: &str) -> Result<Rc<Prepared>> {
        if let Some(known) = self.by_options.get(options) {
            return Ok(Rc::clone(known));
        }
        let prepared = Rc::new(Prepared::new(Request::from_record(options)?));
        if self.by_options.len() >= MAX_PREPARED {
            // Making a plan again is cheap; what matters is that a caller who varies its budgets
            // without end cannot make the table grow.
            self.by_options.clear();
        }
        self.by_options.insert(options.into(), Rc::clone(&prepared));
        Ok(prepared)
    }
}

/// Appends an error envelope and returns its exit status.
pub(crate) fn write_error(error: &ProbeError, out: &mut Vec<u8>) -> u8 {
    out.extend_from_slice(error.envelope().to_json(TOOL_VERSION).as_bytes());
    error.code().exit_code()
}

/// A record as it stands on its line (contract §1.4). Unknown keys are ignored.
#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow, default)]
    path: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default, alias = "base64")]
    data_base64: Option<Cow<'a, str>>,
    /// Our extension: an option set for this record alone.
    #[serde(borrow, default)]
    options: Option<&'a RawValue>,
}

impl<'a> Wire<'a> {
    fn parse(text: &'a str) -> Result<Self, String> {
        match text.trim_start().as_bytes().first() {
            Some(b'{') => serde_json::from_str(text).map_err(|error| error.to_string()),
            Some(b'"') => {
                let path = serde_json::from_str(text).map_err(|error| error.to_string())?;
                Ok(Self {
                    path: Some(path),
                    name: None,
                    data_base64: None,
                    options: None,
                })
            }
            _ => match serde_json::from_str::<serde::de::IgnoredAny>(text) {
                Ok(_) => Err("expected a path or an object".into()),
                Err(error) => Err(error.to_string()),
            },
        }
    }

    fn source(&self, request: &Request) -> Result<Source> {
        let limits = request.limits();
        match (&self.path, &self.name, &self.data_base64) {
            (Some(path), name, None) => Source::open(path, name.as_deref(), limits),
            (None, Some(name), Some(data)) => {
                // Checked before decoding, so that no memory is taken for what is refused anyway.
                let at_least = (data.len() as u64 / 4).saturating_mul(3).saturating_sub(2);
                if at_least > limits.physical_bytes {
                    return Err(ProbeError::budget(format_args!(
                        "the payload has at least {at_least} bytes, more than the physical read \
                         budget of {}",
                        limits.physical_bytes
                    )));
                }
                let bytes = BASE64.decode(data.as_bytes()).map_err(|error| {
                    ProbeError::invalid(format_args!("invalid JSONL base64 payload: {error}"))
                })?;
                Source::bytes(name, bytes, SourceKind::JsonlBytes, limits)
            }
            _ => Err(ProbeError::invalid(
                "a record needs a path (with or without a name), or a name with data_base64",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(line: &str) -> (Option<u8>, serde_json::Value) {
        let mut engine = Engine::with_request(Request::default());
        let mut out = Vec::new();
        let status = engine.answer(line.as_bytes(), 7, &mut out);
        assert!(status.is_none() || out.ends_with(b"\n"));
        (status, serde_json::from_slice(&out).unwrap_or_default())
    }

    #[test]
    fn a_blank_line_gets_no_reply() {
        for line in ["", "\n", " \t\r\n", "\u{2003}"] {
            assert_eq!(answer(line), (None, serde_json::Value::Null), "{line:?}");
        }
    }

    #[test]
    fn records_that_do_not_parse_are_refused_with_their_line_number() {
        for line in [
            "{",
            "nonsense",
            "\u{feff}{}",
            "{\"path\":\"\\ud800\"}",
            "1",
            "true",
            "null",
            "[\"a.pdf\"]",
            r#"{"path":1}"#,
            r#"{"path":"a","path":"b"}"#,
            r#"{"name":"a","data_base64":"","base64":""}"#,
        ] {
            let (status, reply) = answer(line);
            assert_eq!(status, Some(1), "{line}");
            let message = reply["error"]["message"].as_str().unwrap();
            assert!(
                message.starts_with("invalid request: JSONL line 7 is invalid: "),
                "{message}"
            );
        }
    }

    #[test]
    fn only_three_combinations_of_members_are_records() {
        for line in [
            "{}",
            r#"{"name":"a.pdf"}"#,
            r#"{"data_base64":""}"#,
            r#"{"path":"a.pdf","data_base64":""}"#,
            r#"{"path":"a.pdf","name":"b.pdf","data_base64":""}"#,
        ] {
            let (status, reply) = answer(line);
            assert_eq!(
                (status, &reply["error"]["code"]),
                (Some(1), &"INVALID_REQUEST".into()),
                "{line}"
            );
        }
        for (line, code) in [
            (r#""/nonexistent/a.pdf""#, "SOURCE_IO"),
            (
                r#"{"path":"/nonexistent/a.pdf","name":null,"more":[1]}"#,
                "SOURCE_IO",
            ),
            (r#"{"path":"","name":"a.pdf"}"#, "SOURCE_IO"),
            (r#"{"path":"a\u0000b.pdf"}"#, "SOURCE_IO"),
            (r#"{"name":"a.pdf","base64":""}"#, "MALFORMED_INPUT"),
            (r#"{"name":"a.pdf","base64":"AA"}"#, "INVALID_REQUEST"),
            (r#"{"name":"a.pdf","base64":"A A="}"#, "INVALID_REQUEST"),
            (r#"{"name":"a","base64":"AAAA"}"#, "UNSUPPORTED_FORMAT"),
        ] {
            assert_eq!(answer(line).1["error"]["code"], code, "{line}");
        }
    }

    #[test]
    fn a_line_that_is_not_utf8_costs_that_line_only() {
        let mut engine = Engine::with_request(Request::default());
        let mut out = Vec::new();
        assert_eq!(engine.answer(b"\"\xff\"\n", 1, &mut out), Some(2));
        assert_eq!(engine.answer(b"{}\n", 2, &mut out), Some(1));
        assert_eq!(out.iter().filter(|byte| **byte == b'\n').count(), 2);
    }

    #[test]
    fn record_options_serve_one_record_only() {
        let mut engine = Engine::with_request(Request::default());
        let with =
            r#"{"name":"a.docx","base64":"UEsDBAAAAAA=","options":{"targets":["nonsense"]}}"#;
        let without = r#"{"name":"a.pdf","base64":"AAAA"}"#;
        let mut out = Vec::new();
        engine.answer(with.as_bytes(), 1, &mut out);
        engine.answer(without.as_bytes(), 2, &mut out);
        let text = String::from_utf8(out).unwrap();
        let (first, second) = text.split_once('\n').unwrap();
        assert!(first.contains("unsupported target: nonsense"), "{first}");
        assert!(second.contains("MALFORMED_INPUT"), "{second}");
        for n in 0..10 * MAX_PREPARED {
            let line = format!(r#"{{"path":"/x","options":{{"budget":{{"timeout_ms":{n}}}}}}}"#);
            engine.answer(line.as_bytes(), 1, &mut Vec::new());
        }
        assert!(engine.by_options.len() <= MAX_PREPARED);
    }
}
