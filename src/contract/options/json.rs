//! Options as the `"options"` member of a record. Only what differs from the defaults is printed.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use super::{ProbeOptions, split_lists};
use crate::contract::{Budget, Confidence, Level, View};

impl Serialize for ProbeOptions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if !self.targets.is_empty() {
            map.serialize_entry("targets", &self.targets)?;
        }
        if !self.optional_targets.is_empty() {
            map.serialize_entry("optional_targets", &self.optional_targets)?;
        }
        if self.level != Level::default() {
            map.serialize_entry("level", self.level.as_str())?;
        }
        if self.min_confidence != Confidence::default() {
            map.serialize_entry("min_confidence", self.min_confidence.as_str())?;
        }
        if !self.target_confidence.is_empty() {
            let words: BTreeMap<&str, &str> = self
                .target_confidence
                .iter()
                .map(|(target, confidence)| (target.as_str(), confidence.as_str()))
                .collect();
            map.serialize_entry("target_confidence", &words)?;
        }
        if let Some(format) = &self.input_format {
            map.serialize_entry("input_format", format)?;
        }
        if !self.format_options.is_empty() {
            map.serialize_entry("format_options", &self.format_options)?;
        }
        if self.view != View::default() {
            map.serialize_entry("view", self.view.as_engine_str())?;
        }
        let budget = self.budget();
        if budget != Budget::default() {
            map.serialize_entry("budget", &WireBudget::from(budget))?;
        }
        for (key, is_set) in [
            ("no_piggyback", self.no_piggyback),
            ("strict", self.strict),
            ("plan_only", self.plan_only),
            ("telemetry", self.telemetry),
        ] {
            if is_set {
                map.serialize_entry(key, &true)?;
            }
        }
        map.end()
    }
}

impl ProbeOptions {
    /// Parses the `"options"` member of a record.
    ///
    /// # Errors
    /// A sentence about unknown members, wrong types and unknown words.
    pub(crate) fn from_json(json: &str) -> Result<Self, String> {
        if !json.starts_with('{') {
            return Err("expected an object".into());
        }
        let wire: Wire = serde_json::from_str(json).map_err(|error| error.to_string())?;
        let mut target_confidence = BTreeMap::new();
        for (target, label) in wire.target_confidence {
            target_confidence.insert(target, word("target_confidence", &label)?);
        }
        Ok(Self {
            targets: split_lists(wire.targets),
            optional_targets: split_lists(wire.optional_targets),
            level: word_or_default("level", wire.level.as_deref())?,
            min_confidence: word_or_default("min_confidence", wire.min_confidence.as_deref())?,
            target_confidence,
            no_piggyback: wire.no_piggyback,
            input_format: wire.input_format,
            format_options: wire.format_options,
            budget: wire.budget.into(),
            strict: wire.strict,
            plan_only: wire.plan_only,
            telemetry: wire.telemetry,
            view: word_or_default("view", wire.view.as_deref())?,
        })
    }
}

fn word<T: FromStr>(field: &str, word: &str) -> Result<T, String> {
    word.parse()
        .map_err(|_| format!("{field} does not accept {word:?}"))
}

fn word_or_default<T: FromStr + Default>(field: &str, text: Option<&str>) -> Result<T, String> {
    text.map_or_else(|| Ok(T::default()), |text| word(field, text))
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Wire {
    targets: Vec<String>,
    optional_targets: Vec<String>,
    level: Option<String>,
    min_confidence: Option<String>,
    target_confidence: BTreeMap<String, String>,
    no_piggyback: bool,
    input_format: Option<String>,
    format_options: BTreeMap<String, String>,
    budget: WireBudget,
    strict: bool,
    plan_only: bool,
    telemetry: bool,
    view: Option<String>,
}

#[derive(Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct WireBudget {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_archive_entries: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_expanded_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_physical_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
}

impl From<Budget> for WireBudget {
    fn from(budget: Budget) -> Self {
        Self {
            max_archive_entries: budget.max_archive_entries,
            max_expanded_bytes: budget.max_expanded_bytes,
            max_physical_bytes: budget.max_physical_bytes,
            timeout_ms: budget.timeout_ms,
        }
    }
}

impl From<WireBudget> for Budget {
    fn from(wire: WireBudget) -> Self {
        Self {
            max_physical_bytes: wire.max_physical_bytes,
            max_expanded_bytes: wire.max_expanded_bytes,
            max_archive_entries: wire.max_archive_entries,
            timeout_ms: wire.timeout_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_words_and_types_that_are_not_known_are_refused_by_name() {
        for (json, word) in [
            (r#"{"strictly":true}"#, "strictly"),
            (r#"{"strict":1}"#, "boolean"),
            (r#"{"level":"l2"}"#, "l2"),
            (r#"{"min_confidence":"none"}"#, "none"),
            (r#"{"target_confidence":{"title":"sure"}}"#, "sure"),
            (r#"{"view":"table"}"#, "table"),
            (r#"{"budget":{"bytes":1}}"#, "bytes"),
            (r#"{"budget":{"timeout_ms":-1}}"#, "-1"),
            ("[]", "expected an object"),
        ] {
            let refused = ProbeOptions::from_json(json).unwrap_err();
            assert!(refused.contains(word), "{json}: {refused}");
        }
    }

    #[test]
    fn an_empty_object_means_the_defaults_and_an_empty_list_means_no_list() {
        for json in ["{}", r#"{"targets":[]}"#, r#"{"level":null}"#] {
            assert_eq!(
                ProbeOptions::from_json(json).unwrap(),
                ProbeOptions::default()
            );
        }
        let nothing_named = ProbeOptions::from_json(r#"{"targets":[" , "]}"#).unwrap();
        assert_eq!(nothing_named.targets(), [""]);
    }
}
