//! The presentation part and what slides say on their start tags (ISO/IEC 29500-1, 19.2 and 19.3).

use std::collections::HashMap;

use memchr::memmem;

use super::choice::each_child;
use super::unless_damaged;
use crate::engine::budget::Meter;
use crate::engine::container::opc::{Kind, Package};
use crate::engine::container::xml::{Ns, Token, Xml};
use crate::engine::container::zip::{Beginning, Entry, Steps};
use crate::engine::error::{ProbeError, Result};
use crate::engine::value::Value;

/// Slides say on their start tag whether they are shown, which takes 180 to 350 packed bytes.
const START_TAG: Steps = Steps {
    first: 192,
    next: 24,
};

/// The list of slides and their size stand before all the styles of a presentation.
const LISTS: Steps = Steps {
    first: 384,
    next: 64,
};

/// English Metric Units in a point.
const EMU_PER_POINT: f64 = 12_700.0;

/// What a presentation part says. What could not be read to its end is `None`.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Presentation {
    /// The relationship ids of the slides, in order.
    pub(super) slides: Option<Vec<String>>,
    pub(super) size: Option<Size>,
}

/// The size of a slide in EMU; neither side is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    width: u64,
    height: u64,
}

impl Size {
    #[expect(
        clippy::cast_precision_loss,
        reason = "lengths in EMU are far below 2^53"
    )]
    pub(super) fn value(&self) -> Value {
        Value::object([
            ("height_emu", Value::from(self.height)),
            ("height_pt", Value::from(self.height as f64 / EMU_PER_POINT)),
            ("width_emu", Value::from(self.width)),
            ("width_pt", Value::from(self.width as f64 / EMU_PER_POINT)),
        ])
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "lengths in EMU are far below 2^53"
    )]
    pub(super) fn ratio(&self) -> Value {
        let divisor = gcd(self.width, self.height);
        Value::object([
            (
                "decimal",
                Value::from(self.width as f64 / self.height as f64),
            ),
            ("height", Value::from(self.height / divisor)),
            ("width", Value::from(self.width / divisor)),
        ])
    }

    pub(super) fn orientation(&self) -> &'static str {
        match self.width.cmp(&self.height) {
            std::cmp::Ordering::Greater => "landscape",
            std::cmp::Ordering::Less => "portrait",
            std::cmp::Ordering::Equal => "square",
        }
    }
}

/// Reads a presentation part, and not all of it when the beginning says everything: the schema has
/// the size after the list of slides and before everything bulky.
///
/// # Errors
/// Budget errors.
pub(super) fn presentation(package: &Package<'_>, main: Entry<'_>) -> Result<Presentation> {
    let beginning = package.look_into(main, LISTS, |Beginning { bytes, is_all }| {
        // Nothing is complete before the size is there, and to look for it is quicker than to parse.
        if !is_all && memmem::find(bytes, b"sldSz").is_none() {
            return None;
        }
        let (found, whole) = parse(readable(bytes)?, package.meter());
        let complete = found.slides.is_some() && found.size.is_some();
        (complete || whole.is_ok()).then_some(found)
    });
    if let Some(Some(found)) = unless_damaged(beginning)? {
        return Ok(found);
    }
    // Not in UTF-8, then; or damaged.
    match unless_damaged(package.read_text(main))? {
        Some(text) => {
            let (found, whole) = parse(&text, package.meter());
            unless_damaged(whole)?;
            Ok(found)
        }
        None => Ok(Presentation::default()),
    }
}

/// What the text says up to its end or an error.
fn parse(text: &str, meter: &Meter) -> (Presentation, Result<()>) {
    let mut presentation = Presentation::default();
    let whole = read(&mut presentation, &mut Xml::new(text, meter));
    if whole.is_ok() {
        // A presentation without the list has no slides.
        presentation.slides.get_or_insert_default();
    }
    (presentation, whole)
}

fn read(presentation: &mut Presentation, xml: &mut Xml<'_>) -> Result<()> {
    let root = xml.root()?;
    if !xml.is(&root, Ns::Presentation, "presentation") {
        return Err(ProbeError::malformed(
            "the root element is not presentation",
        ));
    }
    each_child(xml, 1, &mut |xml, tag| {
        if xml.is(tag, Ns::Presentation, "sldIdLst") {
            presentation.slides = Some(read_list(xml)?);
        } else if presentation.size.is_none() && xml.is(tag, Ns::Presentation, "sldSz") {
            let side = |name| -> Result<Option<u64>> {
                Ok(tag
                    .attribute(name)?
                    .and_then(|text| text.trim().parse().ok())
                    .filter(|side| *side > 0))
            };
            presentation.size = side("cx")?
                .zip(side("cy")?)
                .map(|(width, height)| Size { width, height });
        }
        Ok(())
    })
}

/// The relationship ids in the list of slides.
fn read_list(xml: &mut Xml<'_>) -> Result<Vec<String>> {
    let mut ids = Vec::new();
    let depth = xml.depth();
    each_child(xml, depth, &mut |xml, tag| {
        if xml.is(tag, Ns::Presentation, "sldId") {
            let id = tag.prefixed_attribute("id")?.unwrap_or_default();
            ids.push(id.into_owned());
        }
        Ok(())
    })?;
    Ok(ids)
}

/// The places in the list, counted from 1, of the slides that say on their start tag that they are not
/// shown. An entry of the list that leads nowhere is no hidden slide. `None` when a slide cannot be read.
///
/// # Errors
/// Budget errors.
pub(super) fn hidden(
    package: &Package<'_>,
    main: Entry<'_>,
    ids: &[String],
) -> Result<Option<Vec<u64>>> {
    // A slide that is listed many times is read once.
    let mut known: HashMap<usize, bool> = HashMap::new();
    let mut is_hidden_part = |index: usize| -> Result<Option<bool>> {
        if let Some(known) = known.get(&index) {
            return Ok(Some(*known));
        }
        let found = unless_damaged(is_hidden(package, package.entry(index)))?;
        Ok(found.inspect(|hidden| {
            known.insert(index, *hidden);
        }))
    };
    let all: Vec<usize> = package
        .parts()
        .filter(|(_, kind)| *kind == Kind::Slide)
        .map(|(entry, _)| entry.index())
        .collect();
    // With as many parts as entries, and no part hidden, no entry can lead to a hidden one, and the
    // relationships need not be read.
    if all.len() == ids.len() {
        let mut none_hidden = true;
        for &index in &all {
            if is_hidden_part(index)? != Some(false) {
                none_hidden = false;
                break;
            }
        }
        if none_hidden {
            return Ok(Some(Vec::new()));
        }
    }
    let Some(slides) = slide_parts(package, main, ids)? else {
        return Ok(None);
    };
    let mut hidden = Vec::new();
    for (number, slide) in (1..).zip(slides) {
        let Some(index) = slide else { continue };
        match is_hidden_part(index)? {
            Some(true) => hidden.push(number),
            Some(false) => {}
            None => return Ok(None),
        }
    }
    Ok(Some(hidden))
}

/// The part of each slide in the list, `None` for an entry that leads nowhere. `None` when the
/// relationships cannot be read.
fn slide_parts(
    package: &Package<'_>,
    main: Entry<'_>,
    ids: &[String],
) -> Result<Option<Vec<Option<usize>>>> {
    let Some(relationships) = package.relationships_of(main.name()) else {
        return Ok(None);
    };
    let mut targets: HashMap<String, usize> = HashMap::new();
    let read = package.relationships(relationships, |relationship| {
        if relationship.external || !relationship.kind.is_office("slide") {
            return;
        }
        if let Some(entry) = package.target(main.name(), &relationship.target) {
            targets.insert(relationship.id.clone().into_owned(), entry.index());
        }
    });
    if unless_damaged(read)?.is_none() {
        return Ok(None);
    }
    Ok(Some(
        ids.iter().map(|id| targets.get(id).copied()).collect(),
    ))
}

/// Longest title of a slide that is kept, in bytes.
const MAX_TITLE: usize = 4096;

/// What a slide holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Content {
    /// The text of the title placeholder; empty without one.
    pub(super) title: String,
    pub(super) has_transition: bool,
}

/// Reads the slides of the list. `None` when one of them is missing or damaged.
///
/// # Errors
/// Budget errors.
pub(super) fn contents(
    package: &Package<'_>,
    main: Entry<'_>,
    ids: &[String],
) -> Result<Option<Vec<Content>>> {
    if ids.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let Some(parts) = slide_parts(package, main, ids)? else {
        return Ok(None);
    };
    let mut known: HashMap<usize, Content> = HashMap::new();
    let mut slides = Vec::with_capacity(parts.len());
    for part in parts {
        let Some(index) = part else { return Ok(None) };
        if let Some(content) = known.get(&index) {
            slides.push(content.clone());
            continue;
        }
        let Some(content) = unless_damaged(content(package, package.entry(index)))? else {
            return Ok(None);
        };
        slides.push(content.clone());
        known.insert(index, content);
    }
    Ok(Some(slides))
}

/// A title is the text of the first shape whose placeholder is of the kind `title` or `ctrTitle`
/// (19.7.10). Paragraphs and line breaks are joined with a space.
fn content(package: &Package<'_>, slide: Entry<'_>) -> Result<Content> {
    let mut content = Content::default();
    let mut shape = None;
    let mut is_title = false;
    let mut in_text = None;
    package.scan(slide, &mut |xml, token| {
        let depth = xml.depth();
        match token {
            Token::Open(tag) => match (xml.ns(&tag), tag.local()) {
                (Ns::Presentation, "sp") => {
                    shape = Some(depth);
                    is_title = false;
                }
                (Ns::Presentation, "ph") if shape.is_some() && content.title.is_empty() => {
                    is_title = matches!(
                        tag.attribute("type")?.as_deref(),
                        Some("title" | "ctrTitle")
                    );
                }
                (Ns::Presentation, "transition") => content.has_transition = true,
                (Ns::Drawing, "t") if is_title => in_text = Some(depth),
                (Ns::Drawing, "br" | "p") if is_title && !content.title.is_empty() => {
                    content.title.push(' ');
                }
                _ => {}
            },
            Token::Close => {
                if in_text.is_some_and(|at| at > depth) {
                    in_text = None;
                }
                if shape.is_some_and(|at| at > depth) {
                    shape = None;
                    is_title = false;
                }
            }
            Token::Text(text) if in_text.is_some() && content.title.len() < MAX_TITLE => {
                content.title.push_str(&text);
            }
            Token::Reference if in_text.is_some() => {
                return Err(ProbeError::malformed("an entity is not defined"));
            }
            _ => {}
        }
        Ok(())
    })?;
    content.title = content.title.trim().to_owned();
    Ok(content)
}

/// Reads as much of a slide as its start tag takes (`show`, 19.3.1.38).
fn is_hidden(package: &Package<'_>, slide: Entry<'_>) -> Result<bool> {
    Ok(!at_start(package, slide, show_of)?)
}

/// What the root's start tag of a part says: no more of the part is read than that takes.
///
/// # Errors
/// `MALFORMED_INPUT` when there is no such tag that can be read; budget errors.
pub(super) fn at_start<V>(
    package: &Package<'_>,
    part: Entry<'_>,
    look: fn(&mut Xml<'_>) -> Result<V>,
) -> Result<V> {
    let found = package.look_into(part, START_TAG, |Beginning { bytes, .. }| {
        look(&mut Xml::new(readable(bytes)?, package.meter())).ok()
    })?;
    match found {
        Some(found) => Ok(found),
        // Not in UTF-8, then; or damaged.
        None => look(&mut Xml::new(&package.read_text(part)?, package.meter())),
    }
}

/// The beginning of a part as text. Its end may be in the middle of a character.
fn readable(bytes: &[u8]) -> Option<&str> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()?,
    };
    Some(text.strip_prefix('\u{feff}').unwrap_or(text))
}

fn show_of(xml: &mut Xml<'_>) -> Result<bool> {
    let root = xml.root()?;
    let show = root.attribute("show")?;
    let show = show.as_deref().map(str::trim);
    Ok(!matches!(show, Some("0" | "false" | "off")))
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a.max(1) } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Level, Limits};

    fn parsed(body: &str) -> Presentation {
        let text = format!(
            "<p:presentation xmlns:p='http://schemas.openxmlformats.org/presentationml/2006/main' \
             xmlns:r='urn:r' xmlns:p14='urn:p14'>{body}</p:presentation>"
        );
        parse(&text, &Meter::start(Limits::of(Level::Deep))).0
    }

    #[test]
    fn slides_are_those_of_the_list_whatever_sections_repeat() {
        let found = parsed(
            "<p:sldIdLst><p:sldId id='256' r:id='rId2'/><p:sldId id='257' r:id='rId3'/></p:sldIdLst>\
             <p:sldSz cx='12192000' cy='6858000'/><p:extLst><p14:sectionLst><p14:section>\
             <p14:sldIdLst><p14:sldId id='256'/><p14:sldId id='257'/></p14:sldIdLst></p14:section>\
             </p14:sectionLst></p:extLst>",
        );
        assert_eq!(found.slides.unwrap(), ["rId2", "rId3"]);
        let size = found.size.unwrap();
        assert_eq!(size.orientation(), "landscape");
        let mut ratio = Vec::new();
        size.ratio().write(&mut ratio);
        assert_eq!(
            String::from_utf8(ratio).unwrap(),
            r#"{"decimal":1.7777777777777777,"height":9,"width":16}"#
        );
    }

    #[test]
    fn a_size_that_is_none_is_unknown() {
        for size in [
            "<p:sldSz cx='0' cy='0'/>",
            "<p:sldSz cx='-1' cy='5'/>",
            "<p:sldSz cx='1'/>",
            "",
        ] {
            assert_eq!(parsed(size).size, None, "{size}");
        }
        assert_eq!(parsed("").slides.unwrap(), [""; 0]);
        assert_eq!(parsed("<p:sldIdLst>").slides, None);
    }

    #[test]
    fn a_start_tag_says_whether_a_slide_is_shown_once_it_is_complete() {
        let meter = Meter::start(Limits::of(Level::Deep));
        let cases = [
            (
                "\u{feff}<?xml version='1.0'?>\n<p:sld xmlns:p='x' show='0'><p:c",
                Some(false),
            ),
            ("<p:sld show='false'/>", Some(false)),
            ("<p:sld show=' 0 '/>", Some(false)),
            ("<p:sld show='1'>", Some(true)),
            ("<p:sld>", Some(true)),
            ("<!-- <p:sld show='0'> --><p:sld>", Some(true)),
            ("<p:sld show='0'", None),
            ("", None),
        ];
        for (text, expected) in cases {
            let text = readable(text.as_bytes()).unwrap();
            let found = show_of(&mut Xml::new(text, &meter)).ok();
            assert_eq!(found, expected, "{text}");
        }
    }
}
