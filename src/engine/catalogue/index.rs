//! What follows from the tables for one profile: names, applicability and selectors, computed once.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::profiles::{Family, IDENTITY, SUMMARY};
use super::{Profile, Target, TargetSet};
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
    static ALL: [LazyLock<Index>; Profile::COUNT] = {
        macro_rules! lazy {
            ($($profile:ident)*) => { [$(LazyLock::new(|| Index::new(Profile::$profile)),)*] };
        }
        lazy!(Pdf Docx Docm Dotx Dotm Xlsx Xlsm Xltx Xltm Xlsb Pptx Pptm Ppsx Ppsm Potx Potm Key
            Numbers Pages Doc Xls Ppt EncryptedOoxml)
    };
    &ALL[profile as usize]
}

impl Index {
    fn new(profile: Profile) -> Self {
        let catalogue: TargetSet = profile.targets().collect();
        let (names, aliases) = names(catalogue, TargetSet::of(profile.family().our_targets));
        let family = profile.family();
        let applicable = Level::ALL.map(|level| {
            family
                .paths
                .iter()
                .map(|path| path.spec())
                .filter(|path| path.min_level <= level)
                .fold(TargetSet::EMPTY, |set, path| set.union(path.targets))
                .intersection(catalogue)
                .iter()
                .filter(|target| target.spec().min_level <= level)
                .collect()
        });
        let ours = family
            .paths
            .iter()
            .fold(TargetSet::EMPTY, |set, path| set.union(path.spec().ours))
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

    /// Finds a target by its id or an alias.
    pub(crate) fn find(&self, name: &str) -> Option<Target> {
        self.names.get(name).copied()
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
        let family = self.profile.family();
        Level::ALL.into_iter().filter(move |level| {
            target.spec().min_level <= *level
                && family.paths.iter().map(|path| path.spec()).any(|path| {
                    path.min_level <= *level && path.targets.union(path.ours).contains(target)
                })
        })
    }

    /// What a selector stands for at a level; `None` for a name that is no selector.
    pub(crate) fn expand(&self, selector: &str, level: Level) -> Option<TargetSet> {
        let family = self.profile.family();
        let applicable = self.applicable[level as usize];
        Some(match selector {
            "@header" => header(family),
            "@default" => default(family, level),
            "@summary" if level == Level::Header => header(family),
            "@summary" => {
                let more = TargetSet::of(SUMMARY).union(TargetSet::of(family.summary));
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
            "@format" => filter(applicable, |target| {
                target.spec().scope == super::targets::Scope::Format
            }),
            "@all" if level == Level::Deep => applicable.union(self.ours),
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
fn names(catalogue: TargetSet, ours: TargetSet) -> (Names, Aliases) {
    let contract = catalogue.difference(ours);
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

fn header(family: &Family) -> TargetSet {
    TargetSet::of(IDENTITY).union(TargetSet::of(family.header))
}

fn default(family: &Family, level: Level) -> TargetSet {
    let mut set = header(family);
    if level >= Level::Metadata {
        set = set.union(TargetSet::of(family.metadata_default));
    }
    if level >= Level::Deep {
        set = set.union(TargetSet::of(family.deep_default));
    }
    set
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
