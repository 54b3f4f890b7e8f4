//! XML property lists (`PropertyList-1.0.dtd`).

use std::borrow::Cow;

use super::value::{MAX_ITEMS, Plist, Scalar};
use crate::engine::budget::Meter;
use crate::engine::container::iwa::DecodeError;
use crate::engine::container::xml::{self, Xml};
use crate::engine::error::Result as ProbeResult;

/// The kind of the outermost value.
#[derive(Clone, Copy)]
enum Outer {
    Dictionary,
    Array,
    Scalar,
}

pub(super) fn read(bytes: &[u8], meter: &Meter) -> Result<Plist<'static>, DecodeError> {
    // The property list is small and was charged to the budget when it was read, so the only error that
    // is left besides damage is the clock, which the next read reports.
    let text = xml::decode(bytes.to_vec()).map_err(|_| DecodeError)?;
    let mut xml = Xml::new(&text, meter);
    read_root(&mut xml)
        .map_err(|_| DecodeError)?
        .ok_or(DecodeError)
}

/// Reads the value below `plist`, or the root element where that is the value itself. `None` when it is
/// not a valid property list.
fn read_root(xml: &mut Xml<'_>) -> ProbeResult<Option<Plist<'static>>> {
    let mut tag = xml.root()?;
    if tag.local() == "plist" {
        match xml.child(xml.depth())? {
            Some(value) => tag = value,
            None => return Ok(None),
        }
    }
    let outer = match tag.local() {
        "dict" => Outer::Dictionary,
        "array" => Outer::Array,
        _ => Outer::Scalar,
    };
    let mut items = Vec::new();
    let depth = xml.depth();
    while let Some(item) = xml.child(depth)? {
        if items.len() == MAX_ITEMS {
            return Ok(None);
        }
        items.push(match item.local() {
            "key" | "string" => match xml.text()? {
                Some(text) => Scalar::Utf8(Cow::Owned(text.into_owned().into_bytes())),
                None => return Ok(None),
            },
            "true" => Scalar::Bool(true),
            "false" => Scalar::Bool(false),
            _ => Scalar::Other,
        });
    }
    Ok(match outer {
        Outer::Dictionary => pairs(items).map(Plist::Dictionary),
        Outer::Array => Some(Plist::Array(items)),
        Outer::Scalar => Some(Plist::Scalar),
    })
}

/// Keys and values alternate. `None` when the last key has no value.
fn pairs(items: Vec<Scalar<'static>>) -> Option<Vec<(Scalar<'static>, Scalar<'static>)>> {
    if !items.len().is_multiple_of(2) {
        return None;
    }
    let mut items = items.into_iter();
    let mut entries = Vec::with_capacity(items.len() / 2);
    while let (Some(key), Some(value)) = (items.next(), items.next()) {
        entries.push((key, value));
    }
    Some(entries)
}
