//! Walks the components, once and no further than somebody asks.
//!
//! Three depths: to the root object, which says what kind of document it is; to the outline, which
//! metadata targets need (the slide tree, the sheets); and everything, for deep. No payload is kept:
//! each message that matters leaves a few numbers.

use super::assets::Assets;
use super::content::Content;
use super::damage::Damage;
use super::package::{Component, Package};
use super::root::Root;
use super::tables::Tables;
use crate::engine::budget::Meter;
use crate::engine::catalogue::Profile;
use crate::engine::container::iwa::{self, DecodeError, Decoder, MessageCounts, Visitor};
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
        let mut decoder = Decoder::new(component.archive.stream(component.entry), meter, name);
        let is_document = component.name() == Some("Document.iwa");
        let mut visitor = ComponentVisitor {
            goal,
            is_document,
            root: &mut self.root,
            content: &mut self.content,
            tables: &mut self.tables,
            assets: &mut self.assets,
        };
        // The log of operations holds no objects of the document; its document component is never a log.
        let walked = match decoder.is_lzfse() {
            Ok(true) if !is_document => decoder.skip_lzfse(),
            Ok(_) => iwa::walk(decoder, &mut self.counts, &mut visitor),
            Err(error) => Err(error),
        };
        match walked {
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
            *self.root = Some(Root::read(kind, payload)?);
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
