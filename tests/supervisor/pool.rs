//! Chapter F: pool, permits, recycling.

use std::time::{Duration, Instant};

use deckprobe_mcp::contract::{Budget, ProbeOptions};

use super::harness::{
    Bench, Census, Chaos, PATIENCE, assert_answers, eventually, json, record, within,
};

/// An option set of its own for every number.
pub fn profile(n: u64) -> ProbeOptions {
    ProbeOptions::new().with_budget(Budget {
        timeout_ms: Some(10_000 + n),
        ..Budget::default()
    })
}

/// F5: all idle children have another profile; the least recently used one makes room, also at N = 1.
#[tokio::test(flavor = "multi_thread")]
async fn an_idle_child_of_another_profile_makes_room() {
    for n in [1, 3] {
        let bench = Bench::new(|settings| settings.max_concurrency = n);
        let census = Census::of(&bench.chaos);
        for round in 0..15 {
            let file = format!("who~{round}.pdf");
            let reply = bench.probe_with(&file, &profile(round % 5)).await;
            let arguments = json(&reply)["arguments"].to_string();
            let own = format!("--timeout-ms={}", 10_000 + round % 5);
            assert!(arguments.contains(&own), "{arguments}");
        }
        assert_eq!(bench.ends("evicted"), bench.snapshot().starts.ok - n as u64);
        assert!(census.most() <= n);
        bench.assert_whole().await;
    }
}

/// F8: bookkeeping by profile is bounded, and churn is no crash loop.
#[tokio::test(flavor = "multi_thread")]
async fn the_books_of_profiles_are_bounded() {
    let bench = Bench::new(|_| {});
    for n in 0..150 {
        assert_answers(
            &bench.probe_with("reply.pdf", &profile(n)).await,
            "reply.pdf",
        );
    }
    let snapshot = bench.snapshot();
    assert!(
        snapshot.profiles_known <= 128,
        "{}",
        snapshot.profiles_known
    );
    assert_eq!(
        (snapshot.breaker.state, snapshot.starts.failed),
        ("closed", 0)
    );
    bench.assert_whole().await;
}

/// F9, F10: children reach their limit of records while busy; nothing is lost, and planned ends come
/// one at a time.
#[tokio::test(flavor = "multi_thread")]
async fn a_limit_of_records_loses_nothing_and_ends_children_one_by_one() {
    let bench = Bench::new(|settings| {
        settings.max_concurrency = 4;
        settings.max_records = Some(10);
    });
    let calls: Vec<_> = (0..400)
        .map(|n| bench.spawn(&format!("wait:1~{n}.pdf")))
        .collect();
    for (n, call) in calls.into_iter().enumerate() {
        assert_answers(&within(call).await.unwrap(), &format!("wait:1~{n}.pdf"));
    }
    bench.settle().await;
    let ended = bench.ends("records");
    assert!((10..=44).contains(&ended), "{ended}");
    bench.assert_whole().await;
}

/// Age, resident memory and idleness each end a child with their own reason.
#[tokio::test(flavor = "multi_thread")]
async fn every_planned_limit_has_its_own_reason() {
    let bench = Bench::new(|settings| settings.max_age = Some(Duration::from_millis(150)));
    bench.assert_serves("reply.pdf").await;
    eventually("too old while idle", || bench.ends("age") == 1).await;
    bench.assert_serves("wait:250.pdf").await;
    eventually("too old after a record", || bench.ends("age") == 2).await;
    bench.assert_whole().await;

    let bench = Bench::new(|settings| settings.max_rss_bytes = Some(64 << 20));
    bench.assert_serves("grow:10.pdf").await;
    bench.settle().await;
    assert_eq!(bench.ends("memory"), 0);
    bench.assert_serves("grow:100.pdf").await;
    eventually("too large", || bench.ends("memory") == 1).await;
    bench.assert_whole().await;

    let bench = Bench::new(|settings| settings.idle = Some(Duration::from_millis(100)));
    bench.assert_serves("reply.pdf").await;
    eventually("idle too long", || bench.ends("idle") == 1).await;
    bench.chaos.assert_all_gone().await;
    bench.assert_serves("reply~again.pdf").await;
    bench.assert_whole().await;
}

/// F12: the idle limit strikes at about the moment when the child is handed out.
#[tokio::test(flavor = "multi_thread")]
async fn the_idle_limit_and_a_hand_over_do_not_meet() {
    let bench = Bench::new(|settings| settings.idle = Some(Duration::from_millis(20)));
    for n in 0..60_u64 {
        bench.assert_serves(&format!("reply~{n}.pdf")).await;
        tokio::time::sleep(Duration::from_micros(16_000 + n * 131 % 8000)).await;
    }
    assert_eq!(bench.snapshot().outcomes["failure"], 0);
    bench.assert_whole().await;
}

/// F15: a replacement that fails to start is not tried again and again.
#[tokio::test(flavor = "multi_thread")]
async fn a_replacement_that_fails_is_no_busy_loop() {
    let bench = Bench::new(|settings| settings.prewarm = 1);
    eventually("one is warm", || bench.snapshot().starts.ok == 1).await;
    bench.chaos.script("start-exit:3");
    for pid in bench.chaos.processes() {
        super::harness::kill(pid, rustix::process::Signal::KILL);
    }
    eventually("one was tried", || bench.snapshot().starts.failed == 1).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let snapshot = bench.snapshot();
    assert_eq!(snapshot.starts.failed, 1);
    assert!(
        snapshot.breaker.last_reason.unwrap().contains("status 3"),
        "kept for the next caller"
    );
    bench.assert_whole().await;
}

/// F16: history does not show: fresh, warm, or just after a failure, the reply is the same, byte for
/// byte.
#[tokio::test(flavor = "multi_thread")]
async fn history_does_not_show() {
    let bench = Bench::new(|settings| settings.max_concurrency = 1);
    let fresh = bench.probe("reply~same.pdf").await;
    let mut order: Vec<&str> = vec![
        "error.pdf",
        "then-exit:1.pdf",
        "exit:1.pdf",
        "not-json.pdf",
        "two.pdf",
    ];
    for round in 0..6 {
        order.rotate_left(round % 3 + 1);
        for file in &order {
            let _whatever = bench.probe(file).await;
            let again = bench.probe("reply~same.pdf").await;
            assert_eq!(again.json(), fresh.json());
        }
    }
    bench.assert_whole().await;
}

/// F18: the most recently used child goes out first.
#[tokio::test(flavor = "multi_thread")]
async fn surplus_children_are_left_to_age() {
    let bench = Bench::new(|_| {});
    let pair = [bench.spawn("wait:200~a.pdf"), bench.spawn("wait:200~b.pdf")];
    for call in pair {
        within(call).await.unwrap();
    }
    let mut pids = std::collections::BTreeSet::new();
    for n in 0..10 {
        let reply = json(&bench.probe(&format!("who~{n}.pdf")).await);
        pids.insert(reply["pid"].as_u64().unwrap());
    }
    assert_eq!((bench.chaos.processes().len(), pids.len()), (2, 1));
    bench.assert_whole().await;
}

/// F2, F3, F4, F6, F7: a storm of everything at once, with the processes counted from outside.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_never_has_more_than_n_alive_and_loses_no_permit() {
    let n = 3;
    let bench = Bench::new(|settings| {
        settings.max_concurrency = n;
        settings.record_timeout = Duration::from_millis(150);
        settings.grace = Duration::from_millis(40);
        settings.max_records = Some(4);
        settings.idle = Some(Duration::from_millis(30));
        settings.prewarm = 1;
        settings.max_queue = 10_000;
        settings.queue_timeout = PATIENCE;
    });
    let census = Census::of(&bench.chaos);
    let verbs = [
        "reply",
        "wait:3",
        "exit:1",
        "reply",
        "two",
        "then-exit:2",
        "wait:400",
        "not-json",
        "error",
        "kill-self",
        "reply",
        "ignore-term+silent",
    ];
    let begun = Instant::now();
    let calls: Vec<_> = (0..240_usize)
        .map(|at| {
            let supervisor = bench.supervisor.clone();
            let file = format!("{}~{at}.pdf", verbs[at * 7 % verbs.len()]);
            let options = profile(at as u64 % 4);
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(at as u64 * 5)).await;
                let reply = supervisor.probe(&record(&file), &options).await;
                (file, reply)
            })
        })
        .collect();
    for (at, call) in calls.into_iter().enumerate() {
        if at % 11 == 5 {
            call.abort();
            continue;
        }
        let (file, reply) = within(call).await.unwrap();
        if file.starts_with("reply") && !reply.is_error() {
            assert_answers(&reply, &file);
        }
        if file.starts_with("exit") {
            assert!(reply.is_error(), "{}", reply.json());
        }
    }
    eprintln!(
        "storm: {:?}, {:?}",
        begun.elapsed(),
        bench.snapshot().recycles
    );
    assert!(census.most() <= n, "counted from outside");
    bench.assert_whole().await;
}

/// F1, I8: a worker whose job panicked or was dropped is taken out and killed at that moment.
#[tokio::test(flavor = "multi_thread")]
async fn a_busy_child_never_goes_back_to_the_pool() {
    let bench = Bench::on(Chaos::new(), |settings| settings.max_concurrency = 1);
    bench.assert_serves("reply.pdf").await;
    let supervisor = bench.supervisor.clone();
    let handler = tokio::spawn(async move {
        let (bad, options) = (record("wait:5000.pdf"), ProbeOptions::new());
        tokio::select! {
            _ = supervisor.probe(&bad, &options) => {}
            () = tokio::time::sleep(Duration::from_millis(100)) => panic!("a handler panics"),
        }
    });
    assert!(within(handler).await.unwrap_err().is_panic());
    bench.assert_serves("reply~next.pdf").await;
    assert_eq!(bench.ends("cancelled"), 1);
    bench.assert_whole().await;
}
