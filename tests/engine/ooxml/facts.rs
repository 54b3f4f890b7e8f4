//! Facts that the original engine does not answer: who and when, review state, content shape.

use serde_json::json;

use super::build::{Package, SLIDE_NS, WORD_NS, relationships_xml};
use super::{assert_values, deep};

const CUSTOM_NS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/custom-properties";
const DRAWING_NS: &str = "http://schemas.openxmlformats.org/drawingml/2006/main";

#[test]
fn who_saved_it_and_with_what_comes_from_the_property_parts() {
    let package = Package::new("docx")
        .core(
            "<cp:lastModifiedBy>Ann</cp:lastModifiedBy><cp:revision>7</cp:revision>\
             <dc:language>de-DE</dc:language>",
        )
        .app(
            "<Template>Normal.dotm</Template><TotalTime>42</TotalTime><Company>C</Company>\
             <Manager>M</Manager>",
        );
    assert_values(
        &deep("a.docx", &package.build()),
        &[
            ("document.last_modified_by", json!("Ann")),
            ("document.revision", json!("7")),
            ("document.language", json!("de-DE")),
            ("document.template", json!("Normal.dotm")),
            ("document.total_edit_time", json!(42)),
            ("document.company", json!("C")),
            ("document.manager", json!("M")),
            ("document.marked_final", json!(false)),
            ("document.custom_properties", json!([])),
            ("document.sensitivity_labels", json!([])),
        ],
    );
}

#[test]
fn custom_properties_are_typed_and_labels_are_gathered() {
    let property = |name: &str, value: &str| format!("<property name='{name}'>{value}</property>");
    let content = format!(
        "<Properties xmlns='{CUSTOM_NS}' xmlns:vt='urn:vt'>{}{}{}{}{}{}</Properties>",
        property("Count", "<vt:i4>12</vt:i4>"),
        property("Share", "<vt:r8>0.5</vt:r8>"),
        property("_MarkAsFinal", "<vt:bool>true</vt:bool>"),
        property("MSIP_Label_ab-1_Enabled", "<vt:lpwstr>true</vt:lpwstr>"),
        property("MSIP_Label_ab-1_Name", "<vt:lpwstr>Secret</vt:lpwstr>"),
        property("List", "<vt:vector/>"),
    );
    let package =
        Package::new("docx").typed("docProps/custom.xml", "custom-properties+xml", content);
    let text = |name: &str, value: &str| json!({"name": name, "type": "lpwstr", "value": value});
    assert_values(
        &deep("a.docx", &package.build()),
        &[
            ("document.marked_final", json!(true)),
            (
                "document.custom_properties",
                json!([
                    {"name": "Count", "type": "i4", "value": 12},
                    {"name": "Share", "type": "r8", "value": 0.5},
                    {"name": "_MarkAsFinal", "type": "bool", "value": true},
                    text("MSIP_Label_ab-1_Enabled", "true"),
                    text("MSIP_Label_ab-1_Name", "Secret"),
                    {"name": "List", "type": "vector", "value": null},
                ]),
            ),
            (
                "document.sensitivity_labels",
                json!([{"id": "ab-1", "enabled": "true", "name": "Secret"}]),
            ),
        ],
    );
}

#[test]
fn a_word_document_is_counted_and_its_review_state_is_known() {
    let w = |root: &str, body: &str| format!("<w:{root} xmlns:w='{WORD_NS}'>{body}</w:{root}>");
    let body = "<w:body><w:p><w:pPr><w:pStyle w:val='Kop1'/></w:pPr><w:r><w:t>A title</w:t></w:r></w:p>\
        <w:p><w:ins w:author='x'><w:r><w:t>three more words</w:t></w:r></w:ins>\
        <w:del w:author='x'><w:r><w:delText>gone</w:delText></w:r></w:del>\
        <w:r><w:rPr><w:vanish/></w:rPr><w:t>!</w:t></w:r><w:r><w:footnoteReference w:id='2'/></w:r></w:p>\
        <w:p><w:pPr><w:sectPr/></w:pPr></w:p><w:sectPr/></w:body>";
    let package = Package::new("docx")
        .main(w("document", body))
        .typed(
            "word/styles.xml",
            "wordprocessingml.styles+xml",
            w(
                "styles",
                "<w:style w:styleId='Kop1'><w:name w:val='heading 1'/></w:style>",
            ),
        )
        .typed(
            "word/comments.xml",
            "wordprocessingml.comments+xml",
            w(
                "comments",
                "<w:comment w:author='a'/><w:comment w:author='b'/><w:comment w:author='a'/>",
            ),
        )
        .typed(
            "word/settings.xml",
            "wordprocessingml.settings+xml",
            w(
                "settings",
                "<w:documentProtection w:edit='readOnly' w:enforcement='1'/>",
            ),
        );
    assert_values(
        &deep("a.docx", &package.build()),
        &[
            ("word.paragraph_count", json!(3)),
            ("word.body_word_count", json!(5)),
            ("word.body_character_count", json!(21)),
            ("word.heading_count", json!(1)),
            ("word.section_count", json!(2)),
            ("word.footnote_count", json!(1)),
            ("word.endnote_count", json!(0)),
            ("word.image_count", json!(0)),
            ("word.insertion_count", json!(1)),
            ("word.deletion_count", json!(1)),
            ("word.has_hidden_text", json!(true)),
            ("word.comment_count", json!(3)),
            ("word.commenter_count", json!(2)),
            ("word.protection", json!("read-only")),
        ],
    );
}

#[test]
fn a_large_document_is_counted_like_a_small_one() {
    let paragraph = "<w:p><w:r><w:t>four words a piece</w:t></w:r></w:p>";
    let count = 100_000;
    let document = format!(
        "<w:document xmlns:w='{WORD_NS}'><w:body>{}</w:body></w:document>",
        paragraph.repeat(count)
    );
    assert!(document.len() > 4 << 20, "read piece by piece");
    let package = Package::new("docx").main(document);
    assert_values(
        &deep("a.docx", &package.build()),
        &[
            ("word.paragraph_count", json!(count)),
            ("word.body_word_count", json!(4 * count)),
        ],
    );
}

#[test]
fn a_part_above_the_budget_is_named_and_its_claim_is_an_estimate() {
    let strings = format!(
        "<sst xmlns='{}' uniqueCount='77'>{}</sst>",
        super::build::SHEET_NS,
        "<si><t>text</t></si>".repeat(10_000)
    );
    let package = Package::new("xlsx").core("<dc:title>T</dc:title>").typed(
        "xl/sharedStrings.xml",
        "spreadsheetml.sharedStrings+xml",
        strings,
    );
    let flags = [
        "-l",
        "d",
        "-x",
        "100000",
        "-c",
        "low",
        "-t",
        "title,shared_string_count",
    ];
    let report = super::probe(&flags, "a.xlsx", &package.build());
    let result = &report["results"]["excel.shared_string_count"];
    assert_eq!(
        (&result["status"], &result["value"]),
        (&json!("estimated"), &json!(77))
    );
    assert!(
        report["diagnostics"]
            .to_string()
            .contains("BUDGET_EXCEEDED"),
        "{report}"
    );
    assert_values(&report, &[("document.title", json!("T"))]);
}

#[test]
fn hidden_and_very_hidden_sheets_are_named() {
    let workbook = format!(
        "<workbook xmlns='{}'><sheets><sheet name='a'/><sheet name='b' state='hidden'/>\
         <sheet name='c' state='veryHidden'/></sheets></workbook>",
        super::build::SHEET_NS
    );
    let package = Package::new("xlsx").main(workbook);
    assert_values(
        &deep("a.xlsx", &package.build()),
        &[
            ("excel.hidden_sheet_names", json!(["b"])),
            ("excel.very_hidden_sheet_names", json!(["c"])),
        ],
    );
}

fn deck(slides: &[&str], list: &[&str], relationships: &[(&str, &str, bool)]) -> Package {
    let ids: String = list
        .iter()
        .map(|id| format!("<p:sldId xmlns:r='urn:r' r:id='{id}'/>"))
        .collect();
    let mut package = Package::new("pptx")
        .main(format!(
            "<p:presentation xmlns:p='{SLIDE_NS}'><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>"
        ))
        .part(
            "ppt/_rels/presentation.xml.rels",
            relationships_xml(relationships),
        );
    for (index, slide) in slides.iter().enumerate() {
        package = package.typed(
            &format!("ppt/slides/slide{}.xml", index + 1),
            "presentationml.slide+xml",
            slide,
        );
    }
    package
}

fn slide(attributes: &str, body: &str) -> String {
    format!("<p:sld xmlns:p='{SLIDE_NS}' xmlns:a='{DRAWING_NS}' {attributes}>{body}</p:sld>")
}

#[test]
fn a_hidden_slide_outside_the_list_does_not_count() {
    let (shown, hidden) = (slide("", ""), slide("show='0'", ""));
    for (slides, count, numbers) in [
        // The second entry of the list leads nowhere, and the second slide is not in the list.
        ([&*shown, &*hidden], 0, json!([])),
        ([&*hidden, &*shown], 1, json!([1])),
    ] {
        let package = deck(
            &slides,
            &["rId1", "rId9"],
            &[("slide", "slides/slide1.xml", false)],
        );
        assert_values(
            &deep("a.pptx", &package.build()),
            &[
                ("powerpoint.slide_count", json!(2)),
                ("powerpoint.hidden_slide_count", json!(count)),
                ("powerpoint.hidden_slide_numbers", numbers),
            ],
        );
    }
}

#[test]
fn titles_and_transitions_are_those_of_the_slides_in_order() {
    let title = |kind: &str, text: &str| {
        format!(
            "<p:cSld><p:spTree><p:sp><p:nvSpPr><p:nvPr><p:ph type='{kind}'/></p:nvPr></p:nvSpPr>\
             <p:txBody><a:p>{text}</a:p></p:txBody></p:sp></p:spTree></p:cSld>"
        )
    };
    let run = |text: &str| format!("<a:r><a:t>{text}</a:t></a:r>");
    let slides = [
        slide(
            "",
            &title("ctrTitle", &format!("{}<a:br/>{}", run("One"), run("two"))),
        ),
        slide(
            "",
            &format!("{}<p:transition/>", title("body", &run("no title"))),
        ),
    ];
    let package = deck(
        &[&slides[0], &slides[1]],
        &["rId2", "rId1"],
        &[
            ("slide", "slides/slide1.xml", false),
            ("slide", "slides/slide2.xml", false),
        ],
    );
    assert_values(
        &deep("a.pptx", &package.build()),
        &[
            ("powerpoint.slide_titles", json!(["", "One two"])),
            ("powerpoint.transition_count", json!(1)),
        ],
    );
}
