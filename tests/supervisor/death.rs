//! Chapter E: death, kill, reap.

use std::time::Duration;

use deckprobe_mcp::contract::ErrorCode;
use rustix::process::Signal;
use serde_json::Value;

use super::harness::{
    Bench, Chaos, assert_answers, assert_fails, eventually, kill, skip, state_of,
};

/// E1, E2, E3: it resists, is stopped, or has a grandchild on our pipes.
#[tokio::test(flavor = "multi_thread")]
async fn every_child_can_be_ended() {
    let bench = Bench::new(|settings| settings.record_timeout = Duration::from_millis(600));
    for file in [
        "ignore-term+silent.pdf",
        "ignore-term+spin.pdf",
        "stop-self+silent.pdf",
        "fork+silent.pdf",
        "fork+ignore-term+silent.pdf",
    ] {
        assert_fails(&bench.probe(file).await, ErrorCode::McpTimeout, &[]);
        bench.chaos.assert_all_gone().await;
        bench.assert_serves("reply.pdf").await;
    }
    bench.assert_whole().await;
}

/// E3, A12: the child ends by itself and leaves a grandchild behind, which holds our pipes.
#[tokio::test(flavor = "multi_thread")]
async fn a_grandchild_ends_with_the_child_that_left_it() {
    let bench = Bench::new(|_| {});
    let failure = ErrorCode::McpEngineFailure;
    assert_fails(
        &bench.probe("fork+exit:4.pdf").await,
        failure,
        &["status 4"],
    );
    bench.chaos.assert_all_gone().await;
    bench.assert_serves("fork.pdf").await;
    bench.assert_whole().await;
}

/// E4: a grandchild in a session of its own is out of reach of the group; it must not block us.
#[tokio::test(flavor = "multi_thread")]
async fn a_grandchild_that_got_away_blocks_nobody() {
    let bench = Bench::new(|settings| settings.record_timeout = Duration::from_millis(600));
    let failure = ErrorCode::McpEngineFailure;
    assert_fails(
        &bench.probe("fork-setsid+wait:100+exit:4.pdf").await,
        failure,
        &["status 4"],
    );
    let timeout = ErrorCode::McpTimeout;
    assert_fails(&bench.probe("fork-setsid+silent.pdf").await, timeout, &[]);
    bench.assert_serves("reply.pdf").await;
    bench.settle().await;
    for pid in bench.chaos.processes() {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        if String::from_utf8_lossy(&line).contains("setsid") {
            kill(pid, Signal::KILL);
        }
    }
    bench.assert_whole().await;
}

/// E11, F14: a child that dies while idle is noticed, reaped and replaced, and no caller sees it.
#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_dies_while_idle_is_replaced_in_the_background() {
    let bench = Bench::new(|settings| settings.prewarm = 1);
    let idle = || {
        let workers = bench.snapshot().workers;
        workers
            .iter()
            .find(|worker| worker.state == "idle")
            .and_then(|w| w.pid)
    };
    eventually("one is warm before any call", || idle().is_some()).await;
    for round in 0..5 {
        let old = idle().unwrap();
        kill(old, Signal::KILL);
        eventually("another is warm", || idle().is_some_and(|pid| pid != old)).await;
        eventually("the old one is reaped", || state_of(old).is_none()).await;
        bench.assert_serves(&format!("reply~{round}.pdf")).await;
    }
    assert_eq!(bench.snapshot().outcomes["failure"], 0);
    assert_eq!(bench.ends("signal"), 5);
    bench.assert_whole().await;
}

/// E15: after our end of input it exits with the worst status of any record. That is ordinary.
#[tokio::test(flavor = "multi_thread")]
async fn a_non_zero_exit_after_our_end_of_input_is_an_ordinary_retirement() {
    let bench = Bench::new(|settings| settings.idle = Some(Duration::from_millis(100)));
    let reply = bench.probe("error.pdf").await;
    assert_eq!(reply.head().code, Some(ErrorCode::MalformedInput));
    eventually("it is retired", || bench.ends("idle") == 1).await;
    let snapshot = bench.snapshot();
    assert_eq!(
        (snapshot.recycles["exit"], snapshot.breaker.recent_failures),
        (0, 0)
    );
    bench.assert_whole().await;
}

/// E16: the end of the output and the exit status come in either order; the envelope is the same.
#[tokio::test(flavor = "multi_thread")]
async fn the_exit_status_is_told_whichever_comes_first() {
    let bench = Bench::new(|_| {});
    for _ in 0..40 {
        let reply = bench.probe("exit:7.pdf").await;
        assert_fails(
            &reply,
            ErrorCode::McpEngineFailure,
            &["exited with status 7"],
        );
    }
    bench.assert_whole().await;
}

/// E12, E13, J7: children that we may not kill. Each costs one place and not two, and only once the loss
/// is certain; what is left serves calls and batches; with no place left, calls and batches are answered
/// at once; places come back; the end is bounded.
#[test]
fn a_child_that_cannot_be_killed_costs_one_place_until_it_ends() {
    if !rustix::process::geteuid().is_root() {
        // What follows from a loss is tested without root in `src/supervisor/ledger_model.rs`.
        return skip("only root can make a process that its parent may not kill");
    }
    // Root may kill anything, so the supervisor runs as nobody, and its engine is set-user-id root.
    let chaos = Chaos::copied();
    chaos.script("become-root");
    let mut host = super::host::Host::start_as_nobody(&chaos, 2500);
    assert_eq!(host.probe("reply.pdf")["status"], "ok");
    let lost = |n: u64| move |snapshot: &Value| snapshot["queue"]["lost"] == n;
    let busy = |n: usize| {
        move |snapshot: &Value| {
            let workers = snapshot["workers"].as_array().unwrap();
            workers.iter().filter(|w| w["state"] == "busy").count() == n
        }
    };
    for n in 1..=3 {
        let reply = host.probe("silent.pdf");
        assert_eq!(reply["error"]["code"], "MCP_TIMEOUT", "{reply}");
        let snapshot = host.until("its loss is counted", lost(n));
        assert_eq!(snapshot["queue"]["permits_in_use"], 0, "and counted once");
        assert!(!chaos.processes().is_empty(), "it lives on");
        // All other places serve, at the same time.
        let left = 4 - usize::try_from(n).unwrap();
        for at in 0..left {
            host.ask(&format!("wait:400~{n}-{at}.pdf"));
        }
        host.until("every place that is left is used", busy(left));
        for _ in 0..left {
            assert_eq!(host.reply()["status"], "ok");
        }
        let replies = host.batch("reply~a.pdf reply~b.pdf reply~c.pdf reply~d.pdf");
        assert!(replies.iter().all(|r| r["status"] == "ok"), "{replies:?}");
    }
    // A batch that waits for the last place ends when that is lost too.
    host.ask("silent.pdf");
    host.until("it runs", busy(1));
    host.ask("@batch reply~x.pdf reply~y.pdf reply~z.pdf");
    assert_eq!(host.reply()["error"]["code"], "MCP_TIMEOUT");
    let stuck = |reply: &Value| {
        let message = reply["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("cannot be killed"), "{reply}");
    };
    host.reply()["batch"]
        .as_array()
        .unwrap()
        .iter()
        .for_each(stuck);
    assert_eq!(host.until("all are lost", lost(4))["state"], "stuck");
    stuck(&host.probe("reply~none-left.pdf"));
    host.batch("reply~x.pdf reply~y.pdf").iter().for_each(stuck);
    // They end after all: their places come back.
    for pid in chaos.processes() {
        kill(pid, Signal::KILL);
    }
    host.until("the places are back", lost(0));
    assert_eq!(host.probe("reply~again.pdf")["status"], "ok");
    // One is out of reach at the end: the end is bounded all the same.
    assert_eq!(host.probe("silent.pdf")["error"]["code"], "MCP_TIMEOUT");
    host.close();
    assert!(host.process.wait().unwrap().success());
    for pid in chaos.processes() {
        kill(pid, Signal::KILL);
    }
}

/// B1, E5: whatever ends children, in any mixture, every one is reaped.
#[tokio::test(flavor = "multi_thread")]
async fn no_zombie_is_left_by_any_kind_of_end() {
    let bench = Bench::new(|settings| {
        settings.max_concurrency = 4;
        settings.record_timeout = Duration::from_millis(300);
        settings.grace = Duration::from_millis(50);
    });
    let files = [
        "exit:1.pdf",
        "kill-self.pdf",
        "silent.pdf",
        "then-exit:3.pdf",
        "two.pdf",
        "close-out.pdf",
        "half-exit.pdf",
        "ignore-term+silent.pdf",
        "fork+exit:1.pdf",
        "not-json.pdf",
    ];
    let calls: Vec<_> = (0..5)
        .flat_map(|_| files)
        .map(|file| bench.spawn(file))
        .collect();
    for (n, call) in calls.into_iter().enumerate() {
        if n % 7 == 3 {
            call.abort();
        }
        let _any = call.await;
    }
    let file = "reply~last.pdf";
    assert_answers(&bench.probe(file).await, file);
    bench.assert_whole().await;
}
