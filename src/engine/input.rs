//! From the input of a record to a source (contract §1.4).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::error::{ProbeError, Result};
use super::source::{Source, SourceKind};
use crate::contract::{Input, Limits, RecordError};

/// Opens the file or decodes the bytes.
///
/// # Errors
/// As [`Source::open`] and [`Source::bytes`]; `INVALID_REQUEST` for text that is not base64.
pub(crate) fn open<S: AsRef<str>>(input: &Input<S>, limits: Limits) -> Result<Source> {
    match input {
        Input::Path { path, name } => {
            Source::open(path.as_ref(), name.as_ref().map(AsRef::as_ref), limits)
        }
        Input::Bytes { name, data_base64 } => Source::bytes(
            name.as_ref(),
            decode(data_base64.as_ref(), limits)?,
            SourceKind::JsonlBytes,
            limits,
        ),
    }
}

/// The error for the line with this number, which is not a record.
pub(crate) fn refused(error: &RecordError, number: u64) -> ProbeError {
    match error {
        RecordError::Json(error) => {
            ProbeError::invalid(format_args!("JSONL line {number} is invalid: {error}"))
        }
        RecordError::Members => ProbeError::invalid(error),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Budget, Level, Record};

    fn source(line: &str) -> Result<Source> {
        let (record, _) = Record::parse(line).map_err(|error| refused(&error, 7))?;
        open(record.input(), Limits::of(Level::Header))
    }

    #[test]
    fn a_line_that_is_not_json_is_refused_with_its_number_and_one_without_a_document_without() {
        for (line, message) in [
            ("{", "invalid request: JSONL line 7 is invalid: EOF"),
            ("{}", "invalid request: a record needs a path"),
        ] {
            let refused = source(line).unwrap_err();
            assert!(refused.message().starts_with(message), "{refused}");
        }
    }

    #[test]
    fn a_record_names_the_file_or_brings_the_bytes() {
        let bytes = source(r#"{"name":"a.pdf","base64":"QUI="}"#).unwrap();
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
                match open(Record::parse(&line).unwrap().0.input(), limits) {
                    Ok(source) => assert!(source.size() == size && size <= allowed),
                    Err(refused) => assert!(refused.is_budget() && size > allowed, "{refused}"),
                }
            }
        }
    }
}
