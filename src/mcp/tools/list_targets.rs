//! `list_targets`: the names that can be asked for in one format.

use std::sync::Arc;

use rmcp::model::{CallToolResult, JsonObject, Tool};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::super::arguments::{Arguments, invalid, quoted};
use super::{Call, CallError, read_only};
use crate::contract::{Envelope, ErrorCode, Reply};
use crate::supervisor::Introspection;

pub(super) const NAME: &str = "list_targets";

const FIELDS: &[&str] = &["format", "detail"];
const DETAILS: &[&str] = &["compact", "full"];
/// Longest name of a format, in bytes.
const LONGEST_NAME: usize = 32;

pub(super) fn definition() -> Tool {
    read_only(
        NAME,
        "List targets of a format",
        "Lists the target names that probe accepts for one format, with type, needed level and the presets \
         that contain them. Ask this instead of guessing a name. compact has what is needed to name a \
         target rightly; full is the engine's whole report, about three times as large.",
        json!({
            "type": "object",
            "properties": {
                "format": {
                    "type": "string", "minLength": 1, "maxLength": LONGEST_NAME,
                    "description": "A format or file extension, such as pdf, docx, xlsx, pptx, key.",
                },
                "detail": {"type": "string", "enum": DETAILS, "default": "compact"},
            },
            "required": ["format"],
            "additionalProperties": false,
        }),
    )
}

pub(super) async fn call(
    call: &Call<'_>,
    given: Option<JsonObject>,
) -> Result<CallToolResult, CallError> {
    let mut arguments = Arguments::new(NAME, FIELDS, given)?;
    let format = format_name(&arguments.required_string("format")?)?;
    let full = arguments
        .word("detail", DETAILS, |word| match word {
            "compact" => Some(false),
            "full" => Some(true),
            _ => None,
        })?
        .unwrap_or(false);
    let question = Introspection::Targets(format);
    let mut answer = call.shared.supervisor.introspect(&question).await;
    if !full {
        answer = answer.and_then(|report| {
            compact(&report).map_err(|envelope| {
                Reply::from_envelope(&envelope, &call.shared.supervisor.tool_version())
            })
        });
    }
    Ok(call.report(&answer).await)
}

/// A format name that cannot be anything else on an engine's command line. One leading dot, as in an
/// extension, is forgiven.
pub(in crate::mcp) fn format_name(given: &str) -> Result<String, Envelope> {
    let name = given.strip_prefix('.').unwrap_or(given);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if name.is_empty()
        || name.len() > LONGEST_NAME
        || name.starts_with('-')
        || !name.bytes().all(plain)
    {
        return Err(invalid(format!(
            "format: got {}; it accepts a format or file extension such as pdf, docx or pptx",
            quoted(given)
        )));
    }
    Ok(name.to_ascii_lowercase())
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

/// What is needed to name a target rightly, out of the engine's report.
pub(in crate::mcp) fn compact(report: &str) -> Result<Arc<str>, Envelope> {
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
    fn a_format_name_cannot_be_a_flag() {
        for good in ["pdf", ".PPTX", "office-legacy"] {
            assert!(format_name(good).is_ok(), "{good}");
        }
        for bad in ["", ".", "-f", "--help", "a b", "a,b", "a=b", "../x", "a\n"] {
            assert!(format_name(bad).is_err(), "{bad:?}");
        }
        assert_eq!(format_name(".PPTX").unwrap(), "pptx");
    }

    #[test]
    fn compact_keeps_what_names_a_target() {
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
