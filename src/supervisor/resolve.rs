//! Which engine to use, and how its processes are started.
//!
//! The order is `DECKPROBE_MCP_BIN`, a `deckprobe` beside our own executable, `deckprobe` on `PATH`,
//! the built-in engine. A candidate that is ourselves is refused, or processes would start each other
//! without end; so is one that does not name itself an engine of the contract's major version.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use tokio::process::Command;

use crate::contract::{CONTRACT_VERSION, Profile};

use super::core::Core;
use super::launcher::{self, Applied, CHILD_MARK, Confinement, SUBCOMMAND, Spec};
use super::stderr_tail::StderrTail;
use super::{EngineChoice, EngineInfo, EngineKind, SandboxMode, Settings, os, start};

/// The engine's file name.
const NAME: &str = if cfg!(windows) {
    "deckprobe.exe"
} else {
    "deckprobe"
};

/// A resolved engine. A new one takes its place after an upgrade on disk.
#[derive(Debug)]
pub(super) struct ResolvedEngine {
    pub(super) info: EngineInfo,
    /// Counts resolutions; children of an earlier one are of the old file.
    pub(super) generation: u64,
    /// The file that is started and watched. `info.path` is its name for people: our own binary is
    /// started by a name that still leads to it after an upgrade.
    file: PathBuf,
    /// What the file was when it was resolved.
    identity: Vec<i64>,
    /// The directories that children may read, each with what it was when the engine was resolved:
    /// the sandbox is tied to them, not to their names.
    roots: Vec<(PathBuf, Vec<i64>)>,
    /// What named it.
    origin: &'static str,
    /// Our own binary.
    launcher: PathBuf,
    /// It starts with `#!`, so it has to start processes itself.
    script: bool,
}

/// What tells one file or directory on disk from the next that has its name.
pub(super) type FileIdentity = Vec<i64>;

struct Candidate {
    kind: EngineKind,
    path: PathBuf,
    origin: &'static str,
}

/// Finds the engine and asks it for its version.
///
/// # Errors
/// Why there is none, naming the path and what names it.
pub(super) async fn resolve(core: &Arc<Core>, generation: u64) -> Result<ResolvedEngine, String> {
    if std::env::var_os(CHILD_MARK).is_some() {
        return Err(format!(
            "this process was itself started as an engine ({CHILD_MARK} is set); \
             DECKPROBE_MCP_BIN must not lead back to this program"
        ));
    }
    let settings = core.settings.clone();
    let found = tokio::task::spawn_blocking(move || candidates(&settings));
    let candidates = found.await.map_err(|error| error.to_string())??;
    let only_one = candidates.len() == 1;
    let mut refused = Vec::new();
    for candidate in candidates {
        match examine(core, candidate, generation).await {
            Ok(engine) => {
                let EngineInfo {
                    kind,
                    path,
                    tool_version,
                } = &engine.info;
                tracing::info!(?kind, path = %path.display(), %tool_version, origin = engine.origin, "engine");
                if *kind == EngineKind::External && !cfg!(target_os = "linux") {
                    tracing::info!(
                        "this system cannot tie an engine to its server: should the server be \
                         killed, a busy engine ends with its record"
                    );
                }
                return Ok(engine);
            }
            Err(why) if only_one => return Err(why),
            Err(why) => {
                tracing::warn!("{why}");
                refused.push(why);
            }
        }
    }
    refused.push("no engine was found: set DECKPROBE_MCP_BIN to a deckprobe binary".to_owned());
    Err(refused.join("; "))
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
                command.arg(launcher::BUILTIN);
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
        for name in ["SystemRoot", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"] {
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
        let moved = |(root, was): &(PathBuf, Vec<i64>)| {
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
        .args([SUBCOMMAND, &spec, "--", launcher::NOTHING])
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
        roots: settings.roots.clone(),
        program,
        script,
    }
}

fn cannot_start(path: &Path, origin: &str, why: &str) -> String {
    format!("cannot use the engine {} ({origin}): {why}", path.display())
}

/// What to try, in order.
fn candidates(settings: &Settings) -> Result<Vec<Candidate>, String> {
    let external = |path: PathBuf, origin| Candidate {
        kind: EngineKind::External,
        path,
        origin,
    };
    let mut found = Vec::new();
    if settings.engine != EngineChoice::Builtin {
        if let Some(bin) = &settings.bin {
            return Ok(vec![external(bin.clone(), "set by DECKPROBE_MCP_BIN")]);
        }
        if let Ok(own) = std::env::current_exe()
            && let Some(beside) = own.parent().map(|folder| folder.join(NAME))
            && beside.is_file()
        {
            found.push(external(beside, "found beside this program"));
        }
        if let Some(on_path) = search_path() {
            found.push(external(on_path, "found on PATH"));
        }
    }
    if settings.engine != EngineChoice::External {
        found.push(Candidate {
            kind: EngineKind::Builtin,
            path: own_program(settings)?,
            origin: "built in",
        });
    }
    Ok(found)
}

fn search_path() -> Option<PathBuf> {
    let path: OsString = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(NAME))
        .find(|file| file.is_file() && os::is_executable(file))
}

fn own_program(settings: &Settings) -> Result<PathBuf, String> {
    match &settings.launcher {
        Some(path) => Ok(path.clone()),
        None => os::own_binary().map_err(|error| format!("cannot find this program: {error}")),
    }
}

/// Checks a candidate and asks it for its version.
async fn examine(
    core: &Arc<Core>,
    candidate: Candidate,
    generation: u64,
) -> Result<ResolvedEngine, String> {
    let Candidate { kind, path, origin } = candidate;
    let refuse = |why: &str| cannot_start(&path, origin, why);
    let launcher = own_program(&core.settings)?;
    let looked_at = tokio::task::spawn_blocking({
        let (path, launcher) = (path.clone(), launcher.clone());
        let roots = core.settings.roots.clone();
        move || {
            let roots = roots.into_iter();
            let roots = roots.filter_map(|root| {
                let identity = os::directory_identity(&root).ok()?;
                Some((root, identity))
            });
            let roots: Vec<_> = roots.collect();
            look_at(kind, &path, &launcher).map(|(identity, script)| (identity, script, roots))
        }
    });
    let (identity, script, roots) = looked_at
        .await
        .map_err(|error| error.to_string())?
        .map_err(|why| refuse(&why))?;
    let shown = match (kind, std::env::current_exe()) {
        (EngineKind::Builtin, Ok(own)) if core.settings.launcher.is_none() => own,
        _ => path.clone(),
    };
    let mut engine = ResolvedEngine {
        info: EngineInfo {
            kind,
            path: shown,
            tool_version: String::new(),
        },
        generation,
        file: path.clone(),
        identity,
        roots,
        origin,
        launcher,
        script,
    };
    let probe = Arc::new(ResolvedEngine {
        info: engine.info.clone(),
        file: engine.file.clone(),
        identity: engine.identity.clone(),
        roots: Vec::new(),
        launcher: engine.launcher.clone(),
        ..engine
    });
    let limit = core.settings.start_timeout;
    let slot = core
        .slot(limit)
        .await
        .map_err(|_| refuse("no room for another process"))?;
    let question = ["--version".to_owned()];
    let answer = start::run_once(core, &probe, &question, slot, limit)
        .await
        .map_err(|why| refuse(&why))?;
    if !answer.status.success() {
        let (how, _) = os::describe_exit(answer.status);
        let words = match answer.words.as_str() {
            "" => String::new(),
            words => format!(": {words}"),
        };
        return Err(refuse(&format!("asked for its version it {how}{words}")));
    }
    let version = version_in(kind, &answer.output);
    engine.info.tool_version = version.map_err(|why| refuse(&why))?;
    Ok(engine)
}

/// What can be seen without running it: its identity, and whether it is a script.
fn look_at(kind: EngineKind, path: &Path, launcher: &Path) -> Result<(Vec<i64>, bool), String> {
    let meta = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => error.to_string(),
    })?;
    if !meta.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let identity = os::file_identity(path).map_err(|error| error.to_string())?;
    if kind == EngineKind::Builtin {
        return Ok((identity, false));
    }
    let own = std::env::current_exe().unwrap_or_default();
    if os::same_file(path, &own) || os::same_file(path, launcher) {
        return Err("it is this very program, which would start itself without end".to_owned());
    }
    if !os::is_executable(path) {
        return Err("it is not executable".to_owned());
    }
    let mut head = [0_u8; 2];
    let script = std::fs::File::open(path)
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut head))
        .is_ok_and(|()| head == *b"#!");
    Ok((identity, script))
}

/// The version in the answer to `--version`.
fn version_in(kind: EngineKind, output: &[u8]) -> Result<String, String> {
    let text = String::from_utf8_lossy(output);
    let line = text.lines().next().unwrap_or_default();
    let (name, version) = line.split_once(' ').unwrap_or((line, ""));
    let version = version.trim();
    if kind == EngineKind::Builtin && !version.is_empty() {
        return Ok(version.to_owned());
    }
    let shown = super::stderr_tail::excerpt(line.as_bytes());
    let plain = version.len() <= 64 && version.bytes().all(|byte| byte.is_ascii_graphic());
    if name != "deckprobe" || version.is_empty() || !plain {
        return Err(format!(
            "it is no deckprobe engine: it answers --version with {shown:?}"
        ));
    }
    let major = |version: &str| version.split('.').next().map(str::to_owned);
    if major(version) != major(CONTRACT_VERSION) {
        return Err(format!(
            "its version is {version}; this program works with {CONTRACT_VERSION} and other 2.x"
        ));
    }
    Ok(version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_engines_of_the_contracts_major_version_are_accepted() {
        let external = |text: &str| version_in(EngineKind::External, text.as_bytes());
        assert_eq!(external("deckprobe 2.4.0\n").as_deref(), Ok("2.4.0"));
        assert_eq!(external("deckprobe 2.11.3").as_deref(), Ok("2.11.3"));
        for (answer, expected) in [
            ("deckprobe 1.9.0", "1.9.0"),
            ("deckprobe 3.0.0", "3.0.0"),
            ("deckprobe-mcp 0.1.0", "no deckprobe engine"),
            ("", "no deckprobe engine"),
            ("\x1b[31mhello", "no deckprobe engine"),
            ("deckprobe 2.4\x1b[31m", "no deckprobe engine"),
            (&format!("deckprobe 2.{:065}", 1), "no deckprobe engine"),
        ] {
            let refused = external(answer).unwrap_err();
            assert!(refused.contains(expected), "{answer:?}: {refused}");
        }
    }
}
