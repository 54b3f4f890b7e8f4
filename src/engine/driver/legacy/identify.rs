//! Which profile a compound file is of, by its main stream.

use super::kind;
use crate::engine::catalogue::Profile;
use crate::engine::container::cfb::Cfb;
use crate::engine::error::Result;
use crate::engine::source::Source;

/// The profile of a compound file. `None` when it holds no document of ours.
///
/// # Errors
/// `MALFORMED_INPUT` for what is not a compound file, and budget errors.
pub(crate) fn identify(source: &Source) -> Result<Option<Profile>> {
    Ok(kind(&Cfb::open(source)?).map(|kind| kind.profile))
}
