//! What can be asked, as JSON: `formats`, `targets NAME` and `schema`. Keys are sorted.

use super::catalogue::{DriverId, Profile, SELECTORS, Target, index};
use super::detect;
use super::error::Result;
use super::json;
use super::version::TOOL_VERSION;
use crate::contract::{Level, SCHEMA_VERSION};

/// The JSON Schema of everything that the engine prints for a probe, as it is kept: to be read. It is
/// our own wording.
const SCHEMA: &str = include_str!("report.schema.json");

/// The JSON Schema as it is printed: on one line, keys sorted.
pub(crate) fn schema(out: &mut Vec<u8>) {
    // The text is ours and a test parses it; a value's own map keeps its keys sorted.
    let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap_or_default();
    let _infallible = serde_json::to_writer(out, &schema);
}

/// The `formats` report.
pub(crate) fn formats(out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"formats\":[");
    json::separated(out, DriverId::ALL, |out, driver| {
        out.extend_from_slice(b"{\"driver\":");
        json::string(out, driver.as_str());
        out.extend_from_slice(b",\"profiles\":");
        let profiles = Profile::ALL.iter();
        let own = profiles.filter(|profile| profile.driver() == *driver);
        json::words(out, own.map(|profile| profile.name()));
        out.extend_from_slice(b",\"support\":");
        json::string(out, driver.row().support);
        out.push(b'}');
    });
    out.push(b']');
    tail(out);
}

/// The `targets` report of a format.
///
/// # Errors
/// `UNSUPPORTED_FORMAT` for a name that is not accepted.
pub(crate) fn targets(name: &str, out: &mut Vec<u8>) -> Result<()> {
    let profile = detect::by_discovery_name(name)?;
    out.extend_from_slice(b"{\"driver\":");
    json::string(out, profile.driver().as_str());
    out.extend_from_slice(b",\"format_options\":[");
    json::separated(out, profile.driver().options(), |out, option| {
        out.extend_from_slice(b"{\"allowed\":");
        json::words(out, option.allowed.iter().copied());
        for (key, text) in [
            ("default", option.default),
            ("description", option.description),
            ("key", option.key),
            (
                "value_type",
                if option.allowed.is_empty() {
                    "u64"
                } else {
                    "enum"
                },
            ),
        ] {
            member(out, key, text);
        }
        out.push(b'}');
    });
    out.extend_from_slice(b"],\"profile\":");
    json::string(out, profile.name());
    out.extend_from_slice(b",\"schema_version\":");
    json::number(out, SCHEMA_VERSION.into());
    out.extend_from_slice(b",\"selector_expansions\":{");
    json::separated(out, SELECTORS, |out, selector| {
        json::string(out, selector);
        out.extend_from_slice(b":{");
        let mut levels = Level::ALL;
        levels.sort_by_key(|level| level.as_str());
        json::separated(out, levels, |out, level| {
            json::string(out, level.as_str());
            out.push(b':');
            let set = index(profile).expand(selector, level).unwrap_or_default();
            json::words(out, set.iter().map(Target::id));
        });
        out.push(b'}');
    });
    out.extend_from_slice(b"},\"status\":\"ok\",\"targets\":[");
    json::separated(out, index(profile).targets(), |out, target| {
        one_target(profile, target, out)
    });
    out.extend_from_slice(b"],\"tool_version\":");
    json::string(out, TOOL_VERSION);
    out.push(b'}');
    Ok(())
}

fn one_target(profile: Profile, target: Target, out: &mut Vec<u8>) {
    let spec = target.spec();
    let index = index(profile);
    out.extend_from_slice(b"{\"aliases\":");
    json::words(out, index.aliases(target).iter().copied());
    out.extend_from_slice(b",\"applicable\":");
    out.extend_from_slice(if index.is_applicable(target) {
        b"true"
    } else {
        b"false"
    });
    let cost_class = match spec.min_level {
        Level::Header => "low",
        Level::Metadata => "moderate",
        Level::Deep => "high",
    };
    for (key, text) in [
        ("cost_class", cost_class),
        ("description", spec.description),
        ("id", spec.id),
        ("min_level", spec.min_level.as_str()),
    ] {
        member(out, key, text);
    }
    out.extend_from_slice(b",\"schema\":");
    out.extend_from_slice(spec.value_type.schema().as_bytes());
    member(out, "scope", spec.scope.as_str());
    out.extend_from_slice(b",\"selectors\":");
    let holds = |selector: &&str| {
        index
            .expand(selector, Level::Deep)
            .is_some_and(|set| set.contains(target))
    };
    json::words(out, BY_MEANING.into_iter().filter(holds));
    out.extend_from_slice(b",\"supported_levels\":");
    json::words(out, index.supported_levels(target).map(Level::as_str));
    member(out, "value_type", spec.value_type.as_str());
    out.push(b'}');
}

/// The selectors in the order in which a target lists its own.
const BY_MEANING: [&str; 9] = [
    "@header",
    "@default",
    "@summary",
    "@security",
    "@structure",
    "@assets",
    "@quality",
    "@format",
    "@all",
];

fn member(out: &mut Vec<u8>, key: &str, text: &str) {
    out.push(b',');
    json::string(out, key);
    out.push(b':');
    json::string(out, text);
}

fn tail(out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"schema_version\":");
    json::number(out, SCHEMA_VERSION.into());
    out.extend_from_slice(b",\"status\":\"ok\",\"tool_version\":");
    json::string(out, TOOL_VERSION);
    out.push(b'}');
}
