//! `list_targets`: the target names of one format.

use std::sync::Arc;

use futures_util::FutureExt;
use rmcp::model::CallToolResult;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::super::arguments::{Arguments, LONGEST_FORMAT, format_name};
use super::tool::{Call, CallError, Input, ToolRow};
use crate::contract::{Envelope, ErrorCode, Reply};
use crate::supervisor::Introspection;

const DETAILS: &[&str] = &["compact", "full"];

pub(super) const TOOL: ToolRow = ToolRow {
    name: "list_targets",
    title: "List targets of a format",
    description: |_| {
        "Lists the target names that probe accepts for one format, with type, needed level and the presets \
         that contain them. Call this instead of guessing a name. compact has what is needed to name a \
         target; full is the engine's whole report, about three times as large."
            .into()
    },
    input: |_| {
        let format = json!({
            "type": "string", "minLength": 1, "maxLength": LONGEST_FORMAT,
            "description": "A format or file extension, such as pdf, docx, xlsx, pptx, key.",
        });
        let detail = json!({"type": "string", "enum": DETAILS, "default": "compact"});
        Input::default()
            .required("format", format)
            .optional("detail", detail)
    },
    handler: |call, arguments| handle(call, arguments).boxed(),
};

async fn handle(call: &Call<'_>, mut arguments: Arguments) -> Result<CallToolResult, CallError> {
    let format = format_name(&arguments.required_string("format")?)?;
    let full = arguments
        .word("detail", DETAILS, |word| match word {
            "compact" => Some(false),
            "full" => Some(true),
            _ => None,
        })?
        .unwrap_or(false);
    let supervisor = &call.services.supervisor;
    let mut answer = supervisor.introspect(&Introspection::Targets(format)).await;
    if !full {
        answer = answer.and_then(|report| {
            compact(&report)
                .map_err(|envelope| Reply::from_envelope(&envelope, &supervisor.tool_version()))
        });
    }
    Ok(call.report(&answer))
}

#[derive(Deserialize)]
struct Full<'a> {
    #[serde(borrow)]
    driver: &'a RawValue,
    #[serde(borrow)]
    profile: &'a RawValue,
    #[serde(borrow)]
    targets: Vec<FullTarget<'a>>,
}

#[derive(Deserialize)]
struct FullTarget<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    aliases: &'a RawValue,
    #[serde(borrow)]
    value_type: &'a RawValue,
    #[serde(borrow)]
    min_level: &'a RawValue,
    #[serde(borrow)]
    selectors: &'a RawValue,
    applicable: bool,
}

#[derive(Serialize)]
struct Compact<'a> {
    detail: &'static str,
    driver: &'a RawValue,
    profile: &'a RawValue,
    targets: Vec<CompactTarget<'a>>,
}

#[derive(Serialize)]
struct CompactTarget<'a> {
    id: &'a RawValue,
    aliases: &'a RawValue,
    value_type: &'a RawValue,
    min_level: &'a RawValue,
    selectors: &'a RawValue,
    applicable: bool,
}

/// The part of the engine's report that is needed to name a target.
fn compact(report: &str) -> Result<Arc<str>, Envelope> {
    let strange = |error: serde_json::Error| {
        Envelope::new(
            ErrorCode::McpEngineFailure,
            format!(
                "the engine's targets report is not of the known shape ({error}); ask for detail full"
            ),
        )
    };
    let full: Full<'_> = serde_json::from_str(report).map_err(strange)?;
    let targets = full
        .targets
        .into_iter()
        .map(|target| CompactTarget {
            id: target.id,
            aliases: target.aliases,
            value_type: target.value_type,
            min_level: target.min_level,
            selectors: target.selectors,
            applicable: target.applicable,
        })
        .collect();
    let compact = Compact {
        detail: "compact",
        driver: full.driver,
        profile: full.profile,
        targets,
    };
    serde_json::to_string(&compact)
        .map(Arc::from)
        .map_err(strange)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compact_keeps_what_is_needed_to_name_a_target() {
        let full = r#"{"driver":"pdf","format_options":[],"profile":"pdf","schema_version":2,
            "selector_expansions":{"@all":{"deep":["a.b"]}},"status":"ok","targets":[{"aliases":["b"],
            "applicable":true,"cost_class":"low","description":"long","id":"a.b","min_level":"header",
            "schema":{"type":"string"},"scope":"common","selectors":["@all"],
            "supported_levels":["header"],"value_type":"string"}],"tool_version":"2.4.0"}"#;
        assert_eq!(
            compact(full).unwrap().as_ref(),
            concat!(
                r#"{"detail":"compact","driver":"pdf","profile":"pdf","targets":[{"id":"a.b","aliases":["b"],"#,
                r#""value_type":"string","min_level":"header","selectors":["@all"],"applicable":true}]}"#
            )
        );
        assert!(compact("{}").is_err());
    }
}
