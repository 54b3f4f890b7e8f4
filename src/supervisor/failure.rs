//! What went wrong with a call, a record or a start, and the error envelope for it.

use std::time::Duration;

use crate::contract::{Envelope, ErrorCode, Reply};

/// A record that was handed over and got no reply.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) kind: FailureKind,
    /// The end of the child's stderr, escaped; may be empty.
    pub(super) stderr: String,
}

/// How it failed.
#[derive(Clone, Debug)]
pub(super) enum FailureKind {
    /// No reply in time.
    Deadline(Duration),
    /// No reply in time from a child that did not read a byte of the record.
    NeverRead(Duration),
    /// The child ended.
    Ended {
        /// "exited with status 3", "was ended by signal 11 (SIGSEGV)".
        how: String,
        /// A likely reason, where one is known.
        perhaps: Option<String>,
    },
    /// It closed its output and did not end.
    Closed,
    /// It closed its input in the middle of a record.
    StdinClosed,
    /// It printed something that is not a reply.
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
            FailureKind::Deadline(_) | FailureKind::NeverRead(_) => ErrorCode::McpTimeout,
            FailureKind::Shutdown => ErrorCode::McpShuttingDown,
            _ => ErrorCode::McpEngineFailure,
        };
        let mut message = match &self.kind {
            FailureKind::Deadline(limit) => timeout_message(*limit, asked_ms),
            FailureKind::NeverRead(limit) => {
                timeout_message(*limit, asked_ms)
                    + "; it had not begun to read this record, so this record is not the cause"
            }
            FailureKind::Ended { how, perhaps } => {
                let perhaps = perhaps.as_ref().map(|why| format!(" ({why})"));
                format!(
                    "the engine {how} in the middle of this record{}",
                    perhaps.unwrap_or_default()
                )
            }
            FailureKind::Closed => {
                "the engine closed its output in the middle of this record".to_owned()
            }
            FailureKind::StdinClosed => {
                "the engine closed its input in the middle of this record".to_owned()
            }
            FailureKind::Protocol(what) => format!("the engine's answer is not a reply: {what}"),
            FailureKind::Oversized(limit) => {
                format!("the engine's reply is longer than {limit} bytes and was dropped")
            }
            FailureKind::Shutdown => "the server stopped before this record was done".to_owned(),
        };
        if !self.stderr.is_empty() {
            message.push_str("; the end of its stderr: ");
            message.push_str(&self.stderr);
        }
        Envelope::new(code, message)
    }

    /// What happened, without anything that the engine printed.
    pub(super) fn summary(&self) -> String {
        match &self.kind {
            FailureKind::Deadline(limit) => format!("no reply within {} ms", limit.as_millis()),
            FailureKind::NeverRead(limit) => {
                format!("the engine read nothing for {} ms", limit.as_millis())
            }
            FailureKind::Ended { how, .. } => format!("the engine {how}"),
            FailureKind::Closed => "the engine closed its output".to_owned(),
            FailureKind::StdinClosed => "the engine closed its input".to_owned(),
            FailureKind::Protocol(_) => "the engine's answer is not a reply".to_owned(),
            FailureKind::Oversized(limit) => format!("the reply is longer than {limit} bytes"),
            FailureKind::Shutdown => "the server stopped first".to_owned(),
        }
    }

    /// Whether the document may be the cause, so that it counts towards its quarantine.
    pub(super) fn may_be_the_documents_fault(&self) -> bool {
        !matches!(self.kind, FailureKind::Shutdown | FailureKind::NeverRead(_))
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
    /// The system has no process, descriptor or memory for it now. It says nothing about the engine.
    Shortage(String),
    /// Starts are held back after failures.
    HeldBack {
        /// Why the last start failed.
        reason: String,
        /// When the next trial is due.
        retry_in: Duration,
    },
    /// The supervisor ends.
    ShuttingDown,
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
            Self::Failed(reason) | Self::Shortage(reason) => reason.clone(),
            Self::HeldBack { reason, retry_in } => format!(
                "{reason}; it failed repeatedly and is not tried again for {} ms",
                retry_in.as_millis()
            ),
            Self::ShuttingDown => return AdmissionError::ShuttingDown.envelope(),
        };
        Envelope::new(ErrorCode::McpEngineFailure, message)
    }
}

/// Two children in a row ended before they got the record.
pub(super) fn never_handed_over() -> Envelope {
    Envelope::new(
        ErrorCode::McpEngineFailure,
        "two engine processes in a row ended before they took this record; it was not probed",
    )
}

/// Why a call got no place in the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AdmissionError {
    /// The queue was full.
    Full {
        /// Places in the queue.
        limit: usize,
    },
    /// It waited as long as it may.
    WaitedTooLong {
        /// How long it waited.
        waited: Duration,
        /// How many calls waited when it gave up.
        depth: usize,
    },
    /// The supervisor is ending.
    ShuttingDown,
    /// Every place is taken by a process that cannot be killed.
    AllLost,
}

impl AdmissionError {
    /// The envelope.
    pub(super) fn envelope(&self) -> Envelope {
        let (code, message) = match self {
            Self::Full { limit } => (
                ErrorCode::McpOverloaded,
                format!(
                    "{limit} calls are waiting already (DECKPROBE_MCP_MAX_QUEUE); try again in a few seconds"
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
