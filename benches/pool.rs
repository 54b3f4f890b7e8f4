//! What the pool is for: a warm reply against a process for every call, on the same engine and the
//! same document.
//!
//! `cargo bench --bench pool`. Three ways, one after the other, on this machine as it is:
//!
//! * *cold call*: `deckprobe-mcp engine FILE`, as a caller without a pool runs it;
//! * *cold child*: through the supervisor, but with a fresh child for every record (launcher, limits
//!   and sandbox included);
//! * *warm pool*: through the supervisor, as it is meant.
//!
//! `DECKPROBE_BENCH_FILE` names another document, `DECKPROBE_BENCH_ROUNDS` another number of rounds.
#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use deckprobe_mcp::contract::{Level, ProbeOptions, Record};
use deckprobe_mcp::supervisor::{EngineChoice, Settings, Supervisor, Waiting};

fn main() {
    // `cargo test --benches` only asks whether it runs.
    let testing = std::env::args().any(|arg| arg == "--test");
    let rounds = std::env::var("DECKPROBE_BENCH_ROUNDS")
        .ok()
        .and_then(|n| n.parse().ok());
    let rounds: usize = rounds.unwrap_or(if testing { 2 } else { 300 });
    let fixture = || concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/quarterly.docx").into();
    let file: PathBuf = std::env::var_os("DECKPROBE_BENCH_FILE").map_or_else(fixture, Into::into);
    assert!(file.is_file(), "{} is missing", file.display());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    println!("{} ({rounds} rounds; p50 / p99)\n", file.display());
    println!(
        "| level    | cold call           | cold child          | warm pool           | cold call : warm |"
    );
    println!(
        "| -------- | ------------------- | ------------------- | ------------------- | ---------------- |"
    );
    for level in Level::ALL {
        let call = times(rounds, || cold_call(&file, level));
        let child = runtime.block_on(pooled(&file, level, rounds, Some(1)));
        let warm = runtime.block_on(pooled(&file, level, rounds, None));
        let ratio = call.p50.as_secs_f64() / warm.p50.as_secs_f64();
        println!(
            "| {:8} | {call} | {child} | {warm} | {ratio:16.1} |",
            level.as_str()
        );
    }
}

fn binary() -> PathBuf {
    env!("CARGO_BIN_EXE_deckprobe-mcp").into()
}

fn cold_call(file: &Path, level: Level) {
    let level = format!("--probe-level={level}");
    let output = Command::new(binary())
        .args(["engine", "--targets=@summary", &level])
        .arg(file)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

async fn pooled(file: &Path, level: Level, rounds: usize, max_records: Option<u64>) -> Times {
    let supervisor = Supervisor::start(Settings {
        engine: EngineChoice::Builtin,
        launcher: Some(binary()),
        max_records,
        max_concurrency: 1,
        // A fresh child for every record, started when the record is there.
        prewarm: usize::from(max_records.is_none()),
        ..Settings::default()
    });
    let record = Record::from_path(file.to_str().unwrap(), None).unwrap();
    let options = ProbeOptions::new()
        .with_targets(["@summary"])
        .unwrap()
        .with_level(level);
    let mut all = Vec::with_capacity(rounds);
    // The first call pays for the search and the first start.
    for _ in 0..=rounds {
        let begun = Instant::now();
        let reply = supervisor.probe(&record, &options).await;
        all.push(begun.elapsed());
        assert!(!reply.is_error(), "{}", reply.json());
    }
    all.remove(0);
    supervisor
        .drain(Duration::from_secs(5), Waiting::Serve)
        .await;
    Times::of(all)
}

fn times(rounds: usize, mut run: impl FnMut()) -> Times {
    run();
    let all = (0..rounds).map(|_| {
        let begun = Instant::now();
        run();
        begun.elapsed()
    });
    Times::of(all.collect())
}

struct Times {
    p50: Duration,
    p99: Duration,
}

impl Times {
    fn of(mut all: Vec<Duration>) -> Self {
        all.sort_unstable();
        Self {
            p50: all[all.len() / 2],
            p99: all[all.len() * 99 / 100],
        }
    }
}

impl std::fmt::Display for Times {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let millis = |duration: Duration| duration.as_secs_f64() * 1000.0;
        let text = format!("{:.3} / {:.3} ms", millis(self.p50), millis(self.p99));
        write!(f, "{text:19}")
    }
}
