//! What trailer, cross-reference data, catalogue and page tree say.

use super::opened::Opened;
use super::pages;
use crate::contract::Confidence::Exact;
use crate::engine::catalogue::Target;
use crate::engine::container::pdf::{Dict, Document, Object};
use crate::engine::error::Result;
use crate::engine::findings::Findings;

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
    if out.wants(Target::PDF_OBJECT_COUNT) {
        let count = document.object_count()?;
        out.put(
            Target::PDF_OBJECT_COUNT,
            count,
            Exact,
            "cross-reference data",
        );
    }
    if let Some(catalogue) = document.catalogue() {
        put_catalogue(document, catalogue, out)?;
    }
    for target in OF_CATALOGUE {
        out.unknown(*target);
    }
    if document.repaired() {
        // Known already; else the end of the probe will tell.
        out.put(Target::PDF_REPAIRED, true, Exact, "cross-reference data");
    }
    Ok(())
}

/// What only the catalogue can tell.
const OF_CATALOGUE: &[Target] = &[
    Target::DOCUMENT_LANGUAGE,
    Target::PDF_HAS_OUTLINE,
    Target::PDF_IS_TAGGED,
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
        let count = pages::count(document, catalogue)?;
        out.put_or_unknown(Target::PDF_PAGE_COUNT, count, Exact, "page tree");
    }
    if out.wants(Target::PDF_HAS_OUTLINE) {
        let blocked = document.blocked();
        let outlines = document.dict_of(catalogue, b"Outlines")?;
        let has = outlines.is_some_and(|outlines| outlines.has(b"First"));
        let known = (document.blocked() == blocked).then_some(has);
        out.put_or_unknown(Target::PDF_HAS_OUTLINE, known, Exact, "document catalogue");
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
