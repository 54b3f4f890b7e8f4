//! Environment variables and flags → one validated [`Config`].
//!
//! This is the only place that reads the environment. A value that does not parse stops the start
//! with one message about all of them ([`ConfigError`]); one that parses and still looks like a slip
//! becomes a line in [`Config::warnings`], to be logged at start.

mod advice;
#[cfg(feature = "http")]
mod http;
mod reader;

use std::path::{Path, PathBuf};
use std::time::Duration;

#[cfg(feature = "http")]
pub use http::{HttpSettings, Token};
pub use reader::{ConfigError, Lookup};
use reader::{Reader, resolve_directory};

use crate::supervisor::{EngineChoice, SandboxMode, Settings};
use crate::telemetry::{LogFormat, LogSettings};

/// Every variable that is read somewhere in the program.
pub const VARIABLES: &[&str] = &[
    "DECKPROBE_MCP_BIN",
    "DECKPROBE_MCP_ENGINE",
    "DECKPROBE_MCP_ROOTS",
    "DECKPROBE_MCP_TIMEOUT_MS",
    "DECKPROBE_MCP_MAX_CONCURRENCY",
    "DECKPROBE_MCP_MAX_BATCH",
    "DECKPROBE_MCP_MAX_QUEUE",
    "DECKPROBE_MCP_QUEUE_TIMEOUT_MS",
    "DECKPROBE_MCP_DRAIN_MS",
    "DECKPROBE_MCP_PREWARM",
    "DECKPROBE_MCP_IDLE_MS",
    "DECKPROBE_MCP_MAX_RECORDS",
    "DECKPROBE_MCP_MAX_AGE_MS",
    "DECKPROBE_MCP_MAX_RSS_MB",
    "DECKPROBE_MCP_SANDBOX",
    "DECKPROBE_MCP_LOG",
    "DECKPROBE_MCP_LOG_FORMAT",
    "DECKPROBE_MCP_INLINE",
    "DECKPROBE_MCP_MAX_INLINE_BYTES",
    "DECKPROBE_MCP_HTTP_TOKEN",
    "DECKPROBE_MCP_HTTP_TOKEN_FILE",
    "DECKPROBE_MCP_HTTP_HOSTS",
    "DECKPROBE_MCP_HTTP_ORIGINS",
    "DECKPROBE_MCP_HTTP_TIMEOUT_MS",
    "DECKPROBE_MCP_HTTP_MAX_REQUESTS",
];

/// Longest time that may be configured: a week. Nothing longer is meant, and adding it to a clock
/// cannot overflow.
const MAX_MS: u64 = 7 * 24 * 3600 * 1000;
const MIB: u64 = 1024 * 1024;

/// What the whole program runs by. Nothing below it reads the environment.
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
    /// Sentences about settings that look like a slip.
    pub warnings: Vec<String>,
}

/// What a command line may override.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `--root DIR`: the single entry of the allow-list.
    pub root: Option<PathBuf>,
    /// What is logged unless the variable says otherwise; for commands that people read.
    pub log: Option<&'static str>,
    /// `--http ADDR`: serve HTTP there.
    #[cfg(feature = "http")]
    pub http: Option<std::net::SocketAddr>,
}

impl Config {
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
        let mut config = Self {
            supervisor: supervisor(&mut read, overrides),
            max_batch: count(&mut read, "DECKPROBE_MCP_MAX_BATCH", 64, 1, 100_000),
            drain: ms(&mut read, "DECKPROBE_MCP_DRAIN_MS", 30_000, 0),
            inline_bytes: inline(&mut read, overrides),
            #[cfg(feature = "http")]
            http: None,
            log: log(&mut read, overrides),
            warnings: Vec::new(),
        };
        #[cfg(feature = "http")]
        match overrides.http {
            Some(address) => {
                config.http = Some(HttpSettings::load(&mut read, address, &config));
            }
            None => HttpSettings::check(&mut read),
        }
        read.finish()?;
        config.warnings = advice::warnings(&config, set);
        Ok(config)
    }
}

fn supervisor(read: &mut Reader<'_>, overrides: &Overrides) -> Settings {
    let engines = [
        ("auto", EngineChoice::Auto),
        ("external", EngineChoice::External),
        ("builtin", EngineChoice::Builtin),
    ];
    let sandboxes = [
        ("auto", SandboxMode::Auto),
        ("require", SandboxMode::Require),
        ("off", SandboxMode::Off),
    ];
    Settings {
        engine: read.word("DECKPROBE_MCP_ENGINE", &engines, EngineChoice::Auto),
        bin: read.path("DECKPROBE_MCP_BIN"),
        record_timeout: ms(read, "DECKPROBE_MCP_TIMEOUT_MS", 30_000, 1),
        max_concurrency: count(read, "DECKPROBE_MCP_MAX_CONCURRENCY", 4, 1, 1024),
        max_queue: count(read, "DECKPROBE_MCP_MAX_QUEUE", 1024, 0, 1_000_000),
        queue_timeout: ms(read, "DECKPROBE_MCP_QUEUE_TIMEOUT_MS", 20_000, 1),
        prewarm: count(read, "DECKPROBE_MCP_PREWARM", 1, 0, 1024),
        idle: some_ms(read, "DECKPROBE_MCP_IDLE_MS", 300_000),
        max_records: never_if_zero(read.number(
            "DECKPROBE_MCP_MAX_RECORDS",
            "records (0 = never)",
            10_000,
            0..=u64::from(u32::MAX),
        )),
        max_age: some_ms(read, "DECKPROBE_MCP_MAX_AGE_MS", 3_600_000),
        max_rss_bytes: never_if_zero(read.number(
            "DECKPROBE_MCP_MAX_RSS_MB",
            "MiB (0 = never)",
            512,
            0..=MIB,
        ))
        .map(|mib| mib * MIB),
        sandbox: read.word("DECKPROBE_MCP_SANDBOX", &sandboxes, SandboxMode::Auto),
        roots: roots(read, overrides),
        ..Settings::default()
    }
}

fn roots(read: &mut Reader<'_>, overrides: &Overrides) -> Vec<PathBuf> {
    let Some(root) = &overrides.root else {
        return read.directories("DECKPROBE_MCP_ROOTS");
    };
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

/// Whether documents may travel inside calls: over HTTP unless it is turned off, on stdio only when it
/// is turned on.
fn inline(read: &mut Reader<'_>, overrides: &Overrides) -> Option<u64> {
    #[cfg(feature = "http")]
    let remote = overrides.http.is_some();
    #[cfg(not(feature = "http"))]
    let remote = {
        let _unused = overrides;
        false
    };
    let words = [("auto", remote), ("on", true), ("off", false)];
    let allowed = read.word("DECKPROBE_MCP_INLINE", &words, remote);
    let name = "DECKPROBE_MCP_MAX_INLINE_BYTES";
    let most = read.number(name, "bytes", 8 * MIB, 1..=1024 * MIB);
    allowed.then_some(most)
}

fn log(read: &mut Reader<'_>, overrides: &Overrides) -> LogSettings {
    let name = "DECKPROBE_MCP_LOG";
    let filter = read
        .text(name)
        .unwrap_or_else(|| overrides.log.unwrap_or("info").into());
    if let Some(why) = filter_problem(&filter) {
        read.problem(format!(
            "{name}={filter:?} is not accepted: a level (error, warn, info, debug, trace, off) or \
             target=level pairs separated by commas ({why})"
        ));
    }
    LogSettings {
        filter,
        format: read.word(
            "DECKPROBE_MCP_LOG_FORMAT",
            &[("text", LogFormat::Text), ("json", LogFormat::Json)],
            LogFormat::Text,
        ),
    }
}

/// What is wrong with a log filter. A word that is no level would be taken for a target of that name,
/// and `warning` for `warn` would turn everything off.
fn filter_problem(filter: &str) -> Option<String> {
    use tracing_subscriber::filter::{LevelFilter, Targets};
    let is_pair_or_level = |entry: &&str| {
        entry.contains('=') || (!entry.is_empty() && entry.parse::<LevelFilter>().is_ok())
    };
    if let Some(entry) = filter.split(',').find(|entry| !is_pair_or_level(entry)) {
        return Some(format!("{entry:?} is no level"));
    }
    let error = filter.parse::<Targets>().err()?;
    Some(error.to_string())
}

fn ms(read: &mut Reader<'_>, name: &str, default: u64, least: u64) -> Duration {
    Duration::from_millis(read.number(name, "milliseconds", default, least..=MAX_MS))
}

fn some_ms(read: &mut Reader<'_>, name: &str, default: u64) -> Option<Duration> {
    never_if_zero(read.number(name, "milliseconds (0 = never)", default, 0..=MAX_MS))
        .map(Duration::from_millis)
}

fn count(read: &mut Reader<'_>, name: &str, default: u64, least: u64, most: u64) -> usize {
    let value = read.number(name, "pieces", default, least..=most);
    usize::try_from(value).unwrap_or(usize::MAX)
}

fn never_if_zero(value: u64) -> Option<u64> {
    (value != 0).then_some(value)
}

#[cfg(test)]
mod tests;
