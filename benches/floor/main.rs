//! Every record beside its floor: what it takes to open the file, read the bytes that the answer
//! needs and inflate them, with no parsing at all. Both are measured in turns in one run, so the
//! ratio says what the engine's own work costs on top, whatever the machine.
//!
//! `cargo bench --bench floor` measures documents that it builds itself, and those of the shared
//! corpus too where `DECKPROBE_TEST_SHARED` names it.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark that cannot go on must stop, and printing is what it is for"
)]

mod documents;
mod ooxml;
mod pdf;
#[allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    clippy::cast_possible_truncation,
    clippy::expect_used,
    reason = "shared with the tests"
)]
#[path = "../../tests/engine/support/zip.rs"]
mod zip;

use std::time::{Duration, Instant};

use deckprobe_mcp::engine::Session;

/// One document with its two ways.
struct Case {
    name: String,
    /// The record, as the engine gets it.
    line: String,
    /// Opens, reads and inflates; returns how many bytes came out, so that nothing is optimised away.
    floor: Box<dyn Fn() -> usize>,
}

/// For how long each document is measured.
const TIME: Duration = Duration::from_millis(60);

fn main() {
    let directory = tempfile::tempdir().unwrap();
    let mut cases = ooxml::built(directory.path());
    if let Some(shared) = std::env::var_os("DECKPROBE_TEST_SHARED") {
        cases.extend(ooxml::corpus(shared.as_ref()));
    }
    let verbose = std::env::args().any(|argument| argument == "--verbose");
    group(
        "@summary, Office Open XML",
        &["-t", "@summary"],
        &cases,
        verbose,
    );
    for (title, selector) in [("@summary, PDF", "@summary"), ("@default, PDF", "@default")] {
        let arguments = ["-t", selector];
        let mut cases = pdf::built(directory.path());
        if let Some(shared) = std::env::var_os("DECKPROBE_TEST_SHARED") {
            cases.extend(pdf::corpus(shared.as_ref(), &arguments));
        }
        group(title, &arguments, &cases, verbose);
    }
}

/// Measures cases and prints the geometric mean of their ratios.
fn group(title: &str, arguments: &[&str], cases: &[Case], verbose: bool) {
    let mut engine = Session::new(arguments.iter().copied()).unwrap();
    let mut logs = Vec::new();
    for case in cases {
        let (record, floor) = measure(&mut engine, case);
        let ratio = record / floor;
        logs.push((ratio.ln(), case.name.as_str()));
        if verbose {
            println!(
                "{ratio:6.2}  record {:8.1} µs  floor {:8.1} µs  {}",
                record * 1e6,
                floor * 1e6,
                case.name
            );
        }
    }
    logs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mean = (logs.iter().map(|(log, _)| log).sum::<f64>() / logs.len() as f64).exp();
    let (worst, name) = logs[logs.len() - 1];
    println!(
        "{title}: {} documents, record/floor geometric mean {mean:.2}, worst {:.2} ({name})",
        logs.len(),
        worst.exp()
    );
}

/// The fastest of many turns of each, in seconds.
fn measure(engine: &mut Session, case: &Case) -> (f64, f64) {
    let mut out = Vec::new();
    let mut best = (f64::MAX, f64::MAX);
    let started = Instant::now();
    while started.elapsed() < TIME {
        best.0 = best.0.min(seconds(|| {
            out.clear();
            assert_eq!(engine.answer(case.line.as_bytes(), 1, &mut out), Some(0));
            out.len()
        }));
        best.1 = best.1.min(seconds(&case.floor));
    }
    best
}

fn seconds(mut work: impl FnMut() -> usize) -> f64 {
    let started = Instant::now();
    std::hint::black_box(work());
    started.elapsed().as_secs_f64()
}
