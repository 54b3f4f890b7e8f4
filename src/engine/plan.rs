//! The planner: from a request and a profile to the paths that answer it (contract §6, §7).

mod names;

use self::names::{Names, empty, expand};
use super::catalogue::{FormatOptions, Index, PathId, Profile, Target, TargetSet, index};
use super::detect;
use super::error::{ProbeError, Result};
use super::findings::Findings;
use crate::contract::{Confidence, Level, ProbeOptions};

/// How one request is answered for one profile. It depends on nothing else, so it is made once per
/// option set and profile.
#[derive(Debug)]
pub(crate) struct Plan {
    /// What was asked for.
    pub(crate) requested: TargetSet,
    /// Optional targets that a chosen path yields anyway.
    pub(crate) granted: TargetSet,
    /// Requested targets that no path yields at this level and confidence.
    pub(crate) unsupported: TargetSet,
    /// The chosen paths, in order of choice, which is the order of execution.
    pub(crate) paths: Vec<PathId>,
    pub(crate) estimated_cost: u64,
    pub(crate) level: Level,
    pub(crate) options: FormatOptions,
    /// What the level keeps out of the selectors that were requested, as a sentence.
    pub(crate) narrowed: Option<String>,
    /// Which requested names belong to other formats, as a sentence.
    pub(crate) not_applicable: Option<String>,
    floor: Confidence,
    overrides: Vec<(Target, Confidence)>,
}

impl Plan {
    /// Plans a request.
    ///
    /// # Errors
    /// `INVALID_REQUEST` and `UNSUPPORTED_TARGET`, in the contract's order of checks.
    pub(crate) fn new(request: &ProbeOptions, profile: Profile) -> Result<Self> {
        if let Some(asserted) = &request.input_format
            && !detect::satisfies(profile, asserted)
        {
            return Err(ProbeError::invalid(format_args!(
                "input format {asserted:?} was asserted, but the input is {}/{}",
                profile.driver().as_str(),
                profile.name()
            )));
        }
        let index = index(profile);
        let default = ["@default".to_owned()];
        let names = if request.targets.is_empty() {
            &default
        } else {
            &request.targets[..]
        };
        // In a mixed folder one list of names serves documents of several formats.
        let is_list = names.len() > 1;
        let Names {
            targets: requested,
            foreign,
        } = expand(index, names, request.level, is_list)?;
        if requested.is_empty() && foreign.is_empty() {
            return Err(empty(index, names, request.level));
        }
        let optional = expand(index, &request.optional_targets, request.level, is_list)?;
        if optional.is_empty() && !request.optional_targets.is_empty() {
            return Err(ProbeError::invalid("the optional target set is empty"));
        }
        let optional = optional.targets.difference(requested);
        let overrides = overrides(index, request, requested.union(optional))?;
        let driver = profile.driver().row();
        let options = FormatOptions::parse(driver.name, driver.options, &request.format_options)
            .map_err(ProbeError::invalid)?;
        let mut plan = Self {
            requested,
            granted: TargetSet::EMPTY,
            unsupported: requested,
            paths: Vec::new(),
            estimated_cost: 0,
            level: request.level,
            options,
            narrowed: names::narrowed(index, names, request.level, requested),
            not_applicable: names::not_applicable(profile, &foreign),
            floor: request.min_confidence,
            overrides,
        };
        plan.choose(profile);
        if plan.paths.is_empty() && !requested.is_empty() {
            return Err(names::unreachable(index, requested, request.level));
        }
        if !request.no_piggyback {
            plan.granted = plan.grant(optional);
        }
        Ok(plan)
    }

    /// Everything that gets an entry in the report.
    pub(crate) fn wanted(&self) -> TargetSet {
        self.requested.union(self.granted)
    }

    /// Requested targets that no path yields, or that came back without a value that satisfies.
    /// Without findings (only the plan was asked for): just the former.
    pub(crate) fn unresolved(&self, findings: Option<&Findings>) -> TargetSet {
        let Some(findings) = findings else {
            return self.unsupported;
        };
        let is_lacking = |target: &Target| {
            findings.get(*target).is_none_or(|finding| {
                finding.value.is_none() || finding.confidence < self.minimum(*target)
            })
        };
        let lacking = self.requested.iter().filter(is_lacking).collect();
        self.unsupported.union(lacking)
    }

    /// The least confidence that satisfies the request for a target.
    pub(crate) fn minimum(&self, target: Target) -> Confidence {
        let own = self
            .overrides
            .iter()
            .rev()
            .find(|(named, _)| *named == target);
        own.map_or(self.floor, |(_, confidence)| *confidence)
    }

    /// The greedy choice of contract §7: cheapest per target, then more confident, then by id.
    fn choose(&mut self, profile: Profile) {
        let usable: Vec<PathId> = profile
            .paths()
            .filter(|path| path.row().min_level <= self.level)
            .filter(|path| path.row().when.is_none_or(|when| when(&self.options)))
            .collect();
        while let Some((path, covered)) = usable
            .iter()
            .map(|path| (*path, self.covered(*path, self.unsupported)))
            .filter(|(_, covered)| !covered.is_empty())
            .min_by_key(|(path, covered)| {
                let row = path.row();
                let price = row.estimated_cost / u64::from(covered.len());
                (price, std::cmp::Reverse(row.confidence), row.name)
            })
        {
            self.paths.push(path);
            self.estimated_cost += path.row().estimated_cost;
            self.unsupported = self.unsupported.difference(covered);
        }
    }

    /// The targets of a set that a path yields with enough confidence.
    fn covered(&self, path: PathId, set: TargetSet) -> TargetSet {
        let offered = path.yields().all().intersection(set);
        let confidence = path.row().confidence;
        if self.overrides.is_empty() {
            return if confidence >= self.floor {
                offered
            } else {
                TargetSet::EMPTY
            };
        }
        offered
            .iter()
            .filter(|target| confidence >= self.minimum(*target))
            .collect()
    }

    fn grant(&self, optional: TargetSet) -> TargetSet {
        self.paths.iter().fold(TargetSet::EMPTY, |set, path| {
            set.union(self.covered(*path, optional))
        })
    }
}

fn overrides(
    index: &Index,
    request: &ProbeOptions,
    known: TargetSet,
) -> Result<Vec<(Target, Confidence)>> {
    let mut overrides = Vec::with_capacity(request.target_confidence.len());
    for (name, confidence) in &request.target_confidence {
        let Some(target) = index.find(name) else {
            return Err(names::unknown(index, name));
        };
        if !known.contains(target) {
            return Err(ProbeError::invalid(format_args!(
                "a confidence was given for {name}, which is not among the targets"
            )));
        }
        overrides.push((target, *confidence));
    }
    Ok(overrides)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(targets: &[&str], level: Level) -> ProbeOptions {
        let targets = targets.iter().map(|name| (*name).to_owned()).collect();
        ProbeOptions {
            targets,
            level,
            ..ProbeOptions::default()
        }
    }

    fn paths(plan: &Plan) -> Vec<&'static str> {
        plan.paths.iter().map(|path| path.name()).collect()
    }

    #[test]
    fn the_cheapest_path_per_target_goes_first() {
        let plan = Plan::new(
            &request(&["title", "@header"], Level::Metadata),
            Profile::Docx,
        )
        .unwrap();
        assert_eq!(paths(&plan), ["ooxml.identity", "ooxml.core_properties"]);
        assert_eq!(plan.estimated_cost, 9);
        let plan = Plan::new(&request(&["slide_count"], Level::Metadata), Profile::Pptx).unwrap();
        assert_eq!(paths(&plan), ["powerpoint.app_statistics"]);
    }

    #[test]
    fn what_no_path_yields_is_unsupported_and_only_an_empty_plan_is_an_error() {
        let both = request(&["file_size", "has_macros"], Level::Header);
        let plan = Plan::new(&both, Profile::Docx).unwrap();
        assert_eq!(
            plan.unsupported,
            TargetSet::of(&[Target::SECURITY_HAS_MACROS])
        );
        let alone = request(&["has_macros"], Level::Header);
        let refused = Plan::new(&alone, Profile::Docx).unwrap_err();
        assert_eq!(
            refused.message(),
            "unsupported target: security.has_macros (needs level metadata)"
        );
        assert!(
            Plan::new(&alone, Profile::Doc).is_ok(),
            "the inventory path is header level"
        );
    }

    #[test]
    fn confidence_floors_choose_the_path_and_overrides_go_both_ways() {
        let mut exact = request(&["slide_count"], Level::Metadata);
        exact.min_confidence = Confidence::Exact;
        let plan = Plan::new(&exact, Profile::Pptx).unwrap();
        assert_eq!(paths(&plan), ["powerpoint.presentation_xml"]);
        exact.target_confidence = [("slide_count".into(), Confidence::Low)].into();
        let plan = Plan::new(&exact, Profile::Pptx).unwrap();
        assert_eq!(paths(&plan), ["powerpoint.app_statistics"]);
        exact.target_confidence = [("title".into(), Confidence::Low)].into();
        let refused = Plan::new(&exact, Profile::Pptx).unwrap_err();
        assert!(
            refused.message().starts_with("invalid request: "),
            "{refused}"
        );
    }

    #[test]
    fn optional_targets_ride_along_or_vanish() {
        let mut request = request(&["title"], Level::Metadata);
        request.optional_targets = vec!["author".into(), "slide_count".into()];
        let plan = Plan::new(&request, Profile::Pptx).unwrap();
        assert_eq!(plan.granted, TargetSet::of(&[Target::DOCUMENT_AUTHOR]));
        request.no_piggyback = true;
        assert!(
            Plan::new(&request, Profile::Pptx)
                .unwrap()
                .granted
                .is_empty()
        );
        request.optional_targets = vec!["nonsense".into()];
        let refused = Plan::new(&request, Profile::Pptx).unwrap_err();
        assert_eq!(refused.message(), "unsupported target: nonsense");
    }

    #[test]
    fn a_selector_that_expands_to_nothing_is_an_error_when_alone() {
        let empty = request(&["@assets"], Level::Header);
        assert!(
            Plan::new(&empty, Profile::Docx)
                .unwrap_err()
                .message()
                .contains("empty")
        );
        let both = request(&["@assets", "@header"], Level::Header);
        assert!(Plan::new(&both, Profile::Docx).is_ok());
    }
}
