//! What a property list holds, one level deep.

use std::borrow::Cow;

/// Most items of a collection. Real ones have some dozens; a hostile one may name one object a million
/// times.
pub(super) const MAX_ITEMS: usize = 100_000;

/// A property list, one level deep.
#[derive(Debug, PartialEq)]
pub(in super::super) enum Plist<'a> {
    Dictionary(Vec<(Scalar<'a>, Scalar<'a>)>),
    Array(Vec<Scalar<'a>>),
    Scalar,
}

impl<'a> Plist<'a> {
    /// The value of a key of the dictionary; the first one when the key occurs twice.
    pub(in super::super) fn get(&self, key: &str) -> Option<&Scalar<'a>> {
        match self {
            Self::Dictionary(entries) => entries
                .iter()
                .find_map(|(name, value)| name.is(key).then_some(value)),
            Self::Array(_) | Self::Scalar => None,
        }
    }

    /// The items of the array.
    pub(in super::super) fn items(&self) -> &[Scalar<'a>] {
        match self {
            Self::Array(items) => items,
            Self::Dictionary(_) | Self::Scalar => &[],
        }
    }
}

/// A scalar of a kind that some target needs.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) enum Scalar<'a> {
    /// ASCII or UTF-8. Text is decoded only on access: many items may share one object.
    Utf8(Cow<'a, [u8]>),
    /// UTF-16, big endian.
    Utf16(&'a [u8]),
    Bool(bool),
    /// A number, a date, data or a collection.
    Other,
}

impl Scalar<'_> {
    /// The text, if the scalar is one.
    pub(in super::super) fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Utf8(bytes) => Some(String::from_utf8_lossy(bytes)),
            Self::Utf16(bytes) => Some(encoding_rs::UTF_16BE.decode_without_bom_handling(bytes).0),
            Self::Bool(_) | Self::Other => None,
        }
    }

    /// The boolean, if the scalar is one.
    pub(in super::super) fn bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// Whether the scalar is this ASCII text. Nothing is decoded for the comparison.
    fn is(&self, ascii: &str) -> bool {
        match self {
            Self::Utf8(bytes) => **bytes == *ascii.as_bytes(),
            Self::Utf16(bytes) => bytes.len() == 2 * ascii.len() && starts_with(bytes, ascii),
            Self::Bool(_) | Self::Other => false,
        }
    }

    /// Whether the scalar is text that begins with this ASCII text.
    pub(in super::super) fn begins_with(&self, ascii: &str) -> bool {
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
