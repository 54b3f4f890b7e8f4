//! What the tests share: a stand-in engine of their own, a supervisor on it, and the five things that
//! must hold after whatever happened.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use deckprobe_mcp::contract::{ErrorCode, ProbeOptions, Record, Reply};
use deckprobe_mcp::supervisor::{
    EngineChoice, SandboxMode, Settings, Snapshot, Supervisor, Waiting, WorkerView,
};
use serde_json::Value;

/// Real time that anything in these tests may take at most; the machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A stand-in engine under a path of its own, by which its processes can be told from those of other
/// tests.
pub struct Chaos {
    folder: tempfile::TempDir,
    pub program: PathBuf,
}

impl Chaos {
    pub fn new() -> Self {
        Self::starting_with("")
    }

    /// One whose processes do this at their start, one verb a line.
    pub fn starting_with(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("deckprobe");
        std::os::unix::fs::symlink(stand_in(), &program).unwrap();
        let chaos = Self { folder, program };
        chaos.script(script);
        chaos
    }

    /// One whose program is a file of its own, which can be replaced.
    pub fn copied() -> Self {
        let chaos = Self::new();
        chaos.replace();
        chaos
    }

    /// Puts another file in the place of the program, as an upgrade does.
    pub fn replace(&self) {
        let fresh = self.folder.path().join("fresh");
        std::fs::copy(stand_in(), &fresh).unwrap();
        std::fs::rename(fresh, &self.program).unwrap();
    }

    /// How often a counted verb was reached.
    pub fn occasions(&self, verb: &str) -> usize {
        let prefix = format!("deckprobe.{verb}.");
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        entries
            .filter(|entry| {
                let name = entry.as_ref().unwrap().file_name();
                name.to_str().unwrap().starts_with(&prefix)
            })
            .count()
    }

    /// Starts the count of a verb anew.
    pub fn forget_occasions(&self, verb: &str) {
        let prefix = format!("deckprobe.{verb}.");
        for entry in std::fs::read_dir(self.folder.path()).unwrap() {
            let entry = entry.unwrap();
            if entry.file_name().to_str().unwrap().starts_with(&prefix) {
                std::fs::remove_file(entry.path()).unwrap();
            }
        }
    }

    /// Changes what its processes do at their start.
    pub fn script(&self, script: &str) {
        std::fs::write(self.folder.path().join("deckprobe.chaos"), script).unwrap();
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Settings that suit most tests: small limits, no sandbox (verbs that count write files).
    pub fn settings(&self) -> Settings {
        Settings {
            engine: EngineChoice::External,
            bin: Some(self.program.clone()),
            launcher: Some(launcher()),
            record_timeout: Duration::from_secs(10),
            prewarm: 0,
            max_concurrency: 2,
            sandbox: SandboxMode::Off,
            max_memory_bytes: None,
            strikes: 0,
            ..Settings::default()
        }
    }

    /// Ids of its living processes, zombies left out.
    pub fn processes(&self) -> Vec<u32> {
        let marker = self.program.to_str().unwrap();
        let entries = std::fs::read_dir("/proc").unwrap();
        entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
                let line = std::fs::read(entry.path().join("cmdline")).ok()?;
                String::from_utf8_lossy(&line)
                    .split('\0')
                    .any(|part| part == marker)
                    .then_some(pid)
            })
            .collect()
    }

    /// Waits until none of its processes is left.
    pub async fn assert_all_gone(&self) {
        eventually("every process of the engine is gone", || {
            self.processes().is_empty()
        })
        .await;
    }
}

impl Drop for Chaos {
    /// A process that a failed test leaves behind must not spoil the next one.
    fn drop(&mut self) {
        for pid in self.processes() {
            kill(pid, rustix::process::Signal::KILL);
        }
    }
}

/// A supervisor on a stand-in engine, with the checks that end every test.
pub struct Bench {
    pub chaos: Chaos,
    pub supervisor: Supervisor,
}

impl Bench {
    pub fn new(change: impl FnOnce(&mut Settings)) -> Self {
        Self::on(Chaos::new(), change)
    }

    pub fn on(chaos: Chaos, change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = chaos.settings();
        change(&mut settings);
        let supervisor = Supervisor::start(settings);
        Self { chaos, supervisor }
    }

    pub async fn probe(&self, file: &str) -> Reply {
        self.probe_with(file, &ProbeOptions::new()).await
    }

    pub async fn probe_with(&self, file: &str, options: &ProbeOptions) -> Reply {
        within(self.supervisor.probe(&record(file), options)).await
    }

    /// Probes an ordinary document: it must get its own answer.
    pub async fn assert_serves(&self, file: &str) {
        assert_answers(&self.probe(file).await, file);
    }

    /// A probe in a task of its own.
    pub fn spawn(&self, file: &str) -> tokio::task::JoinHandle<Reply> {
        let (supervisor, record) = (self.supervisor.clone(), record(file));
        tokio::spawn(async move { supervisor.probe(&record, &ProbeOptions::new()).await })
    }

    pub fn snapshot(&self) -> Snapshot {
        self.supervisor.snapshot()
    }

    /// How many children ended for a reason.
    pub fn ends(&self, reason: &str) -> u64 {
        self.snapshot().recycles[reason]
    }

    /// Waits until nothing runs and every child that is left is idle. Returns what the pool looked like
    /// then.
    pub async fn settle(&self) -> Snapshot {
        let mut last = self.snapshot();
        let settled = || {
            last = self.snapshot();
            let idle = last.workers.iter().all(|worker| worker.state == "idle");
            idle && last.queue.permits_in_use == 0 && last.queue.waiting == 0
        };
        eventually("the pool comes to rest", settled).await;
        last
    }

    /// The five things (the first two, one right reply each, are the test's own): living children are
    /// at most N and those in the snapshot; every place is idle or free; nothing is left after the end.
    pub async fn assert_whole(self) {
        let snapshot = self.settle().await;
        let zombie = |worker: &WorkerView| worker.pid.and_then(state_of) == Some('Z');
        eventually("every zombie is reaped", || {
            !self.snapshot().workers.iter().any(zombie)
        })
        .await;
        let pids: Vec<u32> = snapshot.workers.iter().filter_map(|w| w.pid).collect();
        assert!(
            pids.len() <= snapshot.limits.max_concurrency,
            "{snapshot:?}"
        );
        let summary = within(self.supervisor.drain(PATIENCE, Waiting::Refuse)).await;
        assert!(summary.lost.is_empty(), "{summary:?}");
        self.chaos.assert_all_gone().await;
        for pid in pids {
            assert_eq!(state_of(pid), None, "{pid} was reaped");
        }
        assert!(self.snapshot().workers.is_empty());
    }
}

/// The stand-in engine, which cargo builds beside the tests.
fn stand_in() -> PathBuf {
    example("chaos-engine")
}

/// A program that cargo builds beside the tests.
pub fn example(name: &str) -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let profile = here.parent().and_then(Path::parent).unwrap();
    let program = profile.join("examples").join(name);
    assert!(
        program.exists(),
        "{} is missing: cargo build --example {name}",
        program.display()
    );
    program
}

pub fn launcher() -> PathBuf {
    env!("CARGO_BIN_EXE_deckprobe-mcp").into()
}

pub fn record(file: &str) -> Record {
    Record::from_path(format!("/x/{file}"), None).unwrap()
}

/// The reply belongs to this file: it names it and echoes its path.
#[track_caller]
pub fn assert_answers(reply: &Reply, file: &str) {
    let value = json(reply);
    assert_eq!(value["status"], "ok", "{file}: {}", reply.json());
    assert_eq!(value["echo"], format!("/x/{file}"), "{}", reply.json());
}

/// The reply is an envelope of ours with this code, and says all of this.
#[track_caller]
pub fn assert_fails(reply: &Reply, code: ErrorCode, says: &[&str]) {
    assert_eq!(reply.head().code, Some(code), "{}", reply.json());
    for part in says {
        assert!(reply.json().contains(part), "{part:?} in {}", reply.json());
    }
}

pub fn json(reply: &Reply) -> Value {
    serde_json::from_str(reply.json()).unwrap()
}

/// Says on the real stderr, past the capture of the test runner, that a test did not run. In CI that is a
/// failure.
pub fn skip(why: &str) {
    use std::io::Write;
    assert!(std::env::var_os("CI").is_none(), "not run: {why}");
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "\nSKIPPED {name}: {why}");
}

/// Awaits something that must end.
pub async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(PATIENCE, future)
        .await
        .expect("it must not hang")
}

/// Polls until something is so.
pub async fn eventually(what: &str, mut so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < PATIENCE, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The state letter of a process; `None` when it does not exist.
pub fn state_of(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

pub fn kill(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    let _gone_already = rustix::process::kill_process(pid, signal);
}

/// Counts the processes of an engine from outside, all the time, until it is dropped.
pub struct Census {
    stop: Arc<std::sync::atomic::AtomicBool>,
    thread: Option<std::thread::JoinHandle<usize>>,
}

impl Census {
    pub fn of(chaos: &Chaos) -> Self {
        let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let (stopped, program) = (Arc::clone(&stop), chaos.program.clone());
        let count = move || {
            let marker = program.to_str().unwrap().to_owned();
            let mut most = 0;
            while !stopped.load(std::sync::atomic::Ordering::Relaxed) {
                let now = children_named(&marker);
                most = most.max(now);
                std::thread::sleep(Duration::from_millis(1));
            }
            most
        };
        Self {
            stop,
            thread: Some(std::thread::spawn(count)),
        }
    }

    /// The most that were seen at one time.
    pub fn most(mut self) -> usize {
        self.stop.store(true, std::sync::atomic::Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

/// Living children of this process that run an engine.
fn children_named(marker: &str) -> usize {
    let me = std::process::id();
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{me}/task")) else {
        return 0;
    };
    let children = tasks.filter_map(|task| {
        let path = task.ok()?.path().join("children");
        std::fs::read_to_string(path).ok()
    });
    children
        .flat_map(|list| {
            list.split_ascii_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .filter(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line)
                .split('\0')
                .any(|part| part == marker)
        })
        .count()
}
