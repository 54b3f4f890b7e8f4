//! What a document holds, by its kind.

use super::damage::Damage;
use super::keynote::Keynote;
use super::numbers::Numbers;
use super::package::Package;
use super::pages::Pages;
use super::tables::Tables;
use crate::contract::Confidence::Exact;
use crate::engine::catalogue::{DriverId, Profile, Target};
use crate::engine::container::iwa::DecodeError;
use crate::engine::findings::Findings;

/// The facts of one kind of document, gathered message by message.
pub(super) enum Content {
    Keynote(Keynote),
    Numbers(Numbers),
    Pages(Pages),
}

impl Content {
    pub(super) fn new(profile: Profile) -> Self {
        match profile.driver() {
            DriverId::Numbers => Self::Numbers(Numbers::default()),
            DriverId::Pages => Self::Pages(Pages::default()),
            _ => Self::Keynote(Keynote::default()),
        }
    }

    pub(super) fn wants(&mut self, identifier: u64, kind: u32) -> bool {
        match self {
            Self::Keynote(_) => Keynote::wants(kind),
            Self::Numbers(numbers) => numbers.wants(identifier, kind),
            Self::Pages(_) => Pages::wants(kind),
        }
    }

    /// Takes a message. One that was not wanted, or not by this, leaves no trace.
    pub(super) fn message(
        &mut self,
        identifier: u64,
        kind: u32,
        payload: &[u8],
    ) -> Result<(), DecodeError> {
        match self {
            Self::Keynote(keynote) => keynote.message(identifier, kind, payload),
            Self::Numbers(numbers) => numbers.message(identifier, kind, payload),
            Self::Pages(pages) => pages.message(identifier, kind, payload),
        }
    }

    /// Whether what the inventory needs is complete.
    pub(super) fn is_outlined(&self) -> bool {
        match self {
            Self::Keynote(keynote) => keynote.is_outlined(),
            Self::Numbers(numbers) => numbers.is_outlined(),
            Self::Pages(_) => true,
        }
    }

    /// The inventory's targets that need the outline.
    pub(super) fn outline_targets(&self) -> &'static [Target] {
        match self {
            Self::Keynote(_) => &[Target::KEYNOTE_SLIDE_COUNT],
            Self::Numbers(_) => &[Target::NUMBERS_SHEET_COUNT, Target::NUMBERS_SHEET_NAMES],
            Self::Pages(_) => &[],
        }
    }

    /// Puts the inventory's targets of this kind of document.
    pub(super) fn inventory(&self, package: &Package<'_>, out: &mut Findings) {
        let tiles = match self {
            Self::Keynote(_) => Target::KEYNOTE_TABLE_COMPONENT_COUNT,
            Self::Numbers(_) => Target::NUMBERS_TABLE_COMPONENT_COUNT,
            Self::Pages(_) => Target::PAGES_TABLE_COMPONENT_COUNT,
        };
        out.put(
            tiles,
            package.count("Tables/Tile"),
            Exact,
            "package entries",
        );
        match self {
            Self::Keynote(keynote) => keynote.inventory(package, out),
            Self::Numbers(numbers) => numbers.inventory(out),
            Self::Pages(_) => {}
        }
    }

    /// Puts the deep targets of this kind of document.
    pub(super) fn deep(&self, tables: &Tables, damage: Damage, out: &mut Findings) {
        match self {
            Self::Keynote(keynote) => keynote.deep(tables, damage, out),
            Self::Numbers(_) => Numbers::deep(tables, damage, out),
            Self::Pages(pages) => pages.deep(tables, damage, out),
        }
    }
}
