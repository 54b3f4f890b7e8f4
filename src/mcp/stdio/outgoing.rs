//! A message as LF-terminated bytes, in chunks.

use rmcp::RoleServer;
use rmcp::model::{JsonRpcMessage, JsonRpcResponse, ServerResult};
use rmcp::service::TxJsonRpcMessage;

use crate::contract::escape_line_breaks;

use super::super::raw_json::{RawJson, ResponseChunks};

/// One message on its way out.
pub(super) enum Outgoing {
    /// The whole line.
    Line(Option<Vec<u8>>),
    /// A result with JSON that is held once and printed chunk by chunk.
    Raw(Option<ResponseChunks>),
}

impl Outgoing {
    /// Prints a message. `json` is what the handler left for its result.
    ///
    /// # Errors
    /// When a part of the message cannot be printed.
    pub(super) fn new(
        message: TxJsonRpcMessage<RoleServer>,
        json: Option<RawJson>,
    ) -> Result<Self, serde_json::Error> {
        match (message, json) {
            (
                JsonRpcMessage::Response(JsonRpcResponse {
                    id,
                    result: ServerResult::CallToolResult(result),
                    ..
                }),
                Some(json),
            ) => {
                let (id, result) = (serde_json::to_value(id)?, serde_json::to_value(result)?);
                Ok(Self::Raw(Some(ResponseChunks::new(&id, result, json)?)))
            }
            (message, _) => {
                let line = serde_json::to_string(&message)?;
                let mut line = escape_line_breaks(&line).into_owned().into_bytes();
                line.push(b'\n');
                Ok(Self::Line(Some(line)))
            }
        }
    }

    /// What it holds in memory, beside JSON that is accounted for elsewhere.
    pub(super) fn held_bytes(&self) -> usize {
        match self {
            Self::Line(line) => line.as_ref().map_or(0, Vec::len),
            Self::Raw(_) => 1,
        }
    }
}

impl Iterator for Outgoing {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        match self {
            Self::Line(line) => line.take(),
            Self::Raw(chunks) => {
                let next = chunks.as_mut()?.next();
                if next.is_none() {
                    *chunks = None;
                    return Some(b"\n".to_vec());
                }
                next
            }
        }
    }
}
