//! The engine's program, and how its processes are started.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use serde::Serialize;
use tokio::process::Command;

use crate::contract::Profile;

use super::launch_spec::{self, Applied, CHILD_MARK, Confinement, SUBCOMMAND, Spec, SpecPath};
use super::os;
use super::settings::{SandboxMode, Settings};
use super::stderr_tail::StderrTail;

/// Variables that a child gets if they are set. The last is for developers of the sandbox.
const PASSED_ON: [&str; 4] = [
    "SystemRoot",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "DECKPROBE_SANDBOX_DEBUG",
];

/// What tells one file or directory on disk from the next that has its name.
pub(super) type FileIdentity = Vec<i64>;

/// A resolved engine. A new one takes its place after an upgrade on disk.
#[derive(Clone, Debug)]
pub(super) struct ResolvedEngine {
    pub(super) info: EngineInfo,
    /// Counts resolutions; children of an earlier one are of the old file.
    pub(super) generation: u64,
    /// The file that is started and watched. `info.path` is its name for people: our own binary is
    /// started by a name that still leads to it after an upgrade.
    pub(super) file: PathBuf,
    /// What the file was when it was resolved.
    pub(super) identity: FileIdentity,
    /// The directories that children may read, each with what it was when the engine was resolved:
    /// the sandbox is tied to them, not to their names.
    pub(super) roots: Vec<(PathBuf, FileIdentity)>,
    /// What named it.
    pub(super) origin: &'static str,
    /// Our own binary.
    pub(super) launcher: PathBuf,
    /// It starts with `#!`, so it has to start processes itself.
    pub(super) script: bool,
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

/// What a process answered that was asked one question by its arguments.
pub(super) struct Answer {
    pub(super) status: ExitStatus,
    pub(super) output: Vec<u8>,
    /// The end of its stderr, escaped, and a likely cause of a bad exit.
    pub(super) stderr: String,
}

impl ResolvedEngine {
    /// Whether records may carry their options, so that one child serves every profile.
    pub(super) fn takes_options_per_record(&self) -> bool {
        self.info.kind == EngineKind::Builtin
    }

    pub(super) fn through_launcher(&self) -> bool {
        os::HAS_LAUNCHER
    }

    /// The arguments of a child that serves records.
    pub(super) fn jsonl_arguments(&self, profile: &Profile) -> Vec<String> {
        let mut arguments = vec!["--jsonl".to_owned()];
        arguments.extend_from_slice(profile.argv());
        arguments
    }

    /// A command that starts the engine, confined, with pipes of its own and an emptied environment.
    pub(super) fn command(&self, settings: &Settings, arguments: &[String]) -> Command {
        let builtin = self.info.kind == EngineKind::Builtin;
        let mut command = if os::HAS_LAUNCHER {
            let mut command = Command::new(&self.launcher);
            let spec = serde_json::to_string(&self.spec(settings)).unwrap_or_default();
            command.args([SUBCOMMAND, &spec, "--"]);
            if builtin {
                command.arg(launch_spec::BUILTIN);
            } else {
                command.arg(&self.file);
            }
            command
        } else {
            let mut command = Command::new(&self.file);
            if builtin {
                command.arg("engine");
            }
            command
        };
        if builtin {
            for root in &settings.roots {
                command.arg("--root").arg(root);
            }
        }
        command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .env_clear()
            .env(CHILD_MARK, "1")
            // One thread for a PDF parser that would start one for each processor.
            .env("RAYON_NUM_THREADS", "1")
            .kill_on_drop(true);
        if self.script {
            command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
        }
        for name in PASSED_ON {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        if cfg!(unix) {
            command.current_dir("/");
        }
        os::own_group(&mut command);
        command
    }

    /// A sentence that names the engine, what names it, and why it cannot be started.
    pub(super) fn cannot_start(&self, why: &str) -> String {
        cannot_start(&self.info.path, self.origin, why)
    }

    /// What on disk is not what it was when the engine was resolved, if anything. What is gone for the
    /// moment, as in the middle of an upgrade, does not count. With it comes what is there now.
    pub(super) fn outdated(&self) -> Option<(&'static str, FileIdentity)> {
        let file = os::file_identity(&self.file).ok();
        if let Some(is) = file.filter(|is| *is != self.identity) {
            return Some(("the engine was replaced on disk", is));
        }
        let moved = |(root, was): &(PathBuf, FileIdentity)| {
            let is = os::directory_identity(root).ok();
            is.filter(|is| is != was)
        };
        let moved = self.roots.iter().find_map(moved);
        moved.map(|is| ("a root was replaced on disk", is))
    }

    fn spec(&self, settings: &Settings) -> Spec {
        let external = self.info.kind == EngineKind::External;
        let program = external.then(|| self.file.clone());
        spec(settings, program, self.script)
    }
}

/// Tries out what confines children, in a process that does nothing else. Blocks for some
/// milliseconds. For `doctor`, and for a server that must not start without the sandbox.
///
/// # Errors
/// Why a child cannot be confined as the settings require.
pub fn check_sandbox(settings: &Settings) -> Result<Applied, String> {
    if !os::HAS_LAUNCHER {
        return match settings.sandbox {
            SandboxMode::Require => Err("this system offers no engine sandbox".to_owned()),
            _ => Ok(Applied::default()),
        };
    }
    let spec = spec(settings, None, false);
    let spec = serde_json::to_string(&spec).unwrap_or_default();
    let output = std::process::Command::new(own_program(settings)?)
        .args([SUBCOMMAND, &spec, "--", launch_spec::NOTHING])
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    let mut tail = StderrTail::new(true);
    tail.push(&output.stderr);
    match (tail.applied(), tail.launch_failure()) {
        (Some(applied), _) => Ok(applied.clone()),
        (None, Some(why)) => Err(why.to_owned()),
        (None, None) => Err(format!("the launcher said nothing: {}", tail.shown())),
    }
}

fn spec(settings: &Settings, program: Option<PathBuf>, script: bool) -> Spec {
    let sandbox = match settings.sandbox {
        SandboxMode::Auto => Confinement::Auto,
        SandboxMode::Require => Confinement::Require,
        SandboxMode::Off => Confinement::Off,
    };
    Spec {
        parent: std::process::id(),
        sandbox,
        memory: settings.max_memory_bytes,
        // Never reached by a child that is recycled in time: a stop for one that got away.
        cpu_seconds: settings
            .max_age
            .map(|age| age.as_secs().saturating_mul(4).max(3600)),
        roots: settings.roots.iter().cloned().map(SpecPath).collect(),
        program: program.map(SpecPath),
        script,
    }
}

pub(super) fn cannot_start(path: &Path, origin: &str, why: &str) -> String {
    format!("cannot use the engine {} ({origin}): {why}", path.display())
}

/// Our own binary.
pub(super) fn own_program(settings: &Settings) -> Result<PathBuf, String> {
    match &settings.launcher {
        Some(path) => Ok(path.clone()),
        None => os::own_binary().map_err(|error| format!("cannot find this program: {error}")),
    }
}
