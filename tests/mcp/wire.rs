//! A small vocabulary: a server process, spoken to in raw lines.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::documents;

/// Longest wait for anything that should come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn binary() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deckprobe-mcp"));
    // Whatever the developer has set must not change a test.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("DECKPROBE_MCP_") {
            command.env_remove(name);
        }
    }
    command.env("DECKPROBE_MCP_ENGINE", "builtin");
    command
}

/// A running server.
pub(crate) struct Server {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Every line that the server printed, in order.
    pub(crate) seen: Vec<Value>,
    next_id: i64,
}

impl Server {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self::start_with_log(command, Stdio::null())
    }

    fn start_with_log(command: &mut Command, log: Stdio) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines() {
                let Ok(line) = line else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            stdin,
            lines,
            seen: Vec::new(),
            next_id: 0,
        }
    }

    /// A server that has shaken hands in the newest revision that has a handshake.
    pub(crate) fn open(command: &mut Command) -> Self {
        let mut server = Self::start(command);
        server.initialize("2025-11-25");
        server
    }

    pub(crate) fn open_with_log(command: &mut Command, log: Stdio) -> Self {
        let mut server = Self::start_with_log(command, log);
        server.initialize("2025-11-25");
        server
    }

    pub(crate) fn default() -> Self {
        Self::open(&mut binary())
    }

    pub(crate) fn initialize(&mut self, version: &str) -> Value {
        let params = json!({
            "protocolVersion": version, "capabilities": {},
            "clientInfo": {"name": "wire", "version": "1"}
        });
        let answer = self.request("initialize", params);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer["result"].clone()
    }

    pub(crate) fn send_raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).unwrap();
        stdin.flush().unwrap();
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_raw(format!("{message}\n").as_bytes());
    }

    /// Sends a request and returns its id.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub(crate) fn ask_tool(&mut self, tool: &str, arguments: Value) -> i64 {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    /// Calls a tool and returns its result.
    pub(crate) fn tool(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.ask_tool(tool, arguments);
        let answer = self.answer(id);
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// Calls a tool that must refuse with an envelope, and returns its code and message.
    pub(crate) fn refusal(&mut self, tool: &str, arguments: Value) -> (String, String) {
        let shown = arguments.to_string();
        let result = self.tool(tool, arguments);
        assert_eq!(result["isError"], true, "{shown} gave {result}");
        let error = &result["structuredContent"]["error"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&error["code"]), text(&error["message"]))
    }

    /// Waits for the answer to `id`, keeping whatever else comes.
    pub(crate) fn answer(&mut self, id: i64) -> Value {
        let answers = |line: &Value| line["id"] == id && line["method"].is_null();
        if let Some(known) = self.seen.iter().find(|line| answers(line)) {
            return known.clone();
        }
        loop {
            let line = self.line();
            if answers(&line) {
                return line;
            }
        }
    }

    /// The next line, which must be JSON.
    pub(crate) fn line(&mut self) -> Value {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => self.keep(&line),
            Err(error) => panic!("no line from the server: {error}"),
        }
    }

    /// The next line as it stands on the wire.
    pub(crate) fn raw_line(&mut self) -> String {
        let line = self.lines.recv_timeout(PATIENCE).unwrap();
        self.keep(&line);
        line
    }

    /// Whether the server is silent for a while.
    pub(crate) fn is_silent_for(&mut self, time: Duration) -> bool {
        match self.lines.recv_timeout(time) {
            Ok(line) => {
                self.keep(&line);
                false
            }
            Err(RecvTimeoutError::Timeout) => true,
            Err(RecvTimeoutError::Disconnected) => panic!("the server is gone"),
        }
    }

    fn keep(&mut self, line: &str) -> Value {
        let value: Value = serde_json::from_str(line)
            .unwrap_or_else(|error| panic!("stdout holds what is no protocol: {error}: {line}"));
        assert_eq!(value["jsonrpc"], "2.0", "{line}");
        self.seen.push(value.clone());
        value
    }

    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Waits for the process to end, reads the rest of what it said, and returns its status.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let until = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < until, "the server does not end");
            std::thread::sleep(Duration::from_millis(5));
        };
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            self.keep(&line);
        }
        status
    }

    /// The pool as the server shows it.
    pub(crate) fn pool(&mut self) -> Value {
        let read = self.request("resources/read", json!({"uri": "deckprobe://pool"}));
        serde_json::from_str(read["result"]["contents"][0]["text"].as_str().unwrap()).unwrap()
    }

    /// Closes its input and waits for its end.
    pub(crate) fn finish(mut self) {
        self.close_stdin();
        let status = self.wait();
        assert!(status.success(), "{status}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// A directory with documents in it.
pub(crate) struct Desk {
    dir: TempDir,
}

impl Desk {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let desk = Self { dir };
        desk.put("good.docx", &documents::docx("Quarterly figures"));
        desk.put("page.pdf", &documents::pdf());
        desk.put("bad.docx", b"this is no document at all");
        desk
    }

    pub(crate) fn root(&self) -> PathBuf {
        std::fs::canonicalize(self.dir.path()).unwrap()
    }

    pub(crate) fn put(&self, name: &str, bytes: &[u8]) -> String {
        text(&documents::write(&self.root(), name, bytes))
    }

    pub(crate) fn path(&self, name: &str) -> String {
        text(&self.root().join(name))
    }
}

pub(crate) fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}
