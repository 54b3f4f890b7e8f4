//! Chapter H: load and fairness.

use std::time::{Duration, Instant};

use deckprobe_mcp::contract::{ErrorCode, ProbeOptions, Record};
use deckprobe_mcp::supervisor::{Batch, Introspection};

use super::harness::{
    Bench, Chaos, PATIENCE, assert_answers, assert_fails, eventually, json, record, within,
};
use super::pool::profile;

fn batch(bench: &Bench, files: impl Iterator<Item = String> + Send + 'static) -> Batch {
    let records = files.map(|file| Ok(record(&file)));
    bench
        .supervisor
        .batch(records, ProbeOptions::new())
        .unwrap()
}

/// H1, H2, H8: the queue's bound holds exactly, what is refused spawns nothing, and a waiter that
/// leaves makes room at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_refuses_at_once() {
    let bench = Bench::new(|settings| {
        settings.max_concurrency = 1;
        settings.max_queue = 5;
    });
    bench.assert_serves("reply.pdf").await;
    let running = bench.spawn("wait:1500.pdf");
    eventually("it runs", || bench.snapshot().queue.permits_in_use == 1).await;
    let waiting: Vec<_> = (0..5)
        .map(|n| bench.spawn(&format!("reply~{n}.pdf")))
        .collect();
    eventually("five wait", || bench.snapshot().queue.waiting == 5).await;
    let begun = Instant::now();
    for _ in 0..100 {
        let reply = bench.probe("reply~late.pdf").await;
        assert_fails(
            &reply,
            ErrorCode::McpOverloaded,
            &["5 calls are waiting", "try again"],
        );
    }
    assert!(begun.elapsed() < Duration::from_secs(1));
    waiting[2].abort();
    eventually("its place is free", || bench.snapshot().queue.waiting == 4).await;
    bench.assert_serves("reply~lucky.pdf").await;
    within(running).await.unwrap();
    for (n, call) in waiting.into_iter().enumerate().filter(|(n, _)| *n != 2) {
        assert_answers(&within(call).await.unwrap(), &format!("reply~{n}.pdf"));
    }
    assert_eq!(bench.snapshot().starts.ok, 1);
    bench.assert_whole().await;
}

/// H3, H5, H7: single probes while a batch of 5,000 runs, also at N = 1; and the batch is done.
#[tokio::test(flavor = "multi_thread")]
async fn a_probe_behind_a_big_batch_waits_for_one_record_at_most() {
    for (n, records) in [(1, 1500), (4, 5000)] {
        let bench = Bench::new(|settings| settings.max_concurrency = n);
        bench.assert_serves("reply.pdf").await;
        let mut big = batch(&bench, (0..records).map(|n| format!("reply~{n}.pdf")));
        let draining = tokio::spawn(async move {
            let mut count = 0;
            while let Some((at, reply)) = big.next().await {
                assert_answers(&reply, &format!("reply~{at}.pdf"));
                count += 1;
            }
            count
        });
        let mut waits = Vec::new();
        while !draining.is_finished() {
            let begun = Instant::now();
            bench.assert_serves("reply~single.pdf").await;
            waits.push(begun.elapsed());
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
        assert_eq!(within(draining).await.unwrap(), records);
        waits.sort_unstable();
        let p99 = waits[waits.len() * 99 / 100];
        eprintln!(
            "N={n}: {} probes beside {records} records: p50 {:?}, p99 {p99:?}",
            waits.len(),
            waits[waits.len() / 2]
        );
        // The whole batch takes seconds; a machine that is busy otherwise must not fail this.
        assert!(p99 < Duration::from_secs(1), "{p99:?}");
        bench.assert_whole().await;
    }
}

/// H4: all batches together leave one permit.
#[tokio::test(flavor = "multi_thread")]
async fn batches_together_hold_at_most_n_minus_one() {
    let bench = Bench::new(|settings| settings.max_concurrency = 3);
    let mut batches: Vec<_> = (0..4)
        .map(|b| batch(&bench, (0..6).map(move |n| format!("wait:60~{b}-{n}.pdf"))))
        .collect();
    let mut most = 0;
    for _ in 0..40 {
        let busy = bench
            .snapshot()
            .workers
            .iter()
            .filter(|w| w.state == "busy")
            .count();
        most = most.max(busy);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(most, 2);
    for batch in &mut batches {
        let mut answered = 0;
        while within(batch.next()).await.is_some() {
            answered += 1;
        }
        assert_eq!(answered, 6);
    }
    bench.assert_whole().await;
}

/// H6: a small batch behind a big one takes turns with it by record.
#[tokio::test(flavor = "multi_thread")]
async fn batches_take_turns_by_record() {
    let bench = Bench::new(|_| {});
    let mut big = batch(&bench, (0..200).map(|n| format!("wait:5~{n}.pdf")));
    within(big.next()).await.unwrap();
    let mut small = batch(&bench, (0..5).map(|n| format!("wait:5~small{n}.pdf")));
    let mut answered = 0;
    while within(small.next()).await.is_some() {
        answered += 1;
    }
    assert_eq!(answered, 5);
    let mut left = 0;
    while within(big.next()).await.is_some() {
        left += 1;
    }
    assert!(left > 120, "the big one was far from done: {left} left");
    bench.assert_whole().await;
}

/// H5: a stream of probes that takes every permit does not starve a batch.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_probes_does_not_starve_a_batch() {
    let bench = Bench::new(|settings| settings.max_concurrency = 2);
    let stop = tokio_util::sync::CancellationToken::new();
    let streams: Vec<_> = (0..6)
        .map(|_| {
            let (supervisor, stop) = (bench.supervisor.clone(), stop.clone());
            tokio::spawn(async move {
                while !stop.is_cancelled() {
                    supervisor
                        .probe(&record("wait:2.pdf"), &ProbeOptions::new())
                        .await;
                }
            })
        })
        .collect();
    eventually("the stream runs", || bench.snapshot().queue.waiting >= 3).await;
    let mut slow = batch(&bench, (0..20).map(|n| format!("reply~{n}.pdf")));
    for _ in 0..20 {
        assert!(within(slow.next()).await.is_some());
    }
    stop.cancel();
    for stream in streams {
        within(stream).await.unwrap();
    }
    bench.assert_whole().await;
}

/// H11: the snapshot and what is remembered answer without a permit.
#[tokio::test(flavor = "multi_thread")]
async fn looking_in_needs_no_permit() {
    let bench = Bench::new(|settings| settings.max_concurrency = 1);
    bench
        .supervisor
        .introspect(&Introspection::Formats)
        .await
        .unwrap();
    let running = bench.spawn("wait:1000.pdf");
    eventually("it runs", || bench.snapshot().queue.permits_in_use == 1).await;
    let begun = Instant::now();
    bench
        .supervisor
        .introspect(&Introspection::Formats)
        .await
        .unwrap();
    bench.supervisor.engine().await.unwrap();
    let text = serde_json::to_string(&bench.snapshot()).unwrap();
    assert!(text.contains("\"permits_in_use\":1"), "{text}");
    assert!(begun.elapsed() < Duration::from_millis(500));
    within(running).await.unwrap();
    bench.assert_whole().await;
}

/// Introspection that hangs: who waits for the answer waits as long as for a permit, not behind everyone.
#[tokio::test(flavor = "multi_thread")]
async fn discovery_that_hangs_holds_up_nobody_for_longer_than_the_queue_may() {
    use std::os::unix::fs::PermissionsExt;
    let chaos = Chaos::new();
    let script = chaos.folder().join("mute");
    let text =
        "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'deckprobe 2.4.0'; else sleep 600; fi\n";
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let bench = Bench::on(chaos, |settings| {
        settings.bin = Some(script);
        settings.record_timeout = Duration::from_millis(1500);
        settings.queue_timeout = Duration::from_millis(300);
    });
    bench.supervisor.engine().await.unwrap();
    let begun = Instant::now();
    let asked = (0..10).map(|_| bench.supervisor.introspect(&Introspection::Formats));
    let answers = within(futures_util::future::join_all(asked)).await;
    assert!(
        begun.elapsed() < Duration::from_secs(6),
        "not one after the other"
    );
    let code = |answer: &Result<_, deckprobe_mcp::contract::Reply>| {
        answer.as_ref().err().and_then(|reply| reply.head().code)
    };
    let count_of = |wanted| {
        answers
            .iter()
            .filter(|answer| code(answer) == Some(wanted))
            .count()
    };
    assert_eq!(count_of(ErrorCode::McpEngineFailure), 1);
    assert_eq!(count_of(ErrorCode::McpOverloaded), 9);
    bench.assert_whole().await;
}

/// Introspection: asked once by a child of its own; errors are the engine's own, and are not remembered.
#[tokio::test(flavor = "multi_thread")]
async fn discovery_is_asked_once() {
    let bench = Bench::new(|_| {});
    let pdf = Introspection::Targets("pdf".into());
    let asked = (0..20).map(|_| bench.supervisor.introspect(&pdf));
    for answer in within(futures_util::future::join_all(asked)).await {
        assert!(answer.unwrap().starts_with(r#"{"driver":"pdf""#));
    }
    bench
        .supervisor
        .introspect(&Introspection::Schema)
        .await
        .unwrap();
    for name in ["xyz", "--help", "-"] {
        let refused = bench
            .supervisor
            .introspect(&Introspection::Targets(name.into()))
            .await;
        let refused = refused.unwrap_err();
        assert_eq!(
            refused.head().code,
            Some(ErrorCode::UnsupportedFormat),
            "{}",
            refused.json()
        );
    }
    bench.settle().await;
    // Its version, two answers, three refusals.
    assert_eq!(bench.ends("discovery"), 6);
    bench.assert_whole().await;
}

/// Eight profiles compete for four slots.
#[tokio::test(flavor = "multi_thread")]
async fn eight_profiles_share_four_slots() {
    let bench = Bench::new(|settings| {
        settings.max_concurrency = 4;
        settings.queue_timeout = PATIENCE;
    });
    let mut calls = Vec::new();
    for n in 0..160_u64 {
        let (supervisor, file) = (bench.supervisor.clone(), format!("who~{n}.pdf"));
        calls.push(tokio::spawn(async move {
            let begun = Instant::now();
            let reply = supervisor.probe(&record(&file), &profile(n % 8)).await;
            (n, reply, begun.elapsed())
        }));
        tokio::time::sleep(Duration::from_millis(4)).await;
    }
    let mut waits = Vec::new();
    for call in calls {
        let (n, reply, wait) = within(call).await.unwrap();
        let arguments = json(&reply)["arguments"].to_string();
        assert!(
            arguments.contains(&format!("={}", 10_000 + n % 8)),
            "{arguments}"
        );
        waits.push(wait);
    }
    waits.sort_unstable();
    eprintln!(
        "8 profiles on 4 slots: p50 {:?}, p99 {:?}, {} starts",
        waits[80],
        waits[158],
        bench.snapshot().starts.ok
    );
    bench.assert_whole().await;
}

/// H12, I10: a batch takes its records as their turns come, and a consumer that does not read holds no
/// permit.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_consumer_holds_nothing() {
    let bench = Bench::new(|_| {});
    let taken = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counter = std::sync::Arc::clone(&taken);
    let files = (0..100_000).map(move |n| {
        counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        format!("reply~{n}.pdf")
    });
    let idle = batch(&bench, files);
    let count = || taken.load(std::sync::atomic::Ordering::Relaxed);
    eventually("it stalls", || count() >= 30).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(count() <= 40, "{}", count());
    assert_eq!(bench.snapshot().queue.permits_in_use, 0);
    bench.assert_serves("reply~single.pdf").await;
    drop(idle);
    eventually("the batch is over", || bench.snapshot().queue.batches == 0).await;
    bench.assert_whole().await;
}

/// Ten thousand mixed records at concurrency 4 through a misbehaving engine: exactly one right reply
/// each.
#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_mixed_records_get_one_right_reply_each() {
    let bench = Bench::on(Chaos::new(), |settings| {
        settings.max_concurrency = 4;
        settings.record_timeout = Duration::from_millis(300);
        settings.grace = Duration::from_millis(30);
        settings.max_records = Some(500);
        settings.queue_timeout = PATIENCE;
    });
    let verb = |n: usize| match n % 1000 {
        17 | 517 => "exit:3",
        130 => "silent",
        231 => "not-json",
        333 => "kill-self",
        444 => "two",
        555 => "then-exit:1",
        666 => "half-exit",
        777 => "wait:600",
        888 => "swap",
        k if k % 50 == 9 => "error",
        _ => "reply",
    };
    let total = 10_000;
    let file = move |n: usize| format!("{}~{n}.pdf", verb(n));
    let mut all = batch(&bench, (0..total).map(file));
    let begun = Instant::now();
    let mut seen = vec![false; total];
    let mut collateral = 0;
    while let Some((n, reply)) = within(all.next()).await {
        assert!(
            !std::mem::replace(&mut seen[n], true),
            "{n} was answered twice"
        );
        let code = reply.head().code;
        match verb(n) {
            "error" => assert_eq!(code, Some(ErrorCode::MalformedInput)),
            "silent" => assert_eq!(code, Some(ErrorCode::McpTimeout)),
            // On a busy machine the reply may come before our timer does.
            "wait:600" if !reply.is_error() => assert_answers(&reply, &file(n)),
            "wait:600" => assert_eq!(code, Some(ErrorCode::McpTimeout)),
            "reply" | "two" | "then-exit:1" if !reply.is_error() => {
                assert_answers(&reply, &file(n));
            }
            // Hit by its predecessor's second line or late death: an honest failure.
            "reply" => {
                let honest = [
                    Some(ErrorCode::McpEngineFailure),
                    Some(ErrorCode::McpTimeout),
                ];
                assert!(honest.contains(&code), "{}", reply.json());
                collateral += 1;
            }
            _ if code == Some(ErrorCode::McpTimeout) => collateral += 1,
            _ => assert_fails(&reply, ErrorCode::McpEngineFailure, &[]),
        }
    }
    assert!(seen.iter().all(|answered| *answered), "none is lost");
    eprintln!(
        "{total} records in {:?}, {collateral} hit by a neighbour",
        begun.elapsed()
    );
    assert!(collateral <= 50, "{collateral}");
    bench.assert_whole().await;
}

/// I5: in one batch, each entry has its own outcome.
#[tokio::test(flavor = "multi_thread")]
async fn one_bad_entry_spoils_no_other() {
    let bench = Bench::new(|settings| settings.record_timeout = Duration::from_millis(300));
    let outside = deckprobe_mcp::contract::Envelope::new(ErrorCode::McpPathOutsideRoots, "no");
    let entries: Vec<Result<Record, _>> = vec![
        Ok(record("reply~a.pdf")),
        Ok(record("silent.pdf")),
        Ok(record("exit:3.pdf")),
        Err(outside),
        Ok(record("reply~twice.pdf")),
        Ok(record("reply~twice.pdf")),
        Ok(record("error.pdf")),
        Ok(record("reply~z.pdf")),
    ];
    let mut running = bench
        .supervisor
        .batch(entries, ProbeOptions::new())
        .unwrap();
    let mut replies = std::collections::BTreeMap::new();
    while let Some((at, reply)) = within(running.next()).await {
        assert!(replies.insert(at, reply).is_none());
    }
    let codes: Vec<_> = replies.values().map(|reply| reply.head().code).collect();
    let expected = [
        None,
        Some(ErrorCode::McpTimeout),
        Some(ErrorCode::McpEngineFailure),
        Some(ErrorCode::McpPathOutsideRoots),
        None,
        None,
        Some(ErrorCode::MalformedInput),
        None,
    ];
    assert_eq!(codes, expected);
    assert_answers(&replies[&7], "reply~z.pdf");
    bench.assert_whole().await;
}
