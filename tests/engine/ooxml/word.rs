//! Word documents.

use serde_json::json;

use super::build::{Package, WORD_NS};
use super::{assert_values, deep};

#[test]
fn paragraphs_and_tables_of_the_text_are_counted() {
    // W-20.
    let body = "<w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl><a:p xmlns:a='urn:drawing'/>\
        <mc:AlternateContent xmlns:mc='http://schemas.openxmlformats.org/markup-compatibility/2006'>\
        <mc:Choice Requires='wps'><w:p/></mc:Choice><mc:Fallback><w:p/><w:p/></mc:Fallback>\
        </mc:AlternateContent><w:p><w:r><w:t>&lt;w:p/&gt;</w:t></w:r></w:p>";
    let document = |body: &str| {
        Package::new("docx")
            .app("<Paragraphs>99</Paragraphs>")
            .main(format!(
                "<w:document xmlns:w='{WORD_NS}'><w:body>{body}</w:body></w:document>"
            ))
            .build()
    };
    let report = deep("a.docx", &document(body));
    assert_values(
        &report,
        &[
            ("word.paragraph_count", json!(3)),
            ("word.table_count", json!(1)),
        ],
    );
    assert_eq!(report["results"]["word.table_count"]["confidence"], "exact");
    // An error does not pass for a count; what was saved beside the text still answers.
    let report = deep("a.docx", &document("<w:p/><w:p>"));
    assert_values(
        &report,
        &[
            ("word.table_count", json!(null)),
            ("word.paragraph_count", json!(99)),
        ],
    );
    assert_eq!(
        report["results"]["word.paragraph_count"]["confidence"],
        "high"
    );
}

#[test]
fn one_comment_is_one_comment_part() {
    // W-22: current Word writes up to four parts for it.
    let extended =
        "application/vnd.openxmlformats-officedocument.wordprocessingml.commentsExtended+xml";
    let package = Package::new("docx")
        .typed("word/comments.xml", "wordprocessingml.comments+xml", "")
        .typed("word/commentsExtended.xml", extended, "")
        .part("word/commentsIds.xml", "")
        .part("word/media/a.png", "")
        .part("media/b.PNG", "");
    assert_values(
        &deep("a.docx", &package.build()),
        &[
            ("word.comment_part_count", json!(1)),
            ("word.unique_image_asset_count", json!(2)),
            ("word.is_template", json!(false)),
        ],
    );
}

#[test]
fn the_thumbnail_is_no_image_of_the_document() {
    let mut package = Package::new("dotx")
        .part("docProps/thumbnail.png", "")
        .part("word/media/a.png", "");
    package.root.push((
        "http://schemas.openxmlformats.org/package/2006/relationships/metadata/thumbnail".into(),
        "docProps/thumbnail.png".into(),
    ));
    assert_values(
        &deep("a.dotx", &package.build()),
        &[
            ("word.unique_image_asset_count", json!(1)),
            ("word.is_template", json!(true)),
        ],
    );
}
