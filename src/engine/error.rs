//! Why a probe ends without a report.

use std::fmt;
use std::io;

use crate::contract::{Envelope, ErrorCode};

/// An error of the engine. It ends one probe, never the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProbeError {
    code: ErrorCode,
    message: String,
}

pub(crate) type Result<T, E = ProbeError> = std::result::Result<T, E>;

impl ProbeError {
    /// The record or an option is wrong.
    pub(crate) fn invalid(message: impl fmt::Display) -> Self {
        Self::new(ErrorCode::InvalidRequest, message)
    }

    /// A name is unknown, or nothing that was asked for can be planned.
    pub(crate) fn unsupported_target(message: impl fmt::Display) -> Self {
        Self::new(ErrorCode::UnsupportedTarget, message)
    }

    /// The source cannot be read.
    pub(crate) fn io(what: impl fmt::Display, error: &io::Error) -> Self {
        Self::new(ErrorCode::SourceIo, format_args!("{what}: {error}"))
    }

    /// No driver takes this.
    pub(crate) fn unsupported_format(message: impl fmt::Display) -> Self {
        Self::new(ErrorCode::UnsupportedFormat, message)
    }

    /// The document is damaged or is something else.
    pub(crate) fn malformed(message: impl fmt::Display) -> Self {
        Self::new(ErrorCode::MalformedInput, message)
    }

    /// A budget was reached. Drivers pass it on: it must never be read as "part absent".
    pub(crate) fn budget(message: impl fmt::Display) -> Self {
        Self::new(ErrorCode::BudgetExceeded, message)
    }

    /// A fault of ours.
    pub(crate) fn internal(message: impl fmt::Display) -> Self {
        Self::new(ErrorCode::ParserFailure, message)
    }

    fn new(code: ErrorCode, message: impl fmt::Display) -> Self {
        Self {
            code,
            message: format!("{}{message}", prefix(code)),
        }
    }

    /// Whether a budget was reached, the clock included.
    pub(crate) fn is_budget(&self) -> bool {
        self.code == ErrorCode::BudgetExceeded
    }

    /// Whether the document is at fault, so that a driver may go on without the part.
    pub(crate) fn is_malformed(&self) -> bool {
        self.code == ErrorCode::MalformedInput
    }

    /// Whether the input is not what its name says, or nothing that is known.
    pub(crate) fn is_about_format(&self) -> bool {
        matches!(
            self.code,
            ErrorCode::MalformedInput | ErrorCode::UnsupportedFormat
        )
    }

    pub(crate) fn code(&self) -> ErrorCode {
        self.code
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The same error with more text behind it.
    pub(crate) fn with_note(mut self, note: impl fmt::Display) -> Self {
        self.message.push_str(&format!(" ({note})"));
        self
    }

    pub(crate) fn envelope(&self) -> Envelope {
        Envelope::new(self.code, self.message.clone())
    }
}

impl fmt::Display for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The words that the message of each code begins with (contract §3).
const fn prefix(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::InvalidRequest => "invalid request: ",
        ErrorCode::UnsupportedTarget => "unsupported target: ",
        ErrorCode::SourceIo => "source I/O error: ",
        ErrorCode::UnsupportedFormat => "unsupported format: ",
        ErrorCode::MalformedInput => "malformed input: ",
        ErrorCode::BudgetExceeded => "budget exceeded: ",
        ErrorCode::ParserFailure => "format parser failed: ",
        _ => "",
    }
}
