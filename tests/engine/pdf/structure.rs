//! Cross-reference data, page trees, versions.

use serde_json::json;

use super::build::Pdf;
use super::{ALL, expect, report};
use crate::harness::{Engine, value};

#[test]
fn a_plain_file_is_read_in_every_form_of_cross_reference_data() {
    let mut table = Pdf::one_page("", "");
    table.table("/Root 1 0 R");

    let mut stream = Pdf::new("1.7");
    stream
        .object_stream(
            4,
            &[
                (1, "<</Type/Catalog/Pages 2 0 R>>"),
                (2, "<</Type/Pages/Kids[3 0 R]/Count 1>>"),
                (3, "<</Type/Page/MediaBox[0 0 612 792]>>"),
            ],
        )
        .xref_stream(5, "/Root 1 0 R");

    // A hybrid file without `Prev`: the page is only in the stream that `XRefStm` names.
    let mut hybrid = Pdf::new("1.7");
    hybrid
        .object(1, "<</Type/Catalog/Pages 2 0 R>>")
        .object(2, "<</Type/Pages/Kids[3 0 R]/Count 1>>")
        .object_stream(4, &[(3, "<</Type/Page/MediaBox[0 0 612 792]>>")]);
    let hidden = hybrid.hidden_xref_stream(5);
    hybrid
        .free(3)
        .table(&format!("/Root 1 0 R/XRefStm {hidden}"));

    for (mut pdf, kind, objects) in [
        (table, "table", 3),
        (stream, "stream", 5),
        (hybrid, "hybrid", 5),
    ] {
        let whole = report(&pdf.bytes);
        expect(
            &whole,
            &[
                ("pdf.page_count", json!(1)),
                ("pdf.xref_type", json!(kind)),
                ("pdf.object_count", json!(objects)),
                ("pdf.repaired", json!(false)),
                (
                    "pdf.page_sizes",
                    json!([{"count": 1, "height_pt": 792.0, "width_pt": 612.0}]),
                ),
                ("security.encrypted", json!(false)),
            ],
        );
        // W-14: the words in the middle of a file say nothing.
        pdf.raw("% /Linearized 1 /Type/XRef\nxref\n");
        expect(
            &report(&pdf.bytes),
            &[
                ("pdf.linearized", json!(false)),
                ("pdf.xref_type", json!(kind)),
            ],
        );
    }
}

#[test]
fn the_newest_revision_counts_whichever_object_stream_it_is_in() {
    // W-7: one page in the first revision, two in the second, with the numbers of the object
    // streams either way round.
    for (old, new) in [(4, 6), (6, 4)] {
        let mut pdf = Pdf::new("1.7");
        pdf.object(1, "<</Type/Catalog/Pages 2 0 R>>")
            .object_stream(
                old,
                &[(2, "<</Kids[3 0 R]/Count 1>>"), (3, "<</Type/Page>>")],
            )
            .xref_stream(10, "/Root 1 0 R")
            .object_stream(
                new,
                &[
                    (2, "<</Kids[3 0 R 7 0 R]/Count 2>>"),
                    (7, "<</Type/Page/Annots[<</Subtype/Link>>]>>"),
                ],
            )
            .xref_stream(11, "/Root 1 0 R");
        let mut engine = Engine::start(ALL);
        for _ in 0..5 {
            expect(
                &engine.probe("a.pdf", &pdf.bytes),
                &[
                    ("pdf.page_count", json!(2)),
                    ("pdf.annotation_count", json!(1)),
                    ("pdf.link_count", json!(1)),
                ],
            );
        }
    }
}

#[test]
fn what_an_update_freed_stays_freed() {
    // W-8, in a table and in a stream.
    let first = || {
        let mut pdf = Pdf::one_page("/OpenAction 9 0 R", "");
        pdf.object(9, "<</S/JavaScript/JS(app.alert\\(1\\))>>")
            .table("/Root 1 0 R");
        pdf
    };
    expect(
        &report(first().bytes),
        &[("security.has_javascript", json!(true))],
    );
    let (mut table, mut stream) = (first(), first());
    table.free(9).table("/Root 1 0 R");
    stream.free(9).xref_stream(12, "/Root 1 0 R");
    for pdf in [table, stream] {
        expect(
            &report(pdf.bytes),
            &[
                ("security.has_javascript", json!(false)),
                ("security.active_content_risk", json!("none")),
                ("pdf.repaired", json!(false)),
            ],
        );
    }
}

#[test]
fn a_page_tree_that_leads_to_no_page_is_not_one_without_pages() {
    // What it lists is missing, or it only lists itself, or it announces pages and lists none.
    for tree in [
        "<</Type/Pages/Kids[77 0 R]/Count 1>>",
        "<</Type/Pages/Kids[2 0 R]/Count 1>>",
        "<</Type/Pages/Kids[null 5]/Count 2>>",
        "<</Type/Pages/Count 3>>",
        "<</Type/Pages/Kids null/Count 3>>",
    ] {
        let mut pdf = Pdf::new("1.7");
        pdf.object(1, "<</Type/Catalog/Pages 2 0 R>>")
            .object(2, tree)
            .table("/Root 1 0 R");
        expect(
            &report(&pdf.bytes),
            &[
                ("pdf.page_count", json!(null)),
                ("pdf.annotation_count", json!(null)),
            ],
        );
    }
    // A page that an update took away is away.
    let mut pdf = Pdf::one_page("", "");
    pdf.table("/Root 1 0 R").free(3).table("/Root 1 0 R");
    expect(&report(&pdf.bytes), &[("pdf.page_count", json!(0))]);
}

#[test]
fn page_trees_of_every_shape_are_counted() {
    // W-10. The objects of each tree, and its pages.
    let deep: Vec<(u32, String)> = (2..202)
        .map(|number| {
            (
                number,
                format!("<</Type/Pages/Kids[{} 0 R]/Count 1>>", number + 1),
            )
        })
        .chain([(202, "<</Type/Page>>".to_owned())])
        .collect();
    let wide: Vec<(u32, String)> = std::iter::once((
        2,
        format!(
            "<</Type/Pages/Count 3000/Kids[{}]>>",
            (3..3003).map(|n| format!("{n} 0 R ")).collect::<String>()
        ),
    ))
    .chain((3..3003).map(|number| (number, "<</Type/Page>>".to_owned())))
    .collect();
    let tree = |objects: &[(u32, &str)]| -> Vec<(u32, String)> {
        objects
            .iter()
            .map(|(n, text)| (*n, (*text).to_owned()))
            .collect()
    };
    let cases = [
        (
            "no types",
            tree(&[
                (2, "<</Kids[3 0 R]/Count 1>>"),
                (3, "<</MediaBox[0 0 9 9]>>"),
            ]),
            1,
        ),
        (
            "inline pages",
            tree(&[(2, "<</Kids[<</Type/Page>><</Type/Page>>]/Count 2>>")]),
            2,
        ),
        (
            "a page twice",
            tree(&[(2, "<</Kids[3 0 R 3 0 R]/Count 2>>"), (3, "<</Type/Page>>")]),
            2,
        ),
        (
            "a cycle",
            tree(&[
                (2, "<</Kids[2 0 R 3 0 R]/Count 2>>"),
                (3, "<</Type/Pages/Kids[2 0 R 4 0 R]>>"),
                (4, "<</Type/Page>>"),
            ]),
            1,
        ),
        (
            "null and missing kids",
            tree(&[
                (2, "<</Kids[null 77 0 R 3 0 R]/Count 1>>"),
                (3, "<</Type/Page>>"),
            ]),
            1,
        ),
        (
            "a count that lies",
            tree(&[
                (2, "<</Type/Pages/Kids[3 0 R]/Count 900>>"),
                (3, "<</Type/Page>>"),
            ]),
            1,
        ),
        (
            "no pages",
            tree(&[(2, "<</Type/Pages/Kids[]/Count 0>>")]),
            0,
        ),
        ("200 levels", deep, 1),
        ("3000 leaves", wide, 3000),
    ];
    for (what, objects, pages) in cases {
        let mut pdf = Pdf::new("1.4");
        pdf.object(1, "<</Type/Catalog/Pages 2 0 R>>");
        for (number, body) in &objects {
            pdf.object(*number, body);
        }
        pdf.table("/Root 1 0 R");
        let report = report(&pdf.bytes);
        assert_eq!(
            value(&report, "pdf.page_count"),
            Some(&json!(pages)),
            "{what}"
        );
    }
    let mut inline_root = Pdf::new("1.4");
    inline_root
        .object(1, "<</Type/Catalog/Pages<</Kids[3 0 R]/Count 1>>>>")
        .object(3, "<</Type/Page>>")
        .table("/Root 1 0 R");
    expect(&report(&inline_root.bytes), &[("pdf.page_count", json!(1))]);
}

#[test]
fn object_streams_are_read_through_any_filter() {
    // W-10: the page is in an object stream that is encoded in hexadecimal.
    let text = "3 0 <</Type/Page>>";
    let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut pdf = Pdf::new("1.7");
    pdf.object(1, "<</Type/Catalog/Pages 2 0 R>>")
        .object(2, "<</Kids[3 0 R]/Count 1>>")
        .object_stream(4, &[(3, "null")])
        .stream(
            4,
            "/Type/ObjStm/N 1/First 4/Filter[/AHx]",
            format!("{hex}>").as_bytes(),
        )
        .xref_stream(5, "/Root 1 0 R");
    expect(
        &report(&pdf.bytes),
        &[("pdf.page_count", json!(1)), ("pdf.repaired", json!(false))],
    );
}

#[test]
fn the_version_in_force_is_the_later_of_header_and_catalogue() {
    // W-14.
    for (header, catalogue, expected) in [
        ("1.4", "", json!("1.4")),
        ("1.4", "/Version/1.7", json!("1.7")),
        ("1.7", "/Version/1.5", json!("1.7")),
        ("2.0", "/Version/1.7", json!("2.0")),
        ("x", "/Version/1.6", json!("1.6")),
        ("x", "", json!(null)),
    ] {
        let mut pdf = Pdf::new(header);
        pdf.object(1, format!("<</Type/Catalog/Pages 2 0 R{catalogue}>>"))
            .object(2, "<</Kids[]/Count 0>>")
            .table("/Root 1 0 R");
        for arguments in [ALL, &["-l", "h", "-t", "@header"]] {
            let report = Engine::start(arguments).probe("a.pdf", &pdf.bytes);
            expect(&report, &[("pdf.version", expected.clone())]);
        }
    }
}

#[test]
fn the_header_is_answered_whatever_lies_behind_it() {
    // A table beyond the budget, and a file that is cut off.
    let mut large = Pdf::one_page("/Version/2.0", "");
    for number in 10..20_000 {
        large.object(number, "null");
    }
    large.table("/Root 1 0 R");
    let cut = &large.bytes[..1000];
    for bytes in [&large.bytes[..], cut] {
        let arguments = ["-l", "h", "-t", "@header", "-b", "100000"];
        let file = tempfile::Builder::new().suffix(".pdf").tempfile().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let report = Engine::start(&arguments).ask(&json!({ "path": file.path() }));
        expect(&report, &[("pdf.version", json!("1.7"))]);
    }
}

#[test]
fn a_file_is_linearized_when_its_first_object_says_so_and_its_length_fits() {
    let build = |length: usize| {
        let mut pdf = Pdf::new("1.4");
        pdf.object(
            9,
            format!("<</Linearized 1/L {length:05}/H[1 2]/O 3/E 4/N 1/T 5>>"),
        )
        .object(1, "<</Type/Catalog/Pages 2 0 R>>")
        .object(2, "<</Kids[]/Count 0>>")
        .table("/Root 1 0 R");
        pdf
    };
    let size = build(0).bytes.len();
    let right = build(size);
    expect(&report(&right.bytes), &[("pdf.linearized", json!(true))]);
    // An update was appended: no longer.
    let mut updated = build(size);
    updated.object(8, "null").table("/Root 1 0 R");
    expect(&report(&updated.bytes), &[("pdf.linearized", json!(false))]);
}

#[test]
fn only_the_bytes_that_are_needed_are_read_however_large_the_file() {
    // M-3: 40 MiB of stream data between the objects, at metadata (16 MiB).
    let mut pdf = Pdf::one_page("", "/Contents 5 0 R");
    pdf.stream(5, "", &vec![b'x'; 40 << 20])
        .object(6, "<</Title(Far away)>>")
        .table("/Root 1 0 R/Info 6 0 R");
    let file = tempfile::Builder::new().suffix(".pdf").tempfile().unwrap();
    std::fs::write(file.path(), &pdf.bytes).unwrap();
    let targets = "@default,@security,annotation_count,form_field_count,attachment_count,has_xmp";
    let report = Engine::start(&["-t", targets]).ask(&json!({ "path": file.path() }));
    expect(
        &report,
        &[
            ("pdf.page_count", json!(1)),
            ("document.title", json!("Far away")),
            ("pdf.annotation_count", json!(0)),
            ("security.has_embedded_files", json!(false)),
        ],
    );
    let read = report["execution"]["actual_cost"]["physical_bytes_read"]
        .as_u64()
        .unwrap();
    assert!(read < 100_000, "{read} bytes read");
}

#[test]
fn max_objects_is_held_before_anything_is_loaded() {
    // M-4.
    let mut pdf = Pdf::one_page("", "");
    for number in 10..60 {
        pdf.object(number, "null");
    }
    pdf.table("/Root 1 0 R");
    let probe = |limit: &str| {
        let option = format!("pdf.max_objects={limit}");
        Engine::start(&["-O", &option, "-t", "pdf.page_count"]).probe("a.pdf", &pdf.bytes)
    };
    assert_eq!(probe("52")["error"]["code"], "BUDGET_EXCEEDED");
    expect(&probe("53"), &[("pdf.page_count", json!(1))]);
    // A lost table does not lift the limit.
    let cut = &pdf.bytes[..pdf.bytes.len() - 60];
    let refused = Engine::start(&["-O", "pdf.max_objects=52"]).probe("a.pdf", cut);
    let count = &refused["results"]["pdf.page_count"];
    assert_eq!(count["status"], "budget_exceeded", "{refused:#}");
}
