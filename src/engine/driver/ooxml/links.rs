//! What the relationship parts of a package say about the outside and about embedded objects.

use super::{ends_ignore_case, unless_damaged};
use crate::engine::container::opc::{Package, Relationship};
use crate::engine::error::Result;

/// Most external relationships that are listed.
const MAX_LISTED: usize = 200;

/// Longest address that is kept.
const MAX_ADDRESS: usize = 2048;

/// What was seen in relationship parts.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    /// The package's own relationship part, which has been seen already.
    pub(super) root: Option<usize>,
    /// Something points out of the package.
    pub(super) external: bool,
    /// There is an embedded object or package.
    pub(super) embedded: bool,
    /// There is a relationship to a signature.
    pub(super) signature: bool,
    /// Parts that a relationship says are VBA projects.
    pub(super) vba: Vec<usize>,
    /// Some relationship part could not be read to its end, so what was not seen is not known.
    pub(super) damaged: bool,
    /// What points out of the package, with the part that has it.
    pub(super) outside: Vec<Outside>,
}

/// A relationship to something outside the package.
#[derive(Clone, Debug)]
pub(super) struct Outside {
    /// The last word of the relationship type.
    pub(super) kind: String,
    pub(super) part: String,
    pub(super) address: String,
}

/// What a scan has to find out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) external: bool,
    pub(super) embedded: bool,
    /// All that there is, with addresses.
    pub(super) everything: bool,
}

impl Links {
    /// Takes a relationship of the part `from`; the package itself is the empty name.
    pub(super) fn see(&mut self, package: &Package<'_>, from: &str, seen: &Relationship<'_>) {
        if seen.external {
            self.external = true;
            if self.outside.len() < MAX_LISTED {
                self.outside.push(Outside {
                    kind: seen.kind.last_word().to_owned(),
                    part: from.to_owned(),
                    address: seen.target.chars().take(MAX_ADDRESS).collect(),
                });
            }
        } else if seen.kind.is_embedding() {
            self.embedded = true;
        } else if seen.kind.is_signature() {
            self.signature = true;
        } else if seen.kind.is_vba_project() {
            let part = package.target(from, &seen.target);
            self.vba.extend(part.map(|part| part.index()));
        }
    }

    fn decided(&self, wanted: Wanted) -> bool {
        !wanted.everything
            && (self.external || !wanted.external)
            && (self.embedded || !wanted.embedded)
    }
}

/// Reads relationship parts until everything wanted has been found, or all of them.
pub(super) fn scan(package: &Package<'_>, seen: &Links, wanted: Wanted) -> Result<Links> {
    let mut links = seen.clone();
    links.embedded |= package
        .parts()
        .any(|(entry, _)| !entry.is_directory() && is_in_embeddings(entry.name()));
    for (entry, _) in package.parts() {
        if links.decided(wanted) {
            break;
        }
        if Some(entry.index()) == seen.root || !ends_ignore_case(entry.name(), ".rels") {
            continue;
        }
        package.meter().check_clock()?;
        let from = source_of(entry.trimmed_name());
        let read = package.relationships(entry, |relationship| {
            links.see(package, &from, relationship);
        });
        links.damaged |= unless_damaged(read)?.is_none();
    }
    Ok(links)
}

/// The part that a relationship part belongs to: `word/_rels/document.xml.rels` to `word/document.xml`.
fn source_of(name: &str) -> String {
    let stem = &name[..name.len() - ".rels".len()];
    stem.replacen("_rels/", "", 1)
}

pub(super) fn is_in_embeddings(name: &str) -> bool {
    name.split(['/', '\\'])
        .any(|segment| segment.eq_ignore_ascii_case("embeddings"))
}
