//! Annotations, forms, signatures, attachments, actions and page sizes.

use std::collections::HashMap;

use super::actions::ActiveContent;
use super::opened::Opened;
use super::signatures::Signature;
use super::sizes::Sizes;
use super::{actions, fields, pages};
use crate::contract::Confidence::{Exact, High};
use crate::engine::catalogue::Target;
use crate::engine::container::pdf::{Dict, Document, Encryption, Object};
use crate::engine::driver::signals::Signal;
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
    Target::SECURITY_RISK_SIGNALS,
    Target::SECURITY_SIGNATURE_COUNT,
    Target::PDF_FONTS,
    Target::PDF_IMAGE_COUNT,
    Target::PDF_SIGNATURES,
];

/// ActiveContent by visiting every page.
const OF_PAGES: &[Target] = &[
    Target::PDF_ANNOTATION_COUNT,
    Target::PDF_LINK_COUNT,
    Target::PDF_PAGE_SIZE_CLASSES,
    Target::PDF_PAGE_SIZES,
];

const OTHERS: &[Target] = &[Target::PDF_FORM_FIELD_COUNT, Target::PDF_HAS_XMP];

fn put_password(document: &Document<'_>, out: &mut Findings) -> Result<()> {
    let needed = match document.encryption()? {
        Encryption::None | Encryption::Unlocked(_) => Some(false),
        Encryption::PasswordRequired { .. } => Some(true),
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
    let (blocked, encrypted) = (document.blocked(), document.encrypted());
    let mut content = ActiveContent::default();
    let searched = actions::find(document, catalogue, &mut content);
    // What was found is certain. That there is nothing more is known only after a complete search.
    let complete = searched.is_ok() && document.blocked() == blocked && !content.too_deep;
    for (target, value) in [
        (
            Target::SECURITY_HAS_DIGITAL_SIGNATURE,
            content.signature_count > 0,
        ),
        (
            Target::SECURITY_HAS_EMBEDDED_FILES,
            content.attachments() > 0,
        ),
        (
            Target::SECURITY_HAS_EXTERNAL_RELATIONSHIPS,
            content.has_external_references(),
        ),
        (Target::SECURITY_HAS_JAVASCRIPT, content.has_java_script()),
    ] {
        if value || complete {
            out.put(target, value, Exact, SOURCE);
        }
    }
    let risk = content.signals.risk();
    if complete || risk == actions::WORST {
        out.put(Target::SECURITY_ACTIVE_CONTENT_RISK, risk, High, SOURCE);
    }
    searched?;
    if document.encrypted() > encrypted {
        content.signals.add(Signal::EncryptedContent, || {
            "objects that need the password".to_owned()
        });
    } else if !complete {
        content.signals.add(Signal::UnreadableContent, || {
            "objects that are damaged or nest too deep".to_owned()
        });
    }
    let signals = content.signals.value();
    out.put(Target::SECURITY_RISK_SIGNALS, signals, High, SOURCE);
    if complete {
        out.put(Target::PDF_FONTS, content.assets.fonts(), Exact, SOURCE);
        let images = content.assets.image_count();
        out.put(Target::PDF_IMAGE_COUNT, images, Exact, SOURCE);
        let described = content.signatures.iter().map(Signature::value).collect();
        out.put(Target::PDF_SIGNATURES, Value::List(described), High, SOURCE);
        let signatures = content.signature_count;
        out.put(Target::SECURITY_SIGNATURE_COUNT, signatures, Exact, SOURCE);
        let attachments = content.attachments();
        out.put(Target::PDF_ATTACHMENT_COUNT, attachments, Exact, SOURCE);
    }
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
    /// Annotation arrays that several pages share: counted once, added every time.
    shared: HashMap<u32, (u64, u64)>,
}

fn put_pages<'p>(document: &Document<'p>, catalogue: &Dict<'p>, out: &mut Findings) -> Result<()> {
    let mut stats = PageStats::default();
    let mut sizes = Sizes::default();
    let wants_annotations = out.wants_any(&[Target::PDF_ANNOTATION_COUNT, Target::PDF_LINK_COUNT]);
    let wants_sizes = out.wants_any(&[Target::PDF_PAGE_SIZES, Target::PDF_PAGE_SIZE_CLASSES]);
    let is_read = pages::for_each(document, catalogue, pages::OF_SIZES, |page, inherited| {
        if wants_annotations {
            stats.annotations(document, page)?;
        }
        if wants_sizes {
            sizes.add(document, page, inherited)?;
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
    if !sizes.is_empty() {
        out.put(Target::PDF_PAGE_SIZES, sizes.value(), Exact, SOURCE);
        let classes = sizes.classes();
        out.put(Target::PDF_PAGE_SIZE_CLASSES, classes, Exact, SOURCE);
    }
    Ok(())
}

impl PageStats {
    /// Adds the annotations of a page. Null and missing entries do not count (12.5.2).
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
}

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
