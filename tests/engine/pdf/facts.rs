//! Facts that people ask for: fonts, images, text, bookmarks, labels, forms, permissions, updates. The
//! right values follow from the bytes that the tests write.

use serde_json::{Value, json};

use super::build::{Pdf, deflate};
use super::report;
use crate::harness::value;

/// The value of a target in a document with one page.
fn fact(target: &str, catalogue: &str, page: &str, objects: &[(u32, &str)]) -> Value {
    let mut pdf = Pdf::one_page(catalogue, page);
    for (number, body) in objects {
        pdf.object(*number, body);
    }
    pdf.table("/Root 1 0 R/Info 30 0 R");
    value(&report(&pdf.bytes), target)
        .cloned()
        .unwrap_or_else(|| panic!("{target} has no value"))
}

#[test]
fn fonts_are_listed_with_whether_they_are_embedded() {
    let fonts = |resources: &str, objects: &[(u32, &str)]| {
        let page = format!("/Resources<</Font<<{resources}>>>>");
        fact("pdf.fonts", "", &page, objects)
    };
    let font = |name: &str, kind: &str, embedded: bool, subset: bool| json!({"embedded": embedded, "name": name, "subset": subset, "type": kind});
    assert_eq!(fonts("", &[]), json!([]));
    assert_eq!(
        fonts("/F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>", &[]),
        json!([font("Helvetica", "Type1", false, false)])
    );
    let embedded = [
        (
            10,
            "<</Type/Font/Subtype/TrueType/BaseFont/ABCDEF+Arial#20MT/FontDescriptor 11 0 R>>",
        ),
        (11, "<</Type/FontDescriptor/FontFile2 12 0 R>>"),
        (
            13,
            "<</Type/Font/Subtype/Type0/BaseFont/X/DescendantFonts[14 0 R]>>",
        ),
        (
            14,
            "<</Type/Font/Subtype/CIDFontType2/BaseFont/Noto/FontDescriptor 15 0 R>>",
        ),
        (15, "<</Type/FontDescriptor>>"),
        (16, "<</Type/Font/Subtype/Type3/CharProcs<<>>>>"),
    ];
    // The same font under two names is one.
    assert_eq!(
        fonts("/F1 10 0 R/F2 13 0 R/F3 16 0 R/F4 10 0 R", &embedded),
        json!([
            font("", "Type3", true, false),
            font("Arial MT", "TrueType", true, true),
            font("Noto", "CIDFontType2", false, false),
        ])
    );
}

#[test]
fn images_are_counted_without_their_masks() {
    let count = |images: &[&str]| {
        let mut pdf = Pdf::one_page("", "/Resources<</XObject<</A 10 0 R/B 11 0 R/C 10 0 R>>>>");
        for (number, dict) in (10..).zip(images) {
            pdf.stream(number, &format!("/Subtype/Image{dict}"), b"x");
        }
        pdf.table("/Root 1 0 R");
        value(&report(&pdf.bytes), "pdf.image_count").cloned()
    };
    assert_eq!(count(&[]), Some(json!(0)));
    assert_eq!(count(&["", ""]), Some(json!(2)));
    assert_eq!(
        count(&["/SMask 12 0 R", "/Mask 12 0 R", ""]),
        Some(json!(2))
    );
}

/// The text facts of a document whose pages have these content streams. `/Im` is an image, `/Fm` a form
/// with text.
fn text_of(pages: &[&str]) -> Value {
    let mut pdf = Pdf::new("1.7");
    let kids: String = (0..pages.len())
        .map(|index| format!("{} 0 R ", 100 + index))
        .collect();
    pdf.object(1, "<</Type/Catalog/Pages 2 0 R>>")
        .object(
            2,
            format!("<</Type/Pages/Kids[{kids}]/Count {}/Resources<</XObject<</Im 10 0 R/Fm 11 0 R>>>>>>", pages.len()),
        )
        .stream(10, "/Subtype/Image", b"x")
        .stream(11, "/Subtype/Form", b"BT (form) Tj ET");
    for (index, content) in (0..).zip(pages) {
        pdf.object(
            100 + index,
            format!("<</Type/Page/Contents {} 0 R>>", 200 + index),
        )
        .stream(
            200 + index,
            "/Filter/FlateDecode",
            &deflate(content.as_bytes()),
        );
    }
    pdf.table("/Root 1 0 R");
    report(&pdf.bytes)
}

#[test]
fn scans_are_told_from_text_page_by_page() {
    let long = format!("{}BT (late) Tj ET", "0 0 m 1 1 l S\n".repeat(5000));
    let cases: [(&[&str], &str, bool); 7] = [
        (&["BT /F1 12 Tf (Hi) Tj ET"], "full", false),
        (&["/Im Do", "/Im Do"], "none", true),
        (&["/Im Do", "BT [(a)] TJ ET"], "partial", false),
        (&["/Im Do 3 Tr (recognised) Tj"], "full", false),
        (&["/Fm Do"], "full", false),
        (&["0 0 m 9 9 l S"], "none", false),
        (&[&long], "full", false),
    ];
    for (pages, layer, is_scan) in cases {
        let report = text_of(pages);
        assert_eq!(
            value(&report, "pdf.text_layer"),
            Some(&json!(layer)),
            "{pages:.40?}"
        );
        assert_eq!(
            value(&report, "pdf.is_scan"),
            Some(&json!(is_scan)),
            "{pages:.40?}"
        );
    }
    let listed = value(&text_of(&["/Im Do", "(a) Tj"]), "pdf.page_text").cloned();
    let expected = json!([
        {"image": true, "page": 1, "text": false},
        {"image": false, "page": 2, "text": true},
    ]);
    assert_eq!(listed, Some(expected));
    // Of many pages a sample is examined.
    let many = vec!["(a) Tj"; 95];
    let listed = value(&text_of(&many), "pdf.page_text").cloned().unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 10);
}

#[test]
fn bookmarks_are_counted_with_their_levels() {
    let outline = |objects: &[(u32, &str)]| {
        let of = |target: &str| fact(target, "/Outlines 10 0 R", "", objects);
        (of("pdf.outline_item_count"), of("pdf.outline_depth"))
    };
    assert_eq!(outline(&[(10, "<</Type/Outlines>>")]), (json!(0), json!(0)));
    let flat = [
        (10, "<</First 11 0 R>>"),
        (11, "<</Next 12 0 R>>"),
        (12, "<<>>"),
    ];
    assert_eq!(outline(&flat), (json!(2), json!(1)));
    let deep = [
        (10, "<</First 11 0 R>>"),
        (11, "<</First 12 0 R/Next 14 0 R>>"),
        (12, "<</First 13 0 R>>"),
        // It leads back up.
        (13, "<</Next 11 0 R/First 10 0 R>>"),
        (14, "<<>>"),
    ];
    assert_eq!(outline(&deep), (json!(5), json!(4)));
}

#[test]
fn page_labels_are_listed_by_range() {
    let labels = |tree: &str, objects: &[(u32, &str)]| {
        fact(
            "pdf.page_labels",
            &format!("/PageLabels {tree}"),
            "",
            objects,
        )
    };
    let range = |first: u64, style: Value, prefix: Value, start: u64| json!({"first_page": first, "prefix": prefix, "start": start, "style": style});
    assert_eq!(fact("pdf.page_labels", "", "", &[]), json!([]));
    assert_eq!(
        labels("<</Nums[0<</S/r>>4<</S/D/St 7/P(A-)>>]>>", &[]),
        json!([
            range(1, json!("lower_roman"), Value::Null, 1),
            range(5, json!("decimal"), json!("A-"), 7),
        ])
    );
    assert_eq!(
        labels(
            "<</Kids[10 0 R 11 0 R]>>",
            &[(10, "<</Nums[2<<>>]>>"), (11, "<</Nums[0<</S/A>>]>>")]
        ),
        json!([
            range(1, json!("upper_letters"), Value::Null, 1),
            range(3, Value::Null, Value::Null, 1),
        ])
    );
}

#[test]
fn kinds_of_forms_are_told_apart() {
    for (catalogue, kind) in [
        ("", "none"),
        ("/AcroForm<</Fields[]>>", "none"),
        ("/AcroForm<</Fields[<</T(a)>>]>>", "acroform"),
        ("/AcroForm<</Fields[<</T(a)>>]/XFA 10 0 R>>", "acroform_xfa"),
        ("/AcroForm<</Fields[]/XFA 10 0 R>>", "xfa"),
        (
            "/NeedsRendering true/AcroForm<</Fields[<</T(a)>>]/XFA 10 0 R>>",
            "xfa",
        ),
    ] {
        let found = fact("pdf.form_type", catalogue, "", &[(10, "<<>>")]);
        assert_eq!(found, json!(kind), "{catalogue}");
    }
}

#[test]
fn permissions_are_those_of_the_encryption_dictionary() {
    let denied = |encrypt: &str| {
        let mut pdf = Pdf::one_page("", "");
        pdf.table(&format!("/Root 1 0 R{encrypt}"));
        let permissions = value(&report(&pdf.bytes), "pdf.permissions").cloned()?;
        let denied =
            |(key, value): (&String, &Value)| (value == &json!(false)).then(|| key.clone());
        permissions
            .as_object()
            .map(|all| all.iter().filter_map(denied).collect::<Vec<_>>())
    };
    let standard = |flags: i32, revision: u8| {
        denied(&format!(
            "/Encrypt<</Filter/Standard/V 2/R {revision}/P {flags}/O<00>/U<00>>>"
        ))
    };
    assert_eq!(denied(""), None);
    assert_eq!(denied("/Encrypt<</Filter/Other/P -4>>"), None);
    assert_eq!(standard(-4, 3), Some(vec![]));
    let none: Vec<String> = [
        "annotate",
        "assemble",
        "copy",
        "extract_for_accessibility",
        "fill_forms",
        "modify",
        "print",
        "print_high_quality",
    ]
    .map(String::from)
    .to_vec();
    assert_eq!(standard(-3904, 3), Some(none));
    // Printing only, and in high quality only from revision 3 on where the bit says so.
    assert_eq!(
        standard(-4 & !0b1000_0000_0000, 3),
        Some(vec!["print_high_quality".into()])
    );
    assert_eq!(standard(-4 & !0b1000_0000_0000, 2), Some(vec![]));
}

#[test]
fn appended_updates_are_counted() {
    let updates = |bytes: &[u8]| value(&report(bytes), "pdf.incremental_update_count").cloned();
    let mut pdf = Pdf::one_page("", "");
    pdf.table("/Root 1 0 R");
    assert_eq!(updates(&pdf.bytes), Some(json!(0)));
    pdf.object(3, "<</Type/Page>>").table("/Root 1 0 R");
    assert_eq!(updates(&pdf.bytes), Some(json!(1)));
    pdf.object(9, "null").xref_stream(8, "/Root 1 0 R");
    assert_eq!(updates(&pdf.bytes), Some(json!(2)));
    // A linearized file has two sections from the start.
    let mut pdf = Pdf::new("1.4");
    pdf.object(9, "<</Linearized 1/L 0/N 1>>")
        .table("")
        .object(1, "<</Type/Catalog/Pages 2 0 R>>")
        .object(2, "<</Kids[<</Type/Page>>]/Count 1>>")
        .table("/Root 1 0 R");
    assert_eq!(updates(&pdf.bytes), Some(json!(0)));
    // The number is unknown when the chain had to be recovered.
    let mut pdf = Pdf::one_page("", "");
    pdf.table("/Root 1 0 R");
    let cut = &pdf.bytes[..pdf.bytes.len() - 20];
    assert_eq!(updates(cut), None);
}

#[test]
fn producers_are_grouped_into_families() {
    for (producer, family) in [
        ("Adobe PDF Library 15.0", json!("adobe")),
        ("Microsoft\\256 Word 2019", json!("microsoft")),
        ("macOS Version 12.3 Quartz PDFContext", json!("apple")),
        ("LibreOffice 7.3", json!("libreoffice")),
        ("pdfTeX-1.40.21", json!("tex")),
        ("Skia/PDF m100", json!("chromium")),
        ("My own program", Value::Null),
    ] {
        let info = format!("<</Producer({producer})>>");
        let found = fact("pdf.producer_family", "", "", &[(30, &info)]);
        assert_eq!(found, family, "{producer}");
    }
}

#[test]
fn page_sizes_have_names() {
    let class = |media_box: &str| {
        let page = format!("/CropBox[{media_box}]/MediaBox[{media_box}]");
        let classes = fact("pdf.page_size_classes", "", &page, &[]);
        (
            classes[0]["class"].clone(),
            classes[0]["orientation"].clone(),
        )
    };
    for (media_box, expected) in [
        ("0 0 595.28 841.89", ("A4", "portrait")),
        ("0 0 842 595", ("A4", "landscape")),
        ("0 0 612 792", ("Letter", "portrait")),
        ("0 0 1008 612", ("Legal", "landscape")),
        ("0 0 420 595", ("A5", "portrait")),
        ("0 0 500 500", ("other", "square")),
    ] {
        assert_eq!(
            class(media_box),
            (json!(expected.0), json!(expected.1)),
            "{media_box}"
        );
    }
}
