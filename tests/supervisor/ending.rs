//! Chapter J: ending.

use std::time::{Duration, Instant};

use deckprobe_mcp::contract::ErrorCode;
use deckprobe_mcp::supervisor::Waiting;
use rustix::process::Signal;

use super::harness::{Bench, Chaos, assert_answers, assert_fails, eventually, kill, within};
use super::host::Host;

/// J3: SIGKILL of the supervisor while children are idle, asleep, busy and starting.
#[tokio::test(flavor = "multi_thread")]
async fn no_child_outlives_a_killed_supervisor() {
    for files in [
        &["reply.pdf"][..],
        &["spin.pdf", "silent.pdf", "ignore-term+spin.pdf"],
        &["reply~a.pdf", "wait:60000.pdf"],
    ] {
        let chaos = Chaos::new();
        let mut host = Host::start(&chaos, 60_000);
        assert_eq!(host.probe("reply.pdf")["status"], "ok");
        for file in files {
            host.ask(file);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(!chaos.processes().is_empty());
        kill(host.pid(), Signal::KILL);
        host.process.wait().unwrap();
        let begun = Instant::now();
        chaos.assert_all_gone().await;
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
    let chaos = Chaos::starting_with("start-wait:30000");
    let mut host = Host::start(&chaos, 60_000);
    host.ask("reply.pdf");
    eventually("it starts", || !chaos.processes().is_empty()).await;
    kill(host.pid(), Signal::KILL);
    host.process.wait().unwrap();
    chaos.assert_all_gone().await;
}

/// J4: the thread that asked for a child ends; the child lives on.
#[test]
fn a_child_is_not_tied_to_the_thread_that_asked_for_it() {
    let short_lived = || {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_keep_alive(Duration::from_millis(1))
            .enable_all()
            .build()
            .unwrap()
    };
    let runtime = short_lived();
    let bench = runtime.block_on(async {
        let bench = Bench::new(|_| {});
        bench.assert_serves("reply~a.pdf").await;
        bench
    });
    // Threads that took part in the start come and go.
    for _ in 0..20 {
        runtime.block_on(runtime.spawn_blocking(|| ())).unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::spawn(move || {
        runtime.block_on(async {
            bench.assert_serves("reply~b.pdf").await;
            assert_eq!(bench.snapshot().starts.ok, 1, "the same child");
            bench.assert_whole().await;
        });
    })
    .join()
    .unwrap();
}

/// J1: the end of input: what is in flight and what waits is answered within the time.
#[tokio::test(flavor = "multi_thread")]
async fn a_serving_drain_answers_everyone_who_was_there() {
    let bench = Bench::new(|settings| settings.max_concurrency = 1);
    bench.assert_serves("reply.pdf").await;
    let calls: Vec<_> = (0..5)
        .map(|n| bench.spawn(&format!("wait:50~{n}.pdf")))
        .collect();
    eventually("they wait", || bench.snapshot().queue.waiting == 4).await;
    let rest = within(
        bench
            .supervisor
            .drain(Duration::from_secs(10), Waiting::Serve),
    )
    .await;
    assert_eq!(rest.abandoned, 0);
    for (n, call) in calls.into_iter().enumerate() {
        assert_answers(&within(call).await.unwrap(), &format!("wait:50~{n}.pdf"));
    }
    let late = bench.probe("reply.pdf").await;
    assert_fails(&late, ErrorCode::McpShuttingDown, &[]);
    bench.assert_whole().await;
}

/// J1: what is not done at the end of the time gets `MCP_SHUTTING_DOWN`.
#[tokio::test(flavor = "multi_thread")]
async fn a_drain_is_bounded() {
    for waiting in [Waiting::Serve, Waiting::Refuse] {
        let bench = Bench::new(|settings| settings.max_concurrency = 1);
        bench.assert_serves("reply.pdf").await;
        let calls = [bench.spawn("silent~a.pdf"), bench.spawn("silent~b.pdf")];
        eventually("one runs, one waits", || {
            bench.snapshot().queue.waiting == 1
        })
        .await;
        eventually("it is busy", || {
            bench.snapshot().workers.iter().any(|w| w.state == "busy")
        })
        .await;
        let begun = Instant::now();
        let limit = Duration::from_millis(400);
        let rest = within(bench.supervisor.drain(limit, waiting)).await;
        assert!(rest.abandoned >= 1, "{rest:?}");
        assert!(begun.elapsed() < Duration::from_secs(5));
        for call in calls {
            let reply = within(call).await.unwrap();
            assert_fails(&reply, ErrorCode::McpShuttingDown, &[]);
        }
        bench.assert_whole().await;
    }
}

/// J2, J10: a refusing drain answers what runs and refuses what waits and what comes.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusing_drain_answers_what_runs_and_refuses_the_rest() {
    let bench = Bench::new(|settings| settings.max_concurrency = 1);
    bench.assert_serves("reply.pdf").await;
    let running = bench.spawn("wait:600~runs.pdf");
    eventually("it runs", || bench.snapshot().queue.permits_in_use == 1).await;
    let waiting = bench.spawn("reply~waits.pdf");
    eventually("one waits", || bench.snapshot().queue.waiting == 1).await;
    let supervisor = bench.supervisor.clone();
    let drain = tokio::spawn(async move {
        supervisor
            .drain(Duration::from_secs(10), Waiting::Refuse)
            .await
    });
    assert_fails(
        &within(waiting).await.unwrap(),
        ErrorCode::McpShuttingDown,
        &[],
    );
    let begun = Instant::now();
    let late = bench.probe("reply~late.pdf").await;
    assert_fails(&late, ErrorCode::McpShuttingDown, &[]);
    assert!(begun.elapsed() < Duration::from_millis(400), "at once");
    assert_answers(&within(running).await.unwrap(), "wait:600~runs.pdf");
    assert_eq!(within(drain).await.unwrap().abandoned, 0);
    bench.assert_whole().await;
}

/// J6: the end is a barrier during a start, a backoff and a kill.
#[tokio::test(flavor = "multi_thread")]
async fn when_the_end_returns_nothing_is_left() {
    for (script, file) in [
        ("start-wait:300", "reply.pdf"),
        ("start-wait:60000", "reply.pdf"),
        ("start-exit:3", "reply.pdf"),
        ("", "ignore-term+silent.pdf"),
        ("", "fork+silent.pdf"),
    ] {
        let bench = Bench::on(Chaos::starting_with(script), |settings| {
            settings.record_timeout = Duration::from_millis(150);
        });
        let call = bench.spawn(file);
        tokio::time::sleep(Duration::from_millis(120)).await;
        let begun = Instant::now();
        within(
            bench
                .supervisor
                .drain(Duration::from_millis(500), Waiting::Refuse),
        )
        .await;
        assert!(begun.elapsed() < Duration::from_secs(6), "{script} {file}");
        assert_eq!(
            bench.chaos.processes(),
            Vec::<u32>::new(),
            "{script} {file}"
        );
        within(call).await.unwrap();
        bench.assert_whole().await;
    }
}

/// J2: the second signal: everything is killed at once.
#[tokio::test(flavor = "multi_thread")]
async fn an_abort_kills_everything_at_once() {
    let bench = Bench::new(|settings| settings.grace = Duration::from_secs(20));
    let calls = [
        bench.spawn("ignore-term+silent.pdf"),
        bench.spawn("spin.pdf"),
    ];
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
    bench.supervisor.abort();
    for call in calls {
        assert_fails(
            &within(call).await.unwrap(),
            ErrorCode::McpShuttingDown,
            &[],
        );
    }
    bench.chaos.assert_all_gone().await;
    assert!(begun.elapsed() < Duration::from_secs(10));
    bench.assert_whole().await;
}

/// J11: ended twice at once, or dropped without an end: the same final state.
#[tokio::test(flavor = "multi_thread")]
async fn ended_twice_or_dropped_it_is_the_same() {
    let bench = Bench::new(|_| {});
    bench.assert_serves("reply.pdf").await;
    let limit = Duration::from_secs(5);
    within(async {
        tokio::join!(
            bench.supervisor.drain(limit, Waiting::Serve),
            bench.supervisor.drain(limit, Waiting::Refuse),
        )
    })
    .await;
    bench.assert_whole().await;

    let bench = Bench::new(|_| {});
    let busy = bench.spawn("wait:100.pdf");
    bench.assert_serves("reply.pdf").await;
    let Bench { chaos, supervisor } = bench;
    drop(supervisor);
    assert_answers(&within(busy).await.unwrap(), "wait:100.pdf");
    chaos.assert_all_gone().await;
}

/// J11: the runtime itself is dropped under running children.
#[test]
fn a_runtime_that_ends_takes_the_children_along() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let bench = runtime.block_on(async {
        let bench = Bench::new(|_| {});
        let call = bench.spawn("fork+silent.pdf");
        eventually("it runs", || bench.chaos.processes().len() >= 2).await;
        drop(call);
        bench
    });
    runtime.shutdown_background();
    let begun = Instant::now();
    while !bench.chaos.processes().is_empty() {
        assert!(begun.elapsed() < super::harness::PATIENCE);
        std::thread::sleep(Duration::from_millis(10));
    }
}
