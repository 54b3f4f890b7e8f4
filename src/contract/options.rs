//! One option set in its three spellings: typed, argv (the profile) and a record's `"options"`.
//!
//! The mapping is 1:1 and nothing else is generated. A value can neither become a flag nor split
//! into two: flags are always written `--long=value`, and a target name that holds a comma, an
//! equals sign, white space or a leading dash is refused when the options are built.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{Budget, Confidence, Level, View};

/// Longest target name that is accepted, in bytes. The longest of the contract has 38.
const MAX_TARGET_BYTES: usize = 128;

/// Most target names in one option set: more than any format has ids, aliases and selectors. With
/// [`MAX_TARGET_BYTES`] it keeps a profile far below what an operating system takes as argv.
const MAX_TARGETS: usize = 256;

/// The options of a probe that a caller may choose, already validated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ProbeOptions {
    targets: Vec<String>,
    level: Level,
    min_confidence: Confidence,
    target_confidence: BTreeMap<String, Confidence>,
    view: View,
    budget: Budget,
}

/// An option that was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct InvalidOption {
    /// The field of the option set.
    pub field: &'static str,
    /// What it got and what it accepts.
    pub reason: String,
}

impl ProbeOptions {
    /// Options that ask for nothing in particular: the driver's `@default` set at `metadata`.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks for these targets (names, aliases, `@selectors`). An empty list means the default set;
    /// repeated names count once.
    ///
    /// # Errors
    /// When a name is malformed (see [`check_target`]), or when there are more than 256.
    pub fn with_targets<I, S>(mut self, targets: I) -> Result<Self, InvalidOption>
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        self.targets.clear();
        for target in targets {
            let target = target.into();
            check_target(&target).map_err(|reason| InvalidOption {
                field: "targets",
                reason,
            })?;
            if self.targets.contains(&target) {
                continue;
            }
            check_count(self.targets.len()).map_err(|reason| InvalidOption {
                field: "targets",
                reason,
            })?;
            self.targets.push(target);
        }
        Ok(self)
    }

    /// Sets the probe level.
    #[must_use]
    pub fn with_level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// Sets the minimum confidence. `Confidence::None` cannot be asked for and is read as the
    /// lowest label.
    #[must_use]
    pub fn with_min_confidence(mut self, confidence: Confidence) -> Self {
        self.min_confidence = confidence.max(Confidence::Low);
        self
    }

    /// Sets the minimum confidence of single targets.
    ///
    /// # Errors
    /// When a name is malformed (see [`check_target`]), or when there are more than 256.
    pub fn with_target_confidence<I, S>(mut self, pairs: I) -> Result<Self, InvalidOption>
    where
        I: IntoIterator<Item = (S, Confidence)>,
        S: Into<String>,
    {
        self.target_confidence.clear();
        for (target, confidence) in pairs {
            let target = target.into();
            check_target(&target).map_err(|reason| InvalidOption {
                field: "target_confidence",
                reason,
            })?;
            check_count(self.target_confidence.len()).map_err(|reason| InvalidOption {
                field: "target_confidence",
                reason,
            })?;
            self.target_confidence
                .insert(target, confidence.max(Confidence::Low));
        }
        Ok(self)
    }

    /// Sets the shape of the report.
    #[must_use]
    pub fn with_view(mut self, view: View) -> Self {
        self.view = view;
        self
    }

    /// Sets the budget overrides.
    #[must_use]
    pub fn with_budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// The requested names, in the order given; empty for the default set.
    #[must_use]
    pub fn targets(&self) -> &[String] {
        &self.targets
    }

    /// The probe level.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// The minimum confidence of every target without its own.
    #[must_use]
    pub fn min_confidence(&self) -> Confidence {
        self.min_confidence
    }

    /// The minimum confidence of single targets.
    #[must_use]
    pub fn target_confidence(&self) -> &BTreeMap<String, Confidence> {
        &self.target_confidence
    }

    /// The shape of the report.
    #[must_use]
    pub fn view(&self) -> View {
        self.view
    }

    /// The budget overrides, without those that repeat the level's default.
    #[must_use]
    pub fn budget(&self) -> Budget {
        self.budget.normalized(self.level)
    }

    /// The option set as the engine's argv, defaults left out: the key of the pool.
    #[must_use]
    pub fn profile(&self) -> Profile {
        let mut argv = Vec::new();
        let asks_default = self.targets.is_empty() || self.targets == ["@default"];
        if !asks_default {
            argv.push(format!("--targets={}", self.targets.join(",")));
        }
        if self.level != Level::default() {
            argv.push(format!("--probe-level={}", self.level));
        }
        if self.min_confidence != Confidence::default() {
            argv.push(format!("--minimum-confidence={}", self.min_confidence));
        }
        for (target, confidence) in &self.target_confidence {
            argv.push(format!("--target-confidence={target}={confidence}"));
        }
        if self.view != View::default() {
            argv.push(format!("--view={}", self.view.as_engine_str()));
        }
        let budget = self.budget();
        let limits = [
            ("--probe-size", budget.max_physical_bytes),
            ("--max-expanded-bytes", budget.max_expanded_bytes),
            ("--max-archive-entries", budget.max_archive_entries),
            ("--timeout-ms", budget.timeout_ms),
        ];
        argv.extend(
            limits
                .into_iter()
                .filter_map(|(flag, n)| n.map(|n| format!("{flag}={n}"))),
        );
        Profile(argv.into())
    }
}

/// The `"options"` object of a record: only what differs from the defaults.
impl Serialize for ProbeOptions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if !self.targets.is_empty() {
            map.serialize_entry("targets", &self.targets)?;
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
        if self.view != View::default() {
            map.serialize_entry("view", self.view.as_engine_str())?;
        }
        let budget = self.budget();
        let limits = [
            ("max_physical_bytes", budget.max_physical_bytes),
            ("max_expanded_bytes", budget.max_expanded_bytes),
            ("max_archive_entries", budget.max_archive_entries),
            ("timeout_ms", budget.timeout_ms),
        ];
        if limits.iter().any(|(_, limit)| limit.is_some()) {
            let set: BTreeMap<&str, u64> = limits
                .into_iter()
                .filter_map(|(key, n)| n.map(|n| (key, n)))
                .collect();
            map.serialize_entry("budget", &set)?;
        }
        map.end()
    }
}

/// Checks that a target name or selector cannot change the meaning of a command line.
///
/// # Errors
/// A sentence that says what is wrong with the name and what is accepted.
pub fn check_target(name: &str) -> Result<(), String> {
    let accepted = "a target name such as slide_count, powerpoint.slide_count or @summary";
    if name.is_empty() {
        return Err(format!("got an empty name; accepts {accepted}"));
    }
    if name.len() > MAX_TARGET_BYTES {
        return Err(format!(
            "got a name of {} bytes; at most {MAX_TARGET_BYTES}",
            name.len()
        ));
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '@');
    match name.chars().find(|c| !is_plain(*c)) {
        Some(c) => Err(format!(
            "got {name:?}, which holds {c:?}; accepts {accepted}"
        )),
        None if name.starts_with('-') => Err(format!(
            "got {name:?}, which begins with a dash; accepts {accepted}"
        )),
        None => Ok(()),
    }
}

/// Checks that one more name may join `known` others.
fn check_count(known: usize) -> Result<(), String> {
    if known < MAX_TARGETS {
        return Ok(());
    }
    Err(format!(
        "got more than {MAX_TARGETS} names; accepts at most {MAX_TARGETS}, and @all is one"
    ))
}

/// An option set as the exact argv that it maps to. Cloning shares the text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Profile(Arc<[String]>);

impl Profile {
    /// The arguments, each `--long=value`.
    #[must_use]
    pub fn argv(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            f.write_str("default")
        } else {
            f.write_str(&self.0.join(" "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn everything() -> ProbeOptions {
        ProbeOptions::new()
            .with_targets(["@summary", "slide_count", "@summary"])
            .unwrap()
            .with_level(Level::Deep)
            .with_min_confidence(Confidence::Exact)
            .with_target_confidence([("title", Confidence::Low), ("author", Confidence::Medium)])
            .unwrap()
            .with_view(View::Values)
            .with_budget(Budget {
                max_physical_bytes: Some(1),
                max_expanded_bytes: Some(2),
                max_archive_entries: Some(3),
                timeout_ms: Some(4),
            })
    }

    #[test]
    fn every_option_maps_to_exactly_one_flag() {
        assert_eq!(
            everything().profile().argv(),
            [
                "--targets=@summary,slide_count",
                "--probe-level=deep",
                "--minimum-confidence=exact",
                "--target-confidence=author=medium",
                "--target-confidence=title=low",
                "--view=values",
                "--probe-size=1",
                "--max-expanded-bytes=2",
                "--max-archive-entries=3",
                "--timeout-ms=4",
            ]
        );
    }

    #[test]
    fn every_option_maps_to_exactly_one_record_member() {
        assert_eq!(
            serde_json::to_string(&everything()).unwrap(),
            concat!(
                r#"{"targets":["@summary","slide_count"],"level":"deep","min_confidence":"exact","#,
                r#""target_confidence":{"author":"medium","title":"low"},"view":"values","#,
                r#""budget":{"max_archive_entries":3,"max_expanded_bytes":2,"max_physical_bytes":1,"timeout_ms":4}}"#
            )
        );
        assert_eq!(serde_json::to_string(&ProbeOptions::new()).unwrap(), "{}");
    }

    #[test]
    fn options_equal_to_the_defaults_share_the_default_profile() {
        let spelled_out = ProbeOptions::new()
            .with_targets(["@default"])
            .unwrap()
            .with_level(Level::Metadata)
            .with_min_confidence(Confidence::High)
            .with_view(View::Report)
            .with_budget(Budget {
                timeout_ms: Some(500),
                ..Budget::default()
            });
        assert_eq!(spelled_out.profile(), ProbeOptions::new().profile());
        assert!(spelled_out.profile().argv().is_empty());
        let deep = spelled_out.with_level(Level::Deep);
        assert_eq!(
            deep.profile().argv(),
            ["--probe-level=deep", "--timeout-ms=500"]
        );
    }

    #[test]
    fn names_without_end_are_refused() {
        let names = |count: usize| (0..count).map(|n| format!("t{n}"));
        let pairs = |count| names(count).map(|name| (name, Confidence::Low));
        let options = ProbeOptions::new();
        assert!(options.clone().with_targets(names(256)).is_ok());
        assert!(options.clone().with_targets(vec!["title"; 1000]).is_ok());
        assert!(options.clone().with_targets(names(1_000_000)).is_err());
        assert!(options.clone().with_target_confidence(pairs(256)).is_ok());
        assert!(options.with_target_confidence(pairs(257)).is_err());
    }

    #[test]
    fn no_target_name_can_smuggle_a_flag_or_split_in_two() {
        let hostile = [
            "",
            "-",
            "--strict",
            "-N",
            "a,b",
            "title,--strict",
            "a=b",
            "a b",
            "a\tb",
            "a\nb",
            "a\0b",
            " title",
            "title ",
            "tïtle",
            "\u{2212}x",
            "@a,@b",
        ];
        for name in hostile {
            assert!(check_target(name).is_err(), "{name:?}");
            assert!(
                ProbeOptions::new().with_targets([name]).is_err(),
                "{name:?}"
            );
            let pair = [(name, Confidence::Low)];
            assert!(
                ProbeOptions::new().with_target_confidence(pair).is_err(),
                "{name:?}"
            );
        }
        assert!(check_target(&"a".repeat(129)).is_err());
        for name in ["title", "document.title", "@all", "word.page_count", "a-b"] {
            assert!(check_target(name).is_ok(), "{name:?}");
        }
    }
}
