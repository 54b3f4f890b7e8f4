//! Damaged files that are too large to be repaired within the budget.

use serde_json::{Value, json};

use super::build::Pdf;
use super::expect;
use crate::harness::{Engine, value};

/// Adds more than the physical budget of the default level.
fn filler(pdf: &mut Pdf) {
    pdf.stream(40, "", &vec![b'x'; 17 << 20]);
}

/// Probes a file with the default level and set, and the properties.
fn probe(bytes: &[u8]) -> Value {
    let file = tempfile::Builder::new().suffix(".pdf").tempfile().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let targets = "@default,@summary,document.title,pdf.version,pdf.linearized";
    Engine::start(&["-t", targets]).ask(&json!({ "path": file.path() }))
}

#[test]
fn a_wrong_startxref_is_replaced_by_the_section_near_the_end() {
    for by_stream in [false, true] {
        let mut pdf = Pdf::one_page("", "");
        filler(&mut pdf);
        pdf.object(6, "<</Title(Kept)>>");
        if by_stream {
            pdf.xref_stream(7, "/Root 1 0 R/Info 6 0 R");
        } else {
            pdf.table("/Root 1 0 R/Info 6 0 R");
        }
        let end = pdf.bytes.len() - 30;
        let start = end
            + pdf.bytes[end..]
                .windows(9)
                .position(|w| w == b"startxref")
                .unwrap_or(0);
        let keyword = pdf
            .bytes
            .windows(9)
            .rposition(|w| w == b"startxref")
            .unwrap();
        assert!(start > 0);
        for tail in ["startxref\n77\n%%EOF\n", ""] {
            let bytes = [&pdf.bytes[..keyword], tail.as_bytes()].concat();
            let report = probe(&bytes);
            expect(
                &report,
                &[
                    ("pdf.page_count", json!(1)),
                    ("document.title", json!("Kept")),
                    ("pdf.repaired", json!(true)),
                    ("pdf.version", json!("1.7")),
                ],
            );
            let read = report["execution"]["actual_cost"]["physical_bytes_read"].as_u64();
            assert!(read.is_some_and(|read| read < 200_000), "{read:?}");
        }
    }
}

#[test]
fn a_cut_tail_leaves_the_facts_of_the_header() {
    let mut pdf = Pdf::one_page("", "");
    filler(&mut pdf);
    let report = probe(&pdf.bytes);
    expect(
        &report,
        &[
            ("pdf.version", json!("1.7")),
            ("pdf.linearized", json!(false)),
            ("document.format", json!("pdf")),
        ],
    );
    assert_eq!(report["status"], "partial");
    let count = &report["results"]["pdf.page_count"];
    assert_eq!(count["status"], "budget_exceeded", "{report:#}");
}

/// A linearized file: the dictionary, the first-page section, the first page, and the rest.
fn linearized(first_page_trailer: &str) -> Vec<u8> {
    let mut pdf = Pdf::new("1.6");
    pdf.object(9, "<</Linearized 1/L 99999999/H[1 2]/O 3/E 4/N 31/T 5>>");
    let section = pdf.bytes.len();
    // The table of the first page comes before its objects, so their places are known beforehand.
    let bodies = [
        (
            1,
            "<</Type/Catalog/Pages 2 0 R/Version/1.7/MarkInfo<</Marked true>>/Lang(de)>>",
        ),
        (3, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>"),
    ];
    let table = |at: [usize; 2]| {
        format!(
            "xref\n1 1\n{:010} 00000 n \n3 1\n{:010} 00000 n \ntrailer\n\
             <</Size 50/Root 1 0 R/Info 6 0 R/Prev 90000000{first_page_trailer}>>\nstartxref\n0\n%%EOF\n",
            at[0], at[1]
        )
    };
    let objects = bodies.map(|(number, body)| format!("{number} 0 obj\n{body}\nendobj\n"));
    let first = section + table([0, 0]).len();
    pdf.raw(table([first, first + objects[0].len()]))
        .raw(&objects[0])
        .raw(&objects[1]);
    filler(&mut pdf);
    pdf.bytes
}

#[test]
fn a_cut_linearized_file_is_answered_from_its_first_page_section() {
    let report = probe(&linearized(""));
    expect(
        &report,
        &[
            ("pdf.page_count", json!(31)),
            ("pdf.version", json!("1.7")),
            ("pdf.linearized", json!(false)),
            ("security.encrypted", json!(false)),
            ("pdf.repaired", json!(true)),
        ],
    );
    assert_eq!(report["results"]["pdf.page_count"]["confidence"], "high");
    // Facts in the missing end are not invented.
    assert_eq!(value(&report, "document.title"), None);
    let encrypted = probe(&linearized("/Encrypt 77 0 R"));
    expect(&encrypted, &[("security.encrypted", json!(true))]);
}
