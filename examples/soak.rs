//! Soak: records with faults mixed in by seed, for a long time, through one supervisor.
//!
//! `cargo run --release --example soak` runs until a million records were answered and 15 minutes have
//! passed; `--seconds N` runs for that long, `--seed N` mixes otherwise. The engine is the stand-in
//! that the tests use, inside this very program. Every reply is checked to be the one right one, and
//! descriptors, threads, processes and memory are printed over time: they have to stay flat. The exit
//! status tells whether all of that held.
#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used
)]

#[path = "../tests/supervisor/chaos_engine.rs"]
mod chaos_engine;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use deckprobe_mcp::contract::{Budget, ErrorCode, ProbeOptions, Record, Reply};
use deckprobe_mcp::supervisor::{
    EngineChoice, SandboxMode, Settings, Supervisor, Waiting, intercept_launch,
};

const CLIENTS: u64 = 24;
const BATCHES: u64 = 2;
const PROFILES: u64 = 6;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(code) = intercept_launch(&args, deckprobe_mcp::engine::cli::main) {
        return code;
    }
    if args
        .iter()
        .any(|arg| arg == "--jsonl" || arg == "--version" || arg == "--linger")
    {
        chaos_engine::main();
        return ExitCode::SUCCESS;
    }
    let number = |flag: &str| {
        let at = args.iter().position(|arg| arg == flag)?;
        args.get(at + 1)?.to_str()?.parse::<u64>().ok()
    };
    let seconds = number("--seconds");
    let plan = Plan {
        at_least: Duration::from_secs(seconds.unwrap_or(900)),
        records: number("--records").unwrap_or(if seconds.is_some() { 0 } else { 1_000_000 }),
        seed: number("--seed").unwrap_or(1),
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let good = runtime.block_on(soak(plan));
    if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

struct Plan {
    at_least: Duration,
    records: u64,
    seed: u64,
}

/// What went through and what was wrong with it.
#[derive(Default)]
struct Tally {
    answered: AtomicU64,
    dropped: AtomicU64,
    /// Good records that got an honest failure because of a neighbour in the same child.
    collateral: AtomicU64,
    wrong: AtomicU64,
}

async fn soak(plan: Plan) -> bool {
    let folder = std::env::temp_dir().join(format!("soak-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let engine = folder.join("deckprobe");
    std::fs::copy(std::env::current_exe().unwrap(), &engine).unwrap();
    let before = Usage::now();
    let supervisor = Supervisor::start(settings(engine.clone()));
    let tally = Arc::new(Tally::default());
    let begun = Instant::now();
    println!("{}", Usage::HEAD);
    let stop = tokio_util::sync::CancellationToken::new();
    let mut clients = tokio::task::JoinSet::new();
    for client in 0..CLIENTS {
        let work = Client::new(&supervisor, &tally, plan.seed * 1000 + client);
        clients.spawn(
            stop.clone()
                .run_until_cancelled_owned(work.probe_for_ever()),
        );
    }
    for client in 0..BATCHES {
        let work = Client::new(&supervisor, &tally, plan.seed * 1000 + 500 + client);
        clients.spawn(
            stop.clone()
                .run_until_cancelled_owned(work.batch_for_ever()),
        );
    }
    let mut usages = Vec::new();
    let every = (plan.at_least / 40).clamp(Duration::from_secs(1), Duration::from_secs(20));
    loop {
        tokio::time::sleep(every).await;
        let usage = Usage::now();
        let answered = tally.answered.load(Ordering::Relaxed);
        println!("{}", usage.row(begun.elapsed(), answered));
        usages.push(usage);
        if begun.elapsed() >= plan.at_least && answered >= plan.records {
            break;
        }
    }
    stop.cancel();
    while clients.join_next().await.is_some() {}
    let snapshot = supervisor.snapshot();
    let rest = supervisor
        .drain(Duration::from_secs(10), Waiting::Serve)
        .await;
    let elapsed = begun.elapsed();
    let _ = std::fs::remove_dir_all(&folder);
    let after = Usage::now();
    report(&tally, &snapshot, elapsed);
    let good = judge(&tally, &before, &usages, &after) && rest.lost.is_empty();
    println!("{}", if good { "PASSED" } else { "FAILED" });
    good
}

fn settings(engine: PathBuf) -> Settings {
    Settings {
        engine: EngineChoice::External,
        bin: Some(engine),
        max_concurrency: 4,
        record_timeout: Duration::from_millis(500),
        queue_timeout: Duration::from_secs(20),
        grace: Duration::from_millis(50),
        max_records: Some(2000),
        max_age: Some(Duration::from_secs(20)),
        idle: Some(Duration::from_secs(2)),
        max_rss_bytes: Some(64 << 20),
        max_reply_bytes: 1 << 20,
        sandbox: SandboxMode::Auto,
        strikes: 0,
        ..Settings::default()
    }
}

struct Client {
    supervisor: Supervisor,
    tally: Arc<Tally>,
    chance: u64,
    count: u64,
    id: u64,
}

impl Client {
    fn new(supervisor: &Supervisor, tally: &Arc<Tally>, id: u64) -> Self {
        Self {
            supervisor: supervisor.clone(),
            tally: Arc::clone(tally),
            chance: id.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            count: 0,
            id,
        }
    }

    fn below(&mut self, n: u64) -> u64 {
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        self.chance % n
    }

    fn next_file(&mut self) -> String {
        self.count += 1;
        let verb = match self.below(4000) {
            0 => "silent",
            1 => "spin",
            2 => "exit:3",
            3 => "kill-self",
            4 => "signal:11",
            5 => "not-json",
            6 => "two",
            7 => "then-exit:1",
            8 => "half-exit",
            9 => "half",
            10 => "close-out",
            11 => "ignore-term+silent",
            12 => "unasked:3",
            13 => "huge:3000000",
            14 => "grow:80",
            15 => "stop-self+silent",
            16 => "bad-utf8",
            17 => "swap",
            18 => "drip:0",
            19 => "stderr:300000",
            20 => "fork",
            21 => "never-read",
            22..=24 => "unasked:0",
            25..=27 => "unasked:1",
            28..=30 => "unasked:20",
            31..=120 => "error",
            121..=200 => "wait:2",
            _ => "reply",
        };
        format!("{verb}~{}-{}.pdf", self.id, self.count)
    }

    fn options(&mut self) -> ProbeOptions {
        // Most calls share one profile; now and then another one takes a slot.
        let profile = if self.below(60) == 0 {
            1 + self.below(PROFILES - 1)
        } else {
            0
        };
        let timeout_ms = (profile > 0).then_some(10_000 + profile);
        ProbeOptions::new().with_budget(Budget {
            timeout_ms,
            ..Budget::default()
        })
    }

    async fn probe_for_ever(mut self) {
        loop {
            let (file, options) = (self.next_file(), self.options());
            let record = record(&file);
            let patience = (self.below(700) == 0).then(|| self.below(3000));
            let call = self.supervisor.probe(&record, &options);
            let reply = match patience {
                None => Some(call.await),
                Some(micros) => tokio::time::timeout(Duration::from_micros(micros), call)
                    .await
                    .ok(),
            };
            match reply {
                Some(reply) => self.check(&file, &reply),
                None => {
                    self.tally.dropped.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    async fn batch_for_ever(mut self) {
        loop {
            let files: Vec<String> = (0..50).map(|_| self.next_file()).collect();
            let records: Vec<_> = files.iter().map(|file| Ok(record(file))).collect();
            let options = self.options();
            let Ok(mut batch) = self.supervisor.batch(records, options) else {
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            let give_up_after = if self.below(10) == 0 {
                self.below(50)
            } else {
                50
            };
            let mut seen = vec![false; files.len()];
            for _ in 0..give_up_after {
                let Some((at, reply)) = batch.next().await else {
                    break;
                };
                if std::mem::replace(&mut seen[at], true) {
                    self.wrong(&files[at], "answered twice");
                }
                self.check(&files[at], &reply);
            }
            if give_up_after == 50 && !seen.iter().all(|seen| *seen) {
                self.wrong("a batch", "a record was lost");
            }
        }
    }

    /// The reply is the one that this record must get.
    fn check(&self, file: &str, reply: &Reply) {
        self.tally.answered.fetch_add(1, Ordering::Relaxed);
        let verb = file.split('~').next().unwrap_or_default();
        let code = reply.head().code;
        let own = reply.json().contains(&format!("\"echo\":\"/x/{file}\""));
        let fine = match verb {
            "error" => code == Some(ErrorCode::MalformedInput),
            "silent" | "spin" | "half" | "ignore-term+silent" | "stop-self+silent" => {
                code == Some(ErrorCode::McpTimeout)
            }
            "exit:3" | "kill-self" | "signal:11" | "not-json" | "half-exit" | "close-out"
            | "bad-utf8" | "swap" | "huge:3000000" => code == Some(ErrorCode::McpEngineFailure),
            _ => own && code.is_none(),
        };
        // A record may meet the late death of a child, one that never reads again, or a machine that is
        // too busy: an honest failure, never somebody else's answer. A stray line is no such excuse.
        let honest = matches!(
            code,
            Some(ErrorCode::McpEngineFailure | ErrorCode::McpTimeout)
        ) && !reply.json().contains("is not a reply");
        if !fine && honest {
            self.tally.collateral.fetch_add(1, Ordering::Relaxed);
        } else if !fine {
            self.wrong(file, reply.json());
        }
    }

    fn wrong(&self, file: &str, what: &str) {
        println!("WRONG {file}: {what:.300}");
        self.tally.wrong.fetch_add(1, Ordering::Relaxed);
    }
}

fn record(file: &str) -> Record {
    Record::from_path(format!("/x/{file}"), None).expect("a plain path")
}

/// What this process uses, and how many children it has.
#[derive(Clone, Copy)]
struct Usage {
    files: usize,
    threads: usize,
    children: usize,
    zombies: usize,
    resident_kib: u64,
}

impl Usage {
    const HEAD: &'static str =
        "| seconds | records | files | threads | children | zombies | RSS KiB |";

    fn now() -> Self {
        let me = std::process::id();
        let count = |path: &str| std::fs::read_dir(path).map_or(0, Iterator::count);
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        let pages = statm
            .split_ascii_whitespace()
            .nth(1)
            .and_then(|n| n.parse::<u64>().ok());
        let states: Vec<char> = std::fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .filter_map(|entry| {
                let stat = std::fs::read_to_string(entry.ok()?.path().join("stat")).ok()?;
                let mut rest = stat.rsplit_once(") ")?.1.split(' ');
                let state = rest.next()?.chars().next()?;
                (rest.next()?.parse() == Ok(me)).then_some(state)
            })
            .collect();
        Self {
            files: count("/proc/self/fd"),
            threads: count("/proc/self/task"),
            children: states.len(),
            zombies: states.iter().filter(|state| **state == 'Z').count(),
            resident_kib: pages.unwrap_or(0) * 4,
        }
    }

    fn row(&self, at: Duration, records: u64) -> String {
        format!(
            "| {:7} | {records:9} | {:5} | {:7} | {:8} | {:7} | {:7} |",
            at.as_secs(),
            self.files,
            self.threads,
            self.children,
            self.zombies,
            self.resident_kib
        )
    }
}

fn report(tally: &Tally, snapshot: &deckprobe_mcp::supervisor::Snapshot, elapsed: Duration) {
    let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let answered = load(&tally.answered);
    println!(
        "\n{answered} records answered in {} s ({} a second)",
        elapsed.as_secs(),
        answered / elapsed.as_secs().max(1)
    );
    println!("dropped by their caller: {}", load(&tally.dropped));
    println!(
        "failed honestly because of a neighbour: {}",
        load(&tally.collateral)
    );
    println!("wrong, lost or doubled: {}", load(&tally.wrong));
    let list = |counts: &BTreeMap<&'static str, u64>| {
        let parts: Vec<_> = counts
            .iter()
            .map(|(label, n)| format!("{label} {n}"))
            .collect();
        parts.join(", ")
    };
    println!("outcomes: {}", list(&snapshot.outcomes));
    println!("ends: {}", list(&snapshot.recycles));
    println!(
        "starts: {} good, {} failed; resent: {}",
        snapshot.starts.ok, snapshot.starts.failed, snapshot.resent
    );
    println!("record latency: {:?}", snapshot.record_latency);
}

/// Flat, and nothing left.
fn judge(tally: &Tally, before: &Usage, usages: &[Usage], after: &Usage) -> bool {
    let most = |of: fn(&Usage) -> u64| usages.iter().map(of).max().unwrap_or(0);
    // The first tenth warms caches and buffers up.
    let early = usages.get(usages.len() / 10).copied().unwrap_or(*before);
    let late = usages
        .iter()
        .rev()
        .take(3)
        .map(|u| u.resident_kib)
        .min()
        .unwrap_or(0);
    let grown = late.saturating_sub(early.resident_kib);
    let checks = [
        (
            "wrong replies: none",
            tally.wrong.load(Ordering::Relaxed) == 0,
        ),
        ("children: at most 4", most(|u| u.children as u64) <= 4),
        ("children at the end: none", after.children == 0),
        (
            "files: as many as before, with the pool gone",
            after.files <= before.files + 4,
        ),
        (
            "files: bounded meanwhile",
            most(|u| u.files as u64) <= before.files as u64 + 60,
        ),
        (
            "threads: bounded",
            most(|u| u.threads as u64) <= before.threads as u64 + 16,
        ),
        (
            "memory: grown by less than 12 MiB after warming up",
            grown < 12 * 1024,
        ),
    ];
    for (what, holds) in checks {
        println!("{} {what}", if holds { "ok  " } else { "FAIL" });
    }
    println!(
        "before: {} files, {} threads; after: {} files, {} threads; RSS {} → {late} KiB",
        before.files, before.threads, after.files, after.threads, early.resident_kib
    );
    checks.iter().all(|(_, holds)| *holds)
}
