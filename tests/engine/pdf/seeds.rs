//! Writes what the fuzz targets begin with, when `DECKPROBE_FUZZ_SEEDS` names a folder for it.

use super::build::{Pdf, deflate};
use crate::harness::seed_writer;

#[test]
fn seeds_are_written_on_request() {
    let Some(write) = seed_writer() else { return };
    let mut table = Pdf::one_page(
        "/AcroForm<</Fields[8 0 R]>>/Metadata 9 0 R",
        "/Annots[8 0 R]",
    );
    table
        .object(6, "<</Title(T)/Producer<FEFF0041>>>")
        .object(8, "<</T(a)/Subtype/Widget/A<</S/JavaScript/JS(x)>>>>")
        .stream(
            9,
            "/Type/Metadata/Subtype/XML",
            b"<x:xmpmeta xmlns:x='adobe:ns:meta/'/>",
        )
        .table("/Root 1 0 R/Info 6 0 R")
        .free(8)
        .table("/Root 1 0 R/Info 6 0 R");
    write("pdf_document", "table", &table.bytes);
    let cut = &table.bytes[..table.bytes.len() - 30];
    write("pdf_document", "cut", cut);

    let mut stream = Pdf::new("1.7");
    stream
        .object_stream(
            4,
            &[
                (1, "<</Type/Catalog/Pages 2 0 R>>"),
                (2, "<</Kids[3 0 R]/Count 1>>"),
            ],
        )
        .object(3, "<</Type/Page>>")
        .xref_stream(5, "/Root 1 0 R");
    write("pdf_document", "stream", &stream.bytes);

    let mut hybrid = Pdf::one_page("", "/Annots[7 0 R]");
    hybrid.object_stream(4, &[(7, "<</Subtype/Link>>")]);
    let hidden = hybrid.hidden_xref_stream(5);
    hybrid
        .free(7)
        .table(&format!("/Root 1 0 R/XRefStm {hidden}"));
    write("pdf_document", "hybrid", &hybrid.bytes);

    let parts: [&[u8]; 9] = [
        b"<</Type/Catalog/Pages 4 0 R/AcroForm 6 0 R/Names<</EmbeddedFiles 7 0 R>>/Metadata 8 0 R/Outlines<</First 9 0 R>>/Perms<</UR3 9 0 R>>>>",
        b"<</Title(T\\101)/Author<FEFF0041>/Producer(P 1.2)>>",
        b"<</Filter/Standard/V 2/R 3/Length 128/P -4/O<00>/U<00>>>",
        b"<</Kids[5 0 R 5 0 R]/Count 2/MediaBox[0 0 9 9]/Rotate 90>>",
        b"<</Type/Page/Annots[6 0 R<</Subtype/Link/A<</S/URI/Next 9 0 R>>>>]/CropBox[0 0 1 2]>>",
        b"<</Fields[6 0 R 9 0 R]/T(a)/Kids[9 0 R]/FS(x)>>",
        b"<</Names[(a)<</EF<</F 8 0 R>>>>]/Kids[7 0 R]>>",
        b"<</Type/Metadata/Subtype/XML/Filter[/ASCIIHexDecode/LZWDecode]/Length 9 0 R>>stream\n800B6050>\nendstream",
        b"<</Type/Sig/ByteRange[0 1]/Contents<00>/S/Launch/T(b)>>",
    ];
    let plain = parts.join(&b"\n%%\n"[..]);
    write("pdf_objects", "plain", &plain);
    write("pdf_objects", "encrypted", &[b"% \n", &plain[..]].concat());
    let packed = deflate(b"<a/>");
    let metadata = [
        b"<</Type/Catalog/Pages<</Kids[]>>/Metadata 2 0 R>>\n%%\n<</Filter/FlateDecode/Length 12>>stream\n",
        &packed[..],
        b"\nendstream",
    ];
    write("pdf_objects", "packed", &metadata.concat());
}
