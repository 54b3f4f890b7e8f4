//! What the first bytes say, and the version in force.

use std::borrow::Cow;

use super::{Opened, Pdf};
use crate::contract::Confidence::{Exact, High};
use crate::engine::catalogue::Target;
use crate::engine::container::pdf::{Header, linearized_length};
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
    let length = linearized_length(head, pdf.header.at);
    let size = pdf.probe.source.size();
    // Where foreign bytes precede the header, writers count from either place.
    let linearized =
        length.is_some_and(|length| length == size || length + pdf.header.at as u64 == size);
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
        // The look at the catalogue is an extra here: a large file keeps its header's answer.
        Err(error) if error.is_budget() && !pdf.needs_document() => {
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
        return version_of_catalogue(pdf.opened()?);
    }
    version_of_catalogue(&pdf.open_document(false)?)
}

fn version_of_catalogue(opened: &Opened<'_>) -> Result<Option<Version>> {
    let Some(catalogue) = opened.document.catalogue() else {
        return Ok(None);
    };
    let name = opened.document.name_of(catalogue, b"Version")?;
    Ok(name.and_then(|name| Version::parse(&name.bytes())))
}

/// The version in force, of an opened document.
pub(super) fn version_in_force(opened: &Opened<'_>) -> Result<Option<Version>> {
    Ok(opened.header.max(version_of_catalogue(opened)?))
}

/// A version of PDF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    major: u32,
    minor: u32,
}

impl Version {
    pub(super) const TWO: Self = Self { major: 2, minor: 0 };

    /// Reads `1.7`; what follows a second number is ignored.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let mut parts = text.split('.');
        let major = parts.next()?.parse().ok()?;
        let minor = parts.next()?.parse().ok()?;
        Some(Self { major, minor })
    }

    fn text(self) -> Cow<'static, str> {
        const USUAL: [&str; 8] = ["1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7"];
        match (self.major, USUAL.get(self.minor as usize)) {
            (1, Some(text)) => Cow::Borrowed(text),
            _ => Cow::Owned(format!("{}.{}", self.major, self.minor)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn versions_compare_as_numbers() {
        let version = |text: &[u8]| Version::parse(text);
        assert!(version(b"1.10") > version(b"1.7"));
        assert!(version(b"2.0") > version(b"1.7"));
        assert_eq!(version(b"1.4.2").map(Version::text).as_deref(), Some("1.4"));
        for odd in [&b""[..], b"1", b"1.", b".7", b"x"] {
            assert_eq!(version(odd), None);
        }
    }
}
