//! Annotations, forms, signatures, attachments, actions and page sizes.

use std::collections::HashMap;

use super::opened::Opened;
use super::pages::Inherited;
use super::{actions, fields, pages};
use crate::contract::Confidence::{Exact, High};
use crate::engine::catalogue::Target;
use crate::engine::container::pdf::{Dict, Document, Encryption, Object};
use crate::engine::error::Result;
use crate::engine::findings::Findings;
use crate::engine::value::Value;

pub(super) fn run(opened: &Opened<'_>, out: &mut Findings) -> Result<()> {
    let document = &opened.document;
    if out.wants(Target::SECURITY_PASSWORD_PROTECTED) {
        put_password(document, out)?;
    }
    if let Some(catalogue) = document.catalogue() {
        // The cheap ones first: what is known stays known when a budget ends the rest.
        put_xmp(document, catalogue, out)?;
        if out.wants(Target::PDF_FORM_FIELD_COUNT) {
            let blocked = document.blocked();
            let count = fields::count(document, catalogue)?;
            let count = (document.blocked() == blocked).then_some(count);
            out.put_or_unknown(Target::PDF_FORM_FIELD_COUNT, count, Exact, "form fields");
        }
        if out.wants_any(OF_PAGES) {
            put_pages(document, catalogue, out)?;
        }
        put_reachable(document, catalogue, out)?;
    }
    for target in OF_OBJECTS.iter().chain(OF_PAGES).chain(OTHERS) {
        out.unknown(*target);
    }
    Ok(())
}

/// ActiveContent by looking through everything that the catalogue leads to.
const OF_OBJECTS: &[Target] = &[
    Target::PDF_ATTACHMENT_COUNT,
    Target::SECURITY_ACTIVE_CONTENT_RISK,
    Target::SECURITY_HAS_DIGITAL_SIGNATURE,
    Target::SECURITY_HAS_EMBEDDED_FILES,
    Target::SECURITY_HAS_EXTERNAL_RELATIONSHIPS,
    Target::SECURITY_HAS_JAVASCRIPT,
    Target::SECURITY_SIGNATURE_COUNT,
];

/// ActiveContent by visiting every page.
const OF_PAGES: &[Target] = &[
    Target::PDF_ANNOTATION_COUNT,
    Target::PDF_LINK_COUNT,
    Target::PDF_PAGE_SIZES,
];

const OTHERS: &[Target] = &[Target::PDF_FORM_FIELD_COUNT, Target::PDF_HAS_XMP];

fn put_password(document: &Document<'_>, out: &mut Findings) -> Result<()> {
    let needed = match document.encryption()? {
        Encryption::None | Encryption::Unlocked(_) => Some(false),
        Encryption::PasswordRequired => Some(true),
        Encryption::Unsupported => None,
    };
    out.put_or_unknown(
        Target::SECURITY_PASSWORD_PROTECTED,
        needed,
        Exact,
        "encryption dictionary, tried with the empty password",
    );
    Ok(())
}

fn put_reachable<'p>(
    document: &Document<'p>,
    catalogue: &Dict<'p>,
    out: &mut Findings,
) -> Result<()> {
    const SOURCE: &str = "objects reached from the catalogue";
    if !out.wants_any(OF_OBJECTS) {
        return Ok(());
    }
    let blocked = document.blocked();
    let found = actions::find(document, catalogue)?;
    // What was found stands; that nothing more is there is known only when everything was seen.
    let complete = document.blocked() == blocked && !found.too_deep;
    for (target, value) in [
        (Target::SECURITY_HAS_DIGITAL_SIGNATURE, found.signatures > 0),
        (Target::SECURITY_HAS_EMBEDDED_FILES, found.embedded),
        (Target::SECURITY_HAS_EXTERNAL_RELATIONSHIPS, found.external),
        (Target::SECURITY_HAS_JAVASCRIPT, found.javascript),
    ] {
        let known = (value || complete).then_some(value);
        out.put_or_unknown(target, known, Exact, SOURCE);
    }
    for (target, count) in [
        (Target::SECURITY_SIGNATURE_COUNT, found.signatures),
        (Target::PDF_ATTACHMENT_COUNT, found.attachments),
    ] {
        out.put_or_unknown(target, complete.then_some(count), Exact, SOURCE);
    }
    let risk = found.risk();
    let known = (complete || risk == actions::WORST).then_some(risk);
    out.put_or_unknown(Target::SECURITY_ACTIVE_CONTENT_RISK, known, High, SOURCE);
    Ok(())
}

/// XMP of the document is a stream of type `Metadata` and subtype `XML` (14.3.2).
fn put_xmp<'p>(document: &Document<'p>, catalogue: &Dict<'p>, out: &mut Findings) -> Result<()> {
    if !out.wants(Target::PDF_HAS_XMP) {
        return Ok(());
    }
    let blocked = document.blocked();
    let metadata = document.get(catalogue, b"Metadata")?;
    let has_xmp = match metadata.as_deref() {
        None if document.blocked() > blocked => None,
        None => Some(false),
        Some(Object::Dict(dict)) => {
            (dict.is(b"Type", b"Metadata") && dict.is(b"Subtype", b"XML")).then_some(true)
        }
        Some(_) => None,
    };
    out.put_or_unknown(Target::PDF_HAS_XMP, has_xmp, Exact, "document catalogue");
    Ok(())
}

#[derive(Default)]
struct PageStats {
    annotations: u64,
    links: u64,
    sizes: HashMap<(u64, u64), u64>,
    /// Annotation arrays that several pages share: counted once, added every time.
    shared: HashMap<u32, (u64, u64)>,
    unsized_pages: u64,
    /// Width and height of rectangles that pages refer to.
    boxes: HashMap<u32, Option<(f64, f64)>>,
}

fn put_pages<'p>(document: &Document<'p>, catalogue: &Dict<'p>, out: &mut Findings) -> Result<()> {
    let mut stats = PageStats::default();
    let (annotations, sizes) = (
        out.wants_any(&[Target::PDF_ANNOTATION_COUNT, Target::PDF_LINK_COUNT]),
        out.wants(Target::PDF_PAGE_SIZES),
    );
    let mut pages = 0_u64;
    let is_read = pages::for_each(document, catalogue, |page, inherited| {
        pages += 1;
        if annotations {
            stats.annotations(document, page)?;
        }
        if sizes {
            stats.size(document, page, inherited)?;
        }
        Ok(())
    })?;
    if !is_read {
        return Ok(());
    }
    const SOURCE: &str = "page objects";
    out.put(
        Target::PDF_ANNOTATION_COUNT,
        stats.annotations,
        Exact,
        SOURCE,
    );
    out.put(Target::PDF_LINK_COUNT, stats.links, Exact, SOURCE);
    if pages > 0 && stats.unsized_pages < pages {
        out.put(Target::PDF_PAGE_SIZES, stats.page_sizes(), Exact, SOURCE);
    }
    Ok(())
}

impl PageStats {
    /// Adds the annotations of a page. What is null or missing is no annotation (12.5.2).
    fn annotations<'p>(&mut self, document: &Document<'p>, page: &Dict<'p>) -> Result<()> {
        let Some(entry) = page.get(b"Annots") else {
            return Ok(());
        };
        let shared = entry.as_ref().map(|reference| reference.number);
        let known = shared.and_then(|number| self.shared.get(&number).copied());
        let (annotations, links) = match known {
            Some(known) => known,
            None => {
                let counts = count_annotations(document, entry)?;
                if let Some(number) = shared {
                    self.shared.insert(number, counts);
                }
                counts
            }
        };
        self.annotations += annotations;
        self.links += links;
        Ok(())
    }

    /// Adds the size that a page shows: its crop box, else its media box, as turned and scaled.
    fn size<'p>(
        &mut self,
        document: &Document<'p>,
        page: &Dict<'p>,
        inherited: &Inherited<'p>,
    ) -> Result<()> {
        let boxes = [
            page.get(b"CropBox").or(inherited.crop_box.as_deref()),
            page.get(b"MediaBox").or(inherited.media_box.as_deref()),
        ];
        let mut size = None;
        for object in boxes.into_iter().flatten() {
            size = self.rectangle(document, object)?;
            if size.is_some() {
                break;
            }
        }
        let Some((mut width, mut height)) = size else {
            self.unsized_pages += 1;
            return Ok(());
        };
        let unit = document
            .get(page, b"UserUnit")?
            .and_then(|unit| unit.as_f64());
        if let Some(unit) = unit.filter(|unit| unit.is_finite() && *unit > 0.0) {
            width *= unit;
            height *= unit;
        }
        let turn = match page.get(b"Rotate").or(inherited.rotate.as_deref()) {
            Some(object) => document.resolve(object)?.as_f64().unwrap_or(0.0),
            None => 0.0,
        };
        if (turn / 90.0).rem_euclid(2.0) == 1.0 {
            (width, height) = (height, width);
        }
        // Writers round differently: a hundredth of a point makes no other size.
        let rounded = |length: f64| ((length * 100.0).round() / 100.0).to_bits();
        let key = (rounded(width), rounded(height));
        if self.sizes.len() < MAX_SIZES || self.sizes.contains_key(&key) {
            *self.sizes.entry(key).or_default() += 1;
        }
        Ok(())
    }

    /// Width and height of a rectangle; shared ones are read once.
    fn rectangle<'p>(
        &mut self,
        document: &Document<'p>,
        object: &Object<'p>,
    ) -> Result<Option<(f64, f64)>> {
        let Some(reference) = object.as_ref() else {
            return sides(document, object);
        };
        if let Some(known) = self.boxes.get(&reference.number) {
            return Ok(*known);
        }
        let sides = sides(document, &*document.resolve(object)?)?;
        if self.boxes.len() < MAX_SIZES {
            self.boxes.insert(reference.number, sides);
        }
        Ok(sides)
    }

    /// The distinct sizes, the most frequent first.
    fn page_sizes(&self) -> Value {
        let mut sizes: Vec<_> = self
            .sizes
            .iter()
            .map(|((width, height), count)| {
                (*count, f64::from_bits(*width), f64::from_bits(*height))
            })
            .collect();
        sizes.sort_by(|a, b| {
            b.0.cmp(&a.0)
                .then(a.1.total_cmp(&b.1))
                .then(a.2.total_cmp(&b.2))
        });
        Value::List(
            sizes
                .into_iter()
                .map(|(count, width, height)| {
                    Value::object([
                        ("count", Value::from(count)),
                        ("height_pt", Value::from(height)),
                        ("width_pt", Value::from(width)),
                    ])
                })
                .collect(),
        )
    }
}

/// Width and height of a rectangle.
fn sides<'p>(document: &Document<'p>, rectangle: &Object<'p>) -> Result<Option<(f64, f64)>> {
    let Some(corners) = rectangle.as_array() else {
        return Ok(None);
    };
    let mut numbers = [0.0; 4];
    if corners.len() < 4 {
        return Ok(None);
    }
    for (number, corner) in numbers.iter_mut().zip(corners) {
        match document.resolve(corner)?.as_f64() {
            Some(value) if value.is_finite() => *number = value,
            _ => return Ok(None),
        }
    }
    let [left, bottom, right, top] = numbers;
    let (width, height) = ((right - left).abs(), (top - bottom).abs());
    Ok((width > 0.0 && height > 0.0).then_some((width, height)))
}

/// Most distinct page sizes that are told apart.
const MAX_SIZES: usize = 1000;

/// Annotations and links of an annotation array.
fn count_annotations<'p>(document: &Document<'p>, entry: &Object<'p>) -> Result<(u64, u64)> {
    let resolved = document.resolve(entry)?;
    let (mut annotations, mut links) = (0, 0);
    for annotation in resolved.as_array().unwrap_or_default() {
        document.count_step()?;
        if let Some(dict) = document.resolve_keys(annotation, &[b"Subtype"])?.as_dict() {
            annotations += 1;
            links += u64::from(dict.is(b"Subtype", b"Link"));
        }
    }
    Ok((annotations, links))
}
