//! Files that are made to crash, to hang or to eat memory. Each is answered, within its budgets.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::build::{Pdf, deflate};
use super::{ALL, expect};
use crate::harness::Engine;

/// Probes a hostile file and checks that it ends (the limit only tells a hang from a slow machine),
/// and that the same engine answers the next record.
#[track_caller]
fn survive(arguments: &[&str], bytes: &[u8]) -> Value {
    let mut engine = Engine::start(arguments);
    let started = Instant::now();
    let report = engine.probe("a.pdf", bytes);
    let elapsed = started.elapsed();
    assert!(elapsed < Duration::from_secs(300), "{elapsed:?}");
    let mut next = Pdf::one_page("", "");
    next.table("/Root 1 0 R");
    expect(
        &engine.probe("b.pdf", &next.bytes),
        &[("pdf.page_count", json!(1))],
    );
    report
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    // C-1: arrays, dictionaries, both, in objects that every path reads.
    for (open, close) in [("[", "]"), ("<</A ", ">>"), ("[<</A", ">>]")] {
        for depth in [90, 2000, 100_000] {
            let nested = open.repeat(depth) + &close.repeat(depth);
            let mut pdf =
                Pdf::one_page(&format!("/Names {nested}/AcroForm 5 0 R"), "/Annots 5 0 R");
            pdf.object(5, &nested).table("/Root 1 0 R");
            expect(&survive(ALL, &pdf.bytes), &[("pdf.page_count", json!(1))]);
        }
    }
}

#[test]
fn a_chain_of_lengths_or_references_ends() {
    // C-1: each stream's length is the next stream. Then references to references.
    let mut pdf = Pdf::one_page("/Metadata 10 0 R/Lang 5000 0 R", "/Annots 5000 0 R");
    for number in 10..2010 {
        let body = format!(
            "<</Type/Metadata/Length {} 0 R>>stream\nx\nendstream",
            number + 1
        );
        pdf.object(number, body);
    }
    for number in 5000..7000 {
        pdf.object(number, format!("{} 0 R", number + 1));
    }
    pdf.object(7000, "5000 0 R").table("/Root 1 0 R");
    expect(
        &survive(ALL, &pdf.bytes),
        &[
            ("pdf.page_count", json!(1)),
            ("pdf.annotation_count", json!(0)),
        ],
    );
}

/// A file whose xref stream has these entries; `padding` zero bytes are its data.
fn xref_stream(entries: &str, padding: usize) -> Vec<u8> {
    let data = deflate(&vec![0; padding]);
    let mut bytes = b"%PDF-1.7\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Kids[<</Type/Page>>]/Count 1>>endobj\n".to_vec();
    let start = bytes.len();
    bytes.extend(
        format!(
            "3 0 obj<</Type/XRef/Root 1 0 R/Filter/FlateDecode/Length {}{entries}>>stream\n",
            data.len()
        )
        .bytes(),
    );
    bytes.extend(data);
    bytes.extend(format!("\nendstream endobj startxref {start} %%EOF").bytes());
    bytes
}

#[test]
fn sizes_in_an_xref_stream_are_not_trusted() {
    // C-2, U-2, and a size that the data do not have.
    for entries in [
        "/W[100000000000 1 1]/Size 4",
        "/W[0 0 0]/Size 4000000000",
        "/W[1 2 1]/Size 4000000000",
        "/W[1 2 1]/Index[0 99999999999 4294967290 99999]/Size 4",
        "/W[8 8 8]/Index[9223372036854775807 5]/Size 9",
        "/W[1 2 1]/Size -5",
        "/W[]/Size 1",
    ] {
        let report = survive(ALL, &xref_stream(entries, 4000));
        expect(
            &report,
            &[("pdf.page_count", json!(1)), ("pdf.repaired", json!(true))],
        );
    }
}

#[test]
fn millions_of_entries_take_memory_for_their_sections_only() {
    // A million free entries in twenty runs, in 1 KB.
    let runs: String = (0..20)
        .map(|run| format!("{} 50000 ", run * 200_000))
        .collect();
    let report = survive(
        ALL,
        &xref_stream(&format!("/W[0 1 0]/Index[{runs}]"), 1_000_000),
    );
    expect(
        &report,
        &[("pdf.page_count", json!(1)), ("pdf.object_count", json!(3))],
    );
}

#[test]
fn bombs_stop_at_the_expansion_budget() {
    // U-3: a megabyte budget; Flate, nested Flate, LZW, and a predictor with absurd columns.
    let bomb = deflate(&vec![b' '; 64 << 20]);
    let nested = deflate(&bomb);
    let lzw = weezl::encode::Encoder::with_tiff_size_switch(weezl::BitOrder::Msb, 8)
        .encode(&vec![b' '; 8 << 20])
        .unwrap();
    let cases = [
        ("/Filter/LZWDecode", lzw),
        ("/Filter/FlateDecode", bomb),
        ("/Filter[/FlateDecode/FlateDecode]", nested),
        ("/Filter/RunLengthDecode", [129, b' '].repeat(100_000)),
        ("/Filter/ASCII85Decode", vec![b'z'; 4 << 20]),
    ];
    for (filter, data) in cases {
        let mut pdf = Pdf::new("1.7");
        pdf.object_stream(4, &[(2, "x"), (3, "x")])
            .object(1, "<</Type/Catalog/Pages 2 0 R>>")
            .stream(4, &format!("/Type/ObjStm/N 2/First 8{filter}"), &data)
            .xref_stream(5, "/Root 1 0 R");
        let report = survive(&["-l", "d", "-t", "@all", "-x", "1048576"], &pdf.bytes);
        let count = &report["results"]["pdf.page_count"];
        assert_eq!(count["status"], "budget_exceeded", "{filter}: {report}");
        let expanded = report["execution"]["actual_cost"]["expanded_bytes"].as_u64();
        assert!(expanded.is_some_and(|expanded| expanded <= 1_048_576));
    }
    let mut pdf = Pdf::one_page("/Metadata 7 0 R", "");
    pdf.stream(7, "/Type/Metadata/Subtype/XML/Filter/FlateDecode/DecodeParms<</Predictor 15/Columns 3000000000>>", &deflate(b"\x02abc"))
        .table("/Root 1 0 R");
    let report = survive(ALL, &pdf.bytes);
    expect(&report, &[("pdf.has_xmp", json!(true))]);
    let expanded = report["execution"]["actual_cost"]["expanded_bytes"]
        .as_u64()
        .unwrap();
    assert!(expanded < 1000, "{expanded}");
}

#[test]
fn facts_found_before_a_budget_is_spent_are_kept() {
    // The file is opened within the budget, and what hangs from the catalogue takes more than is left: the
    // paths that come later need not open it again.
    let mut pdf = Pdf::one_page("/AF[10 0 R]", "");
    pdf.object_stream(6, &[(10, &format!("<</A({})>>", "x".repeat(200_000)))])
        .xref_stream(7, "/Root 1 0 R");
    let flags = ["-l", "d", "-t", "@all", "-x", "100"];
    let report = survive(&flags, &pdf.bytes);
    let status = |target: &str| &report["results"][target]["status"];
    assert_eq!(
        status("security.has_javascript"),
        "budget_exceeded",
        "{report}"
    );
    expect(
        &report,
        &[
            ("pdf.page_count", json!(1)),
            ("pdf.object_count", json!(6)),
            ("security.encrypted", json!(false)),
            ("pdf.repaired", json!(false)),
        ],
    );
}

#[test]
fn graphs_with_exponentially_many_ways_end() {
    // U-4: each level lists the next twice, for fields, pages and name trees.
    let levels = 60;
    let mut pdf = Pdf::new("1.7");
    pdf.object(1, "<</Type/Catalog/Pages 100 0 R/AcroForm<</Fields[200 0 R]>>/Names<</EmbeddedFiles 300 0 R>>>>");
    for level in 0..levels {
        for (base, more) in [(100, "/Type/Pages"), (200, "/T(x)"), (300, "")] {
            let (number, next) = (base + level, base + level + 1);
            pdf.object(number, format!("<<{more}/Kids[{next} 0 R {next} 0 R]>>"));
        }
    }
    pdf.object(100 + levels, "<</Type/Page>>")
        .object(200 + levels, "<</T(leaf)>>")
        .object(300 + levels, "<</Names[]>>")
        .table("/Root 1 0 R");
    expect(
        &survive(ALL, &pdf.bytes),
        &[
            // There are 2^60 ways to the one page, so the number of listings is unknown.
            ("pdf.page_count", Value::Null),
            ("pdf.form_field_count", json!(1)),
        ],
    );
}

#[test]
fn one_annotation_array_of_many_pages_is_walked_once() {
    let mut pdf = Pdf::new("1.7");
    pdf.object(1, "<</Type/Catalog/Pages 2 0 R>>")
        .object(3, format!("[{}]", "4 0 R ".repeat(20_000)))
        .object(4, "<</Subtype/Link>>");
    let kids: String = (10..2010).map(|number| format!("{number} 0 R ")).collect();
    pdf.object(2, format!("<</Kids[{kids}]/Count 2000>>"));
    for number in 10..2010 {
        pdf.object(number, "<</Type/Page/Annots 3 0 R>>");
    }
    pdf.table("/Root 1 0 R");
    expect(
        &survive(ALL, &pdf.bytes),
        &[("pdf.link_count", json!(40_000_000))],
    );
}

/// The document costs too much to be answered in full, and is answered in part: with what it costs
/// nothing to know, or with the error that says why.
#[track_caller]
fn expect_bounded(bytes: &[u8], costly: &str) {
    let report = survive(ALL, bytes);
    assert_eq!(
        report["results"][costly]["status"], "budget_exceeded",
        "{report}"
    );
    let text = report["diagnostics"].to_string();
    assert!(text.contains("again and again"), "{text}");
    expect(&report, &[("document.title", json!("T"))]);
}

/// A catalogue, a page tree over `pages` pages from 100 on, and an Info dictionary (9).
fn with_pages(catalogue: &str, node: &str, pages: u32) -> Pdf {
    let kids: String = (100..100 + pages)
        .map(|number| format!("{number} 0 R "))
        .collect();
    let mut pdf = Pdf::new("1.7");
    pdf.object(1, format!("<</Type/Catalog/Pages 2 0 R{catalogue}>>"))
        .object(
            2,
            format!("<</Type/Pages/Count {pages}/Kids[{kids}]{node}>>"),
        )
        .object(9, "<</Title(T)>>");
    pdf
}

#[test]
fn large_objects_that_many_entries_lead_to_cost_a_bounded_time() {
    // Nothing that was parsed is kept, so each of these was parsed, and some were copied, thousands of
    // times: seconds, or gigabytes, for less than a megabyte.
    let trailer = "/Root 1 0 R/Info 9 0 R";
    let large = format!("<</Subtype/Text/X({})>>", "0 ".repeat(150_000));
    let mut annotations = with_pages("", "", 1);
    annotations
        .object(
            100,
            format!("<</Type/Page/Annots[{}]>>", "6 0 R 7 0 R ".repeat(30_000)),
        )
        .object(6, &large)
        .object(8, "x".repeat(20_000))
        .object(7, &large)
        .table(trailer);
    expect_bounded(&annotations.bytes, "pdf.annotation_count");

    // A reference to a reference to an array.
    let mut arrays = with_pages("", "", 2000);
    arrays.object(6, format!("[{}]", "<</Subtype/Link>>".repeat(5_000)));
    for number in 100..2100 {
        arrays
            .object(
                number,
                format!("<</Type/Page/Annots {} 0 R>>", number + 5000),
            )
            .object(number + 5000, "6 0 R");
    }
    expect_bounded(&arrays.table(trailer).bytes, "pdf.annotation_count");

    let mut fields = with_pages("/AcroForm<</Fields 5 0 R>>", "", 1);
    let list = |range: std::ops::Range<u32>| -> String {
        range.map(|number| format!("{number} 0 R ")).collect()
    };
    fields
        .object(100, "<</Type/Page>>")
        .object(5, format!("[{}]", list(1000..7000)))
        .object(6, format!("[{}]", "7 0 R ".repeat(6000)))
        .object(7, "<</T(x)>>");
    for number in 1000..7000 {
        fields.object(number, "<</T(a)/Kids 6 0 R>>");
    }
    expect_bounded(&fields.table(trailer).bytes, "pdf.form_field_count");

    // Nodes of the page tree in arrays, and share the arrays below them.
    let mut nodes = Pdf::new("1.7");
    nodes
        .object(1, "<</Type/Catalog/Pages 2 0 R>>")
        .object(2, "<</Type/Pages/Kids 3 0 R/Count 5>>")
        .object(3, format!("[{}]", "<</Kids 4 0 R>>".repeat(5000)))
        .object(4, format!("[{}]", "<</Kids 5 0 R>>".repeat(5000)))
        .object(5, "[]")
        .object(9, "<</Title(T)>>")
        .table(trailer);
    expect_bounded(&nodes.bytes, "pdf.page_count");
}

#[test]
fn what_pages_share_is_not_copied_for_each_of_them() {
    // Boxes of forty kilobytes: behind a reference of each page's own, and handed down.
    let trailer = "/Root 1 0 R/Info 9 0 R";
    let large = format!("[0 0 10 20 {}]", "0 ".repeat(20_000));
    let mut handed_down = with_pages("", &format!("/MediaBox{large}"), 1000);
    for number in 100..1100 {
        handed_down
            .object(number, format!("<</Kids[{} 0 R]/Count 1>>", number + 5000))
            .object(number + 5000, "<</Type/Page>>");
    }
    let sizes = json!([{"count": 1000, "height_pt": 20.0, "width_pt": 10.0}]);
    expect(
        &survive(ALL, &handed_down.table(trailer).bytes),
        &[("pdf.page_sizes", sizes), ("pdf.page_count", json!(1000))],
    );
    let mut referred = with_pages("", "", 1000);
    referred.object(6, large);
    for number in 100..1100 {
        referred
            .object(
                number,
                format!("<</Type/Page/MediaBox {} 0 R>>", number + 5000),
            )
            .object(number + 5000, "6 0 R");
    }
    expect_bounded(&referred.table(trailer).bytes, "pdf.page_sizes");
}

#[test]
fn wrong_places_of_objects_cost_no_more_than_right_ones() {
    // Tens of thousands of objects in one stream, none where its entry says; then entries that all lead
    // to one large object of another number.
    let count = 30_000;
    let list: String = (1000..1000 + count)
        .map(|number| format!("{number} 0 R "))
        .collect();
    let body: Vec<(u32, &str)> = (1000..1000 + count)
        .map(|number| (number, "<<>>"))
        .collect();
    let mut turned = body.clone();
    turned.reverse();
    let mut pdf = Pdf::one_page("/AF 5 0 R", "");
    pdf.object(5, format!("[{list}]"))
        .object_stream(6, &body)
        .object_stream(6, &turned[..count as usize - 1])
        .object(7, "x")
        .xref_stream(8, "/Root 1 0 R");
    expect(
        &survive(ALL, &pdf.bytes),
        &[
            ("pdf.page_count", json!(1)),
            ("pdf.attachment_count", json!(0)),
        ],
    );
    let mut pdf = Pdf::one_page("/AF 5 0 R", "");
    pdf.object(5, format!("[{list}]"))
        .object(6, format!("[{}]", "0 ".repeat(400_000)));
    let at = pdf.place_of(6);
    for number in 1000..1000 + count {
        pdf.put_at(number, at);
    }
    pdf.table("/Root 1 0 R");
    expect(
        &survive(ALL, &pdf.bytes),
        &[
            ("pdf.page_count", json!(1)),
            ("pdf.attachment_count", json!(0)),
        ],
    );
}

#[test]
fn a_rebuild_is_linear() {
    // U-5: 99 000 objects without a table; then without any `endobj`.
    for end in ["endobj\n", "\n"] {
        let mut bytes = b"%PDF-1.4\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj\n2 0 obj <</Kids[<</Type/Page>>]/Count 1>> endobj\n".to_vec();
        for number in 3..99_000 {
            bytes.extend(format!("{number} 0 obj <</A {number}>> {end}").bytes());
        }
        bytes.extend(b"trailer<</Root 1 0 R>>");
        let report = survive(
            &[
                "-l",
                "d",
                "-t",
                "pdf.page_count,pdf.object_count",
                "-T",
                "15000",
            ],
            &bytes,
        );
        expect(
            &report,
            &[
                ("pdf.page_count", json!(1)),
                ("pdf.object_count", json!(98_999)),
            ],
        );
    }
}

#[test]
fn cyclic_chains_end() {
    // `Prev` to itself and in a circle; a section that is named ten thousand times.
    let body = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Kids[<</Type/Page>>]/Count 1>>endobj\n";
    let second = body.find("2 0 obj").unwrap();
    let start = body.len();
    for more in [
        format!("/Prev {start}"),
        format!("/Prev {start}/XRefStm {start}"),
    ] {
        let bytes = format!(
            "{body}xref\n0 3\n0000000000 65535 f \n0000000009 00000 n \n{second:010} 00000 n \ntrailer<</Root 1 0 R/Size 3{more}>>\nstartxref\n{start}\n%%EOF"
        );
        expect(
            &survive(ALL, bytes.as_bytes()),
            &[("pdf.page_count", json!(1))],
        );
    }
    let mut many = Pdf::one_page("", "");
    many.table("/Root 1 0 R");
    for _ in 0..3000 {
        many.table("/Root 1 0 R");
    }
    expect(
        &survive(ALL, &many.bytes),
        &[
            ("pdf.page_count", json!(1)),
            ("pdf.object_count", json!(3)),
            ("pdf.repaired", json!(false)),
        ],
    );
}

#[test]
fn an_object_stream_that_needs_itself_does_not_nest() {
    // The filter of each object stream is in the next one, and that of the last in the first.
    let mut pdf = Pdf::new("1.7");
    pdf.object(1, "<</Type/Catalog/Pages 100 0 R>>");
    for number in 10..60 {
        let (inner, next) = (number + 90, (number + 1 - 10) % 50 + 10 + 90);
        pdf.object_stream(number, &[(inner, "/FlateDecode")]);
        let dict = format!("/Type/ObjStm/N 1/First 4/Filter {next} 0 R");
        pdf.stream(
            number,
            &dict,
            &deflate(format!("{inner} 0 /FlateDecode").as_bytes()),
        );
    }
    pdf.xref_stream(5, "/Root 1 0 R");
    let report = survive(ALL, &pdf.bytes);
    assert!(report["error"]["code"] == "MALFORMED_INPUT" || report["results"].is_object());
}

#[test]
fn a_file_that_shrinks_while_it_is_read_does_not_crash() {
    let mut pdf = Pdf::one_page("", "");
    pdf.stream(9, "", &vec![b'x'; 1 << 20]).table("/Root 1 0 R");
    let file = tempfile::Builder::new().suffix(".pdf").tempfile().unwrap();
    let mut engine = Engine::start(ALL);
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                std::fs::write(file.path(), &pdf.bytes).unwrap();
                file.as_file().set_len(100).unwrap();
            }
        });
        for _ in 0..200 {
            let report = engine.ask(&json!({ "path": file.path() }));
            assert!(report["status"].is_string());
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
