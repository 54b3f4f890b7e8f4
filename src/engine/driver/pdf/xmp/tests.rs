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
fn utf_16_and_utf_32_are_recognised_without_a_byte_order_mark() {
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
fn properties_of_ingredients_are_not_taken_for_the_documents_own() {
    let inner = "<rdf:Bag><rdf:li><rdf:Description b:CreateDate='1999'><d:title>no</d:title>\
        </rdf:Description></rdf:li><rdf:li rdf:parseType='Resource'><d:title>no</d:title></rdf:li></rdf:Bag>";
    let pantry = format!("<m:Pantry xmlns:m='http://ns.adobe.com/xap/1.0/mm/'>{inner}</m:Pantry>");
    let packet = PACKET.replace("<d:title>", &format!("{pantry}<d:title>"));
    let xmp = parse(packet.as_bytes());
    assert_eq!(xmp.get(Field::Title), Some("R&D é <x>"));
    assert_eq!(xmp.get(Field::CreateDate), Some("2024-01-02T03:04:05Z"));
}

#[test]
fn a_field_has_the_same_value_alone_and_with_all_others() {
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
fn properties_before_damage_are_read() {
    let cut = &PACKET[..PACKET.find("<b:CreateDate>").unwrap() + 20];
    assert_eq!(parse(cut.as_bytes()).get(Field::Creator), Some("A, B"));
    assert_eq!(parse(b"\xff\x00<<<>").get(Field::Title), None);
}

/// What the same walk finds when quick-xml reads the packet. `None` when quick-xml refuses it.
fn by_quick_xml(text: &str) -> Option<Xmp> {
    use quick_xml::events::Event;
    use quick_xml::name::ResolveResult;
    let ns = |resolved: &ResolveResult<'_>| match resolved {
        ResolveResult::Bound(namespace) => Ns::of(namespace.into_inner()),
        _ => Ns::None,
    };
    let mut reader = quick_xml::NsReader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    let mut walk = Walk::new(ALL);
    let mut depth = 0;
    loop {
        let (resolved, event) = reader.read_resolved_event().ok()?;
        match event {
            Event::Start(start) => {
                walk.open(depth, ns(&resolved), start.local_name().as_ref());
                for attribute in start.attributes() {
                    let attribute = attribute.ok()?;
                    let value = attribute
                        .normalized_value(quick_xml::XmlVersion::Implicit1_0)
                        .ok()?;
                    let (resolved, local) = reader.resolver().resolve_attribute(attribute.key);
                    if walk.wants_attributes(depth) {
                        walk.attribute(depth, ns(&resolved), local.as_ref(), &value);
                    }
                }
                depth += 1;
            }
            Event::End(_) => {
                depth -= 1;
                walk.close(depth);
            }
            Event::Text(text) => walk.text(&text.xml10_content()),
            Event::CData(text) => walk.text(&text.xml10_content()),
            Event::GeneralRef(reference) => match reference.resolve_char_ref().ok()? {
                Some(character) => walk.text(&character.to_string()),
                None => walk.text(quick_xml::escape::resolve_xml_entity(&reference)?),
            },
            Event::Eof => return (depth == 0).then(|| walk.into_xmp()),
            _ => {}
        }
    }
}

fn is_well_formed(text: &str) -> bool {
    let meter = Meter::start(Limits::of(Level::Metadata));
    let mut xml = Xml::new(text, &meter);
    loop {
        match xml.next() {
            Ok(Some(Token::Open(tag))) if tag.attributes(|_, _| {}).is_err() => return false,
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

#[test]
fn mutated_packets_yield_the_properties_that_quick_xml_yields() {
    let mut state = 11_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).unwrap()
    };
    let alphabet: Vec<char> = "<>/[]&;#='\" \nabdx:é".chars().collect();
    let mut compared = 0;
    for _ in 0..20_000 {
        let mut text: Vec<char> = PACKET.chars().collect();
        for _ in 0..=random(2) {
            let at = random(text.len());
            match random(3) {
                0 => text[at] = alphabet[random(alphabet.len())],
                1 => text.insert(at, alphabet[random(alphabet.len())]),
                _ => drop(text.remove(at)),
            }
        }
        let text: String = text.into_iter().collect();
        // The two differ in what they refuse.
        let (Some(theirs), true) = (by_quick_xml(&text), is_well_formed(&text)) else {
            continue;
        };
        compared += 1;
        assert_eq!(parse(text.as_bytes()).values, theirs.values, "{text}");
    }
    assert!(compared > 5_000, "{compared}");
}
