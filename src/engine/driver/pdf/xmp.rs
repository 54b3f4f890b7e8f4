//! XMP packets: the few properties that a probe asks for (ISO 16684-1).

mod walk;

use std::sync::LazyLock;

use memchr::memmem::Finder;

use self::walk::Walk;
use super::xml_text::utf8;
use crate::engine::budget::Meter;
use crate::engine::container::xml::{Ns, Token, Xml};
use crate::engine::error::Result;

/// A property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Field {
    Title,
    Creator,
    Description,
    /// `dc:subject`: keywords as a list.
    Subject,
    Keywords,
    Producer,
    CreatorTool,
    CreateDate,
    ModifyDate,
    PartA,
    ConformanceA,
    PartUa,
    VersionX,
}

const FIELDS: usize = Field::VersionX as usize + 1;

/// Some of the properties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fields(u16);

impl Fields {
    pub(super) const CONFORMANCE: Self = Self::of(&[
        Field::PartA,
        Field::ConformanceA,
        Field::PartUa,
        Field::VersionX,
    ]);

    pub(super) const fn of(fields: &[Field]) -> Self {
        let mut bits = 0;
        let mut at = 0;
        while at < fields.len() {
            bits |= 1 << fields[at] as usize;
            at += 1;
        }
        Self(bits)
    }

    pub(super) fn add(&mut self, others: Self) {
        self.0 |= others.0;
    }

    fn remove(&mut self, field: Field) {
        self.0 &= !Self::of(&[field]).0;
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn has(self, field: Field) -> bool {
        self.0 & Self::of(&[field]).0 != 0
    }

    /// The fields whose name occurs in a packet. Names cannot be escaped, so the others are not in it.
    /// This saves most parsing: what is missing in the Info dictionary is mostly missing in XMP too.
    fn named_in(self, packet: &[u8]) -> Self {
        let mut named = Self::default();
        for ((.., field), finder) in KNOWN.iter().zip(FINDERS.iter()) {
            if self.has(*field) && !named.has(*field) && finder.find(packet).is_some() {
                named.add(Self::of(&[*field]));
            }
        }
        named
    }
}

/// Namespace, local name and field.
const KNOWN: &[(Ns, &str, Field)] = &[
    (Ns::Dc, "title", Field::Title),
    (Ns::Dc, "creator", Field::Creator),
    (Ns::Dc, "description", Field::Description),
    (Ns::Dc, "subject", Field::Subject),
    (Ns::AdobePdf, "Keywords", Field::Keywords),
    (Ns::AdobePdf, "Producer", Field::Producer),
    (Ns::Xmp, "CreatorTool", Field::CreatorTool),
    (Ns::Xmp, "CreateDate", Field::CreateDate),
    (Ns::Xmp, "ModifyDate", Field::ModifyDate),
    (Ns::PdfA, "part", Field::PartA),
    (Ns::PdfA, "conformance", Field::ConformanceA),
    (Ns::PdfUa, "part", Field::PartUa),
    (Ns::PdfX, "GTS_PDFXVersion", Field::VersionX),
];

/// Finds the local name of each row of [`KNOWN`].
static FINDERS: LazyLock<Vec<Finder<'static>>> = LazyLock::new(|| {
    KNOWN
        .iter()
        .map(|(_, name, _)| Finder::new(*name))
        .collect()
});

/// The properties of a packet.
#[derive(Debug, Default)]
pub(super) struct Xmp {
    values: [Option<String>; FIELDS],
}

impl Xmp {
    /// A property; blank is absent. Keywords may be in either of two places.
    pub(super) fn get(&self, field: Field) -> Option<&str> {
        let value = |field: Field| self.values[field as usize].as_deref();
        let value = match field {
            Field::Keywords => value(field).or_else(|| value(Field::Subject)),
            field => value(field),
        };
        value.map(str::trim).filter(|text| !text.is_empty())
    }

    /// The standards that the packet claims: `PDF/A-2B`, `PDF/UA-1`, `PDF/X-4`.
    pub(super) fn conformance(&self) -> Vec<String> {
        let mut claims = Vec::new();
        if let Some(part) = self.get(Field::PartA) {
            let level = self.get(Field::ConformanceA).unwrap_or_default();
            claims.push(format!("PDF/A-{part}{}", level.to_ascii_uppercase()));
        }
        if let Some(part) = self.get(Field::PartUa) {
            claims.push(format!("PDF/UA-{part}"));
        }
        claims.extend(self.get(Field::VersionX).map(str::to_owned));
        claims
    }
}

/// Reads the wanted properties of a packet, and perhaps others. Of malformed XML it reads what
/// precedes the damage.
///
/// # Errors
/// Budget errors.
pub(super) fn read(data: &[u8], wanted: Fields, meter: &Meter) -> Result<Xmp> {
    let text = utf8(data);
    let missing = wanted.named_in(text.as_bytes());
    let mut walk = Walk::new(missing);
    let mut xml = Xml::new(&text, meter);
    while !walk.is_done() {
        match xml.next() {
            Ok(Some(Token::Open(tag))) => {
                let depth = xml.depth() - 1;
                walk.open(depth, xml.ns(&tag), tag.local());
                if walk.wants_attributes(depth) {
                    // Damaged attributes count up to the damage.
                    let _damaged = tag.attributes(|name, value| {
                        let (ns, local) = xml.attribute_ns(name);
                        walk.attribute(depth, ns, local, &value);
                    });
                }
            }
            Ok(Some(Token::Close)) => walk.close(xml.depth()),
            Ok(Some(Token::Text(text))) => walk.text(&text),
            Ok(Some(Token::Reference)) => {}
            Ok(None) => break,
            Err(error) if error.is_malformed() => break,
            Err(error) => return Err(error),
        }
    }
    Ok(walk.into_xmp())
}

fn known(ns: Ns, local: &str) -> Option<Field> {
    KNOWN
        .iter()
        .find(|(of, name, _)| *of == ns && *name == local)
        .map(|(.., field)| *field)
}

#[cfg(test)]
mod tests;
