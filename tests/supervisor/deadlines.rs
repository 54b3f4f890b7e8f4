//! Chapter D: deadlines and clocks.

use std::time::{Duration, Instant};

use deckprobe_mcp::contract::{Budget, ErrorCode, ProbeOptions};
use rustix::process::Signal;

use super::harness::{Bench, Chaos, assert_answers, assert_fails, eventually, kill, within};
use super::host::Host;

/// D1: one hung record costs one child and one envelope.
#[tokio::test(flavor = "multi_thread")]
async fn a_hung_record_is_answered_at_its_own_deadline_and_its_neighbours_succeed() {
    for hang in ["silent.pdf", "spin.pdf", "half.pdf", "wait:60000.pdf"] {
        let bench = Bench::new(|settings| {
            settings.max_concurrency = 4;
            settings.record_timeout = Duration::from_millis(700);
        });
        let begun = Instant::now();
        let hung = bench.spawn(hang);
        let neighbours: Vec<_> = (0..20)
            .map(|n| bench.spawn(&format!("wait:10~{n}.pdf")))
            .collect();
        for (n, neighbour) in neighbours.into_iter().enumerate() {
            assert_answers(
                &within(neighbour).await.unwrap(),
                &format!("wait:10~{n}.pdf"),
            );
        }
        let reply = within(hung).await.unwrap();
        let says = ["700 ms", "DECKPROBE_MCP_TIMEOUT_MS"];
        assert_fails(&reply, ErrorCode::McpTimeout, &says);
        assert!(begun.elapsed() >= Duration::from_millis(700));
        bench.settle().await;
        assert_eq!(bench.ends("deadline"), 1);
        bench.assert_whole().await;
    }
}

/// C3: progress does not renew the deadline.
#[tokio::test(flavor = "multi_thread")]
async fn a_trickling_reply_is_under_the_same_deadline() {
    let bench = Bench::new(|settings| settings.record_timeout = Duration::from_millis(400));
    assert_fails(
        &bench.probe("drip:20.pdf").await,
        ErrorCode::McpTimeout,
        &[],
    );
    bench.assert_serves("reply.pdf").await;
    bench.assert_whole().await;
}

/// C7: reply and deadline at the same moment: one outcome, the right one, and nothing is left over for
/// the next record.
#[tokio::test(flavor = "multi_thread")]
async fn a_reply_at_the_deadline_has_one_outcome() {
    let bench = Bench::new(|settings| {
        settings.max_concurrency = 1;
        settings.record_timeout = Duration::from_millis(40);
    });
    let (mut good, mut late) = (0_u64, 0_u64);
    for n in 0..40 {
        let file = format!("wait:{}~{n}.pdf", 37 + n % 4);
        let reply = bench.probe(&file).await;
        if reply.is_error() {
            assert_fails(&reply, ErrorCode::McpTimeout, &[]);
            late += 1;
        } else {
            assert_answers(&reply, &file);
            good += 1;
        }
    }
    let outcomes = bench.snapshot().outcomes;
    assert_eq!((outcomes["ok"], outcomes["timeout"]), (good, late));
    bench.assert_whole().await;
}

/// D2: the caller's own budget is longer than ours: the answer says which one applied.
#[tokio::test(flavor = "multi_thread")]
async fn the_answer_says_which_of_two_limits_applied() {
    let bench = Bench::new(|settings| settings.record_timeout = Duration::from_millis(200));
    let budget = Budget {
        timeout_ms: Some(60_000),
        ..Budget::default()
    };
    let options = ProbeOptions::new().with_budget(budget);
    let reply = bench.probe_with("silent.pdf", &options).await;
    assert_fails(&reply, ErrorCode::McpTimeout, &["200 ms", "60000 ms"]);
    bench.assert_whole().await;
}

/// D3: waiting and starting do not eat the deadline.
#[tokio::test(flavor = "multi_thread")]
async fn the_deadline_runs_from_the_hand_over() {
    let bench = Bench::on(Chaos::starting_with("start-wait:500"), |settings| {
        settings.max_concurrency = 1;
        settings.record_timeout = Duration::from_millis(450);
    });
    let calls: Vec<_> = (0..5)
        .map(|n| bench.spawn(&format!("wait:150~{n}.pdf")))
        .collect();
    for (n, call) in calls.into_iter().enumerate() {
        assert_answers(&within(call).await.unwrap(), &format!("wait:150~{n}.pdf"));
    }
    bench.assert_whole().await;
}

/// D4: waiting has an end.
#[tokio::test(flavor = "multi_thread")]
async fn waiting_too_long_is_overload_and_says_how_long_and_how_deep() {
    let bench = Bench::new(|settings| {
        settings.max_concurrency = 1;
        settings.queue_timeout = Duration::from_millis(100);
    });
    bench.assert_serves("reply.pdf").await;
    let busy = bench.spawn("wait:1500.pdf");
    eventually("it runs", || bench.snapshot().queue.permits_in_use == 1).await;
    let reply = bench.probe("reply~late.pdf").await;
    let says = [
        "DECKPROBE_MCP_QUEUE_TIMEOUT_MS",
        "1 calls in the queue",
        "try again",
    ];
    assert_fails(&reply, ErrorCode::McpOverloaded, &says);
    assert_answers(&within(busy).await.unwrap(), "wait:1500.pdf");
    bench.assert_whole().await;
}

/// D6: no limit can see the wall clock.
#[test]
fn the_wall_clock_is_not_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/supervisor");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(!text.contains("SystemTime"), "{}", path.display());
        }
    }
}

/// D8: the supervisor is stopped beyond a deadline; the reply is in the pipe when it goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_came_while_we_were_stopped_is_believed_before_the_clock() {
    let chaos = Chaos::new();
    let mut host = Host::start(&chaos, 700);
    assert_eq!(host.probe("reply.pdf")["status"], "ok");
    host.ask("wait:300~stopped.pdf");
    tokio::time::sleep(Duration::from_millis(150)).await;
    kill(host.pid(), Signal::STOP);
    tokio::time::sleep(Duration::from_millis(1800)).await;
    kill(host.pid(), Signal::CONT);
    let reply = host.reply();
    assert_eq!(reply["echo"], "/x/wait:300~stopped.pdf", "{reply}");
    host.close();
    chaos.assert_all_gone().await;
}

/// D7: everything is stopped, as in a frozen container; the record gets its own time back.
#[tokio::test(flavor = "multi_thread")]
async fn a_freeze_kills_no_healthy_child() {
    let chaos = Chaos::new();
    let mut host = Host::start(&chaos, 1000);
    assert_eq!(host.probe("reply.pdf")["status"], "ok");
    host.ask("wait:400~frozen.pdf");
    tokio::time::sleep(Duration::from_millis(100)).await;
    let children = chaos.processes();
    kill(host.pid(), Signal::STOP);
    for child in &children {
        kill(*child, Signal::STOP);
    }
    tokio::time::sleep(Duration::from_millis(2500)).await;
    kill(host.pid(), Signal::CONT);
    tokio::time::sleep(Duration::from_millis(50)).await;
    for child in &children {
        kill(*child, Signal::CONT);
    }
    let reply = host.reply();
    assert_eq!(reply["echo"], "/x/wait:400~frozen.pdf", "{reply}");
    // A record that truly hangs still ends, freeze or not.
    assert_eq!(host.probe("silent.pdf")["error"]["code"], "MCP_TIMEOUT");
    host.close();
    chaos.assert_all_gone().await;
}

/// D10: limits that make no sense are honoured without harm.
#[tokio::test(flavor = "multi_thread")]
async fn absurd_limits_do_no_harm() {
    let bench = Bench::new(|settings| {
        settings.record_timeout = Duration::MAX;
        settings.queue_timeout = Duration::MAX;
        settings.start_timeout = Duration::MAX;
        settings.idle = Some(Duration::MAX);
        settings.max_age = Some(Duration::MAX);
        settings.max_records = Some(u64::MAX);
        settings.max_rss_bytes = Some(u64::MAX);
        settings.max_concurrency = 0;
    });
    bench.assert_serves("reply.pdf").await;
    bench.assert_whole().await;
    let bench = Bench::new(|settings| settings.record_timeout = Duration::ZERO);
    assert_fails(
        &bench.probe("silent.pdf").await,
        ErrorCode::McpTimeout,
        &["0 ms"],
    );
    bench.assert_whole().await;
}

/// D11, D12, E1: the caller is answered at the deadline, not after the kill, and kills go on side by
/// side.
#[tokio::test(flavor = "multi_thread")]
async fn killing_takes_time_that_no_caller_waits_for() {
    let grace = Duration::from_millis(1500);
    let bench = Bench::new(|settings| {
        settings.max_concurrency = 4;
        settings.record_timeout = Duration::from_millis(400);
        settings.grace = grace;
    });
    let begun = Instant::now();
    let calls: Vec<_> = (0..4)
        .map(|n| bench.spawn(&format!("ignore-term+silent~{n}.pdf")))
        .collect();
    for call in calls {
        assert_fails(&within(call).await.unwrap(), ErrorCode::McpTimeout, &[]);
    }
    assert!(
        begun.elapsed() < grace,
        "answered before any grace was over"
    );
    let snapshot = bench.snapshot();
    assert_eq!(
        snapshot.queue.permits_in_use, 4,
        "a dying child holds its permit"
    );
    bench.assert_serves("reply.pdf").await;
    assert!(begun.elapsed() < grace * 3, "all four graces ran together");
    bench.assert_whole().await;
}
