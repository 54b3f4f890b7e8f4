//! The package: a ZIP file, and sometimes a second one for the components in it.
//!
//! Components stand under `Index/`. Documents that were directory packages once keep them in a nested
//! `Index.zip`, with or without the folder's name. Names are case-sensitive.

use crate::engine::container::zip::{Archive, Entry};
use crate::engine::error::{ProbeError, Result};
use crate::engine::source::Source;

const INDEX: &str = "Index/";
const DOCUMENT: &str = "Index/Document.iwa";

/// Main parts of the packages before 2013, which were XML.
const LEGACY: [&str; 4] = ["index.apxl", "index.xml", "index.apxl.gz", "index.xml.gz"];

/// An open package.
pub(super) struct Package<'p> {
    outer: Archive<'p>,
    nested: Nested<'p>,
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
    /// Whether it stands in `Index.zip`.
    is_nested: bool,
}

impl<'p> Package<'p> {
    /// Opens the package and looks for its document component, without reading it.
    ///
    /// # Errors
    /// `UNSUPPORTED_FORMAT` for a package of the time before IWA, `MALFORMED_INPUT` for anything else
    /// that is no such package, and budget errors.
    pub(super) fn open(source: &'p Source) -> Result<Self> {
        let outer = Archive::open(source)?;
        let nested = match outer.find_exact("Index.zip") {
            Some(entry) if outer.find_exact(DOCUMENT).is_none() => match outer.nested(entry) {
                Ok(archive) => Nested::Open(Box::new(archive)),
                Err(error) if error.is_malformed() => Nested::Damaged,
                Err(error) => return Err(error),
            },
            _ => Nested::Absent,
        };
        let package = Self { outer, nested };
        if package.document().is_none() && !package.has_damaged_index() {
            if LEGACY.iter().any(|name| package.has(name)) {
                return Err(ProbeError::unsupported_format(
                    "legacy XML iWork packages are not supported; modern IWA is required",
                ));
            }
            return Err(ProbeError::malformed(
                "the iWork package has no Index/Document.iwa",
            ));
        }
        Ok(package)
    }

    /// The entries of the package itself.
    pub(super) fn outer(&self) -> &Archive<'p> {
        &self.outer
    }

    pub(super) fn has_damaged_index(&self) -> bool {
        matches!(self.nested, Nested::Damaged)
    }

    /// Whether the package keeps what a password is checked against, or the hint for it.
    pub(super) fn has_password_verifier(&self) -> bool {
        self.has(".iwpv2") || self.has(".iwph")
    }

    /// The component that holds the root object.
    pub(super) fn document(&self) -> Option<Component<'_, 'p>> {
        self.archives().find_map(|(archive, is_nested)| {
            let bare = || archive.find_exact("Document.iwa").filter(|_| is_nested);
            let entry = archive.find_exact(DOCUMENT).or_else(bare)?;
            Some(Component {
                archive,
                entry,
                is_nested,
            })
        })
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

    fn has(&self, name: &str) -> bool {
        self.outer.find_exact(name).is_some()
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
        self.archives().flat_map(|(archive, is_nested)| {
            archive
                .entries()
                .filter(|entry| is_iwa(entry.name()))
                .map(move |entry| Component {
                    archive,
                    entry,
                    is_nested,
                })
        })
    }
}

impl<'a> Component<'a, '_> {
    /// The name within the index; `None` for a component that stands elsewhere.
    pub(super) fn name(&self) -> Option<&'a str> {
        let name = self.entry.name();
        name.strip_prefix(INDEX).or(self.is_nested.then_some(name))
    }
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
