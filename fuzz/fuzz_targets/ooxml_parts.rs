//! Office Open XML packages by their parts, so that mutations reach the XML instead of breaking checksums and
//! compression. The first byte chooses the kind of document; parts end with the byte 0xFF, which stands in no
//! UTF-8 text.
#![no_main]

use std::cell::RefCell;

use deckprobe_mcp::engine::fuzzing::Prober;
use libfuzzer_sys::fuzz_target;

#[allow(dead_code)]
#[path = "../../tests/engine/support/zip.rs"]
mod zip;

use zip::{Archive, Packing, Part};

thread_local! {
    static PROBER: RefCell<Prober> = RefCell::new(Prober::new().expect("the options are known"));
}

const KINDS: [(&str, &str, &str); 4] = [
    (
        "a.docx",
        "word/document.xml",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml",
    ),
    (
        "a.xlsx",
        "xl/workbook.xml",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml",
    ),
    (
        "a.pptx",
        "ppt/presentation.xml",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml",
    ),
    (
        "a.xlsb",
        "xl/workbook.bin",
        "application/vnd.ms-excel.sheet.binary.macroEnabled.main",
    ),
];

/// The parts, in the order in which the input has them; the main part comes first.
const PARTS: [(&str, &str); 6] = [
    (
        "docProps/core.xml",
        "application/vnd.openxmlformats-package.core-properties+xml",
    ),
    (
        "docProps/app.xml",
        "application/vnd.openxmlformats-officedocument.extended-properties+xml",
    ),
    (
        "docProps/custom.xml",
        "application/vnd.openxmlformats-officedocument.custom-properties+xml",
    ),
    (
        "xl/sharedStrings.xml",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml",
    ),
    (
        "ppt/slides/slide1.xml",
        "application/vnd.openxmlformats-officedocument.presentationml.slide+xml",
    ),
    (
        "_rels/.rels",
        "application/vnd.openxmlformats-package.relationships+xml",
    ),
];

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, rest)) = bytes.split_first() else {
        return;
    };
    let (name, main, main_type) = KINDS[usize::from(choice) % KINDS.len()];
    let mut pieces = rest.split(|byte| *byte == 0xFF);
    let mut types = format!(
        "<Types xmlns='http://schemas.openxmlformats.org/package/2006/content-types'>\
         <Override PartName='/{main}' ContentType='{main_type}'/>"
    );
    let mut parts = vec![Part::new(main, pieces.next().unwrap_or_default())];
    for ((part, kind), content) in PARTS.iter().zip(&mut pieces) {
        types += &format!("<Override PartName='/{part}' ContentType='{kind}'/>");
        parts.push(Part::new(part, content));
    }
    // What is left is more of the content type stream.
    let more = pieces.next().unwrap_or_default();
    let types = [types.as_bytes(), more, b"</Types>"].concat();
    parts.push(Part::new("[Content_Types].xml", types));
    let archive = Archive::new(
        parts
            .into_iter()
            .map(|part| part.packing(Packing::Stored)),
    )
    .build();
    PROBER.with_borrow_mut(|prober| {
        let reply = prober.probe(name, &archive);
        assert!(reply.starts_with(b"{") && reply.len() < 16 << 20);
        assert!(!reply.windows(14).any(|window| window == b"PARSER_FAILURE"));
    });
});
