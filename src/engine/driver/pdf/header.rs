//! Facts from the first bytes, and the version in force.

use super::Pdf;
use super::version::Version;
use crate::contract::Confidence::{Exact, High};
use crate::engine::catalogue::Target;
use crate::engine::container::pdf::{Header, Linearization};
use crate::engine::driver::identity;
use crate::engine::error::Result;
use crate::engine::findings::Findings;
use crate::engine::value::Value;

pub(super) fn run(pdf: &Pdf<'_>, out: &mut Findings) -> Result<()> {
    identity::put(pdf.probe, out);
    if out.wants(Target::PDF_LINEARIZED) {
        put_linearized(pdf, out)?;
    }
    if out.wants(Target::PDF_VERSION) {
        put_version(pdf, out)?;
    }
    Ok(())
}

/// A file is linearized when its first object is a linearization dictionary whose `L` is the size of
/// the file: an update appended later makes it an ordinary file again (ISO 32000-2, annex F.3.3).
fn put_linearized(pdf: &Pdf<'_>, out: &mut Findings) -> Result<()> {
    let head = pdf.probe.source.read_head(Header::WITHIN)?;
    let linearization = Linearization::read(head, pdf.header.at);
    let size = pdf.probe.source.size();
    let linearized = linearization.is_some_and(|found| {
        // Where foreign bytes precede the header, writers count from either place.
        found.length == size || found.length + pdf.header.at as u64 == size
    });
    out.put(
        Target::PDF_LINEARIZED,
        linearized,
        High,
        "linearization dictionary",
    );
    Ok(())
}

/// The later of the header's version and the catalogue's (7.5.2).
fn put_version(pdf: &Pdf<'_>, out: &mut Findings) -> Result<()> {
    let header = Version::parse(pdf.header.version);
    let (catalogue, confidence) = match catalogue_version(pdf) {
        Ok(catalogue) => (catalogue, Exact),
        Err(error) if error.is_malformed() => (None, Exact),
        // A catalogue that is out of reach does not take the header's answer along.
        Err(error) if error.is_budget() => {
            pdf.probe.meter().check_clock()?;
            (None, High)
        }
        Err(error) => return Err(error),
    };
    match (header, catalogue) {
        (header, Some(catalogue)) if header.is_none_or(|header| header < catalogue) => {
            out.put(
                Target::PDF_VERSION,
                Value::Text(catalogue.text()),
                Exact,
                "document catalogue",
            );
        }
        (Some(header), _) => out.put(
            Target::PDF_VERSION,
            Value::Text(header.text()),
            confidence,
            "PDF header",
        ),
        (None, _) => out.unknown(Target::PDF_VERSION),
    }
    Ok(())
}

/// `Version` of the catalogue, where it can be reached without repairing the file for it.
fn catalogue_version(pdf: &Pdf<'_>) -> Result<Option<Version>> {
    if pdf.needs_document() {
        return pdf.opened()?.catalogue_version();
    }
    pdf.open_document(false)?.catalogue_version()
}
