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

/// Reads file names, one a line, and prints the replies in the same order. Every file is probed at
/// once, in a task of its own.
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
            calls.spawn(async move {
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

/// The running host.
pub struct Host {
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
