//! The package round the document: its forms, its properties, its pictures.

use serde_json::{Value, json};

use super::build::{Package, component, message, presentation, properties, spreadsheet, text};
use super::{assert_unknown, assert_values, deep};
use crate::harness::{Engine, value};
use crate::support::zip::Packing;

const JPEG: &[u8] = b"\xFF\xD8\xFF\xE0\0\x04ab\xFF\xC0\0\x11\x08\x02\x28\x02\xD0\x03 and so on";
const PNG: &[u8] = b"\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR\0\0\0\x40\0\0\0\x30\x08\x06";

fn error(report: &Value) -> (&str, &str) {
    let text = |key: &str| {
        report["error"][key]
            .as_str()
            .unwrap_or_else(|| panic!("{report}"))
    };
    (text("code"), text("message"))
}

/// The results of a report without where they came from.
fn facts(report: &Value) -> Vec<(String, Value)> {
    let results = report["results"].as_object().unwrap();
    results
        .iter()
        .filter(|(target, _)| {
            !matches!(
                target.as_str(),
                "document.file_size" | "iwork.package_entry_count"
            )
        })
        .map(|(target, result)| (target.clone(), json!([result["status"], result["value"]])))
        .collect()
}

#[test]
fn a_nested_index_is_as_good_as_a_folder() {
    //
    for (name, package) in [
        ("a.key", presentation()),
        ("a.numbers", spreadsheet()),
        ("a.pages", text("abc")),
    ] {
        let flat = facts(&deep(name, &package.build()));
        assert_eq!(facts(&deep(name, &package.build_deflated())), flat);
        for packing in [Packing::Stored, Packing::Deflate] {
            for keep_folder in [true, false] {
                let nested = deep(name, &package.build_nested(packing, keep_folder));
                assert_eq!(facts(&nested), flat, "{packing:?} {keep_folder}");
            }
        }
    }
}

#[test]
fn a_directory_package_that_was_compressed_is_read() {
    // one folder in the archive, and what the Finder adds beside it.
    for (name, package) in [
        ("a.key", presentation()),
        ("a.numbers", spreadsheet()),
        ("a.pages", text("abc").with("preview.png", PNG)),
    ] {
        let flat = deep(name, &package.build());
        let folder = deep(name, &package.build_in_folder("Mein Dokument"));
        assert_eq!(facts(&folder), facts(&flat));
        for target in ["iwork.package_entry_count", "iwork.preview_dimensions"] {
            assert_eq!(value(&folder, target), value(&flat, target), "{name}");
        }
    }
    let legacy = Package::new().with("index.apxl", "<xml/>");
    let report = Engine::start(&[]).probe("a.key", &legacy.build_in_folder("old"));
    assert_eq!(error(&report).0, "UNSUPPORTED_FORMAT");
}

#[test]
fn a_nested_index_that_is_damaged_leaves_the_rest() {
    let package = spreadsheet()
        .with("Index.zip", [7; 512])
        .with("preview.jpg", JPEG);
    let names: Vec<_> = package.parts.iter().map(|(name, _)| name.clone()).collect();
    let package = names
        .iter()
        .filter(|name| name.starts_with("Index/"))
        .fold(package, |package, name| package.without(name));
    let report = deep("a.numbers", &package.build());
    assert_values(
        &report,
        &[
            ("security.encrypted", json!(false)),
            ("quality.corrupted", json!(true)),
            ("iwork.all_iwa_valid", json!(false)),
            ("iwork.iwa_entry_count", json!(0)),
            ("iwork.package_entry_count", json!(5)),
            ("iwork.file_format_version", json!("14.1.1")),
            ("iwork.preview_count", json!(1)),
        ],
    );
    assert_unknown(
        &report,
        &[
            "numbers.sheet_count",
            "numbers.table_count",
            "iwork.archive_object_count",
        ],
    );
    assert_eq!(
        report["results"]["iwork.document_kind"]["confidence"],
        "medium"
    );
}

#[test]
fn a_directory_package_is_refused_with_what_to_do() {
    //
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("Budget.numbers");
    std::fs::create_dir(&path).unwrap();
    let report = Engine::start(&[]).ask(&json!({ "path": path }));
    let (code, text) = error(&report);
    assert_eq!(code, "INVALID_REQUEST");
    assert!(
        text.contains("not a regular file") && text.contains("directory package"),
        "{text}"
    );
    assert!(text.contains("compress"), "{text}");
    let other = folder.path().join("folder.pdf");
    std::fs::create_dir(&other).unwrap();
    let report = Engine::start(&[]).ask(&json!({ "path": other }));
    assert!(!error(&report).1.contains("package"), "{report}");
}

#[test]
fn a_password_is_told_not_taken_for_damage() {
    // an encrypted component looks like noise.
    let noise: Vec<u8> = (0..4000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8 | 2)
        .collect();
    for (name, package) in [
        ("a.key", presentation()),
        ("a.numbers", spreadsheet()),
        ("a.pages", text("abc")),
    ] {
        let mut package = package.with(".iwpv2", [2; 104]).with(".iwph", "the hint");
        for (part, content) in &mut package.parts {
            if part.ends_with(".iwa") {
                content.clone_from(&noise);
            }
        }
        for level in ["h", "m", "d"] {
            let flags = ["-l", level, "-t", "@all"];
            let report = Engine::start(&flags).probe(name, &package.build());
            assert_values(&report, &[("security.encrypted", json!(true))]);
            if level != "h" {
                assert_values(
                    &report,
                    &[
                        ("security.password_protected", json!(true)),
                        ("iwork.file_format_version", json!("14.1.1")),
                    ],
                );
            }
        }
        let report = deep(name, &package.build());
        let unknown = [
            "quality.corrupted",
            "iwork.all_iwa_valid",
            "iwork.object_type_counts",
        ];
        assert_unknown(&report, &unknown);
    }
}

#[test]
fn a_readable_document_is_not_encrypted_whatever_lies_beside_it() {
    let report = deep("a.pages", &text("abc").with(".iwph", "left over").build());
    assert_values(
        &report,
        &[
            ("security.encrypted", json!(false)),
            ("security.password_protected", json!(false)),
            ("pages.body_text_length", json!(3)),
        ],
    );
}

#[test]
fn packages_of_the_time_before_are_unsupported_and_others_malformed() {
    for (part, code) in [
        ("index.apxl", "UNSUPPORTED_FORMAT"),
        ("index.xml", "UNSUPPORTED_FORMAT"),
        ("index.apxl.gz", "UNSUPPORTED_FORMAT"),
        ("word/document.xml", "MALFORMED_INPUT"),
    ] {
        let bytes = Package::new().with(part, "<xml/>").build();
        for level in ["h", "d"] {
            let report = Engine::start(&["-l", level]).probe("a.key", &bytes);
            assert_eq!(error(&report).0, code, "{part}");
        }
    }
}

#[test]
fn the_root_object_decides_what_a_document_is() {
    let documents = [
        ("key", presentation()),
        ("numbers", spreadsheet()),
        ("pages", text("x")),
    ];
    for (extension, package) in &documents {
        for (own, _) in &documents {
            let report =
                Engine::start(&["-t", "@header"]).probe(&format!("a.{own}"), &package.build());
            if own == extension {
                assert_values(&report, &[("document.format_profile", json!(own))]);
                assert_eq!(
                    report["results"]["iwork.document_kind"]["confidence"],
                    "exact"
                );
            } else {
                assert_values(
                    &report,
                    &[
                        ("document.format_profile", json!(extension)),
                        ("document.extension_matches", json!(false)),
                    ],
                );
                let title = probe_title(own, &package.build());
                assert_eq!(error(&title).0, "MALFORMED_INPUT", "{own} {extension}");
            }
        }
    }
}

/// Facts under the name of another application.
fn probe_title(extension: &str, bytes: &[u8]) -> Value {
    Engine::start(&["-t", "document.application"]).probe(&format!("a.{extension}"), bytes)
}

#[test]
fn properties_are_null_where_the_document_is_silent() {
    let package = text("x")
        .with(
            "Metadata/Properties.plist",
            properties(&[("language", "de"), ("isMultiPage", "a text")]),
        )
        .with(
            "Metadata/BuildVersionHistory.plist",
            "<plist><array><string>Template: Blank</string></array></plist>",
        );
    let report = deep("a.pages", &package.build());
    assert_values(
        &report,
        &[
            ("document.language", json!("de")),
            ("document.locale", json!(null)),
            ("iwork.file_format_version", json!(null)),
            ("iwork.is_multi_page", json!(null)),
            ("iwork.has_external_or_missing_data", json!(null)),
            ("iwork.producer_build", json!(null)),
            ("document.application_version", json!(null)),
            ("quality.corrupted", json!(false)),
        ],
    );
    assert_eq!(report["status"], "ok");
}

#[test]
fn what_was_said_of_missing_data_in_two_keys_is_one_fact() {
    let one = "hasExternalReferenceOrMissingOrUnmaterializedRemoteData";
    let two = [
        "hasExternalReferenceOrMissingData",
        "hasUnmaterializedRemoteData",
    ];
    for (entries, expected) in [
        (vec![(one, "true")], true),
        (vec![(two[0], "false"), (two[1], "true")], true),
        (vec![(two[0], "false"), (two[1], "false")], false),
        (vec![(one, "false"), (two[0], "true")], false),
    ] {
        let package = text("x").with("Metadata/Properties.plist", properties(&entries));
        let report = deep("a.pages", &package.build());
        assert_values(
            &report,
            &[("iwork.has_external_or_missing_data", json!(expected))],
        );
    }
}

#[test]
fn the_build_is_the_last_one_that_is_no_template() {
    let report = deep("a.numbers", &spreadsheet().build());
    assert_values(
        &report,
        &[
            ("iwork.producer_build", json!("M14.1-7040.0.73-4")),
            ("document.application_version", json!("M14.1-7040.0.73-4")),
        ],
    );
}

#[test]
fn properties_that_cannot_be_read_are_unknown_and_damage() {
    for content in [None, Some("no property list")] {
        let package = text("x");
        let package = match content {
            Some(content) => package.with("Metadata/Properties.plist", content),
            None => package.without("Metadata/Properties.plist"),
        };
        let report = deep("a.pages", &package.build());
        assert_unknown(&report, &["iwork.file_format_version", "document.language"]);
        assert_values(
            &report,
            &[
                ("quality.corrupted", json!(true)),
                ("iwork.all_iwa_valid", json!(true)),
                ("iwork.producer_build", json!("M14.1-7040.0.73-4")),
                ("pages.body_text_length", json!(1)),
            ],
        );
    }
}

#[test]
fn pictures_and_assets_are_counted_and_measured() {
    let package = text("x")
        .with("preview.jpg", JPEG)
        .with("Preview-Web.jpg", PNG)
        .with("preview-micro.jpg", "no picture")
        .with("sub/preview.jpg", JPEG)
        .with("Data/", "")
        .with("Data/one.HEIC", [0; 10])
        .with("Data/two.mov", [0; 20])
        .with("Data/folder/three.ttf", [0; 30])
        .with("Data/four", [0; 40])
        .with("Data/five.m4a", [0; 50]);
    let report = deep("a.pages", &package.build());
    assert_values(
        &report,
        &[
            ("iwork.preview_count", json!(3)),
            ("iwork.has_preview", json!(true)),
            (
                "iwork.preview_dimensions",
                json!({
                    "preview.jpg": {"width": 720, "height": 552},
                    "Preview-Web.jpg": {"width": 64, "height": 48},
                    "preview-micro.jpg": null
                }),
            ),
            ("iwork.data_asset_count", json!(5)),
            ("iwork.data_asset_bytes", json!(150)),
            (
                "iwork.asset_type_counts",
                json!({"audio": 1, "font": 1, "image": 1, "other": 1, "video": 1}),
            ),
            ("iwork.iwa_entry_count", json!(4)),
            ("iwork.package_entry_count", json!(17)),
        ],
    );
    let report = deep("a.pages", &text("x").build());
    assert_values(
        &report,
        &[
            ("iwork.has_preview", json!(false)),
            ("iwork.preview_dimensions", json!({})),
        ],
    );
}

#[test]
fn an_asset_that_is_named_and_not_there_is_missing() {
    let data = |name: &str| {
        message()
            .number(1, 9)
            .bytes(3, "picture.png")
            .bytes(4, name)
    };
    // The last comes with the application and has no file.
    let list = message()
        .message(4, &data("picture-9.png"))
        .message(4, &data("").bytes(5, "theme/picture"));
    let package = text("x").component("Metadata", &[(2, 11_006, list)]);
    let whole = package.clone().with("Data/picture-9.png", PNG);
    for (package, expected) in [(&whole, false), (&package, true)] {
        for bytes in [package.build(), package.build_in_folder("x")] {
            let report = deep("a.pages", &bytes);
            assert_values(&report, &[("quality.missing_assets", json!(expected))]);
        }
    }
    assert_unknown(
        &deep("a.pages", &text("x").without("Index/Metadata.iwa").build()),
        &["quality.missing_assets"],
    );
}

#[test]
fn a_large_document_costs_its_beginning_at_header() {
    // M-6: more than the whole expansion budget of header and metadata lies behind the root object.
    let mut objects = vec![(1, 10_000, message().bytes(15, ""))];
    for id in 0..120 {
        objects.push((100 + id, 999, message().bytes(1, vec![id as u8; 100_000])));
    }
    let large = component(&objects);
    let package = text("x").with("Index/Document.iwa", &large);
    for bytes in [
        package.build(),
        package.build_deflated(),
        package.build_nested(Packing::Stored, true),
    ] {
        for (level, selector) in [("h", "@header"), ("m", "@default")] {
            let report = Engine::start(&["-l", level, "-t", selector]).probe("a.pages", &bytes);
            assert_eq!(report["status"], "ok", "{report}");
            let cost = &report["execution"]["actual_cost"];
            assert!(cost["expanded_bytes"].as_u64().unwrap() < 300_000, "{cost}");
            assert!(
                cost["physical_bytes_read"].as_u64().unwrap() < 100_000,
                "{cost}"
            );
        }
    }
    // Deep decodes it all, and says so.
    let report = deep("a.pages", &package.build());
    let cost = report["execution"]["actual_cost"]["expanded_bytes"]
        .as_u64()
        .unwrap();
    assert!(cost > 12_000_000, "{cost}");
    assert_eq!(
        value(&report, "iwork.archive_object_count"),
        Some(&json!(121 + 3))
    );
}

/// The part of a root object that all three applications share.
fn shared(locale: &str, language: Option<&str>, template: Option<&str>) -> super::build::Message {
    let mut shared = message().message(1, &message().bytes(4, locale));
    for (field, value) in [(3, language), (9, template)] {
        if let Some(value) = value {
            shared = shared.bytes(field, value);
        }
    }
    shared
}

#[test]
fn locale_language_and_template_are_those_of_the_root_object() {
    let shared = shared(
        "en_US@rg=dezzzz",
        Some("de-DE"),
        Some("Application/Blank/Traditional"),
    );
    let reference = super::build::reference;
    let cases = [
        (
            "a.key",
            presentation(),
            (
                1,
                1,
                message().message(2, &reference(2)).message(3, &shared),
            ),
        ),
        (
            "a.numbers",
            spreadsheet(),
            (1, 1, message().references(1, &[30]).message(8, &shared)),
        ),
        (
            "a.pages",
            text("x"),
            (1, 10_000, message().message(15, &shared)),
        ),
    ];
    for (name, package, root) in cases {
        let package = package.component("Document", &[root]).with(
            "Metadata/Properties.plist",
            properties(&[("locale", "fr_FR")]),
        );
        let report = Engine::start(&["-t", "locale,language,document.template"])
            .probe(name, &package.build());
        assert_eq!(report["status"], "ok", "{report}");
        assert_values(
            &report,
            &[
                ("document.locale", json!("en_US@rg=dezzzz")),
                ("document.language", json!("de-DE")),
                ("document.template", json!("Application/Blank/Traditional")),
            ],
        );
        assert_eq!(
            report["results"]["document.locale"]["source"],
            "root object"
        );
    }
}

#[test]
fn a_locale_alone_also_gives_the_language() {
    let root = message().message(15, &shared("zh_Hans_CN", None, None));
    let package = text("x").component("Document", &[(1, 10_000, root)]);
    assert_values(
        &deep("a.pages", &package.build()),
        &[
            ("document.locale", json!("zh_Hans_CN")),
            ("document.language", json!("zh-Hans")),
            ("document.template", json!(null)),
        ],
    );
}

#[test]
fn a_package_without_a_metadata_folder_is_not_damaged() {
    let mut package = spreadsheet();
    package
        .parts
        .retain(|(name, _)| !name.starts_with("Metadata/"));
    for bytes in [package.build(), package.build_in_folder("budget.numbers")] {
        let report = deep("a.numbers", &bytes);
        assert_values(
            &report,
            &[
                ("quality.corrupted", json!(false)),
                ("numbers.table_count", json!(2)),
                ("document.locale", json!(null)),
            ],
        );
        assert_unknown(
            &report,
            &["iwork.file_format_version", "iwork.producer_build"],
        );
    }
}
