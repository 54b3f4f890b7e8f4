//! Info dictionary and XMP.

use serde_json::{Value, json};

use super::build::Pdf;
use super::{expect, report};
use crate::harness::value;

#[test]
fn strings_are_decoded_from_every_encoding() {
    // W-11: the string as written in the file, and what it says.
    let cases: [(&[u8], &str); 14] = [
        (b"(plain)", "plain"),
        (b"(Caf\xe9)", "Café"),
        (b"(\x80 \x84 \x8e\x8d)", "• — ”“"),
        (b"(\x18\x1a)", "\u{2d8}\u{2c6}"),
        (b"(\xfe\xff\0C\0a\0f\0\xe9)", "Café"),
        (b"<FEFF0043 006100660 0E9>", "Café"),
        (b"(\xff\xfeC\0a\0f\0\xe9\0)", "Café"),
        (b"(\xef\xbb\xbfCaf\xc3\xa9)", "Café"),
        (b"(\xfe\xff\0\x1b\0e\0n\0\x1b\0H\0i)", "Hi"),
        (b"(a\rb\r\nc\\\nd)", "a\nb\ncd"),
        (b"(\\103\\141\\146\\351 \\(x\\))", "Café (x)"),
        (b"(nested (parentheses) here)", "nested (parentheses) here"),
        (b"()", ""),
        (b"/A#20Name", "A Name"),
    ];
    for (raw, expected) in cases {
        let mut pdf = Pdf::one_page("", "");
        pdf.object(6, [b"<</Title ", raw, b">>"].concat())
            .table("/Root 1 0 R/Info 6 0 R");
        let report = report(&pdf.bytes);
        assert_eq!(
            value(&report, "document.title"),
            Some(&json!(expected)),
            "{raw:?}"
        );
    }
}

#[test]
fn every_property_has_its_key() {
    // W-12: the version is one, and not the name of the authoring program.
    let mut pdf = Pdf::one_page("/Lang(fr-CA)", "");
    pdf.object(5, "(Indirect)")
        .object(
            6,
            "<</Title 5 0 R/Subject(S)/Author(A)/Keywords(K, L)/Description(D)/Creator(Writer)\
         /Producer(Maker 3.2.1 \\(x\\))/CreationDate(D:20240102030405+01'00')/ModDate(D:2024)>>",
        )
        .table("/Root 1 0 R/Info 6 0 R");
    let report = report(&pdf.bytes);
    expect(
        &report,
        &[
            ("document.title", json!("Indirect")),
            ("document.subject", json!("S")),
            ("document.author", json!("A")),
            ("document.keywords", json!("K, L")),
            ("document.description", json!("D")),
            ("document.created_at", json!("D:20240102030405+01'00'")),
            ("document.modified_at", json!("D:2024")),
            ("document.application", json!("Maker 3.2.1 (x)")),
            ("document.application_version", json!("3.2.1")),
            ("document.language", json!("fr-CA")),
        ],
    );
    assert_eq!(report["results"]["document.title"]["confidence"], "high");
}

const XMP: &str = r#"<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/"
 xmlns:pdfaid="http://www.aiim.org/pdfa/ns/id/" xmlns:pdfuaid="http://www.aiim.org/pdfua/ns/id/"
 pdfaid:part="3" pdfaid:conformance="U" pdfuaid:part="1" xmp:CreateDate="2024-05-06T07:08:09Z">
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">From XMP</rdf:li></rdf:Alt></dc:title>
<dc:creator><rdf:Seq><rdf:li>One</rdf:li><rdf:li>Two</rdf:li></rdf:Seq></dc:creator>
</rdf:Description></rdf:RDF></x:xmpmeta>"#;

fn with_xmp(version: &str, info: &str) -> Value {
    let mut pdf = Pdf::new(version);
    pdf.object(1, "<</Type/Catalog/Pages 2 0 R/Metadata 7 0 R>>")
        .object(2, "<</Kids[]/Count 0>>")
        .object(6, info)
        .stream(7, "/Type/Metadata/Subtype/XML", XMP.as_bytes())
        .table("/Root 1 0 R/Info 6 0 R");
    report(&pdf.bytes)
}

#[test]
fn xmp_answers_with_lower_confidence_where_the_info_dictionary_has_no_entry() {
    // W-15. Up to 1.7 XMP is the weaker evidence; 2.0 keeps properties there.
    for (version, confidence, status) in
        [("1.7", "medium", "estimated"), ("2.0", "high", "resolved")]
    {
        let report = with_xmp(version, "<</Author(Info)>>");
        expect(
            &report,
            &[
                ("document.title", json!("From XMP")),
                ("document.author", json!("Info")),
                ("document.created_at", json!("2024-05-06T07:08:09Z")),
                ("document.subject", json!(null)),
                ("pdf.has_xmp", json!(true)),
                ("pdf.conformance", json!(["PDF/A-3U", "PDF/UA-1"])),
            ],
        );
        let title = &report["results"]["document.title"];
        assert_eq!(
            (&title["confidence"], &title["status"]),
            (&json!(confidence), &json!(status))
        );
        assert_eq!(report["results"]["document.author"]["confidence"], "high");
    }
    expect(
        &with_xmp("1.7", "null"),
        &[("document.author", json!("One, Two"))],
    );
}

#[test]
fn absent_facts_are_unknown_and_no_claims_are_an_empty_list() {
    let mut pdf = Pdf::one_page("", "");
    pdf.table("/Root 1 0 R");
    let report = report(&pdf.bytes);
    for target in [
        "document.title",
        "document.application",
        "document.application_version",
        "document.language",
    ] {
        assert_eq!(report["results"][target]["status"], "unknown", "{target}");
    }
    expect(
        &report,
        &[
            ("pdf.conformance", json!([])),
            ("pdf.has_xmp", json!(false)),
        ],
    );
}

#[test]
fn the_authoring_program_stands_in_where_no_producer_is_named() {
    let probe = |info: &str| {
        let mut pdf = Pdf::one_page("", "");
        pdf.object(6, info).table("/Root 1 0 R/Info 6 0 R");
        report(&pdf.bytes)
    };
    let alone = probe("<</Creator(Writer 7.1)>>");
    expect(&alone, &[("document.application", json!("Writer 7.1"))]);
    assert_eq!(
        alone["results"]["document.application"]["status"],
        "estimated"
    );
    let unnumbered = probe("<</Producer(Maker)>>");
    assert_eq!(
        unnumbered["results"]["document.application_version"]["status"],
        "resolved"
    );
    expect(
        &unnumbered,
        &[("document.application_version", json!(null))],
    );
}
