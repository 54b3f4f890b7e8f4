//! Core and extended properties.

use serde_json::{Value, json};

use super::build::{Package, core_xml};
use super::{assert_values, deep};
use crate::harness::{Engine, record};

fn properties(core: &str) -> Value {
    deep("a.docx", &Package::new("docx").core(core).build())
}

#[test]
fn text_comes_back_whole() {
    // W-4.
    for (written, expected) in [
        ("R&amp;D plan", json!("R&D plan")),
        ("A &amp; B", json!("A & B")),
        ("Caf&#233;", json!("Café")),
        ("a<!-- - -->b", json!("ab")),
        ("<![CDATA[<all> of it]]>", json!("<all> of it")),
        ("  padded\n", json!("padded")),
        (" \t ", json!(null)),
        ("&lol;", json!(null)),
    ] {
        let report = properties(&format!(
            "<dc:title>{written}</dc:title><dc:creator>Author</dc:creator>"
        ));
        assert_values(
            &report,
            &[
                ("document.title", expected),
                ("document.author", json!("Author")),
            ],
        );
    }
}

#[test]
fn properties_count_in_their_own_namespace_and_place() {
    // W-5.
    let report = properties(
        "<dc:title>right</dc:title><x:title>foreign</x:title>\
         <x:box><dc:title>nested</dc:title></x:box><title>bare</title>\
         <cp:keywords xml:lang='en'>one<cp:value>two</cp:value><cp:value xml:lang='de'>drei</cp:value>\
         </cp:keywords>\
         <dcterms:created>2024-01-02T03:04:05Z</dcterms:created><x:created>no</x:created>",
    );
    assert_values(
        &report,
        &[
            ("document.title", json!("right")),
            ("document.keywords", json!("one, two, drei")),
            ("document.created_at", json!("2024-01-02T03:04:05Z")),
            ("document.modified_at", json!(null)),
            ("document.subject", json!(null)),
        ],
    );
}

#[test]
fn parts_in_any_declared_encoding_are_read() {
    // the original aborts the probe.
    let text = |encoding: &str| {
        format!(
            "<?xml version='1.0' encoding='{encoding}'?>{}",
            core_xml("<dc:title>Größe</dc:title>")
        )
    };
    let utf16 = |little: bool| -> Vec<u8> {
        format!("\u{feff}{}", text("UTF-16"))
            .encode_utf16()
            .flat_map(|unit| {
                if little {
                    unit.to_le_bytes()
                } else {
                    unit.to_be_bytes()
                }
            })
            .collect()
    };
    let latin: Vec<u8> = text("ISO-8859-1").chars().map(|c| c as u8).collect();
    for content in [
        utf16(true),
        utf16(false),
        latin,
        format!("\u{feff}{}", text("UTF-8")).into_bytes(),
    ] {
        let report = deep("a.docx", &Package::new("docx").core_part(&content).build());
        assert_values(&report, &[("document.title", json!("Größe"))]);
    }
    let broken = Package::new("docx").core_part(b"<?xml version='1.0'?><a>\xff</a>");
    let report = deep("a.docx", &broken.build());
    assert_values(
        &report,
        &[
            ("document.title", json!(null)),
            ("word.table_count", json!(0)),
        ],
    );
}

#[test]
fn extended_properties_are_numbers_or_nothing() {
    let app = "<Application>Some&amp;Thing</Application><AppVersion>16.0300</AppVersion>\
        <Pages>+3</Pages><Words>-1</Words><Characters>12 345</Characters><Paragraphs>7</Paragraphs>";
    let bytes = Package::new("docx").app(app).build();
    let report = super::probe(
        &[
            "-t",
            "application,application_version,page_count,word_count,character_count,word.paragraph_count",
        ],
        "a.docx",
        &bytes,
    );
    assert_values(
        &report,
        &[
            ("document.application", json!("Some&Thing")),
            ("document.application_version", json!("16.0300")),
            ("word.page_count", json!(3)),
            ("word.word_count", json!(null)),
            ("word.character_count", json!(null)),
            ("word.paragraph_count", json!(7)),
        ],
    );
}

#[test]
fn custom_properties_are_read_from_their_part() {
    let types = "http://schemas.openxmlformats.org/officeDocument/2006/docPropsVTypes";
    let part = |body: &str| {
        Package::new("docx").typed(
            "docProps/custom.xml",
            "custom-properties+xml",
            format!(
                "<Properties xmlns='http://schemas.openxmlformats.org/officeDocument/2006/custom-properties' \
                 xmlns:vt='{types}'>{body}</Properties>"
            ),
        )
    };
    let body = "<property pid='2' name='Client &amp; Co'><vt:lpwstr>R&amp;D</vt:lpwstr></property>\
        <property pid='3' name='Number'><vt:i4>-7</vt:i4></property>\
        <property pid='4' name='Checked'><vt:bool>true</vt:bool></property>\
        <property pid='5' name='List'><vt:vector size='1'><vt:i4>1</vt:i4></vt:vector></property>\
        <property pid='6' name='Twice'><vt:i4>1</vt:i4></property>\
        <property pid='7' name='Twice'><vt:i4>2</vt:i4></property>\
        <property pid='8' name='Empty'/><property><vt:i4>nameless</vt:i4></property>";
    let expected = json!({
        "Checked": "true", "Client & Co": "R&D", "Empty": null, "List": null, "Number": "-7",
        "Twice": "2",
    });
    let target = "office.custom_properties";
    let report = deep("a.docx", &part(body).build());
    assert_values(&report, &[(target, expected)]);
    // JSON has no key twice.
    let text = Engine::start(&["-t", target]).ask_text(&record("a.docx", &part(body).build()));
    assert_eq!(text.matches("\"Twice\"").count(), 1, "{text}");
    let report = deep("a.docx", &part("<property name='a'><vt:i4>1<").build());
    assert_values(&report, &[(target, json!(null))]);
    let report = deep("a.docx", &Package::new("docx").build());
    assert_values(&report, &[(target, json!({}))]);
}

#[test]
fn a_damaged_end_takes_nothing_back_that_was_complete() {
    let report = deep(
        "a.docx",
        &Package::new("docx")
            .core_part(core_xml("<dc:title>T</dc:title><dc:creator>A<").as_bytes())
            .build(),
    );
    assert_values(
        &report,
        &[
            ("document.title", json!("T")),
            ("document.author", json!(null)),
        ],
    );
}
