use super::*;
use crate::contract::{Level, Limits};

fn meter() -> Meter {
    Meter::start(Limits::of(Level::Deep))
}

fn text_of(text: &str) -> Result<Option<String>> {
    let meter = meter();
    let mut xml = Xml::new(text, &meter);
    xml.root()?;
    let text = xml.text()?.map(Cow::into_owned);
    assert!(xml.next()?.is_none());
    Ok(text)
}

#[test]
fn text_comes_back_whole_however_it_is_written() {
    let cases = [
        ("<t>R&amp;D plan</t>", "R&D plan"),
        ("<t>Caf&#233; &#x416;</t>", "Café Ж"),
        ("<t>a<!-- - -->b<?pi x?>c</t>", "abc"),
        (
            "<t><![CDATA[a<b]]> &lt; <![CDATA[&amp;]]></t>",
            "a<b < &amp;",
        ),
        ("<t>a\r\nb\rc</t>", "a\nb\nc"),
        ("<t>a<b>c</b>d</t>", "acd"),
        ("<t/>", ""),
    ];
    for (text, expected) in cases {
        assert_eq!(text_of(text).unwrap().unwrap(), expected, "{text}");
    }
}

#[test]
fn entities_are_never_looked_up() {
    let bomb = r#"<!DOCTYPE t [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;"><!ENTITY x SYSTEM "file:///etc/passwd">]>"#;
    for text in [
        "<t>a&undefined;</t>".to_owned(),
        format!("{bomb}<t>&b;</t>"),
        format!("{bomb}<t>&x;b</t>"),
    ] {
        assert_eq!(text_of(&text), Ok(None), "{text}");
    }
}

#[test]
fn what_is_not_well_formed_is_an_error() {
    let cases = [
        "<t>".to_owned(),
        "<t></u>".into(),
        "<t>&#0;</t>".into(),
        "<t>&#xD800;</t>".into(),
        "nothing".into(),
        String::new(),
        "<a>".repeat(1_000_001),
    ];
    for text in cases {
        let refused = text_of(&text).unwrap_err();
        assert!(refused.is_malformed(), "{refused}");
    }
}

#[test]
fn namespaces_count_and_prefixes_do_not() {
    let word = "http://purl.oclc.org/ooxml/wordprocessingml/main";
    let text = format!(
        "<z:a xmlns:z='{word}'><z:b/><b xmlns='{word}'><b xmlns=''/></b><z:b xmlns:z='u'/><b/></z:a>"
    );
    let meter = meter();
    let mut xml = Xml::new(&text, &meter);
    let mut found = Vec::new();
    while let Some(token) = xml.next().unwrap() {
        if let Token::Open(tag) = token {
            found.push(xml.ns(&tag));
        }
    }
    let expected = [Ns::Word, Ns::Word, Ns::Word, Ns::None, Ns::Other, Ns::None];
    assert_eq!(found, expected);
}

#[test]
fn attributes_are_normalised_and_an_unknown_entity_is_an_error() {
    let text = "<t name='a&amp;b&#10;c\nd' r:id='7' bad='&no;'/>";
    let meter = meter();
    let mut xml = Xml::new(text, &meter);
    let tag = xml.root().unwrap();
    assert_eq!(tag.attribute("name").unwrap().unwrap(), "a&b\nc d");
    assert_eq!(tag.attribute("id").unwrap_or(None), None);
    assert_eq!(tag.prefixed_attribute("id").unwrap().unwrap(), "7");
    assert!(tag.attribute("bad").is_err());
}

#[test]
fn declarations_pile_up_only_to_a_limit() {
    let text: String = (0..1000).map(|n| format!("<a xmlns:p{n}='u'>")).collect();
    assert!(text_of(&text).unwrap_err().message().contains("namespaces"));
}

#[test]
fn every_encoding_that_opc_allows_is_decoded() {
    let utf16 = |text: &str, little: bool| -> Vec<u8> {
        text.encode_utf16()
            .flat_map(|unit| {
                if little {
                    unit.to_le_bytes()
                } else {
                    unit.to_be_bytes()
                }
            })
            .collect()
    };
    let text = "<?xml version=\"1.0\" encoding=\"UTF-16\"?><t>Ж</t>";
    let marked = format!("\u{feff}{text}");
    let cases = [
        (utf16(&marked, true), "t>Ж<"),
        (utf16(&marked, false), "t>Ж<"),
        (utf16(text, true), "t>Ж<"),
        (utf16(text, false), "t>Ж<"),
        (marked.clone().into_bytes(), "t>Ж<"),
        (text.as_bytes().to_vec(), "t>Ж<"),
        (
            b"<?xml version='1.0' encoding = 'ISO-8859-1'?><t>caf\xe9</t>".to_vec(),
            "t>café<",
        ),
        (
            b"<?xml version='1.0' encoding='windows-1251'?><t>\xc6</t>".to_vec(),
            "t>Ж<",
        ),
        (b"<t>plain</t>".to_vec(), "t>plain<"),
    ];
    for (bytes, expected) in cases {
        let decoded = decode(bytes).unwrap();
        assert!(decoded.contains(expected), "{decoded}");
        assert!(decoded.starts_with('<'), "{decoded}");
    }
    for bytes in [
        b"<t>\xff</t>".to_vec(),
        b"<?xml version='1.0' encoding='klingon'?><t/>".to_vec(),
        vec![0xff, 0xfe, 0x00, 0xd8],
    ] {
        assert!(decode(bytes).unwrap_err().is_malformed());
    }
}
