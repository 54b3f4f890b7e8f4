//! Budgets, hostile packages, and what they cost.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::build::{Package, SHEET_NS, WORD_NS, core_xml};
use super::zip::{Archive, Part};
use super::{assert_refused, assert_values, deep, probe};
use crate::harness::value;

fn cost(report: &Value, what: &str) -> u64 {
    report["execution"]["actual_cost"][what].as_u64().unwrap()
}

#[test]
fn a_part_that_holds_more_than_it_claims_is_not_unpacked() {
    // U-1: 64 MB behind a claim of 100 bytes.
    let package = Package::new("docx").core_part(vec![b' '; 64 << 20]);
    let bytes = package.build_with("docProps/core.xml", |part| part.claimed_size(100));
    let started = Instant::now();
    let report = deep("a.docx", &bytes);
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_values(
        &report,
        &[
            ("document.title", json!(null)),
            ("word.table_count", json!(0)),
        ],
    );
    assert!(cost(&report, "expanded_bytes") < 4096, "{report}");
}

#[test]
fn a_part_that_is_too_large_is_refused_before_it_is_unpacked() {
    let package = Package::new("docx").core_part(vec![b' '; 9 << 20]);
    let reply = probe(&["-t", "title"], "a.docx", &package.build());
    assert_refused(&reply, "BUDGET_EXCEEDED", "docProps/core.xml");
    let claim = package.build_with("docProps/core.xml", |part| {
        part.claimed_size(u32::MAX.into())
    });
    let reply = probe(&["-t", "title"], "a.docx", &claim);
    assert_refused(&reply, "BUDGET_EXCEEDED", "docProps/core.xml");
}

#[test]
fn one_part_that_is_too_large_takes_nothing_from_the_others() {
    // M-5.
    let text = format!(
        "<w:document xmlns:w='{WORD_NS}'>{}</w:document>",
        " ".repeat(1 << 20)
    );
    let package = Package::new("docx")
        .core("<dc:title>T</dc:title>")
        .main(text);
    let flags = ["-l", "d", "-t", "title,word.table_count", "-x", "100000"];
    let report = probe(&flags, "a.docx", &package.build());
    assert_values(&report, &[("document.title", json!("T"))]);
    let table = &report["results"]["word.table_count"];
    assert_eq!(table["status"], "budget_exceeded", "{report}");
    assert_eq!(report["status"], "partial");
    // With no value at all it is an error.
    let flags = ["-l", "d", "-t", "word.table_count", "-x", "100000"];
    let reply = probe(&flags, "a.docx", &package.build());
    assert_refused(&reply, "BUDGET_EXCEEDED", "word/document.xml");
}

#[test]
fn a_spent_budget_is_never_taken_for_an_absent_part() {
    // M-1: from nothing to enough, the title is either there or the budget is named.
    let package = Package::new("docx")
        .core("<dc:title>T</dc:title>")
        .part("word/media/a.png", noise(5000));
    let bytes = package.build();
    let ask = |budget: u64| {
        let budget = budget.to_string();
        // By path, since bytes in the record are held against the budget as a whole.
        probe_file(&["-t", "title", "-b", &budget], &bytes)
    };
    let enough = cost(&ask(1 << 20), "physical_bytes_read");
    assert!(enough < 4000, "{enough}");
    for budget in (0..enough).step_by(29).chain([enough - 1]) {
        assert_refused(&ask(budget), "BUDGET_EXCEEDED", "budget");
    }
    assert_values(&ask(enough), &[("document.title", json!("T"))]);
}

#[test]
fn entities_expand_to_nothing_and_reach_nowhere() {
    let bomb = "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'>\
        <!ENTITY c '&b;&b;&b;&b;&b;&b;&b;&b;'><!ENTITY f SYSTEM 'file:///etc/hostname'>]>";
    for reference in ["&c;", "&f;"] {
        let core = format!(
            "{bomb}{}",
            core_xml(&format!(
                "<dc:title>{reference}</dc:title><dc:creator>A</dc:creator>"
            ))
        );
        let report = deep("a.docx", &Package::new("docx").core_part(core).build());
        assert_values(
            &report,
            &[
                ("document.title", json!(null)),
                ("document.author", json!("A")),
            ],
        );
    }
}

#[test]
fn nesting_without_end_costs_no_stack() {
    let deep_text = format!("<w:document xmlns:w='{WORD_NS}'>{}", "<w:p>".repeat(30_000));
    let closed = format!("{deep_text}{}</w:document>", "</w:p>".repeat(30_000));
    let report = deep("a.docx", &Package::new("docx").main(closed).build());
    assert_values(&report, &[("word.paragraph_count", json!(30_000))]);
    let report = deep("a.docx", &Package::new("docx").main(deep_text).build());
    assert_values(&report, &[("word.table_count", json!(null))]);
}

#[test]
fn each_part_is_unpacked_once_however_many_targets_need_it() {
    // U-10.
    let sheets =
        format!("<workbook xmlns='{SHEET_NS}'><sheets><sheet name='a'/></sheets></workbook>");
    let package = Package::new("xlsx")
        .main(sheets)
        .core("<dc:title>T</dc:title>")
        .app("<Application>X</Application>");
    let report = deep("a.xlsx", &package.build());
    let all: usize = package
        .entries()
        .iter()
        .map(|part| part.content.len())
        .sum();
    assert!(cost(&report, "expanded_bytes") <= all as u64);
    // The signature is looked at before the container is opened.
    assert!(cost(&report, "physical_bytes_read") <= package.build().len() as u64 + 8);
}

#[test]
fn only_what_is_needed_is_read() {
    let package = Package::new("docx")
        .core("<dc:title>T</dc:title>")
        .app("<Pages>1</Pages>")
        .part("word/media/a.png", noise(400_000));
    let bytes = package.build();
    let report = probe(&["-t", "@summary"], "a.docx", &bytes);
    assert_values(&report, &[("document.title", json!("T"))]);
    assert!(cost(&report, "physical_bytes_read") < 4000, "{report}");
}

#[test]
fn hostile_directories_are_refused_quickly() {
    let started = Instant::now();
    let many: Vec<Part> = (0..6000)
        .map(|n| Part::new(format!("word/part{n}.xml"), ""))
        .collect();
    let mut archive = Archive::new(Package::new("docx").entries());
    archive.parts.extend(many);
    let bytes = archive.build();
    let flags = ["-l", "h", "-t", "@header"];
    let report = probe(&flags, "a.docx", &bytes);
    assert_values(&report, &[("document.format_profile", json!("docx"))]);
    assert!(
        report["diagnostics"].to_string().contains("4096"),
        "{report}"
    );
    let report = probe(&["-t", "package_entry_count"], "a.docx", &bytes);
    assert_eq!(
        value(&report, "office.package_entry_count"),
        Some(&json!(6003))
    );

    let lying = Archive {
        claimed_entries: Some(u64::MAX),
        zip64: true,
        ..Archive::new(Package::new("docx").entries())
    };
    assert_refused(
        &deep("a.docx", &lying.build()),
        "MALFORMED_INPUT",
        "announced",
    );
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn collisions_and_repetitions_stay_cheap() {
    let started = Instant::now();
    let defaults: String = (0..20_000)
        .map(|n| format!("<Default Extension='e{n}' ContentType='image/png'/>"))
        .collect();
    let package = Package::new("docx");
    let bytes = package.build_with(super::build::CONTENT_TYPES, |mut part| {
        let text = String::from_utf8(part.content).unwrap();
        part.content = text
            .replace("</Types>", &format!("{defaults}</Types>"))
            .into_bytes();
        part
    });
    let mut archive = Archive::new([]);
    for n in 0..4000 {
        // Names that OPC takes for one.
        let name: String = (0..12)
            .map(|bit| if n >> bit & 1 == 0 { 'a' } else { 'A' })
            .collect();
        archive.parts.push(Part::new(name, ""));
    }
    archive.parts.extend(package.entries());
    for bytes in [bytes, archive.build()] {
        assert_values(&deep("a.docx", &bytes), &[("word.table_count", json!(0))]);
    }
    assert!(started.elapsed() < Duration::from_secs(20));
}

/// Probes bytes as a file.
fn probe_file(flags: &[&str], bytes: &[u8]) -> Value {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.docx");
    std::fs::write(&path, bytes).unwrap();
    crate::harness::Engine::start(flags).ask(&json!(path.to_str().unwrap()))
}

/// Bytes that do not pack.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        })
        .collect()
}
