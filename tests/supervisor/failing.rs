//! Chapter G: failing again and again; and documents that kill.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use deckprobe_mcp::contract::ErrorCode;
use deckprobe_mcp::supervisor::Waiting;

use super::harness::{Bench, Chaos, assert_fails, within};
use super::pool::profile;

const FAILURE: ErrorCode = ErrorCode::McpEngineFailure;

/// G1: starts that hang, at every stage: many callers together wait for one or two of them, not for one
/// after the other.
#[tokio::test(flavor = "multi_thread")]
async fn starts_that_hang_are_waited_for_once() {
    let version = "if [ \"$1\" = --version ]; then echo 'deckprobe 2.4.0'; exit; fi\n";
    for before in ["", version] {
        let chaos = Chaos::new();
        let script = chaos.folder().join("hangs");
        std::fs::write(&script, format!("#!/bin/sh\n{before}exec sleep 600\n")).unwrap();
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
        let bench = Bench::on(chaos, |settings| {
            settings.bin = Some(script);
            settings.max_concurrency = 6;
            settings.start_timeout = Duration::from_millis(800);
        });
        let begun = Instant::now();
        let calls: Vec<_> = (0..6)
            .map(|n| bench.spawn(&format!("reply~{n}.pdf")))
            .collect();
        for call in calls {
            assert_fails(
                &within(call).await.unwrap(),
                ErrorCode::McpEngineFailure,
                &["800 ms"],
            );
        }
        assert!(
            begun.elapsed() < Duration::from_millis(3500),
            "{:?}",
            begun.elapsed()
        );
        bench.assert_whole().await;
    }
}

/// G1, G3: a binary that always crashes, asked eagerly and with a new profile each time: the number
/// of starts is bounded, counted by the binary itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_fork_storm_is_impossible() {
    let bench = Bench::on(
        Chaos::starting_with("until:1000000:start-exit:3"),
        |settings| {
            settings.max_concurrency = 4;
        },
    );
    let begun = Instant::now();
    let mut calls = 0_u64;
    while begun.elapsed() < Duration::from_secs(4) {
        let eager = (0..8).map(|at| {
            let options = profile(calls * 8 + at);
            let bench = &bench;
            async move { bench.probe_with("reply.pdf", &options).await }
        });
        for reply in futures_util::future::join_all(eager).await {
            assert_fails(&reply, FAILURE, &["exited with status 3"]);
        }
        calls += 1;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let starts = bench.chaos.occasions("start-exit:3");
    eprintln!("{} calls, {starts} starts in 4 s", calls * 8);
    assert!((3..=12).contains(&starts), "{starts}");
    assert_eq!(bench.snapshot().state, "failing");
    // Failing fast: most of those calls did not wait for anything.
    assert!(calls > 100, "{calls}");
    bench.assert_whole().await;
}

/// G2, G6: documents that kill children or miss deadlines never move the breaker.
#[tokio::test(flavor = "multi_thread")]
async fn poison_documents_do_not_shut_the_pool() {
    let bench = Bench::new(|settings| settings.record_timeout = Duration::from_millis(500));
    for n in 0..15 {
        assert_fails(&bench.probe("exit:3.pdf").await, FAILURE, &["status 3"]);
        if n % 8 == 0 {
            assert_fails(&bench.probe("silent.pdf").await, ErrorCode::McpTimeout, &[]);
        }
        bench.assert_serves(&format!("reply~{n}.pdf")).await;
    }
    let breaker = bench.snapshot().breaker;
    assert_eq!((breaker.state, breaker.recent_failures), ("closed", 0));
    bench.assert_whole().await;
}

/// G4: a mended binary works without a restart of ours.
#[tokio::test(flavor = "multi_thread")]
async fn a_mended_engine_is_found_out_by_one_trial() {
    let bench = Bench::on(Chaos::starting_with("start-exit:3"), |_| {});
    while bench.snapshot().breaker.state != "open" {
        assert!(bench.probe("reply.pdf").await.is_error());
    }
    let reply = bench.probe("reply.pdf").await;
    assert_fails(&reply, FAILURE, &["failed repeatedly", "status 3"]);
    bench.chaos.script("");
    let begun = Instant::now();
    while bench.probe("reply.pdf").await.is_error() {
        assert!(begun.elapsed() < Duration::from_secs(20));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(bench.snapshot().breaker.state, "closed");
    bench.assert_serves("reply~more.pdf").await;
    bench.assert_whole().await;
}

/// G7: waiting in backoff ends at once with the supervisor.
#[tokio::test(flavor = "multi_thread")]
async fn backoff_ends_with_the_supervisor() {
    let bench = Bench::on(Chaos::starting_with("start-exit:3"), |_| {});
    for _ in 0..3 {
        assert!(bench.probe("reply.pdf").await.is_error());
    }
    let waiting = bench.spawn("reply.pdf");
    let begun = Instant::now();
    within(
        bench
            .supervisor
            .drain(Duration::from_secs(10), Waiting::Refuse),
    )
    .await;
    assert!(within(waiting).await.unwrap().is_error());
    assert!(begun.elapsed() < Duration::from_secs(5));
    bench.assert_whole().await;
}

/// A document that killed its child twice is refused for a while, alone and with its reason.
#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_kills_is_refused_after_two_strikes() {
    let bench = Bench::new(|settings| {
        settings.strikes = 2;
        settings.record_timeout = Duration::from_millis(500);
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("exit:3.pdf");
    std::fs::write(&path, "x").unwrap();
    let killer = deckprobe_mcp::contract::Record::from_path(path.to_str().unwrap(), None).unwrap();
    let probe = || within(bench.supervisor.probe(&killer, &PLAIN));
    assert_fails(
        &probe().await,
        FAILURE,
        &["status 3", "do not send the same file"],
    );
    assert_fails(&probe().await, FAILURE, &["status 3", "will be refused"]);
    bench.settle().await;
    let starts = bench.snapshot().starts.ok;
    for _ in 0..5 {
        assert_fails(
            &probe().await,
            FAILURE,
            &["not probed", "ended 2 engine processes"],
        );
    }
    assert_eq!(
        bench.snapshot().starts.ok,
        starts,
        "no child was spent on it"
    );
    // Other options, another file, and the same file once it was changed get their chance.
    let other = within(bench.supervisor.probe(&killer, &profile(1))).await;
    assert_fails(&other, FAILURE, &["in the middle of this record"]);
    bench.assert_serves("reply.pdf").await;
    std::fs::write(&path, "changed").unwrap();
    assert_fails(&probe().await, FAILURE, &["in the middle of this record"]);
    // Hangs count as well.
    for says in ["do not send", "will be refused", "not probed"] {
        let reply = bench.probe("silent.pdf").await;
        assert_fails(&reply, ErrorCode::McpTimeout, &[says]);
    }
    bench.assert_whole().await;
}

static PLAIN: std::sync::LazyLock<deckprobe_mcp::contract::ProbeOptions> =
    std::sync::LazyLock::new(deckprobe_mcp::contract::ProbeOptions::new);
