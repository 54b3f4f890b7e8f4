//! Damaged and hostile packages: what is readable is reported, and nothing costs more than it may.

use serde_json::{Value, json};

use super::build::{chunks, message, plain, presentation, reference, spreadsheet, table, text};
use super::{assert_unknown, assert_values, deep};
use crate::harness::{Engine, value};

/// A component that is cut in the middle of a chunk.
const CUT: &[u8] = b"\x00\xFF\x00\x00 and no more";

#[test]
fn one_bad_component_is_told_and_the_rest_reported() {
    // anywhere in the package, and in any folder.
    for name in [
        "Index/Tables/Tile-51.iwa",
        "Index/ViewState.iwa",
        "elsewhere/x.IWA",
    ] {
        let report = deep("a.numbers", &spreadsheet().with(name, CUT).build());
        assert_values(
            &report,
            &[
                ("quality.corrupted", json!(true)),
                ("iwork.all_iwa_valid", json!(false)),
                ("numbers.sheet_names", json!(["Übersicht", "Zahlen"])),
                ("iwork.file_format_version", json!("14.1.1")),
            ],
        );
        assert_unknown(
            &report,
            &[
                "iwork.archive_object_count",
                "iwork.message_type_counts",
                "iwork.object_type_counts",
            ],
        );
    }
}

#[test]
fn damage_makes_unknown_what_may_be_lost_and_nothing_else() {
    let tile = deep(
        "a.numbers",
        &spreadsheet().with("Index/Tables/Tile.iwa", CUT).build(),
    );
    assert_values(&tile, &[("numbers.table_count", json!(2))]);
    assert_unknown(&tile, &["numbers.formula_definition_count"]);

    let engine = spreadsheet().with("Index/CalculationEngine.iwa", CUT);
    assert_unknown(
        &deep("a.numbers", &engine.build()),
        &[
            "numbers.table_count",
            "numbers.table_dimensions",
            "numbers.hidden_row_count",
        ],
    );

    let styles = deep(
        "a.pages",
        &text("abc")
            .with("Index/DocumentStylesheet.iwa", CUT)
            .build(),
    );
    assert_values(
        &styles,
        &[
            ("pages.body_text_length", json!(3)),
            ("pages.section_count", json!(2)),
            ("pages.cached_page_count", json!(7)),
            ("quality.corrupted", json!(true)),
        ],
    );

    let view = deep(
        "a.pages",
        &text("abc").with("Index/ViewState.iwa", CUT).build(),
    );
    assert_unknown(&view, &["pages.cached_page_count"]);
    assert_values(&view, &[("pages.section_count", json!(2))]);
}

#[test]
fn a_document_component_that_breaks_off_says_what_it_said() {
    let size = message().float(1, 800.0).float(2, 600.0);
    let mut bytes = chunks(&plain(&[
        (1, 1, message().message(2, &reference(2)).bytes(3, "")),
        (
            2,
            2,
            message()
                .message(3, &message().references(2, &[11]))
                .message(4, &size),
        ),
    ]));
    bytes.extend(CUT);
    let package = presentation().with("Index/Document.iwa", bytes);
    let report = deep("a.key", &package.build());
    assert_values(
        &report,
        &[
            ("iwork.document_kind", json!("keynote")),
            (
                "keynote.slide_size",
                json!({"width_pt": 800.0, "height_pt": 600.0}),
            ),
            ("quality.corrupted", json!(true)),
        ],
    );
    assert_eq!(
        report["results"]["keynote.slide_count"]["status"],
        "estimated"
    );
    assert_unknown(
        &report,
        &["keynote.hidden_slide_count", "keynote.table_count"],
    );
}

#[test]
fn a_root_that_cannot_be_read_leaves_the_package() {
    let report = deep(
        "a.numbers",
        &spreadsheet().with("Index/Document.iwa", CUT).build(),
    );
    assert_values(
        &report,
        &[
            ("security.encrypted", json!(false)),
            ("document.application", json!("Apple Numbers")),
            ("iwork.iwa_entry_count", json!(7)),
            ("quality.corrupted", json!(true)),
        ],
    );
    let kind = &report["results"]["iwork.document_kind"];
    assert_eq!(
        (&kind["value"], &kind["status"]),
        (&json!("numbers"), &json!("estimated"))
    );
    // Slides are Keynote's alone.
    let slides = presentation().with("Index/Document.iwa", CUT);
    let report = deep("a.numbers", &slides.build());
    assert_eq!(report["error"]["code"], "MALFORMED_INPUT");
}

#[test]
fn groups_are_old_but_no_damage() {
    //
    let nested = message().raw(&[0x0B; 10_000]).raw(&[0x0C; 10_000]);
    let document = message()
        .group(
            77,
            &message().bytes(1, "old").group(3, &message().number(1, 5)),
        )
        .message(4, &reference(20))
        .bytes(15, "");
    let objects = [
        (1, 10_000, document),
        (20, 2001, message().bytes(3, "abc").group(9, &nested)),
    ];
    let report = deep("a.pages", &text("").component("Document", &objects).build());
    assert_values(
        &report,
        &[
            ("quality.corrupted", json!(false)),
            ("pages.body_text_length", json!(3)),
        ],
    );
}

#[test]
fn claims_of_size_are_not_believed() {
    let long_archive = chunks(b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01");
    let mut long_payload = plain(&[(5, 2001, message())]);
    // The last byte of the header is the length of the payload; a nine-byte varint replaces it.
    long_payload.pop();
    long_payload[0] += 8;
    long_payload[4] += 8;
    long_payload.extend(b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F");
    let block: &[u8] = b"\x00\x06\x00\x00\xFF\xFF\xFF\xFF\x0F\x00";
    for bad in [
        long_archive.as_slice(),
        &chunks(&long_payload),
        block,
        b"\x00\xFF\xFF\xFF",
    ] {
        let report = deep("a.pages", &text("abc").with("Index/X.iwa", bad).build());
        assert_values(
            &report,
            &[
                ("quality.corrupted", json!(true)),
                ("pages.body_text_length", json!(3)),
            ],
        );
        let cost = report["execution"]["actual_cost"]["expanded_bytes"]
            .as_u64()
            .unwrap();
        assert!(cost < 10_000, "{cost}");
    }
}

#[test]
fn a_bomb_ends_at_the_budget() {
    let bomb = chunks(&vec![0; 40_000_000]);
    let package = text("abc").with("Index/Slab.iwa", bomb);
    let mut engine = Engine::start(&["-l", "d", "-t", "all_iwa_valid", "-x", "1000000"]);
    let report = engine.probe("a.pages", &package.build());
    assert_eq!(report["error"]["code"], "BUDGET_EXCEEDED", "{report}");
    // What was known before the budget ended is kept, and so is the outline of the document.
    let package = spreadsheet().with("Index/Slab.iwa", chunks(&vec![0; 40_000_000]));
    let targets = "all_iwa_valid,sheet_count,preview_count";
    let mut engine = Engine::start(&["-l", "d", "-t", targets, "-x", "1000000"]);
    let report = engine.probe("a.numbers", &package.build());
    assert_values(
        &report,
        &[
            ("iwork.preview_count", json!(0)),
            ("numbers.sheet_count", json!(2)),
        ],
    );
    assert_eq!(
        report["results"]["iwork.all_iwa_valid"]["status"], "budget_exceeded",
        "{report}"
    );
}

#[test]
fn a_spent_budget_is_never_read_as_absence() {
    // M-1, M-5: whatever the budget, a target has its value or is not known because of the budget.
    let bytes = presentation().build_deflated();
    let targets = "slide_count,hidden_slide_count,file_format_version,quality.corrupted";
    let free = Engine::start(&["-l", "d", "-t", targets]).probe("a.key", &bytes);
    let cost = &free["execution"]["actual_cost"];
    for (flag, cost) in [
        ("-b", &cost["physical_bytes_read"]),
        ("-x", &cost["expanded_bytes"]),
    ] {
        let cost = cost.as_u64().unwrap();
        let mut engine = Engine::start(&[]);
        for limit in (0..=cost).step_by(61).chain([cost - 1, cost]) {
            let budget = if flag == "-b" {
                "max_physical_bytes"
            } else {
                "max_expanded_bytes"
            };
            let mut record = crate::harness::record("a.key", &bytes);
            record["options"] = json!({
                "level": "deep",
                "targets": targets.split(',').collect::<Vec<_>>(),
                "budget": { budget: limit },
            });
            let report = engine.ask(&record);
            if report["status"] == "error" {
                assert_eq!(
                    report["error"]["code"], "BUDGET_EXCEEDED",
                    "{flag} {limit} {report}"
                );
                continue;
            }
            for (target, result) in report["results"].as_object().unwrap() {
                let same = result["value"] == free["results"][target]["value"];
                let stopped = result["status"] == "budget_exceeded";
                assert!(same || stopped, "{flag} {limit} {target} {result}");
            }
            assert_eq!(report["status"] == "ok", limit == cost, "{flag} {limit}");
        }
    }
}

#[test]
fn long_values_are_left_out_of_the_reply() {
    let mut objects = vec![(1, 1, message().references(1, &[30]).bytes(8, "x"))];
    objects.push((30, 2, message().bytes(1, vec![b'x'; 3_000_000])));
    let mut tables = Vec::new();
    for n in 0..20_000 {
        tables.extend(table(100 + 2 * n, 101 + 2 * n, "T", 1, 1));
    }
    let package = spreadsheet()
        .component("Document", &objects)
        .component("CalculationEngine", &tables);
    let report = deep("a.numbers", &package.build());
    assert_values(
        &report,
        &[
            ("numbers.sheet_count", json!(1)),
            ("numbers.table_count", json!(20_000)),
        ],
    );
    for target in ["numbers.sheet_names", "numbers.table_dimensions"] {
        assert_eq!(
            report["results"][target]["status"], "budget_exceeded",
            "{target}"
        );
    }
    assert!(report.to_string().len() < 100_000);
}

#[test]
fn lists_that_no_document_has_are_damage_and_take_no_memory() {
    let many = |field: u64| message().raw(&[field as u8 * 8 + 2, 2, 8, 5].repeat(1_000_001));
    let show = message().message(3, &many(2));
    let root = message().message(2, &reference(2)).bytes(3, "");
    let key = presentation().component("Document", &[(1, 1, root), (2, 2, show)]);
    let report = deep("a.key", &key.build());
    assert_values(&report, &[("quality.corrupted", json!(true))]);
    assert_eq!(
        report["results"]["keynote.slide_count"]["status"],
        "estimated"
    );

    let data = message().raw(&[0x22, 3, 0x22, 1, b'x'].repeat(1_000_001));
    let pages = text("abc").component("Metadata", &[(3, 11_006, data)]);
    let report = deep("a.pages", &pages.build());
    assert_unknown(&report, &["quality.missing_assets"]);
    assert_values(&report, &[("pages.body_text_length", json!(3))]);

    // An archive with more messages than a document may have objects.
    let info = message().number(1, 7).raw(&[0x12, 0].repeat(1_000_001));
    let slab = chunks(&info.with_length());
    let report = deep("a.pages", &text("abc").with("Index/Slab.iwa", slab).build());
    assert_eq!(
        report["results"]["quality.corrupted"]["status"],
        "budget_exceeded"
    );
}

#[test]
fn every_beginning_and_every_flipped_byte_gets_one_reply() {
    let mut engine = Engine::start(&["-l", "d", "-t", "@all"]);
    let answers = |report: &Value| report["status"].is_string();
    let whole = text("abc").build();
    for length in (0..whole.len()).step_by(37) {
        assert!(
            answers(&engine.probe("a.pages", &whole[..length])),
            "{length}"
        );
    }
    for (name, whole) in [
        ("a.key", presentation().build()),
        ("a.numbers", spreadsheet().build_deflated()),
        ("a.pages", text("abc").build()),
    ] {
        for at in (0..whole.len()).step_by(11) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            assert!(answers(&engine.probe(name, &bytes)), "{name} {at}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn memory_holds_one_message_not_the_document() {
    // U-10: 60 MB of payloads, of which none is kept.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.pages");
    let objects: Vec<_> = (0..6)
        .map(|id| (100 + id, 2001, message().bytes(3, vec![b'x'; 1_000_000])))
        .collect();
    let slab = chunks(&plain(&objects));
    let package = (0..10).fold(text("abc"), |package, n| {
        package.with(&format!("Index/Slab-{n}.iwa"), &slab)
    });
    std::fs::write(&path, package.build()).unwrap();
    let mut engine = Engine::start(&["-l", "d", "-t", "@all", "-T", "60000"]);
    let report = engine.ask(&json!({ "path": path }));
    assert_eq!(
        value(&report, "quality.corrupted"),
        Some(&json!(false)),
        "{report}"
    );
    let cost = report["execution"]["actual_cost"]["expanded_bytes"]
        .as_u64()
        .unwrap();
    assert!(cost > 60_000_000, "{cost}");
    let status = std::fs::read_to_string(format!("/proc/{}/status", engine.pid())).unwrap();
    let peak: u64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|kilobytes| kilobytes.parse().ok())
        .unwrap();
    assert!(peak < 30_000, "peak of {peak} kB");
}

/// An LZFSE stream of all kinds of blocks: uncompressed, LZVN and LZFSE.
fn log_of_operations() -> Vec<u8> {
    let mut log = b"bvx-\x04\0\0\0\x0A\x02ab".to_vec();
    log.extend(b"bvxn\x20\0\0\0\x06\0\0\0packed");
    // 9 bytes of literals, 5 of matches, behind a header of 40 bytes.
    log.extend(b"bvx2\x64\0\0\0");
    log.extend((9_u64 << 20 | 3 << 40).to_le_bytes());
    log.extend((5_u64 << 40).to_le_bytes());
    log.extend(40_u64.to_le_bytes());
    log.extend([0; 8 + 9 + 5]);
    log.extend(b"bvx$");
    log
}

#[test]
fn a_log_of_operations_is_skipped_and_is_not_damage() {
    for name in ["Index/OperationStorage.iwa", "Index/OperationStorage-7.iwa"] {
        let report = deep(
            "a.numbers",
            &spreadsheet()
                .with(name, log_of_operations())
                .build_deflated(),
        );
        assert_eq!(report["status"], "ok", "{report}");
        assert_values(
            &report,
            &[
                ("quality.corrupted", json!(false)),
                ("iwork.all_iwa_valid", json!(true)),
                ("numbers.table_count", json!(2)),
                ("numbers.sheet_count", json!(2)),
            ],
        );
    }
}

#[test]
fn a_cut_log_of_operations_is_damage_that_loses_no_content() {
    let log = log_of_operations();
    for length in 3..log.len() {
        let package = spreadsheet().with("Index/OperationStorage.iwa", &log[..length]);
        let report = deep("a.numbers", &package.build());
        assert_values(
            &report,
            &[
                ("quality.corrupted", json!(true)),
                ("numbers.table_count", json!(2)),
            ],
        );
    }
    // The document component is never a log: one in its place hides the document.
    let package = spreadsheet().with("Index/Document.iwa", log);
    let report = deep("a.numbers", &package.build());
    assert_values(&report, &[("quality.corrupted", json!(true))]);
    assert_unknown(&report, &["numbers.sheet_count", "numbers.table_count"]);
}
