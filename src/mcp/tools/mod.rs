//! The tools, one file each: the definition that a client lists, and the call.

mod inline;
mod list_formats;
mod list_targets;
mod options;
mod probe;
mod probe_batch;

use std::sync::Arc;
use std::time::Instant;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ErrorData, JsonObject, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use super::arguments::quoted;
use super::hints::{self, Context};
use super::result_encoder::ResultEncoder;
use super::server::Shared;
use crate::config::Config;
use crate::contract::{Envelope, Reply};
use crate::telemetry::metric;
pub(super) use list_targets::format_name;
pub(super) use probe_batch::MOST_OF_ALL_KIB as BATCH_ROOM_KIB;

/// A refusal of a call before it reached the supervisor.
enum CallError {
    /// A JSON-RPC error.
    Protocol(ErrorData),
    /// An error result.
    Result(Envelope),
}

impl From<ErrorData> for CallError {
    fn from(error: ErrorData) -> Self {
        Self::Protocol(error)
    }
}

impl From<Envelope> for CallError {
    fn from(envelope: Envelope) -> Self {
        Self::Result(envelope)
    }
}

/// What every tool needs for one call.
struct Call<'a> {
    shared: &'a Shared,
    encoder: ResultEncoder,
    context: &'a RequestContext<RoleServer>,
}

impl Call<'_> {
    async fn failed(&self, reply: &Reply, document: Option<&str>) -> CallToolResult {
        let context = Context {
            document,
            max_batch: self.shared.max_batch,
        };
        self.encoder.error(reply, hints::hint(reply, context)).await
    }

    async fn refused(&self, envelope: &Envelope) -> CallToolResult {
        let reply = Reply::from_envelope(envelope, &self.shared.supervisor.tool_version());
        self.failed(&reply, None).await
    }

    /// A discovery report, or the error result that says why there is none.
    async fn report(&self, answer: &Result<Arc<str>, Reply>) -> CallToolResult {
        match answer {
            Ok(json) => self.encoder.success(json).await,
            Err(reply) => self.failed(reply, None).await,
        }
    }
}

/// The definitions, in the order in which clients see them.
pub(super) fn definitions(config: &Config) -> Vec<Tool> {
    vec![
        probe::definition(config.inline_bytes),
        probe_batch::definition(config.max_batch),
        list_formats::definition(),
        list_targets::definition(),
    ]
}

/// Runs a call.
///
/// # Errors
/// `-32602` for an unknown tool or an unknown top-level argument.
pub(super) async fn call(
    shared: &Shared,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let call = Call {
        shared,
        encoder: ResultEncoder::of(context),
        context,
    };
    let given = request.arguments;
    let started = Instant::now();
    let (name, outcome) = match request.name.as_ref() {
        probe::NAME => (probe::NAME, probe::call(&call, given).await),
        probe_batch::NAME => (probe_batch::NAME, probe_batch::call(&call, given).await),
        list_formats::NAME => (list_formats::NAME, list_formats::call(&call, given).await),
        list_targets::NAME => (list_targets::NAME, list_targets::call(&call, given).await),
        other => return Err(unknown_tool(other)),
    };
    let outcome = match outcome {
        Ok(result) => Ok(result),
        Err(CallError::Protocol(error)) => Err(error),
        Err(CallError::Result(envelope)) => Ok(call.refused(&envelope).await),
    };
    count(name, &outcome, started);
    outcome
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

/// The error for a tool that there is none of.
pub(super) fn unknown_tool(name: &str) -> ErrorData {
    let known = [
        probe::NAME,
        probe_batch::NAME,
        list_formats::NAME,
        list_targets::NAME,
    ];
    ErrorData::invalid_params(
        format!(
            "there is no tool {}; there are {}",
            quoted(name),
            known.join(", ")
        ),
        Some(json!({"tools": known})),
    )
}

/// A tool that reads and changes nothing. The output schema allows reports and error envelopes alike.
fn read_only(name: &'static str, title: &'static str, description: &str, input: Value) -> Tool {
    let hints = ToolAnnotations::from_raw(
        Some(title.into()),
        Some(true),
        Some(false),
        Some(true),
        Some(false),
    );
    Tool::new(name, description.to_owned(), object(input))
        .with_title(title)
        .with_raw_output_schema(object(json!({"type": "object"})))
        .with_annotations(hints)
}

fn object(value: Value) -> Arc<JsonObject> {
    match value {
        Value::Object(map) => Arc::new(map),
        _ => Arc::default(),
    }
}
