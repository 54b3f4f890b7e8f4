//! Start tags: names and attributes.

use std::borrow::Cow;

use super::attributes::{self, Attributes};
use crate::engine::error::Result;

/// The start tag of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag<'t> {
    pub(super) name: &'t str,
    pub(super) attributes: &'t str,
}

impl<'t> Tag<'t> {
    /// The name without prefix.
    pub(crate) fn local(&self) -> &'t str {
        match self.colon() {
            Some(colon) => &self.name[colon + 1..],
            None => self.name,
        }
    }

    /// The value of an attribute without prefix. `None` when it is absent.
    ///
    /// # Errors
    /// `MALFORMED_INPUT` when the attributes cannot be read up to it, or its value has a reference to
    /// an unknown entity.
    pub(crate) fn attribute(&self, name: &str) -> Result<Option<Cow<'t, str>>> {
        self.first_attribute(|key| key == name)
    }

    /// The value of the attribute with this local name and any prefix.
    ///
    /// # Errors
    /// As [`Tag::attribute`].
    pub(crate) fn prefixed_attribute(&self, local: &str) -> Result<Option<Cow<'t, str>>> {
        self.first_attribute(|key| key.split_once(':').is_some_and(|(_, name)| name == local))
    }

    /// Calls `each` with every attribute's name, prefix included, and value.
    ///
    /// # Errors
    /// As [`Tag::attribute`].
    pub(crate) fn attributes(&self, mut each: impl FnMut(&'t str, Cow<'t, str>)) -> Result<()> {
        for attribute in Attributes::of(self.attributes) {
            let (name, raw) = attribute?;
            each(name, attributes::value(raw)?);
        }
        Ok(())
    }

    fn first_attribute(&self, wanted: impl Fn(&str) -> bool) -> Result<Option<Cow<'t, str>>> {
        for attribute in Attributes::of(self.attributes) {
            let (name, raw) = attribute?;
            if wanted(name) {
                return attributes::value(raw).map(Some);
            }
        }
        Ok(None)
    }

    pub(super) fn prefix(&self) -> &'t str {
        self.colon().map_or("", |colon| &self.name[..colon])
    }

    fn colon(&self) -> Option<usize> {
        self.name.bytes().position(|byte| byte == b':')
    }
}
