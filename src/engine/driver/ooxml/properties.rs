//! Core properties (ISO/IEC 29500-2, 11) and extended properties (ISO/IEC 29500-1, 22.2).
//!
//! A property counts only in its own namespace and as a child of the root. What was read before an
//! error in the XML stays: it was read from elements that are complete.

use std::borrow::Cow;

use super::unless_damaged;
use crate::engine::budget::Meter;
use crate::engine::container::xml::{Ns, Token, Xml};
use crate::engine::error::{ProbeError, Result};
use crate::engine::value::Value;

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
    pub(super) last_modified_by: Option<String>,
    pub(super) revision: Option<String>,
    pub(super) language: Option<String>,
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
    pub(super) template: Option<String>,
    pub(super) company: Option<String>,
    pub(super) manager: Option<String>,
    pub(super) total_minutes: Option<u64>,
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
                (Ns::Dc, "language") => &mut self.language,
                (Ns::CoreProperties, "lastModifiedBy") => &mut self.last_modified_by,
                (Ns::CoreProperties, "revision") => &mut self.revision,
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
                "Template" => set(&mut self.template, xml)?,
                "Company" => set(&mut self.company, xml)?,
                "Manager" => set(&mut self.manager, xml)?,
                "TotalTime" => set_number(&mut self.total_minutes, xml)?,
                "Slides" => set_number(&mut self.slides, xml)?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// A custom property.
#[derive(Debug, PartialEq)]
pub(super) struct Custom {
    pub(super) name: String,
    /// The local name of the value's element: `lpwstr`, `i4`, `bool`, `filetime` …
    pub(super) kind: String,
    /// As written. `None` for what is not plain text: vectors and binary data.
    pub(super) value: Option<String>,
}

impl Custom {
    /// The value in the JSON type that fits its kind.
    pub(super) fn typed(&self) -> Value {
        let Some(text) = self.value.as_deref() else {
            return Value::Null;
        };
        let number = text.trim();
        let typed = match self.kind.as_str() {
            "bool" => match number {
                "true" | "1" => Some(Value::Bool(true)),
                "false" | "0" => Some(Value::Bool(false)),
                _ => None,
            },
            "i1" | "i2" | "i4" | "i8" | "int" | "ui1" | "ui2" | "ui4" | "ui8" | "uint" => {
                let whole = number.parse::<u64>().ok().map(Value::from);
                whole.or_else(|| number.parse::<f64>().ok().map(Value::from))
            }
            "r4" | "r8" | "decimal" => number.parse::<f64>().ok().map(Value::from),
            _ => None,
        };
        typed.unwrap_or_else(|| Value::from(text.to_owned()))
    }
}

/// `docProps/custom.xml` (ISO/IEC 29500-1, 22.3): the properties in their order.
///
/// # Errors
/// `MALFORMED_INPUT` when the part is damaged: a list with a gap would be wrong; budget errors.
pub(super) fn custom(text: &str, meter: &Meter) -> Result<Vec<Custom>> {
    let mut xml = Xml::new(text, meter);
    let root = xml.root()?;
    if !xml.is(&root, Ns::CustomProperties, "Properties") {
        return Err(ProbeError::malformed("the root element is not Properties"));
    }
    let mut properties = Vec::new();
    while let Some(tag) = xml.child(1)? {
        if !xml.is(&tag, Ns::CustomProperties, "property") {
            continue;
        }
        let Some(name) = tag.attribute("name")?.map(Cow::into_owned) else {
            continue;
        };
        let (kind, value) = match xml.child(2)? {
            Some(value) => {
                let kind = value.local();
                let is_text = !matches!(kind, "vector" | "array" | "blob" | "oblob" | "stream");
                let text = if is_text { xml.text()? } else { None };
                (kind.to_owned(), text.map(Cow::into_owned))
            }
            None => ("empty".to_owned(), None),
        };
        properties.push(Custom { name, kind, value });
    }
    Ok(properties)
}

/// Sensitivity labels: properties named `MSIP_Label_<id>_<key>`.
pub(super) fn sensitivity_labels(properties: &[Custom]) -> Value {
    let mut labels: Vec<(&str, Vec<(&'static str, Value)>)> = Vec::new();
    for property in properties {
        let Some((id, key)) = property
            .name
            .strip_prefix("MSIP_Label_")
            .and_then(|rest| rest.split_once('_'))
        else {
            continue;
        };
        let key = match key {
            "Enabled" => "enabled",
            "SetDate" => "set_date",
            "Method" => "method",
            "Name" => "name",
            "SiteId" => "site_id",
            "ContentBits" => "content_bits",
            _ => continue,
        };
        let value = Value::from(property.value.clone().unwrap_or_default());
        match labels.iter_mut().find(|(known, _)| *known == id) {
            Some((_, members)) => members.push((key, value)),
            None => labels.push((id, vec![(key, value)])),
        }
    }
    let object = |(id, mut members): (&str, Vec<(&'static str, Value)>)| {
        members.push(("id", Value::from(id.to_owned())));
        members.sort_by_key(|(key, _)| *key);
        members.dedup_by_key(|(key, _)| *key);
        Value::object(members)
    };
    Value::List(labels.into_iter().map(object).collect())
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
