//! What came back from below → the result of a tool call.

use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ContentBlock, RequestId};
use rmcp::service::RequestContext;
use serde_json::Value;

use super::stdio::{RAW_JSON_KEY, RawJsonTransport};
use crate::contract::{Reply, indent};

/// Below this many bytes the text block is indented, for people; above it would only cost.
const INDENT_BELOW: usize = 8 * 1024;

/// How the JSON of a result reaches the client.
#[derive(Clone, Debug)]
pub(super) enum ResultEncoder {
    /// The transport puts the text into the reply as it is.
    RawJson(RawJsonTransport, RequestId),
    /// The SDK prints a parsed tree.
    Value,
}

impl ResultEncoder {
    /// The way that this request's transport offers.
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        match context.extensions.get::<RawJsonTransport>() {
            Some(raw_json) => Self::RawJson(raw_json.clone(), context.id.clone()),
            None => Self::Value,
        }
    }

    /// A good result: the JSON as `structuredContent` and as one text block. `json` is one JSON
    /// object.
    pub(super) async fn success(&self, json: &str) -> CallToolResult {
        self.reserve().await;
        let result = CallToolResult::success(vec![text_block(json)]);
        self.attach(result, json)
    }

    /// An error: the envelope as `structuredContent` and as a text block, then the hint.
    pub(super) async fn error(&self, reply: &Reply, hint: String) -> CallToolResult {
        self.reserve().await;
        let blocks = vec![text_block(reply.json()), ContentBlock::text(hint)];
        self.attach(CallToolResult::error(blocks), reply.json())
    }

    /// Waits for a place among the replies that are being made or written, before memory is spent on
    /// one: a client that does not read holds up its own calls only.
    async fn reserve(&self) {
        if let Self::RawJson(RawJsonTransport(in_flight), id) = self {
            in_flight.reserve(id).await;
        }
    }

    fn attach(&self, mut result: CallToolResult, json: &str) -> CallToolResult {
        match self {
            Self::RawJson(..) => {
                // Something that is an object: handshake peers lose anything else before our
                // transport sees it.
                result.structured_content = Some(Value::Object(serde_json::Map::new()));
                result
                    .meta
                    .get_or_insert_default()
                    .insert(RAW_JSON_KEY.into(), Value::String(json.to_owned()));
            }
            // A checked reply always parses; if it did not, the text block still holds it.
            Self::Value => result.structured_content = serde_json::from_str(json).ok(),
        }
        result
    }
}

fn text_block(json: &str) -> ContentBlock {
    if json.len() < INDENT_BELOW {
        ContentBlock::text(indent(json))
    } else {
        ContentBlock::text(json)
    }
}
