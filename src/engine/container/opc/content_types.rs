//! `[Content_Types].xml` (ISO/IEC 29500-2, 10.1.2).

use std::borrow::Cow;
use std::cmp::Ordering;

use super::{Kind, find};
use crate::engine::budget::Meter;
use crate::engine::container::xml::{Ns, Xml};
use crate::engine::container::zip::{Archive, Entry};
use crate::engine::error::{ProbeError, Result};

/// The kind of every entry of an archive.
#[derive(Debug)]
pub(super) struct ContentTypes(Vec<Kind>);

impl ContentTypes {
    /// Reads the stream and applies it to the entries: an override by part name, else the default of
    /// the extension.
    ///
    /// # Errors
    /// `MALFORMED_INPUT` when it is not well-formed or not a content type stream; budget errors.
    pub(super) fn parse(text: &str, archive: &Archive<'_>, meter: &Meter) -> Result<Self> {
        let mut kinds = vec![None; archive.len()];
        let mut defaults: Vec<(Cow<'_, str>, Kind)> = Vec::new();
        // Overrides to something that we have no use for: they matter only where a default does not.
        let mut masked: Vec<Cow<'_, str>> = Vec::new();
        let mut xml = Xml::new(text, meter);
        let root = xml.root()?;
        if !xml.is(&root, Ns::ContentTypes, "Types") {
            return Err(ProbeError::malformed("the root element is not Types"));
        }
        while let Some(tag) = xml.child(1)? {
            if xml.ns(&tag) != Ns::ContentTypes {
                continue;
            }
            let key = match tag.local() {
                "Override" => "PartName",
                "Default" => "Extension",
                _ => continue,
            };
            let mut named = None;
            let mut kind = Kind::Other;
            tag.attributes(|name, value| {
                if name == key {
                    named = Some(value);
                } else if name == "ContentType" {
                    kind = Kind::of(&value);
                }
            })?;
            let Some(named) = named else { continue };
            if key == "Extension" {
                defaults.push((named, kind));
            } else if kind == Kind::Other {
                masked.push(named);
            } else if let Some(entry) = find(archive, &named) {
                kinds[entry.index()] = Some(kind);
            }
        }
        defaults.retain(|(_, kind)| *kind != Kind::Other);
        defaults.sort_by(|a, b| cmp(&a.0, &b.0));
        let by_default = |name: &str| {
            if defaults.is_empty() {
                return None;
            }
            let extension = extension(name)?;
            let at = defaults.partition_point(|(known, _)| cmp(known, extension).is_lt());
            let (known, kind) = defaults.get(at)?;
            cmp(known, extension).is_eq().then_some(*kind)
        };
        for name in masked {
            if by_default(&name).is_some()
                && let Some(entry) = find(archive, &name)
            {
                kinds[entry.index()] = Some(Kind::Other);
            }
        }
        Ok(Self(
            archive
                .entries()
                .zip(kinds)
                .map(|(entry, kind)| {
                    kind.or_else(|| by_default(entry.name()))
                        .unwrap_or(Kind::Other)
                })
                .collect(),
        ))
    }

    pub(super) fn of(&self, entry: Entry<'_>) -> Kind {
        self.0.get(entry.index()).copied().unwrap_or(Kind::Other)
    }
}

/// Compares extensions, whose upper and lower case are the same.
fn cmp(a: &str, b: &str) -> Ordering {
    a.bytes()
        .map(|byte| byte.to_ascii_lowercase())
        .cmp(b.bytes().map(|byte| byte.to_ascii_lowercase()))
}

fn extension(name: &str) -> Option<&str> {
    let stop = |byte: u8| matches!(byte, b'.' | b'/' | b'\\');
    let at = name.bytes().rposition(stop)?;
    name[at..].strip_prefix('.')
}
