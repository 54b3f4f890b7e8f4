//! The tools: one file and one row each.
//!
//! To add a tool, write its file with a [`ToolRow`] and put the row into [`TOOLS`]. Listing, argument
//! keys, dispatch, metrics and errors follow from the row.

mod fit;
mod inline;
mod list_formats;
mod list_targets;
mod options;
mod probe;
mod probe_batch;
mod suggest;
mod table;
mod tool;

use std::time::Instant;

use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, CallToolResult, ErrorData, Tool};
use rmcp::service::RequestContext;
use serde_json::json;

use self::tool::{Call, CallError, ToolRow};
use super::arguments::{Arguments, Notes};
use super::result_encoder::ResultEncoder;
use super::services::{Services, ToolSettings};
use super::text::quoted;
use crate::telemetry::metric;

/// The tools, in the order in which clients see them.
const TOOLS: [&ToolRow; 4] = [
    &probe::TOOL,
    &probe_batch::TOOL,
    &list_formats::TOOL,
    &list_targets::TOOL,
];

/// The tools of one server, with what follows from its settings.
pub(super) struct ToolSet(Vec<Listed>);

struct Listed {
    row: &'static ToolRow,
    definition: Tool,
    accepts: Vec<&'static str>,
}

impl ToolSet {
    pub(super) fn new(settings: &ToolSettings) -> Self {
        let listed = |row: &&'static ToolRow| Listed {
            row,
            definition: row.definition(settings),
            accepts: row.accepts(settings),
        };
        Self(TOOLS.iter().map(listed).collect())
    }

    /// The definitions that clients list.
    pub(super) fn definitions(&self) -> Vec<Tool> {
        self.0.iter().map(|tool| tool.definition.clone()).collect()
    }

    /// The definition of one tool.
    pub(super) fn definition(&self, name: &str) -> Option<Tool> {
        self.find(name).map(|tool| tool.definition.clone())
    }

    /// Runs a call.
    ///
    /// # Errors
    /// `-32602` for an unknown tool or an unknown top-level argument.
    pub(super) async fn call(
        &self,
        services: &Services,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let tool = self
            .find(&request.name)
            .ok_or_else(|| self.unknown(&request.name))?;
        let call = Call {
            services,
            encoder: ResultEncoder::of(context),
            context,
        };
        let started = Instant::now();
        let notes = Notes::default();
        let arguments = Arguments::new(
            tool.row.name,
            &tool.accepts,
            request.arguments,
            notes.clone(),
        );
        let outcome = match arguments {
            Ok(arguments) => (tool.row.handler)(&call, arguments).await,
            Err(error) => Err(error.into()),
        };
        let outcome = match outcome {
            Ok(result) => Ok(notes.attach(result)),
            Err(CallError::Protocol(error)) => Err(error),
            Err(CallError::Result(envelope)) => Ok(notes.attach(call.refused(&envelope))),
        };
        count(tool.row.name, &outcome, started);
        outcome
    }

    fn find(&self, name: &str) -> Option<&Listed> {
        self.0.iter().find(|tool| tool.row.name == name)
    }

    fn unknown(&self, name: &str) -> ErrorData {
        let known: Vec<&str> = self.0.iter().map(|tool| tool.row.name).collect();
        let list = known.join(", ");
        ErrorData::invalid_params(
            format!("there is no tool {}; there are {list}", quoted(name)),
            Some(json!({"tools": known})),
        )
    }
}

fn count(tool: &'static str, outcome: &Result<CallToolResult, ErrorData>, started: Instant) {
    let kind = match outcome {
        Ok(result) if result.is_error == Some(true) => "error",
        Ok(_) => "ok",
        Err(_) => "refused",
    };
    metrics::counter!(metric::TOOL_CALLS, "tool" => tool, "outcome" => kind).increment(1);
    metrics::histogram!(metric::TOOL_CALL_SECONDS, "tool" => tool)
        .record(started.elapsed().as_secs_f64());
}
