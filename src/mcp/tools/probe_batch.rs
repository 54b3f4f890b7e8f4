//! `probe_batch`: the same facts about many documents.

use std::fmt::Write as _;

use futures_util::FutureExt;
use futures_util::stream::{self, Stream, StreamExt};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};
use tokio::sync::SemaphorePermit;

use super::super::arguments::{Arguments, invalid};
use super::super::progress::{Progress, State};
use super::options;
use super::tool::{Call, CallError, Input, ToolRow};
use crate::access::Access;
use crate::contract::{Envelope, ErrorCode, Record, Reply, ReplyStatus, View};

/// Paths of a batch that are checked before their turn.
const CHECKED_AHEAD: usize = 4;
/// Most bytes of reports in one result. It is held several times over while it is printed.
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
    let mut replies: Vec<Option<Reply>> = vec![None; paths.len()];
    let mut counts = BatchCounts::default();
    let mut room = Room::new(call);
    while let Some((at, reply)) = batch.next().await {
        let reply = room.take(reply);
        counts.count(&reply);
        progress.at(counts.state(paths.len()));
        if let Some(place) = replies.get_mut(at) {
            *place = Some(reply);
        }
    }
    progress.finish().await;
    let version = call.services.supervisor.tool_version();
    Ok(call
        .encoder
        .success(&assemble(&paths, &replies, &version))
        .await)
}

/// The room for the reports of one batch. Hostile documents can have reports of many megabytes, and one
/// call may name many of them.
struct Room<'a> {
    call: &'a Call<'a>,
    taken: usize,
    /// Our share of what all batches may hold; given back with the batch.
    share: Vec<SemaphorePermit<'a>>,
}

impl<'a> Room<'a> {
    fn new(call: &'a Call<'a>) -> Self {
        Self {
            call,
            taken: 0,
            share: Vec::new(),
        }
    }

    /// The reply, or an envelope in its place when it finds no room.
    fn take(&mut self, reply: Reply) -> Reply {
        let bytes = reply.json().len();
        if self.taken + bytes > MOST_OF_ONE {
            return self.refuse(
                ErrorCode::McpBatchTooLarge,
                format!(
                    "the report has {bytes} bytes, and the reports of one batch may have {MOST_OF_ONE} \
                     together; probe this document by itself"
                ),
            );
        }
        let kib = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX);
        let Ok(share) = self.call.services.batch_room.try_acquire_many(kib) else {
            return self.refuse(
                ErrorCode::McpOverloaded,
                format!(
                    "the report has {bytes} bytes, for which the batches under way leave no room; try \
                     again in a few seconds"
                ),
            );
        };
        self.taken += bytes;
        self.share.push(share);
        reply
    }

    fn refuse(&self, code: ErrorCode, why: String) -> Reply {
        let version = self.call.services.supervisor.tool_version();
        Reply::from_envelope(&Envelope::new(code, why), &version)
    }
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

/// The result as JSON text, each report as the engine printed it.
fn assemble(paths: &[String], replies: &[Option<Reply>], version: &str) -> String {
    let size: usize = replies
        .iter()
        .flatten()
        .map(|reply| reply.json().len())
        .sum();
    let mut json = String::with_capacity(size + paths.len() * 64 + 16);
    json.push_str("{\"reports\":[");
    for (at, (path, reply)) in paths.iter().zip(replies).enumerate() {
        if at > 0 {
            json.push(',');
        }
        // Writing to a string cannot fail.
        let _infallible = write!(
            json,
            "{{\"path\":{},\"report\":",
            Value::String(path.clone())
        );
        match reply {
            Some(reply) => json.push_str(reply.json()),
            None => json.push_str(&unanswered().to_json(version)),
        }
        json.push('}');
    }
    json.push_str("]}");
    json
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
