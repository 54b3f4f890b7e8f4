use super::*;
use crate::contract::{Level, Limits};

fn parse(bytes: &[u8]) -> Result<Plist<'_>, DecodeError> {
    read(bytes, &Meter::start(Limits::of(Level::Deep)))
}

/// Writes a binary property list of one collection: `objects` are already encoded, the first one is the
/// collection.
fn binary(objects: &[&[u8]], trailing: &[u8]) -> Vec<u8> {
    let mut bytes = b"bplist00".to_vec();
    let mut offsets = Vec::new();
    for object in objects {
        offsets.push(bytes.len() as u8);
        bytes.extend_from_slice(object);
    }
    let table = bytes.len() as u64;
    bytes.extend(&offsets);
    bytes.extend([0, 0, 0, 0, 0, 0, 1, 1]);
    bytes.extend((objects.len() as u64).to_be_bytes());
    bytes.extend(0_u64.to_be_bytes());
    bytes.extend(table.to_be_bytes());
    bytes.extend(trailing);
    bytes
}

#[test]
fn binary_and_xml_lists_have_the_same_values() {
    let long: Vec<u8> = [b"\x5F\x10\x11".as_slice(), b"isMultiPageIsLong"].concat();
    let cases = [
        binary(
            &[
                b"\xD3\x01\x03\x05\x02\x04\x06",
                b"\x57version",
                b"\x62\0\xE9\0!",
                b"\x54flag",
                b"\x09",
                &long,
                b"\x11\x01\x02",
            ],
            b"",
        ),
        b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">
<plist version=\"1.0\">
<dict>
  <key>version</key><string>&#xE9;<!-- a comment --><![CDATA[!]]></string>
  <key>flag</key><true/>
  <key>isMultiPageIsLong</key><dict><key>version</key><string>inner</string></dict>
</dict></plist>"
            .to_vec(),
    ];
    for bytes in cases {
        let plist = parse(&bytes).unwrap();
        assert_eq!(plist.get("version").unwrap().text().unwrap(), "é!");
        assert_eq!(plist.get("flag").unwrap().bool(), Some(true));
        assert_eq!(plist.get("isMultiPageIsLong"), Some(&Scalar::Other));
        assert_eq!(plist.get("absent"), None);
        assert!(plist.items().is_empty());
    }
}

#[test]
fn arrays_keep_the_order_of_their_items() {
    let cases = [
        binary(&[b"\xA2\x01\x02", b"\x51a", b"\x61\0b"], b""),
        b"<plist><array><string>a</string><string>b</string></array></plist>".to_vec(),
    ];
    for bytes in cases {
        let plist = parse(&bytes).unwrap();
        let texts: Vec<_> = plist.items().iter().filter_map(Scalar::text).collect();
        assert_eq!(texts, ["a", "b"]);
        assert!(plist.items()[1].begins_with("b") && !plist.items()[1].begins_with("bc"));
    }
}

#[test]
fn an_empty_binary_dictionary_with_a_line_break_at_the_end_is_read() {
    let mut bytes = binary(&[b"\xD0"], b"\n");
    let width = bytes.len() - 1 - 32 + 7;
    bytes[width] = 0;
    assert_eq!(parse(&bytes), Ok(Plist::Dictionary(Vec::new())));
}

#[test]
fn utf_16_xml_is_recognised_by_its_byte_order_mark() {
    let text = "<plist><dict><key>k</key><string>ü</string></dict></plist>";
    let mut bytes = vec![0xFE, 0xFF];
    bytes.extend(text.encode_utf16().flat_map(u16::to_be_bytes));
    let plist = parse(&bytes).unwrap();
    assert_eq!(plist.get("k").unwrap().text().unwrap(), "ü");
}

#[test]
fn false_sizes_and_references_are_errors_and_allocate_nothing() {
    let good = binary(&[b"\xA1\x01", b"\x51a"], b"");
    let mut cases: Vec<Vec<u8>> = (0..good.len()).map(|cut| good[..cut].to_vec()).collect();
    let trailer = good.len() - 32;
    for at in [trailer + 8, trailer + 16, trailer + 24] {
        let mut bytes = good.clone();
        bytes[at] = 0xFF;
        cases.push(bytes);
    }
    // A billion items, a text longer than the file, a dangling reference, a count that is not an integer.
    for objects in [
        &[b"\xAF\x12\x3B\x9A\xCA\x00\x01".as_slice()][..],
        &[b"\xDF\x13\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"],
        &[b"\xA1\x01", b"\x5F\x12\x7F\xFF\xFF\xFF"],
        &[b"\xA1\x09"],
        &[b"\xAF\x51"],
    ] {
        cases.push(binary(objects, b""));
    }
    for xml in [
        "<plist><dict><key>a</key>",
        "<plist><dict><key>a</key></dict></plist>",
        "<plist><dict><key>&unknown;</key><true/></dict></plist>",
        "",
    ] {
        cases.push(xml.into());
    }
    for bytes in cases {
        assert_eq!(
            parse(&bytes),
            Err(DecodeError),
            "{:?}",
            String::from_utf8_lossy(&bytes)
        );
    }
}

#[test]
fn nested_collections_are_skipped_without_recursion() {
    let deep = format!(
        "<plist><array>{}{}</array></plist>",
        "<array>".repeat(200_000),
        "</array>".repeat(200_000)
    );
    assert_eq!(
        parse(deep.as_bytes()),
        Ok(Plist::Array(vec![Scalar::Other]))
    );
    // An array that holds itself.
    assert_eq!(
        parse(&binary(&[b"\xA1\x00"], b"")),
        Ok(Plist::Array(vec![Scalar::Other]))
    );
}

const SAMPLE: &str = "<?xml version=\"1.0\"?><!DOCTYPE plist><plist version=\"1.0\"><dict>\
    <key>a&amp;b</key><string>one<!-- two --><![CDATA[<three>]]>&#xE9;</string>\
    <key>c</key><true/><key>d</key><array><string>nested</string></array>\
    <key>e</key><integer>5</integer><key>f</key><string/></dict></plist>";

/// What quick-xml makes of an XML property list; `None` when it refuses it.
fn by_quick_xml(text: &str) -> Option<Plist<'static>> {
    use quick_xml::events::Event;
    let mut reader = quick_xml::Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    let (mut outer, mut depth, mut value) = (None, 0, String::new());
    let mut items = Vec::new();
    loop {
        match reader.read_event().ok()? {
            Event::Start(start) => {
                let name = start.name().into_inner().to_owned();
                if outer.is_some() {
                    depth += 1;
                    if depth == 1 {
                        value.clear();
                    }
                } else if name != "plist" {
                    outer = Some(name);
                }
            }
            Event::End(_) if depth == 0 => break,
            Event::End(end) => {
                depth -= 1;
                if depth == 0 {
                    let text = std::mem::take(&mut value).into_bytes().into();
                    items.push(match end.name().into_inner() {
                        "key" | "string" => Scalar::Utf8(text),
                        "true" => Scalar::Bool(true),
                        "false" => Scalar::Bool(false),
                        _ => Scalar::Other,
                    });
                }
            }
            Event::Text(text) => value.push_str(&text.xml10_content()),
            Event::CData(text) => value.push_str(&text.xml10_content()),
            Event::GeneralRef(reference) => match reference.resolve_char_ref().ok()? {
                Some(character) => value.push(character),
                None => value.push_str(quick_xml::escape::resolve_xml_entity(&reference)?),
            },
            Event::Eof => return None,
            _ => {}
        }
    }
    Some(match outer?.as_str() {
        "dict" if items.len() % 2 == 1 => return None,
        "dict" => Plist::Dictionary(
            items
                .chunks_exact(2)
                .map(|pair| (pair[0].clone(), pair[1].clone()))
                .collect(),
        ),
        "array" => Plist::Array(items),
        _ => Plist::Scalar,
    })
}

#[test]
fn mutated_lists_have_the_values_that_quick_xml_reads() {
    assert!(by_quick_xml(SAMPLE).is_some());
    let mut compared = 0;
    for at in 0..SAMPLE.len() {
        for replacement in ["", "x", "<", "/", "&", " "] {
            let text = format!("{}{replacement}{}", &SAMPLE[..at], &SAMPLE[at + 1..]);
            // The two differ in which malformed texts they refuse, so only what both accept is compared.
            if let (Some(theirs), Ok(ours)) = (by_quick_xml(&text), parse(text.as_bytes())) {
                assert_eq!(ours, theirs, "{text}");
                compared += 1;
            }
        }
    }
    assert!(compared > 500, "{compared}");
}
