//! Facts from the trailer, the cross-reference data, the catalogue and the page tree.

use super::opened::Opened;
use super::{access, outline, pages};
use crate::contract::Confidence::{Exact, High};
use crate::engine::catalogue::Target;
use crate::engine::container::pdf::{Dict, Document, Object};
use crate::engine::error::Result;
use crate::engine::findings::Findings;
use crate::engine::value::Value;

pub(super) fn run(opened: &Opened<'_>, out: &mut Findings) -> Result<()> {
    let document = &opened.document;
    out.put(
        Target::SECURITY_ENCRYPTED,
        document.trailer().has(b"Encrypt"),
        Exact,
        "trailer dictionary",
    );
    // PDF knows no macros: its scripts are `security.has_javascript`.
    out.put(
        Target::SECURITY_HAS_MACROS,
        false,
        Exact,
        "PDF has no macros",
    );
    put_xref_type(document, out);
    if let Some(updates) = document.incremental_updates() {
        out.put(
            Target::PDF_INCREMENTAL_UPDATE_COUNT,
            updates,
            Exact,
            "cross-reference data",
        );
    }
    if out.wants(Target::PDF_PERMISSIONS)
        && let Some(permissions) = access::permissions(document)?
    {
        out.put(
            Target::PDF_PERMISSIONS,
            permissions,
            Exact,
            "encryption dictionary",
        );
    }
    if let Some(catalogue) = document.catalogue() {
        put_catalogue(document, catalogue, out)?;
    }
    for target in OF_CATALOGUE {
        out.unknown(*target);
    }
    // The last, since it may have to look through the whole of a damaged file.
    if out.wants(Target::PDF_OBJECT_COUNT) {
        let count = document.object_count()?;
        out.put(
            Target::PDF_OBJECT_COUNT,
            count,
            Exact,
            "cross-reference data",
        );
    }
    if document.repaired() {
        // Known already. Otherwise it is put at the end of the probe.
        out.put(Target::PDF_REPAIRED, true, Exact, "cross-reference data");
    }
    Ok(())
}

/// Targets that need the catalogue.
const OF_CATALOGUE: &[Target] = &[
    Target::DOCUMENT_LANGUAGE,
    Target::PDF_FORM_TYPE,
    Target::PDF_HAS_OUTLINE,
    Target::PDF_INCREMENTAL_UPDATE_COUNT,
    Target::PDF_IS_TAGGED,
    Target::PDF_OUTLINE_DEPTH,
    Target::PDF_OUTLINE_ITEM_COUNT,
    Target::PDF_PAGE_LABELS,
    Target::PDF_PERMISSIONS,
    Target::PDF_PAGE_COUNT,
];

fn put_xref_type(document: &Document<'_>, out: &mut Findings) {
    let kinds = document.kinds();
    let kind = match (kinds.tables, kinds.streams) {
        (true, true) => "hybrid",
        (true, false) => "table",
        (false, true) => "stream",
        (false, false) => "unknown",
    };
    out.put(Target::PDF_XREF_TYPE, kind, Exact, "cross-reference data");
}

fn put_catalogue<'p>(
    document: &Document<'p>,
    catalogue: &Dict<'p>,
    out: &mut Findings,
) -> Result<()> {
    if out.wants(Target::PDF_PAGE_COUNT) {
        put_page_count(document, catalogue, out)?;
    }
    if out.wants(Target::PDF_HAS_OUTLINE) {
        let blocked = document.blocked();
        let outlines = document.dict_of(catalogue, b"Outlines")?;
        let has = outlines.is_some_and(|outlines| outlines.has(b"First"));
        let known = (document.blocked() == blocked).then_some(has);
        out.put_or_unknown(Target::PDF_HAS_OUTLINE, known, Exact, "document catalogue");
    }
    if out.wants(Target::PDF_FORM_TYPE) {
        let kind = access::form_type(document, catalogue)?.map(Value::word);
        out.put_or_unknown(Target::PDF_FORM_TYPE, kind, Exact, "interactive form");
    }
    if out.wants_any(&[Target::PDF_OUTLINE_DEPTH, Target::PDF_OUTLINE_ITEM_COUNT])
        && let Some(outline) = outline::outline(document, catalogue)?
    {
        out.put(
            Target::PDF_OUTLINE_ITEM_COUNT,
            outline.items,
            Exact,
            "outline",
        );
        out.put(Target::PDF_OUTLINE_DEPTH, outline.depth, Exact, "outline");
    }
    if out.wants(Target::PDF_PAGE_LABELS) {
        let labels = outline::page_labels(document, catalogue)?;
        out.put_or_unknown(Target::PDF_PAGE_LABELS, labels, Exact, "page labels");
    }
    if out.wants(Target::PDF_IS_TAGGED) {
        let blocked = document.blocked();
        let marked = match document.dict_of(catalogue, b"MarkInfo")? {
            Some(info) => document
                .get(&info, b"Marked")?
                .and_then(|marked| marked.as_bool()),
            None => None,
        };
        let known = (document.blocked() == blocked).then_some(marked == Some(true));
        out.put_or_unknown(
            Target::PDF_IS_TAGGED,
            known,
            Exact,
            "mark information dictionary",
        );
    }
    if out.wants(Target::DOCUMENT_LANGUAGE)
        && let Some(object) = document.get(catalogue, b"Lang")?
        && let Object::Text(text) = &*object
    {
        let language = document.text(*text)?.filter(|text| !text.trim().is_empty());
        out.put_or_unknown(
            Target::DOCUMENT_LANGUAGE,
            language,
            Exact,
            "document catalogue",
        );
    }
    Ok(())
}

/// The pages of the tree; of a linearized file whose end is cut off and whose tree cannot be read, the
/// number that the linearization dictionary gives.
fn put_page_count<'p>(
    document: &Document<'p>,
    catalogue: &Dict<'p>,
    out: &mut Findings,
) -> Result<()> {
    let counted = pages::count(document, catalogue);
    if let (Ok(None), Some(pages)) | (Err(_), Some(pages)) = (&counted, document.pages_before_cut())
    {
        document.meter().check_clock()?;
        out.put(
            Target::PDF_PAGE_COUNT,
            pages,
            High,
            "linearization dictionary",
        );
        return Ok(());
    }
    out.put_or_unknown(Target::PDF_PAGE_COUNT, counted?, Exact, "page tree");
    Ok(())
}
