//! Chapter K: hostile input and scarce resources; the sandbox.
#![cfg(target_os = "linux")]

use std::time::Duration;

use deckprobe_mcp::contract::{ErrorCode, ProbeOptions, Record};
use deckprobe_mcp::supervisor::{SandboxMode, Settings, check_sandbox};

use super::harness::{Bench, assert_fails, json, within};

const FAILURE: ErrorCode = ErrorCode::McpEngineFailure;

fn confined(change: impl FnOnce(&mut Settings)) -> Bench {
    Bench::new(|settings| {
        settings.sandbox = SandboxMode::Auto;
        change(settings);
    })
}

/// It tries to write, to connect, to read outside the roots, to start a process, to signal and to spy
/// on its parent. Threads it may have.
#[tokio::test(flavor = "multi_thread")]
async fn an_engine_cannot_get_out() {
    let free = Bench::new(|_| {});
    let tried = json(&free.probe("escape.pdf").await);
    for what in ["write", "read", "spawn", "signal", "spy"] {
        assert_eq!(
            tried[what], "done",
            "without a sandbox it can {what}: {tried}"
        );
    }
    free.assert_whole().await;

    let bench = confined(|_| {});
    let tried = json(&bench.probe("escape.pdf").await);
    for what in ["write", "spawn", "signal", "spy", "connect"] {
        assert_eq!(tried[what], "permission denied", "{what}: {tried}");
    }
    assert_eq!(tried["thread"], "done", "{tried}");
    assert_eq!(tried["read"], "done", "no roots, all may be read");
    let applied = bench.snapshot().sandbox.unwrap();
    assert!(applied.no_new_privs && applied.seccomp, "{applied:?}");
    assert_ne!(applied.landlock, "off", "{applied:?}");
    bench.assert_whole().await;

    let roots = tempfile::tempdir().unwrap();
    let bench = confined(|settings| settings.roots = vec![roots.path().to_path_buf()]);
    let tried = json(&bench.probe("escape.pdf").await);
    assert_eq!(
        tried["read"], "permission denied",
        "outside the roots: {tried}"
    );
    bench.assert_whole().await;
}

/// It forks without end: the first fork is refused.
#[tokio::test(flavor = "multi_thread")]
async fn an_engine_cannot_fork() {
    let bench = confined(|_| {});
    let reply = json(&bench.probe("fork.pdf").await);
    assert!(reply["refused"].is_string(), "{reply}");
    assert_eq!(bench.chaos.processes().len(), 1);
    bench.assert_whole().await;
}

/// K1: a memory bomb meets the child's limit, and the envelope names it.
#[tokio::test(flavor = "multi_thread")]
async fn a_memory_bomb_ends_its_child_alone() {
    let bench = confined(|settings| settings.max_memory_bytes = Some(300 << 20));
    let reply = bench.probe("grow:4000.pdf").await;
    assert_fails(&reply, FAILURE, &["SIGABRT", "memory limit of 300 MiB"]);
    bench.assert_serves("reply.pdf").await;
    bench.assert_whole().await;
}

/// K2: a limit so low that every start fails is recognisable as that.
#[tokio::test(flavor = "multi_thread")]
async fn a_limit_that_lets_nothing_start_is_named() {
    let bench = confined(|settings| settings.max_memory_bytes = Some(1 << 20));
    let reply = bench.probe("reply.pdf").await;
    assert_fails(&reply, FAILURE, &["memory limit of 1 MiB"]);
    bench.assert_whole().await;
}

/// Descriptors and files of a child are limited too.
#[tokio::test(flavor = "multi_thread")]
async fn a_child_has_few_descriptors() {
    let bench = confined(|_| {});
    let reply = json(&bench.probe("fds:5000.pdf").await);
    assert!(reply["opened"].as_u64().unwrap() < 256, "{reply}");
    bench.assert_whole().await;
}

/// K9: `require` starts where all of it can be applied; `off` confines nothing.
#[tokio::test(flavor = "multi_thread")]
async fn require_is_met_or_refused() {
    let bench = confined(|settings| settings.sandbox = SandboxMode::Require);
    let reply = bench.probe("reply.pdf").await;
    if reply.is_error() {
        // A kernel without Landlock or seccomp.
        assert_fails(&reply, FAILURE, &["DECKPROBE_MCP_SANDBOX=require"]);
    } else {
        assert!(bench.snapshot().sandbox.unwrap().missing.is_empty());
    }
    let checked = check_sandbox(&Settings {
        sandbox: SandboxMode::Require,
        ..bench.chaos.settings()
    });
    assert_eq!(
        checked.is_err(),
        reply.is_error(),
        "the check says the same: {checked:?}"
    );
    bench.assert_whole().await;
    let bench = Bench::new(|_| {});
    bench.assert_serves("reply.pdf").await;
    assert_eq!(bench.snapshot().sandbox.unwrap().landlock, "off");
    bench.assert_whole().await;
}

/// A root that was deleted and made again is another directory to the sandbox: children follow it.
#[tokio::test(flavor = "multi_thread")]
async fn a_root_that_was_replaced_is_readable_again() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    let file = root.join("open~x.pdf");
    let make = || {
        std::fs::create_dir(&root).unwrap();
        std::fs::write(&file, "x").unwrap();
    };
    make();
    let bench = confined(|settings| settings.roots = vec![root.clone()]);
    let record = Record::from_path(file.to_str().unwrap(), None).unwrap();
    let options = ProbeOptions::new();
    let open = || async {
        let reply = within(bench.supervisor.probe(&record, &options)).await;
        json(&reply)["open"].clone()
    };
    assert_eq!(open().await, "done");
    std::fs::remove_dir_all(&root).unwrap();
    make();
    let begun = std::time::Instant::now();
    while open().await != "done" {
        assert!(begun.elapsed() < super::harness::PATIENCE);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    bench.assert_whole().await;
}

/// The kill works on a confined child as well, also one that resists.
#[tokio::test(flavor = "multi_thread")]
async fn a_confined_child_can_be_ended() {
    let bench = confined(|settings| settings.record_timeout = Duration::from_millis(200));
    for file in ["spin.pdf", "ignore-term+silent.pdf"] {
        assert_fails(&bench.probe(file).await, ErrorCode::McpTimeout, &[]);
        bench.chaos.assert_all_gone().await;
    }
    bench.assert_whole().await;
}
