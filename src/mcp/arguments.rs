//! Tool arguments, checked field by field.
//!
//! An unknown top-level key is a protocol error that names the key and lists the accepted ones. A wrong
//! type or value is an `MCP_INVALID_ARGUMENT` envelope that names the field, the value and what is
//! accepted, so that a model can correct itself.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{CallToolResult, ErrorData, JsonObject};
use serde_json::{Value, json};

use super::text::{excerpt, nearest, quoted};
use crate::contract::{Envelope, ErrorCode};

/// Most unknown keys that are named in a message.
const NAMED: usize = 8;

/// Longest name of a format, in bytes.
pub(super) const LONGEST_FORMAT: usize = 32;

/// The arguments of one call. All keys are known.
#[derive(Debug)]
pub(super) struct Arguments {
    map: JsonObject,
    notes: Notes,
}

/// What was understood in another way than it was sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    fn add(&self, note: String) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(note);
    }

    /// The result with the notes in its `_meta`, where they are no part of the answer.
    pub(super) fn attach(&self, mut result: CallToolResult) -> CallToolResult {
        let notes = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        if !notes.is_empty() {
            result
                .meta
                .get_or_insert_default()
                .insert("deckprobe/reinterpreted".into(), json!(notes));
        }
        result
    }
}

impl Arguments {
    /// Takes the arguments of a call.
    ///
    /// # Errors
    /// `-32602` for a key that the tool does not have.
    pub(super) fn new(
        tool: &str,
        accepted: &[&str],
        arguments: Option<JsonObject>,
        notes: Notes,
    ) -> Result<Self, ErrorData> {
        let mut map = arguments.unwrap_or_default();
        let unknown: Vec<&String> = map
            .keys()
            .filter(|key| !accepted.contains(&key.as_str()))
            .collect();
        if unknown.is_empty() {
            map.retain(|key, value| {
                if value.is_null() {
                    notes.add(format!("{key}: null was taken as absent"));
                }
                !value.is_null()
            });
            return Ok(Self { map, notes });
        }
        let first = || unknown.iter().take(NAMED);
        let mut named: Vec<String> = first().map(|key| name_unknown(key, accepted)).collect();
        if unknown.len() > NAMED {
            named.push(format!("and {} more", unknown.len() - NAMED));
        }
        let shown: Vec<String> = first().map(|key| excerpt(key)).collect();
        let has = if accepted.is_empty() {
            "it takes no arguments".into()
        } else {
            format!("it accepts {}", accepted.join(", "))
        };
        Err(ErrorData::invalid_params(
            format!("{tool}: unknown argument {}; {has}", named.join(", ")),
            Some(json!({"unknown": shown, "accepted": accepted})),
        ))
    }

    /// A required string.
    pub(super) fn required_string(&mut self, field: &str) -> Result<String, Envelope> {
        let accepts = "a string";
        match self.map.remove(field) {
            Some(Value::String(text)) => Ok(text),
            Some(other) => Err(wrong(field, &other, accepts)),
            None => Err(invalid(format!("{field} is missing; it accepts {accepts}"))),
        }
    }

    /// A list of strings with at most `most` items.
    pub(super) fn strings(
        &mut self,
        field: &str,
        most: usize,
    ) -> Result<Option<Vec<String>>, Envelope> {
        let accepts = "an array of strings";
        let items = match self.take(field, "an array", Value::is_array) {
            None => return Ok(None),
            Some(Value::Array(items)) => items,
            Some(other) => return Err(wrong(field, &other, accepts)),
        };
        if items.len() > most {
            let got = items.len();
            return Err(invalid(format!(
                "{field}: got {got} items; it accepts at most {most}"
            )));
        }
        let strings: Result<Vec<String>, Envelope> = items
            .into_iter()
            .enumerate()
            .map(|(at, item)| match item {
                Value::String(text) => Ok(text),
                other => Err(wrong(&format!("{field}[{at}]"), &other, "a string")),
            })
            .collect();
        strings.map(Some)
    }

    /// One of a few words.
    pub(super) fn word<T>(
        &mut self,
        field: &str,
        words: &[&str],
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, Envelope> {
        self.map
            .remove(field)
            .map(|value| one_word(field, &value, words, parse))
            .transpose()
    }

    /// An object, as its members.
    pub(super) fn object(&mut self, field: &str) -> Result<Option<JsonObject>, Envelope> {
        match self.take(field, "an object", Value::is_object) {
            None => Ok(None),
            Some(Value::Object(map)) => Ok(Some(map)),
            Some(other) => Err(wrong(field, &other, "an object")),
        }
    }

    /// A whole number of at least `least`.
    pub(super) fn number(&mut self, field: &str, least: u64) -> Result<Option<usize>, Envelope> {
        let Some(value) = self.map.remove(field) else {
            return Ok(None);
        };
        let accepts = format!("a whole number of at least {least}");
        let number = if least == 0 && value == json!(0) {
            0
        } else {
            positive(field, &value).map_err(|_| wrong(field, &value, &accepts))?
        };
        if number < least {
            return Err(wrong(field, &value, &accepts));
        }
        Ok(Some(usize::try_from(number).unwrap_or(usize::MAX)))
    }

    /// Takes a word that is handled apart from the others of its field.
    pub(super) fn take_word(&mut self, field: &str, word: &str) -> bool {
        let is_it = self.map.get(field).is_some_and(|value| value == word);
        if is_it {
            self.map.remove(field);
        }
        is_it
    }

    /// A value; one of the wanted kind that was sent as JSON text is understood.
    fn take(&mut self, field: &str, kind: &str, is_kind: fn(&Value) -> bool) -> Option<Value> {
        let value = self.map.remove(field)?;
        let Value::String(text) = &value else {
            return Some(value);
        };
        match serde_json::from_str::<Value>(text) {
            Ok(parsed) if is_kind(&parsed) => {
                self.notes
                    .add(format!("{field}: JSON text was taken as {kind}"));
                Some(parsed)
            }
            _ => Some(value),
        }
    }

    /// Whether a field was given and not read yet.
    pub(super) fn has(&self, field: &str) -> bool {
        self.map.contains_key(field)
    }
}

/// One of a few words, from a value.
pub(super) fn one_word<T>(
    field: &str,
    value: &Value,
    words: &[&str],
    parse: impl Fn(&str) -> Option<T>,
) -> Result<T, Envelope> {
    value
        .as_str()
        .and_then(parse)
        .ok_or_else(|| wrong(field, value, &format!("one of {}", words.join(", "))))
}

/// A whole number of at least 1; `5.0` counts as one.
pub(super) fn positive(field: &str, value: &Value) -> Result<u64, Envelope> {
    /// Above this, floats cannot represent every integer.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let whole = value.as_u64().or_else(|| {
        let float = value.as_f64()?;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        (float.fract() == 0.0 && (0.0..EXACT).contains(&float)).then_some(float as u64)
    });
    whole
        .filter(|number| *number > 0)
        .ok_or_else(|| wrong(field, value, "a whole number of at least 1"))
}

/// `MCP_INVALID_ARGUMENT` for a value of the wrong kind.
pub(super) fn wrong(field: &str, got: &Value, accepts: &str) -> Envelope {
    invalid(format!("{field}: got {}; it accepts {accepts}", show(got)))
}

/// `MCP_INVALID_ARGUMENT` with a message.
pub(super) fn invalid(message: impl Into<String>) -> Envelope {
    Envelope::new(ErrorCode::McpInvalidArgument, message)
}

/// A format name that cannot be taken for a flag by an engine. One leading dot, as in an
/// extension, is accepted.
pub(super) fn format_name(given: &str) -> Result<String, Envelope> {
    let name = given.strip_prefix('.').unwrap_or(given);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if name.is_empty()
        || name.len() > LONGEST_FORMAT
        || name.starts_with('-')
        || !name.bytes().all(plain)
    {
        return Err(invalid(format!(
            "format: got {}; it accepts a format or file extension such as pdf, docx or pptx",
            quoted(given)
        )));
    }
    Ok(name.to_ascii_lowercase())
}

fn name_unknown(key: &str, accepted: &[&str]) -> String {
    let shown = quoted(key);
    match nearest(key, accepted) {
        Some(meant) => format!("{shown} (did you mean {meant}?)"),
        None => shown,
    }
}

fn show(value: &Value) -> String {
    let kind = match value {
        Value::Null => return "null".into(),
        Value::Bool(_) => "the boolean",
        Value::Number(_) => "the number",
        Value::String(_) => "the string",
        Value::Array(_) => "the array",
        Value::Object(_) => "the object",
    };
    format!("{kind} {}", excerpt(&value.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(value: Value) -> Arguments {
        let Value::Object(map) = value else {
            panic!("an object is needed")
        };
        Arguments {
            map,
            notes: Notes::default(),
        }
    }

    #[test]
    fn unknown_key_is_named_with_the_accepted_keys_and_the_nearest() {
        let accepted = ["path", "targets", "min_confidence"];
        let Value::Object(map) = json!({"path": "a", "Target": [], "zzz": 1}) else {
            unreachable!()
        };
        let error = Arguments::new("probe", &accepted, Some(map), Notes::default()).unwrap_err();
        assert_eq!(error.code.0, -32602);
        for part in [
            "probe: unknown argument",
            "\"Target\" (did you mean targets?)",
            "\"zzz\"",
            "path, targets, min_confidence",
        ] {
            assert!(error.message.contains(part), "{}", error.message);
        }
        assert_eq!(error.data.unwrap()["unknown"], json!(["Target", "zzz"]));
    }

    #[test]
    fn wrong_value_is_named_with_what_is_accepted() {
        let mut given = arguments(json!({
            "path": 7, "targets": ["a", null], "level": "meta", "budget": [], "view": {"a": 1}
        }));
        let words = ["header", "deep"];
        let messages = [
            given.required_string("path").unwrap_err().message,
            given.strings("targets", 9).unwrap_err().message,
            given
                .word("level", &words, |_| None::<()>)
                .unwrap_err()
                .message,
            given.object("budget").unwrap_err().message,
            given
                .word("view", &words, |_| Some(()))
                .unwrap_err()
                .message,
            given.required_string("path").unwrap_err().message,
        ];
        assert_eq!(
            messages,
            [
                "path: got the number 7; it accepts a string",
                "targets[1]: got null; it accepts a string",
                "level: got the string \"meta\"; it accepts one of header, deep",
                "budget: got the array []; it accepts an object",
                "view: got the object {\"a\":1}; it accepts one of header, deep",
                "path is missing; it accepts a string",
            ]
        );
    }

    #[test]
    fn format_name_cannot_be_a_flag() {
        for good in ["pdf", ".PPTX", "office-legacy"] {
            assert!(format_name(good).is_ok(), "{good}");
        }
        for bad in ["", ".", "-f", "--help", "a b", "a,b", "a=b", "../x", "a\n"] {
            assert!(format_name(bad).is_err(), "{bad:?}");
        }
        assert_eq!(format_name(".PPTX").unwrap(), "pptx");
    }

    #[test]
    fn only_positive_whole_numbers_are_accepted() {
        for (value, expected) in [
            (json!(1), Some(1)),
            (json!(u64::MAX), Some(u64::MAX)),
            (json!(5.0), Some(5)),
            (json!(0), None),
            (json!(-1), None),
            (json!(1.5), None),
            (json!("5"), None),
            (json!(1e300), None),
            (json!(null), None),
        ] {
            assert_eq!(positive("n", &value).ok(), expected, "{value}");
        }
    }
}
