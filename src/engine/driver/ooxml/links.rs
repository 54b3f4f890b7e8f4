//! What the relationship parts of a package say about the outside and about embedded objects.

use super::{ends_ignore_case, unless_damaged};
use crate::engine::container::opc::{Package, Relationship};
use crate::engine::error::Result;

/// What was seen in relationship parts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Links {
    /// The package's own relationship part, which has been seen already.
    pub(super) root: Option<usize>,
    /// Something points out of the package.
    pub(super) external: bool,
    /// There is an embedded object or package.
    pub(super) embedded: bool,
    /// There is a relationship to a signature.
    pub(super) signature: bool,
    /// Some relationship part could not be read to its end, so what was not seen is not known.
    pub(super) damaged: bool,
}

/// What a scan has to find out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) external: bool,
    pub(super) embedded: bool,
}

impl Links {
    pub(super) fn see(&mut self, relationship: &Relationship<'_>) {
        if relationship.external {
            self.external = true;
        } else if relationship.kind.is_embedding() {
            self.embedded = true;
        } else if relationship.kind.is_signature() {
            self.signature = true;
        }
    }

    fn decided(&self, wanted: Wanted) -> bool {
        (self.external || !wanted.external) && (self.embedded || !wanted.embedded)
    }
}

/// Reads relationship parts until everything wanted has been found, or all of them.
pub(super) fn scan(package: &Package<'_>, seen: Links, wanted: Wanted) -> Result<Links> {
    let mut links = seen;
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
        let read = package.relationships(entry, |relationship| links.see(relationship));
        links.damaged |= unless_damaged(read)?.is_none();
    }
    Ok(links)
}

fn is_in_embeddings(name: &str) -> bool {
    name.split(['/', '\\'])
        .any(|segment| segment.eq_ignore_ascii_case("embeddings"))
}
