use super::*;

/// Writes a binary property list of one collection: `objects` are encoded already, the first is the
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
fn both_kinds_say_the_same() {
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
        let plist = Plist::read(&bytes).unwrap();
        assert_eq!(plist.get("version").unwrap().text().unwrap(), "é!");
        assert_eq!(plist.get("flag").unwrap().bool(), Some(true));
        assert_eq!(plist.get("isMultiPageIsLong"), Some(&Scalar::Other));
        assert_eq!(plist.get("absent"), None);
        assert!(plist.items().is_empty());
    }
}

#[test]
fn arrays_keep_their_order() {
    let cases = [
        binary(&[b"\xA2\x01\x02", b"\x51a", b"\x61\0b"], b""),
        b"<plist><array><string>a</string><string>b</string></array></plist>".to_vec(),
    ];
    for bytes in cases {
        let plist = Plist::read(&bytes).unwrap();
        let texts: Vec<_> = plist.items().iter().filter_map(Scalar::text).collect();
        assert_eq!(texts, ["a", "b"]);
        assert!(plist.items()[1].begins_with("b") && !plist.items()[1].begins_with("bc"));
    }
}

#[test]
fn an_empty_dictionary_needs_no_references_and_bears_a_line_break_behind_it() {
    let mut bytes = binary(&[b"\xD0"], b"\n");
    let width = bytes.len() - 1 - 32 + 7;
    bytes[width] = 0;
    assert_eq!(Plist::read(&bytes), Ok(Plist::Dictionary(Vec::new())));
}

#[test]
fn utf_16_is_recognised_by_its_mark() {
    let text = "<plist><dict><key>k</key><string>ü</string></dict></plist>";
    let mut bytes = vec![0xFE, 0xFF];
    bytes.extend(text.encode_utf16().flat_map(u16::to_be_bytes));
    let plist = Plist::read(&bytes).unwrap();
    assert_eq!(plist.get("k").unwrap().text().unwrap(), "ü");
}

#[test]
fn lies_are_told_from_facts_without_taking_memory() {
    let good = binary(&[b"\xA1\x01", b"\x51a"], b"");
    let mut cases: Vec<Vec<u8>> = (0..good.len()).map(|cut| good[..cut].to_vec()).collect();
    let trailer = good.len() - 32;
    for at in [trailer + 8, trailer + 16, trailer + 24] {
        let mut bytes = good.clone();
        bytes[at] = 0xFF;
        cases.push(bytes);
    }
    // A billion items, a text longer than the file, a reference to nowhere, a count that is no number.
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
            Plist::read(&bytes),
            Err(Broken),
            "{:?}",
            String::from_utf8_lossy(&bytes)
        );
    }
}

#[test]
fn nesting_costs_no_stack() {
    let deep = format!(
        "<plist><array>{}{}</array></plist>",
        "<array>".repeat(200_000),
        "</array>".repeat(200_000)
    );
    assert_eq!(
        Plist::read(deep.as_bytes()),
        Ok(Plist::Array(vec![Scalar::Other]))
    );
    // An array that holds itself.
    assert_eq!(
        Plist::read(&binary(&[b"\xA1\x00"], b"")),
        Ok(Plist::Array(vec![Scalar::Other]))
    );
}
