//! Documents of iWork '08 and '09, whose main part is XML.

use std::io::Write as _;

use serde_json::json;

use super::build::Package;
use super::{assert_unknown, assert_values, deep};
use crate::harness::{Engine, shared, value};

const NAMESPACES: &str = "xmlns:sfa='http://developer.apple.com/namespaces/sfa' \
    xmlns:sf='http://developer.apple.com/namespaces/sf' \
    xmlns:key='http://developer.apple.com/namespaces/keynote2' \
    xmlns:ls='http://developer.apple.com/namespaces/ls' \
    xmlns:sl='http://developer.apple.com/namespaces/sl'";

fn metadata(prefix: &str) -> String {
    format!(
        "<{prefix}:metadata><{prefix}:authors><{prefix}:string sfa:string='Ada'/>\
         <{prefix}:string sfa:string='Bob &amp; Co'/></{prefix}:authors>\
         <{prefix}:title><{prefix}:string sfa:string='Übersicht'/></{prefix}:title>\
         <{prefix}:keywords><{prefix}:string sfa:string='a'/></{prefix}:keywords></{prefix}:metadata>"
    )
}

fn presentation() -> String {
    format!(
        "<?xml version='1.0'?><key:presentation {NAMESPACES} key:version='92008102400'>\
         <key:size sfa:w='1024' sfa:h='768'/><key:theme-list><key:theme><key:size sfa:w='1' sfa:h='2'/>\
         <key:master-slides><key:master-slide><sf:tabular-model/></key:master-slide>\
         <key:master-slide/></key:master-slides></key:theme></key:theme-list>\
         <key:slide-list><key:slide/><key:slide><sf:tabular-info><sf:tabular-model/></sf:tabular-info>\
         </key:slide></key:slide-list>{}</key:presentation>",
        metadata("key")
    )
}

fn spreadsheet() -> String {
    format!(
        "<ls:document {NAMESPACES}>{}<ls:workspace-array><ls:workspace ls:workspace-name='Kosten'/>\
         <ls:workspace ls:workspace-name='Plan 2'><sf:tabular-model sf:name='T'/></ls:workspace>\
         </ls:workspace-array></ls:document>",
        metadata("sf")
    )
}

fn text() -> String {
    format!(
        "<sl:document {NAMESPACES}><sl:publication-info>\
         <sl:language><sl:string sfa:string='de'/></sl:language>\
         <sl:SLCreationDateProperty><sl:date sf:val='2009-05-01T10:00:00Z'/></sl:SLCreationDateProperty>\
         </sl:publication-info>{}<sf:text-body><sf:page-start/><sf:p>x</sf:p><sf:page-start/></sf:text-body>\
         </sl:document>",
        metadata("sf")
    )
}

fn package(main: &str, content: impl AsRef<[u8]>) -> Package {
    let history = "<plist><array><string>Template: Blank</string><string>local build-Nov 15 2011</string>\
                   </array></plist>";
    Package { parts: Vec::new() }
        .with(main, content)
        .with("buildVersionHistory.plist", history)
        .with("QuickLook/Thumbnail.jpg", "x")
}

fn gzip(text: &str) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    writer.write_all(text.as_bytes()).unwrap();
    writer.finish().unwrap()
}

#[test]
fn a_presentation_of_2009_has_its_slides_and_properties() {
    let plain = package("index.apxl", presentation());
    let packed = package("index.apxl.gz", gzip(&presentation()));
    for bytes in [
        plain.build(),
        plain.build_in_folder("old.key"),
        packed.build(),
    ] {
        let report = deep("a.key", &bytes);
        assert_values(
            &report,
            &[
                ("document.application", json!("Apple Keynote")),
                (
                    "document.application_version",
                    json!("local build-Nov 15 2011"),
                ),
                ("document.title", json!("Übersicht")),
                ("document.author", json!("Ada, Bob & Co")),
                ("document.keywords", json!("a")),
                ("document.modified_at", json!(null)),
                ("iwork.document_kind", json!("keynote")),
                ("keynote.slide_count", json!(2)),
                ("keynote.master_slide_count", json!(2)),
                ("keynote.table_count", json!(1)),
                (
                    "keynote.slide_size",
                    json!({"width_pt": 1024.0, "height_pt": 768.0}),
                ),
                ("quality.corrupted", json!(false)),
                ("security.encrypted", json!(false)),
                ("security.password_protected", json!(false)),
            ],
        );
        assert_unknown(
            &report,
            &["keynote.hidden_slide_count", "iwork.all_iwa_valid"],
        );
    }
}

#[test]
fn a_spreadsheet_of_2009_has_its_sheets() {
    let report = deep("a.numbers", &package("index.xml", spreadsheet()).build());
    assert_values(
        &report,
        &[
            ("document.title", json!("Übersicht")),
            ("numbers.sheet_count", json!(2)),
            ("numbers.sheet_names", json!(["Kosten", "Plan 2"])),
            ("numbers.table_count", json!(1)),
        ],
    );
}

#[test]
fn a_text_document_of_2009_has_its_pages_and_dates() {
    let report = deep("a.pages", &package("index.xml.gz", gzip(&text())).build());
    assert_values(
        &report,
        &[
            ("document.author", json!("Ada, Bob & Co")),
            ("document.language", json!("de")),
            ("document.created_at", json!("2009-05-01T10:00:00Z")),
            ("pages.cached_page_count", json!(2)),
        ],
    );
}

#[test]
fn the_root_element_decides_which_application_a_document_of_2009_belongs_to() {
    let report = deep("a.pages", &package("index.xml", spreadsheet()).build());
    assert_eq!(report["error"]["code"], "MALFORMED_INPUT", "{report}");
}

#[test]
fn a_password_on_a_document_of_2009_is_named() {
    let package = package("index.apxl", b"\x93\x01 not XML").with(".iwph", "hint");
    let report = deep("a.key", &package.build());
    assert_values(
        &report,
        &[
            ("security.encrypted", json!(true)),
            ("security.password_protected", json!(true)),
            ("document.application", json!("Apple Keynote")),
        ],
    );
    assert_unknown(
        &report,
        &["keynote.slide_count", "document.title", "quality.corrupted"],
    );
}

#[test]
fn damage_in_a_document_of_2009_leaves_what_was_complete_before_it() {
    let whole = text();
    let cut = &whole[..whole.find("<sf:p>").unwrap()];
    let report = deep("a.pages", &package("index.xml", cut).build());
    assert_values(
        &report,
        &[
            ("quality.corrupted", json!(true)),
            ("document.title", json!("Übersicht")),
        ],
    );
    assert_unknown(
        &report,
        &["pages.cached_page_count", "document.modified_at"],
    );
}

#[test]
fn a_gzip_bomb_in_a_document_of_2009_ends_at_the_budget() {
    let bomb = format!("<key:presentation {NAMESPACES}>{}", " ".repeat(40_000_000));
    let package = package("index.apxl.gz", gzip(&bomb));
    let mut engine = Engine::start(&["-t", "slide_count,application"]);
    let report = engine.probe("a.key", &package.build());
    assert_values(&report, &[("document.application", json!("Apple Keynote"))]);
    assert_eq!(
        report["results"]["keynote.slide_count"]["status"], "budget_exceeded",
        "{report}"
    );
}

#[test]
fn facts_of_real_documents_of_2009_are_found() {
    let Some(shared) = shared() else { return };
    // Counted in the files' own XML with another reader.
    let documents = [
        ("tika-testbulletpoints.key", 2, 0),
        ("tika-testmasterslidetable.key", 1, 0),
        ("tika-testtables.key", 1, 1),
    ];
    let mut engine = Engine::start(&["-l", "d", "-t", "@all", "-T", "60000"]);
    for (name, slides, tables) in documents {
        let path = shared.join("corpus/key").join(name);
        let report = engine.ask(&json!({ "path": path }));
        assert_values(
            &report,
            &[
                ("keynote.slide_count", json!(slides)),
                ("keynote.master_slide_count", json!(14)),
                ("keynote.table_count", json!(tables)),
                (
                    "keynote.slide_size",
                    json!({"width_pt": 1024.0, "height_pt": 768.0}),
                ),
                ("document.title", json!(null)),
            ],
        );
        assert!(value(&report, "document.application_version").is_some());
    }
}
