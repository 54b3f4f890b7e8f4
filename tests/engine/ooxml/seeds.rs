//! Writes what the fuzz targets begin with, when `DECKPROBE_FUZZ_SEEDS` names a folder for it.

use super::build::{Package, SHEET_NS, SLIDE_NS, WORD_NS, core_xml, relationships_xml};
use super::excel::small_binary_workbook;
use crate::harness::seed_writer;
use crate::support::zip::Packing;

#[test]
fn seeds_are_written_when_asked_for() {
    let Some(write) = seed_writer() else { return };
    let core =
        core_xml("<dc:title>A &amp; B</dc:title><dcterms:created>2024-01-02</dcterms:created>");
    let app = "<Properties xmlns='http://schemas.openxmlformats.org/officeDocument/2006/\
               extended-properties'><Pages>3</Pages><AppVersion>16.0</AppVersion></Properties>";
    let word = format!("<w:document xmlns:w='{WORD_NS}'><w:body><w:p/></w:body></w:document>");
    let excel = format!(
        "<workbook xmlns='{SHEET_NS}'><sheets><sheet name='a' state='hidden'/></sheets>\
         <definedNames><definedName name='n'>1</definedName></definedNames></workbook>"
    );
    let powerpoint = format!(
        "<p:presentation xmlns:p='{SLIDE_NS}' xmlns:r='urn:r'><p:sldIdLst><p:sldId id='256' \
         r:id='rId1'/></p:sldIdLst><p:sldSz cx='9' cy='6'/></p:presentation>"
    );
    let binary = small_binary_workbook();
    let mains = [
        word.as_bytes(),
        excel.as_bytes(),
        powerpoint.as_bytes(),
        &binary,
    ];
    let slide = format!("<p:sld xmlns:p='{SLIDE_NS}' show='0'/>");
    let relationships = relationships_xml(&[("hyperlink", "http://example.org/", true)]);
    for (kind, (extension, main)) in
        (0..).zip(["docx", "xlsx", "pptx", "xlsb"].into_iter().zip(mains))
    {
        let custom = "";
        let strings = format!("<sst xmlns='{SHEET_NS}'><si/></sst>");
        let others = [&core, app, custom, &strings, &slide, &relationships].map(str::as_bytes);
        let mut parts = vec![main];
        parts.extend(others);
        let name = format!("{extension}-parts");
        write(
            "ooxml_parts",
            &name,
            &[&[kind], &parts.join(&0xFF)[..]].concat(),
        );
        let package = Package::new(extension)
            .main(main)
            .core_part(&core)
            .app("<Words>1</Words>");
        write("archive", extension, &package.build());
        let stored = package.build_with("_rels/.rels", |part| part.packing(Packing::Stored));
        write("archive", &format!("{extension}-stored"), &stored);
        write("xml_part", extension, main);
    }
    for (name, part) in [
        ("core", core.as_str()),
        ("app", app),
        ("slide", &slide),
        ("relationships", &relationships),
        ("types", &Package::new("docx").content_types()),
        (
            "all",
            "<?xml version=\"1.0\"?><!DOCTYPE a [<!ENTITY b \"c\">]><!-- d --><a x:b = '&#65;\t' \
             xmlns:x=\"u\"><![CDATA[]]]]>&b;<?p?><x:c/></a >",
        ),
    ] {
        write("xml_part", name, part.as_bytes());
        let units: Vec<u8> = part.encode_utf16().flat_map(u16::to_le_bytes).collect();
        write(
            "xml_part",
            &format!("{name}-utf16"),
            &[b"\xFF\xFE", &units[..]].concat(),
        );
    }
    write("binary_workbook", "small", &binary);
}
