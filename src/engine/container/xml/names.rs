//! The namespaces that mean something to us. Transitional and strict Office Open XML (ISO/IEC 29500
//! parts 4 and 1) use different names for the same thing, which are one here.

/// A namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ns {
    /// No namespace at all.
    None,
    /// One that we have no use for.
    Other,
    /// `[Content_Types].xml` (ISO/IEC 29500-2, 10.1.2.2).
    ContentTypes,
    /// Relationship parts (ISO/IEC 29500-2, 9.3).
    Relationships,
    /// Core properties (ISO/IEC 29500-2, 11).
    CoreProperties,
    /// Dublin Core elements.
    Dc,
    /// Dublin Core terms.
    DcTerms,
    /// `docProps/app.xml`.
    ExtendedProperties,
    /// `docProps/custom.xml`.
    CustomProperties,
    Word,
    Spreadsheet,
    Presentation,
    /// Markup compatibility (ISO/IEC 29500-3).
    Compatibility,
}

impl Ns {
    pub(crate) fn of(uri: &str) -> Self {
        match uri {
            "" => Self::None,
            "http://schemas.openxmlformats.org/package/2006/content-types" => Self::ContentTypes,
            "http://schemas.openxmlformats.org/package/2006/relationships" => Self::Relationships,
            "http://schemas.openxmlformats.org/package/2006/metadata/core-properties" => {
                Self::CoreProperties
            }
            "http://purl.org/dc/elements/1.1/" => Self::Dc,
            "http://purl.org/dc/terms/" => Self::DcTerms,
            "http://schemas.openxmlformats.org/officeDocument/2006/extended-properties"
            | "http://purl.oclc.org/ooxml/officeDocument/extendedProperties" => {
                Self::ExtendedProperties
            }
            "http://schemas.openxmlformats.org/officeDocument/2006/custom-properties"
            | "http://purl.oclc.org/ooxml/officeDocument/customProperties" => {
                Self::CustomProperties
            }
            "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
            | "http://purl.oclc.org/ooxml/wordprocessingml/main" => Self::Word,
            "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
            | "http://purl.oclc.org/ooxml/spreadsheetml/main" => Self::Spreadsheet,
            "http://schemas.openxmlformats.org/presentationml/2006/main"
            | "http://purl.oclc.org/ooxml/presentationml/main" => Self::Presentation,
            "http://schemas.openxmlformats.org/markup-compatibility/2006" => Self::Compatibility,
            _ => Self::Other,
        }
    }
}
