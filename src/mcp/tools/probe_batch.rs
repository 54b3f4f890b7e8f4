//! `probe_batch`: the same facts about many documents.

use futures_util::FutureExt;
use futures_util::stream::{self, Stream, StreamExt};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use super::super::arguments::{Arguments, invalid};
use super::super::progress::{Progress, State};
use super::super::raw_json::JsonText;
use super::options;
use super::tool::{Call, CallError, Input, ToolRow};
use crate::access::Access;
use crate::contract::{Envelope, ErrorCode, Record, Reply, ReplyStatus, View};

/// Paths of a batch that are checked before their turn.
const CHECKED_AHEAD: usize = 4;
/// Most bytes of reports in one result.
const MOST_OF_ONE: usize = 32 * 1024 * 1024;
pub(super) const TOOL: ToolRow = ToolRow {
    name: "probe_batch",
    title: "Probe many documents",
    description: |settings| {
        format!(
            "Probes up to {} documents with the same options and answers \
             {{\"reports\": [{{\"path\", \"report\"}}, …]}} in the order of the paths. A document that is \
             missing, damaged or too slow has an error envelope as its report; the others are not \
             affected. One call of this is better than many of probe.",
            settings.max_batch
        )
    },
    input: |settings| {
        let paths = json!({
            "type": "array", "items": {"type": "string", "minLength": 1},
            "minItems": 1, "maxItems": settings.max_batch,
            "description": "Paths of the documents, taken literally. No globs: expand them first.",
        });
        Input::default()
            .required("paths", paths)
            .with(options::fields(View::Values))
    },
    handler: |call, arguments| handle(call, arguments).boxed(),
};

async fn handle(call: &Call<'_>, mut arguments: Arguments) -> Result<CallToolResult, CallError> {
    let paths = read_paths(&mut arguments, call.services.settings.max_batch)?;
    let options = options::read(&mut arguments, View::Values)?;
    let records = records(call.services.access.clone(), paths.clone());
    let mut batch = call.services.supervisor.batch_stream(records, options)?;
    let progress = Progress::of(call.context);
    let version = call.services.supervisor.tool_version();
    let mut replies: Vec<Option<Reply>> = vec![None; paths.len()];
    let mut counts = BatchCounts::default();
    let mut taken = 0;
    while let Some((at, reply)) = batch.next().await {
        let reply = bounded(reply, &mut taken, &version);
        counts.count(&reply);
        progress.at(counts.state(paths.len()));
        if let Some(place) = replies.get_mut(at) {
            *place = Some(reply);
        }
    }
    progress.finish().await;
    Ok(call.encoder.success(assemble(&paths, &replies, &version)))
}

/// The records for these paths, each checked shortly before its turn.
fn records(
    access: Access,
    paths: Vec<String>,
) -> impl Stream<Item = Result<Record, Envelope>> + Send + 'static {
    let check = move |path: String| {
        let access = access.clone();
        async move { access.admit(&path).await }
    };
    stream::iter(paths).map(check).buffered(CHECKED_AHEAD)
}

fn read_paths(arguments: &mut Arguments, max_batch: usize) -> Result<Vec<String>, Envelope> {
    if !arguments.has("paths") {
        return Err(invalid("paths is missing; it accepts an array of strings"));
    }
    let paths = arguments.strings("paths", usize::MAX)?.unwrap_or_default();
    if paths.is_empty() {
        return Err(invalid(
            "paths: got an empty array; it accepts 1 path or more",
        ));
    }
    if paths.len() > max_batch {
        let got = paths.len();
        return Err(Envelope::new(
            ErrorCode::McpBatchTooLarge,
            format!("paths: got {got} paths; at most {max_batch} (DECKPROBE_MCP_MAX_BATCH)"),
        ));
    }
    Ok(paths)
}

/// The result, each report as the engine printed it.
fn assemble(paths: &[String], replies: &[Option<Reply>], version: &str) -> JsonText {
    let mut json = JsonText::default();
    json.push_str("{\"reports\":[");
    for (at, (path, reply)) in paths.iter().zip(replies).enumerate() {
        let comma = if at > 0 { "," } else { "" };
        let path = Value::String(path.clone());
        json.push_str(&format!("{comma}{{\"path\":{path},\"report\":"));
        match reply {
            Some(reply) => json.push_reply(reply),
            None => json.push_str(&unanswered().to_json(version)),
        }
        json.push_str("}");
    }
    json.push_str("]}");
    json
}

/// The reply, or an envelope in its place when the reports of the batch are too large with it. Hostile
/// documents can have reports of many megabytes, and one call may name many of them.
fn bounded(reply: Reply, taken: &mut usize, version: &str) -> Reply {
    let bytes = reply.json().len();
    if *taken + bytes <= MOST_OF_ONE {
        *taken += bytes;
        return reply;
    }
    let envelope = Envelope::new(
        ErrorCode::McpBatchTooLarge,
        format!(
            "the report has {bytes} bytes, and the reports of one batch may have {MOST_OF_ONE} \
             together; probe this document by itself"
        ),
    );
    Reply::from_envelope(&envelope, version)
}

/// Stands in for a reply that the supervisor owes; never seen, and still no hole in the result.
fn unanswered() -> Envelope {
    Envelope::new(ErrorCode::McpEngineFailure, "this record got no reply")
}

#[derive(Default)]
struct BatchCounts {
    ok: usize,
    partial: usize,
    failed: usize,
}

impl BatchCounts {
    fn count(&mut self, reply: &Reply) {
        match reply.head().status {
            ReplyStatus::Ok => self.ok += 1,
            ReplyStatus::Partial => self.partial += 1,
            ReplyStatus::Error => self.failed += 1,
        }
    }

    fn state(&self, total: usize) -> State {
        let Self {
            ok,
            partial,
            failed,
        } = self;
        let done = ok + partial + failed;
        #[allow(clippy::cast_precision_loss)]
        State {
            progress: done as f64,
            total: total as f64,
            message: format!("{done} of {total}: {ok} ok, {partial} partial, {failed} failed"),
        }
    }
}
