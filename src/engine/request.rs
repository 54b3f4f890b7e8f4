//! What a probe asks for, before the format is known: the options of the command line or of a record.

use serde::Deserialize;

use super::error::{ProbeError, Result};
use crate::contract::{Budget, Confidence, Level, Limits, View};

/// A full option set of the engine (contract §1.2). One set serves every record of a process, or
/// one record that carries its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    /// Names and selectors; empty means `@default`.
    pub(crate) targets: Vec<String>,
    pub(crate) optional_targets: Vec<String>,
    pub(crate) level: Level,
    pub(crate) min_confidence: Confidence,
    /// In byte order of the names as spelled; a later pair for the same target wins.
    pub(crate) target_confidence: Vec<(String, Confidence)>,
    pub(crate) no_piggyback: bool,
    pub(crate) input_format: Option<String>,
    /// In byte order of the keys as spelled; one pair a spelling.
    pub(crate) format_options: Vec<(String, String)>,
    pub(crate) budget: Budget,
    pub(crate) strict: bool,
    pub(crate) plan_only: bool,
    pub(crate) telemetry: bool,
    pub(crate) view: View,
}

impl Request {
    /// The limits in force.
    pub(crate) fn limits(&self) -> Limits {
        Limits::with(self.level, &self.budget)
    }

    /// The option set of a record's `"options"` object. It replaces the process's option set as a
    /// whole, so that a record means the same to every child.
    ///
    /// # Errors
    /// `INVALID_REQUEST` for unknown members, wrong types and unknown words.
    pub(crate) fn from_record(json: &str) -> Result<Self> {
        if !json.starts_with('{') {
            return Err(ProbeError::invalid("record options: expected an object"));
        }
        let wire: Wire = serde_json::from_str(json)
            .map_err(|error| ProbeError::invalid(format_args!("record options: {error}")))?;
        let word = |field: &str, word: &str| {
            ProbeError::invalid(format_args!(
                "record options: {field} does not accept {word:?}"
            ))
        };
        let mut target_confidence = Vec::with_capacity(wire.target_confidence.len());
        for (target, label) in wire.target_confidence {
            let label = label
                .parse()
                .map_err(|()| word("target_confidence", &label))?;
            target_confidence.push((target, label));
        }
        Ok(Self {
            targets: wire.targets,
            level: match wire.level {
                Some(level) => level.parse().map_err(|()| word("level", &level))?,
                None => Level::default(),
            },
            min_confidence: match wire.min_confidence {
                Some(label) => label.parse().map_err(|()| word("min_confidence", &label))?,
                None => Confidence::default(),
            },
            target_confidence,
            view: match wire.view {
                Some(view) => view.parse().map_err(|()| word("view", &view))?,
                None => View::default(),
            },
            budget: Budget {
                max_physical_bytes: wire.budget.max_physical_bytes,
                max_expanded_bytes: wire.budget.max_expanded_bytes,
                max_archive_entries: wire.budget.max_archive_entries,
                timeout_ms: wire.budget.timeout_ms,
            },
            ..Self::default()
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
struct Wire {
    targets: Vec<String>,
    level: Option<String>,
    min_confidence: Option<String>,
    target_confidence: std::collections::BTreeMap<String, String>,
    view: Option<String>,
    budget: WireBudget,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct WireBudget {
    max_physical_bytes: Option<u64>,
    max_expanded_bytes: Option<u64>,
    max_archive_entries: Option<u64>,
    timeout_ms: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::ProbeOptions;

    #[test]
    fn record_options_mean_what_the_supervisor_wrote() {
        let options = ProbeOptions::new()
            .with_targets(["@summary", "title"])
            .unwrap()
            .with_level(Level::Deep)
            .with_min_confidence(Confidence::Low)
            .with_target_confidence([("title", Confidence::Exact)])
            .unwrap()
            .with_view(View::Values)
            .with_budget(Budget {
                max_physical_bytes: Some(9),
                ..Budget::default()
            });
        let request = Request::from_record(&serde_json::to_string(&options).unwrap()).unwrap();
        let expected = Request {
            targets: vec!["@summary".into(), "title".into()],
            level: Level::Deep,
            min_confidence: Confidence::Low,
            target_confidence: vec![("title".into(), Confidence::Exact)],
            view: View::Values,
            budget: Budget {
                max_physical_bytes: Some(9),
                ..Budget::default()
            },
            ..Request::default()
        };
        assert_eq!(request, expected);
        assert_eq!(Request::from_record("{}").unwrap(), Request::default());
    }

    #[test]
    fn anything_else_in_record_options_is_refused_by_name() {
        for (json, word) in [
            (r#"{"strict":true}"#, "strict"),
            (r#"{"level":"l2"}"#, "l2"),
            (r#"{"min_confidence":"none"}"#, "none"),
            (r#"{"budget":{"bytes":1}}"#, "bytes"),
            (r#"{"budget":{"timeout_ms":-1}}"#, "-1"),
            ("[]", "record options"),
        ] {
            let refused = Request::from_record(json).unwrap_err();
            assert!(refused.message().contains(word), "{json}: {refused}");
        }
    }
}
