//! What the supervisor and its launcher say to each other: the instructions on the launcher's command
//! line, and the lines that it prints on stderr.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::os::path;

/// The hidden subcommand.
pub(super) const SUBCOMMAND: &str = "launch";
/// What the launcher's lines on stderr begin with.
pub(super) const MARK: &str = "deckprobe-mcp-launch:";
/// Given instead of a program when only the confinement is tried out.
pub(super) const NOTHING: &str = "@nothing";
/// Given instead of a program for the built-in engine.
pub(super) const BUILTIN: &str = "@builtin";
/// Set in the environment of every child, so that one that turns out to be ourselves is recognised.
pub const CHILD_MARK: &str = "DECKPROBE_MCP_ENGINE_CHILD";
/// Set by developers: the built-in engine prints each system call that the sandbox refuses, once.
#[cfg(target_os = "linux")]
pub(super) const SANDBOX_DEBUG: &str = "DECKPROBE_SANDBOX_DEBUG";
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
            Wire::Bytes(bytes) => path::from_bytes(bytes),
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
