//! The options that `probe` and `probe_batch` share: schema and parsing.

use serde_json::{Value, json};

use super::super::arguments::{Arguments, invalid, one_word, positive, wrong};
use super::super::text::{excerpt, nearest};
use crate::contract::{Budget, Confidence, Envelope, InvalidOption, Level, ProbeOptions, View};

/// Most targets in one call. All targets of a format together are fewer.
const MAX_TARGETS: usize = 256;

const LEVELS: &[&str] = &["header", "metadata", "deep"];
const CONFIDENCES: &[&str] = &["low", "medium", "high", "exact"];
const VIEWS: &[&str] = &["report", "values"];
const BATCH_VIEWS: &[&str] = &["report", "values", "table"];
/// Smallest answer that can be asked for, in characters.
const LEAST_CHARS: u64 = 500;
const LIMITS: &[&str] = &[
    "max_physical_bytes",
    "max_expanded_bytes",
    "max_archive_entries",
    "timeout_ms",
];

/// The shared arguments, with their schemas.
pub(super) fn fields(default_view: View) -> [(&'static str, Value); 6] {
    let limit = |what: &str| json!({"type": "integer", "minimum": 1, "description": what});
    let targets = json!({
        "type": "array",
        "items": {"type": "string", "pattern": "^[A-Za-z0-9_.@][A-Za-z0-9_.@-]*$", "maxLength": 128},
        "maxItems": MAX_TARGETS,
        "description": "What to find out: presets (@summary, @security, @structure, @assets, @quality, \
            @all), short names (slide_count) or full names (powerpoint.slide_count). list_targets lists \
            the names of a format. Default: the format's @default set.",
    });
    let level = json!({
        "type": "string", "enum": LEVELS, "default": "metadata",
        "description": "How deep to look: header (identity), metadata (properties and cheap \
            structure), deep (everything, slower).",
    });
    let min_confidence = json!({
        "type": "string", "enum": CONFIDENCES, "default": "high",
        "description": "Weakest evidence that counts. Results below it are listed as unresolved.",
    });
    let (views, table) = match default_view {
        View::Values => (BATCH_VIEWS, " table: one row a document, fewest tokens."),
        _ => (VIEWS, ""),
    };
    let view = json!({
        "type": "string", "enum": views, "default": default_view.as_str(),
        "description": format!(
            "report: values with evidence, confidence and cost. values: target and value.{table}"
        ),
    });
    let max_chars = json!({
        "type": "integer", "minimum": LEAST_CHARS,
        "description": "Cuts the answer at a whole value and says how to get the rest. Default: no limit.",
    });
    let budget = json!({
        "type": "object",
        "description": "Limits of the engine for one document; default: those of the level.",
        "properties": {
            "max_physical_bytes": limit("Most bytes read from the file."),
            "max_expanded_bytes": limit("Most bytes after decompression."),
            "max_archive_entries": limit("Most entries in an archive."),
            "timeout_ms": limit("Most milliseconds, checked by the engine itself. The server's own \
                deadline stands above it."),
        },
    });
    [
        ("targets", targets),
        ("level", level),
        ("min_confidence", min_confidence),
        ("view", view),
        ("budget", budget),
        ("max_chars", max_chars),
    ]
}

/// Reads the shared options.
pub(super) fn read(
    arguments: &mut Arguments,
    default_view: View,
) -> Result<ProbeOptions, Envelope> {
    let targets = arguments.strings("targets", MAX_TARGETS)?;
    let level = arguments.word("level", LEVELS, |word| word.parse::<Level>().ok())?;
    let confidence = arguments.word("min_confidence", CONFIDENCES, parse_confidence)?;
    let views = match default_view {
        View::Values => BATCH_VIEWS,
        _ => VIEWS,
    };
    // The engine's command line accepts more words than this surface.
    let view = arguments.word("view", views, |word| match word {
        "report" => Some(View::Report),
        "values" => Some(View::Values),
        _ => None,
    })?;
    let budget = arguments.object("budget")?.unwrap_or_default();
    ProbeOptions::new()
        .with_targets(targets.unwrap_or_default())
        .map_err(refused)
        .map(|options| {
            options
                .with_level(level.unwrap_or_default())
                .with_min_confidence(confidence.unwrap_or_default())
                .with_view(view.unwrap_or(default_view))
        })
        .and_then(|options| Ok(options.with_budget(read_budget(&budget)?)))
}

/// Reads `max_chars`.
pub(super) fn read_max_chars(arguments: &mut Arguments) -> Result<Option<usize>, Envelope> {
    arguments.number("max_chars", LEAST_CHARS)
}

/// Reads `target_confidence`, which only `probe` has.
pub(super) fn read_target_confidence(
    arguments: &mut Arguments,
    options: ProbeOptions,
) -> Result<ProbeOptions, Envelope> {
    let Some(map) = arguments.object("target_confidence")? else {
        return Ok(options);
    };
    if map.len() > MAX_TARGETS {
        let got = map.len();
        return Err(invalid(format!(
            "target_confidence: got {got} members; it accepts at most {MAX_TARGETS}"
        )));
    }
    let pairs: Result<Vec<(String, Confidence)>, Envelope> = map
        .into_iter()
        .map(|(target, value)| {
            let field = format!("target_confidence.{}", excerpt(&target));
            let word = one_word(&field, &value, CONFIDENCES, parse_confidence)?;
            Ok((target, word))
        })
        .collect();
    options.with_target_confidence(pairs?).map_err(refused)
}

/// The schema of `target_confidence`.
pub(super) fn target_confidence_schema() -> Value {
    json!({
        "type": "object",
        // One target represents all: hosts refuse an object without properties.
        "properties": {"page_count": {"type": "string", "enum": CONFIDENCES}},
        "description": "Weakest evidence for single targets: any requested target name, with low, medium, \
            high or exact.",
    })
}

fn parse_confidence(word: &str) -> Option<Confidence> {
    word.parse().ok()
}

fn read_budget(members: &serde_json::Map<String, Value>) -> Result<Budget, Envelope> {
    let mut budget = Budget::default();
    for (key, value) in members.iter().filter(|(_, value)| !value.is_null()) {
        let field = format!("budget.{}", excerpt(key));
        let slot = match key.as_str() {
            "max_physical_bytes" => &mut budget.max_physical_bytes,
            "max_expanded_bytes" => &mut budget.max_expanded_bytes,
            "max_archive_entries" => &mut budget.max_archive_entries,
            "timeout_ms" => &mut budget.timeout_ms,
            _ => return Err(unknown_limit(&field, key, value)),
        };
        *slot = Some(positive(&field, value)?);
    }
    Ok(budget)
}

fn unknown_limit(field: &str, key: &str, value: &Value) -> Envelope {
    let accepts = format!("only {} in budget", LIMITS.join(", "));
    let mut envelope = wrong(field, value, &accepts);
    if let Some(meant) = nearest(key, LIMITS) {
        envelope
            .message
            .push_str(&format!(" (did you mean {meant}?)"));
    }
    envelope
}

fn refused(option: InvalidOption) -> Envelope {
    invalid(option.to_string())
}
