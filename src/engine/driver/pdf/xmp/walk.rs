//! The walk over a packet: which elements and attributes are properties of the document.

use super::{Field, Fields, Xmp, known};
use crate::engine::container::xml::Ns;

/// Most items of a list that are joined.
const MAX_ITEMS: usize = 1000;

/// Collects properties from the elements of a packet, in document order.
#[derive(Default)]
pub(super) struct Walk {
    xmp: Xmp,
    /// What may still be found. When it is empty, the rest need not be read.
    missing: Fields,
    /// The depth of the document's descriptions, directly below `rdf:RDF`. Deeper ones describe other
    /// things, such as the ingredients in `xmpMM:Pantry`.
    described: Option<usize>,
    /// The property whose element is open, and its depth.
    property: Option<(Field, usize)>,
    /// Text of the item, or of the property itself.
    item: String,
    items: Vec<String>,
    /// Whether the item is in the default language. Such an item goes first.
    is_default: bool,
    in_item: bool,
}

impl Walk {
    pub(super) fn new(missing: Fields) -> Self {
        Self {
            missing,
            ..Self::default()
        }
    }

    /// Whether everything that may be found is found.
    pub(super) fn is_done(&self) -> bool {
        self.missing.is_empty()
    }

    pub(super) fn into_xmp(self) -> Xmp {
        self.xmp
    }

    /// Enters an element that has `depth` ancestors.
    pub(super) fn open(&mut self, depth: usize, ns: Ns, local: &str) {
        match (self.property, self.described) {
            (None, None) => {
                if ns == Ns::Rdf && local == "RDF" {
                    self.described = Some(depth + 1);
                }
            }
            (None, Some(described)) => {
                if depth == described + 1
                    && let Some(field) = known(ns, local)
                {
                    self.property = Some((field, depth));
                    self.items.clear();
                    self.item.clear();
                    self.in_item = false;
                }
            }
            (Some(_), _) => {
                if ns == Ns::Rdf && local == "li" {
                    self.item.clear();
                    self.in_item = true;
                    self.is_default = false;
                }
            }
        }
    }

    /// Whether the attributes of the element that was entered last matter: a description may have
    /// simple properties as attributes, and an item has a language.
    pub(super) fn wants_attributes(&self, depth: usize) -> bool {
        self.property.is_some() || self.described == Some(depth)
    }

    /// Takes an attribute of the element that was entered last.
    pub(super) fn attribute(&mut self, depth: usize, ns: Ns, local: &str, value: &str) {
        if self.property.is_some() {
            self.is_default |= ns == Ns::Xml && local == "lang" && value == "x-default";
        } else if self.described == Some(depth)
            && let Some(field) = known(ns, local)
        {
            self.set(field, value.to_owned());
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        if self.property.is_some() {
            self.item.push_str(text);
        }
    }

    /// Leaves an element that has `depth` ancestors.
    pub(super) fn close(&mut self, depth: usize) {
        let Some((field, of_property)) = self.property else {
            return;
        };
        if depth > of_property {
            // The end of an item, or of the list around it.
            if self.in_item && !self.item.trim().is_empty() && self.items.len() < MAX_ITEMS {
                let item = std::mem::take(&mut self.item);
                let place = if self.is_default { 0 } else { self.items.len() };
                self.items.insert(place, item);
            }
            self.in_item = false;
            self.item.clear();
            return;
        }
        let value = match (field, self.items.is_empty()) {
            (_, true) => std::mem::take(&mut self.item),
            (Field::Creator | Field::Subject, false) => self.items.join(", "),
            (_, false) => self.items.swap_remove(0),
        };
        self.set(field, value);
        self.property = None;
    }

    /// Records a value. The first one of a field counts.
    fn set(&mut self, field: Field, value: String) {
        self.xmp.values[field as usize].get_or_insert(value);
        self.missing.remove(field);
    }
}
