//! iWork '08 and '09: the main part is XML (Apple's iWork Programming Guide), plain or gzip.
//!
//! What these documents record is read in one walk over the main part: the properties, the language, the
//! slides, sheets, pages and tables.

use std::io::Read as _;

use super::package::Package;
use super::root::RootKind;
use crate::contract::Confidence::{self, Exact, High};
use crate::engine::catalogue::{PathId, Target};
use crate::engine::container::xml::{self, Ns, Tag, Token, Xml};
use crate::engine::container::zip::Entry;
use crate::engine::error::{ProbeError, Result};
use crate::engine::findings::Findings;
use crate::engine::value::Value;

/// How far into the main part the root element is looked for.
const HEAD: usize = 16 * 1024;

/// Elements that are open at a time, as far as their names are needed.
const NAMED_DEPTH: usize = 16;

const GZIP: &[u8] = b"\x1F\x8B";

/// The kind of document by the root element of its main part. `None` when it cannot be read.
///
/// # Errors
/// Budget errors.
pub(super) fn kind(package: &Package<'_>, main: Entry<'_>) -> Result<Option<RootKind>> {
    if main.is_encrypted() {
        return Ok(None);
    }
    let mut head = Vec::new();
    let mut stream = package.stream(main);
    while head.len() < HEAD {
        match stream.more(&mut head) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) if error.is_malformed() => break,
            Err(error) => return Err(error),
        }
    }
    if head.starts_with(GZIP) {
        let mut plain = Vec::new();
        // The head is cut, so an error at its end is expected; what was inflated before it counts.
        let _cut = flate2::read::GzDecoder::new(&head[..])
            .take(HEAD as u64)
            .read_to_end(&mut plain);
        package
            .meter()
            .charge_expanded(plain.len() as u64, main.name())?;
        head = plain;
    }
    let text = String::from_utf8_lossy(&head);
    let mut xml = Xml::new(&text, package.meter());
    let root = match xml.root() {
        Ok(root) => root,
        Err(error) if error.is_budget() => return Err(error),
        Err(_) => return Ok(None),
    };
    Ok(match (xml.ns(&root), root.local()) {
        (Ns::IworkKeynote, "presentation") => Some(RootKind::Keynote),
        (Ns::IworkNumbers, "document") => Some(RootKind::Numbers),
        (Ns::IworkPages, "document") => Some(RootKind::Pages),
        _ => None,
    })
}

/// What the main part records.
#[derive(Debug, Default)]
pub(super) struct XmlDocument {
    title: Option<String>,
    authors: Vec<String>,
    keywords: Vec<String>,
    comment: Option<String>,
    language: Option<String>,
    created: Option<String>,
    modified: Option<String>,
    size: Option<(f64, f64)>,
    slides: u64,
    masters: u64,
    sheets: Vec<String>,
    pages: u64,
    tables: u64,
    /// Whether the main part could not be read to its end.
    is_damaged: bool,
}

impl XmlDocument {
    /// Reads the main part. What was complete before damage is kept.
    ///
    /// # Errors
    /// Budget errors.
    pub(super) fn read(package: &Package<'_>, main: Entry<'_>) -> Result<Self> {
        let mut document = Self::default();
        match document.read_part(package, main) {
            Ok(()) => {}
            Err(error) if error.is_malformed() => document.is_damaged = true,
            Err(error) => return Err(error),
        }
        Ok(document)
    }

    fn read_part(&mut self, package: &Package<'_>, main: Entry<'_>) -> Result<()> {
        let mut bytes = package.read(main)?;
        if bytes.starts_with(GZIP) {
            bytes = gunzip(&bytes, package, main)?;
        }
        let text = xml::decode(bytes)?;
        let mut xml = Xml::new(&text, package.meter());
        let mut open: Vec<&str> = Vec::new();
        while let Some(token) = xml.next()? {
            match token {
                Token::Open(tag) => {
                    self.element(&open, &tag)?;
                    if open.len() < NAMED_DEPTH {
                        open.push(tag.local());
                    }
                }
                Token::Close => open.truncate(xml.depth()),
                Token::Text(_) | Token::Reference => {}
            }
        }
        Ok(())
    }

    /// Takes an element; `open` are the names of those around it, the root first.
    fn element(&mut self, open: &[&str], tag: &Tag<'_>) -> Result<()> {
        let attribute = |name| {
            tag.prefixed_attribute(name)
                .map(|value| value.map(String::from))
        };
        match (open, tag.local()) {
            ([_, "metadata", property], "string") => self.property(property, attribute("string")?),
            ([_, "publication-info", "language"], "string") => self.language = attribute("string")?,
            ([_, "publication-info", "SLCreationDateProperty"], "date") => {
                self.created = attribute("val")?;
            }
            ([_, "publication-info", "SLLastModifiedDateProperty"], "date") => {
                self.modified = attribute("val")?;
            }
            (["presentation"], "size") => {
                let side = |text: Option<String>| text.and_then(|text| text.parse::<f64>().ok());
                self.size = side(attribute("w")?).zip(side(attribute("h")?));
            }
            ([_, "slide-list"], "slide") => self.slides += 1,
            ([_, "theme-list", "theme", "master-slides"], "master-slide") => self.masters += 1,
            ([_, "workspace-array"], "workspace") => {
                self.sheets.extend(attribute("workspace-name")?);
            }
            (_, "page-start") => self.pages += 1,
            ([_, part, ..], "tabular-model") if *part != "theme-list" => self.tables += 1,
            _ => {}
        }
        Ok(())
    }

    fn property(&mut self, name: &str, value: Option<String>) {
        let value = value.filter(|value| !value.trim().is_empty());
        match name {
            "title" => self.title = value,
            "comment" => self.comment = value,
            "authors" => self.authors.extend(value),
            "keywords" => self.keywords.extend(value),
            _ => {}
        }
    }

    /// Puts what the document records among the targets of a path. With damage, what was not found is
    /// unknown.
    pub(super) fn put(&self, kind: RootKind, path: PathId, out: &mut Findings) {
        let out = &mut Output { path, out };
        out.put(Target::QUALITY_CORRUPTED, Some(self.is_damaged), Exact);
        let texts = [
            (Target::DOCUMENT_TITLE, self.title.clone()),
            (Target::DOCUMENT_AUTHOR, joined(&self.authors)),
            (Target::DOCUMENT_KEYWORDS, joined(&self.keywords)),
            (Target::DOCUMENT_DESCRIPTION, self.comment.clone()),
            (Target::DOCUMENT_LANGUAGE, self.language.clone()),
            (Target::DOCUMENT_CREATED_AT, self.created.clone()),
            (Target::DOCUMENT_MODIFIED_AT, self.modified.clone()),
        ];
        for (target, text) in texts {
            let value = (text.is_some() || !self.is_damaged).then(|| Value::from(text));
            out.put(target, value, High);
        }
        let whole = |count: u64| (!self.is_damaged).then(|| Value::from(count));
        match kind {
            RootKind::Keynote => {
                out.put(Target::KEYNOTE_SLIDE_COUNT, whole(self.slides), Exact);
                out.put(
                    Target::KEYNOTE_MASTER_SLIDE_COUNT,
                    whole(self.masters),
                    Exact,
                );
                out.put(Target::KEYNOTE_TABLE_COUNT, whole(self.tables), Exact);
                let size = self.size.map(|(width, height)| {
                    Value::object([
                        ("width_pt", Value::from(width)),
                        ("height_pt", Value::from(height)),
                    ])
                });
                out.put(Target::KEYNOTE_SLIDE_SIZE, size, Exact);
            }
            RootKind::Numbers => {
                let sheets = whole(self.sheets.len() as u64);
                out.put(Target::NUMBERS_SHEET_COUNT, sheets, Exact);
                let names: Vec<_> = self.sheets.iter().map(String::as_str).collect();
                let names = (!self.is_damaged).then(|| Value::from(names));
                out.put(Target::NUMBERS_SHEET_NAMES, names, Exact);
                out.put(Target::NUMBERS_TABLE_COUNT, whole(self.tables), Exact);
            }
            RootKind::Pages | RootKind::KeynoteOrNumbers => {
                out.put(Target::PAGES_TABLE_COUNT, whole(self.tables), Exact);
                // The layout that was saved last; documents without one have no page marks.
                let pages = (self.pages > 0).then_some(self.pages);
                let pages = pages.map_or(Value::Null, Value::from);
                let pages = (!self.is_damaged).then_some(pages);
                out.put(Target::PAGES_CACHED_PAGE_COUNT, pages, High);
            }
        }
    }
}

/// Where the findings of one path go.
struct Output<'f> {
    path: PathId,
    out: &'f mut Findings,
}

impl Output<'_> {
    fn put(&mut self, target: Target, value: Option<impl Into<Value>>, confidence: Confidence) {
        if self.path.yields().all().contains(target) {
            self.out
                .put_or_unknown(target, value, confidence, "main XML part");
        }
    }
}

fn joined(values: &[String]) -> Option<String> {
    (!values.is_empty()).then(|| values.join(", "))
}

/// Inflates a gzip main part, which is charged piece by piece before it grows.
fn gunzip(bytes: &[u8], package: &Package<'_>, main: Entry<'_>) -> Result<Vec<u8>> {
    const STEP: usize = 64 * 1024;
    let mut reader = flate2::read::GzDecoder::new(bytes);
    let mut plain = Vec::new();
    loop {
        let start = plain.len();
        plain.resize(start + STEP, 0);
        let made = reader
            .read(&mut plain[start..])
            .map_err(|error| ProbeError::malformed(format_args!("{}: {error}", main.name())))?;
        plain.truncate(start + made);
        if made == 0 {
            return Ok(plain);
        }
        package.meter().check_clock()?;
        package.meter().charge_expanded(made as u64, main.name())?;
    }
}
