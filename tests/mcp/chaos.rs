//! A server over the stand-in engine, which misbehaves on command: the command is the name of the file
//! that is probed (`tests/supervisor/chaos_engine.rs` has the verbs).

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http::eventually;
use crate::wire::{binary, text};

pub(crate) struct Chaos {
    folder: TempDir,
    program: PathBuf,
}

impl Chaos {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // A name of its own for each test, by which its processes can be counted.
        let program = folder.path().join("deckprobe");
        let own = std::env::current_exe().unwrap();
        let built = own.parent().unwrap().parent().unwrap();
        let stand_in = built.join("examples/chaos-engine");
        assert!(stand_in.exists(), "cargo build --example chaos-engine");
        std::os::unix::fs::symlink(stand_in, &program).unwrap();
        Self { folder, program }
    }

    /// A server whose engine this is, with one worker and no sandbox.
    pub(crate) fn command(&self) -> Command {
        let mut command = binary();
        command
            .env("DECKPROBE_MCP_ENGINE", "external")
            .env("DECKPROBE_MCP_BIN", &self.program)
            .env("DECKPROBE_MCP_SANDBOX", "off")
            .env("DECKPROBE_MCP_PREWARM", "0")
            .env("DECKPROBE_MCP_MAX_CONCURRENCY", "1")
            .env("DECKPROBE_MCP_TIMEOUT_MS", "20000");
        command
    }

    /// The path of a document that makes the engine do this.
    pub(crate) fn path(&self, verbs: &str) -> String {
        let path = self.folder.path().join(format!("{verbs}.pdf"));
        std::fs::write(&path, b"%PDF-1.4\n").unwrap();
        text(&std::fs::canonicalize(path).unwrap())
    }

    pub(crate) fn probe(&self, verbs: &str) -> Value {
        json!({"path": self.path(verbs)})
    }

    /// How many processes of the engine live.
    pub(crate) fn living(&self) -> usize {
        let marker = self.program.to_str().unwrap();
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        entries
            .filter(|entry| {
                let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
                let line = String::from_utf8_lossy(&line).into_owned();
                line.split('\0').any(|part| part == marker)
            })
            .count()
    }

    pub(crate) fn wait_for(&self, count: usize) {
        eventually(&format!("{count} engine processes"), || {
            self.living() == count
        });
    }
}
