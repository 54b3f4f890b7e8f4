//! The options of a probe, in every form in which they travel.
//!
//! [`ProbeOptions`] is the typed form. [`argv`] prints it as the flags of an engine and parses those,
//! also as a person types them; [`json`] prints and parses the `"options"` member of a record. The
//! flags are always written `--long=value`, and the builder refuses names that hold a comma, an equals
//! sign, white space or a leading dash, so no value can become a flag or split into two.

mod argv;
mod json;
mod names;

use std::collections::BTreeMap;

pub use self::argv::Profile;
pub(crate) use self::argv::{OptionFlags, from_argv};
pub use self::names::check_target;
use super::{Budget, Confidence, Level, Limits, View};

/// Most target names in one option set: more than any format has ids, aliases and selectors. With the
/// limit on the length of a name it keeps a profile far below what an operating system takes as argv.
const MAX_TARGETS: usize = 256;

/// The options of a probe (contract §1.2): one set for every record of a process, or the set that one
/// record brings along.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ProbeOptions {
    /// Names and selectors. None means `@default`; one empty name means that a list was given and
    /// names nothing, which is an error of the record.
    pub(crate) targets: Vec<String>,
    /// Reported only if a path that is run anyway yields them.
    pub(crate) optional_targets: Vec<String>,
    pub(crate) level: Level,
    pub(crate) min_confidence: Confidence,
    /// By name as spelled. Where two spellings name one target, the later one in byte order wins.
    pub(crate) target_confidence: BTreeMap<String, Confidence>,
    pub(crate) no_piggyback: bool,
    pub(crate) input_format: Option<String>,
    /// By key as spelled. Where two spellings name one option, the later one in byte order wins.
    pub(crate) format_options: BTreeMap<String, String>,
    pub(crate) budget: Budget,
    pub(crate) strict: bool,
    pub(crate) plan_only: bool,
    pub(crate) telemetry: bool,
    pub(crate) view: View,
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
    /// The defaults: the `@default` set of the format at `metadata`.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Requests these targets (names, aliases, `@selectors`). An empty list means the default set;
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

    /// Sets the minimum confidence. `Confidence::None` cannot be requested and counts as the lowest
    /// label.
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

    /// The limits in force: those of the level with the overrides of the budget.
    pub(crate) fn limits(&self) -> Limits {
        Limits::with(self.level, &self.budget)
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

/// Splits comma lists into names, without the white space around them and without empty ones. Of a
/// list that names nothing one empty name is left, so that it is not taken for no list.
fn split_lists(lists: Vec<String>) -> Vec<String> {
    let given = !lists.is_empty();
    let mut names: Vec<String> = lists
        .iter()
        .flat_map(|list| list.split(','))
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect();
    if given && names.is_empty() {
        names.push(String::new());
    }
    names
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

    /// One option set for each member, with that member set.
    fn single_members() -> Vec<ProbeOptions> {
        let new = ProbeOptions::new;
        let budget = |budget| new().with_budget(budget);
        let text = |text: &str| text.to_owned();
        let pair = |key: &str, value: &str| BTreeMap::from([(text(key), text(value))]);
        vec![
            new().with_targets(["@summary", "slide_count"]).unwrap(),
            new().with_level(Level::Deep),
            new().with_level(Level::Header),
            new().with_min_confidence(Confidence::Exact),
            new()
                .with_target_confidence([("title", Confidence::Low), ("a", Confidence::Medium)])
                .unwrap(),
            new().with_view(View::Values),
            budget(Budget {
                max_physical_bytes: Some(0),
                ..Budget::default()
            }),
            budget(Budget {
                max_expanded_bytes: Some(2),
                ..Budget::default()
            }),
            budget(Budget {
                max_archive_entries: Some(3),
                ..Budget::default()
            }),
            budget(Budget {
                timeout_ms: Some(u64::MAX),
                ..Budget::default()
            }),
            ProbeOptions {
                optional_targets: vec![text("author"), text("@assets")],
                ..new()
            },
            ProbeOptions {
                no_piggyback: true,
                ..new()
            },
            ProbeOptions {
                input_format: Some(text("--pdf=\"x\"")),
                ..new()
            },
            ProbeOptions {
                format_options: pair("pdf.repair", "a=b,c -d"),
                ..new()
            },
            ProbeOptions {
                strict: true,
                ..new()
            },
            ProbeOptions {
                plan_only: true,
                ..new()
            },
            ProbeOptions {
                telemetry: true,
                ..new()
            },
        ]
    }

    /// Both sets together; of a member that both have, the value of `b`.
    fn merged(a: &ProbeOptions, b: &ProbeOptions) -> ProbeOptions {
        let mut members = serde_json::to_value(a).unwrap();
        let more = serde_json::to_value(b).unwrap();
        for (key, value) in more.as_object().unwrap() {
            if key == "budget" && members.get("budget").is_some() {
                let limits = value.as_object().unwrap().clone();
                members["budget"].as_object_mut().unwrap().extend(limits);
            } else {
                members[key] = value.clone();
            }
        }
        ProbeOptions::from_json(&members.to_string()).unwrap()
    }

    #[test]
    fn argv_and_record_members_parse_to_the_options_that_they_were_printed_from() {
        let single = single_members();
        let mut seen = std::collections::HashSet::new();
        for (a, b) in single
            .iter()
            .flat_map(|a| single.iter().map(move |b| (a, b)))
        {
            let options = merged(a, b);
            seen.insert(options.clone());
            assert_eq!(from_argv(options.profile().argv()), Ok(options.clone()));
            let json = serde_json::to_string(&options).unwrap();
            assert_eq!(ProbeOptions::from_json(&json), Ok(options));
        }
        // All pairs are different sets, but for the two levels together, which are one of them.
        let pairs = single.len() * (single.len() + 1) / 2;
        assert_eq!(seen.len(), pairs - 1);
        let all = single
            .iter()
            .fold(ProbeOptions::new(), |all, one| merged(&all, one));
        assert_eq!(from_argv(all.profile().argv()), Ok(all.clone()));
        let json = serde_json::to_string(&all).unwrap();
        assert_eq!(ProbeOptions::from_json(&json), Ok(all));
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
