//! Walks the components, once and no further than somebody asks.
//!
//! Three depths: to the root object, which says what kind of document it is; to the outline, which
//! metadata targets need (the slide tree, the sheets); and everything, for deep. No payload is kept:
//! each message that matters leaves a few numbers.

use super::assets::Assets;
use super::content::Content;
use super::damage::Damage;
use super::package::{Component, Package};
use super::tables::Tables;
use crate::engine::budget::Meter;
use crate::engine::catalogue::Profile;
use crate::engine::container::iwa::{
    self, DecodeError, Decoder, Field, Fields, MessageCounts, Visitor, Wire,
};
use crate::engine::error::Result;

/// What is known of the components.
pub(super) struct Scan {
    profile: Profile,
    /// What the root object says the document is; `None` when none was found.
    pub(super) root: Option<Root>,
    pub(super) content: Content,
    pub(super) tables: Tables,
    pub(super) assets: Assets,
    pub(super) counts: MessageCounts,
    pub(super) damage: Damage,
    progress: Progress,
}

/// The kind of a document by its root object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    Keynote,
    Numbers,
    Pages,
    /// A root object that Keynote and Numbers share, without what tells them apart.
    KeynoteOrNumbers,
}

/// How far the components were walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Progress {
    Nothing,
    Root,
    Outline,
    Everything,
}

impl Scan {
    pub(super) fn new(profile: Profile) -> Self {
        Self {
            profile,
            root: None,
            content: Content::new(profile),
            tables: Tables::new(profile),
            assets: Assets::default(),
            counts: MessageCounts::default(),
            damage: Damage::default(),
            progress: Progress::Nothing,
        }
    }

    /// Walks the document component to the root object.
    ///
    /// # Errors
    /// Budget errors. Damage leaves the root unknown.
    pub(super) fn root(&mut self, package: &Package<'_>, meter: &Meter) -> Result<()> {
        self.progress = Progress::Root;
        if let Some(document) = package.document() {
            self.walk(document, Progress::Root, meter)?;
        }
        self.start_over();
        Ok(())
    }

    /// Makes the outline known, if there is one.
    ///
    /// # Errors
    /// Budget errors. Damage leaves the outline incomplete.
    pub(super) fn outline(&mut self, package: &Package<'_>, meter: &Meter) -> Result<()> {
        if self.progress >= Progress::Outline || self.content.is_outlined() {
            return Ok(());
        }
        // All of it is in the document component, but for documents that were split.
        for component in package.components().filter(Damage::loses_content) {
            self.walk(component, Progress::Outline, meter)?;
            if self.content.is_outlined() {
                break;
            }
        }
        self.progress = Progress::Outline;
        Ok(())
    }

    /// Decodes every component.
    ///
    /// # Errors
    /// Budget errors. Damage is noted.
    pub(super) fn everything(&mut self, package: &Package<'_>, meter: &Meter) -> Result<()> {
        if self.progress == Progress::Everything {
            return Ok(());
        }
        self.start_over();
        self.root = None;
        if package.has_damaged_index() {
            self.damage = Damage::ALL;
        }
        for component in package.components() {
            if !self.walk(component, Progress::Everything, meter)? {
                self.damage.add(&component);
            }
        }
        self.progress = Progress::Everything;
        Ok(())
    }

    fn start_over(&mut self) {
        self.content = Content::new(self.profile);
        self.counts = MessageCounts::default();
        self.damage = Damage::default();
    }

    /// Walks one component; `false` when it is damaged.
    fn walk(
        &mut self,
        component: Component<'_, '_>,
        goal: Progress,
        meter: &Meter,
    ) -> Result<bool> {
        let name = component.entry.name();
        let decoder = Decoder::new(component.archive.stream(component.entry), meter, name);
        let mut visitor = ComponentVisitor {
            goal,
            is_document: component.name() == Some("Document.iwa"),
            root: &mut self.root,
            content: &mut self.content,
            tables: &mut self.tables,
            assets: &mut self.assets,
        };
        match iwa::walk(decoder, &mut self.counts, &mut visitor) {
            Ok(()) => Ok(true),
            Err(error) if error.is_malformed() => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// What a walk looks at.
struct ComponentVisitor<'s> {
    goal: Progress,
    is_document: bool,
    root: &'s mut Option<Root>,
    content: &'s mut Content,
    tables: &'s mut Tables,
    assets: &'s mut Assets,
}

impl ComponentVisitor<'_> {
    fn wants_as_root(&self, kind: u32) -> bool {
        self.is_document && self.root.is_none() && matches!(kind, 1 | 10_000)
    }
}

impl Visitor for ComponentVisitor<'_> {
    fn wants(&mut self, identifier: u64, kind: u32) -> bool {
        let as_content = self.goal > Progress::Root && self.content.wants(identifier, kind);
        let as_part = self.goal == Progress::Everything
            && (self.tables.wants(kind) || self.assets.wants(kind));
        as_content || as_part || self.wants_as_root(kind)
    }

    fn message(&mut self, identifier: u64, kind: u32, payload: &[u8]) -> Result<(), DecodeError> {
        if self.wants_as_root(kind) {
            *self.root = Some(Root::of(kind, payload)?);
        }
        if self.goal > Progress::Root {
            self.content.message(identifier, kind, payload)?;
        }
        if self.goal == Progress::Everything {
            self.tables.message(identifier, kind, payload)?;
            self.assets.message(kind, payload)?;
        }
        Ok(())
    }

    fn is_satisfied(&self) -> bool {
        match self.goal {
            Progress::Nothing => true,
            Progress::Root => self.root.is_some(),
            Progress::Outline => self.content.is_outlined(),
            Progress::Everything => false,
        }
    }
}

impl Root {
    /// Reads the root object: `TP.DocumentArchive` is type 10000; `KN.DocumentArchive` and
    /// `TN.DocumentArchive` are both type 1, but only the former has a show (field 2), and only the
    /// latter keeps sheets in field 1 and what all documents have in field 8.
    fn of(kind: u32, payload: &[u8]) -> Result<Self, DecodeError> {
        if kind == 10_000 {
            return Ok(Self::Pages);
        }
        let (mut show, mut sheets) = (false, false);
        for field in Fields::of(payload) {
            match field? {
                Field {
                    number: 2,
                    value: Wire::Bytes(_),
                } => show = true,
                Field {
                    number: 1 | 8,
                    value: Wire::Bytes(_),
                } => sheets = true,
                _ => {}
            }
        }
        Ok(match (show, sheets) {
            (true, false) => Self::Keynote,
            (false, true) => Self::Numbers,
            _ => Self::KeynoteOrNumbers,
        })
    }
}
