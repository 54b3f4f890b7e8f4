//! The row that describes a tool, and what its handler works with.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ErrorData, JsonObject, Tool, ToolAnnotations};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use super::super::arguments::Arguments;
use super::super::hints::{self, Context};
use super::super::result_encoder::ResultEncoder;
use super::super::services::{Services, ToolSettings};
use crate::contract::{Envelope, Reply};

/// One tool. Everything that the server knows about it is here.
pub(in crate::mcp) struct ToolRow {
    pub(in crate::mcp) name: &'static str,
    pub(super) title: &'static str,
    pub(super) description: fn(&ToolSettings) -> String,
    pub(super) input: fn(&ToolSettings) -> Input,
    pub(super) handler: Handler,
}

/// Runs a call whose argument keys have been checked.
pub(super) type Handler =
    for<'a> fn(&'a Call<'a>, Arguments) -> BoxFuture<'a, Result<CallToolResult, CallError>>;

impl ToolRow {
    /// The definition that clients list. Every tool of ours reads and changes nothing. The output
    /// schema allows reports and error envelopes alike.
    pub(super) fn definition(&self, settings: &ToolSettings) -> Tool {
        let hints = ToolAnnotations::from_raw(
            Some(self.title.into()),
            Some(true),
            Some(false),
            Some(true),
            Some(false),
        );
        let input = (self.input)(settings).schema();
        Tool::new(self.name, (self.description)(settings), input)
            .with_title(self.title)
            .with_raw_output_schema(object(json!({"type": "object"})))
            .with_annotations(hints)
    }

    /// The arguments that it accepts.
    pub(super) fn accepts(&self, settings: &ToolSettings) -> Vec<&'static str> {
        (self.input)(settings).names
    }
}

/// The arguments of a tool, in the order in which messages name them.
#[derive(Default)]
pub(super) struct Input {
    names: Vec<&'static str>,
    properties: JsonObject,
    required: Vec<&'static str>,
}

impl Input {
    pub(super) fn required(mut self, name: &'static str, schema: Value) -> Self {
        self.required.push(name);
        self.optional(name, schema)
    }

    pub(super) fn optional(mut self, name: &'static str, schema: Value) -> Self {
        self.names.push(name);
        self.properties.insert(name.into(), schema);
        self
    }

    /// Several optional arguments.
    pub(super) fn with(self, rows: impl IntoIterator<Item = (&'static str, Value)>) -> Self {
        rows.into_iter()
            .fold(self, |input, (name, schema)| input.optional(name, schema))
    }

    fn schema(self) -> Arc<JsonObject> {
        // `properties` is always there and `additionalProperties` never: the converters of common hosts
        // fail on the opposite. Unknown keys are refused all the same.
        let mut schema = json!({"type": "object", "properties": self.properties});
        if !self.required.is_empty() {
            schema["required"] = json!(self.required);
        }
        object(schema)
    }
}

fn object(value: Value) -> Arc<JsonObject> {
    match value {
        Value::Object(map) => Arc::new(map),
        _ => Arc::default(),
    }
}

/// Why a call got no result of the supervisor.
pub(super) enum CallError {
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

/// One call, as its handler sees it.
pub(super) struct Call<'a> {
    pub(super) services: &'a Services,
    pub(super) encoder: ResultEncoder,
    pub(super) context: &'a RequestContext<RoleServer>,
}

impl Call<'_> {
    /// The result for an error reply, with a hint that fits the document and the targets.
    pub(super) fn failed(&self, reply: &Reply, context: Context<'_>) -> CallToolResult {
        let max_batch = self.services.settings.max_batch;
        let context = Context {
            max_batch,
            ..context
        };
        self.encoder.error(reply, hints::hint(reply, context))
    }

    /// The result for a call that was refused before anything was probed.
    pub(super) fn refused(&self, envelope: &Envelope) -> CallToolResult {
        let reply = Reply::from_envelope(envelope, &self.services.supervisor.tool_version());
        self.failed(&reply, Context::default())
    }

    /// An introspection report, or the error result that says why there is none.
    pub(super) fn report(&self, answer: &Result<Arc<str>, Reply>) -> CallToolResult {
        match answer {
            Ok(json) => self.encoder.success(json.into()),
            Err(reply) => self.failed(reply, Context::default()),
        }
    }
}
