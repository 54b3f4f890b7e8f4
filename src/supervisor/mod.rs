//! The supervisor: it keeps warm engine children and gives every record exactly one reply.
//!
//! First landing: the public face, with one child a record behind it. The pool follows.

mod settings;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::{Semaphore, mpsc};

use crate::contract::{CONTRACT_VERSION, Envelope, ErrorCode, ProbeOptions, Record, Reply};

pub use settings::{EngineChoice, SandboxMode, Settings};

/// A discovery answer of the engine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Discovery {
    /// The `formats` report.
    Formats,
    /// The `targets` report of one format.
    Targets(String),
    /// The JSON Schema of reports.
    Schema,
}

/// Which kind of engine was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineKind {
    /// A `deckprobe` binary.
    External,
    /// The engine inside our own binary.
    Builtin,
}

/// The engine in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EngineInfo {
    /// Which kind it is.
    pub kind: EngineKind,
    /// The program that is started.
    pub path: PathBuf,
    /// The version that it reports.
    pub tool_version: String,
}

/// What becomes of calls that still wait for a child when a drain begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// They are served while there is time (end of input: the client may only have closed its end).
    Serve,
    /// They get `MCP_SHUTTING_DOWN` at once (signals).
    Refuse,
}

/// How a drain went.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DrainSummary {
    /// Calls that were cut off at the limit.
    pub abandoned: usize,
    /// Process ids that could not be killed.
    pub lost: Vec<u32>,
}

/// The state of the pool at one moment.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Snapshot {
    /// The engine, once it is known.
    pub engine: Option<EngineInfo>,
}

/// The running supervisor. Clones are handles to the same one.
#[derive(Clone)]
pub struct Supervisor {
    inner: Arc<Inner>,
}

struct Inner {
    settings: Settings,
    permits: Arc<Semaphore>,
}

/// The replies of a batch, in the order in which they finish. Dropping it cancels what is left.
pub struct Batch {
    replies: mpsc::Receiver<(usize, Reply)>,
    _cancel: tokio_util::sync::DropGuard,
}

impl Batch {
    /// The next reply and the place of its record in the input; `None` after the last.
    pub async fn next(&mut self) -> Option<(usize, Reply)> {
        self.replies.recv().await
    }
}

impl Supervisor {
    /// Starts a supervisor on the current tokio runtime. Returns at once: finding the engine and
    /// prewarming go on in the background.
    #[must_use]
    pub fn start(settings: Settings) -> Self {
        let permits = Arc::new(Semaphore::new(settings.max_concurrency.max(1)));
        Self {
            inner: Arc::new(Inner { settings, permits }),
        }
    }

    /// Probes one record. Always exactly one reply: the engine's, or an envelope of ours. Dropping
    /// the future cancels the probe and kills the child that it runs on.
    pub async fn probe(&self, record: &Record, options: &ProbeOptions) -> Reply {
        let Ok(_permit) = self.inner.permits.acquire().await else {
            return self.envelope(ErrorCode::McpShuttingDown, "the server is shutting down");
        };
        match tokio::time::timeout(
            self.inner.settings.record_timeout,
            self.probe_cold(record, options),
        )
        .await
        {
            Ok(Ok(reply)) => reply,
            Ok(Err(reason)) => self.envelope(ErrorCode::McpEngineFailure, reason),
            Err(_) => self.envelope(ErrorCode::McpTimeout, "no reply in time"),
        }
    }

    /// Probes many records; an entry that is already an error answers as it is. Records are taken
    /// from the iterator as their turns come.
    ///
    /// # Errors
    /// `MCP_OVERLOADED` or `MCP_SHUTTING_DOWN` when the batch as a whole finds no place.
    pub fn batch<I>(&self, records: I, options: ProbeOptions) -> Result<Batch, Envelope>
    where
        I: IntoIterator<Item = Result<Record, Envelope>>,
        I::IntoIter: Send + 'static,
    {
        let (sender, replies) = mpsc::channel(16);
        let cancel = tokio_util::sync::CancellationToken::new();
        let supervisor = self.clone();
        let records = records.into_iter();
        let work = async move {
            for (index, record) in records.enumerate() {
                let reply = match record {
                    Ok(record) => supervisor.probe(&record, &options).await,
                    Err(envelope) => Reply::from_envelope(&envelope, &supervisor.tool_version()),
                };
                if sender.send((index, reply)).await.is_err() {
                    return;
                }
            }
        };
        tokio::spawn(cancel.clone().run_until_cancelled_owned(work));
        Ok(Batch {
            replies,
            _cancel: cancel.drop_guard(),
        })
    }

    /// A discovery answer, verbatim, cached by the engine's identity.
    ///
    /// # Errors
    /// The engine's own error envelope, or one of ours.
    pub async fn discover(&self, what: &Discovery) -> Result<Arc<str>, Reply> {
        let (program, mut args) = self
            .program()
            .map_err(|envelope| Reply::from_envelope(&envelope, &self.tool_version()))?;
        match what {
            Discovery::Formats => args.push("formats".into()),
            Discovery::Targets(format) => {
                args.push("targets".into());
                args.push(format!("--format={format}").into());
            }
            Discovery::Schema => args.push("schema".into()),
        }
        let output = tokio::process::Command::new(program)
            .args(args)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .map_err(|error| self.envelope(ErrorCode::McpEngineFailure, error.to_string()))?;
        let text = String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned();
        if output.status.success() && !text.is_empty() {
            return Ok(text.into());
        }
        Err(Reply::from_engine(text.as_bytes(), None)
            .unwrap_or_else(|error| self.envelope(ErrorCode::McpEngineFailure, error.to_string())))
    }

    /// The engine in use; waits for the search to end.
    ///
    /// # Errors
    /// `MCP_ENGINE_FAILURE` when there is no usable engine, with the reason.
    pub async fn engine(&self) -> Result<EngineInfo, Envelope> {
        let kind = if self.inner.settings.bin.is_some() {
            EngineKind::External
        } else {
            EngineKind::Builtin
        };
        let (path, _) = self.program()?;
        Ok(EngineInfo {
            kind,
            path,
            tool_version: self.tool_version().to_string(),
        })
    }

    /// The `tool_version` for envelopes that other layers make: the engine's where it is known.
    #[must_use]
    pub fn tool_version(&self) -> Arc<str> {
        CONTRACT_VERSION.into()
    }

    /// The state of the pool now. Needs no permit and waits for nothing.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::default()
    }

    /// Ends the supervisor: new calls are refused, those in flight are answered within `limit`, and
    /// when it returns no child of ours is alive or being started.
    pub async fn drain(&self, _limit: Duration, _waiting: Waiting) -> DrainSummary {
        self.inner.permits.close();
        DrainSummary::default()
    }

    /// Kills every child now. For a second signal, just before the process exits.
    pub fn abort(&self) {
        self.inner.permits.close();
    }

    fn envelope(&self, code: ErrorCode, message: impl Into<String>) -> Reply {
        Reply::from_envelope(&Envelope::new(code, message), &self.tool_version())
    }

    fn program(&self) -> Result<(PathBuf, Vec<OsString>), Envelope> {
        if let Some(bin) = &self.inner.settings.bin {
            return Ok((bin.clone(), Vec::new()));
        }
        let own = match &self.inner.settings.launcher {
            Some(path) => path.clone(),
            None => std::env::current_exe()
                .map_err(|error| Envelope::new(ErrorCode::McpEngineFailure, error.to_string()))?,
        };
        Ok((own, vec!["engine".into()]))
    }

    async fn probe_cold(&self, record: &Record, options: &ProbeOptions) -> Result<Reply, String> {
        let (program, mut args) = self.program().map_err(|envelope| envelope.message)?;
        let builtin = !args.is_empty();
        args.push("--jsonl".into());
        if !builtin {
            args.extend(options.profile().argv().iter().map(OsString::from));
        }
        let mut child = tokio::process::Command::new(program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut line = Vec::new();
        record.write_line(builtin.then_some(options), &mut line);
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (Some(mut stdin), Some(stdout)) = (stdin, stdout) else {
            return Err("no pipes".into());
        };
        stdin.write_all(&line).await.map_err(|e| e.to_string())?;
        let mut reply = Vec::new();
        BufReader::new(stdout)
            .read_until(b'\n', &mut reply)
            .await
            .map_err(|e| e.to_string())?;
        drop(stdin);
        let _status = child.wait().await;
        let Some(reply) = reply.strip_suffix(b"\n") else {
            return Err("the engine ended without a reply".into());
        };
        Reply::from_engine(reply, record.display_name()).map_err(|error| error.to_string())
    }
}

/// Runs the hidden `launch` subcommand if `args` (without the program name) ask for it. To be called
/// first thing in `main`, before anything starts a thread. `builtin` is the built-in engine's command
/// line, which a launcher can become without a second `exec`.
#[must_use]
pub fn intercept_launch(
    _args: &[OsString],
    _builtin: fn(Vec<OsString>) -> ExitCode,
) -> Option<ExitCode> {
    None
}
