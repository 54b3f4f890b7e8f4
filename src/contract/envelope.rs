//! The one error grammar: every failure that a consumer can see has this shape.

use std::fmt;

use super::escape_line_breaks;
use serde::Serialize;

use super::SCHEMA_VERSION;

/// Every error code: the engine's eight, and ours, which begin with `MCP_`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// The command line does not parse.
    CliSyntax,
    /// The record or an option is wrong.
    InvalidRequest,
    /// An unknown target, or none that can be planned.
    UnsupportedTarget,
    /// The source cannot be read.
    SourceIo,
    /// No driver for this extension.
    UnsupportedFormat,
    /// The document is damaged or is something else.
    MalformedInput,
    /// One of the four budgets was reached.
    BudgetExceeded,
    /// A fault inside the engine.
    ParserFailure,
    /// An argument has the wrong type, range or form.
    McpInvalidArgument,
    /// The path does not exist.
    McpPathNotFound,
    /// The path is no regular file.
    McpNotAFile,
    /// The path exists and cannot be opened.
    McpPathUnreadable,
    /// The path is outside the allow-list.
    McpPathOutsideRoots,
    /// Too many paths in one batch.
    McpBatchTooLarge,
    /// A record missed its deadline.
    McpTimeout,
    /// The engine process ended, broke the protocol or could not start.
    McpEngineFailure,
    /// The queue is full, or a call waited too long in it.
    McpOverloaded,
    /// The server is draining.
    McpShuttingDown,
}

impl ErrorCode {
    /// All codes, the engine's first.
    pub const ALL: [Self; 18] = [
        Self::CliSyntax,
        Self::InvalidRequest,
        Self::UnsupportedTarget,
        Self::SourceIo,
        Self::UnsupportedFormat,
        Self::MalformedInput,
        Self::BudgetExceeded,
        Self::ParserFailure,
        Self::McpInvalidArgument,
        Self::McpPathNotFound,
        Self::McpNotAFile,
        Self::McpPathUnreadable,
        Self::McpPathOutsideRoots,
        Self::McpBatchTooLarge,
        Self::McpTimeout,
        Self::McpEngineFailure,
        Self::McpOverloaded,
        Self::McpShuttingDown,
    ];

    /// The code as printed in `error.code`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CliSyntax => "CLI_SYNTAX",
            Self::InvalidRequest => "INVALID_REQUEST",
            Self::UnsupportedTarget => "UNSUPPORTED_TARGET",
            Self::SourceIo => "SOURCE_IO",
            Self::UnsupportedFormat => "UNSUPPORTED_FORMAT",
            Self::MalformedInput => "MALFORMED_INPUT",
            Self::BudgetExceeded => "BUDGET_EXCEEDED",
            Self::ParserFailure => "PARSER_FAILURE",
            Self::McpInvalidArgument => "MCP_INVALID_ARGUMENT",
            Self::McpPathNotFound => "MCP_PATH_NOT_FOUND",
            Self::McpNotAFile => "MCP_NOT_A_FILE",
            Self::McpPathUnreadable => "MCP_PATH_UNREADABLE",
            Self::McpPathOutsideRoots => "MCP_PATH_OUTSIDE_ROOTS",
            Self::McpBatchTooLarge => "MCP_BATCH_TOO_LARGE",
            Self::McpTimeout => "MCP_TIMEOUT",
            Self::McpEngineFailure => "MCP_ENGINE_FAILURE",
            Self::McpOverloaded => "MCP_OVERLOADED",
            Self::McpShuttingDown => "MCP_SHUTTING_DOWN",
        }
    }

    /// The exit status that stands beside the code (contract §1.6; for `MCP_` codes the status of
    /// the nearest kind).
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::InvalidRequest
            | Self::UnsupportedTarget
            | Self::McpInvalidArgument
            | Self::McpBatchTooLarge => 1,
            Self::CliSyntax
            | Self::SourceIo
            | Self::McpPathNotFound
            | Self::McpNotAFile
            | Self::McpPathUnreadable
            | Self::McpPathOutsideRoots => 2,
            Self::UnsupportedFormat => 3,
            Self::MalformedInput
            | Self::BudgetExceeded
            | Self::McpTimeout
            | Self::McpOverloaded => 4,
            Self::ParserFailure | Self::McpEngineFailure | Self::McpShuttingDown => 6,
        }
    }

    /// Finds the code by its text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.as_str() == text)
    }

    /// The code that an exit status alone suggests, for replies whose code is not known to us.
    #[must_use]
    pub const fn from_exit_code(status: u64) -> Option<Self> {
        match status {
            1 => Some(Self::InvalidRequest),
            2 => Some(Self::SourceIo),
            3 => Some(Self::UnsupportedFormat),
            4 => Some(Self::MalformedInput),
            6 => Some(Self::ParserFailure),
            _ => None,
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An error on its way to a consumer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// What kind of failure it is.
    pub code: ErrorCode,
    /// One sentence for a person or a model: what happened and what to do.
    pub message: String,
}

impl Envelope {
    /// An envelope with the exit status that belongs to the code.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// The envelope as one line of JSON, keys sorted as the engine sorts them, without line feed.
    #[must_use]
    pub fn to_json(&self, tool_version: &str) -> String {
        #[derive(Serialize)]
        struct Wire<'a> {
            error: Inner<'a>,
            schema_version: u32,
            status: &'static str,
            tool_version: &'a str,
        }
        #[derive(Serialize)]
        struct Inner<'a> {
            code: &'static str,
            exit_code: u8,
            message: &'a str,
        }
        let wire = Wire {
            error: Inner {
                code: self.code.as_str(),
                exit_code: self.code.exit_code(),
                message: &self.message,
            },
            schema_version: SCHEMA_VERSION,
            status: "error",
            tool_version,
        };
        // Strings and small integers always serialize.
        let json = serde_json::to_string(&wire).unwrap_or_default();
        escape_line_breaks(&json).into_owned()
    }
}

impl fmt::Display for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for Envelope {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_envelope_prints_like_the_engines_own() {
        let envelope = Envelope::new(ErrorCode::McpTimeout, "no \"reply\"\nin time");
        assert_eq!(
            envelope.to_json("2.4.0"),
            r#"{"error":{"code":"MCP_TIMEOUT","exit_code":4,"message":"no \"reply\"\nin time"},"schema_version":2,"status":"error","tool_version":"2.4.0"}"#
        );
    }

    #[test]
    fn every_code_is_found_by_its_own_text_and_ours_begin_with_mcp() {
        for (index, code) in ErrorCode::ALL.into_iter().enumerate() {
            assert_eq!(ErrorCode::parse(code.as_str()), Some(code));
            assert_eq!(code.as_str().starts_with("MCP_"), index >= 8, "{code}");
            assert!(
                (1..=6).contains(&code.exit_code()) && code.exit_code() != 5,
                "{code}"
            );
        }
    }
}
