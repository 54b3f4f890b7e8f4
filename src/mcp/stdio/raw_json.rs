//! Prints a reply with an engine's JSON in it, byte for byte.
//!
//! The SDK keeps `structuredContent` as a parsed tree, which would lose key order, spellings of
//! numbers and time. So a handler puts the text under a private key of the result's `_meta`, and this
//! module writes the envelope by hand with the text in place.

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{CallToolResult, JsonRpcMessage, JsonRpcResponse, RequestId, ServerResult};
use rmcp::service::TxJsonRpcMessage;
use serde_json::Value;

use super::in_flight::InFlight;

/// The private key under which a handler hands over text for `structuredContent`. Never on the wire.
pub const RAW_JSON_KEY: &str = "deckprobe.internal/structured-content";

/// Marks a request whose transport can raw_json; without it a handler must give a parsed tree. Carries
/// what is in flight, for handlers that make large replies.
#[derive(Clone, Debug)]
pub struct RawJsonTransport(pub Arc<InFlight>);

/// A message as one LF-terminated line, and the id that it answers.
pub(super) fn render(
    message: TxJsonRpcMessage<RoleServer>,
) -> Result<(Vec<u8>, Option<RequestId>), serde_json::Error> {
    let answers = match &message {
        JsonRpcMessage::Response(response) => Some(response.id.clone()),
        JsonRpcMessage::Error(error) => error.id.clone(),
        _ => None,
    };
    let mut line = Vec::with_capacity(512);
    match message {
        JsonRpcMessage::Response(JsonRpcResponse {
            id,
            result: ServerResult::CallToolResult(mut result),
            ..
        }) => match take_raw_json(&mut result) {
            Some(text) => write_with_raw_json(&id, &result, &text, &mut line)?,
            None => serde_json::to_writer(
                &mut line,
                &TxJsonRpcMessage::<RoleServer>::response(result.into(), id),
            )?,
        },
        other => serde_json::to_writer(&mut line, &other)?,
    }
    line.push(b'\n');
    Ok((line, answers))
}

fn take_raw_json(result: &mut CallToolResult) -> Option<String> {
    let meta = result.meta.as_mut()?;
    let text = match meta.remove(RAW_JSON_KEY)? {
        Value::String(text) => text,
        _ => return None,
    };
    if meta.is_empty() {
        result.meta = None;
    }
    Some(text)
}

fn write_with_raw_json(
    id: &RequestId,
    result: &CallToolResult,
    text: &str,
    line: &mut Vec<u8>,
) -> Result<(), serde_json::Error> {
    line.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    serde_json::to_writer(&mut *line, id)?;
    line.extend_from_slice(b",\"result\":{");
    if let Some(kind) = &result.result_type {
        line.extend_from_slice(b"\"resultType\":");
        serde_json::to_writer(&mut *line, kind)?;
        line.push(b',');
    }
    line.extend_from_slice(b"\"content\":");
    serde_json::to_writer(&mut *line, &result.content)?;
    line.extend_from_slice(b",\"structuredContent\":");
    let from = line.len();
    line.extend_from_slice(text.as_bytes());
    // Raw line breaks can only be white space between JSON tokens; they would break our framing.
    for byte in &mut line[from..] {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    if let Some(is_error) = result.is_error {
        line.extend_from_slice(if is_error {
            b",\"isError\":true"
        } else {
            b",\"isError\":false"
        });
    }
    if let Some(meta) = &result.meta {
        line.extend_from_slice(b",\"_meta\":");
        serde_json::to_writer(&mut *line, meta)?;
    }
    line.extend_from_slice(b"}}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::ContentBlock;

    fn reply(text: &str, is_error: bool) -> CallToolResult {
        let mut result = if is_error {
            CallToolResult::error(vec![ContentBlock::text("t")])
        } else {
            CallToolResult::success(vec![ContentBlock::text("t")])
        };
        result
            .meta
            .get_or_insert_default()
            .insert(RAW_JSON_KEY.into(), Value::String(text.into()));
        result
    }

    #[test]
    fn json_is_in_the_reply_byte_for_byte() {
        let text = r#"{"b":1.10,"a":1e5,"n":123456789012345678901234,"s":"\u00e9\/"}"#;
        let message = TxJsonRpcMessage::<RoleServer>::response(
            reply(text, false).into(),
            RequestId::String("q\"".into()),
        );
        let (line, id) = render(message).unwrap();
        let line = String::from_utf8(line).unwrap();
        assert!(line.contains(&format!("\"structuredContent\":{text},")));
        assert!(!line.contains("deckprobe.internal") && !line.contains("_meta"));
        assert_eq!(id, Some(RequestId::String("q\"".into())));
    }

    #[test]
    fn raw_reply_equals_the_serialized_one() {
        let value = serde_json::json!({"error":{"code":"X"},"status":"error"});
        for is_error in [false, true] {
            let mut plain = reply("", is_error);
            plain.meta = None;
            plain.structured_content = Some(value.clone());
            let print = |result: CallToolResult| {
                let id = RequestId::Number(3);
                let message = TxJsonRpcMessage::<RoleServer>::response(result.into(), id);
                let (line, _) = render(message).unwrap();
                serde_json::from_slice::<Value>(&line).unwrap()
            };
            let broken_over_lines = value.to_string().replace(',', ",\r\n");
            assert_eq!(print(plain), print(reply(&broken_over_lines, is_error)));
        }
    }
}
