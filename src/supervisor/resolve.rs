//! Which engine to use.
//!
//! The order is `DECKPROBE_MCP_BIN`, a `deckprobe` beside our own executable, `deckprobe` on `PATH`,
//! the built-in engine. A candidate that is ourselves is refused, or processes would start each other
//! without end; so is one that does not name itself an engine of the contract's major version.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::contract::CONTRACT_VERSION;

use super::engine_program::{
    Answer, EngineInfo, EngineKind, FileIdentity, ResolvedEngine, cannot_start, own_program,
};
use super::launch_spec::CHILD_MARK;
use super::os;
use super::settings::{EngineChoice, Settings};

/// The engine's file name.
const NAME: &str = if cfg!(windows) {
    "deckprobe.exe"
} else {
    "deckprobe"
};

struct Candidate {
    kind: EngineKind,
    path: PathBuf,
    origin: &'static str,
}

/// Finds the engine. `ask` starts a candidate and asks it for its version.
///
/// # Errors
/// Why there is none, naming the path and what names it.
pub(super) async fn resolve<F>(
    settings: &Settings,
    generation: u64,
    ask: impl Fn(Arc<ResolvedEngine>) -> F,
) -> Result<ResolvedEngine, String>
where
    F: Future<Output = Result<Answer, String>>,
{
    if std::env::var_os(CHILD_MARK).is_some() {
        return Err(format!(
            "this process was itself started as an engine ({CHILD_MARK} is set); \
             DECKPROBE_MCP_BIN must not lead back to this program"
        ));
    }
    let found = tokio::task::spawn_blocking({
        let settings = settings.clone();
        move || candidates(&settings)
    });
    let candidates = found.await.map_err(|error| error.to_string())??;
    let only_one = candidates.len() == 1;
    let mut refused = Vec::new();
    for candidate in candidates {
        match examine(settings, candidate, generation, &ask).await {
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

/// Checks a candidate and asks it for its version.
async fn examine<F>(
    settings: &Settings,
    candidate: Candidate,
    generation: u64,
    ask: &impl Fn(Arc<ResolvedEngine>) -> F,
) -> Result<ResolvedEngine, String>
where
    F: Future<Output = Result<Answer, String>>,
{
    let Candidate { kind, path, origin } = candidate;
    let refuse = |why: &str| cannot_start(&path, origin, why);
    let launcher = own_program(settings)?;
    let examined = tokio::task::spawn_blocking({
        let (path, launcher) = (path.clone(), launcher.clone());
        let roots = settings.roots.clone();
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
    let (identity, script, roots) = examined
        .await
        .map_err(|error| error.to_string())?
        .map_err(|why| refuse(&why))?;
    let shown = match (kind, std::env::current_exe()) {
        (EngineKind::Builtin, Ok(own)) if settings.launcher.is_none() => own,
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
    let answer = ask(Arc::new(engine.clone()))
        .await
        .map_err(|why| refuse(&why))?;
    if !answer.status.success() {
        let (how, _) = os::describe_exit(answer.status);
        let stderr = match answer.stderr.as_str() {
            "" => String::new(),
            stderr => format!(": {stderr}"),
        };
        return Err(refuse(&format!("asked for its version it {how}{stderr}")));
    }
    let version = version_in(kind, &answer.output);
    engine.info.tool_version = version.map_err(|why| refuse(&why))?;
    Ok(engine)
}

/// What can be seen without running it: its identity, and whether it is a script.
fn look_at(kind: EngineKind, path: &Path, launcher: &Path) -> Result<(FileIdentity, bool), String> {
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
            "it is not a deckprobe engine: it answers --version with {shown:?}"
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
            ("deckprobe-mcp 0.1.0", "not a deckprobe engine"),
            ("", "not a deckprobe engine"),
            ("\x1b[31mhello", "not a deckprobe engine"),
            ("deckprobe 2.4\x1b[31m", "not a deckprobe engine"),
            (&format!("deckprobe 2.{:065}", 1), "not a deckprobe engine"),
        ] {
            let refused = external(answer).unwrap_err();
            assert!(refused.contains(expected), "{answer:?}: {refused}");
        }
    }
}
