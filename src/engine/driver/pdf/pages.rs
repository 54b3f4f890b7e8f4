//! The page tree (ISO 32000-2, 7.7.3).

use std::borrow::Cow;
use std::rc::Rc;

use super::visited::Visited;
use crate::engine::container::pdf::{Dict, Document, Object};
use crate::engine::error::Result;

/// Nodes that list at most this many kids have all of them read; of larger ones a sample is read.
const FEW: usize = 4;

/// Most times that inner nodes are entered again. Each listing of a page is a page, but a graph in
/// which every level lists the next one twice has more ways than atoms.
const MAX_REENTRIES: u32 = 1000;

/// Counts the pages. `None` when the tree cannot be read.
///
/// A node whose `Count` is the number of its kids, all of them present, has leaves only: such a node
/// is trusted after a look at a sample of its kids, so that a document of ten thousand pages costs its
/// page tree and not its pages. All other nodes are walked.
pub(super) fn count<'p>(document: &Document<'p>, catalogue: &Dict<'p>) -> Result<Option<u64>> {
    let mut walk = Walk::new(document, OF_TREE);
    let is_read = walk.run(catalogue, true, &mut |_, _| Ok(()))?;
    Ok(is_read.then_some(walk.pages))
}

/// Attributes that a page inherits from the nodes above it (table 31), as far as they are needed here.
/// They are shared, because they may be large and the pages many.
#[derive(Clone, Debug, Default)]
pub(super) struct Inherited<'p> {
    pub(super) media_box: Option<Rc<Object<'p>>>,
    pub(super) crop_box: Option<Rc<Object<'p>>>,
    pub(super) rotate: Option<Rc<Object<'p>>>,
    pub(super) resources: Option<Rc<Object<'p>>>,
}

impl<'p> Inherited<'p> {
    fn with(&self, node: &Dict<'p>) -> Self {
        let own = |key: &[u8], inherited: &Option<Rc<Object<'p>>>| match node.get(key) {
            Some(own) => Some(Rc::new(own.clone())),
            None => inherited.clone(),
        };
        Self {
            media_box: own(b"MediaBox", &self.media_box),
            crop_box: own(b"CropBox", &self.crop_box),
            rotate: own(b"Rotate", &self.rotate),
            resources: own(b"Resources", &self.resources),
        }
    }
}

/// Visits every page in the order of the document, with what it inherits, of each node the entries
/// that `keys` names. Returns whether the whole tree could be read.
///
/// # Errors
/// The errors of `visit`, budget and I/O errors.
pub(super) fn for_each<'p>(
    document: &Document<'p>,
    catalogue: &Dict<'p>,
    keys: &'static [&'static [u8]],
    mut visit: impl FnMut(&Dict<'p>, &Inherited<'p>) -> Result<()>,
) -> Result<bool> {
    Walk::new(document, keys).run(catalogue, false, &mut visit)
}

/// What has no kids is a page, unless it says that it is an empty inner node. `Type` is often missing
/// and sometimes wrong.
fn is_page(node: &Dict<'_>) -> bool {
    !node.is(b"Type", b"Pages") && !node.is(b"Type", b"Catalog")
}

/// The entries that the shape of the tree depends on.
const OF_TREE: &[&[u8]] = &[b"Type", b"Kids", b"Count"];

/// The entries that sizes and annotations are read from, and those of [`OF_TREE`].
pub(super) const OF_SIZES: &[&[u8]] = &[
    b"Type",
    b"Kids",
    b"Count",
    b"MediaBox",
    b"CropBox",
    b"Rotate",
    b"UserUnit",
    b"Annots",
];

/// Called with each page and what it inherits.
type Visit<'v, 'p> = dyn FnMut(&Dict<'p>, &Inherited<'p>) -> Result<()> + 'v;

struct Walk<'d, 'p> {
    document: &'d Document<'p>,
    /// The entries of nodes that are read.
    keys: &'static [&'static [u8]],
    pages: u64,
    /// Something lists pages or has a `Count` above 0. When no page is found then, the tree is damaged.
    promised: bool,
    /// Inner nodes that were entered before.
    entered: Visited,
    reentries: u32,
    /// The nodes from the root to the one being visited. A kid that is one of them is a cycle.
    open: Visited,
}

/// An inner node whose kids are being visited.
struct Frame<'p> {
    kids: std::vec::IntoIter<Object<'p>>,
    number: Option<u32>,
    inherited: Inherited<'p>,
}

impl<'d, 'p> Walk<'d, 'p> {
    fn new(document: &'d Document<'p>, keys: &'static [&'static [u8]]) -> Self {
        Self {
            document,
            keys,
            pages: 0,
            promised: false,
            entered: Visited::default(),
            reentries: 0,
            open: Visited::default(),
        }
    }

    /// Walks the tree in document order. With `trust`, nodes are counted without a visit to their
    /// pages where that is safe.
    fn run(
        &mut self,
        catalogue: &Dict<'p>,
        trust: bool,
        visit: &mut Visit<'_, 'p>,
    ) -> Result<bool> {
        let unread = self.document.blocked();
        let Some(root) = catalogue.get(b"Pages") else {
            return Ok(false);
        };
        let Some(node) = self.node(root)? else {
            return Ok(false);
        };
        let mut stack = Vec::new();
        let inherited = Inherited::default();
        let frame = self.enter(root, &node, &inherited, trust, visit)?;
        stack.extend(frame);
        while let Some(frame) = stack.last_mut() {
            self.document.count_step()?;
            let Some(kid) = frame.kids.next() else {
                if let Some(number) = frame.number {
                    self.open.remove(number);
                }
                stack.pop();
                continue;
            };
            let Some(node) = self.node(&kid)? else {
                continue;
            };
            let inherited = frame.inherited.clone();
            let next = self.enter(&kid, &node, &inherited, trust, visit)?;
            if self.reentries > MAX_REENTRIES {
                return Ok(false);
            }
            stack.extend(next);
        }
        Ok(self.document.blocked() == unread && (self.pages > 0 || !self.promised))
    }

    /// Counts and visits a page, or returns the frame of an inner node.
    fn enter(
        &mut self,
        object: &Object<'p>,
        node: &Dict<'p>,
        above: &Inherited<'p>,
        trust: bool,
        visit: &mut Visit<'_, 'p>,
    ) -> Result<Option<Frame<'p>>> {
        let Some(kids) = self.kids(node)? else {
            if is_page(node) {
                self.pages += 1;
                visit(node, above)?;
            }
            self.promised |= self.claim(node)?.is_some_and(|claim| claim > 0);
            return Ok(None);
        };
        let number = object.as_ref().map(|reference| reference.number);
        if let Some(number) = number {
            if !self.open.insert(number) {
                return Ok(None);
            }
            if !self.entered.insert(number) {
                self.reentries += 1;
            }
        }
        self.promised |= self.lists(&kids)?;
        if trust && self.has_leaves_only(node, &kids)? {
            self.pages += kids.len() as u64;
            if let Some(number) = number {
                self.open.remove(number);
            }
            return Ok(None);
        }
        Ok(Some(Frame {
            kids: kids.into_owned().into_iter(),
            number,
            inherited: above.with(node),
        }))
    }

    /// A node of the tree. `None` when there is none.
    fn node(&self, object: &Object<'p>) -> Result<Option<Dict<'p>>> {
        let node = self.document.resolve_required(object, self.keys)?;
        Ok(match node.into_owned() {
            Object::Dict(dict) => Some(dict),
            _ => None,
        })
    }

    fn kids<'o>(&self, node: &'o Dict<'p>) -> Result<Option<Cow<'o, [Object<'p>]>>> {
        Ok(match self.document.get(node, b"Kids")? {
            Some(Cow::Borrowed(Object::Array(kids))) => Some(Cow::Borrowed(kids)),
            Some(Cow::Owned(Object::Array(kids))) => Some(Cow::Owned(kids)),
            _ => None,
        })
    }

    /// Whether some kid was not freed by an update. What was freed is null for certain.
    fn lists(&self, kids: &[Object<'p>]) -> Result<bool> {
        for kid in kids {
            let is_freed = match kid.as_ref() {
                Some(reference) => self.document.is_freed(reference.number)?,
                None => false,
            };
            if !is_freed {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn claim(&self, node: &Dict<'p>) -> Result<Option<u64>> {
        let count = self.document.get(node, b"Count")?;
        Ok(count.and_then(|count| count.as_u64()))
    }

    /// Whether all kids of a node are pages, as far as that can be known without reading them all.
    fn has_leaves_only(&self, node: &Dict<'p>, kids: &[Object<'p>]) -> Result<bool> {
        if kids.len() <= FEW || self.claim(node)? != Some(kids.len() as u64) {
            return Ok(false);
        }
        for index in [0, kids.len() / 2, kids.len() - 1] {
            let kid = self.document.resolve_keys(&kids[index], OF_TREE)?;
            if !kid
                .as_dict()
                .is_some_and(|kid| !kid.has(b"Kids") && is_page(kid))
            {
                return Ok(false);
            }
        }
        for kid in kids {
            let Some(kid) = kid.as_ref() else {
                return Ok(false);
            };
            if !self.document.is_in_use(kid.number)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
