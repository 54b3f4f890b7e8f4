//! Chapter A: starting.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::time::{Duration, Instant};

use deckprobe_mcp::contract::{ErrorCode, ProbeOptions, Record};
use deckprobe_mcp::supervisor::{Introspection, SandboxMode, Settings};

use super::harness::{
    Bench, Chaos, assert_answers, assert_fails, eventually, json, launcher, record, skip, within,
};
use super::host::Host;

const FAILURE: ErrorCode = ErrorCode::McpEngineFailure;

/// A1: what cannot be started is named, with what sets it.
#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_cannot_start_is_named_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str, mode: u32| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let cases = [
        (folder.path().join("nowhere"), "no such file"),
        (folder.path().to_path_buf(), "not a regular file"),
        (file("plain", "hello", 0o644), "not executable"),
        (
            file("other-machine", "\x7fELF\x02\x01\x01garbage", 0o755),
            "asked for its version it exited with status",
        ),
        (
            file("no-interpreter", "#!/no/such/shell\n", 0o755),
            "No such file",
        ),
    ];
    for (path, why) in cases {
        let bench = Bench::new(|settings| settings.bin = Some(path.clone()));
        let reply = bench.probe("reply.pdf").await;
        let name = path.to_str().unwrap();
        assert_fails(&reply, FAILURE, &[name, "DECKPROBE_MCP_BIN", why]);
        let snapshot = bench.snapshot();
        assert_eq!((snapshot.state, snapshot.starts.failed), ("failing", 1));
        bench.assert_whole().await;
    }
}

/// A2: the file is still open for writing, as just after an upgrade.
#[tokio::test(flavor = "multi_thread")]
async fn a_busy_file_is_tried_again_for_a_moment() {
    let chaos = Chaos::copied();
    let writer = std::fs::OpenOptions::new()
        .append(true)
        .open(&chaos.program)
        .unwrap();
    let bench = Bench::on(chaos, |_| {});
    let call = bench.spawn("reply.pdf");
    tokio::time::sleep(Duration::from_millis(20)).await;
    drop(writer);
    assert_answers(&within(call).await.unwrap(), "reply.pdf");
    bench.assert_whole().await;
}

/// A3: no descriptors left in the supervisor; afterwards all is well again.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_without_resources_fails_alone() {
    let chaos = Chaos::new();
    let mut host = Host::start(&chaos, 10_000);
    assert_eq!(host.probe("then-exit:0.pdf")["status"], "ok");
    let pid = rustix::process::Pid::from_raw(i32::try_from(host.pid()).unwrap());
    let few = |current| rustix::process::Rlimit {
        current,
        maximum: Some(4096),
    };
    let nofile = rustix::process::Resource::Nofile;
    rustix::process::prlimit(pid, nofile, few(Some(3))).unwrap();
    // The first may still find a child that was started in the background.
    let replies: Vec<_> = (0..4).map(|_| host.probe("then-exit:0.pdf")).collect();
    let starved = |reply: &serde_json::Value| {
        let message = reply["error"]["message"].as_str().unwrap_or_default();
        message.contains("Too many open files") || message.contains("os error 24")
    };
    assert!(replies.iter().any(starved), "{replies:?}");
    rustix::process::prlimit(pid, nofile, few(Some(1024))).unwrap();
    let begun = Instant::now();
    while host.probe("reply.pdf")["status"] != "ok" {
        assert!(begun.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(100));
    }
    host.close();
    assert!(host.process.wait().unwrap().success());
    chaos.assert_all_gone().await;
}

/// A3: no descriptors for another child, while one runs: calls wait for that one instead of failing.
#[tokio::test(flavor = "multi_thread")]
async fn calls_that_cannot_start_a_child_wait_for_one_that_runs() {
    let chaos = Chaos::new();
    let mut host = Host::start(&chaos, 10_000);
    assert_eq!(host.probe("reply.pdf")["status"], "ok");
    let pid = rustix::process::Pid::from_raw(i32::try_from(host.pid()).unwrap());
    let few = |current| rustix::process::Rlimit {
        current,
        maximum: Some(4096),
    };
    let nofile = rustix::process::Resource::Nofile;
    rustix::process::prlimit(pid, nofile, few(Some(3))).unwrap();
    for n in 0..60 {
        host.ask(&format!("wait:2~{n}.pdf"));
    }
    for _ in 0..60 {
        let reply = host.reply();
        assert_eq!(reply["status"], "ok", "{reply}");
    }
    assert_eq!(host.snapshot()["starts"]["ok"], 1, "one served them all");
    rustix::process::prlimit(pid, nofile, few(Some(1024))).unwrap();
    host.close();
    assert!(host.process.wait().unwrap().success());
    chaos.assert_all_gone().await;
}

/// A3: a user who may have few processes and threads: our own path checks must not take those that
/// children need.
#[test]
fn a_small_limit_of_processes_is_enough_for_any_number_of_probes() {
    use std::os::unix::process::CommandExt;
    // Limits of processes do not hold for root, and count those of all programs of a user.
    if !rustix::process::geteuid().is_root() {
        return skip("only root can become a user without other processes");
    }
    let folder = tempfile::tempdir().unwrap();
    let mode = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(folder.path(), 0o755);
    let program = folder.path().join("deckprobe-mcp");
    std::fs::copy(launcher(), &program).unwrap();
    mode(&program, 0o755);
    let document = folder.path().join("quarterly.docx");
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/quarterly.docx");
    std::fs::copy(fixture, &document).unwrap();
    mode(&document, 0o644);
    let user = 60_000 + std::process::id() % 5000;
    let output = Command::new("bash")
        .args(["-c", "ulimit -u 20 && exec \"$@\"", "bash"])
        .arg(&program)
        .arg("probe")
        .args(std::iter::repeat_n(&document, 400))
        .env("DECKPROBE_MCP_ENGINE", "builtin")
        .uid(user)
        .gid(user)
        .current_dir("/")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr:.2000}");
    let reports = String::from_utf8_lossy(&output.stdout);
    assert_eq!(reports.matches("\"status\":\"ok\"").count(), 400);
}

/// A4: it exits at once, without a word.
#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_exits_at_once_is_a_failed_start() {
    for status in [0, 3] {
        let chaos = Chaos::starting_with(&format!("start-exit:{status}"));
        let bench = Bench::on(chaos, |_| {});
        let says = format!("exited with status {status} before it was ready");
        assert_fails(&bench.probe("reply.pdf").await, FAILURE, &[&says]);
        assert_eq!(bench.snapshot().breaker.recent_failures, 1);
        bench.assert_whole().await;
    }
}

/// A5: once the cause is gone, the very next start works.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_start_leaves_nothing_broken() {
    let bench = Bench::on(Chaos::starting_with("until:3:start-exit:3"), |_| {});
    for _ in 0..3 {
        assert_fails(&bench.probe("reply.pdf").await, FAILURE, &["status 3"]);
    }
    bench.assert_serves("reply.pdf").await;
    assert_eq!(bench.snapshot().breaker.state, "closed");
    bench.assert_whole().await;
}

/// A6: it starts and never answers.
#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_is_never_ready_is_given_up_at_the_start_budget() {
    for script in [
        "start-wait:60000",
        "start-never-read",
        "ignore-term\nstart-never-read",
    ] {
        let bench = Bench::on(Chaos::starting_with(script), |settings| {
            settings.start_timeout = Duration::from_millis(400);
        });
        let reply = bench.probe("reply.pdf").await;
        assert_fails(&reply, FAILURE, &["not ready within 400 ms"]);
        bench.assert_whole().await;
    }
}

/// A7: it prints something before anything was asked.
#[tokio::test(flavor = "multi_thread")]
async fn a_banner_is_a_failed_start() {
    let bench = Bench::on(Chaos::starting_with("banner"), |_| {});
    assert_fails(
        &bench.probe("reply.pdf").await,
        FAILURE,
        &["hello, I am an engine"],
    );
    bench.assert_whole().await;
}

/// A8, H10: slow starts are not multiplied by those who wait.
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_callers_of_a_cold_pool_start_no_more_than_n() {
    let bench = Bench::on(Chaos::starting_with("start-wait:300"), |_| {});
    let calls: Vec<_> = (0..1000)
        .map(|n| bench.spawn(&format!("reply~{n}.pdf")))
        .collect();
    for (n, call) in calls.into_iter().enumerate() {
        assert_answers(&within(call).await.unwrap(), &format!("reply~{n}.pdf"));
    }
    assert!(bench.snapshot().starts.ok <= 2);
    bench.assert_whole().await;
}

/// A9: the caller leaves during a start; the child is kept.
#[tokio::test(flavor = "multi_thread")]
async fn a_child_whose_caller_left_during_the_start_serves_the_next() {
    let bench = Bench::on(Chaos::starting_with("start-wait:300"), |_| {});
    let call = bench.spawn("reply~gone.pdf");
    eventually("it is starting", || {
        bench
            .snapshot()
            .workers
            .iter()
            .any(|w| w.state == "starting")
    })
    .await;
    call.abort();
    bench.assert_serves("reply.pdf").await;
    bench.settle().await;
    assert!(bench.snapshot().starts.ok <= 2);
    assert_eq!(bench.ends("cancelled"), 0);
    bench.assert_whole().await;
}

/// A10: our own program, linked or copied as an engine.
#[tokio::test(flavor = "multi_thread")]
async fn our_own_program_is_refused_as_an_engine() {
    let folder = tempfile::tempdir().unwrap();
    let linked = folder.path().join("deckprobe");
    symlink(launcher(), &linked).unwrap();
    let copied = folder.path().join("copied");
    std::fs::copy(launcher(), &copied).unwrap();
    for (path, why) in [
        (launcher(), "this very program"),
        (linked, "this very program"),
        (copied, "not a deckprobe engine"),
    ] {
        let bench = Bench::new(|settings| settings.bin = Some(path));
        assert_fails(&bench.probe("reply.pdf").await, FAILURE, &[why]);
        bench.assert_whole().await;
    }
}

/// A11: an engine of another time.
#[tokio::test(flavor = "multi_thread")]
async fn an_old_engine_is_refused_with_its_version() {
    let bench = Bench::on(Chaos::starting_with("version:1.9.0"), |_| {});
    assert_fails(
        &bench.probe("reply.pdf").await,
        FAILURE,
        &["1.9.0", "2.4.0"],
    );
    let refused = bench.supervisor.engine().await.unwrap_err();
    assert!(refused.message.contains("1.9.0"), "{refused}");
    bench.assert_whole().await;
}

/// A13: the file that took the engine's place does not work. The old children serve on, the file is
/// tried once and not every second, and a mended one is found at once.
#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_that_does_not_work_is_tried_once() {
    let bench = Bench::on(Chaos::copied(), |_| {});
    bench.assert_serves("reply~before.pdf").await;
    let tries = bench.chaos.folder().join("tries");
    let text = format!("#!/bin/sh\necho >> '{}'\nexit 3\n", tries.display());
    put_script(&bench.chaos.folder().join("broken"), &text);
    std::fs::rename(bench.chaos.folder().join("broken"), &bench.chaos.program).unwrap();
    let tried = || std::fs::read(&tries).unwrap_or_default().len();
    let begun = Instant::now();
    let mut n = 0;
    while tried() == 0 || begun.elapsed() < Duration::from_secs(4) {
        assert!(begun.elapsed() < Duration::from_secs(20));
        n += 1;
        bench.assert_serves(&format!("reply~{n}.pdf")).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(tried(), 1, "in {:?}", begun.elapsed());
    bench.chaos.script("version:2.5.0");
    bench.chaos.replace();
    let begun = Instant::now();
    while json(&bench.probe("reply.pdf").await)["tool_version"] != "2.5.0" {
        assert!(begun.elapsed() < Duration::from_secs(20));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    bench.assert_whole().await;
}

/// A1: the engine was there when it was looked for, and is gone when a child is started from it. The
/// launcher's own words about that are not shown raw.
#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_is_gone_is_named_with_the_reason() {
    for sandbox in [SandboxMode::Off, SandboxMode::Auto] {
        let bench = Bench::on(Chaos::copied(), |settings| settings.sandbox = sandbox);
        bench.supervisor.engine().await.unwrap();
        std::fs::remove_file(&bench.chaos.program).unwrap();
        let reply = bench.probe("reply.pdf").await;
        assert_fails(&reply, FAILURE, &["deckprobe (set by", "No such file"]);
        assert!(!reply.json().contains("launch"), "{}", reply.json());
        bench.assert_whole().await;
    }
}

fn put_script(path: &std::path::Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A12: a wrapper script; the engine is its child.
#[tokio::test(flavor = "multi_thread")]
async fn a_wrapper_script_ends_with_the_engine_behind_it() {
    for sandbox in [SandboxMode::Off, SandboxMode::Auto] {
        let chaos = Chaos::new();
        let script = chaos.folder().join("wrapper");
        let text = format!("#!/bin/sh\n'{}' \"$@\"\nexit $?\n", chaos.program.display());
        put_script(&script, &text);
        let bench = Bench::on(chaos, |settings| {
            settings.bin = Some(script);
            settings.record_timeout = Duration::from_millis(600);
            settings.sandbox = sandbox;
        });
        bench.assert_serves("reply.pdf").await;
        let reply = bench.probe("silent.pdf").await;
        assert_fails(&reply, ErrorCode::McpTimeout, &[]);
        bench.chaos.assert_all_gone().await;
        bench.assert_serves("reply~next.pdf").await;
        bench.assert_whole().await;
    }
}

/// A13: the engine is replaced on disk while it serves.
#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_on_disk_is_noticed_and_loses_nothing() {
    let bench = Bench::on(Chaos::copied(), |_| {});
    let formats = bench
        .supervisor
        .introspect(&Introspection::Formats)
        .await
        .unwrap();
    assert!(formats.contains("2.4.0"));
    bench.assert_serves("reply~before.pdf").await;
    bench.chaos.script("version:2.5.0");
    bench.chaos.replace();
    let begun = Instant::now();
    for n in 0.. {
        let file = format!("reply~{n}.pdf");
        let reply = bench.probe(&file).await;
        assert_answers(&reply, &file);
        if json(&reply)["tool_version"] == "2.5.0" {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(20));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(
        bench.supervisor.engine().await.unwrap().tool_version,
        "2.5.0"
    );
    let formats = bench
        .supervisor
        .introspect(&Introspection::Formats)
        .await
        .unwrap();
    assert!(formats.contains("2.5.0"), "{formats}");
    assert!(bench.ends("upgraded") >= 1);
    assert_eq!(bench.snapshot().outcomes["failure"], 0);
    bench.assert_whole().await;
}

/// A14, A15, E17: what a child inherits.
#[tokio::test(flavor = "multi_thread")]
async fn a_child_inherits_no_signals_and_no_descriptors() {
    let chaos = Chaos::new();
    let mut shell = Command::new("/bin/sh");
    let own = std::env::current_exe().unwrap();
    // Ignored by our parent, as under nohup or a careless init.
    let script = "trap '' TERM INT HUP PIPE; exec \"$0\" \"$@\"";
    shell.args(["-c", script]).arg(own);
    let mut host = Host::start_by(shell, &chaos, 10_000);
    let neighbours: Vec<_> = (0..2).map(|n| format!("wait:500~{n}.pdf")).collect();
    for file in &neighbours {
        host.ask(file);
    }
    let limits = host.probe("limits.pdf");
    let state = limits["state"].as_str().unwrap();
    let mask = |name: &str| {
        let line = state
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    };
    // The stand-in is a Rust program, whose runtime ignores SIGPIPE (13) itself; 32 and 33 belong to
    // the C library.
    assert_eq!(mask("SigIgn:") & !(1 << 12 | 3 << 31), 0, "{state}");
    assert_eq!(mask("SigBlk:"), 0, "{state}");
    let files: Vec<_> = limits["files"].as_array().unwrap().iter().collect();
    let pipes = files
        .iter()
        .filter(|f| f.as_str().unwrap().starts_with("pipe:"));
    assert_eq!(pipes.count(), 3, "{files:?}");
    assert_eq!(
        files.len(),
        4,
        "three pipes and the listing itself: {files:?}"
    );
    assert_eq!(limits["group"], limits["pid"], "a group of its own");
    let core = limits["limits"]
        .as_str()
        .unwrap()
        .lines()
        .find(|l| l.contains("core file"));
    assert!(core.unwrap().contains("0                    0"), "{core:?}");
    host.close();
    chaos.assert_all_gone().await;
}

/// The environment of a child is emptied.
#[tokio::test(flavor = "multi_thread")]
async fn a_child_sees_none_of_our_environment() {
    let bench = Bench::new(|_| {});
    let reply = json(&bench.probe("env.pdf").await);
    let env = reply["env"].as_object().unwrap();
    assert_eq!(env["RAYON_NUM_THREADS"], "1");
    assert!(
        !env.contains_key("HOME") && !env.contains_key("PATH"),
        "{env:?}"
    );
    assert!(env.len() <= 3, "{env:?}");
    bench.assert_whole().await;
}

/// Options that the engine refuses at its start are refused alone, in its own words.
#[tokio::test(flavor = "multi_thread")]
async fn options_refused_at_the_start_say_nothing_about_the_engine() {
    let bench = Bench::on(
        Chaos::starting_with("count:2:refuse-arguments"),
        |settings| {
            settings.max_concurrency = 2;
        },
    );
    bench.assert_serves("reply.pdf").await;
    let other = ProbeOptions::new().with_targets(["@summary"]).unwrap();
    let reply = bench.probe_with("reply.pdf", &other).await;
    assert_eq!(
        reply.head().code,
        Some(ErrorCode::CliSyntax),
        "{}",
        reply.json()
    );
    assert_eq!(bench.snapshot().breaker.recent_failures, 0);
    bench.assert_serves("reply.pdf").await;
    bench.assert_whole().await;
}

/// Our own engine: one warm child serves every profile, under the sandbox that the system has.
#[tokio::test(flavor = "multi_thread")]
async fn the_built_in_engine_serves_every_profile_with_one_child() {
    let supervisor = deckprobe_mcp::supervisor::Supervisor::start(Settings {
        engine: deckprobe_mcp::supervisor::EngineChoice::Builtin,
        launcher: Some(launcher()),
        ..Settings::default()
    });
    let pdf = Record::from_base64("x.pdf", "JVBERi0xLjQK").unwrap();
    for n in 1..=8 {
        let budget = deckprobe_mcp::contract::Budget {
            timeout_ms: Some(1000 + n),
            ..Default::default()
        };
        let options = ProbeOptions::new()
            .with_targets(["@header"])
            .unwrap()
            .with_budget(budget);
        let reply = within(supervisor.probe(&pdf, &options)).await;
        assert!(
            reply.json().contains("\"schema_version\":2"),
            "{}",
            reply.json()
        );
        assert_ne!(reply.head().code, Some(FAILURE), "{}", reply.json());
    }
    assert_eq!(supervisor.snapshot().starts.ok, 1);
    assert!(record("x.pdf").display_name().is_some());
    let rest = supervisor
        .drain(
            Duration::from_secs(5),
            deckprobe_mcp::supervisor::Waiting::Refuse,
        )
        .await;
    assert!(rest.lost.is_empty());
}
