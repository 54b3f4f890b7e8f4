//! Chapter I: cancelling.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use deckprobe_mcp::contract::ProbeOptions;

use super::harness::{Bench, Chaos, assert_answers, eventually, record, within};
use super::pool::profile;

/// I1: cancelled in mid-record, the child is killed at once and the permit comes back.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_probe_kills_its_child_and_nobody_elses() {
    let bench = Bench::new(|settings| settings.max_concurrency = 2);
    let neighbour = bench.spawn("wait:400~neighbour.pdf");
    let call = bench.spawn("spin.pdf");
    eventually("both run", || {
        bench
            .snapshot()
            .workers
            .iter()
            .filter(|w| w.state == "busy")
            .count()
            == 2
    })
    .await;
    let begun = Instant::now();
    call.abort();
    eventually("its child is gone", || bench.chaos.processes().len() == 1).await;
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_answers(&within(neighbour).await.unwrap(), "wait:400~neighbour.pdf");
    bench.settle().await;
    assert_eq!(bench.ends("cancelled"), 1);
    assert_eq!(bench.snapshot().outcomes["cancelled"], 1);
    bench.assert_whole().await;
}

/// I3: cancelled just after the reply, the child is clean and stays.
#[tokio::test(flavor = "multi_thread")]
async fn a_probe_that_is_dropped_after_its_reply_costs_nothing() {
    let bench = Bench::new(|_| {});
    for n in 0..30 {
        let call = bench.spawn(&format!("reply~{n}.pdf"));
        within(call).await.unwrap();
    }
    assert_eq!(bench.snapshot().starts.ok, 1);
    bench.assert_whole().await;
}

/// Polls a future at most `most` times, then drops it. `true` when it was done by then.
async fn dropped_after<F: Future>(most: usize, future: F) -> bool {
    let mut future = pin!(future);
    let polls = AtomicUsize::new(0);
    poll_fn(|context| {
        if polls.fetch_add(1, Ordering::Relaxed) >= most {
            return Poll::Ready(false);
        }
        match future.as_mut().poll(context) {
            Poll::Ready(_) => Poll::Ready(true),
            // The future wakes the task when it can go on; that is the next await.
            Poll::Pending if polls.load(Ordering::Relaxed) >= most => Poll::Ready(false),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// I2, I4: dropped at every await there is, on a cold pool, a warm one, a full one, and one whose only
/// slot has to be taken from another profile.
#[tokio::test(flavor = "multi_thread")]
async fn a_probe_can_be_dropped_at_every_await() {
    for scene in ["cold", "warm", "other profile", "full", "failing"] {
        for polls in 1.. {
            let script = if scene == "failing" {
                "until:2:start-exit:1"
            } else {
                ""
            };
            let bench = Bench::on(Chaos::starting_with(script), |settings| {
                settings.max_concurrency = 1;
            });
            let mut busy = None;
            match scene {
                "warm" => bench.assert_serves("reply.pdf").await,
                "other profile" => {
                    bench.probe_with("reply.pdf", &profile(7)).await;
                }
                "full" => {
                    bench.assert_serves("reply.pdf").await;
                    busy = Some(bench.spawn("wait:60.pdf"));
                    eventually("it runs", || bench.snapshot().queue.permits_in_use == 1).await;
                }
                _ => {}
            }
            let (file, options) = (record("wait:20~x.pdf"), ProbeOptions::new());
            let done = within(dropped_after(
                polls,
                bench.supervisor.probe(&file, &options),
            ))
            .await;
            if let Some(busy) = busy {
                within(busy).await.unwrap();
            }
            if scene != "failing" {
                bench.assert_serves("reply~after.pdf").await;
            }
            bench.assert_whole().await;
            if done {
                assert!(polls > 1, "{scene} has awaits to be dropped at");
                break;
            }
        }
    }
}

/// I6: a batch is dropped half-way: what runs is killed, what has not started never does.
#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_batch_stops() {
    let bench = Bench::new(|settings| settings.max_concurrency = 3);
    let records = (0..50).map(|n| Ok(record(&format!("wait:50~{n}.pdf"))));
    let mut batch = bench
        .supervisor
        .batch(records, ProbeOptions::new())
        .unwrap();
    for _ in 0..4 {
        within(batch.next()).await.unwrap();
    }
    drop(batch);
    bench.settle().await;
    let snapshot = bench.snapshot();
    assert_eq!(snapshot.queue.batches, 0);
    let answered: u64 = ["ok", "cancelled"]
        .iter()
        .map(|k| snapshot.outcomes[*k])
        .sum();
    assert!(answered < 12, "{:?}", snapshot.outcomes);
    bench.assert_serves("reply.pdf").await;
    bench.assert_whole().await;
}
