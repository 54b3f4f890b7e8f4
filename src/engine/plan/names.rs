//! From the names of a request to targets, and what to say about names that lead nowhere.

use crate::contract::Level;
use crate::engine::catalogue::{Index, Profile, Target, TargetSet, index};
use crate::engine::error::{ProbeError, Result};

/// Least similarity of a name that is offered for a misspelled one.
const SIMILAR: f64 = 0.84;

/// Most names that are offered.
const MAX_OFFERED: usize = 3;

/// What a list of names means in one format.
#[derive(Debug, Default)]
pub(super) struct Names<'n> {
    pub(super) targets: TargetSet,
    /// Names that only other formats know.
    pub(super) foreign: Vec<&'n str>,
}

impl Names<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.targets.is_empty() && self.foreign.is_empty()
    }
}

/// Expands names and selectors.
///
/// # Errors
/// `UNSUPPORTED_TARGET` for a name that no format knows, and for one of another format unless those are
/// allowed.
pub(super) fn expand<'n>(
    index: &Index,
    names: &'n [String],
    level: Level,
    allow_foreign: bool,
) -> Result<Names<'n>> {
    let mut expanded = Names::default();
    for name in names.iter().filter(|name| !name.is_empty()) {
        if let Some(targets) = index.expand(name, level) {
            expanded.targets = expanded.targets.union(targets);
        } else if let Some(target) = index.find(name) {
            expanded.targets.insert(target);
        } else if allow_foreign && formats_with(name).next().is_some() {
            expanded.foreign.push(name);
        } else {
            return Err(unknown(index, name));
        }
    }
    Ok(expanded)
}

/// The profiles whose catalogue has a name.
fn formats_with(name: &str) -> impl Iterator<Item = Profile> {
    let all = Profile::ALL.iter().copied();
    all.filter(move |profile| index(*profile).find(name).is_some())
}

/// The first profile of each driver that has a name.
fn drivers_with(name: &str) -> Vec<&'static str> {
    let mut drivers = Vec::new();
    let mut profiles = Vec::new();
    for profile in formats_with(name) {
        if !drivers.contains(&profile.driver()) || profile.driver().row().group == Some("legacy") {
            drivers.push(profile.driver());
            profiles.push(profile.name());
        }
    }
    profiles
}

/// The error for a name that the format does not have.
pub(super) fn unknown(of: &Index, name: &str) -> ProbeError {
    let elsewhere = drivers_with(name);
    if !elsewhere.is_empty() {
        let formats = elsewhere.join(", ");
        return ProbeError::unsupported_target(format_args!("{name} (a target of {formats})"));
    }
    let mut similar: Vec<(f64, &str)> = of
        .names()
        // Ids for an id, aliases for an alias.
        .filter(|known| known.contains('.') == name.contains('.'))
        .map(|known| (strsim::jaro_winkler(name, known), known))
        .filter(|(similarity, _)| *similarity >= SIMILAR)
        .collect();
    similar.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    // Names that share only an ending are not offered beside the one that was meant.
    let best = similar.first().map_or(0.0, |(similarity, _)| *similarity);
    similar.retain(|(similarity, _)| *similarity > best - 0.05);
    similar.truncate(MAX_OFFERED);
    let names: Vec<_> = similar.into_iter().map(|(_, known)| known).collect();
    if names.is_empty() {
        return ProbeError::unsupported_target(name);
    }
    let names = names.join(", ");
    ProbeError::unsupported_target(format_args!("{name} (did you mean {names}?)"))
}

/// The error for targets none of which has a usable path.
pub(super) fn unreachable(of: &Index, requested: TargetSet, level: Level) -> ProbeError {
    let ids: Vec<_> = requested.iter().map(Target::id).collect();
    let ids = ids.join(", ");
    let needs = requested
        .iter()
        .filter_map(|target| of.supported_levels(target).next())
        .min()
        .filter(|needed| *needed > level);
    match needs {
        Some(needed) => {
            ProbeError::unsupported_target(format_args!("{ids} (needs level {needed})"))
        }
        None => ProbeError::unsupported_target(ids),
    }
}

/// The error for selectors that have nothing at a level.
pub(super) fn empty(of: &Index, names: &[String], level: Level) -> ProbeError {
    match narrowed(of, names, level, TargetSet::EMPTY) {
        Some(reason) => ProbeError::invalid(format_args!("the target set is empty: {reason}")),
        None => ProbeError::invalid("the target set is empty"),
    }
}

/// What the level keeps out of selectors, and which level has it. `@header` and `@default` are defined
/// level by level: nothing is missing from them.
pub(super) fn narrowed(
    of: &Index,
    names: &[String],
    level: Level,
    requested: TargetSet,
) -> Option<String> {
    let mut narrowed = Vec::new();
    let mut known = requested;
    let mut levels = Vec::new();
    for deeper in Level::ALL.into_iter().filter(|deeper| *deeper > level) {
        let mut more = TargetSet::EMPTY;
        for name in names {
            if matches!(name.as_str(), "@header" | "@default") {
                continue;
            }
            let Some(full) = of.expand(name, deeper) else {
                continue;
            };
            let missing = full.difference(known);
            if !missing.is_empty() && !narrowed.contains(&name.as_str()) {
                narrowed.push(name);
            }
            more = more.union(missing);
        }
        if !more.is_empty() {
            let ids: Vec<_> = more.iter().map(Target::id).collect();
            levels.push(format!("{} (level {deeper})", ids.join(", ")));
            known = known.union(more);
        }
    }
    if levels.is_empty() {
        return None;
    }
    let verb = if narrowed.len() == 1 {
        "leaves"
    } else {
        "leave"
    };
    let selectors = narrowed.join(", ");
    let levels = levels.join("; ");
    Some(format!("{selectors} at level {level} {verb} out {levels}"))
}

/// Which formats have the names that this one lacks.
pub(super) fn not_applicable(profile: Profile, foreign: &[&str]) -> Option<String> {
    if foreign.is_empty() {
        return None;
    }
    let names: Vec<_> = foreign
        .iter()
        .map(|name| format!("{name} ({})", drivers_with(name).join(", ")))
        .collect();
    Some(format!(
        "not targets of {}, but of other formats: {}",
        profile.name(),
        names.join("; ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_narrowed_selector_names_what_is_missing_and_the_level_that_has_it() {
        let pdf = index(Profile::Pdf);
        let of = |list: &[&str], level| {
            let list = names(list);
            let requested = expand(pdf, &list, level, true).unwrap().targets;
            narrowed(pdf, &list, level, requested)
        };
        let security = of(&["@security"], Level::Metadata).unwrap();
        assert_eq!(
            security,
            "@security at level metadata leaves out security.active_content_risk, \
             security.has_javascript, security.signature_count (level deep)"
        );
        assert_eq!(of(&["@security"], Level::Deep), None);
        assert_eq!(of(&["@default", "@header", "title"], Level::Header), None);
        let rest = of(
            &["@security", "active_content_risk", "signature_count"],
            Level::Metadata,
        );
        assert!(
            rest.unwrap()
                .ends_with("out security.has_javascript (level deep)")
        );
        let both = of(&["@security", "@structure"], Level::Header).unwrap();
        assert!(both.contains("(level metadata); security."), "{both}");
    }

    #[test]
    fn a_name_of_another_format_is_told_from_a_misspelled_one() {
        let pdf = index(Profile::Pdf);
        let refused = |name: &str| unknown(pdf, name).message().to_owned();
        assert_eq!(
            refused("sheet_count"),
            "unsupported target: sheet_count (a target of xlsx, numbers, xls)"
        );
        assert_eq!(
            refused("page_cuont"),
            "unsupported target: page_cuont (did you mean page_count?)"
        );
        assert_eq!(refused("nonsense"), "unsupported target: nonsense");
    }
}
