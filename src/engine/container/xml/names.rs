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
    /// DrawingML.
    Drawing,
    /// Pictures in DrawingML.
    Picture,
    /// The drawing language that came before DrawingML.
    Vml,
    /// Markup compatibility (ISO/IEC 29500-3).
    Compatibility,
    /// What the prefix `xml` means without a declaration.
    Xml,
    /// Resource Description Framework, the frame of XMP (ISO 16684-1).
    Rdf,
    /// XMP basic (ISO 16684-1, 8.4).
    Xmp,
    /// Adobe PDF properties of XMP.
    AdobePdf,
    /// Identification of PDF/A (ISO 19005-1, 6.7.11).
    PdfA,
    /// Identification of PDF/UA (ISO 14289-1, 5).
    PdfUa,
    /// Identification of PDF/X (ISO 15930-7, 6.17), and its older place.
    PdfX,
    /// Main parts of iWork '08 and '09.
    IworkKeynote,
    IworkNumbers,
    IworkPages,
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
            "http://schemas.openxmlformats.org/drawingml/2006/main"
            | "http://purl.oclc.org/ooxml/drawingml/main" => Self::Drawing,
            "http://schemas.openxmlformats.org/drawingml/2006/picture"
            | "http://purl.oclc.org/ooxml/drawingml/picture" => Self::Picture,
            "urn:schemas-microsoft-com:vml" => Self::Vml,
            "http://schemas.openxmlformats.org/markup-compatibility/2006" => Self::Compatibility,
            "http://www.w3.org/XML/1998/namespace" => Self::Xml,
            "http://www.w3.org/1999/02/22-rdf-syntax-ns#" => Self::Rdf,
            "http://ns.adobe.com/xap/1.0/" => Self::Xmp,
            "http://ns.adobe.com/pdf/1.3/" => Self::AdobePdf,
            "http://www.aiim.org/pdfa/ns/id/" => Self::PdfA,
            "http://www.aiim.org/pdfua/ns/id/" => Self::PdfUa,
            "http://www.npes.org/pdfx/ns/id/" | "http://ns.adobe.com/pdfx/1.3/" => Self::PdfX,
            "http://developer.apple.com/namespaces/keynote2" => Self::IworkKeynote,
            "http://developer.apple.com/namespaces/ls" => Self::IworkNumbers,
            "http://developer.apple.com/namespaces/sl" => Self::IworkPages,
            _ => Self::Other,
        }
    }
}
