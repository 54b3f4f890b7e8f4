//! The relationships of the package itself, and the main part (ISO/IEC 29500-2, 9.3).

use std::cell::OnceCell;

use super::links::Links;
use super::unless_damaged;
use crate::engine::catalogue::Profile;
use crate::engine::container::opc::{Kind, Main, Package, Standing};
use crate::engine::error::{ProbeError, Result};

/// Where the relationships of the package lead, as positions in the archive.
#[derive(Debug, Default)]
pub(super) struct Root {
    pub(super) main: Option<usize>,
    /// The type of the relationship to the main part is one of the strict conformance class.
    pub(super) strict: Option<bool>,
    pub(super) core: Option<usize>,
    pub(super) app: Option<usize>,
    pub(super) custom: Option<usize>,
    /// The picture of the document itself, which does not belong to its content.
    pub(super) thumbnail: Option<usize>,
    pub(super) links: Links,
}

/// Finds the main part. When only one part has the content type of a main part, the relationship can
/// lead nowhere else and is not read.
pub(super) fn find_main(
    package: &Package<'_>,
    cell: &OnceCell<Root>,
    profile: Profile,
) -> Result<usize> {
    let mains = || {
        package
            .parts()
            .filter(|(_, kind)| matches!(kind, Kind::Main(_)))
            .map(|(entry, _)| entry.index())
    };
    let mut all = mains();
    if let (Some(only), None) = (all.next(), all.next()) {
        return Ok(only);
    }
    // A damaged relationship part does not end the probe.
    let expected = Kind::Main(main_kind(profile));
    root(package, cell)?
        .main
        .or_else(|| mains().find(|index| package.kind(package.entry(*index)) == expected))
        .ok_or_else(|| {
            ProbeError::malformed(format_args!(".{} package has no main part", profile.name()))
        })
}

/// The relationships of the package, read at first need.
pub(super) fn root<'c>(package: &Package<'_>, cell: &'c OnceCell<Root>) -> Result<&'c Root> {
    if let Some(root) = cell.get() {
        return Ok(root);
    }
    let root = read_root(package)?;
    Ok(cell.get_or_init(|| root))
}

fn read_root(package: &Package<'_>) -> Result<Root> {
    let mut root = Root::default();
    let Some(entry) = package.relationships_of("") else {
        return Ok(root);
    };
    root.links.root = Some(entry.index());
    // Where several relationships of one kind are there, the first of the best standing counts.
    let mut standings = [None; 5];
    let read = package.relationships(entry, |relationship| {
        root.links.see(package, "", relationship);
        if relationship.external {
            return;
        }
        let kind = &relationship.kind;
        let own = |transitional: &str, strict: &str| {
            if kind.is_office(if kind.is_strict() {
                strict
            } else {
                transitional
            }) {
                Some(Standing::Own)
            } else if kind.is_office(transitional) || kind.is_office(strict) {
                Some(Standing::Foreign)
            } else {
                None
            }
        };
        let (index, standing, slot) = if kind.is_office("officeDocument") {
            if root.main.is_none() {
                root.strict = Some(kind.is_strict());
            }
            (0, Standing::Own, &mut root.main)
        } else if let Some(standing) = kind.core_properties() {
            (1, standing, &mut root.core)
        } else if let Some(standing) = own("extended-properties", "extendedProperties") {
            (2, standing, &mut root.app)
        } else if let Some(standing) = own("custom-properties", "customProperties") {
            (3, standing, &mut root.custom)
        } else if kind.is_thumbnail() {
            (4, Standing::Own, &mut root.thumbnail)
        } else {
            return;
        };
        if standings[index] < Some(standing)
            && let Some(part) = package.target("", &relationship.target)
        {
            standings[index] = Some(standing);
            *slot = Some(part.index());
        }
    });
    root.links.damaged = unless_damaged(read)?.is_none();
    Ok(root)
}

/// The kind of main part that belongs to a profile.
pub(super) fn main_kind(profile: Profile) -> Main {
    match profile {
        Profile::Docm => Main::Docm,
        Profile::Dotx => Main::Dotx,
        Profile::Dotm => Main::Dotm,
        Profile::Xlsx => Main::Xlsx,
        Profile::Xlsm => Main::Xlsm,
        Profile::Xltx => Main::Xltx,
        Profile::Xltm => Main::Xltm,
        Profile::Xlsb => Main::Xlsb,
        Profile::Pptx => Main::Pptx,
        Profile::Pptm => Main::Pptm,
        Profile::Ppsx => Main::Ppsx,
        Profile::Ppsm => Main::Ppsm,
        Profile::Potx => Main::Potx,
        Profile::Potm => Main::Potm,
        _ => Main::Docx,
    }
}
