//! `doctor`: does the set-up work? Says what was found and proves it with one real probe.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::args::DoctorArgs;
use super::{block_on, say};
use crate::config::Config;
use crate::contract::{ProbeOptions, Record, ReplyStatus};
use crate::supervisor::{EngineKind, Supervisor, Waiting};
use crate::telemetry;

/// A PDF without pages, small enough to travel inside the record: nothing of the disk is needed.
const SAMPLE: &str = "JVBERi0xLjQKMSAwIG9iajw8L1R5cGUvQ2F0YWxvZy9QYWdlcyAyIDAgUj4+ZW5kb2JqCjIgMCBvYmo8PC9UeXBlL1BhZ2VzL0NvdW50IDAvS2lkc1tdPj5lbmRvYmoKdHJhaWxlcjw8L1Jvb3QgMSAwIFI+PgolJUVPRgo=";

/// One finding.
#[derive(Debug, Serialize)]
struct Finding {
    what: &'static str,
    state: State,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    Warning,
    Failed,
}

pub(super) fn run(args: &DoctorArgs) -> ExitCode {
    let mut findings = Findings::default();
    findings.add("version", State::Ok, env!("CARGO_PKG_VERSION"));
    match Config::from_env(&args.root.quiet()) {
        Err(error) => {
            for problem in error.problems {
                findings.add("configuration", State::Failed, problem);
            }
            findings.print(args.json)
        }
        Ok(config) => {
            telemetry::init(&config.log);
            let json = args.json;
            block_on(async move {
                examine(&config, &mut findings).await;
                findings.print(json)
            })
        }
    }
}

async fn examine(config: &Config, findings: &mut Findings) {
    configuration(config, findings);
    let supervisor = Supervisor::start(config.supervisor.clone());
    if engine(&supervisor, findings).await {
        probes(&supervisor, findings).await;
        pool(&supervisor, findings);
    }
    supervisor.drain(Duration::ZERO, Waiting::Refuse).await;
}

fn configuration(config: &Config, findings: &mut Findings) {
    if config.warnings.is_empty() {
        findings.add("configuration", State::Ok, "every variable is accepted");
    }
    for warning in &config.warnings {
        findings.add("configuration", State::Warning, warning.clone());
    }
    for (name, value) in config.changed() {
        findings.add("setting", State::Ok, format!("{name}={value}"));
    }
    let roots = &config.supervisor.roots;
    if roots.is_empty() {
        findings.add("allow-list", State::Ok, "none: every file of this user");
    }
    for root in roots {
        findings.add("allow-list", State::Ok, root.display().to_string());
    }
}

async fn engine(supervisor: &Supervisor, findings: &mut Findings) -> bool {
    match supervisor.engine().await {
        Ok(engine) => {
            let kind = match engine.kind {
                EngineKind::External => "external",
                EngineKind::Builtin => "built-in",
            };
            let (version, path) = (&engine.tool_version, engine.path.display());
            findings.add("engine", State::Ok, format!("{kind} {version}, {path}"));
            true
        }
        Err(envelope) => {
            findings.add("engine", State::Failed, envelope.message);
            false
        }
    }
}

/// One probe that may start a child, and one that finds it warm.
async fn probes(supervisor: &Supervisor, findings: &mut Findings) {
    let Ok(record) = Record::from_base64("doctor.pdf", SAMPLE) else {
        return;
    };
    let mut times = Vec::new();
    for _ in 0..2 {
        let started = Instant::now();
        let reply = supervisor.probe(&record, &ProbeOptions::new()).await;
        times.push(started.elapsed().as_secs_f64() * 1000.0);
        if reply.head().status == ReplyStatus::Error {
            findings.add("probe", State::Failed, reply.json());
            return;
        }
    }
    findings.add(
        "probe",
        State::Ok,
        format!("first in {:.1} ms, warm in {:.1} ms", times[0], times[1]),
    );
}

fn pool(supervisor: &Supervisor, findings: &mut Findings) {
    let text = serde_json::to_string(&supervisor.snapshot());
    findings.add("pool", State::Ok, text.unwrap_or_default());
}

#[derive(Debug, Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, what: &'static str, state: State, text: impl Into<String>) {
        self.0.push(Finding {
            what,
            state,
            text: text.into(),
        });
    }

    fn print(&self, json: bool) -> ExitCode {
        let failed = self.0.iter().any(|finding| finding.state == State::Failed);
        let code = if failed {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        };
        match say(&self.text(json, failed), code) {
            Ok(()) => code,
            Err(code) => code,
        }
    }

    fn text(&self, json: bool, failed: bool) -> String {
        let mut out = String::new();
        if json {
            #[derive(Serialize)]
            struct Report<'a> {
                healthy: bool,
                findings: &'a [Finding],
            }
            let report = Report {
                healthy: !failed,
                findings: &self.0,
            };
            out = serde_json::to_string(&report).unwrap_or_default() + "\n";
        } else {
            for Finding { what, state, text } in &self.0 {
                let mark = match state {
                    State::Ok => "ok  ",
                    State::Warning => "warn",
                    State::Failed => "FAIL",
                };
                // Texts may quote a document or an engine: nothing in them may steer the terminal.
                let text: String = text.chars().flat_map(shown).collect();
                // Writing to a string cannot fail.
                let _infallible = writeln!(out, "{mark}  {what:<14} {text}");
            }
        }
        out
    }
}

fn shown(c: char) -> impl Iterator<Item = char> {
    let (plain, escaped) = if c.is_control() {
        (None, Some(c.escape_unicode()))
    } else {
        (Some(c), None)
    };
    plain.into_iter().chain(escaped.into_iter().flatten())
}
