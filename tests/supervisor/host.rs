//! A supervisor in a process of its own, for what cannot be done to the test itself: stopping it,
//! killing it, starving it. The test binary starts itself again as this one ignored test.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use deckprobe_mcp::contract::ProbeOptions;
use deckprobe_mcp::supervisor::{Supervisor, Waiting};
use serde_json::Value;

use super::harness::{Chaos, record};

const PROGRAM: &str = "HOST_ENGINE";
const LAUNCHER: &str = "HOST_LAUNCHER";
const TIMEOUT: &str = "HOST_TIMEOUT_MS";

/// Reads file names, one a line, and prints the replies as they come: every file is probed at once, in a
/// task of its own. `@snapshot` prints a snapshot, `@batch A B C` a list of replies in input order.
#[test]
#[ignore = "the other process of the tests below"]
fn serve() {
    let Some(program) = std::env::var_os(PROGRAM) else {
        return;
    };
    let launcher = std::env::var_os(LAUNCHER).unwrap();
    let timeout = std::env::var(TIMEOUT).unwrap().parse().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let supervisor = Supervisor::start(deckprobe_mcp::supervisor::Settings {
            bin: Some(program.into()),
            launcher: Some(launcher.into()),
            record_timeout: Duration::from_millis(timeout),
            prewarm: 1,
            strikes: 0,
            sandbox: deckprobe_mcp::supervisor::SandboxMode::Off,
            ..Default::default()
        });
        let (lines, mut inbox) = tokio::sync::mpsc::unbounded_channel();
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let _ = lines.send(line.unwrap());
            }
        });
        let mut calls = tokio::task::JoinSet::new();
        while let Some(file) = inbox.recv().await {
            let supervisor = supervisor.clone();
            if file == "@snapshot" {
                let snapshot = serde_json::to_string(&supervisor.snapshot()).unwrap();
                println!("{snapshot}");
                continue;
            }
            calls.spawn(async move {
                if let Some(files) = file.strip_prefix("@batch ") {
                    println!("{}", batch(&supervisor, files).await);
                    return;
                }
                let reply = supervisor.probe(&record(&file), &ProbeOptions::new()).await;
                println!("{}", reply.json());
            });
        }
        supervisor
            .drain(Duration::from_secs(10), Waiting::Serve)
            .await;
        calls.join_all().await;
    });
}

async fn batch(supervisor: &Supervisor, files: &str) -> Value {
    let files: Vec<String> = files.split(' ').map(str::to_owned).collect();
    let mut replies = vec![Value::Null; files.len()];
    let records = files.into_iter().map(|file| Ok(record(&file)));
    let mut batch = supervisor.batch(records, ProbeOptions::new()).unwrap();
    while let Some((at, reply)) = batch.next().await {
        replies[at] = serde_json::from_str(reply.json()).unwrap();
    }
    serde_json::json!({ "batch": replies })
}

/// The running host.
pub struct Host {
    /// Replies that came while something else was waited for.
    early: std::collections::VecDeque<Value>,
    pub process: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Host {
    pub fn start(chaos: &Chaos, record_timeout_ms: u64) -> Self {
        Self::start_by(
            Command::new(std::env::current_exe().unwrap()),
            chaos,
            record_timeout_ms,
        )
    }

    /// Started by a command that ends in our own binary, or is it.
    pub fn start_by(mut command: Command, chaos: &Chaos, record_timeout_ms: u64) -> Self {
        if !command.get_envs().any(|(name, _)| name == LAUNCHER) {
            command.env(LAUNCHER, super::harness::launcher());
        }
        let mut process = command
            .args(["--exact", "host::serve", "--ignored", "--nocapture"])
            .env(PROGRAM, &chaos.program)
            .env(TIMEOUT, record_timeout_ms.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            early: std::collections::VecDeque::new(),
            stdin: process.stdin.take(),
            stdout: BufReader::new(process.stdout.take().unwrap()),
            process,
        }
    }

    /// A host without rights, on an engine that is set-user-id root: it may start it and not kill it.
    pub fn start_as_nobody(chaos: &Chaos, record_timeout_ms: u64) -> Self {
        use std::os::unix::fs::PermissionsExt;
        use std::os::unix::process::CommandExt;
        let mode = |path: &std::path::Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        // Everything that nobody needs must be where nobody can reach it.
        let own = chaos.folder().join("host");
        std::fs::copy(std::env::current_exe().unwrap(), &own).unwrap();
        let launcher = chaos.folder().join("launcher");
        std::fs::copy(super::harness::launcher(), &launcher).unwrap();
        mode(chaos.folder(), 0o777);
        mode(&own, 0o755);
        mode(&launcher, 0o755);
        mode(&chaos.program, 0o4755);
        let mut command = Command::new(own);
        command.uid(65534).gid(65534).current_dir("/");
        command.env(LAUNCHER, launcher);
        Self::start_by(command, chaos, record_timeout_ms)
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    pub fn ask(&mut self, file: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{file}").unwrap();
    }

    /// The next reply.
    pub fn reply(&mut self) -> Value {
        match self.early.pop_front() {
            Some(reply) => reply,
            None => self.line(),
        }
    }

    pub fn snapshot(&mut self) -> Value {
        self.ask("@snapshot");
        loop {
            let line = self.line();
            if line.get("uptime_ms").is_some() {
                return line;
            }
            self.early.push_back(line);
        }
    }

    /// Polls the snapshot until something is so.
    pub fn until(&mut self, what: &str, so: impl Fn(&Value) -> bool) -> Value {
        let begun = std::time::Instant::now();
        loop {
            let snapshot = self.snapshot();
            if so(&snapshot) {
                return snapshot;
            }
            let patience = super::harness::PATIENCE;
            assert!(begun.elapsed() < patience, "never: {what}: {snapshot}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The replies of a batch.
    pub fn batch(&mut self, files: &str) -> Vec<Value> {
        self.ask(&format!("@batch {files}"));
        self.reply()["batch"].as_array().unwrap().clone()
    }

    fn line(&mut self) -> Value {
        loop {
            let mut line = String::new();
            assert!(
                self.stdout.read_line(&mut line).unwrap() > 0,
                "the host ended"
            );
            if let Some(at) = line.find('{') {
                return serde_json::from_str(&line[at..]).unwrap();
            }
        }
    }

    pub fn probe(&mut self, file: &str) -> Value {
        self.ask(file);
        self.reply()
    }

    /// Closes its input: it answers what is in flight and ends.
    pub fn close(&mut self) {
        self.stdin = None;
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
