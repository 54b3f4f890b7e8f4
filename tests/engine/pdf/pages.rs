//! Pages as the tree lists them, and their sizes.

use serde_json::{Value, json};

use super::build::Pdf;
use super::{ALL, expect, report};
use crate::harness::{Engine, value};

/// A document with these objects, whose page tree is object 2.
fn document(objects: &[(u32, &str)]) -> Vec<u8> {
    let mut pdf = Pdf::new("1.7");
    pdf.object(1, "<</Type/Catalog/Pages 2 0 R>>");
    for (number, body) in objects {
        pdf.object(*number, body);
    }
    pdf.table("/Root 1 0 R");
    pdf.bytes
}

const PAGE: &str = "<</Type/Page/MediaBox[0 0 200 100]/Annots[<</Subtype/Link>>]>>";

#[test]
fn every_listing_of_a_page_is_a_page() {
    let cases = [
        (
            "twice in one node",
            "<</Type/Pages/Kids[3 0 R 3 0 R]/Count 2>>",
            "null",
            2,
        ),
        (
            "apart from each other",
            "<</Type/Pages/Kids[3 0 R 5 0 R 3 0 R]/Count 3>>",
            PAGE,
            3,
        ),
        (
            "in two branches",
            "<</Type/Pages/Kids[5 0 R 3 0 R]/Count 2>>",
            "<</Type/Pages/Kids[3 0 R]/Count 1>>",
            2,
        ),
        (
            "in a branch that is listed twice",
            "<</Type/Pages/Kids[5 0 R 5 0 R]/Count 4>>",
            "<</Type/Pages/Kids[3 0 R 3 0 R]/Count 2>>",
            4,
        ),
        (
            "in a node that is large enough to be trusted",
            "<</Type/Pages/Kids[3 0 R 3 0 R 5 0 R 3 0 R 3 0 R 3 0 R]/Count 6>>",
            PAGE,
            6,
        ),
        (
            "beside a cycle",
            "<</Type/Pages/Kids[3 0 R 5 0 R 3 0 R]/Count 2>>",
            "<</Type/Pages/Kids[2 0 R 5 0 R]/Count 1>>",
            2,
        ),
    ];
    for (what, root, other, pages) in cases {
        let report = report(document(&[(2, root), (3, PAGE), (5, other)]));
        assert_eq!(
            value(&report, "pdf.page_count"),
            Some(&json!(pages)),
            "{what}"
        );
        // What is read from the pages agrees with their number.
        let size = json!([{"count": pages, "height_pt": 100.0, "width_pt": 200.0}]);
        assert_eq!(value(&report, "pdf.page_sizes"), Some(&size), "{what}");
        assert_eq!(
            value(&report, "pdf.annotation_count"),
            Some(&json!(pages)),
            "{what}"
        );
    }
}

#[test]
fn crop_boxes_end_at_the_media_box() {
    let size = |page: &str| {
        let page = format!("<</Type/Page{page}>>");
        let bytes = document(&[(2, "<</Type/Pages/Kids[3 0 R]/Count 1>>"), (3, &page)]);
        let report = report(bytes);
        let size = value(&report, "pdf.page_sizes").map(|sizes| sizes[0].clone());
        size.map(|size| (size["width_pt"].as_f64(), size["height_pt"].as_f64()))
    };
    let of = |width: f64, height: f64| Some((Some(width), Some(height)));
    for (page, expected) in [
        (
            "/MediaBox[0 0 200 100]/CropBox[-20 -20 220 120]",
            of(200.0, 100.0),
        ),
        (
            "/MediaBox[0 0 200 100]/CropBox[50 50 500 500]",
            of(150.0, 50.0),
        ),
        (
            "/MediaBox[200 100 0 0]/CropBox[190 90 10 10]",
            of(180.0, 80.0),
        ),
        (
            "/MediaBox[0 0 200 100]/CropBox[300 300 400 400]",
            of(200.0, 100.0),
        ),
        (
            "/MediaBox[0 0 200 100]/CropBox[-20 -20 220 120]/Rotate 90",
            of(100.0, 200.0),
        ),
        (
            "/MediaBox[0 0 200 100]/CropBox[0 0 400 400]/UserUnit 2",
            of(400.0, 200.0),
        ),
        ("/CropBox[0 0 30 40]", of(30.0, 40.0)),
        ("", None),
    ] {
        assert_eq!(size(page), expected, "{page}");
    }
}

#[test]
fn pages_that_the_table_does_not_list_or_lists_wrongly_are_found_in_the_file() {
    // The third page has no line; one that says offset 0; one that is damaged.
    let lines = [
        "",
        "3 1\n0000000000 00000 n \n",
        "3 1\n00000000x9 00000 n \n",
        "3 1\n0000000009 00000 x \n",
    ];
    for line in lines {
        let mut pdf = Pdf::new("1.7");
        pdf.object(1, "<</Type/Catalog/Pages 2 0 R>>")
            .object(2, "<</Type/Pages/Kids[3 0 R]/Count 1>>");
        let page = pdf.bytes.len();
        pdf.raw(format!("3 0 obj\n{PAGE}\nendobj\n"));
        let (first, second, start) = (pdf.place_of(1), pdf.place_of(2), pdf.bytes.len());
        pdf.raw(format!(
            "xref\n0 3\n0000000000 65535 f \n{first:010} 00000 n \n{second:010} 00000 n \n{line}\
             trailer\n<</Size 3/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n"
        ));
        assert!(page < start);
        expect(
            &report(&pdf.bytes),
            &[("pdf.page_count", json!(1)), ("pdf.repaired", json!(true))],
        );
        // Without a repair the page is not known, which is not the same as no page.
        let mut plain = Engine::start(&["-O", "pdf.repair_xref=none", "-t", "page_count"]);
        let found = plain.probe("a.pdf", &pdf.bytes);
        assert_eq!(value(&found, "pdf.page_count"), None, "{line:?}: {found}");
    }
}

#[test]
fn entries_of_xref_streams_that_say_offset_0_are_looked_for_too() {
    let mut pdf = Pdf::one_page("", "");
    pdf.put_at(3, 0).xref_stream(7, "/Root 1 0 R");
    let expected = [("pdf.page_count", json!(1)), ("pdf.repaired", json!(true))];
    expect(&report(&pdf.bytes), &expected);
}

#[test]
fn an_object_of_offset_0_that_is_nowhere_is_null() {
    let mut pdf = Pdf::one_page("/OpenAction 9 0 R", "");
    pdf.put_at(9, 0).table("/Root 1 0 R");
    expect(
        &report(&pdf.bytes),
        &[
            ("security.has_javascript", json!(false)),
            ("pdf.page_count", json!(1)),
            ("pdf.repaired", json!(false)),
        ],
    );
}

#[test]
fn headers_are_accepted_behind_up_to_1023_foreign_bytes() {
    for (len, accepted) in [
        (0, true),
        (1019, true),
        (1020, true),
        (1023, true),
        (1024, false),
    ] {
        let mut pdf = Pdf::one_page("", "");
        pdf.table("/Root 1 0 R");
        let bytes = [&vec![b'.'; len][..], &pdf.bytes].concat();
        for arguments in [ALL, &["-l", "h", "-t", "@header"][..]] {
            let report = Engine::start(arguments).probe("a.pdf", &bytes);
            let version = value(&report, "pdf.version")
                .cloned()
                .unwrap_or(Value::Null);
            if accepted {
                assert_eq!(version, json!("1.7"), "{len}");
            } else {
                assert_eq!(report["error"]["code"], "MALFORMED_INPUT", "{len}");
            }
        }
    }
}
