//! XMP packets: the few properties that a probe asks for (ISO 16684-1).

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::ResolveResult;
use quick_xml::reader::NsReader;

use crate::engine::error::Result;
use crate::engine::meter::Meter;

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

    /// Those whose name occurs in a packet. Names cannot be escaped, so the others are not in it, and
    /// that is the usual case: what the Info dictionary does not say, its twin does not say either.
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
const KNOWN: &[(&str, &str, Field)] = &[
    (DC, "title", Field::Title),
    (DC, "creator", Field::Creator),
    (DC, "description", Field::Description),
    (DC, "subject", Field::Subject),
    (PDF, "Keywords", Field::Keywords),
    (PDF, "Producer", Field::Producer),
    (BASIC, "CreatorTool", Field::CreatorTool),
    (BASIC, "CreateDate", Field::CreateDate),
    (BASIC, "ModifyDate", Field::ModifyDate),
    (PDFA, "part", Field::PartA),
    (PDFA, "conformance", Field::ConformanceA),
    (PDFUA, "part", Field::PartUa),
    (PDFX_ID, "GTS_PDFXVersion", Field::VersionX),
    (PDFX, "GTS_PDFXVersion", Field::VersionX),
];

/// Of each line of [`KNOWN`], what finds its local name.
static FINDERS: LazyLock<Vec<Finder<'static>>> = LazyLock::new(|| {
    KNOWN
        .iter()
        .map(|(_, name, _)| Finder::new(*name))
        .collect()
});

const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
const DC: &str = "http://purl.org/dc/elements/1.1/";
const PDF: &str = "http://ns.adobe.com/pdf/1.3/";
const BASIC: &str = "http://ns.adobe.com/xap/1.0/";
const PDFA: &str = "http://www.aiim.org/pdfa/ns/id/";
const PDFUA: &str = "http://www.aiim.org/pdfua/ns/id/";
const PDFX_ID: &str = "http://www.npes.org/pdfx/ns/id/";
const PDFX: &str = "http://ns.adobe.com/pdfx/1.3/";

/// XML events between two looks at the clock.
const CLOCK_STEP: usize = 512;

/// Most items of a list that are joined.
const MAX_ITEMS: usize = 1000;

/// The properties of a packet.
#[derive(Debug, Default)]
pub(super) struct Xmp {
    values: [Option<String>; FIELDS],
}

impl Xmp {
    /// A property; blank is absent. Keywords may stand in either of two places.
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

/// Reads the wanted properties of a packet, and others only by the way. Malformed XML gives what
/// stands before the damage.
///
/// # Errors
/// Budget errors.
pub(super) fn read(data: &[u8], wanted: Fields, meter: &Meter) -> Result<Xmp> {
    let text = utf8(data);
    let missing = wanted.named_in(text.as_bytes());
    if missing.is_empty() {
        return Ok(Xmp::default());
    }
    let mut reader = NsReader::from_str(&text);
    reader.config_mut().check_end_names = false;
    let mut state = State {
        missing,
        ..State::default()
    };
    for step in 0_usize.. {
        if state.missing.is_empty() {
            break;
        }
        if step.is_multiple_of(CLOCK_STEP) {
            meter.check_clock()?;
        }
        let Ok((namespace, event)) = reader.read_resolved_event() else {
            break;
        };
        match event {
            Event::Start(start) => {
                state.start(namespace_of(&namespace), start.local_name().as_ref());
                state.attributes(&reader, &start);
                state.depth += 1;
            }
            Event::Empty(start) => {
                state.start(namespace_of(&namespace), start.local_name().as_ref());
                state.attributes(&reader, &start);
                state.depth += 1;
                state.end();
            }
            Event::End(_) => state.end(),
            Event::Text(text) => state.text(&text),
            Event::CData(text) => state.text(&text),
            Event::GeneralRef(reference) => state.reference(&reference),
            Event::Eof => break,
            _ => {}
        }
    }
    Ok(state.xmp)
}

/// The packet in UTF-8. ISO 16684-1, 7.1 allows UTF-16 and UTF-32 too: they are known by their byte-order
/// mark, or else by the zeros around the first character.
fn utf8(data: &[u8]) -> Cow<'_, str> {
    use encoding_rs::{UTF_8, UTF_16BE, UTF_16LE};
    let (encoding, text) = match data {
        [0, 0, 0xFE, 0xFF, text @ ..] => return utf32(text, u32::from_be_bytes),
        [0xFF, 0xFE, 0, 0, text @ ..] => return utf32(text, u32::from_le_bytes),
        [0, 0, 0, b'<', ..] => return utf32(data, u32::from_be_bytes),
        [b'<', 0, 0, 0, ..] => return utf32(data, u32::from_le_bytes),
        [0xFE, 0xFF, text @ ..] => (UTF_16BE, text),
        [0xFF, 0xFE, text @ ..] => (UTF_16LE, text),
        [0, b'<', ..] => (UTF_16BE, data),
        [b'<', 0, ..] => (UTF_16LE, data),
        [0xEF, 0xBB, 0xBF, text @ ..] => (UTF_8, text),
        text => (UTF_8, text),
    };
    encoding.decode_without_bom_handling(text).0
}

fn utf32(data: &[u8], unit: impl Fn([u8; 4]) -> u32) -> Cow<'_, str> {
    let (units, _) = data.as_chunks::<4>();
    let text = units
        .iter()
        .map(|bytes| char::from_u32(unit(*bytes)).unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    Cow::Owned(text)
}

fn namespace_of<'n>(result: &ResolveResult<'n>) -> &'n str {
    match result {
        ResolveResult::Bound(namespace) => namespace.into_inner(),
        _ => "",
    }
}

fn known(namespace: &str, local: &str) -> Option<Field> {
    KNOWN
        .iter()
        .find(|(of, name, _)| *of == namespace && *name == local)
        .map(|(.., field)| *field)
}

#[derive(Default)]
struct State {
    xmp: Xmp,
    /// What may still be found: without it the rest need not be read.
    missing: Fields,
    depth: usize,
    /// The depth of the descriptions of the document: right below `rdf:RDF`. Those further down are
    /// of other things, such as the ingredients in `xmpMM:Pantry`.
    described: Option<usize>,
    /// The property whose element is open, and its depth.
    open: Option<(Field, usize)>,
    /// Text of the item, or of the property itself.
    item: String,
    items: Vec<String>,
    /// Whether the item is in the default language: it goes first.
    is_default: bool,
    in_item: bool,
}

impl State {
    fn start(&mut self, namespace: &str, local: &str) {
        match self.open {
            None if self.described.is_none() => {
                if namespace == RDF && local == "RDF" {
                    self.described = Some(self.depth + 1);
                }
            }
            None if !self.is_below_description() => {}
            None => {
                if let Some(field) = known(namespace, local) {
                    self.open = Some((field, self.depth));
                    self.items.clear();
                    self.item.clear();
                    self.in_item = false;
                }
            }
            Some(_) if namespace == RDF && local == "li" => {
                self.item.clear();
                self.in_item = true;
                self.is_default = false;
            }
            Some(_) => {}
        }
    }

    /// Simple properties may be attributes of `rdf:Description`; of items the language is read.
    fn attributes(&mut self, reader: &NsReader<&[u8]>, start: &BytesStart<'_>) {
        for attribute in start.attributes().flatten() {
            if self.open.is_some() {
                self.is_default |=
                    attribute.key.as_ref() == "xml:lang" && attribute.value == "x-default";
                continue;
            }
            if self.described != Some(self.depth) {
                return;
            }
            let (namespace, local) = reader.resolver().resolve_attribute(attribute.key);
            if let Some(field) = known(namespace_of(&namespace), local.as_ref()) {
                let text = quick_xml::escape::unescape(&attribute.value)
                    .unwrap_or(Cow::Borrowed(&attribute.value));
                let text = text.into_owned();
                self.set(field, text);
            }
        }
    }

    fn is_below_description(&self) -> bool {
        self.described.is_some_and(|depth| self.depth == depth + 1)
    }

    fn text(&mut self, text: &str) {
        if self.open.is_some() {
            self.item.push_str(text);
        }
    }

    fn reference(&mut self, reference: &quick_xml::events::BytesRef<'_>) {
        if self.open.is_none() {
            return;
        }
        if let Ok(Some(char)) = reference.resolve_char_ref() {
            self.item.push(char);
        } else if let Some(text) = resolve_xml_entity(reference) {
            self.item.push_str(text);
        }
    }

    fn end(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        let Some((field, depth)) = self.open else {
            return;
        };
        if self.depth > depth {
            // The end of an item, or of the list around it.
            if self.in_item && !self.item.trim().is_empty() && self.items.len() < MAX_ITEMS {
                let item = std::mem::take(&mut self.item);
                let place = if self.is_default { 0 } else { self.items.len() };
                self.items.insert(place, item);
            }
            self.in_item = false;
            self.item.clear();
            return;
        }
        let value = match (field, self.items.is_empty()) {
            (_, true) => std::mem::take(&mut self.item),
            (Field::Creator | Field::Subject, false) => self.items.join(", "),
            (_, false) => self.items.swap_remove(0),
        };
        self.set(field, value);
        self.open = None;
    }

    /// The first value counts.
    fn set(&mut self, field: Field, value: String) {
        self.xmp.values[field as usize].get_or_insert(value);
        self.missing.remove(field);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Level, Limits};

    const PACKET: &str = r#"<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:d="http://purl.org/dc/elements/1.1/" xmlns:b="http://ns.adobe.com/xap/1.0/"
 xmlns:pdfaid="http://www.aiim.org/pdfa/ns/id/" b:CreatorTool="Tool &amp; Co" pdfaid:part="2">
<pdfaid:conformance>b</pdfaid:conformance>
<d:title><rdf:Alt><rdf:li xml:lang="de">Titel</rdf:li><rdf:li xml:lang="x-default">R&amp;D &#233; <![CDATA[<x>]]></rdf:li></rdf:Alt></d:title>
<d:creator><rdf:Seq><rdf:li>A</rdf:li><rdf:li>B</rdf:li></rdf:Seq></d:creator>
<b:CreateDate>2024-01-02T03:04:05Z</b:CreateDate>
<x:title xmlns:x="urn:other">not this</x:title>
</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>"#;

    fn parse(data: &[u8]) -> Xmp {
        parse_of(data, ALL)
    }

    const ALL: Fields = Fields((1 << FIELDS) - 1);

    fn parse_of(data: &[u8], wanted: Fields) -> Xmp {
        read(data, wanted, &Meter::start(Limits::of(Level::Metadata))).unwrap()
    }

    #[test]
    fn properties_are_read_as_elements_and_attributes_by_namespace() {
        let utf16: Vec<u8> = std::iter::once(0xFEFF)
            .chain(PACKET.encode_utf16())
            .flat_map(u16::to_be_bytes)
            .collect();
        for data in [PACKET.as_bytes(), &utf16] {
            let xmp = parse(data);
            assert_eq!(xmp.get(Field::Title), Some("R&D é <x>"));
            assert_eq!(xmp.get(Field::Creator), Some("A, B"));
            assert_eq!(xmp.get(Field::CreatorTool), Some("Tool & Co"));
            assert_eq!(xmp.get(Field::CreateDate), Some("2024-01-02T03:04:05Z"));
            assert_eq!(xmp.get(Field::Producer), None);
            assert_eq!(xmp.conformance(), ["PDF/A-2B"]);
        }
    }

    #[test]
    fn utf_16_and_utf_32_are_known_without_a_mark_too() {
        let text = &PACKET[PACKET.find("<x:xmpmeta").unwrap()..];
        let utf16 = |unit: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(unit).collect();
        let utf32 = |unit: fn(u32) -> [u8; 4]| -> Vec<u8> {
            text.chars().flat_map(|char| unit(char.into())).collect()
        };
        let cases: [Vec<u8>; 6] = [
            utf16(u16::to_le_bytes),
            utf16(u16::to_be_bytes),
            utf32(u32::to_le_bytes),
            utf32(u32::to_be_bytes),
            [&[0xFF, 0xFE, 0, 0][..], &utf32(u32::to_le_bytes)].concat(),
            [&[0, 0, 0xFE, 0xFF][..], &utf32(u32::to_be_bytes)].concat(),
        ];
        for data in cases {
            assert_eq!(parse(&data).get(Field::Title), Some("R&D é <x>"));
        }
    }

    #[test]
    fn descriptions_of_other_things_are_not_those_of_the_document() {
        let inner = "<rdf:Bag><rdf:li><rdf:Description b:CreateDate='1999'><d:title>no</d:title>\
            </rdf:Description></rdf:li><rdf:li rdf:parseType='Resource'><d:title>no</d:title></rdf:li></rdf:Bag>";
        let pantry =
            format!("<m:Pantry xmlns:m='http://ns.adobe.com/xap/1.0/mm/'>{inner}</m:Pantry>");
        let packet = PACKET.replace("<d:title>", &format!("{pantry}<d:title>"));
        let xmp = parse(packet.as_bytes());
        assert_eq!(xmp.get(Field::Title), Some("R&D é <x>"));
        assert_eq!(xmp.get(Field::CreateDate), Some("2024-01-02T03:04:05Z"));
    }

    #[test]
    fn what_is_wanted_is_the_same_alone_as_with_all_the_rest() {
        let utf16: Vec<u8> = PACKET.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let utf16 = [b"\xFF\xFE", &utf16[..]].concat();
        for data in [PACKET.as_bytes(), &utf16] {
            let all = parse(data);
            for (_, _, field) in KNOWN {
                let alone = parse_of(data, Fields::of(&[*field]));
                if *field == Field::Keywords {
                    continue;
                }
                assert_eq!(alone.get(*field), all.get(*field), "{field:?}");
            }
        }
        // A packet without the name is not parsed for it, one with the value not beyond it.
        assert_eq!(
            parse_of(PACKET.as_bytes(), Fields::of(&[Field::Producer])).get(Field::Creator),
            None
        );
        let title = parse_of(PACKET.as_bytes(), Fields::of(&[Field::Title]));
        assert_eq!(title.get(Field::Title), Some("R&D é <x>"));
        assert_eq!(title.get(Field::Creator), None);
    }

    #[test]
    fn damaged_packets_give_what_precedes_the_damage() {
        let cut = &PACKET[..PACKET.find("<b:CreateDate>").unwrap() + 20];
        assert_eq!(parse(cut.as_bytes()).get(Field::Creator), Some("A, B"));
        assert_eq!(parse(b"\xff\x00<<<>").get(Field::Title), None);
    }
}
