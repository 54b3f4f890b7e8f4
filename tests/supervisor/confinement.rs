//! Chapter K: the sandbox.
#![cfg(target_os = "linux")]

use std::time::Duration;

use deckprobe_mcp::contract::{ErrorCode, ProbeOptions, Record};
use deckprobe_mcp::supervisor::{EngineChoice, SandboxMode, Settings, Supervisor, check_sandbox};

use super::harness::{Bench, assert_fails, example, json, within};

const FAILURE: ErrorCode = ErrorCode::McpEngineFailure;

fn confined(change: impl FnOnce(&mut Settings)) -> Bench {
    Bench::new(|settings| {
        settings.sandbox = SandboxMode::Auto;
        change(settings);
    })
}

/// The engine tries to write, to connect, to read outside the roots, to start a process, to signal its
/// parent and to read its environment. It may start threads.
#[tokio::test(flavor = "multi_thread")]
async fn a_confined_engine_reads_its_roots_and_nothing_else() {
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

/// The first fork is refused.
#[tokio::test(flavor = "multi_thread")]
async fn a_confined_engine_cannot_fork() {
    let bench = confined(|_| {});
    let reply = json(&bench.probe("fork.pdf").await);
    assert!(reply["refused"].is_string(), "{reply}");
    assert_eq!(bench.chaos.processes().len(), 1);
    bench.assert_whole().await;
}

/// K1: a child that allocates without end reaches its own limit, and the envelope names the limit.
#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_exceeds_its_memory_limit_ends_alone() {
    let bench = confined(|settings| settings.max_memory_bytes = Some(300 << 20));
    let reply = bench.probe("grow:4000.pdf").await;
    assert_fails(&reply, FAILURE, &["SIGABRT", "memory limit of 300 MiB"]);
    bench.assert_serves("reply.pdf").await;
    bench.assert_whole().await;
}

/// K2: a memory limit that makes every start fail is named in the error.
#[tokio::test(flavor = "multi_thread")]
async fn a_memory_limit_that_is_too_low_to_start_is_named() {
    let bench = confined(|settings| settings.max_memory_bytes = Some(1 << 20));
    let reply = bench.probe("reply.pdf").await;
    assert_fails(&reply, FAILURE, &["memory limit of 1 MiB"]);
    bench.assert_whole().await;
}

/// A child can open 256 descriptors at most.
#[tokio::test(flavor = "multi_thread")]
async fn descriptors_of_a_child_are_limited() {
    let bench = confined(|_| {});
    let reply = json(&bench.probe("fds:5000.pdf").await);
    assert!(reply["opened"].as_u64().unwrap() < 256, "{reply}");
    bench.assert_whole().await;
}

/// K9: with `require`, an engine starts only if the whole sandbox can be applied; `off` applies none.
#[tokio::test(flavor = "multi_thread")]
async fn a_required_sandbox_is_whole_or_nothing_starts() {
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

/// To the sandbox, a root that was deleted and created again is another directory: children are
/// replaced.
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

/// A confined child can be killed, also one that ignores SIGTERM.
#[tokio::test(flavor = "multi_thread")]
async fn a_confined_child_can_be_killed() {
    let bench = confined(|settings| settings.record_timeout = Duration::from_millis(200));
    for file in ["spin.pdf", "ignore-term+silent.pdf"] {
        assert_fails(&bench.probe(file).await, ErrorCode::McpTimeout, &[]);
        bench.chaos.assert_all_gone().await;
    }
    bench.assert_whole().await;
}

/// What another process or a file looks like from outside.
fn process_state(pid: u32) -> String {
    let read = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
    let stat = read("stat");
    let stat: Vec<_> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    // Priority, nice value, real-time priority and policy, as numbered in proc(5).
    let scheduling = [18, 19, 40, 41].map(|field: usize| stat[field - 3]);
    let status = read("status");
    let processors = status
        .lines()
        .find(|line| line.starts_with("Cpus_allowed:"));
    // SAFETY: takes two numbers.
    #[allow(unsafe_code)]
    let io = unsafe { libc::syscall(libc::SYS_ioprio_get, 1, pid) };
    format!("{scheduling:?} {processors:?} io {io}\n{}", read("limits"))
}

fn file_state(file: &std::path::Path) -> String {
    use std::os::unix::fs::MetadataExt;
    let meta = std::fs::metadata(file).unwrap();
    let mut names = [0_u8; 256];
    let names = rustix::fs::listxattr(file, &mut names[..]).map(|length| names[..length].to_vec());
    let neighbours: std::collections::BTreeSet<_> = std::fs::read_dir(file.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    format!(
        "{:o} {} {} {} {:?} {:?} {:?} {names:?} {neighbours:?}",
        meta.mode(),
        meta.uid(),
        meta.gid(),
        meta.nlink(),
        meta.modified(),
        meta.ctime(),
        std::fs::read_to_string(file),
    )
}

type Calls = serde_json::Map<String, serde_json::Value>;

/// The calls of `hostile_engine.rs` against a process and a file, and how they ended.
async fn attack(engine: EngineChoice, sandbox: SandboxMode, file: &std::path::Path) -> Calls {
    let program = example("hostile-engine");
    let launcher = match engine {
        EngineChoice::Builtin => program.clone(),
        _ => super::harness::launcher(),
    };
    let supervisor = Supervisor::start(Settings {
        engine,
        bin: Some(program),
        launcher: Some(launcher),
        sandbox,
        prewarm: 0,
        max_memory_bytes: None,
        roots: vec![file.ancestors().nth(2).unwrap().join("inside")],
        ..Settings::default()
    });
    let record = Record::from_path(file.to_str().unwrap(), None).unwrap();
    let reply = within(supervisor.probe(&record, &ProbeOptions::new())).await;
    let calls = json(&reply)["calls"].as_object().cloned();
    within(supervisor.drain(
        super::harness::PATIENCE,
        deckprobe_mcp::supervisor::Waiting::Refuse,
    ))
    .await;
    calls.unwrap_or_else(|| panic!("{}", reply.json()))
}

/// Some 130 system calls against the parent, against a file that may be read and one that may not:
/// each is refused, for both kinds of engine, and nothing has changed when seen from outside.
#[tokio::test(flavor = "multi_thread")]
async fn no_system_call_reaches_another_process_or_changes_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file_for = |place: &str, victim: u32| {
        let place = folder.path().join(place);
        std::fs::create_dir_all(&place).unwrap();
        let file = place.join(format!("victim-{victim}.txt"));
        std::fs::write(&file, "content").unwrap();
        file
    };
    let own = std::process::id();
    let mut refused = Calls::new();
    for engine in [EngineChoice::Builtin, EngineChoice::External] {
        for place in ["inside", "outside"] {
            let file = file_for(place, own);
            let before = (process_state(own), file_state(&file));
            let calls = attack(engine, SandboxMode::Auto, &file).await;
            assert!(calls.len() > 120, "{}", calls.len());
            for (call, ended) in &calls {
                // So that a runtime falls back to a call whose flags can be seen.
                let fallback = engine == EngineChoice::External && call == "openat2";
                let expected = if fallback { "ENOSYS" } else { "EPERM" };
                assert_eq!(ended, expected, "{call} in {engine:?}, {place}");
            }
            assert_eq!((process_state(own), file_state(&file)), before);
            refused = calls;
        }
    }
    // Without a sandbox the same calls do harm, so it is the sandbox that refuses them.
    let victim = std::process::Command::new("sleep")
        .arg("600")
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let victim = Victim(victim);
    let file = file_for("inside", victim.0.id());
    let before = (process_state(victim.0.id()), file_state(&file));
    let calls = attack(EngineChoice::Builtin, SandboxMode::Off, &file).await;
    assert_eq!(calls.len(), refused.len());
    for call in [
        "prlimit64",
        "setpriority",
        "sched_setaffinity",
        "sched_setscheduler",
        "ioprio_set",
        "kill",
        "F_SETOWN",
        "fchmodat",
        "utimensat",
        "openat O_RDWR",
        "pidfd_open",
        "socket",
    ] {
        assert_eq!(calls[call], "done", "{call}");
    }
    assert_ne!(process_state(victim.0.id()), before.0);
    assert_ne!(file_state(&file), before.1);
}

/// A process that may be attacked; it ends with the test.
struct Victim(std::process::Child);

impl Drop for Victim {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// For developers: what the filter refuses to the built-in engine is printed once, by number.
#[test]
fn refused_calls_are_reported_by_number_in_debug_mode() {
    use std::io::Write;
    let spec = format!(r#"{{"parent":{},"sandbox":"auto"}}"#, std::process::id());
    let mut child = std::process::Command::new(example("hostile-engine"))
        .args(["launch", &spec, "--", "@builtin", "--jsonl"])
        .env("DECKPROBE_SANDBOX_DEBUG", "1")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let record = format!("{{\"path\":\"/x/victim-{}.txt\"}}\n", std::process::id());
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(record.repeat(2).as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let reply = String::from_utf8(output.stdout).unwrap();
    assert!(
        reply.contains(r#""socket":"EPERM""#),
        "still refused: {reply}"
    );
    let log = String::from_utf8(output.stderr).unwrap();
    for number in [libc::SYS_socket, libc::SYS_fchmod, 463] {
        let line = format!("the sandbox refused system call {number}\n");
        assert_eq!(log.matches(&line).count(), 1, "{log}");
    }
}
