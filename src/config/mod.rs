//! From environment variables and flags to one validated [`Config`].
//!
//! A value that does not parse stops the start, with one message about all of them ([`ConfigError`]).
//! One that parses and is probably a mistake becomes a line in [`Config::warnings`], to be logged at
//! start. The rows of `variables` are the one place where a variable is described.

mod field;
#[cfg(feature = "http")]
mod http;
mod lints;
mod reader;
mod table;
mod variables;

use std::path::{Path, PathBuf};
use std::time::Duration;

#[cfg(feature = "http")]
pub use http::{HttpSettings, Token};
pub use reader::{ConfigError, Lookup};
pub use table::settings_help;

use field::{Draft, Inline};
use reader::{Reader, resolve_directory};
use variables::VARIABLES;

use crate::supervisor::Settings;
use crate::telemetry::LogSettings;

/// Longest time that may be configured: a week. Adding it to a clock cannot overflow.
const MAX_MS: u64 = 7 * 24 * 3600 * 1000;
const MIB: u64 = 1024 * 1024;
/// The variable that `--root` replaces.
const ROOTS: &str = "DECKPROBE_MCP_ROOTS";

/// The settings of the whole program.
#[derive(Clone, Debug)]
pub struct Config {
    /// The pool: engine, allow-list, deadlines, limits.
    pub supervisor: Settings,
    /// Most paths in one `probe_batch`.
    pub max_batch: usize,
    /// Longest wait for calls in flight after the client closed its end.
    pub drain: Duration,
    /// Largest document that may travel inside a call, in bytes; `None` when none may.
    pub inline_bytes: Option<u64>,
    /// The HTTP side; `None` for a stdio server.
    #[cfg(feature = "http")]
    pub http: Option<HttpSettings>,
    /// What is logged, always to stderr.
    pub log: LogSettings,
    /// Every variable with the value in force; secrets are not shown.
    pub in_force: Vec<(&'static str, String)>,
    /// Sentences about settings that are probably mistakes.
    pub warnings: Vec<String>,
}

/// What a command line may override.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `--root DIR`: the single entry of the allow-list.
    pub root: Option<PathBuf>,
    /// The log filter unless the variable sets one; for commands whose output people read.
    pub log: Option<&'static str>,
    /// `--http ADDR`: serve HTTP there.
    #[cfg(feature = "http")]
    pub http: Option<std::net::SocketAddr>,
}

impl Overrides {
    fn serves_http(&self) -> bool {
        #[cfg(feature = "http")]
        return self.http.is_some();
        #[cfg(not(feature = "http"))]
        return false;
    }
}

impl Config {
    /// The variables whose value in force is not the default.
    pub fn changed(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let mut defaults = Draft::default();
        let values = VARIABLES.iter().zip(&self.in_force);
        values.filter_map(move |(variable, (name, value))| {
            (variable.shown(&mut defaults) != *value).then_some((*name, value.as_str()))
        })
    }

    /// Reads the process environment.
    ///
    /// # Errors
    /// When any variable cannot be used; the message holds all of them.
    pub fn from_env(overrides: &Overrides) -> Result<Self, ConfigError> {
        let set: Vec<String> = std::env::vars_os()
            .filter_map(|(name, _)| name.into_string().ok())
            .collect();
        Self::load(
            &|name| std::env::var_os(name),
            set.iter().map(String::as_str),
            overrides,
        )
    }

    /// Reads variables through `lookup`; `set` are the names that exist, for finding misspelt ones.
    ///
    /// # Errors
    /// When any variable cannot be used; the message holds all of them.
    pub fn load<'n>(
        lookup: Lookup<'_>,
        set: impl Iterator<Item = &'n str>,
        overrides: &Overrides,
    ) -> Result<Self, ConfigError> {
        let mut read = Reader::new(lookup);
        let mut draft = Draft::default();
        for variable in VARIABLES {
            if overrides.root.is_none() || variable.name != ROOTS {
                variable.read(&mut read, &mut draft);
            }
        }
        if let Some(root) = &overrides.root {
            draft.config.supervisor.roots = root_override(&mut read, root);
        }
        check_filter(&mut read, &draft.config.log.filter);
        draft.config.in_force = VARIABLES
            .iter()
            .map(|variable| (variable.name, variable.shown(&mut draft)))
            .collect();
        if let Some(filter) = overrides.log
            && lookup("DECKPROBE_MCP_LOG").is_none()
        {
            draft.config.log.filter = filter.to_owned();
        }
        let mut config = finish(draft, overrides, &mut read);
        read.finish()?;
        config.warnings = lints::warnings(&config, set);
        Ok(config)
    }
}

/// Settles what depends on flags and on several variables.
fn finish(draft: Draft, overrides: &Overrides, read: &mut Reader<'_>) -> Config {
    let mut config = draft.config;
    let over_http = overrides.serves_http();
    let allowed = draft.inline == Inline::On || (draft.inline == Inline::Auto && over_http);
    config.inline_bytes = allowed.then_some(draft.max_inline_bytes);
    #[cfg(feature = "http")]
    match overrides.http {
        Some(address) => {
            config.http = Some(HttpSettings::new(draft.http, address, &config, read));
        }
        None => HttpSettings::check(draft.http, read),
    }
    #[cfg(not(feature = "http"))]
    let _without_http = read;
    config
}

fn root_override(read: &mut Reader<'_>, root: &Path) -> Vec<PathBuf> {
    match resolve_root(root) {
        Ok(real) => vec![real],
        Err(reason) => {
            read.problem(format!(
                "--root {:?} is not accepted: {reason}",
                root.to_string_lossy()
            ));
            Vec::new()
        }
    }
}

/// A root given as a flag: additionally, it must not look like a flag itself.
fn resolve_root(root: &Path) -> Result<PathBuf, String> {
    if root.to_string_lossy().starts_with('-') {
        return Err("it looks like an option; write ./ before the name of such a directory".into());
    }
    resolve_directory(root)
}

fn check_filter(read: &mut Reader<'_>, filter: &str) {
    if let Some(why) = filter_problem(filter) {
        read.problem(format!(
            "DECKPROBE_MCP_LOG={filter:?} is not accepted: a level (error, warn, info, debug, trace, \
             off) or target=level pairs separated by commas ({why})"
        ));
    }
}

/// What is wrong with a log filter. A word that is not a level would be taken for a target of that
/// name, so that `warning` for `warn` would turn everything off.
fn filter_problem(filter: &str) -> Option<String> {
    use tracing_subscriber::filter::{LevelFilter, Targets};
    let is_pair_or_level = |entry: &&str| {
        entry.contains('=') || (!entry.is_empty() && entry.parse::<LevelFilter>().is_ok())
    };
    if let Some(entry) = filter.split(',').find(|entry| !is_pair_or_level(entry)) {
        return Some(format!("{entry:?} is not a level"));
    }
    let error = filter.parse::<Targets>().err()?;
    Some(error.to_string())
}

#[cfg(test)]
mod tests;
