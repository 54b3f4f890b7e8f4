//! Core properties (ISO/IEC 29500-2, 11) and extended properties (ISO/IEC 29500-1, 22.2).
//!
//! A property counts only in its own namespace and as a child of the root. What was read before an
//! error in the XML stays: it stands in elements that were closed.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::unless_damaged;
use crate::engine::budget::Meter;
use crate::engine::container::xml::{Ns, Token, Xml};
use crate::engine::error::{ProbeError, Result};

/// `docProps/core.xml`. A property that is absent or blank is `None`.
#[derive(Debug, Default)]
pub(super) struct CoreProperties {
    pub(super) title: Option<String>,
    pub(super) subject: Option<String>,
    pub(super) creator: Option<String>,
    pub(super) keywords: Option<String>,
    pub(super) description: Option<String>,
    pub(super) created: Option<String>,
    pub(super) modified: Option<String>,
}

/// `docProps/app.xml`.
#[derive(Debug, Default)]
pub(super) struct AppProperties {
    pub(super) application: Option<String>,
    pub(super) version: Option<String>,
    pub(super) pages: Option<u64>,
    pub(super) words: Option<u64>,
    pub(super) characters: Option<u64>,
    pub(super) paragraphs: Option<u64>,
    pub(super) slides: Option<u64>,
}

impl CoreProperties {
    /// Reads what is there.
    ///
    /// # Errors
    /// `BUDGET_EXCEEDED` past the time limit.
    pub(super) fn parse(text: &str, meter: &Meter) -> Result<Self> {
        let mut properties = Self::default();
        let read = properties.read(&mut Xml::new(text, meter));
        unless_damaged(read)?;
        Ok(properties)
    }

    fn read(&mut self, xml: &mut Xml<'_>) -> Result<()> {
        let root = xml.root()?;
        if !xml.is(&root, Ns::CoreProperties, "coreProperties") {
            return Ok(());
        }
        while let Some(tag) = xml.child(1)? {
            let slot = match (xml.ns(&tag), tag.local()) {
                (Ns::Dc, "title") => &mut self.title,
                (Ns::Dc, "subject") => &mut self.subject,
                (Ns::Dc, "creator") => &mut self.creator,
                (Ns::Dc, "description") => &mut self.description,
                (Ns::DcTerms, "created") => &mut self.created,
                (Ns::DcTerms, "modified") => &mut self.modified,
                (Ns::CoreProperties, "keywords") => {
                    if let Some(keywords) = keywords(xml)? {
                        self.keywords = Some(keywords);
                    }
                    continue;
                }
                _ => continue,
            };
            set(slot, xml)?;
        }
        Ok(())
    }
}

impl AppProperties {
    /// Reads what is there.
    ///
    /// # Errors
    /// `BUDGET_EXCEEDED` past the time limit.
    pub(super) fn parse(text: &str, meter: &Meter) -> Result<Self> {
        let mut properties = Self::default();
        let read = properties.read(&mut Xml::new(text, meter));
        unless_damaged(read)?;
        Ok(properties)
    }

    fn read(&mut self, xml: &mut Xml<'_>) -> Result<()> {
        let root = xml.root()?;
        let ns = xml.ns(&root);
        if root.local() != "Properties" {
            return Ok(());
        }
        while let Some(tag) = xml.child(1)? {
            // Some producers put all of it into another namespace, or none; then at least into one.
            if xml.ns(&tag) != ns {
                continue;
            }
            match tag.local() {
                "Application" => set(&mut self.application, xml)?,
                "AppVersion" => set(&mut self.version, xml)?,
                "Pages" => set_number(&mut self.pages, xml)?,
                "Words" => set_number(&mut self.words, xml)?,
                "Characters" => set_number(&mut self.characters, xml)?,
                "Paragraphs" => set_number(&mut self.paragraphs, xml)?,
                "Slides" => set_number(&mut self.slides, xml)?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// `docProps/custom.xml`: names and values as written; of equal names the last counts. Values that are no simple text (vectors,
/// binary data) are `None`.
///
/// # Errors
/// `MALFORMED_INPUT` when the part is damaged: a list with a gap would be wrong; budget errors.
pub(super) fn custom(text: &str, meter: &Meter) -> Result<BTreeMap<String, Option<String>>> {
    let mut xml = Xml::new(text, meter);
    let root = xml.root()?;
    if !xml.is(&root, Ns::CustomProperties, "Properties") {
        return Err(ProbeError::malformed("the root element is not Properties"));
    }
    let mut properties = BTreeMap::new();
    while let Some(tag) = xml.child(1)? {
        if !xml.is(&tag, Ns::CustomProperties, "property") {
            continue;
        }
        let Some(name) = tag.attribute("name")?.map(Cow::into_owned) else {
            continue;
        };
        let value = match xml.child(2)? {
            Some(value) if !matches!(value.local(), "vector" | "array" | "blob" | "stream") => {
                xml.text()?.map(Cow::into_owned)
            }
            _ => None,
        };
        properties.insert(name, value);
    }
    Ok(properties)
}

/// Keywords are text, `value` elements, or both (11.2, `CT_Keywords`).
fn keywords(xml: &mut Xml<'_>) -> Result<Option<String>> {
    let depth = xml.depth();
    let mut words: Vec<String> = Vec::new();
    let mut piece = String::new();
    let mut known = true;
    let mut flush = |piece: &mut String| {
        if let Some(word) = not_blank(piece) {
            words.push(word.to_owned());
        }
        piece.clear();
    };
    loop {
        match xml.next()? {
            Some(Token::Text(text)) => piece.push_str(&text),
            Some(Token::Reference) => known = false,
            Some(Token::Open(_)) => flush(&mut piece),
            Some(Token::Close) => {
                flush(&mut piece);
                if xml.depth() < depth {
                    break;
                }
            }
            None => break,
        }
    }
    Ok((known && !words.is_empty()).then(|| words.join(", ")))
}

/// Of several elements with one name the last that is not blank counts.
fn set(slot: &mut Option<String>, xml: &mut Xml<'_>) -> Result<()> {
    let text = xml.text()?;
    if let Some(text) = text.as_deref().and_then(not_blank) {
        *slot = Some(text.to_owned());
    }
    Ok(())
}

fn set_number(slot: &mut Option<u64>, xml: &mut Xml<'_>) -> Result<()> {
    let text = xml.text()?;
    if let Some(text) = text.as_deref().and_then(not_blank) {
        *slot = text.parse().ok();
    }
    Ok(())
}

fn not_blank(text: &str) -> Option<&str> {
    let text = text.trim();
    (!text.is_empty()).then_some(text)
}
