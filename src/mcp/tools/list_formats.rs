//! `list_formats`: what the engine can read.

use rmcp::model::{CallToolResult, JsonObject, Tool};
use serde_json::json;

use super::super::arguments::Arguments;
use super::{Call, CallError, read_only};
use crate::supervisor::Introspection;

pub(super) const NAME: &str = "list_formats";

pub(super) fn definition() -> Tool {
    read_only(
        NAME,
        "List formats",
        "Lists the document formats that can be probed, by driver and file extension. The answer never \
         changes while the server runs.",
        json!({"type": "object", "additionalProperties": false}),
    )
}

pub(super) async fn call(
    call: &Call<'_>,
    given: Option<JsonObject>,
) -> Result<CallToolResult, CallError> {
    Arguments::new(NAME, &[], given)?;
    let answer = call
        .shared
        .supervisor
        .introspect(&Introspection::Formats)
        .await;
    Ok(call.report(&answer).await)
}
