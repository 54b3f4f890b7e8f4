//! Settings that parse and are probably mistakes. They are logged at start and never fatal.

use std::time::Duration;

use super::Config;
use super::variables::VARIABLES;
use crate::supervisor::EngineChoice;

/// Below this, a number of milliseconds was probably meant as seconds.
const SUSPICIOUS: Duration = Duration::from_millis(200);
/// An idle limit shorter than this retires prewarmed children before a person has typed a prompt.
const SHORT_IDLE: Duration = Duration::from_secs(5);
/// The time after which many clients give up on a call.
const CLIENT_PATIENCE: Duration = Duration::from_secs(60);

/// Sentences about settings that contradict each other or are probably mistakes.
pub(super) fn warnings<'n>(config: &Config, set: impl Iterator<Item = &'n str>) -> Vec<String> {
    let mut out = Vec::new();
    small_milliseconds(config, &mut out);
    contradictions(config, &mut out);
    out.extend(set.filter_map(unknown_variable));
    out
}

fn small_milliseconds(config: &Config, out: &mut Vec<String>) {
    let pool = &config.supervisor;
    let limits = [
        ("DECKPROBE_MCP_TIMEOUT_MS", Some(pool.record_timeout)),
        ("DECKPROBE_MCP_QUEUE_TIMEOUT_MS", Some(pool.queue_timeout)),
        ("DECKPROBE_MCP_DRAIN_MS", Some(config.drain)),
        ("DECKPROBE_MCP_IDLE_MS", pool.idle),
        ("DECKPROBE_MCP_MAX_AGE_MS", pool.max_age),
    ];
    for (name, limit) in limits {
        if let Some(limit) = limit.filter(|limit| !limit.is_zero() && *limit < SUSPICIOUS) {
            let ms = limit.as_millis();
            out.push(format!(
                "{name}={ms} means {ms} milliseconds; for {ms} seconds write {ms}000"
            ));
        }
    }
}

fn contradictions(config: &Config, out: &mut Vec<String>) {
    let pool = &config.supervisor;
    let n = pool.max_concurrency;
    if pool.prewarm > n {
        out.push(format!(
            "DECKPROBE_MCP_PREWARM={} is above DECKPROBE_MCP_MAX_CONCURRENCY={n}; {n} are started",
            pool.prewarm
        ));
    }
    if let Some(idle) = pool.idle.filter(|idle| *idle < SHORT_IDLE)
        && pool.prewarm > 0
    {
        out.push(format!(
            "DECKPROBE_MCP_IDLE_MS={} retires the prewarmed children before they are likely to be \
             used; raise it, or set DECKPROBE_MCP_PREWARM=0",
            idle.as_millis()
        ));
    }
    let longest = pool.queue_timeout.saturating_add(pool.record_timeout);
    if longest >= CLIENT_PATIENCE {
        out.push(format!(
            "DECKPROBE_MCP_QUEUE_TIMEOUT_MS + DECKPROBE_MCP_TIMEOUT_MS = {} ms; many clients give \
             up after 60000 ms and never see the answer",
            longest.as_millis()
        ));
    }
    if pool.engine == EngineChoice::Builtin
        && let Some(binary) = &pool.bin
    {
        out.push(format!(
            "DECKPROBE_MCP_BIN={:?} is ignored because DECKPROBE_MCP_ENGINE=builtin",
            binary.to_string_lossy()
        ));
    }
}

/// A variable with our prefix that does not exist is probably misspelt.
fn unknown_variable(name: &str) -> Option<String> {
    if !name.starts_with("DECKPROBE_MCP_") || is_known(name) {
        return None;
    }
    let nearest = VARIABLES
        .iter()
        .map(|known| (strsim::damerau_levenshtein(name, known.name), known.name))
        .min()
        .filter(|(distance, _)| *distance <= 3);
    Some(match nearest {
        Some((_, known)) => format!("{name} is not a known variable; did you mean {known}?"),
        None => format!("{name} is not a known variable and has no effect"),
    })
}

fn is_known(name: &str) -> bool {
    VARIABLES.iter().any(|variable| variable.name == name)
}
