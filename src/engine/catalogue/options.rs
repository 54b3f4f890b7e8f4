//! Format options: which of several ways a driver may take (contract §6.7).

use std::collections::BTreeMap;

/// Which of two sources a fact may come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Way {
    /// Both.
    #[default]
    Auto,
    /// Only what was saved beside the content (properties, inventories).
    Saved,
    /// Only the content itself.
    Content,
}

impl Way {
    pub(crate) const fn saved(self) -> bool {
        matches!(self, Self::Auto | Self::Saved)
    }

    pub(crate) const fn content(self) -> bool {
        matches!(self, Self::Auto | Self::Content)
    }
}

/// The format options in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FormatOptions {
    /// `word.statistics_path`.
    pub(crate) statistics_path: Way,
    /// `excel.workbook_path`.
    pub(crate) workbook_path: Way,
    /// `powerpoint.slide_count_path`.
    pub(crate) slide_count_path: Way,
    /// `pdf.repair_xref` is `safe`.
    pub(crate) repair_xref: bool,
    /// `pdf.max_objects`.
    pub(crate) max_objects: u64,
    /// `document.long_values` is `clip`.
    pub(crate) clips: bool,
}

impl Default for FormatOptions {
    fn default() -> Self {
        Self {
            statistics_path: Way::Auto,
            workbook_path: Way::Auto,
            slide_count_path: Way::Auto,
            repair_xref: true,
            max_objects: 100_000,
            clips: true,
        }
    }
}

/// One format option: how discovery describes it, and what it sets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OptionSpec {
    pub(crate) key: &'static str,
    pub(crate) description: &'static str,
    pub(crate) default: &'static str,
    /// The accepted words; empty for a number.
    pub(crate) allowed: &'static [&'static str],
    /// Applies an accepted word or a number; `false` for what is not a number.
    set: fn(&mut FormatOptions, &str) -> bool,
}

/// The options of every driver.
pub(crate) const COMMON_OPTIONS: &[OptionSpec] = &[OptionSpec {
    key: "document.long_values",
    description: "Whether texts beyond 4096 characters and lists beyond 10000 entries or 256 KiB are clipped",
    default: "clip",
    allowed: &["clip", "whole"],
    set: |options, word| {
        options.clips = word == "clip";
        true
    },
}];

pub(crate) const WORD_OPTIONS: &[OptionSpec] = &[OptionSpec {
    key: "word.statistics_path",
    description: "Where word statistics may come from",
    default: "auto",
    allowed: &["auto", "app-properties", "document-xml"],
    set: |options, word| {
        options.statistics_path = Way::between("app-properties", "document-xml", word);
        true
    },
}];

pub(crate) const EXCEL_OPTIONS: &[OptionSpec] = &[OptionSpec {
    key: "excel.workbook_path",
    description: "Where the sheet count may come from",
    default: "auto",
    allowed: &["auto", "xml", "inventory"],
    set: |options, word| {
        options.workbook_path = Way::between("inventory", "xml", word);
        true
    },
}];

pub(crate) const POWERPOINT_OPTIONS: &[OptionSpec] = &[OptionSpec {
    key: "powerpoint.slide_count_path",
    description: "Where the slide count may come from",
    default: "auto",
    allowed: &["auto", "app-properties", "presentation-xml"],
    set: |options, word| {
        options.slide_count_path = Way::between("app-properties", "presentation-xml", word);
        true
    },
}];

pub(crate) const PDF_OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "pdf.repair_xref",
        description: "Whether damaged cross-reference data may be rebuilt",
        default: "safe",
        allowed: &["none", "safe"],
        set: |options, word| {
            options.repair_xref = word == "safe";
            true
        },
    },
    OptionSpec {
        key: "pdf.max_objects",
        description: "Most objects that a document may have",
        default: "100000",
        allowed: &[],
        set: |options, number| {
            number
                .parse()
                .map(|most| options.max_objects = most)
                .is_ok()
        },
    },
];

impl Way {
    fn between(saved: &str, content: &str, word: &str) -> Self {
        if word == saved {
            Self::Saved
        } else if word == content {
            Self::Content
        } else {
            Self::Auto
        }
    }
}

impl FormatOptions {
    /// Applies the options that were given for a driver, in byte order of their keys as spelled. A key
    /// without a dot is completed with the driver's namespace.
    ///
    /// # Errors
    /// A sentence for an `INVALID_REQUEST`; names are all judged before any value.
    pub(crate) fn parse(
        driver: &str,
        specs: &[OptionSpec],
        given: &BTreeMap<String, String>,
    ) -> Result<Self, String> {
        let mut known = Vec::with_capacity(given.len());
        for (key, value) in given {
            let spec = find(specs, key).ok_or_else(|| {
                let all = specs.iter().chain(COMMON_OPTIONS);
                let accepted = all.map(|spec| spec.key).collect::<Vec<_>>().join(", ");
                format!("unknown format option {key:?} for driver {driver}: {accepted}")
            })?;
            known.push((spec, value));
        }
        let mut options = Self::default();
        for (spec, value) in known {
            options.set(spec, value)?;
        }
        Ok(options)
    }

    fn set(&mut self, spec: &OptionSpec, value: &str) -> Result<(), String> {
        let refused = || {
            let accepted = if spec.allowed.is_empty() {
                "a whole number".to_owned()
            } else {
                spec.allowed.join(", ")
            };
            format!(
                "invalid value {value:?} for format option {}: accepts {accepted}",
                spec.key
            )
        };
        let is_known = spec.allowed.is_empty() || spec.allowed.contains(&value);
        if is_known && (spec.set)(self, value) {
            Ok(())
        } else {
            Err(refused())
        }
    }
}

fn find<'s>(specs: &'s [OptionSpec], key: &str) -> Option<&'s OptionSpec> {
    if key.contains('.') {
        return specs
            .iter()
            .chain(COMMON_OPTIONS)
            .find(|spec| spec.key == key);
    }
    let mut matching = specs
        .iter()
        .chain(COMMON_OPTIONS)
        .filter(|spec| spec.key.rsplit('.').next() == Some(key));
    let first = matching.next()?;
    matching.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(specs: &[OptionSpec], pairs: &[(&str, &str)]) -> Result<FormatOptions, String> {
        let given = pairs
            .iter()
            .map(|(k, v)| ((*k).into(), (*v).into()))
            .collect();
        FormatOptions::parse("this", specs, &given)
    }

    #[test]
    fn both_spellings_are_known_and_the_later_pair_wins() {
        let options = parse(
            PDF_OPTIONS,
            &[("pdf.repair_xref", "safe"), ("repair_xref", "none")],
        )
        .unwrap();
        assert!(!options.repair_xref);
        let options = parse(PDF_OPTIONS, &[("max_objects", "7")]).unwrap();
        assert_eq!(options.max_objects, 7);
        let options = parse(EXCEL_OPTIONS, &[("workbook_path", "inventory")]).unwrap();
        assert_eq!(options.workbook_path, Way::Saved);
    }

    #[test]
    fn unknown_keys_and_values_are_refused_by_name() {
        let cases = [
            (PDF_OPTIONS, "statistics_path", "auto"),
            (WORD_OPTIONS, "statistics_path", "AUTO"),
            (PDF_OPTIONS, "max_objects", "-1"),
            (&[], "anything", "x"),
        ];
        for (specs, key, value) in cases {
            let refused = parse(specs, &[(key, value)]).unwrap_err();
            assert!(refused.contains(key), "{refused}");
        }
    }
}
