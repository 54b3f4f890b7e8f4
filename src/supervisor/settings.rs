//! The settings of a supervisor.

use std::path::PathBuf;
use std::time::Duration;

use crate::contract::MAX_REPLY_BYTES;

/// Which engine to use.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantNames,
)]
#[strum(serialize_all = "lowercase")]
pub enum EngineChoice {
    /// An external engine where one is found, else the built-in one.
    #[default]
    Auto,
    /// An external engine only.
    External,
    /// The built-in engine only.
    Builtin,
}

/// How strictly children are confined.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantNames,
)]
#[strum(serialize_all = "lowercase")]
pub enum SandboxMode {
    /// As much as the system offers; what could not be applied is logged.
    #[default]
    Auto,
    /// A child that cannot be confined in full is not started.
    Require,
    /// No confinement. Children still die with the supervisor and write no core dumps.
    Off,
}

/// The settings of one supervisor. Their defaults are those of the
/// variables that set them.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which engine to use.
    pub engine: EngineChoice,
    /// The external engine's path; found by search when absent.
    pub bin: Option<PathBuf>,
    /// Our own binary, which starts every child (`launch`) and is the built-in engine (`engine`).
    /// The running executable when absent.
    pub launcher: Option<PathBuf>,
    /// Hard deadline of one record, from its hand-over to a child.
    pub record_timeout: Duration,
    /// Longest start of a child, waiting for its place included.
    pub start_timeout: Duration,
    /// Most engine processes alive at once, starting and dying ones included. At least 1.
    pub max_concurrency: usize,
    /// Calls that may wait for a permit; a batch counts as one.
    pub max_queue: usize,
    /// Longest wait for a permit.
    pub queue_timeout: Duration,
    /// Children started before the first call, and kept ready afterwards when one is lost.
    pub prewarm: usize,
    /// An idle child is retired after this; `None` means never.
    pub idle: Option<Duration>,
    /// Records before a child is recycled; `None` means never.
    pub max_records: Option<u64>,
    /// Age at which a child is recycled; `None` means never.
    pub max_age: Option<Duration>,
    /// Resident bytes, looked at after every record, above which a child is recycled; `None` means
    /// never.
    pub max_rss_bytes: Option<u64>,
    /// Address space of a child in bytes, a hard limit inside a record; `None` means none.
    pub max_memory_bytes: Option<u64>,
    /// Longest reply in bytes, without its line feed.
    pub max_reply_bytes: usize,
    /// Time between asking a child to end and killing it.
    pub grace: Duration,
    /// How children are confined.
    pub sandbox: SandboxMode,
    /// What children may read under the sandbox; empty means everything.
    pub roots: Vec<PathBuf>,
    /// Children that one document may kill in a short time before it is refused for a while; 0
    /// turns this off.
    pub strikes: u32,
}

impl Default for Settings {
    fn default() -> Self {
        const MIB: u64 = 1024 * 1024;
        Self {
            engine: EngineChoice::Auto,
            bin: None,
            launcher: None,
            record_timeout: Duration::from_secs(30),
            start_timeout: Duration::from_secs(10),
            max_concurrency: 4,
            max_queue: 1024,
            queue_timeout: Duration::from_secs(20),
            prewarm: 1,
            idle: Some(Duration::from_secs(300)),
            max_records: Some(10_000),
            max_age: Some(Duration::from_secs(3600)),
            max_rss_bytes: Some(512 * MIB),
            max_memory_bytes: Some(2048 * MIB),
            max_reply_bytes: MAX_REPLY_BYTES,
            grace: Duration::from_millis(250),
            sandbox: SandboxMode::Auto,
            roots: Vec::new(),
            strikes: 2,
        }
    }
}
