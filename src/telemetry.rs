//! Tracing set-up: always to stderr, since stdout belongs to the transport alone.

use std::io::IsTerminal;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

use crate::config::{LogFormat, LogSettings};

/// Installs the process-wide subscriber. A second call has no effect.
pub fn init(settings: &LogSettings) {
    let filter = filter(&settings.filter);
    let stderr = fmt::layer().with_writer(std::io::stderr);
    let layer = match settings.format {
        LogFormat::Json => stderr.json().flatten_event(true).boxed(),
        LogFormat::Text => stderr.with_ansi(std::io::stderr().is_terminal()).boxed(),
    };
    let _already_installed = tracing_subscriber::registry()
        .with(layer.with_filter(filter))
        .try_init();
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
