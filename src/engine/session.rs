//! A session of the engine: option sets in, reply lines out.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use super::error::{ProbeError, Result};
use super::input;
use super::probe::{self, Prepared};
use super::report::KeyOrder;
use super::source::Source;
use super::version::TOOL_VERSION;
use crate::contract::{MAX_REPLY_BYTES, ProbeOptions, Record, from_argv};

/// Option sets of records that are kept with their plans.
const MAX_PREPARED: usize = 64;

/// Longest text of an option set that is kept, in bytes. No caller in earnest comes near it.
const MAX_PREPARED_BYTES: usize = 16 << 10;

/// Answers records, one line each.
///
/// It is single-threaded, keeps no state between records but the plans that it has made, and answers
/// a panic inside one record with `PARSER_FAILURE`.
#[derive(Debug)]
pub struct Session {
    default: Rc<Prepared>,
    /// By the exact text of a record's `"options"`.
    by_options: HashMap<Box<str>, Rc<Prepared>>,
}

impl Session {
    /// A session with the options of a command line, as `deckprobe --jsonl` takes them.
    ///
    /// # Errors
    /// The message of the syntax error.
    pub fn new<I, S>(options: I) -> Result<Self, String>
    where
        I: IntoIterator<Item = S>,
        S: Into<std::ffi::OsString> + Clone,
    {
        from_argv(options).map(Self::with_options)
    }

    pub(crate) fn with_options(options: ProbeOptions) -> Self {
        Self {
            default: Rc::new(Prepared::new(options)),
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
            Ok(text) => self.guarded(out, |session, out| session.record(text, number, out)),
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
        open: impl FnOnce(&ProbeOptions) -> Result<Source>,
        out: &mut Vec<u8>,
    ) -> u8 {
        let outcome = self.guarded(out, |session, out| {
            let source = open(session.default.options())?;
            probe::run(&source, &session.default, KeyOrder::Declared, out)
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
        let (record, options) =
            Record::parse(text).map_err(|error| input::refused(&error, number))?;
        let prepared = match options {
            Some(options) => self.prepared(options)?,
            None => Rc::clone(&self.default),
        };
        let source = input::open(record.input(), prepared.options().limits())?;
        let before = out.len();
        let status = probe::run(&source, &prepared, KeyOrder::Sorted, out)?;
        check_length(out.len() - before)?;
        Ok(status)
    }

    fn prepared(&mut self, options: &str) -> Result<Rc<Prepared>> {
        if let Some(known) = self.by_options.get(options) {
            return Ok(Rc::clone(known));
        }
        let prepared = Rc::new(Prepared::new(options_of(options)?));
        if options.len() > MAX_PREPARED_BYTES {
            return Ok(prepared);
        }
        if self.by_options.len() >= MAX_PREPARED {
            // Making a plan again is cheap; what matters is that a caller who varies its budgets
            // without end cannot make the table grow.
            self.by_options.clear();
        }
        self.by_options.insert(options.into(), Rc::clone(&prepared));
        Ok(prepared)
    }
}

/// The option set that a record brings along. It replaces that of the process as a whole, so that a
/// record means the same to every child.
fn options_of(json: &str) -> Result<ProbeOptions> {
    ProbeOptions::from_json(json)
        .map_err(|reason| ProbeError::invalid(format_args!("record options: {reason}")))
}

/// Refuses a reply that nobody would read to its end.
fn check_length(reply: usize) -> Result<()> {
    if reply > MAX_REPLY_BYTES {
        return Err(ProbeError::budget(format_args!(
            "the report has {reply} bytes, more than the {MAX_REPLY_BYTES} of a reply; ask for fewer \
             targets, or probe the document by itself"
        )));
    }
    Ok(())
}

/// Appends an error envelope and returns its exit status.
pub(crate) fn write_error(error: &ProbeError, out: &mut Vec<u8>) -> u8 {
    out.extend_from_slice(error.envelope().to_json(TOOL_VERSION).as_bytes());
    error.code().exit_code()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(line: &str) -> (Option<u8>, serde_json::Value) {
        let mut session = Session::with_options(ProbeOptions::default());
        let mut out = Vec::new();
        let status = session.answer(line.as_bytes(), 7, &mut out);
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
    fn each_record_is_answered_with_the_code_of_its_fault() {
        for (line, code) in [
            ("{}", "INVALID_REQUEST"),
            ("nonsense", "INVALID_REQUEST"),
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
    fn a_panic_costs_its_record_only_and_leaves_no_half_reply() {
        let mut session = Session::with_options(ProbeOptions::default());
        let mut out = b"before".to_vec();
        let outcome = session.guarded(&mut out, |_, out| {
            out.extend_from_slice(b"half a reply");
            panic!("as a driver might")
        });
        let error = outcome.unwrap_err();
        assert_eq!(error.code(), crate::contract::ErrorCode::ParserFailure);
        assert!(error.message().starts_with("format parser failed: "));
        assert_eq!(out, b"before");
        assert_eq!(session.answer(b"{}", 1, &mut out), Some(1));
    }

    #[test]
    fn a_line_that_is_not_utf8_costs_that_line_only() {
        let mut session = Session::with_options(ProbeOptions::default());
        let mut out = Vec::new();
        assert_eq!(session.answer(b"\"\xff\"\n", 1, &mut out), Some(2));
        assert_eq!(session.answer(b"{}\n", 2, &mut out), Some(1));
        assert_eq!(out.iter().filter(|byte| **byte == b'\n').count(), 2);
    }

    #[test]
    fn record_options_serve_one_record_only() {
        let mut session = Session::with_options(ProbeOptions::default());
        let with =
            r#"{"name":"a.docx","base64":"UEsDBAAAAAA=","options":{"targets":["nonsense"]}}"#;
        let without = r#"{"name":"a.pdf","base64":"AAAA"}"#;
        let mut out = Vec::new();
        session.answer(with.as_bytes(), 1, &mut out);
        session.answer(without.as_bytes(), 2, &mut out);
        let text = String::from_utf8(out).unwrap();
        let (first, second) = text.split_once('\n').unwrap();
        assert!(first.contains("unsupported target: nonsense"), "{first}");
        assert!(second.contains("MALFORMED_INPUT"), "{second}");
        for n in 0..10 * MAX_PREPARED {
            let line = format!(r#"{{"path":"/x","options":{{"budget":{{"timeout_ms":{n}}}}}}}"#);
            session.answer(line.as_bytes(), 1, &mut Vec::new());
        }
        assert!(session.by_options.len() <= MAX_PREPARED);
        let long = "title,".repeat(MAX_PREPARED_BYTES);
        let line = format!(r#"{{"path":"/x","options":{{"targets":["{long}"]}}}}"#);
        session.answer(line.as_bytes(), 1, &mut Vec::new());
        assert!(
            session
                .by_options
                .keys()
                .all(|text| text.len() < long.len())
        );
    }
}
