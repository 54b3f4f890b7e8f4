//! `probe_batch`: the same facts about many documents.

use futures_util::FutureExt;
use futures_util::stream::{self, Stream, StreamExt};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use super::super::arguments::{Arguments, invalid};
use super::super::progress::{Progress, State};
use super::super::raw_json::JsonText;
use super::table::{Documents, table};
use super::tool::{Call, CallError, Input, ToolRow};
use super::{fit, options};
use crate::access::Access;
use crate::contract::{Envelope, ErrorCode, Record, Reply, ReplyStatus, View, escape_line_breaks};

/// Paths of a batch that are checked before their turn.
const CHECKED_AHEAD: usize = 4;
/// What an entry costs beside its path and its report, in characters.
const ENTRY: usize = 24;
/// Room for the note about what was cut, in characters.
const ROOM_FOR_NOTE: usize = 180;
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
             affected. One call of this is better than many of probe; view \"table\" costs the fewest \
             tokens.",
            settings.max_batch
        )
    },
    input: |settings| {
        let paths = json!({
            "type": "array", "items": {"type": "string", "minLength": 1},
            "minItems": 1, "maxItems": settings.max_batch,
            "description": "Paths of the documents, taken literally. No globs: expand them first.",
        });
        let offset = json!({
            "type": "integer", "minimum": 0,
            "description": "Index of the first path to answer, after an answer that was cut.",
        });
        Input::default()
            .required("paths", paths)
            .with(options::fields(View::Values))
            .optional("offset", offset)
    },
    handler: |call, arguments| handle(call, arguments).boxed(),
};

async fn handle(call: &Call<'_>, mut arguments: Arguments) -> Result<CallToolResult, CallError> {
    let mut paths = read_paths(&mut arguments, call.services.settings.max_batch)?;
    let offset = read_offset(&mut arguments, paths.len())?;
    let max_chars = options::read_max_chars(&mut arguments)?;
    let as_table = arguments.take_word("view", "table");
    let options = options::read(&mut arguments, View::Values)?;
    let targets = options.targets().to_vec();
    let total = paths.len();
    let paths = paths.split_off(offset);
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
    let unanswered = || Reply::from_envelope(&unanswered(), &version);
    let replies: Vec<Reply> = replies
        .into_iter()
        .map(|reply| reply.unwrap_or_else(unanswered))
        .collect();
    let answer = Answer {
        paths: &paths,
        replies: &replies,
        offset,
        total,
    };
    Ok(match (as_table, max_chars) {
        (true, most) => {
            let json = answer.as_table(&targets, most.unwrap_or(usize::MAX));
            call.encoder.compact_success(json)
        }
        (false, Some(most)) => call.encoder.compact_success(answer.as_reports(most)),
        (false, None) => call.encoder.success(answer.as_reports(usize::MAX)),
    })
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

fn read_offset(arguments: &mut Arguments, paths: usize) -> Result<usize, Envelope> {
    let offset = arguments.number("offset", 0)?.unwrap_or(0);
    if offset >= paths {
        return Err(invalid(format!(
            "offset: got {offset}; it accepts less than the number of paths, {paths}"
        )));
    }
    Ok(offset)
}

/// What is known when all records have ended.
struct Answer<'a> {
    paths: &'a [String],
    replies: &'a [Reply],
    /// The index of the first path in the call.
    offset: usize,
    /// How many paths the call has.
    total: usize,
}

impl Answer<'_> {
    /// Each report as the engine printed it, in at most `most` characters.
    fn as_reports(&self, most: usize) -> JsonText {
        let kept = self.fitting(most);
        let mut json = JsonText::default();
        json.push_str("{\"reports\":[");
        for (at, (path, reply)) in self.paths.iter().zip(self.replies).take(kept).enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let path = Value::String(path.clone()).to_string();
            let path = escape_line_breaks(&path);
            json.push_str(&format!("{comma}{{\"path\":{path},\"report\":"));
            // One report that is too large by itself is cut, so that every call makes progress.
            match (kept == 1)
                .then(|| fit::report(reply.json(), most))
                .flatten()
            {
                Some(cut) => json.push_str(&cut),
                None => json.push_reply(reply),
            }
            json.push_str("}");
        }
        json.push_str("]");
        if let Some(note) = self.note(kept) {
            json.push_str(&format!(",\"truncated\":{note}"));
        }
        json.push_str("}");
        json
    }

    /// One row a document, in at most `most` characters.
    fn as_table(&self, targets: &[String], most: usize) -> JsonText {
        let documents = Documents {
            paths: self.paths,
            replies: self.replies,
            targets,
        };
        let mut count = self.paths.len();
        loop {
            let mut table = table(&documents, count);
            if let Some(note) = self.note(count) {
                table["truncated"] = note;
            }
            let json = table.to_string();
            if json.len() <= most || count <= 1 {
                return JsonText::from(escape_line_breaks(&json).into_owned());
            }
            let fewer = count.saturating_mul(most) / json.len();
            count = fewer.clamp(1, count - 1);
        }
    }

    /// How many reports fit, at least one.
    fn fitting(&self, most: usize) -> usize {
        let mut length = ROOM_FOR_NOTE;
        let entries = self.paths.iter().zip(self.replies);
        let kept = entries.take_while(|(path, reply)| {
            length = length.saturating_add(path.len() + reply.json().len() + ENTRY);
            length <= most
        });
        kept.count().max(1)
    }

    /// What is missing, and how to get it.
    fn note(&self, kept: usize) -> Option<Value> {
        let next = self.offset + kept;
        (next < self.total).then(|| {
            json!({
                "returned": kept, "total": self.total, "next_offset": next,
                "how": "call again with the same paths and offset, or raise max_chars",
            })
        })
    }
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

/// Replaces a reply that the supervisor did not give. It should never be needed; the result keeps its length if it is.
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
