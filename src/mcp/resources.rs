//! The resources: the engine's constant reports, and a live snapshot of the pool.

use rmcp::model::{
    CompleteRequestParams, CompleteResult, CompletionInfo, ErrorData, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::format_name;
use super::services::Services;
use super::skill;
use super::stamp::Lifetime;
use super::text::{excerpt, quoted};
use crate::contract::Reply;
use crate::supervisor::Introspection;

const SCHEMA: &str = "deckprobe://schema";
const FORMATS: &str = "deckprobe://formats";
const POOL: &str = "deckprobe://pool";
const TARGETS: &str = "deckprobe://targets/";
const TARGETS_TEMPLATE: &str = "deckprobe://targets/{format}";
const JSON: &str = "application/json";

/// The fixed resources.
pub(super) fn list() -> Vec<Resource> {
    let resource = |uri: &str, name: &str, title: &str, description: &str| {
        Resource::new(uri, name)
            .with_title(title)
            .with_description(description)
            .with_mime_type(JSON)
    };
    vec![
        resource(
            SCHEMA,
            "schema",
            "Report schema",
            "The engine's JSON Schema of its reports.",
        ),
        resource(
            FORMATS,
            "formats",
            "Formats",
            "The formats that can be probed, as list_formats answers.",
        ),
        resource(
            POOL,
            "pool",
            "Worker pool",
            "A live snapshot of the engine children, the queue and the outcomes so far.",
        ),
        skill::resource(),
    ]
}

/// The templates.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(TARGETS_TEMPLATE, "targets")
            .with_title("Targets of a format")
            .with_description("The engine's full targets report of one format.")
            .with_mime_type(JSON),
    ]
}

/// Reads a resource.
pub(super) async fn read(
    services: &Services,
    uri: &str,
) -> Result<(ReadResourceResult, Lifetime), ErrorData> {
    let question = match uri {
        SCHEMA => Introspection::Schema,
        FORMATS => Introspection::Formats,
        skill::URI => {
            let guide = ReadResourceResult::new(vec![skill::contents()]);
            return Ok((guide, Lifetime::Constant));
        }
        POOL => return pool(services).map(|text| (contents(uri, text), Lifetime::Once)),
        _ => match uri.strip_prefix(TARGETS).map(format_name) {
            Some(Ok(format)) => Introspection::Targets(format),
            _ => return Err(not_found(uri)),
        },
    };
    match services.supervisor.introspect(&question).await {
        Ok(json) => Ok((contents(uri, json.to_string()), Lifetime::Constant)),
        Err(reply) => Err(failed(uri, &reply)),
    }
}

/// Completes `{format}` of the targets template.
pub(super) async fn complete(
    services: &Services,
    request: &CompleteRequestParams,
) -> Result<CompleteResult, ErrorData> {
    let asked = request.r#ref.as_resource_uri();
    if asked != Some(TARGETS_TEMPLATE) || request.argument.name != "format" {
        return Ok(CompleteResult::default());
    }
    let typed = request.argument.value.to_ascii_lowercase();
    let formats = match services
        .supervisor
        .introspect(&Introspection::Formats)
        .await
    {
        Ok(json) => names(&json),
        Err(reply) => return Err(failed(FORMATS, &reply)),
    };
    let fitting = formats
        .into_iter()
        .filter(|name| name.starts_with(&typed))
        .take(100)
        .collect();
    CompletionInfo::with_all_values(fitting)
        .map(CompleteResult::new)
        .map_err(|error| ErrorData::internal_error(error, None))
}

/// The format names in a `formats` report that `targets` accepts.
fn names(report: &str) -> Vec<String> {
    #[derive(Deserialize)]
    struct Report {
        formats: Vec<Format>,
    }
    #[derive(Deserialize)]
    struct Format {
        profiles: Vec<String>,
    }
    let profiles = serde_json::from_str::<Report>(report)
        .map(|report| report.formats)
        .unwrap_or_default()
        .into_iter()
        .flat_map(|format| format.profiles);
    // Introspection has no name for the profile of encrypted documents.
    let mut names: Vec<String> = profiles.filter(|name| name != "encrypted-ooxml").collect();
    names.sort();
    names.dedup();
    names
}

fn pool(services: &Services) -> Result<String, ErrorData> {
    serde_json::to_string(&services.supervisor.snapshot())
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

fn contents(uri: &str, text: String) -> ReadResourceResult {
    ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(JSON)])
}

fn not_found(uri: &str) -> ErrorData {
    let known = [SCHEMA, FORMATS, POOL, TARGETS_TEMPLATE, skill::URI];
    ErrorData::resource_not_found(
        format!(
            "there is no resource {}; there are {}",
            quoted(uri),
            known.join(", ")
        ),
        Some(json!({"uri": excerpt(uri)})),
    )
}

/// A format that the engine refuses is a resource that does not exist; anything else is a failure.
fn failed(uri: &str, reply: &Reply) -> ErrorData {
    let envelope: Value = serde_json::from_str(reply.json()).unwrap_or_default();
    let text = envelope["error"]["message"]
        .as_str()
        .unwrap_or("the engine failed")
        .to_owned();
    let data = json!({"uri": uri, "error": envelope["error"]});
    if reply.effective_code() == Some(crate::contract::ErrorCode::UnsupportedFormat) {
        ErrorData::resource_not_found(text, Some(data))
    } else {
        ErrorData::internal_error(text, Some(data))
    }
}
