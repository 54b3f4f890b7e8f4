//! An opened document and the version in force.

use super::version::Version;
use crate::engine::container::pdf::Document;
use crate::engine::error::Result;

/// A document and the version of its header.
pub(super) struct Opened<'p> {
    pub(super) document: Document<'p>,
    /// The version of the header.
    pub(super) header: Option<Version>,
}

impl Opened<'_> {
    /// The later of the header's version and the catalogue's (7.5.2).
    pub(super) fn version(&self) -> Result<Option<Version>> {
        Ok(self.header.max(self.catalogue_version()?))
    }

    /// `Version` of the catalogue.
    pub(super) fn catalogue_version(&self) -> Result<Option<Version>> {
        let Some(catalogue) = self.document.catalogue() else {
            return Ok(None);
        };
        let name = self.document.name_of(catalogue, b"Version")?;
        Ok(name.and_then(|name| Version::parse(&name.bytes())))
    }
}
