//! Property lists, binary and XML, as far as the package's metadata needs them: the scalars of one
//! dictionary or one array. Nested collections are skipped, so nothing here recurses.

mod binary;
mod value;
mod xml;

pub(super) use self::value::{Plist, Scalar};
use crate::engine::budget::Meter;
use crate::engine::container::iwa::DecodeError;

/// Reads a property list of either kind.
pub(super) fn read<'a>(bytes: &'a [u8], meter: &Meter) -> Result<Plist<'a>, DecodeError> {
    if bytes.starts_with(binary::MAGIC) {
        binary::read(bytes)
    } else {
        xml::read(bytes, meter)
    }
}

#[cfg(test)]
mod tests;
