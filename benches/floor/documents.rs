//! Packages of the size and shape that the applications write for small documents.

use std::fmt::Write as _;

use super::zip::archive;

const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006";
const OPENXML: &str = "application/vnd.openxmlformats-officedocument.";

/// Names and bytes.
pub(crate) fn all() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("letter.docx", word(12)),
        ("report.docx", word(2000)),
        ("budget.xlsx", excel(3)),
        ("ledger.xlsx", excel(60)),
        ("talk.pptx", powerpoint(5)),
        ("course.pptx", powerpoint(80)),
    ]
}

fn word(paragraphs: usize) -> Vec<u8> {
    let ns = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";
    let mut body = String::new();
    for n in 0..paragraphs {
        let _infallible = write!(
            body,
            "<w:p w:rsidR='00{n:06X}'><w:r><w:t>Paragraph {n}, {}</w:t></w:r></w:p>",
            n * 7919 % 1000
        );
    }
    let mut parts = Parts::new(
        "word/document.xml",
        "wordprocessingml.document.main+xml",
        format!("<w:document xmlns:w='{ns}'><w:body>{body}</w:body></w:document>"),
    );
    for name in [
        "styles",
        "settings",
        "webSettings",
        "fontTable",
        "numbering",
    ] {
        parts.add(
            &format!("word/{name}.xml"),
            &format!("wordprocessingml.{name}+xml"),
            format!("<w:{name} xmlns:w='{ns}'/>"),
        );
    }
    parts.build()
}

fn excel(sheets: usize) -> Vec<u8> {
    let ns = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    let mut list = String::new();
    for n in 1..=sheets {
        let _infallible = write!(
            list,
            "<sheet name='Sheet {n}' sheetId='{n}' r:id='rId{n}'/>"
        );
    }
    let mut parts = Parts::new(
        "xl/workbook.xml",
        "spreadsheetml.sheet.main+xml",
        format!(
            "<workbook xmlns='{ns}' xmlns:r='{OFFICE}/relationships'><sheets>{list}</sheets></workbook>"
        ),
    );
    for n in 1..=sheets {
        parts.add(
            &format!("xl/worksheets/sheet{n}.xml"),
            "spreadsheetml.worksheet+xml",
            format!("<worksheet xmlns='{ns}'><sheetData/></worksheet>"),
        );
    }
    parts.build()
}

fn powerpoint(slides: usize) -> Vec<u8> {
    let ns = "http://schemas.openxmlformats.org/presentationml/2006/main";
    let mut list = String::new();
    for n in 1..=slides {
        let _infallible = write!(list, "<p:sldId id='{}' r:id='rId{n}'/>", 255 + n);
    }
    let levels: String = (1..=9)
        .map(|n| {
            format!(
                "<a:lvl{n}pPr marL='{}' algn='l' defTabSz='914400'/>",
                n * 457_200
            )
        })
        .collect();
    let mut parts = Parts::new(
        "ppt/presentation.xml",
        "presentationml.presentation.main+xml",
        format!(
            "<p:presentation xmlns:p='{ns}' xmlns:a='urn:a' xmlns:r='{OFFICE}/relationships'>\
             <p:sldIdLst>{list}</p:sldIdLst><p:sldSz cx='12192000' cy='6858000'/>\
             <p:defaultTextStyle>{levels}</p:defaultTextStyle></p:presentation>"
        ),
    );
    for n in 1..=slides {
        parts.add(
            &format!("ppt/slides/slide{n}.xml"),
            "presentationml.slide+xml",
            format!("<p:sld xmlns:p='{ns}'><p:cSld/></p:sld>"),
        );
    }
    for n in 1..=11 {
        parts.add(
            &format!("ppt/slideLayouts/slideLayout{n}.xml"),
            "presentationml.slideLayout+xml",
            format!("<p:sldLayout xmlns:p='{ns}'/>"),
        );
    }
    parts.build()
}

struct Parts {
    main: String,
    types: String,
    parts: Vec<(String, String)>,
}

impl Parts {
    fn new(main: &str, main_type: &str, content: String) -> Self {
        let mut parts = Self {
            main: main.into(),
            types: String::new(),
            parts: Vec::new(),
        };
        parts.add(main, main_type, content);
        parts
    }

    fn add(&mut self, name: &str, kind: &str, content: String) {
        let _infallible = write!(
            self.types,
            "<Override PartName='/{name}' ContentType='{OPENXML}{kind}'/>"
        );
        self.parts.push((name.into(), content));
    }

    fn build(mut self) -> Vec<u8> {
        let package = "http://schemas.openxmlformats.org/package/2006";
        self.add(
            "docProps/app.xml",
            "extended-properties+xml",
            format!(
                "<?xml version='1.0' encoding='UTF-8' standalone='yes'?>\n\
                 <Properties xmlns='{OFFICE}/extended-properties'><Template>Normal.dotm</Template>\
                 <TotalTime>12</TotalTime><Pages>3</Pages><Words>812</Words><Characters>4632</Characters>\
                 <Application>Microsoft Office Word</Application><DocSecurity>0</DocSecurity>\
                 <Lines>38</Lines><Paragraphs>10</Paragraphs><Company>Some Company</Company>\
                 <LinksUpToDate>false</LinksUpToDate><CharactersWithSpaces>5434</CharactersWithSpaces>\
                 <AppVersion>16.0000</AppVersion></Properties>"
            ),
        );
        let core = format!(
            "<?xml version='1.0' encoding='UTF-8' standalone='yes'?>\n\
             <cp:coreProperties xmlns:cp='{package}/metadata/core-properties' \
             xmlns:dc='http://purl.org/dc/elements/1.1/' xmlns:dcterms='http://purl.org/dc/terms/' \
             xmlns:dcmitype='http://purl.org/dc/dcmitype/' \
             xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'><dc:title>A report</dc:title>\
             <dc:subject/><dc:creator>Some One</dc:creator><cp:keywords/><dc:description/>\
             <cp:lastModifiedBy>Some One</cp:lastModifiedBy><cp:revision>4</cp:revision>\
             <dcterms:created xsi:type='dcterms:W3CDTF'>2024-01-02T03:04:05Z</dcterms:created>\
             <dcterms:modified xsi:type='dcterms:W3CDTF'>2024-01-03T03:04:05Z</dcterms:modified>\
             </cp:coreProperties>"
        );
        let types = format!(
            "<?xml version='1.0' encoding='UTF-8' standalone='yes'?>\n<Types xmlns='{package}/content-types'>\
             <Default Extension='rels' ContentType='application/vnd.openxmlformats-package.relationships+xml'/>\
             <Default Extension='xml' ContentType='application/xml'/>{}\
             <Override PartName='/docProps/core.xml' \
             ContentType='application/vnd.openxmlformats-package.core-properties+xml'/></Types>",
            self.types
        );
        let relationships = format!(
            "<Relationships xmlns='{package}/relationships'><Relationship Id='rId1' \
             Type='{OFFICE}/relationships/officeDocument' Target='{}'/></Relationships>",
            self.main
        );
        let head = [
            ("[Content_Types].xml".to_owned(), types),
            ("_rels/.rels".to_owned(), relationships),
        ];
        let tail = [("docProps/core.xml".to_owned(), core)];
        archive(head.into_iter().chain(self.parts).chain(tail))
    }
}
