//! PowerPoint presentations.

use serde_json::json;

use super::build::{Package, RELATIONSHIP_NS, SLIDE_NS, relationships_xml};
use super::{assert_values, deep, probe};

/// A deck of slides, each hidden or not, in one section.
fn deck(extension: &str, hidden: &[bool]) -> Package {
    let ids: String = (1..=hidden.len())
        .map(|n| format!("<p:sldId id='{}' r:id='rId{n}'/>", 255 + n))
        .collect();
    let section: String = (1..=hidden.len())
        .map(|n| format!("<p14:sldId id='{}'/>", 255 + n))
        .collect();
    let mut package = Package::new(extension).main(format!(
        "<p:presentation xmlns:p='{SLIDE_NS}' xmlns:r='{RELATIONSHIP_NS}' xmlns:p14='urn:p14'>\
         <p:sldIdLst>{ids}</p:sldIdLst><p:sldSz cx='12192000' cy='6858000'/><p:extLst>\
         <p14:sectionLst><p14:section><p14:sldIdLst>{section}</p14:sldIdLst></p14:section>\
         </p14:sectionLst></p:extLst></p:presentation>"
    ));
    let mut relationships = Vec::new();
    for (index, hidden) in hidden.iter().enumerate() {
        let name = format!("ppt/slides/slide{}.xml", index + 1);
        let show = if *hidden { " show='0'" } else { "" };
        let content = format!(
            "<p:sld xmlns:p='{SLIDE_NS}'{show}><p:cSld>{}</p:cSld></p:sld>",
            "<p:sp show='0'/>".repeat(500)
        );
        package = package.typed(&name, "presentationml.slide+xml", content);
        relationships.push(("slide".to_owned(), format!("slides/slide{}.xml", index + 1)));
    }
    let relationships: Vec<_> = relationships
        .iter()
        .map(|(kind, target)| (kind.as_str(), target.as_str(), false))
        .collect();
    package.part(
        "ppt/_rels/presentation.xml.rels",
        relationships_xml(&relationships),
    )
}

#[test]
fn slides_are_counted_once_and_hidden_ones_found() {
    // W-1 and W-2.
    for extension in ["pptx", "pptm", "ppsx", "ppsm", "potx", "potm"] {
        let package = deck(extension, &[false, true, false, true]);
        let report = deep(&format!("a.{extension}"), &package.build());
        let kind = match &extension[..3] {
            "pps" => "show",
            "pot" => "template",
            _ => "presentation",
        };
        assert_values(
            &report,
            &[
                ("powerpoint.slide_count", json!(4)),
                ("powerpoint.hidden_slide_count", json!(2)),
                ("powerpoint.presentation_kind", json!(kind)),
                ("powerpoint.orientation", json!("landscape")),
                (
                    "powerpoint.slide_size",
                    json!({"height_emu": 6_858_000, "height_pt": 540.0, "width_emu": 12_192_000, "width_pt": 960.0}),
                ),
                (
                    "powerpoint.aspect_ratio",
                    json!({"decimal": 16.0 / 9.0, "height": 9, "width": 16}),
                ),
            ],
        );
    }
}

#[test]
fn a_slide_that_is_in_no_list_is_not_shown_and_not_hidden() {
    let orphan = format!("<p:sld xmlns:p='{SLIDE_NS}' show='0'/>");
    let package = deck("pptx", &[false, true]).typed(
        "ppt/slides/slide9.xml",
        "presentationml.slide+xml",
        orphan,
    );
    let report = deep("a.pptx", &package.build());
    assert_values(
        &report,
        &[
            ("powerpoint.slide_count", json!(2)),
            ("powerpoint.hidden_slide_count", json!(1)),
        ],
    );
}

#[test]
fn a_slide_that_is_listed_often_is_found_and_read_once() {
    let list = |ids: &str| {
        format!(
            "<p:presentation xmlns:p='{SLIDE_NS}' xmlns:r='{RELATIONSHIP_NS}'>\
             <p:sldIdLst>{ids}</p:sldIdLst></p:presentation>"
        )
    };
    // Twice the first of two parts is not each of them once.
    let twice = deck("pptx", &[true, false]).main(list(&"<p:sldId r:id='rId1'/>".repeat(2)));
    let often = deck("pptx", &[true]).main(list(&"<p:sldId r:id='rId1'/>".repeat(50_000)));
    for (package, count) in [(twice, 2), (often, 50_000)] {
        let report = deep("a.pptx", &package.build());
        assert_values(
            &report,
            &[
                ("powerpoint.slide_count", json!(count)),
                ("powerpoint.hidden_slide_count", json!(count)),
            ],
        );
        let expanded = &report["execution"]["actual_cost"]["expanded_bytes"];
        assert!(expanded.as_u64().unwrap() < 3_000_000, "{expanded}");
    }
}

#[test]
fn lists_may_stand_in_alternative_contents() {
    let branch = "<p:sldIdLst><p:sldId r:id='rId1'/></p:sldIdLst><p:sldSz cx='1' cy='2'/>";
    let package = deck("pptx", &[true]).main(format!(
        "<p:presentation xmlns:p='{SLIDE_NS}' xmlns:r='{RELATIONSHIP_NS}' \
         xmlns:mc='http://schemas.openxmlformats.org/markup-compatibility/2006'>\
         <mc:AlternateContent><mc:Choice Requires='p14'>{branch}</mc:Choice>\
         <mc:Fallback>{branch}</mc:Fallback></mc:AlternateContent></p:presentation>"
    ));
    assert_values(
        &deep("a.pptx", &package.build()),
        &[
            ("powerpoint.slide_count", json!(1)),
            ("powerpoint.hidden_slide_count", json!(1)),
            ("powerpoint.orientation", json!("portrait")),
        ],
    );
}

#[test]
fn a_slide_that_cannot_be_read_leaves_the_number_of_hidden_ones_open() {
    let package = deck("pptx", &[false, true]);
    let bytes = package.build_with("ppt/slides/slide2.xml", |part| part.flags(1));
    let report = deep("a.pptx", &bytes);
    assert_values(
        &report,
        &[
            ("powerpoint.slide_count", json!(2)),
            ("powerpoint.hidden_slide_count", json!(null)),
        ],
    );
}

#[test]
fn slides_in_utf_16_are_read_too() {
    let bytes = deck("pptx", &[true]).build_with("ppt/slides/slide1.xml", |mut part| {
        let text = String::from_utf8(part.content).unwrap();
        part.content = format!("\u{feff}{text}")
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        part
    });
    let report = deep("a.pptx", &bytes);
    assert_values(&report, &[("powerpoint.hidden_slide_count", json!(1))]);
}

#[test]
fn the_slide_list_is_asked_before_the_saved_number() {
    // W-3.
    let package = deck("pptx", &[false, false]).app("<Slides>0</Slides>");
    let bytes = package.build();
    let report = probe(&["-t", "slide_count"], "a.pptx", &bytes);
    assert_values(&report, &[("powerpoint.slide_count", json!(2))]);
    let flags = ["-t", "slide_count", "-O", "slide_count_path=app-properties"];
    let report = probe(&flags, "a.pptx", &bytes);
    assert_values(&report, &[("powerpoint.slide_count", json!(0))]);
}

#[test]
fn a_slide_without_extent_has_no_size() {
    // W-31.
    for size in ["<p:sldSz cx='0' cy='0'/>", "<p:sldSz cx='5' cy='x'/>", ""] {
        let package = Package::new("pptx").main(format!(
            "<p:presentation xmlns:p='{SLIDE_NS}'><p:sldIdLst/>{size}</p:presentation>"
        ));
        assert_values(
            &deep("a.pptx", &package.build()),
            &[
                ("powerpoint.slide_size", json!(null)),
                ("powerpoint.aspect_ratio", json!(null)),
                ("powerpoint.orientation", json!(null)),
                ("powerpoint.slide_count", json!(0)),
            ],
        );
    }
}

#[test]
fn parts_are_counted_by_what_they_are_not_by_their_names() {
    // W-22.
    let package = Package::new("pptx")
        .typed(
            "ppt/SlideMasters/m.xml",
            "presentationml.slideMaster+xml",
            "",
        )
        .typed(
            "ppt/slideLayouts/l.xml",
            "presentationml.slideLayout+xml",
            "",
        )
        .typed(
            "ppt/slideLayouts/k.xml",
            "presentationml.slideLayout+xml",
            "",
        )
        .typed("ppt/notes/n.xml", "presentationml.notesSlide+xml", "")
        .typed("ppt/comments/c.xml", "presentationml.comments+xml", "")
        .typed(
            "ppt/comments/d.xml",
            "application/vnd.ms-powerpoint.comments+xml",
            "",
        )
        .typed(
            "ppt/commentAuthors.xml",
            "presentationml.commentAuthors+xml",
            "",
        )
        .typed("ppt/charts/chart1.xml", "drawingml.chart+xml", "")
        .part("ppt/media/a.png", "")
        .part("ppt/media/b.mp4", "");
    assert_values(
        &deep("a.pptx", &package.build()),
        &[
            ("powerpoint.master_count", json!(1)),
            ("powerpoint.layout_count", json!(2)),
            ("powerpoint.notes_slide_count", json!(1)),
            ("powerpoint.comment_part_count", json!(2)),
            ("powerpoint.chart_part_count", json!(1)),
            ("powerpoint.unique_image_asset_count", json!(1)),
            ("powerpoint.unique_media_asset_count", json!(1)),
        ],
    );
}
