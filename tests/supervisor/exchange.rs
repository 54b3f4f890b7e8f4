//! Chapters B and C: handing a record over, and reading the reply.

use std::time::{Duration, Instant};

use deckprobe_mcp::contract::{ErrorCode, ProbeOptions, Record};

use super::harness::{Bench, assert_answers, assert_fails, json, kill, record, within};

const FAILURE: ErrorCode = ErrorCode::McpEngineFailure;

#[tokio::test(flavor = "multi_thread")]
async fn a_warm_child_serves_record_after_record() {
    let bench = Bench::new(|_| {});
    for n in 0..50 {
        bench.assert_serves(&format!("reply~{n}.pdf")).await;
    }
    let snapshot = bench.snapshot();
    assert_eq!(snapshot.starts.ok, 1, "one start for all of them");
    bench.assert_whole().await;
}

/// B1: the idle child was killed from outside.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_whose_child_died_while_idle_goes_to_another_silently() {
    let bench = Bench::new(|_| {});
    for n in 0..20 {
        bench.assert_serves(&format!("reply~{n}.pdf")).await;
        for pid in bench.chaos.processes() {
            kill(pid, rustix::process::Signal::KILL);
        }
        // `kill` returns before the process is dead.
        bench.chaos.assert_all_gone().await;
    }
    assert_eq!(bench.snapshot().outcomes["failure"], 0);
    bench.assert_whole().await;
}

/// B1: it closed its input, so that the write itself fails.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_whose_write_failed_whole_goes_to_another_silently() {
    let bench = Bench::new(|_| {});
    bench.assert_serves("close-in.pdf").await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    bench.assert_serves("reply~next.pdf").await;
    assert_eq!(bench.snapshot().resent, 1);
    bench.assert_whole().await;
}

/// A child that hangs between two records: the second is answered in time, and is not blamed.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_was_never_read_is_not_blamed() {
    let bench = Bench::new(|settings| {
        settings.record_timeout = Duration::from_millis(500);
        settings.strikes = 1;
    });
    for _ in 0..2 {
        bench.assert_serves("never-read.pdf").await;
        let reply = bench.probe("reply~innocent.pdf").await;
        let says = ["500 ms", "is not the cause"];
        assert_fails(&reply, ErrorCode::McpTimeout, &says);
    }
    bench.assert_serves("reply~innocent.pdf").await;
    bench.assert_whole().await;
}

/// B3, B5: it answers one record and never reads again; a record larger than the pipe then hangs in
/// the write.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_hangs_is_under_the_deadline() {
    let bench = Bench::new(|settings| settings.record_timeout = Duration::from_millis(500));
    bench.assert_serves("never-read.pdf").await;
    let big = Record::from_base64("big.pdf", "A".repeat(400_000)).unwrap();
    let options = ProbeOptions::new();
    let reply = within(bench.supervisor.probe(&big, &options)).await;
    assert_fails(&reply, ErrorCode::McpTimeout, &["500 ms"]);
    bench.assert_serves("reply~after.pdf").await;
    bench.assert_whole().await;
}

/// B4: a large record goes in while the reply trickles out and stderr floods.
#[tokio::test(flavor = "multi_thread")]
async fn writing_reading_and_draining_go_on_together() {
    let bench = Bench::new(|_| {});
    let options = ProbeOptions::new();
    for _ in 0..3 {
        let name = "stderr:3000000+wait:5.pdf";
        let big = Record::from_base64(name, "A".repeat(1_000_000)).unwrap();
        let reply = within(bench.supervisor.probe(&big, &options)).await;
        assert_eq!(json(&reply)["input"]["display_name"], name);
    }
    assert_eq!(bench.snapshot().starts.ok, 1);
    bench.assert_whole().await;
}

/// C1, E10: half a line, or none, then the end: a failure at once, not at the deadline.
#[tokio::test(flavor = "multi_thread")]
async fn an_end_in_the_middle_of_a_record_is_a_failure_at_once() {
    let bench = Bench::new(|_| {});
    let begun = Instant::now();
    for (file, says) in [
        ("half-exit.pdf", "exited with status 0"),
        ("exit:0.pdf", "exited with status 0"),
        ("exit:3.pdf", "exited with status 3"),
        ("panic.pdf", "exited with status 101"),
        ("signal:11.pdf", "signal 11 (SIGSEGV)"),
        ("signal:7.pdf", "signal 7 (SIGBUS)"),
        ("signal:24.pdf", "signal 24 (SIGXCPU)"),
        ("signal:31.pdf", "signal 31 (SIGSYS)"),
        ("abort.pdf", "signal 6 (SIGABRT)"),
        ("kill-self.pdf", "perhaps the system is out of memory"),
    ] {
        assert_fails(&bench.probe(file).await, FAILURE, &[says]);
        bench.assert_serves("reply~next.pdf").await;
    }
    assert!(
        begun.elapsed() < Duration::from_secs(9),
        "none waited for the deadline"
    );
    assert_eq!(bench.ends("exit"), 4);
    assert_eq!(bench.ends("signal"), 6);
    bench.assert_whole().await;
}

/// C4: the first line answers, the second reaches nobody: should it come late enough to meet the next
/// record, that one is tried again on a fresh child.
#[tokio::test(flavor = "multi_thread")]
async fn of_two_lines_the_first_answers_and_the_second_reaches_nobody() {
    let bench = Bench::new(|_| {});
    for n in 0..20 {
        let file = format!("two~{n}.pdf");
        let reply = bench.probe(&file).await;
        assert_answers(&reply, &file);
        assert!(json(&reply).get("second").is_none());
        bench.assert_serves(&format!("reply~{n}.pdf")).await;
    }
    bench.settle().await;
    assert_eq!(bench.ends("protocol"), 20);
    bench.assert_whole().await;
}

/// C5: a line nobody asked for is noticed while the child is idle.
#[tokio::test(flavor = "multi_thread")]
async fn an_unasked_line_ends_an_idle_child_before_the_next_record() {
    let bench = Bench::new(|_| {});
    bench.assert_serves("unasked:20.pdf").await;
    super::harness::eventually("the child is retired", || bench.ends("protocol") == 1).await;
    bench.assert_serves("reply~next.pdf").await;
    bench.assert_whole().await;
}

/// C20: an unasked line comes at about the moment of the hand-over, or while the next record runs. Nobody
/// gets it, nobody is blamed for it, and every record gets its own answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_stray_line_is_never_a_reply_and_fails_no_record() {
    let bench = Bench::new(|settings| settings.strikes = 1);
    for n in 0..60_u64 {
        let file = format!("unasked:{}~{n}.pdf", n % 4);
        bench.assert_serves(&file).await;
        tokio::time::sleep(Duration::from_micros(n * 97 % 4000)).await;
        bench.assert_serves(&format!("wait:3~next{n}.pdf")).await;
    }
    let snapshot = bench.settle().await;
    assert_eq!((snapshot.suspects, snapshot.refused), (0, 0));
    bench.assert_whole().await;
}

/// The child waits for a record, prints the stray line while it is in flight, and only then answers: the
/// line meets that record for certain.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_meets_a_stray_line_is_tried_again_on_a_fresh_child() {
    let bench = Bench::new(|settings| {
        settings.max_concurrency = 1;
        settings.strikes = 1;
    });
    for n in 0..5 {
        bench.assert_serves(&format!("reply~first{n}.pdf")).await;
        let warm = bench.chaos.processes();
        // Only the warm child answers for another: the fresh one finds that the verb was used already.
        bench.assert_serves(&format!("count:1:swap~{n}.pdf")).await;
        assert_ne!(bench.chaos.processes(), warm, "another child answered");
        bench.chaos.forget_occasions("swap");
    }
    let snapshot = bench.settle().await;
    assert_eq!((snapshot.resent, snapshot.suspects), (5, 0));
    assert_eq!(snapshot.recycles["protocol"], 5);
    bench.assert_whole().await;
}

/// The second attempt is the last, is charged to the document, and shares the deadline of the first.
#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_confuses_a_fresh_child_too_is_blamed() {
    let bench = Bench::new(|settings| {
        settings.record_timeout = Duration::from_secs(2);
        settings.strikes = 1;
    });
    bench.assert_serves("reply.pdf").await;
    let reply = bench.probe("swap.pdf").await;
    assert_fails(&reply, FAILURE, &["is not a reply"]);
    assert_eq!(bench.snapshot().resent, 1);
    assert_eq!(bench.snapshot().suspects, 1);

    bench.assert_serves("reply~again.pdf").await;
    let begun = Instant::now();
    let reply = bench.probe("wait:1200+count:1:swap+wait:1200.pdf").await;
    assert_fails(&reply, ErrorCode::McpTimeout, &["2000 ms"]);
    assert!(begun.elapsed() < Duration::from_secs(8), "one deadline");
    bench.assert_whole().await;
}

/// Every idle child was killed from outside at once: the second attempt does not meet another dead one.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_survives_though_every_idle_child_was_killed() {
    let bench = Bench::new(|settings| {
        settings.max_concurrency = 4;
        settings.strikes = 1;
    });
    for round in 0..10 {
        let calls: Vec<_> = (0..4)
            .map(|n| bench.spawn(&format!("wait:20~{round}-{n}.pdf")))
            .collect();
        for call in calls {
            assert!(!within(call).await.unwrap().is_error());
        }
        for pid in bench.chaos.processes() {
            kill(pid, rustix::process::Signal::KILL);
        }
        // `kill` returns before the process is dead.
        bench.chaos.assert_all_gone().await;
        bench.assert_serves(&format!("reply~{round}.pdf")).await;
    }
    assert_eq!(bench.snapshot().outcomes["failure"], 0);
    assert_eq!(bench.snapshot().suspects, 0);
    bench.assert_whole().await;
}

/// C6, D1: the late line of a record that missed its deadline reaches nobody.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_reply_is_never_read_as_the_next_one() {
    let bench = Bench::new(|settings| {
        settings.record_timeout = Duration::from_millis(250);
        settings.max_concurrency = 1;
    });
    for n in 0..6 {
        let late = bench.probe(&format!("wait:290~{n}.pdf")).await;
        assert_fails(&late, ErrorCode::McpTimeout, &["DECKPROBE_MCP_TIMEOUT_MS"]);
        bench.assert_serves(&format!("reply~{n}.pdf")).await;
    }
    bench.assert_whole().await;
}

/// C8, C9, C12: lines that are no reply to this record.
#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_is_no_reply_ends_the_child_and_is_shown_bounded_and_escaped() {
    let bench = Bench::new(|_| {});
    for file in [
        "not-json.pdf",
        "number.pdf",
        "array.pdf",
        "tail.pdf",
        "blank.pdf",
        "bom.pdf",
        "crlf.pdf",
        "bad-utf8.pdf",
        "deep-json.pdf",
        "swap.pdf",
    ] {
        let reply = bench.probe(file).await;
        assert_fails(&reply, FAILURE, &["is not a reply"]);
        assert!(reply.json().len() < 1000, "{}", reply.json());
        bench.assert_serves("reply~next.pdf").await;
    }
    bench.settle().await;
    // The first met a fresh child; the others were tried on a warm one and again on a fresh one.
    assert_eq!(bench.ends("protocol"), 19);
    assert_eq!(bench.snapshot().resent, 9);
    bench.assert_whole().await;
}

/// C10, C11: the cap on a line.
#[tokio::test(flavor = "multi_thread")]
async fn a_line_of_exactly_the_cap_is_a_reply_and_one_byte_more_is_not() {
    let cap = 200_000;
    let bench = Bench::new(|settings| settings.max_reply_bytes = cap);
    let reply = bench.probe(&format!("exactly:{cap}.pdf")).await;
    assert_eq!(reply.json().len(), cap);
    let reply = bench.probe(&format!("exactly:{}.pdf", cap + 1)).await;
    assert_fails(&reply, FAILURE, &["longer than 200000 bytes"]);
    bench.assert_serves("reply~next.pdf").await;
    let before = own_memory();
    let reply = bench.probe("huge:2000000000.pdf").await;
    assert_fails(&reply, FAILURE, &["longer than 200000 bytes"]);
    assert!(own_memory() < before + (64 << 20), "memory is flat");
    bench.assert_serves("reply~last.pdf").await;
    bench.assert_whole().await;
}

/// C13, C14, C15: stderr.
#[tokio::test(flavor = "multi_thread")]
async fn stderr_is_drained_at_any_rate_and_its_end_is_shown_escaped() {
    let bench = Bench::new(|_| {});
    for n in 0..3 {
        bench
            .assert_serves(&format!("stderr:30000000~{n}.pdf"))
            .await;
    }
    assert_eq!(
        bench.snapshot().starts.ok,
        1,
        "a flood is no reason to end a child"
    );
    let reply = bench.probe("say+exit:9.pdf").await;
    let says = [r"\\u{1b}[31mlast", "words", "status 9"];
    assert_fails(&reply, FAILURE, &says);
    bench.assert_whole().await;
}

/// C16: it closes its output and lives.
#[tokio::test(flavor = "multi_thread")]
async fn a_closed_output_is_the_end_of_a_child() {
    let bench = Bench::new(|_| {});
    let reply = bench.probe("close-out.pdf").await;
    assert_fails(&reply, FAILURE, &["closed its output"]);
    bench.assert_serves("reply~next.pdf").await;
    bench.assert_whole().await;
}

/// C18: numbers and key order come out as they went in (the stand-in prints sorted keys).
#[tokio::test(flavor = "multi_thread")]
async fn a_reply_is_verbatim_but_for_line_separators_which_are_escaped() {
    let bench = Bench::new(|_| {});
    let reply = bench.probe("reply~\u{2028}é.pdf").await;
    // Common readers of lines would split the reply there.
    let expected = concat!(
        r#"{"echo":"/x/reply~\u2028é.pdf","input":{"display_name":"reply~\u2028é.pdf","source_kind":"local_file"},"#,
        r#""schema_version":2,"status":"ok","tool_version":"2.4.0"}"#
    );
    assert_eq!(reply.json(), expected);
    bench.assert_whole().await;
}

/// C19, E14: the reply counts, the child is gone, the next record does not notice.
#[tokio::test(flavor = "multi_thread")]
async fn a_reply_stands_though_its_child_ends_behind_it() {
    let bench = Bench::new(|_| {});
    for n in 0..20 {
        bench.assert_serves(&format!("then-exit:{n}.pdf")).await;
    }
    assert_eq!(bench.snapshot().outcomes["failure"], 0);
    bench.assert_whole().await;
}

/// B6: whatever a name holds, one record is one line.
#[tokio::test(flavor = "multi_thread")]
async fn odd_names_are_one_record_each() {
    let bench = Bench::new(|_| {});
    for name in [
        "a\nb",
        "a\r\nb",
        "\u{2028}\u{2029}",
        "-l",
        "--help",
        "\u{202e}x",
        "\"\\",
    ] {
        let file = format!("reply~{name}.pdf");
        bench.assert_serves(&file).await;
    }
    assert!(Record::from_path("a\0b", None).is_err());
    assert_eq!(record("x.pdf").display_name(), Some("x.pdf"));
    assert_eq!(bench.snapshot().starts.ok, 1);
    bench.assert_whole().await;
}

fn own_memory() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm
        .split_ascii_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    pages * 4096
}
