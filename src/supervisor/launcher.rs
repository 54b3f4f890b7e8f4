//! The launcher: our own binary, started again as `deckprobe-mcp launch SPEC -- PROGRAM ARG…`, which
//! confines itself and then becomes the engine.
//!
//! A supervisor with many threads cannot safely run code between `fork` and `exec`. A fresh process
//! can: it has one thread, ties its life to its parent, sets limits, gives up rights, and only then
//! executes the engine (or goes on as the built-in one). What it applied, or why it could not, is the
//! first line on its stderr, and why it could not become the engine the second; the supervisor reads
//! both and keeps them out of the engine's own words.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::os;

/// The hidden subcommand.
pub(super) const SUBCOMMAND: &str = "launch";
/// What the launcher's lines on stderr begin with.
pub(super) const MARK: &str = "deckprobe-mcp-launch:";
/// Stands in place of a program when only the confinement is tried out.
pub(super) const NOTHING: &str = "@nothing";
/// Stands in place of a program for the built-in engine.
pub(super) const BUILTIN: &str = "@builtin";
/// Set in the environment of every child, so that one that turns out to be ourselves is recognised.
pub const CHILD_MARK: &str = "DECKPROBE_MCP_ENGINE_CHILD";
/// Set by developers: the built-in engine prints each system call that the sandbox refuses, once.
#[cfg(target_os = "linux")]
pub(super) const SANDBOX_DEBUG: &str = "DECKPROBE_SANDBOX_DEBUG";
/// The status of a launcher that could not become the engine.
const FAILED: u8 = 126;

/// The instructions for a launcher.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Spec {
    /// The supervisor's process id.
    pub(super) parent: u32,
    /// How children are confined.
    pub(super) sandbox: Confinement,
    /// Address space in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) memory: Option<u64>,
    /// CPU seconds over the whole life, as a last resort.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cpu_seconds: Option<u64>,
    /// What may be read; empty means everything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) roots: Vec<SpecPath>,
    /// The engine's own file, to be read and executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) program: Option<SpecPath>,
    /// Whether the engine is a script, which has to start processes.
    #[serde(default)]
    pub(super) script: bool,
}

/// A path in a [`Spec`]: text, or bytes where it is not UTF-8.
#[derive(Clone, Debug)]
pub(super) struct SpecPath(pub(super) PathBuf);

impl AsRef<Path> for SpecPath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Serialize for SpecPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Some(text) => text.serialize(serializer),
            None => self.0.as_os_str().as_encoded_bytes().serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for SpecPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Wire {
            Text(PathBuf),
            Bytes(Vec<u8>),
        }
        Ok(Self(match Wire::deserialize(deserializer)? {
            Wire::Text(path) => path,
            Wire::Bytes(bytes) => os::path_from(bytes),
        }))
    }
}

/// How children are confined, on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Confinement {
    Auto,
    Require,
    Off,
}

#[cfg(unix)]
impl Spec {
    pub(super) fn confined(&self) -> bool {
        self.sandbox != Confinement::Off
    }
}

/// What is in force in a child.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// It can gain no rights by executing something.
    pub no_new_privs: bool,
    /// The Landlock rule set: `full`, `partial` or `off`.
    pub landlock: String,
    /// The seccomp filter.
    pub seccomp: bool,
    /// What could not be applied, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// A line of the launcher on stderr.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Report {
    Applied(Applied),
    Failed(String),
}

/// Runs the hidden `launch` subcommand if `args` (without the program name) ask for it. To be called
/// first thing in `main`, before anything starts a thread. `builtin` is the built-in engine's command
/// line (arguments without a program name), which a launcher becomes without a second `exec`.
#[must_use]
pub fn intercept_launch(
    args: &[OsString],
    builtin: fn(Vec<OsString>) -> ExitCode,
) -> Option<ExitCode> {
    let [first, spec, dashes, program, rest @ ..] = args else {
        return None;
    };
    if first != SUBCOMMAND || dashes != "--" {
        return None;
    }
    let failed = |reason: String| {
        say(&Report::Failed(reason));
        Some(ExitCode::from(FAILED))
    };
    let spec = spec
        .to_str()
        .and_then(|text| serde_json::from_str::<Spec>(text).ok());
    let Some(spec) = spec else {
        return failed("this is an internal subcommand; its arguments are not understood".into());
    };
    match os::confine(&spec) {
        Ok(applied) => say(&Report::Applied(applied)),
        Err(reason) => return failed(reason),
    }
    if program == NOTHING {
        return Some(ExitCode::SUCCESS);
    }
    if program == BUILTIN {
        os::watch_parent(spec.parent);
        return Some(builtin(rest.to_vec()));
    }
    failed(os::become_program(program, rest).to_string())
}

fn say(report: &Report) {
    let json = serde_json::to_string(report).unwrap_or_default();
    // One write, so that the line cannot be torn; a closed stderr must not prevent the start.
    let _best_effort = std::io::stderr().write_all(format!("{MARK}{json}\n").as_bytes());
}
