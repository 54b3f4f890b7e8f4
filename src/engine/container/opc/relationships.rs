//! Relationship parts (ISO/IEC 29500-2, 9.3).

use std::borrow::Cow;

use crate::engine::budget::Meter;
use crate::engine::container::xml::{Ns, Xml};
use crate::engine::error::{ProbeError, Result};

/// One relationship.
#[derive(Debug)]
pub(crate) struct Relationship<'t> {
    pub(crate) id: Cow<'t, str>,
    pub(crate) kind: RelationshipType<'t>,
    /// A part name relative to the source part, or a URI when external.
    pub(crate) target: Cow<'t, str>,
    /// The target is outside the package.
    pub(crate) external: bool,
}

/// The type of a relationship, as written.
#[derive(Debug)]
pub(crate) struct RelationshipType<'t>(Cow<'t, str>);

/// Whether a relationship type is the one of the standard for this package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standing {
    Foreign,
    Own,
}

/// The two namespaces of relationship types in Office Open XML.
const TRANSITIONAL: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/";
const STRICT: &str = "http://purl.oclc.org/ooxml/officeDocument/relationships/";

impl RelationshipType<'_> {
    /// Whether this is the type of Office Open XML with that last word, in either conformance class.
    pub(crate) fn is_office(&self, word: &str) -> bool {
        self.office() == Some(word)
    }

    /// Whether the type is one of the strict conformance class.
    pub(crate) fn is_strict(&self) -> bool {
        self.0.starts_with(STRICT)
    }

    /// Whether it points at the core properties: by the type of the standard, which counts more, or
    /// by the one that older versions of LibreOffice write.
    pub(crate) fn core_properties(&self) -> Option<Standing> {
        match &*self.0 {
            "http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties" => {
                Some(Standing::Own)
            }
            "http://schemas.openxmlformats.org/officedocument/2006/relationships/metadata/core-properties" => {
                Some(Standing::Foreign)
            }
            _ => None,
        }
    }

    /// Whether it points at a picture of the whole document.
    pub(crate) fn is_thumbnail(&self) -> bool {
        self.0.ends_with("/relationships/metadata/thumbnail")
    }

    /// Whether it has to do with digital signatures.
    pub(crate) fn is_signature(&self) -> bool {
        contains_ignore_case(&self.0, "/relationships/digital-signature/")
    }

    /// The part of the type after its last slash.
    pub(crate) fn last_word(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// Whether it points at a VBA project, in any of Microsoft's namespaces.
    pub(crate) fn is_vba_project(&self) -> bool {
        ends_ignore_case(&self.0, "/relationships/vbaProject")
    }

    /// Whether it points at an embedded object or package.
    pub(crate) fn is_embedding(&self) -> bool {
        ends_ignore_case(&self.0, "/oleobject") || ends_ignore_case(&self.0, "/package")
    }

    fn office(&self) -> Option<&str> {
        self.0
            .strip_prefix(TRANSITIONAL)
            .or_else(|| self.0.strip_prefix(STRICT))
    }
}

/// Calls `each` with every relationship.
///
/// # Errors
/// `MALFORMED_INPUT` when the part is damaged; what came before has been seen.
pub(super) fn parse(
    text: &str,
    meter: &Meter,
    mut each: impl FnMut(&Relationship<'_>),
) -> Result<()> {
    let mut xml = Xml::new(text, meter);
    let root = xml.root()?;
    if !xml.is(&root, Ns::Relationships, "Relationships") {
        return Err(ProbeError::malformed(
            "the root element is not Relationships",
        ));
    }
    while let Some(tag) = xml.child(1)? {
        if !xml.is(&tag, Ns::Relationships, "Relationship") {
            continue;
        }
        let mut found = Relationship {
            id: Cow::Borrowed(""),
            kind: RelationshipType(Cow::Borrowed("")),
            target: Cow::Borrowed(""),
            external: false,
        };
        tag.attributes(|name, value| match name {
            "Id" => found.id = value,
            "Type" => found.kind.0 = value,
            "Target" => found.target = value,
            "TargetMode" => found.external = value.trim().eq_ignore_ascii_case("external"),
            _ => {}
        })?;
        each(&found);
    }
    Ok(())
}

/// The name of the part that `target` means in a relationship of the part `from` (9.3.2.2). A leading
/// slash is that of the package, `..` never leads out of it.
pub(super) fn resolve(from: &str, target: &str) -> String {
    let target = target.split(['#', '?']).next().unwrap_or_default().trim();
    let folder = from
        .rsplit_once(['/', '\\'])
        .map_or("", |(folder, _)| folder);
    let base = if target.starts_with(['/', '\\']) {
        ""
    } else {
        folder
    };
    let mut segments: Vec<&str> = Vec::new();
    for segment in base.split(['/', '\\']).chain(target.split(['/', '\\'])) {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            other => segments.push(other),
        }
    }
    segments.join("/")
}

/// The name of the relationship part of a part (9.3.3).
pub(super) fn part_of(part: &str) -> String {
    match part
        .trim_start_matches(['/', '\\'])
        .rsplit_once(['/', '\\'])
    {
        Some((folder, name)) => format!("{folder}/_rels/{name}.rels"),
        None => format!("_rels/{}.rels", part.trim_start_matches(['/', '\\'])),
    }
}

fn ends_ignore_case(text: &str, end: &str) -> bool {
    text.len()
        .checked_sub(end.len())
        .and_then(|at| text.get(at..))
        .is_some_and(|tail| tail.eq_ignore_ascii_case(end))
}

fn contains_ignore_case(text: &str, part: &str) -> bool {
    text.as_bytes()
        .windows(part.len())
        .any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
}
