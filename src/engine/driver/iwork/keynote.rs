//! Keynote: the show, its slide tree and the nodes of its slides.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use super::damage::Damage;
use super::limit;
use super::package::Package;
use super::size::{self, Size, SizeTargets};
use super::tables::Tables;
use crate::contract::Confidence::{Exact, Medium};
use crate::engine::catalogue::Target;
use crate::engine::container::iwa::{DecodeError, Fields, reference};
use crate::engine::findings::Findings;

const DOCUMENT: u32 = 1;
const SHOW: u32 = 2;
const SLIDE_NODE: u32 = 4;

const SIZE: SizeTargets = SizeTargets {
    size: Target::KEYNOTE_SLIDE_SIZE,
    ratio: Target::KEYNOTE_ASPECT_RATIO,
    orientation: Target::KEYNOTE_ORIENTATION,
};

/// What is known of a presentation.
#[derive(Default)]
pub(super) struct Keynote {
    /// The show that the document names.
    show: Option<u64>,
    shows: HashMap<u64, Show>,
    nodes: HashMap<u64, Node>,
    /// How many nodes all shows and nodes name.
    references: usize,
    /// Nodes that the slide tree reaches, as far as it is known.
    reached: HashSet<u64>,
    /// Nodes that the slide tree names and that were not seen yet.
    missing: HashSet<u64>,
}

/// `KN.ShowArchive`.
#[derive(Default)]
struct Show {
    size: Size,
    /// The slides of the tree (older documents: their root node), in order.
    top: Vec<u64>,
}

/// `KN.SlideNodeArchive`: a place in the slide tree. Masters have nodes too, outside the tree.
#[derive(Default)]
struct Node {
    children: Vec<u64>,
    has_slide: bool,
    is_skipped: bool,
    has_builds: bool,
    has_transition: bool,
    has_note: bool,
}

impl Keynote {
    pub(super) fn wants(kind: u32) -> bool {
        matches!(kind, DOCUMENT | SHOW | SLIDE_NODE)
    }

    pub(super) fn message(
        &mut self,
        identifier: u64,
        kind: u32,
        payload: &[u8],
    ) -> Result<(), DecodeError> {
        match kind {
            DOCUMENT if self.show.is_none() => {
                self.show = reference(payload, 2)?;
                self.reach_show();
            }
            SHOW => {
                let show = Show::read(payload)?;
                self.count(show.top.len())?;
                if let Entry::Vacant(place) = self.shows.entry(identifier) {
                    place.insert(show);
                    if self.show == Some(identifier) {
                        self.reach_show();
                    }
                }
            }
            SLIDE_NODE => {
                let node = Node::read(payload)?;
                self.count(node.children.len())?;
                self.nodes.entry(identifier).or_insert(node);
                if self.missing.remove(&identifier) {
                    self.reach(vec![identifier]);
                }
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn is_outlined(&self) -> bool {
        self.current_show().is_some() && self.missing.is_empty()
    }

    pub(super) fn inventory(&self, package: &Package<'_>, out: &mut Findings) {
        let masters = package.count("MasterSlide") + package.count("TemplateSlide");
        out.put(
            Target::KEYNOTE_MASTER_SLIDE_COUNT,
            masters,
            Exact,
            "package entries",
        );
        if self.is_outlined() {
            let slides = self.slides().count();
            out.put(Target::KEYNOTE_SLIDE_COUNT, slides, Exact, "slide tree");
        } else {
            // The tree cannot be read, but every slide has a component. There may be orphans among
            // them, so this is an estimate.
            let slides = package.count("Slide");
            out.put(
                Target::KEYNOTE_SLIDE_COUNT,
                slides,
                Medium,
                "slide components",
            );
        }
    }

    pub(super) fn deep(&self, tables: &Tables, damage: Damage, out: &mut Findings) {
        match self.current_show() {
            Some(show) => size::put(&SIZE, show.size, "show object", out),
            None => size::unknown(&SIZE, out),
        }
        type Test = fn(&Node) -> bool;
        let counts: [(Target, Test); 4] = [
            (Target::KEYNOTE_HIDDEN_SLIDE_COUNT, |node| node.is_skipped),
            (Target::KEYNOTE_SLIDES_WITH_BUILDS_COUNT, |node| {
                node.has_builds
            }),
            (Target::KEYNOTE_SLIDES_WITH_TRANSITIONS_COUNT, |node| {
                node.has_transition
            }),
            (Target::KEYNOTE_SLIDES_WITH_NOTES_COUNT, |node| {
                node.has_note
            }),
        ];
        for (target, is_counted) in counts {
            let count = self.slides().filter(|node| is_counted(node)).count();
            let known = self.is_outlined().then_some(count);
            out.put_or_unknown(target, known, Exact, "slide nodes");
        }
        let count = (!damage.content).then(|| tables.count());
        out.put_or_unknown(Target::KEYNOTE_TABLE_COUNT, count, Exact, "table objects");
    }

    fn count(&mut self, references: usize) -> Result<(), DecodeError> {
        self.references += references;
        limit::check_items(self.references)
    }

    fn current_show(&self) -> Option<&Show> {
        self.shows.get(&self.show?)
    }

    /// The nodes of the tree that stand for a slide.
    fn slides(&self) -> impl Iterator<Item = &Node> {
        self.reached
            .iter()
            .filter_map(|identifier| self.nodes.get(identifier))
            .filter(|node| node.has_slide)
    }

    fn reach_show(&mut self) {
        if let Some(show) = self.current_show() {
            let top = show.top.clone();
            self.reach(top);
        }
    }

    /// Follows the tree as far as nodes are known. A node counts once, whoever names it.
    fn reach(&mut self, mut open: Vec<u64>) {
        while let Some(identifier) = open.pop() {
            let Some(node) = self.nodes.get(&identifier) else {
                self.missing.insert(identifier);
                continue;
            };
            if self.reached.insert(identifier) {
                open.extend(&node.children);
            }
        }
    }
}

impl Show {
    /// Field 3 is the slide tree (field 2 its slides, field 1 the root node of the first documents),
    /// field 4 the size.
    fn read(payload: &[u8]) -> Result<Self, DecodeError> {
        let mut show = Self::default();
        for field in Fields::of(payload) {
            let field = field?;
            let Some(bytes) = field.value.bytes() else {
                continue;
            };
            match field.number {
                3 => show.read_tree(bytes)?,
                4 => show.size = Size::read(bytes)?,
                _ => {}
            }
        }
        Ok(show)
    }

    fn read_tree(&mut self, tree: &[u8]) -> Result<(), DecodeError> {
        for field in Fields::of(tree) {
            let field = field?;
            if matches!(field.number, 1 | 2) {
                self.top.extend(field.value.reference()?);
                limit::check_items(self.top.len())?;
            }
        }
        Ok(())
    }
}

impl Node {
    fn read(payload: &[u8]) -> Result<Self, DecodeError> {
        let mut node = Self::default();
        for field in Fields::of(payload) {
            let field = field?;
            let is_set = field.value.number().is_some_and(|n| n != 0);
            match field.number {
                1 => {
                    node.children.extend(field.value.reference()?);
                    limit::check_items(node.children.len())?;
                }
                2 => node.has_slide |= field.value.reference()?.is_some(),
                4 => node.is_skipped = is_set,
                6 => node.has_builds = is_set,
                7 => node.has_transition = is_set,
                8 => node.has_note = is_set,
                _ => {}
            }
        }
        Ok(node)
    }
}
