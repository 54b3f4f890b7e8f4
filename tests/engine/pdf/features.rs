//! Annotations, forms, signatures, attachments, actions.

use serde_json::json;

use super::build::Pdf;
use super::{expect, report};
use crate::harness::{Engine, value};

/// Objects by number.
type Objects<'o> = &'o [(u32, &'o str)];

/// A document whose catalogue and page have these entries, with more objects.
fn document(catalogue: &str, page: &str, objects: Objects<'_>) -> Vec<u8> {
    let mut pdf = Pdf::one_page(catalogue, page);
    for (number, body) in objects {
        pdf.object(*number, body);
    }
    pdf.table("/Root 1 0 R");
    pdf.bytes
}

#[test]
fn actions_are_found_wherever_they_are_attached() {
    // Catalogue, page, further objects; JavaScript? outside? risk.
    let cases: [(&str, &str, Objects<'_>, bool, bool, &str); 26] = [
        ("", "", &[], false, false, "none"),
        (
            "/OpenAction<</S/JavaScript/JS(x)>>",
            "",
            &[],
            true,
            false,
            "high",
        ),
        (
            "/OpenAction<</S/Java#53cript/JS(x)>>",
            "",
            &[],
            true,
            false,
            "high",
        ),
        (
            "/AA<</WC 9 0 R>>",
            "",
            &[(9, "<</S/JavaScript/JS(x)>>")],
            true,
            false,
            "high",
        ),
        (
            "/Names<</JavaScript<</Names[(a)9 0 R]>>>>",
            "",
            &[(9, "<</S/JavaScript/JS(x)>>")],
            true,
            false,
            "high",
        ),
        (
            "/Names<</JavaScript<</Kids[9 0 R]>>>>",
            "",
            &[(9, "<</Names[(a)<</S/JavaScript/JS(x)>>]>>")],
            true,
            false,
            "high",
        ),
        // The kind of an action may be in another object.
        (
            "/OpenAction<</S 9 0 R/JS(x)>>",
            "",
            &[(9, "/JavaScript")],
            true,
            false,
            "high",
        ),
        // Usage rights hide nothing that is more than that.
        (
            "/OpenAction 9 0 R/Perms<</UR3 9 0 R>>",
            "",
            &[(9, "<</S/JavaScript/JS(x)>>")],
            true,
            false,
            "high",
        ),
        (
            "/OpenAction 9 0 R/Perms 9 0 R",
            "",
            &[(9, "<</S/JavaScript/JS(x)>>")],
            true,
            false,
            "high",
        ),
        (
            "/Perms<</UR3<</Type/Sig/Reference[<</Data<</S/JavaScript/JS(x)>>>>]>>>>",
            "",
            &[],
            true,
            false,
            "high",
        ),
        // A resource of that name is no script; an empty names tree holds none (W-17).
        (
            "",
            "/Resources<</XObject<</JavaScript 9 0 R>>>>",
            &[(9, "<<>>")],
            false,
            false,
            "none",
        ),
        (
            "/Names<</JavaScript<</Names[]>>>>",
            "",
            &[],
            false,
            false,
            "none",
        ),
        (
            "",
            "/Annots[<</A<</S/Rendition/JS(x)>>>>]",
            &[],
            true,
            false,
            "high",
        ),
        (
            "",
            "/Annots[<</A<</S/Rendition>>>>]",
            &[],
            false,
            false,
            "medium",
        ),
        (
            "",
            "/AA<</O<</S/GoTo/Next[<</S/JavaScript/JS(x)>>]>>>>",
            &[],
            true,
            false,
            "high",
        ),
        (
            "",
            "/Annots[<</A<</S/URI/URI(http://x)>>>>]",
            &[],
            false,
            true,
            "low",
        ),
        (
            "",
            "/Annots[<</A<</S/GoToR/F(x.pdf)>>>>]",
            &[],
            false,
            true,
            "low",
        ),
        (
            "",
            "/Annots[<</A<</S/GoToE/F(x.pdf)>>>>]",
            &[],
            false,
            true,
            "low",
        ),
        (
            "",
            "/Annots[<</A<</S/Launch/F(x.exe)>>>>]",
            &[],
            false,
            true,
            "high",
        ),
        (
            "",
            "/Annots[<</A<</S/SubmitForm/F(http://x)>>>>]",
            &[],
            false,
            true,
            "medium",
        ),
        (
            "",
            "/Annots[<</A<</S/ImportData/F(x.fdf)>>>>]",
            &[],
            false,
            true,
            "medium",
        ),
        (
            "",
            "/Annots[<</Subtype/RichMedia>>]",
            &[],
            false,
            false,
            "medium",
        ),
        (
            "",
            "/Annots[<</Subtype/FileAttachment/FS(x.txt)>>]",
            &[],
            false,
            true,
            "low",
        ),
        (
            "",
            "/Annots[<</Subtype/FileAttachment/FS<</F(x.txt)>>>>]",
            &[],
            false,
            true,
            "low",
        ),
        (
            "",
            "/Contents 9 0 R",
            &[(9, "<</F(x.bin)/Length 0>>stream\nendstream")],
            false,
            true,
            "low",
        ),
        (
            "",
            "/Contents 9 0 R",
            &[(9, "<</F/Fl/Length 0>>stream\nendstream")],
            false,
            false,
            "none",
        ),
    ];
    for (catalogue, page, objects, javascript, external, risk) in cases {
        let report = report(document(catalogue, page, objects));
        let what = format!("{catalogue} {page} {objects:?}");
        assert_eq!(
            value(&report, "security.has_javascript"),
            Some(&json!(javascript)),
            "{what}"
        );
        assert_eq!(
            value(&report, "security.has_external_relationships"),
            Some(&json!(external)),
            "{what}"
        );
        assert_eq!(
            value(&report, "security.active_content_risk"),
            Some(&json!(risk)),
            "{what}"
        );
    }
}

#[test]
fn attachments_are_file_specifications_with_a_file() {
    let bytes = document(
        "/Names<</EmbeddedFiles<</Names[(a)8 0 R(b)9 0 R]>>>>/AF[8 0 R]",
        "/Annots[<</Subtype/FileAttachment/FS 10 0 R>>]",
        &[
            (7, "<</Type/EmbeddedFile/Length 0>>stream\nendstream"),
            (8, "<</Type/Filespec/F(a)/EF<</F 7 0 R>>>>"),
            (9, "<</F(b)/EF<</F 7 0 R>>>>"),
            (10, "<</Type/Filespec/F(c)/EF<</F 7 0 R>>>>"),
            (11, "<</Type/Filespec/F(left over)/EF<</F 7 0 R>>>>"),
        ],
    );
    expect(
        &report(bytes),
        &[
            ("pdf.attachment_count", json!(3)),
            ("security.has_embedded_files", json!(true)),
            ("security.has_external_relationships", json!(false)),
            ("security.active_content_risk", json!("low")),
        ],
    );
    let none = document("/Names<</EmbeddedFiles<</Names[]>>>>", "", &[]);
    expect(
        &report(none),
        &[
            ("pdf.attachment_count", json!(0)),
            ("security.has_embedded_files", json!(false)),
        ],
    );
}

#[test]
fn signatures_are_values_and_not_empty_fields_nor_usage_rights() {
    let field = "<</FT/Sig/T(s)/V 9 0 R>>";
    let value = "<</Type/Sig/Filter/X/ByteRange[0 1 2 3]/Contents<00>>>";
    let cases: [(&str, Objects<'_>, u64); 7] = [
        (
            "/Perms<</UR3<</Type/Sig/Reference[<</Data 1 0 R>>]>>>>",
            &[],
            0,
        ),
        (
            "/Perms<</UR 9 0 R/UR3 9 0 R>>/DSS 8 0 R",
            &[(8, value), (9, value)],
            1,
        ),
        (
            "/AcroForm<</Fields[8 0 R]/SigFlags 3>>",
            &[(8, field), (9, value)],
            1,
        ),
        (
            "/AcroForm<</Fields[8 0 R]>>/Perms<</DocMDP 9 0 R>>",
            &[(8, field), (9, value)],
            1,
        ),
        ("/AcroForm<</Fields[8 0 R]>>", &[(8, "<</FT/Sig/T(s)>>")], 0),
        ("/Perms<</UR3 9 0 R>>", &[(9, value)], 0),
        ("/DSS 9 0 R", &[(9, "<</Type/DocTimeStamp>>")], 1),
    ];
    for (catalogue, objects, count) in cases {
        expect(
            &report(document(catalogue, "", objects)),
            &[
                ("security.signature_count", json!(count)),
                ("security.has_digital_signature", json!(count > 0)),
            ],
        );
    }
}

#[test]
fn references_to_the_catalogue_count_nothing_twice() {
    let bytes = document(
        "/AF[<</F(a)/EF<</F 9 0 R>>/Back 1 0 R>>]",
        "",
        &[(9, "<</Type/EmbeddedFile>>")],
    );
    expect(&report(bytes), &[("pdf.attachment_count", json!(1))]);
}

#[test]
fn annotations_that_are_null_or_missing_are_none() {
    // W-17.
    let bytes = document(
        "",
        "/Annots[null 77 0 R 8 0 R<</Subtype/Link>>]",
        &[(8, "<</Subtype/Text>>")],
    );
    expect(
        &report(bytes),
        &[
            ("pdf.annotation_count", json!(2)),
            ("pdf.link_count", json!(1)),
        ],
    );
}

#[test]
fn terminal_fields_are_counted_and_their_widgets_are_not() {
    let cases: [(&str, Objects<'_>, u64); 6] = [
        ("", &[], 0),
        ("/AcroForm<</XFA[]>>", &[], 0),
        (
            "/AcroForm<</Fields[8 0 R 9 0 R 77 0 R null]>>",
            &[(8, "<</T(a)/FT/Tx>>"), (9, "<</T(b)>>")],
            2,
        ),
        (
            "/AcroForm<</Fields[8 0 R]>>",
            &[(8, "<</T(a)/Kids[<</Subtype/Widget>><</Subtype/Widget>>]>>")],
            1,
        ),
        (
            "/AcroForm<</Fields[8 0 R]>>",
            &[(8, "<</T(a)/Kids[9 0 R<</T(c)>>]>>"), (9, "<</T(b)>>")],
            2,
        ),
        (
            "/AcroForm<</Fields[8 0 R]>>",
            &[
                (8, "<</T(a)/Kids[8 0 R 9 0 R]>>"),
                (9, "<</T(b)/Kids[8 0 R]>>"),
            ],
            0,
        ),
    ];
    for (catalogue, objects, count) in cases {
        expect(
            &report(document(catalogue, "", objects)),
            &[("pdf.form_field_count", json!(count))],
        );
    }
}

#[test]
fn optional_targets_that_are_granted_are_answered() {
    // W-16.
    let bytes = document("", "", &[]);
    let report = Engine::start(&["-t", "annotation_count", "-o", "has_xmp,attachment_count"])
        .probe("a.pdf", &bytes);
    expect(
        &report,
        &[
            ("pdf.annotation_count", json!(0)),
            ("pdf.has_xmp", json!(false)),
            ("pdf.attachment_count", json!(0)),
        ],
    );
}

#[test]
fn targets_of_ours_join_all_at_deep_only() {
    let bytes = document(
        "/Outlines<</First 9 0 R>>/MarkInfo<</Marked true>>",
        "/CropBox[0 0 100 200]/Rotate 90/UserUnit 2",
        &[(9, "<</Title(x)>>")],
    );
    let ours = [
        "pdf.conformance",
        "pdf.has_outline",
        "pdf.is_tagged",
        "pdf.link_count",
        "pdf.page_sizes",
        "document.language",
    ];
    let deep = report(&bytes);
    expect(
        &deep,
        &[
            ("pdf.has_outline", json!(true)),
            ("pdf.is_tagged", json!(true)),
            (
                "pdf.page_sizes",
                json!([{"count": 1, "height_pt": 200.0, "width_pt": 400.0}]),
            ),
        ],
    );
    for target in ours {
        assert!(deep["results"].get(target).is_some(), "{target}");
    }
    let selectors = "@header,@default,@summary,@security,@structure,@assets,@quality,@format";
    for arguments in [
        &["-t", "@all"][..],
        &["-l", "d", "-t", selectors],
        &["-t", selectors],
    ] {
        let report = Engine::start(arguments).probe("a.pdf", &bytes);
        for target in ours {
            assert!(
                report["results"].get(target).is_none(),
                "{target} in {arguments:?}"
            );
        }
    }
    let named = Engine::start(&["-t", "page_sizes,pdf.link_count"]).probe("a.pdf", &bytes);
    expect(&named, &[("pdf.link_count", json!(0))]);
}
