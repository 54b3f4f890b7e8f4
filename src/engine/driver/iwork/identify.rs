//! Which iWork application a package is of, by its root object.

use super::package::Package;
use super::root::RootKind;
use super::scan::Scan;
use super::xml_document;
use crate::engine::catalogue::Profile;
use crate::engine::error::Result;
use crate::engine::source::Source;

/// The profile of a package. `None` when the root object cannot be read.
///
/// # Errors
/// `MALFORMED_INPUT` for what is not a package, and budget errors.
pub(crate) fn identify(source: &Source) -> Result<Option<Profile>> {
    let package = Package::open(source)?;
    let mut scan = Scan::new(Profile::Key);
    scan.root(&package, source.meter())?;
    let kind = match (&scan.root, package.xml_main()) {
        (Some(root), _) => Some(root.kind),
        (None, Some(main)) => xml_document::kind(&package, main)?,
        (None, None) => None,
    };
    let has_slides = package.count("Slide") > 0;
    Ok(kind.map(|kind| match kind {
        RootKind::Keynote => Profile::Key,
        RootKind::Numbers => Profile::Numbers,
        RootKind::Pages => Profile::Pages,
        RootKind::KeynoteOrNumbers if has_slides => Profile::Key,
        RootKind::KeynoteOrNumbers => Profile::Numbers,
    }))
}
