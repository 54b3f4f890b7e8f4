//! What follows from the tables for one profile: names, applicability and selectors, computed once.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::formats::{Families, Profile};
use super::target::{Scope, TargetSpec};
use super::{Target, TargetSet};
use crate::contract::Level;

/// Fixed extra aliases, set where their target is in the catalogue (contract §6.1).
const EXTRA_ALIASES: [(&str, Target); 4] = [
    ("mime", Target::DOCUMENT_MIME_TYPE),
    ("profile", Target::DOCUMENT_FORMAT_PROFILE),
    ("macros", Target::SECURITY_HAS_MACROS),
    ("notes_count", Target::POWERPOINT_NOTES_SLIDE_COUNT),
];

/// The selectors, in the order of the discovery output.
pub(crate) const SELECTORS: [&str; 9] = [
    "@all",
    "@assets",
    "@default",
    "@format",
    "@header",
    "@quality",
    "@security",
    "@structure",
    "@summary",
];

/// One profile's catalogue, made searchable.
pub(crate) struct Index {
    profile: Profile,
    names: HashMap<&'static str, Target>,
    /// Aliases of each target of the catalogue, sorted.
    aliases: HashMap<Target, Vec<&'static str>>,
    /// A(L) of contract §6.5 for each level.
    applicable: [TargetSet; 3],
    /// Targets that only our paths offer, at deep.
    ours: TargetSet,
}

/// The index of a profile, made at its first use.
pub(crate) fn index(profile: Profile) -> &'static Index {
    static ALL: [OnceLock<Index>; Profile::COUNT] = [const { OnceLock::new() }; Profile::COUNT];
    ALL[profile as usize].get_or_init(|| Index::new(profile))
}

impl Index {
    fn new(profile: Profile) -> Self {
        let family = profile.family();
        let ours = select(|spec| spec.ours & family != 0);
        let contract = select(|spec| spec.contract & family != 0);
        let catalogue = contract.union(ours);
        let (names, aliases) = names(contract, ours);
        let applicable = Level::ALL.map(|level| {
            let paths = profile.paths();
            let reached = paths
                .filter(|path| path.row().min_level <= level)
                .fold(TargetSet::EMPTY, |set, path| {
                    set.union(path.yields().targets)
                })
                .intersection(catalogue);
            filter(reached, |target| target.spec().min_level <= level)
        });
        let ours = profile
            .paths()
            .fold(TargetSet::EMPTY, |set, path| set.union(path.yields().ours))
            .intersection(catalogue)
            .difference(applicable[2]);
        Self {
            profile,
            names,
            aliases,
            applicable,
            ours,
        }
    }

    /// All targets of the profile's catalogue: the contract's in table order, then ours.
    pub(crate) fn targets(&self) -> impl Iterator<Item = Target> {
        let family = self.profile.family();
        let contract = Target::in_table_order().filter(move |t| t.spec().contract & family != 0);
        contract.chain(Target::in_table_order().filter(move |t| t.spec().ours & family != 0))
    }

    /// Finds a target by its id or an alias.
    pub(crate) fn find(&self, name: &str) -> Option<Target> {
        self.names.get(name).copied()
    }

    /// All ids and aliases.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.names.keys().copied()
    }

    /// The aliases of a target, sorted.
    pub(crate) fn aliases(&self, target: Target) -> &[&'static str] {
        self.aliases.get(&target).map_or(&[], Vec::as_slice)
    }

    /// Whether some path at deep yields the target.
    pub(crate) fn is_applicable(&self, target: Target) -> bool {
        self.applicable[2].contains(target) || self.ours.contains(target)
    }

    /// The levels at which the target can be had.
    pub(crate) fn supported_levels(&self, target: Target) -> impl Iterator<Item = Level> {
        Level::ALL.into_iter().filter(move |level| {
            target.spec().min_level <= *level
                && self.profile.paths().any(|path| {
                    path.row().min_level <= *level && path.yields().all().contains(target)
                })
        })
    }

    /// What a selector expands to at a level; `None` for a name that is not a selector.
    pub(crate) fn expand(&self, selector: &str, level: Level) -> Option<TargetSet> {
        let family = self.profile.family();
        let applicable = self.applicable[level as usize];
        Some(match selector {
            "@header" => header(family),
            "@default" => default(family, level),
            "@summary" if level == Level::Header => header(family),
            "@summary" => {
                let more = select(|spec| spec.summary & family != 0);
                header(family).union(more.intersection(applicable))
            }
            "@security" => filter(applicable, |target| target.id().starts_with("security.")),
            "@structure" => filter(applicable, is_structure),
            "@assets" => filter(applicable, is_asset),
            "@quality" => filter(applicable, |target| {
                target.id().starts_with("quality.")
                    || matches!(
                        target,
                        Target::DOCUMENT_EXTENSION_MATCHES
                            | Target::OFFICE_CONFORMANCE
                            | Target::PDF_REPAIRED
                    )
            }),
            "@format" => filter(applicable, |target| target.spec().scope == Scope::Format),
            "@all" if level == Level::Deep => {
                let ours = filter(self.ours, |target| !target.spec().by_name_only);
                applicable.union(ours)
            }
            "@all" => applicable,
            _ => return None,
        })
    }
}

type Names = HashMap<&'static str, Target>;
type Aliases = HashMap<Target, Vec<&'static str>>;

/// Names and aliases. An alias is the text after the last dot of an id, where it is unique among the
/// contract's targets of the catalogue, and then among ours: a target of ours never takes an alias
/// from the contract's.
fn names(contract: TargetSet, ours: TargetSet) -> (Names, Aliases) {
    let catalogue = contract.union(ours);
    let alone_in = |set: TargetSet, suffix: &str| {
        set.iter().filter(|other| other.suffix() == suffix).count() <= 1
    };
    let mut names = Names::new();
    let mut aliases = Aliases::new();
    let mut add = |alias: &'static str, target: Target| {
        names.insert(alias, target);
        aliases.entry(target).or_default().push(alias);
    };
    for target in catalogue.iter() {
        let among = if contract.contains(target) {
            contract
        } else {
            catalogue
        };
        if alone_in(among, target.suffix()) {
            add(target.suffix(), target);
        }
    }
    for (alias, target) in EXTRA_ALIASES {
        if catalogue.contains(target) {
            add(alias, target);
        }
    }
    for target in catalogue.iter() {
        names.insert(target.id(), target);
    }
    for list in aliases.values_mut() {
        list.sort_unstable();
    }
    (names, aliases)
}

fn header(family: Families) -> TargetSet {
    select(|spec| spec.is_identity || spec.header & family != 0)
}

fn default(family: Families, level: Level) -> TargetSet {
    header(family).union(select(|spec| {
        level >= Level::Metadata && spec.default & family != 0
            || level >= Level::Deep && spec.deep_default & family != 0
    }))
}

fn select(keep: impl Fn(&TargetSpec) -> bool) -> TargetSet {
    let all = (0..Target::COUNT).map(Target::from_index);
    all.filter(|target| keep(target.spec())).collect()
}

fn filter(set: TargetSet, keep: impl Fn(Target) -> bool) -> TargetSet {
    set.iter().filter(|target| keep(*target)).collect()
}

fn is_structure(target: Target) -> bool {
    const PARTS: [&str; 12] = [
        "_count",
        "_names",
        ".slide_size",
        ".page_size",
        ".table_dimensions",
        ".body_text_length",
        ".aspect_ratio",
        ".orientation",
        ".presentation_kind",
        ".is_template",
        ".binary_workbook",
        ".document_kind",
    ];
    PARTS.iter().any(|part| target.id().contains(part))
}

fn is_asset(target: Target) -> bool {
    const PARTS: [&str; 7] = [
        "asset",
        "preview",
        "image",
        "media",
        "font",
        "attachment",
        "embedded",
    ];
    !target.id().starts_with("security.") && PARTS.iter().any(|part| target.id().contains(part))
}
