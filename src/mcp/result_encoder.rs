//! Turns replies into results of tool calls.

use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ContentBlock};
use rmcp::service::RequestContext;
use serde_json::{Map, Value};

use super::raw_json::{JsonText, RawJson, ResultSlot};
use crate::contract::Reply;

/// Largest error envelope that gets the hint as a member, in bytes.
const LARGEST_ENVELOPE: usize = 64 * 1024;

/// How the JSON of a result reaches the client.
#[derive(Clone, Debug)]
pub(super) enum ResultEncoder {
    /// The transport writes the text into the response as it is.
    Raw(ResultSlot),
    /// The SDK prints a parsed tree.
    Value,
}

impl ResultEncoder {
    /// The way that this request's transport offers.
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        match slot(context) {
            Some(slot) => Self::Raw(slot.clone()),
            None => Self::Value,
        }
    }

    /// A good result: `json`, one object, as `structuredContent` and as one text block.
    pub(super) fn success(&self, json: JsonText) -> CallToolResult {
        self.attach(CallToolResult::success(Vec::new()), RawJson::new(json))
    }

    /// The same, not indented.
    pub(super) fn compact_success(&self, json: JsonText) -> CallToolResult {
        self.attach(CallToolResult::success(Vec::new()), RawJson::compact(json))
    }

    /// An error: the envelope as `structuredContent`, the envelope with the hint as the first text block,
    /// since some clients show only that one, and the hint as the second.
    pub(super) fn error(&self, reply: &Reply, hint: String) -> CallToolResult {
        let envelope = JsonText::from(reply);
        let text = with_hint(reply.json(), &hint).map_or_else(|| envelope.clone(), JsonText::from);
        let result = CallToolResult::error(vec![ContentBlock::text(hint)]);
        self.attach(result, RawJson::with_text(text, envelope))
    }

    fn attach(&self, mut result: CallToolResult, json: RawJson) -> CallToolResult {
        match self {
            Self::Raw(slot) => {
                slot.put(json);
                // It must be an object: for handshake clients the SDK drops anything else.
                result.structured_content = Some(Value::Object(Map::new()));
            }
            Self::Value => {
                let (text, structured) = json.into_parts();
                result.content.insert(0, ContentBlock::text(text));
                result.structured_content = structured;
            }
        }
        result
    }
}

fn slot(context: &RequestContext<RoleServer>) -> Option<&ResultSlot> {
    let own = context.extensions.get::<ResultSlot>();
    #[cfg(feature = "http")]
    let own = own.or_else(|| {
        let parts = context.extensions.get::<axum::http::request::Parts>();
        parts?.extensions.get::<ResultSlot>()
    });
    own
}

/// The envelope with the hint as `error.hint`.
fn with_hint(envelope: &str, hint: &str) -> Option<String> {
    if envelope.len() > LARGEST_ENVELOPE {
        return None;
    }
    let mut envelope: Value = serde_json::from_str(envelope).ok()?;
    let hint = hint.strip_prefix("Hint: ").unwrap_or(hint);
    envelope
        .get_mut("error")?
        .as_object_mut()?
        .insert("hint".into(), hint.into());
    Some(envelope.to_string())
}
