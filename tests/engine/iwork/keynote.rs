//! Keynote: the slide tree decides, not the components.

use serde_json::json;

use super::build::{message, node, presentation, reference};
use super::{assert_unknown, assert_values, deep};
use crate::harness::{Engine, value};

#[test]
fn slides_are_counted_in_the_slide_tree() {
    let report = deep("a.key", &presentation().build());
    assert_eq!(report["status"], "ok", "{report}");
    assert_values(
        &report,
        &[
            // W-30: four slide components, of which one is an orphan; five slide nodes, of which one is
            // the orphan's and one a master's.
            ("keynote.slide_count", json!(3)),
            ("keynote.hidden_slide_count", json!(1)),
            ("keynote.slides_with_builds_count", json!(1)),
            ("keynote.slides_with_transitions_count", json!(1)),
            ("keynote.slides_with_notes_count", json!(1)),
            ("keynote.master_slide_count", json!(1)),
            ("keynote.table_count", json!(1)),
            ("keynote.table_component_count", json!(1)),
            (
                "keynote.slide_size",
                json!({"width_pt": 1024.0, "height_pt": 768.0}),
            ),
            (
                "keynote.aspect_ratio",
                json!({"width": 1024.0, "height": 768.0, "decimal": 1024.0 / 768.0}),
            ),
            ("keynote.orientation", json!("landscape")),
            ("document.application", json!("Apple Keynote")),
            ("iwork.document_kind", json!("keynote")),
        ],
    );
}

#[test]
fn metadata_knows_the_slides_without_decoding_more_than_the_document() {
    let package = presentation().with("Index/Slide-22.iwa", b"\x09 no chunk");
    let report =
        Engine::start(&["-t", "slide_count,master_slide_count"]).probe("a.key", &package.build());
    assert_values(&report, &[("keynote.slide_count", json!(3))]);
    assert_eq!(
        report["results"]["keynote.slide_count"]["confidence"],
        "exact"
    );
}

#[test]
fn older_documents_hang_their_slides_on_a_root_node() {
    let show = message().message(3, &message().message(1, &reference(10)));
    let objects = [
        (1, 1, message().message(2, &reference(2)).bytes(3, "")),
        (2, 2, show),
        (10, 4, message().references(1, &[11, 12])),
        node(11, 21, &[], &[13]),
        node(12, 22, &[4], &[]),
        node(13, 23, &[4], &[]),
    ];
    let report = deep(
        "a.key",
        &presentation().component("Document", &objects).build(),
    );
    assert_values(
        &report,
        &[
            ("keynote.slide_count", json!(3)),
            ("keynote.hidden_slide_count", json!(2)),
            // There is a show, and it has no size.
            ("keynote.slide_size", json!(null)),
            ("keynote.orientation", json!(null)),
        ],
    );
}

#[test]
fn a_tree_that_names_nodes_twice_or_in_a_circle_ends() {
    let show = message().message(3, &message().references(2, &[11, 11, 12]));
    let objects = [
        node(11, 21, &[], &[12, 11]),
        node(12, 22, &[], &[11]),
        (1, 1, message().message(2, &reference(2)).bytes(3, "")),
        (2, 2, show),
    ];
    let report = deep(
        "a.key",
        &presentation().component("Document", &objects).build(),
    );
    assert_values(&report, &[("keynote.slide_count", json!(2))]);
}

#[test]
fn nodes_may_stand_in_other_components() {
    let package = presentation();
    let objects = [
        (1, 1, message().message(2, &reference(2)).bytes(3, "")),
        (
            2,
            2,
            message().message(3, &message().references(2, &[11, 12])),
        ),
        node(11, 21, &[], &[]),
    ];
    let package = package
        .component("Document", &objects)
        .component("Show-7", &[node(12, 22, &[4], &[])]);
    for flags in [
        &["-t", "slide_count"][..],
        &["-l", "d", "-t", "slide_count,hidden_slide_count"],
    ] {
        let report = Engine::start(flags).probe("a.key", &package.build());
        assert_values(&report, &[("keynote.slide_count", json!(2))]);
    }
}

#[test]
fn without_a_tree_the_components_are_an_estimate() {
    let objects = [(1, 1, message().message(2, &reference(2)).bytes(3, ""))];
    let report = deep(
        "a.key",
        &presentation().component("Document", &objects).build(),
    );
    let count = &report["results"]["keynote.slide_count"];
    assert_eq!(
        (&count["status"], &count["value"]),
        (&json!("estimated"), &json!(4))
    );
    assert_eq!(count["confidence"], "medium");
    assert_unknown(
        &report,
        &["keynote.hidden_slide_count", "keynote.slide_size"],
    );
}

#[test]
fn a_size_that_is_none_is_null() {
    for (width, height) in [
        (0.0, 768.0),
        (f32::NAN, 768.0),
        (-1.0, 768.0),
        (f32::INFINITY, 768.0),
    ] {
        let size = message().float(1, width).float(2, height);
        let objects = [
            (1, 1, message().message(2, &reference(2)).bytes(3, "")),
            (2, 2, message().message(3, &message()).message(4, &size)),
        ];
        let report = deep(
            "a.key",
            &presentation().component("Document", &objects).build(),
        );
        for target in [
            "keynote.slide_size",
            "keynote.aspect_ratio",
            "keynote.orientation",
        ] {
            assert_eq!(
                value(&report, target),
                Some(&json!(null)),
                "{width} {target}"
            );
        }
    }
}
