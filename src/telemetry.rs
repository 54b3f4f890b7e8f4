//! Logs and metrics. Logs always go to stderr, since stdout belongs to the transport.

pub mod metric;
mod stderr;

use std::io::IsTerminal;
use std::sync::OnceLock;
use std::time::Duration;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

use self::stderr::Lines;

/// Longest wait for the last log lines when the process ends.
const LAST_LINES: Duration = Duration::from_millis(300);

/// The queue to stderr; empty before [`init`].
static LINES: OnceLock<Lines> = OnceLock::new();

/// What is logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// A `tracing` filter.
    pub filter: String,
    /// The shape of a line.
    pub format: LogFormat,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self {
            filter: "info".into(),
            format: LogFormat::default(),
        }
    }
}

/// The shape of a log line.
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
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Installs the process-wide subscriber. A second call has no effect.
pub fn init(settings: &LogSettings) {
    let filter = filter(&settings.filter);
    let writer = match Lines::to(std::io::stderr(), settings.format) {
        Ok(lines) => BoxMakeWriter::new(LINES.get_or_init(|| lines).clone()),
        // No thread could be started: lines are written where they are logged.
        Err(_) => BoxMakeWriter::new(std::io::stderr),
    };
    let stderr = fmt::layer().with_writer(writer);
    let layer = match settings.format {
        LogFormat::Json => stderr.json().flatten_event(true).boxed(),
        LogFormat::Text => stderr.with_ansi(std::io::stderr().is_terminal()).boxed(),
    };
    let _already_installed = tracing_subscriber::registry()
        .with(layer.with_filter(filter))
        .try_init();
}

/// Waits briefly until the last lines are written. To be called before the process ends.
pub fn finish() {
    if let Some(lines) = LINES.get() {
        lines.flush(LAST_LINES);
    }
}

/// The filter of the settings. The protocol SDK logs whole requests at `debug`, each notification at
/// `info` and each refused call at `warn`. Those quote clients and documents, so they are shown only if
/// the filter names the SDK.
fn filter(text: &str) -> Targets {
    let given: Targets = text
        .parse()
        .unwrap_or_else(|_| Targets::new().with_default(LevelFilter::INFO));
    if text.contains("rmcp") {
        return given;
    }
    let quiet = given
        .default_level()
        .unwrap_or(LevelFilter::OFF)
        .min(LevelFilter::ERROR);
    // It reports every reply to a client that has left as an error. We log those at debug.
    given
        .with_target("rmcp", quiet)
        .with_target("rmcp::service", LevelFilter::OFF)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::Level;

    #[test]
    fn the_sdk_is_quiet_unless_it_is_named() {
        let would = |text: &str, level| filter(text).would_enable("rmcp::transport", &level);
        assert!(!filter("info").would_enable("rmcp::service", &Level::ERROR));
        assert!(!would("debug", Level::WARN));
        assert!(would("debug", Level::ERROR));
        assert!(!would("off", Level::ERROR));
        assert!(would("warn,rmcp=trace", Level::TRACE));
        assert!(filter("debug").would_enable("deckprobe_mcp::mcp", &Level::DEBUG));
    }
}
