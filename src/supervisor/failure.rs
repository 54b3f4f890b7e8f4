//! What went wrong with a record or a start, and how it reads to a consumer.

use std::time::Duration;

use crate::contract::{Envelope, ErrorCode, Reply};

use super::admission::AdmissionError;

/// A record that was handed over and got no reply.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) kind: Kind,
    /// The end of the child's stderr, escaped; may be empty.
    pub(super) words: String,
}

/// How it failed.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// No reply in time.
    Deadline(Duration),
    /// No reply in time from a child that never read the record.
    NeverRead(Duration),
    /// The child ended.
    Ended {
        /// "exited with status 3", "was ended by signal 11 (SIGSEGV)".
        how: String,
        /// A likely reason, where one is known.
        perhaps: Option<String>,
    },
    /// It closed its output and lives.
    Closed,
    /// It closed its input in the middle of a record.
    StdinClosed,
    /// It said something that is no reply.
    Protocol(String),
    /// The reply is longer than the cap.
    Oversized(usize),
    /// The supervisor ended first.
    Shutdown,
}

impl Failure {
    /// The envelope. `asked_ms` is the caller's own `timeout_ms`.
    pub(super) fn envelope(&self, asked_ms: Option<u64>) -> Envelope {
        let code = match self.kind {
            Kind::Deadline(_) | Kind::NeverRead(_) => ErrorCode::McpTimeout,
            Kind::Shutdown => ErrorCode::McpShuttingDown,
            _ => ErrorCode::McpEngineFailure,
        };
        let mut message = match &self.kind {
            Kind::Deadline(limit) => timeout_message(*limit, asked_ms),
            Kind::NeverRead(limit) => {
                timeout_message(*limit, asked_ms)
                    + "; it had not begun to read this record, which is not the cause"
            }
            Kind::Ended { how, perhaps } => {
                let perhaps = perhaps.as_ref().map(|why| format!(" ({why})"));
                format!(
                    "the engine {how} in the middle of this record{}",
                    perhaps.unwrap_or_default()
                )
            }
            Kind::Closed => "the engine closed its output in the middle of this record".to_owned(),
            Kind::StdinClosed => {
                "the engine closed its input in the middle of this record".to_owned()
            }
            Kind::Protocol(what) => format!("the engine's answer is no reply: {what}"),
            Kind::Oversized(limit) => {
                format!("the engine's reply is longer than {limit} bytes and was dropped")
            }
            Kind::Shutdown => "the server stopped before this record was done".to_owned(),
        };
        if !self.words.is_empty() {
            message.push_str("; its last words: ");
            message.push_str(&self.words);
        }
        Envelope::new(code, message)
    }

    /// Whether the document may be the cause, so that its key gets a strike.
    pub(super) fn blames_the_document(&self) -> bool {
        !matches!(self.kind, Kind::Shutdown | Kind::NeverRead(_))
    }
}

fn timeout_message(limit: Duration, asked_ms: Option<u64>) -> String {
    let limit = limit.as_millis();
    let mut message = format!(
        "no reply within {limit} ms (DECKPROBE_MCP_TIMEOUT_MS); the engine process was ended"
    );
    if let Some(asked) = asked_ms.filter(|asked| u128::from(*asked) > limit) {
        message.push_str(&format!(
            "; budget.timeout_ms asked for {asked} ms, the server's limit applied"
        ));
    }
    message
}

/// Why there is no child.
#[derive(Clone, Debug)]
pub(super) enum StartError {
    /// The engine refused these options with a reply of its own. It says nothing about the engine.
    Refused(Reply),
    /// It could not be started.
    Failed(String),
    /// Starts are held back after failures.
    HeldBack {
        /// Why the last start failed.
        reason: String,
        /// When the next trial is due.
        retry_in: Duration,
    },
    /// There was no room in time.
    NoRoom(Duration),
    /// The supervisor ends.
    ShuttingDown,
    /// No idle child, and nothing prepared to start one (internal to the pool).
    NoneIdle,
}

impl StartError {
    /// The reply for the caller.
    pub(super) fn reply(self, tool_version: &str) -> Reply {
        match self {
            Self::Refused(reply) => reply,
            other => Reply::from_envelope(&other.envelope(), tool_version),
        }
    }

    /// The same as an envelope of ours.
    pub(super) fn envelope(&self) -> Envelope {
        let message = match self {
            Self::Refused(_) => "the engine refused these options".to_owned(),
            Self::Failed(reason) => reason.clone(),
            Self::HeldBack { reason, retry_in } => format!(
                "{reason}; it failed repeatedly and is not tried again for {} ms",
                retry_in.as_millis()
            ),
            Self::NoRoom(waited) => format!(
                "no engine process became available within {} ms: earlier ones have not ended yet",
                waited.as_millis()
            ),
            Self::ShuttingDown => return AdmissionError::ShuttingDown.envelope(),
            Self::NoneIdle => "no engine process is available".to_owned(),
        };
        Envelope::new(ErrorCode::McpEngineFailure, message)
    }
}

/// Two children in a row were dead before they got the record.
pub(super) fn never_handed_over() -> Envelope {
    Envelope::new(
        ErrorCode::McpEngineFailure,
        "two engine processes in a row ended before they took this record; it was not probed",
    )
}

impl AdmissionError {
    pub(super) fn envelope(&self) -> Envelope {
        let (code, message) = match self {
            Self::Full { limit } => (
                ErrorCode::McpOverloaded,
                format!(
                    "{limit} calls wait already (DECKPROBE_MCP_MAX_QUEUE); try again in a few seconds"
                ),
            ),
            Self::WaitedTooLong { waited, depth } => (
                ErrorCode::McpOverloaded,
                format!(
                    "waited {} ms for a free engine process (DECKPROBE_MCP_QUEUE_TIMEOUT_MS), \
                     {depth} calls in the queue; try again in a few seconds",
                    waited.as_millis()
                ),
            ),
            Self::ShuttingDown => (
                ErrorCode::McpShuttingDown,
                "the server is shutting down and takes no more calls".to_owned(),
            ),
            Self::AllLost => (
                ErrorCode::McpEngineFailure,
                "every engine process is stuck and cannot be killed (perhaps on a dead network \
                 mount); none can be started until one ends"
                    .to_owned(),
            ),
        };
        Envelope::new(code, message)
    }
}
