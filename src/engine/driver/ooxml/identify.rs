//! Which Office Open XML profile a package is of, by the content type of its main part.

use super::root::main_kind;
use crate::engine::catalogue::{Container, Profile};
use crate::engine::container::opc::{Kind, Package};
use crate::engine::error::Result;
use crate::engine::source::Source;

/// The profile of a package. `None` when it has no main part that is known, or more than one kind.
///
/// # Errors
/// `MALFORMED_INPUT` for what is not a package, and budget errors.
pub(crate) fn identify(source: &Source) -> Result<Option<Profile>> {
    let package = Package::open(source)?;
    let mut found = None;
    for (_, kind) in package.parts() {
        if let Kind::Main(main) = kind {
            let of_ooxml = |profile: &&Profile| {
                profile.driver().row().encrypted == Some(Container::Cfb)
                    && main_kind(**profile) == main
            };
            let profile = Profile::ALL.iter().find(of_ooxml).copied();
            if found.is_some() && found != profile {
                return Ok(None);
            }
            found = profile;
        }
    }
    Ok(found)
}
