//! The package: a ZIP file, and sometimes a second one for the components in it.
//!
//! Components stand under `Index/`. Documents that were directory packages once keep them in a nested
//! `Index.zip`, with or without the folder's name. Names are case-sensitive.
//!
//! Whoever compresses a directory package gets a ZIP file with one folder, which holds the package.

use crate::engine::budget::Meter;
use crate::engine::container::zip::{Archive, Entry, EntryStream};
use crate::engine::error::{ProbeError, Result};
use crate::engine::source::Source;

const INDEX: &str = "Index/";
const DOCUMENT: &str = "Index/Document.iwa";
const NESTED_INDEX: &str = "Index.zip";

/// Main parts of the packages before 2013, which are XML.
const LEGACY: [&str; 4] = ["index.apxl", "index.xml", "index.apxl.gz", "index.xml.gz"];

/// An open package.
pub(super) struct Package<'p> {
    outer: Archive<'p>,
    /// The folder that holds all entries, with its slash; mostly none.
    folder: String,
    nested: Nested<'p>,
    meter: &'p Meter,
}

enum Nested<'p> {
    /// The components stand in the package itself.
    Absent,
    Open(Box<Archive<'p>>),
    /// There is an `Index.zip`, but it is no readable archive.
    Damaged,
}

/// One IWA component.
#[derive(Clone, Copy)]
pub(super) struct Component<'a, 'p> {
    pub(super) archive: &'a Archive<'p>,
    pub(super) entry: Entry<'a>,
    /// What its name begins with before the index.
    folder: &'a str,
    /// Whether it is in `Index.zip`.
    is_nested: bool,
}

impl<'p> Package<'p> {
    /// Opens the package and looks for its document component, without reading it.
    ///
    /// # Errors
    /// `MALFORMED_INPUT` for what is not such a package, and budget errors.
    pub(super) fn open(source: &'p Source) -> Result<Self> {
        let outer = Archive::open(source)?;
        let folder = find_folder(&outer);
        let mut package = Self {
            outer,
            folder,
            nested: Nested::Absent,
            meter: source.meter(),
        };
        if package.document().is_none()
            && let Some(entry) = package.find(NESTED_INDEX)
        {
            package.nested = match package.outer.nested(entry) {
                Ok(archive) => Nested::Open(Box::new(archive)),
                Err(error) if error.is_malformed() => Nested::Damaged,
                Err(error) => return Err(error),
            };
        }
        if package.document().is_none() && !package.has_damaged_index() {
            if package.xml_main().is_some() {
                return Ok(package);
            }
            return Err(ProbeError::malformed(
                "the iWork package has no Index/Document.iwa",
            ));
        }
        Ok(package)
    }

    /// The budgets of the probe.
    pub(super) fn meter(&self) -> &'p Meter {
        self.meter
    }

    /// The entries of the package itself, by their names in it.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, Entry<'_>)> {
        self.outer.entries().filter_map(|entry| {
            let name = entry.name().strip_prefix(self.folder.as_str())?;
            (self.folder.is_empty() || !name.is_empty()).then_some((name, entry))
        })
    }

    /// An entry of the package itself.
    pub(super) fn find(&self, name: &str) -> Option<Entry<'_>> {
        if self.folder.is_empty() {
            self.outer.find_exact(name)
        } else {
            self.outer.find_exact(&format!("{}{name}", self.folder))
        }
    }

    /// Reads an entry of the package itself.
    ///
    /// # Errors
    /// As [`Archive::read`].
    pub(super) fn read(&self, entry: Entry<'_>) -> Result<Vec<u8>> {
        self.outer.read(entry)
    }

    /// Reads an entry of the package itself piece by piece.
    pub(super) fn stream<'a>(&'a self, entry: Entry<'a>) -> EntryStream<'a, 'p> {
        self.outer.stream(entry)
    }

    /// The main part of a document of the time before IWA, which is XML. `None` for later ones.
    pub(super) fn xml_main(&self) -> Option<Entry<'_>> {
        if self.document().is_some() || self.has_damaged_index() {
            return None;
        }
        LEGACY.iter().find_map(|name| self.find(name))
    }

    pub(super) fn has_damaged_index(&self) -> bool {
        matches!(self.nested, Nested::Damaged)
    }

    /// Whether the package keeps what a password is checked against, or the hint for it.
    pub(super) fn has_password_verifier(&self) -> bool {
        let files = [".iwpv2", ".iwpv", ".iwph"];
        files.iter().any(|name| self.find(name).is_some())
            || self.xml_main().is_some_and(Entry::is_encrypted)
    }

    /// The component that holds the root object.
    pub(super) fn document(&self) -> Option<Component<'_, 'p>> {
        let component = |archive, entry, is_nested| Component {
            archive,
            entry,
            folder: &self.folder,
            is_nested,
        };
        if let Some(entry) = self.find(DOCUMENT) {
            return Some(component(&self.outer, entry, false));
        }
        let Nested::Open(archive) = &self.nested else {
            return None;
        };
        archive
            .find_exact(DOCUMENT)
            .or_else(|| archive.find_exact("Document.iwa"))
            .map(|entry| component(archive, entry, true))
    }

    /// All components, the document first.
    pub(super) fn components(&self) -> impl Iterator<Item = Component<'_, 'p>> {
        let document = self.document();
        let is_document = move |other: &Component<'_, 'p>| {
            document.is_some_and(|document| {
                document.is_nested == other.is_nested
                    && document.entry.index() == other.entry.index()
            })
        };
        let others = self
            .all_components()
            .filter(move |other| !is_document(other));
        document.into_iter().chain(others)
    }

    /// How many components the package has.
    pub(super) fn component_count(&self) -> usize {
        self.all_components().count()
    }

    /// How many components have this prefix: its name alone, or followed by a number.
    pub(super) fn count(&self, prefix: &str) -> usize {
        self.all_components()
            .filter_map(|component| component.name())
            .filter(|name| is_numbered(name, prefix))
            .count()
    }

    /// The archives that components stand in, and whether each is the nested one.
    fn archives(&self) -> impl Iterator<Item = (&Archive<'p>, bool)> {
        let nested = match &self.nested {
            Nested::Open(archive) => Some((&**archive, true)),
            Nested::Absent | Nested::Damaged => None,
        };
        std::iter::once((&self.outer, false)).chain(nested)
    }

    fn all_components(&self) -> impl Iterator<Item = Component<'_, 'p>> {
        let folder = self.folder.as_str();
        self.archives().flat_map(move |(archive, is_nested)| {
            archive
                .entries()
                .map(move |entry| Component {
                    archive,
                    entry,
                    folder,
                    is_nested,
                })
                .filter(|component| component.is_one())
        })
    }
}

impl<'a> Component<'a, '_> {
    /// Whether the entry is a component of this package at all. What the Finder keeps of files'
    /// attributes has their names, but is none.
    fn is_one(&self) -> bool {
        let name = self.entry.name();
        let is_inside = self.is_nested || name.starts_with(self.folder);
        is_inside && is_iwa(name) && !name.starts_with("__MACOSX/")
    }

    /// The name within the index; `None` for a component that stands elsewhere.
    pub(super) fn name(&self) -> Option<&'a str> {
        let name = self.entry.name();
        if self.is_nested {
            return Some(name.strip_prefix(INDEX).unwrap_or(name));
        }
        name.strip_prefix(self.folder)?.strip_prefix(INDEX)
    }
}

/// The one folder that holds a compressed directory package; empty where the package is the
/// archive itself.
fn find_folder(outer: &Archive<'_>) -> String {
    let marks = || [DOCUMENT, NESTED_INDEX].into_iter().chain(LEGACY);
    if marks().any(|mark| outer.find_exact(mark).is_some()) {
        return String::new();
    }
    outer
        .entries()
        .find_map(|entry| {
            let (folder, rest) = entry.name().split_once('/')?;
            marks()
                .any(|mark| rest == mark)
                .then(|| format!("{folder}/"))
        })
        .unwrap_or_default()
}

fn is_iwa(name: &str) -> bool {
    name.get(name.len().saturating_sub(4)..)
        .is_some_and(|end| end.eq_ignore_ascii_case(".iwa"))
}

/// Whether a name is the prefix itself, or the prefix with `-` or a digit and anything but a folder
/// behind it (contract §9.7).
pub(super) fn is_numbered(name: &str, prefix: &str) -> bool {
    let Some(rest) = name
        .strip_suffix(".iwa")
        .and_then(|stem| stem.strip_prefix(prefix))
    else {
        return false;
    };
    match rest.bytes().next() {
        None => true,
        Some(first) => (first == b'-' || first.is_ascii_digit()) && !rest.contains('/'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_names_are_the_prefix_and_a_number() {
        let cases = [
            ("Slide.iwa", true),
            ("Slide-12.iwa", true),
            ("Slide12-3.iwa", true),
            ("Slides.iwa", false),
            ("Slide-1/2.iwa", false),
            ("Slide-1.iwa.bak", false),
            ("MasterSlide-1.iwa", false),
        ];
        for (name, expected) in cases {
            assert_eq!(is_numbered(name, "Slide"), expected, "{name}");
        }
    }
}
