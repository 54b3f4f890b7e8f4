//! What comes back: the engine's line, kept as it was printed.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;

use super::escape_line_breaks;
use super::{Envelope, ErrorCode};

/// Longest reply in bytes, without its line feed. The built-in engine keeps to it, and a child that
/// writes more is not read any further.
pub const MAX_REPLY_BYTES: usize = 16 << 20;

/// The outcome that a reply names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyStatus {
    /// Every requested target was satisfied.
    Ok,
    /// Some were not; the rest is usable.
    Partial,
    /// An error envelope.
    Error,
}

/// The few fields of a reply that routing needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyHead {
    /// `status`.
    pub status: ReplyStatus,
    /// `error.code`, when it is one that we know.
    pub code: Option<ErrorCode>,
    /// `error.exit_code`; 0 for replies that are no error.
    pub exit_code: u64,
}

/// Why a line is no reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    /// Not one JSON object with a `status`.
    #[error("not one JSON object with a known status: {0}")]
    NotAReply(String),
    /// It carries the name of another input.
    #[error("it answers for another input")]
    OtherInput,
}

/// One reply, verbatim. Cloning shares the text.
#[derive(Clone)]
pub struct Reply {
    json: Arc<str>,
    head: ReplyHead,
    /// Dropped with the last clone.
    _held: Option<Arc<dyn std::any::Any + Send + Sync>>,
}

impl PartialEq for Reply {
    fn eq(&self, other: &Self) -> bool {
        self.json == other.json && self.head == other.head
    }
}

impl Eq for Reply {}

impl std::fmt::Debug for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reply")
            .field("json", &self.json)
            .field("head", &self.head)
            .finish_non_exhaustive()
    }
}

impl Reply {
    /// Takes a line of an engine (without its line feed) as a reply.
    ///
    /// The text is checked to be exactly one JSON object and looked at for the fields of
    /// [`ReplyHead`] in one pass that builds no tree. `display_name` is the name that a successful
    /// reply must carry, where it is known.
    ///
    /// # Errors
    /// When the line is not a reply, or is one to another record.
    pub fn from_engine(line: &[u8], display_name: Option<&str>) -> Result<Self, ReplyError> {
        let text =
            std::str::from_utf8(line).map_err(|error| ReplyError::NotAReply(error.to_string()))?;
        if !text.starts_with('{') {
            return Err(ReplyError::NotAReply(
                "it does not begin with a brace".into(),
            ));
        }
        if nests_deeper_than(text, MAX_DEPTH) {
            return Err(ReplyError::NotAReply(format!(
                "it nests deeper than {MAX_DEPTH} levels"
            )));
        }
        let wire: Wire<'_> =
            serde_json::from_str(text).map_err(|error| ReplyError::NotAReply(error.to_string()))?;
        let named = wire
            .input
            .as_ref()
            .and_then(|input| input.display_name.as_deref());
        if let (Some(expected), Some(named)) = (display_name, named)
            && expected != named
        {
            return Err(ReplyError::OtherInput);
        }
        Ok(Self {
            json: escape_line_breaks(text).into(),
            head: wire.head()?,
            _held: None,
        })
    }

    /// A reply that we made ourselves.
    #[must_use]
    pub fn from_envelope(envelope: &Envelope, tool_version: &str) -> Self {
        Self {
            json: envelope.to_json(tool_version).into(),
            head: ReplyHead {
                status: ReplyStatus::Error,
                code: Some(envelope.code),
                exit_code: u64::from(envelope.code.exit_code()),
            },
            _held: None,
        }
    }

    /// The same reply, which drops `guard` with its last clone.
    #[must_use]
    pub fn holding(self, guard: impl std::any::Any + Send + Sync) -> Self {
        Self {
            _held: Some(Arc::new(guard)),
            ..self
        }
    }

    /// The JSON text, exactly as it was printed, without a line feed.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The fields that routing needs.
    #[must_use]
    pub fn head(&self) -> &ReplyHead {
        &self.head
    }

    /// Whether this is an error envelope, the engine's or ours.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.head.status == ReplyStatus::Error
    }

    /// The code that an error is to be treated as: its own, or the one that its exit status suggests.
    #[must_use]
    pub fn effective_code(&self) -> Option<ErrorCode> {
        self.head
            .code
            .or_else(|| ErrorCode::from_exit_code(self.head.exit_code))
    }
}

/// Deepest nesting that is taken for a reply: what JSON parsers of clients commonly accept.
const MAX_DEPTH: usize = 127;

/// Whether arrays and objects nest deeper than `limit`. The parse below skips values without
/// recursion, so it would not notice.
fn nests_deeper_than(text: &str, limit: usize) -> bool {
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    for byte in text.bytes() {
        if in_string {
            in_string = byte != b'"' || escaped;
            escaped = byte == b'\\' && !escaped;
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow)]
    status: Cow<'a, str>,
    #[serde(borrow, default)]
    error: Option<WireError<'a>>,
    #[serde(borrow, default)]
    input: Option<WireInput<'a>>,
}

#[derive(Deserialize)]
struct WireError<'a> {
    #[serde(borrow)]
    code: Cow<'a, str>,
    exit_code: u64,
}

#[derive(Deserialize)]
struct WireInput<'a> {
    #[serde(borrow, default)]
    display_name: Option<Cow<'a, str>>,
}

impl Wire<'_> {
    fn head(&self) -> Result<ReplyHead, ReplyError> {
        let no_error = |status| ReplyHead {
            status,
            code: None,
            exit_code: 0,
        };
        match (self.status.as_ref(), &self.error) {
            ("ok", None) => Ok(no_error(ReplyStatus::Ok)),
            ("partial", None) => Ok(no_error(ReplyStatus::Partial)),
            ("error", Some(error)) => Ok(ReplyHead {
                status: ReplyStatus::Error,
                code: ErrorCode::parse(&error.code),
                exit_code: error.exit_code,
            }),
            _ => Err(ReplyError::NotAReply(
                "its status and its error do not fit".into(),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_kept_byte_for_byte() {
        let line = r#"{"diagnostics":[],"n":1.10,"big":123456789012345678901234,"status":"ok"}"#;
        let reply = Reply::from_engine(line.as_bytes(), None).unwrap();
        assert_eq!(reply.json(), line);
        assert_eq!(reply.head().status, ReplyStatus::Ok);
        assert!(!reply.is_error());
    }

    #[test]
    fn errors_are_routed_by_code_with_the_exit_status_as_fallback() {
        let cases = [
            (
                r#"{"error":{"code":"SOURCE_IO","exit_code":2,"message":""},"status":"error"}"#,
                Some(ErrorCode::SourceIo),
            ),
            (
                r#"{"error":{"code":"BRAND_NEW","exit_code":4,"message":""},"status":"error"}"#,
                Some(ErrorCode::MalformedInput),
            ),
            (
                r#"{"error":{"code":"BRAND_NEW","exit_code":77,"message":""},"status":"error"}"#,
                None,
            ),
        ];
        for (line, expected) in cases {
            let reply = Reply::from_engine(line.as_bytes(), None).unwrap();
            assert!(reply.is_error());
            assert_eq!(reply.effective_code(), expected, "{line}");
        }
    }

    #[test]
    fn anything_but_one_object_with_a_status_is_no_reply() {
        let deep = format!(
            "{{\"status\":\"ok\",\"x\":{}{}}}",
            "[".repeat(10_000),
            "]".repeat(10_000)
        );
        let cases: [&[u8]; 11] = [
            b"",
            b"hello",
            b"42",
            b"[{\"status\":\"ok\"}]",
            b"{\"status\":\"ok\"} tail",
            b"\xef\xbb\xbf{\"status\":\"ok\"}",
            b"{\"status\":\"ok\",\"x\":\"\xff\"}",
            b"{\"status\":\"fine\"}",
            b"{\"status\":\"error\"}",
            b"{}",
            deep.as_bytes(),
        ];
        for line in cases {
            let shown = String::from_utf8_lossy(&line[..line.len().min(60)]);
            assert!(Reply::from_engine(line, None).is_err(), "{shown}");
        }
    }

    #[test]
    fn a_reply_that_names_another_input_is_refused() {
        let line = br#"{"input":{"display_name":"b.pdf"},"status":"ok"}"#;
        assert_eq!(
            Reply::from_engine(line, Some("a.pdf")),
            Err(ReplyError::OtherInput)
        );
        assert!(Reply::from_engine(line, Some("b.pdf")).is_ok());
        assert!(Reply::from_engine(line, None).is_ok());
    }
}
