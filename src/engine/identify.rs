//! What a file is by its content, when its name does not lead to its driver.
//!
//! It is asked only after routing by name has failed, so a document with the right name pays nothing.

use super::catalogue::{Container, Profile};
use super::detect;
use super::driver::{iwork, legacy, ooxml};
use super::error::Result;
use super::source::Source;

/// First bytes that are looked at: a PDF header may be anywhere within.
const HEAD: u64 = 1024;

/// What the content is.
#[derive(Debug)]
pub(crate) struct Content {
    /// The profile, where it is one of ours.
    pub(crate) profile: Option<Profile>,
    /// In words, with an article.
    pub(crate) name: String,
}

impl Content {
    fn of(profile: Profile) -> Self {
        let name = match profile {
            Profile::Pdf => "a PDF document".to_owned(),
            Profile::EncryptedOoxml => "an encrypted Office Open XML package".to_owned(),
            _ => {
                let driver = profile.driver().as_str();
                format!(
                    "a document of the profile {} (driver {driver})",
                    profile.name()
                )
            }
        };
        Self {
            profile: Some(profile),
            name,
        }
    }

    fn foreign(name: &str) -> Self {
        Self {
            profile: None,
            name: name.to_owned(),
        }
    }
}

/// Looks at the content. `None` when nothing can be said about it.
///
/// # Errors
/// `BUDGET_EXCEEDED` and `SOURCE_IO`.
pub(crate) fn identify(source: &Source) -> Result<Option<Content>> {
    let head = source.read_range(0, HEAD)?;
    Ok(match detect::container(&head) {
        Container::Pdf => Some(Content::of(Profile::Pdf)),
        Container::Cfb => Some(match legacy::identify(source) {
            Ok(Some(profile)) => Content::of(profile),
            _ => {
                Content::foreign("a compound file (OLE) without a Word, Excel or PowerPoint stream")
            }
        }),
        Container::Zip => Some(zip(source, &head)),
        Container::Other => other(&head).map(Content::foreign),
    })
}

fn zip(source: &Source, head: &[u8]) -> Content {
    if let Ok(Some(profile)) = ooxml::identify(source) {
        return Content::of(profile);
    }
    if let Ok(Some(profile)) = iwork::identify(source) {
        return Content::of(profile);
    }
    // OpenDocument and EPUB begin with an uncompressed entry that holds the media type.
    let holds = |text: &str| memchr::memmem::find(head, text.as_bytes()).is_some();
    Content::foreign(if holds("mimetypeapplication/vnd.oasis.opendocument") {
        "an OpenDocument file"
    } else if holds("mimetypeapplication/epub+zip") {
        "an EPUB book"
    } else {
        "a ZIP archive without an Office or iWork document"
    })
}

/// Signatures of what people take for documents, at the beginning of the file.
const SIGNATURES: &[(&[u8], &str)] = &[
    (b"{\\rtf", "a Rich Text Format document"),
    (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
    (b"\xFF\xD8\xFF", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"II*\0", "a TIFF picture"),
    (b"MM\0*", "a TIFF picture"),
    (b"\x1f\x8b", "a gzip file"),
    (b"7z\xBC\xAF\x27\x1C", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"MZ", "a Windows program"),
    (b"\x7fELF", "a program"),
    (b"%!PS", "a PostScript document"),
    (b"bplist0", "a binary property list"),
    (b"\xDBA-\0", "a WordPerfect or Word for DOS document"),
    (
        b"\x09\x00\x04\x00",
        "a workbook stream of Excel 2 without a container",
    ),
    (
        b"\x09\x02\x06\x00",
        "a workbook stream of Excel 3 without a container",
    ),
    (
        b"\x09\x04\x06\x00",
        "a workbook stream of Excel 4 without a container",
    ),
    (
        b"\x09\x08\x08\x00",
        "a workbook stream of Excel 5 without a container",
    ),
    (
        b"\x09\x08\x10\x00",
        "a workbook stream of Excel 97 without a container",
    ),
];

/// What is not one of our containers.
fn other(head: &[u8]) -> Option<&'static str> {
    if head.is_empty() {
        return Some("an empty file");
    }
    let signature = SIGNATURES.iter().find(|(magic, _)| head.starts_with(magic));
    if let Some((_, name)) = signature {
        return Some(name);
    }
    let text = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    let text = text.trim_ascii_start();
    let lower = text[..text.len().min(256)].to_ascii_lowercase();
    let holds = |part: &str| memchr::memmem::find(&lower, part.as_bytes()).is_some();
    if lower.starts_with(b"<!doctype html")
        || lower.starts_with(b"<html")
        || lower.starts_with(b"<?xml") && holds("<html")
    {
        Some("an HTML page")
    } else if lower.starts_with(b"<?xml") && holds("word.document") {
        Some("a Word 2003 XML document")
    } else if lower.starts_with(b"<?xml") && holds("excel.sheet") {
        Some("an Excel 2003 XML workbook")
    } else if lower.starts_with(b"<?xml") {
        Some("an XML document")
    } else if lower.starts_with(b"mime-version:") {
        Some("a MIME message or single-file web page")
    } else if head.iter().all(|byte| *byte == 0) {
        Some("a file of zero bytes, as a failed copy leaves it")
    } else if std::str::from_utf8(&head[..head.len().min(512)])
        .is_ok_and(|text| !text.contains('\0'))
    {
        Some("plain text")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_document_of_ours_is_named() {
        for (bytes, name) in [
            (&b"{\\rtf1\\ansi"[..], "a Rich Text Format document"),
            (b"\xEF\xBB\xBF \r\n<!DOCTYPE HTML><p>", "an HTML page"),
            (b"<?xml version='1.0'?><html xmlns=''>", "an HTML page"),
            (
                b"<?xml version='1.0'?><?mso-application progid=\"Word.Document\"?>",
                "a Word 2003 XML document",
            ),
            (
                b"\x09\x08\x10\x00\x00\x06",
                "a workbook stream of Excel 97 without a container",
            ),
            (
                b"PK\x03\x04\x14\0\0\0\0\0mimetypeapplication/vnd.oasis.opendocument.text",
                "an OpenDocument file",
            ),
            (
                b"PK\x03\x04",
                "a ZIP archive without an Office or iWork document",
            ),
            (b"", "an empty file"),
            (
                b"\0\0\0\0",
                "a file of zero bytes, as a failed copy leaves it",
            ),
            (b"hello", "plain text"),
            (
                b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1",
                "a compound file (OLE) without a Word, Excel or PowerPoint stream",
            ),
        ] {
            let content = identify(&Source::for_test("x", bytes)).unwrap().unwrap();
            assert_eq!((content.name.as_str(), content.profile), (name, None));
        }
        let unknown = Source::for_test("x", *b"\xFE\x01\x02\x80 what is this");
        assert!(identify(&unknown).unwrap().is_none());
    }
}
