//! Property lists, binary and XML, as far as the package's metadata needs them: the scalars of one
//! dictionary or one array. What is nested deeper is passed over, so nothing here recurses.

mod binary;
mod xml;

use std::borrow::Cow;

use crate::engine::container::iwa::Broken;

/// Most items of a collection. Real ones have some dozens; a hostile one may name one object a million
/// times.
const MAX_ITEMS: usize = 100_000;

/// What a property list is, one level deep.
#[derive(Debug, PartialEq)]
pub(super) enum Plist<'a> {
    Dictionary(Vec<(Scalar<'a>, Scalar<'a>)>),
    Array(Vec<Scalar<'a>>),
    Scalar,
}

impl<'a> Plist<'a> {
    /// Reads a property list of either kind.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, Broken> {
        if bytes.starts_with(binary::MAGIC) {
            binary::read(bytes)
        } else {
            xml::read(bytes)
        }
    }

    /// The value of a key of the dictionary; the first where it stands twice.
    pub(super) fn get(&self, key: &str) -> Option<&Scalar<'a>> {
        match self {
            Self::Dictionary(entries) => entries
                .iter()
                .find_map(|(name, value)| name.is(key).then_some(value)),
            Self::Array(_) | Self::Scalar => None,
        }
    }

    /// The items of the array.
    pub(super) fn items(&self) -> &[Scalar<'a>] {
        match self {
            Self::Array(items) => items,
            Self::Dictionary(_) | Self::Scalar => &[],
        }
    }
}

/// A scalar that is worth having.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar<'a> {
    /// ASCII or UTF-8. Text is decoded only when it is looked at: many items may share one.
    Utf8(Cow<'a, [u8]>),
    /// UTF-16, big endian.
    Utf16(&'a [u8]),
    Bool(bool),
    /// A number, a date, data or a collection.
    Other,
}

impl Scalar<'_> {
    /// The text, if it is one.
    pub(super) fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Utf8(bytes) => Some(String::from_utf8_lossy(bytes)),
            Self::Utf16(bytes) => Some(encoding_rs::UTF_16BE.decode_without_bom_handling(bytes).0),
            Self::Bool(_) | Self::Other => None,
        }
    }

    /// The boolean, if it is one.
    pub(super) fn bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// Whether it is this text, which is ASCII. Nothing is decoded for it.
    fn is(&self, ascii: &str) -> bool {
        match self {
            Self::Utf8(bytes) => **bytes == *ascii.as_bytes(),
            Self::Utf16(bytes) => bytes.len() == 2 * ascii.len() && starts_with(bytes, ascii),
            Self::Bool(_) | Self::Other => false,
        }
    }

    /// Whether it is text that begins like this, which is ASCII.
    pub(super) fn begins_with(&self, ascii: &str) -> bool {
        match self {
            Self::Utf8(bytes) => bytes.starts_with(ascii.as_bytes()),
            Self::Utf16(bytes) => starts_with(bytes, ascii),
            Self::Bool(_) | Self::Other => false,
        }
    }
}

fn starts_with(utf16: &[u8], ascii: &str) -> bool {
    utf16.len() >= 2 * ascii.len()
        && utf16
            .chunks_exact(2)
            .zip(ascii.bytes())
            .all(|(unit, byte)| unit == [0, byte])
}

#[cfg(test)]
mod tests;
