//! The page tree (ISO 32000-2, 7.7.3).

use std::borrow::Cow;
use std::rc::Rc;

use super::visited::Visited;
use crate::engine::container::pdf::{Dict, Document, Object};
use crate::engine::error::Result;

/// Nodes that list at most this many kids have all of them looked at; of larger ones a sample.
const FEW: usize = 4;

/// Counts the pages. `None` when the tree cannot be read.
///
/// A node whose `Count` is the number of its kids, all different and present, has leaves only: such a
/// node is believed after a look at a sample of its kids, so that a document of ten thousand pages
/// costs its page tree and not its pages. Everything else is walked. A page that is listed twice is
/// one page.
pub(super) fn count<'p>(document: &Document<'p>, catalogue: &Dict<'p>) -> Result<Option<u64>> {
    let blocked = document.blocked();
    let mut walk = Walk::new(document, OF_TREE);
    let mut count = 0;
    // A tree that lists or announces pages and leads to none cannot be read.
    let mut promised = false;
    let Some(root) = walk.root(catalogue)? else {
        return Ok(None);
    };
    let mut stack = vec![root];
    while let Some(node) = stack.pop() {
        document.count_step()?;
        let Some(kids) = walk.kids(&node)? else {
            count += u64::from(is_page(&node));
            promised |= walk.announces(&node)?;
            continue;
        };
        promised |= walk.lists(&kids)?;
        if let Some(leaves) = walk.believed(&node, &kids)? {
            count += leaves;
            continue;
        }
        for kid in kids.iter() {
            stack.extend(walk.enter(kid)?);
        }
    }
    let is_known = document.blocked() == blocked && (count > 0 || !promised);
    Ok(is_known.then_some(count))
}

/// Attributes that the nodes above hand down to a page (table 31), as they are needed here. They are
/// shared: what a document hands down may be large, and the pages below it many.
#[derive(Clone, Debug, Default)]
pub(super) struct Inherited<'p> {
    pub(super) media_box: Option<Rc<Object<'p>>>,
    pub(super) crop_box: Option<Rc<Object<'p>>>,
    pub(super) rotate: Option<Rc<Object<'p>>>,
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
        }
    }
}

/// Visits every page with what the nodes above hand down to it, in no promised order. Returns whether
/// the tree could be read.
///
/// # Errors
/// What `visit` says, budget and I/O errors.
pub(super) fn for_each<'p>(
    document: &Document<'p>,
    catalogue: &Dict<'p>,
    mut visit: impl FnMut(&Dict<'p>, &Inherited<'p>) -> Result<()>,
) -> Result<bool> {
    let blocked = document.blocked();
    let mut walk = Walk::new(document, OF_PAGES);
    let Some(root) = walk.root(catalogue)? else {
        return Ok(false);
    };
    let (mut count, mut promised) = (0_u64, false);
    let mut stack = vec![(root, Inherited::default())];
    while let Some((node, above)) = stack.pop() {
        document.count_step()?;
        let Some(kids) = walk.kids(&node)? else {
            if is_page(&node) {
                count += 1;
                visit(&node, &above)?;
            }
            promised |= walk.announces(&node)?;
            continue;
        };
        promised |= walk.lists(&kids)?;
        let inherited = above.with(&node);
        for kid in kids.iter() {
            if let Some(kid) = walk.enter(kid)? {
                // Leaves are visited at once: the stack holds inner nodes only.
                if kid.has(b"Kids") {
                    stack.push((kid, inherited.clone()));
                } else if is_page(&kid) {
                    count += 1;
                    visit(&kid, &inherited)?;
                }
            }
        }
    }
    Ok(document.blocked() == blocked && (count > 0 || !promised))
}

/// What has no kids is a page, unless it says that it is an empty inner node. `Type` is often left
/// out, and sometimes wrong.
fn is_page(node: &Dict<'_>) -> bool {
    !node.is(b"Type", b"Pages") && !node.is(b"Type", b"Catalog")
}

/// What a node says of the tree.
const OF_TREE: &[&[u8]] = &[b"Type", b"Kids", b"Count"];

/// What visitors of pages look at besides.
const OF_PAGES: &[&[u8]] = &[
    b"Type",
    b"Kids",
    b"Count",
    b"MediaBox",
    b"CropBox",
    b"Rotate",
    b"UserUnit",
    b"Annots",
];

struct Walk<'d, 'p> {
    document: &'d Document<'p>,
    /// The entries of nodes that are read.
    keys: &'static [&'static [u8]],
    seen: Visited,
}

impl<'d, 'p> Walk<'d, 'p> {
    fn new(document: &'d Document<'p>, keys: &'static [&'static [u8]]) -> Self {
        Self {
            document,
            keys,
            seen: Visited::default(),
        }
    }

    fn root(&mut self, catalogue: &Dict<'p>) -> Result<Option<Dict<'p>>> {
        match catalogue.get(b"Pages") {
            Some(root) => self.enter(root),
            None => Ok(None),
        }
    }

    /// A node, unless it was there before or is none.
    fn enter(&mut self, node: &Object<'p>) -> Result<Option<Dict<'p>>> {
        self.document.count_step()?;
        match node {
            Object::Ref(reference) if !self.seen.insert(reference.number) => Ok(None),
            node => Ok(
                match self.document.resolve_keys(node, self.keys)?.into_owned() {
                    Object::Dict(dict) => Some(dict),
                    _ => None,
                },
            ),
        }
    }

    fn kids<'o>(&self, node: &'o Dict<'p>) -> Result<Option<Cow<'o, [Object<'p>]>>> {
        Ok(match self.document.get(node, b"Kids")? {
            Some(Cow::Borrowed(Object::Array(kids))) => Some(Cow::Borrowed(kids)),
            Some(Cow::Owned(Object::Array(kids))) => Some(Cow::Owned(kids)),
            _ => None,
        })
    }

    /// Whether something is listed that no update took away: what is freed is null for certain.
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

    /// Whether a node without kids says that it has pages.
    fn announces(&self, node: &Dict<'p>) -> Result<bool> {
        Ok(self.claim(node)?.is_some_and(|claim| claim > 0))
    }

    fn claim(&self, node: &Dict<'p>) -> Result<Option<u64>> {
        let count = self.document.get(node, b"Count")?;
        Ok(count.and_then(|count| count.as_u64()))
    }

    /// The number of leaves of a node, if it can be known without walking.
    fn believed(&mut self, node: &Dict<'p>, kids: &[Object<'p>]) -> Result<Option<u64>> {
        let claim = self.claim(node)?;
        if claim != Some(kids.len() as u64) || kids.len() <= FEW {
            return Ok(None);
        }
        let sample = [0, kids.len() / 2, kids.len() - 1];
        for index in sample {
            let is_leaf = match self.document.resolve_keys(&kids[index], OF_TREE)?.as_dict() {
                Some(kid) => !kid.has(b"Kids") && is_page(kid),
                None => false,
            };
            if !is_leaf {
                return Ok(None);
            }
        }
        let mut numbers = Vec::with_capacity(kids.len());
        for kid in kids {
            match kid {
                Object::Ref(kid) if self.document.is_in_use(kid.number)? => {
                    numbers.push(kid.number)
                }
                _ => return Ok(None),
            }
        }
        let new = numbers
            .iter()
            .filter(|number| self.seen.insert(**number))
            .count();
        Ok(Some(new as u64))
    }
}
