//! Tracing set-up: always to stderr, since stdout belongs to the transport alone.

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
use crate::config::{LogFormat, LogSettings};

/// Longest wait for the last lines at the end of the process.
const LAST_LINES: Duration = Duration::from_millis(300);

/// The way to stderr; none before [`init`].
static LINES: OnceLock<Lines> = OnceLock::new();

/// Installs the process-wide subscriber. A second call has no effect.
pub fn init(settings: &LogSettings) {
    let filter = filter(&settings.filter);
    let writer = match Lines::to(std::io::stderr(), settings.format) {
        Ok(lines) => BoxMakeWriter::new(LINES.get_or_init(|| lines).clone()),
        // No thread to be had: lines are written where they arise.
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

/// Lets the last lines out, for a moment. To be called before the process ends.
pub fn finish() {
    if let Some(lines) = LINES.get() {
        lines.flush(LAST_LINES);
    }
}

/// The filter that was asked for. The protocol SDK logs whole requests at `debug`, each notification at
/// `info` and each refused call at `warn`: what clients and documents say, which is only shown when the
/// SDK is asked for by name.
fn filter(text: &str) -> Targets {
    let asked: Targets = text
        .parse()
        .unwrap_or_else(|_| Targets::new().with_default(LevelFilter::INFO));
    if text.contains("rmcp") {
        return asked;
    }
    let quiet = asked
        .default_level()
        .unwrap_or(LevelFilter::OFF)
        .min(LevelFilter::ERROR);
    asked.with_target("rmcp", quiet)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::Level;

    #[test]
    fn the_sdk_is_quiet_unless_it_is_named() {
        let would = |text: &str, level| filter(text).would_enable("rmcp::service", &level);
        assert!(!would("debug", Level::WARN));
        assert!(would("debug", Level::ERROR));
        assert!(!would("off", Level::ERROR));
        assert!(would("warn,rmcp=trace", Level::TRACE));
        assert!(filter("debug").would_enable("deckprobe_mcp::mcp", &Level::DEBUG));
    }
}
