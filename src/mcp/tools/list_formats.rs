//! `list_formats`: what the engine can read.

use futures_util::FutureExt;
use rmcp::model::CallToolResult;

use super::super::arguments::Arguments;
use super::tool::{Call, CallError, Input, ToolRow};
use crate::supervisor::Introspection;

pub(super) const TOOL: ToolRow = ToolRow {
    name: "list_formats",
    title: "List formats",
    description: |_| {
        "Lists the document formats that can be probed, by driver and file extension. The answer never \
         changes while the server runs."
            .into()
    },
    input: |_| Input::default(),
    handler: |call, arguments| handle(call, arguments).boxed(),
};

async fn handle(call: &Call<'_>, _arguments: Arguments) -> Result<CallToolResult, CallError> {
    let supervisor = &call.services.supervisor;
    let answer = supervisor.introspect(&Introspection::Formats).await;
    Ok(call.report(&answer))
}
