//! The document's properties: the Info dictionary, and XMP where it is silent (ISO 32000-2, 14.3).

use super::opened::Opened;
use super::version::Version;
use super::xmp::{self, Field, Fields, Xmp};

use crate::contract::Confidence::{self, High, Medium};
use crate::engine::catalogue::Target;
use crate::engine::container::pdf::{Dict, Document, Object};
use crate::engine::error::Result;
use crate::engine::findings::Findings;
use crate::engine::value::Value;

/// Where each property is: its key in the Info dictionary, and its field of XMP.
const PROPERTIES: &[(Target, &[u8], Field)] = &[
    (Target::DOCUMENT_TITLE, b"Title", Field::Title),
    (Target::DOCUMENT_SUBJECT, b"Subject", Field::Description),
    (Target::DOCUMENT_AUTHOR, b"Author", Field::Creator),
    (Target::DOCUMENT_KEYWORDS, b"Keywords", Field::Keywords),
    (
        Target::DOCUMENT_DESCRIPTION,
        b"Description",
        Field::Description,
    ),
    (
        Target::DOCUMENT_CREATED_AT,
        b"CreationDate",
        Field::CreateDate,
    ),
    (Target::DOCUMENT_MODIFIED_AT, b"ModDate", Field::ModifyDate),
    (Target::DOCUMENT_APPLICATION, b"Producer", Field::Producer),
];

const INFO: &str = "Info dictionary";
const XMP: &str = "XMP metadata";

pub(super) fn run(opened: &Opened<'_>, out: &mut Findings) -> Result<()> {
    let document = &opened.document;
    let blocked = document.blocked();
    let info = document
        .dict_of(document.trailer(), b"Info")?
        .unwrap_or_default();
    for (target, key, _) in PROPERTIES {
        if out.wants(*target)
            && let Some(text) = text(document, &info, key)?
        {
            out.put(*target, text, High, INFO);
        }
    }
    let wanted = wanted_of_xmp(document, &info, out)?;
    let xmp = match document.catalogue() {
        Some(catalogue) if !wanted.is_empty() => read_xmp(document, catalogue, wanted)?,
        _ => None,
    };
    if let Some(xmp) = &xmp {
        put_xmp(opened, xmp, out)?;
    }
    put_application(document, &info, xmp.as_ref(), out)?;
    put_conformance(opened, &info, xmp.as_ref(), blocked, out)?;
    for (target, ..) in PROPERTIES {
        out.unknown(*target);
    }
    put_producer_family(document, &info, xmp.as_ref(), out)?;
    out.unknown(Target::DOCUMENT_APPLICATION_VERSION);
    out.unknown(Target::PDF_CONFORMANCE);
    out.unknown(Target::PDF_PRODUCER_FAMILY);
    Ok(())
}

/// The fields of XMP for requested properties that the Info dictionary lacks.
fn wanted_of_xmp<'p>(document: &Document<'p>, info: &Dict<'p>, out: &Findings) -> Result<Fields> {
    let is_silent = |target: Target| out.wants(target) && out.value(target).is_none();
    let mut wanted = Fields::default();
    for (target, _, field) in PROPERTIES {
        if is_silent(*target) {
            wanted.add(Fields::of(&[*field]));
        }
    }
    if is_silent(Target::DOCUMENT_KEYWORDS) {
        wanted.add(Fields::of(&[Field::Subject]));
    }
    if is_silent(Target::DOCUMENT_APPLICATION) {
        wanted.add(Fields::of(&[Field::CreatorTool]));
    }
    if out.wants_any(&[
        Target::DOCUMENT_APPLICATION_VERSION,
        Target::PDF_PRODUCER_FAMILY,
    ]) && text(document, info, b"Producer")?.is_none()
    {
        wanted.add(Fields::of(&[Field::Producer]));
    }
    if out.wants(Target::PDF_CONFORMANCE) {
        wanted.add(Fields::CONFORMANCE);
    }
    Ok(wanted)
}

/// An entry of the Info dictionary as text. `None` when it is missing, of another type, or encrypted.
fn text<'p>(document: &Document<'p>, info: &Dict<'p>, key: &[u8]) -> Result<Option<String>> {
    Ok(match document.get(info, key)?.as_deref() {
        Some(Object::Text(text)) => document.text(*text)?,
        Some(Object::Name(name)) => Some(String::from_utf8_lossy(&name.bytes()).into_owned()),
        _ => None,
    })
}

fn read_xmp<'p>(
    document: &Document<'p>,
    catalogue: &Dict<'p>,
    wanted: Fields,
) -> Result<Option<Xmp>> {
    let Some(reference) = catalogue.get(b"Metadata").and_then(Object::as_ref) else {
        return Ok(None);
    };
    let loaded = document.load(reference)?;
    match document.stream_data(&loaded)? {
        Some(data) => xmp::read(data, wanted, document.meter()).map(Some),
        None => Ok(None),
    }
}

/// Puts what the Info dictionary lacks. Up to PDF 1.7 that dictionary is where properties
/// belong, so XMP alone is weaker evidence; PDF 2.0 keeps them in XMP.
fn put_xmp(opened: &Opened<'_>, xmp: &Xmp, out: &mut Findings) -> Result<()> {
    let confidence = confidence(opened)?;
    for (target, _, field) in PROPERTIES {
        if out.value(*target).is_none()
            && let Some(text) = xmp.get(*field)
        {
            out.put(*target, text, confidence, XMP);
        }
    }
    Ok(())
}

fn confidence(opened: &Opened<'_>) -> Result<Confidence> {
    let is_two = opened
        .version()?
        .is_some_and(|version| version >= Version::TWO);
    Ok(if is_two { High } else { Medium })
}

/// The program that wrote the file is `Producer`; where only the authoring program is named
/// (`Creator`), that. The version is taken from the name.
fn put_application<'p>(
    document: &Document<'p>,
    info: &Dict<'p>,
    xmp: Option<&Xmp>,
    out: &mut Findings,
) -> Result<()> {
    if out.value(Target::DOCUMENT_APPLICATION).is_none() && out.wants(Target::DOCUMENT_APPLICATION)
    {
        if let Some(creator) = text(document, info, b"Creator")? {
            out.put(Target::DOCUMENT_APPLICATION, creator, Medium, INFO);
        } else if let Some(tool) = xmp.and_then(|xmp| xmp.get(Field::CreatorTool)) {
            out.put(Target::DOCUMENT_APPLICATION, tool, Medium, XMP);
        }
    }
    if out.wants(Target::DOCUMENT_APPLICATION_VERSION) {
        let producer = match text(document, info, b"Producer")? {
            Some(producer) => Some(producer),
            None => xmp
                .and_then(|xmp| xmp.get(Field::Producer))
                .map(str::to_owned),
        };
        // A name without a version gives null; no name at all gives unknown.
        if let Some(producer) = producer {
            out.put(
                Target::DOCUMENT_APPLICATION_VERSION,
                version_in(&producer),
                High,
                "name of the producer",
            );
        }
    }
    Ok(())
}

/// Families of programs, by what occurs in their names in lower case. The first that fits counts.
const FAMILIES: &[(&str, &[&str])] = &[
    (
        "adobe",
        &[
            "adobe",
            "acrobat",
            "distiller",
            "indesign",
            "illustrator",
            "livecycle",
        ],
    ),
    ("microsoft", &["microsoft"]),
    (
        "apple",
        &["quartz", "mac os x", "macos", "pages", "keynote"],
    ),
    ("libreoffice", &["libreoffice", "openoffice", "staroffice"]),
    ("tex", &["tex", "dvipdf"]),
    ("ghostscript", &["ghostscript"]),
    ("chromium", &["skia/pdf", "chrom", "headless"]),
    ("itext", &["itext", "openpdf"]),
    ("pdfium", &["pdfium"]),
    ("qpdf", &["qpdf", "pikepdf"]),
    ("pypdf", &["pypdf"]),
    ("cairo", &["cairo"]),
    ("reportlab", &["reportlab"]),
    ("fpdf", &["fpdf", "tcpdf", "mpdf", "dompdf"]),
    ("pdfbox", &["pdfbox"]),
    ("apache_fop", &["apache fop"]),
    ("qt", &["qt "]),
    ("wkhtmltopdf", &["wkhtmltopdf"]),
    ("foxit", &["foxit", "phantom"]),
    ("nitro", &["nitro"]),
    ("corel", &["corel"]),
    ("aspose", &["aspose"]),
    ("prince", &["prince"]),
    ("weasyprint", &["weasyprint"]),
    ("pdfsharp", &["pdfsharp"]),
    ("abbyy", &["abbyy", "finereader"]),
];

fn family_of(producer: &str) -> Option<&'static str> {
    let name = producer.to_lowercase();
    let fits = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let family = FAMILIES.iter().find(|(_, words)| fits(words));
    family.map(|(family, _)| *family)
}

/// Null for a producer that is of no known family.
fn put_producer_family<'p>(
    document: &Document<'p>,
    info: &Dict<'p>,
    xmp: Option<&Xmp>,
    out: &mut Findings,
) -> Result<()> {
    if !out.wants(Target::PDF_PRODUCER_FAMILY) {
        return Ok(());
    }
    let producer = match text(document, info, b"Producer")? {
        Some(producer) => Some(producer),
        None => xmp
            .and_then(|xmp| xmp.get(Field::Producer))
            .map(str::to_owned),
    };
    if let Some(producer) = producer {
        let family = family_of(&producer).map_or(Value::Null, Value::word);
        out.put(
            Target::PDF_PRODUCER_FAMILY,
            family,
            High,
            "name of the producer",
        );
    }
    Ok(())
}

/// The first number with a point in a program's name: `Acrobat Distiller 9.3.2 (Windows)`.
fn version_in(name: &str) -> Option<&str> {
    name.split(|char: char| !(char.is_ascii_alphanumeric() || char == '.'))
        .filter_map(|word| {
            let start = word.find(|char: char| char.is_ascii_digit())?;
            let number = &word[start..];
            let len = number
                .find(|char: char| !(char.is_ascii_digit() || char == '.'))
                .unwrap_or(number.len());
            Some(number[..len].trim_end_matches('.'))
        })
        .find(|number| number.contains('.'))
}

/// What the document claims to conform to. Before XMP, PDF/X was claimed in the Info dictionary. `blocked` is
/// how much was before either was read.
fn put_conformance<'p>(
    opened: &Opened<'p>,
    info: &Dict<'p>,
    xmp: Option<&Xmp>,
    blocked: u64,
    out: &mut Findings,
) -> Result<()> {
    if !out.wants(Target::PDF_CONFORMANCE) || opened.document.catalogue().is_none() {
        return Ok(());
    }
    let document = &opened.document;
    let mut claims = xmp.map(Xmp::conformance).unwrap_or_default();
    if !claims.iter().any(|claim| claim.starts_with("PDF/X"))
        && let Some(claim) = text(document, info, b"GTS_PDFXVersion")?
    {
        claims.push(claim);
    }
    if document.blocked() == blocked {
        out.put(Target::PDF_CONFORMANCE, claims, High, XMP);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::version_in;

    #[test]
    fn versions_are_found_in_the_names_of_programs() {
        for (name, expected) in [
            ("Acrobat Distiller 9.3.2 (Windows)", Some("9.3.2")),
            ("pdfTeX-1.40.23", Some("1.40.23")),
            ("LibreOffice 6.0", Some("6.0")),
            ("mPDF 8.1.2", Some("8.1.2")),
            ("iText® 5.5.0 ©2000-2013 iText Group NV", Some("5.5.0")),
            ("Skia/PDF m127 Google Docs Renderer", None),
            ("pypdf", None),
            ("", None),
        ] {
            assert_eq!(version_in(name), expected, "{name}");
        }
    }
}
