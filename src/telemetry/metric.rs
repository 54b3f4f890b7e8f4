//! Every metric of the program, one row each: the name that call sites use, the kind, the labels and
//! the description that `/metrics` and `docs/observability.md` show.

use ::metrics::{describe_counter, describe_gauge, describe_histogram};

/// What a metric measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number that only grows.
    Counter,
    /// A number that goes up and down.
    Gauge,
    /// A distribution of seconds.
    Histogram,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// The name that is exported.
    pub name: &'static str,
    /// What it measures.
    pub kind: Kind,
    /// The names of its labels. Their values come from closed lists.
    pub labels: &'static [&'static str],
    /// What is counted or measured.
    pub help: &'static str,
}

macro_rules! metrics {
    ($($constant:ident = $kind:ident $name:literal [$($label:literal),*] $help:literal;)*) => {
        $(#[doc = $help] pub const $constant: &str = $name;)*

        /// All metrics.
        pub const ALL: &[Metric] = &[$(Metric {
            name: $name,
            kind: Kind::$kind,
            labels: &[$($label),*],
            help: $help,
        }),*];
    };
}

metrics! {
    RECORDS = Counter "deckprobe_records_total" ["outcome"]
        "Records by outcome.";
    RECYCLES = Counter "deckprobe_recycles_total" ["reason"]
        "Engine processes that ended, by reason.";
    STARTS = Counter "deckprobe_starts_total" ["result"]
        "Starts of engine processes, and failed searches for an engine.";
    RESENT = Counter "deckprobe_resent_total" []
        "Records sent to a second process because the first had ended before it got them.";
    REFUSED = Counter "deckprobe_refused_total" []
        "Records refused because their document had ended engine processes before.";
    CHILDREN = Gauge "deckprobe_children" []
        "Engine processes alive, including those that start or end.";
    PERMITS_IN_USE = Gauge "deckprobe_permits_in_use" []
        "Permits held by running jobs, background starts and processes that are being killed.";
    QUEUE_WAITING = Gauge "deckprobe_queue_waiting" []
        "Calls and batches that wait for a permit.";
    RECORD_SECONDS = Histogram "deckprobe_record_seconds" []
        "Time from sending a record to its reply, for replies that are not failures.";
    QUEUE_WAIT_SECONDS = Histogram "deckprobe_queue_wait_seconds" []
        "Time from a single call to its permit.";
    START_SECONDS = Histogram "deckprobe_start_seconds" []
        "Time from starting a process to its answer to the first ping.";
    TOOL_CALLS = Counter "deckprobe_mcp_tool_calls_total" ["tool", "outcome"]
        "Tool calls by tool and outcome.";
    TOOL_CALL_SECONDS = Histogram "deckprobe_mcp_tool_call_seconds" ["tool"]
        "Time from a tool call to its result.";
    HTTP_REFUSED = Counter "deckprobe_mcp_http_refused_total" ["reason"]
        "HTTP requests refused before they reached the protocol, by reason.";
    HANDLER_PANICS = Counter "deckprobe_mcp_handler_panics_total" []
        "Request handlers that panicked; each cost its call an error.";
}

/// Gives the installed recorder the descriptions of all metrics.
pub fn describe() {
    for metric in ALL {
        match metric.kind {
            Kind::Counter => describe_counter!(metric.name, metric.help),
            Kind::Gauge => describe_gauge!(metric.name, metric.help),
            Kind::Histogram => describe_histogram!(metric.name, metric.help),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_table_of_the_documentation_has_the_same_rows() {
        let page = include_str!("../../docs/observability.md");
        let rows: Vec<Vec<&str>> = page
            .lines()
            .filter(|line| line.starts_with("| `deckprobe_"))
            .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
            .collect();
        assert_eq!(rows.len(), ALL.len());
        for (row, metric) in rows.iter().zip(ALL) {
            let kind = format!("{:?}", metric.kind).to_lowercase();
            assert_eq!(row[0], format!("`{}`", metric.name));
            assert_eq!((row[1], row[3]), (kind.as_str(), metric.help));
            let labels: Vec<&str> = row[2]
                .split(", ")
                .filter_map(|label| label.split('`').nth(1))
                .collect();
            assert_eq!(labels, metric.labels, "{}", metric.name);
        }
    }

    #[test]
    fn names_follow_the_conventions_of_prometheus_and_are_unique() {
        for (at, metric) in ALL.iter().enumerate() {
            let suffix = match metric.kind {
                Kind::Counter => "_total",
                Kind::Gauge => "",
                Kind::Histogram => "_seconds",
            };
            assert!(metric.name.ends_with(suffix), "{}", metric.name);
            let twice = ALL[..at].iter().any(|other| other.name == metric.name);
            assert!(!twice, "{}", metric.name);
        }
    }

    #[test]
    fn dashboard_and_alerts_use_metrics_that_are_exported() {
        for (page, least) in [
            (
                include_str!("../../docs/ops/grafana-dashboard.json"),
                ALL.len(),
            ),
            (include_str!("../../docs/ops/prometheus-alerts.yml"), 4),
        ] {
            let used: std::collections::BTreeSet<&str> = page
                .match_indices("deckprobe_")
                .map(|(at, _)| {
                    let rest = &page[at..];
                    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                    rest[..end.unwrap_or(rest.len())].trim_end_matches("_bucket")
                })
                .collect();
            assert!(used.len() >= least, "{used:?}");
            for name in used {
                assert!(ALL.iter().any(|metric| metric.name == name), "{name}");
            }
        }
    }

    /// A metric that is named by a literal would be exported without a description.
    #[test]
    fn no_call_site_names_a_metric_that_is_not_in_the_table() {
        let mut files = 0;
        scan(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
            &mut files,
        );
        assert!(files > 100, "{files} files were read");
    }

    fn scan(directory: &Path, files: &mut usize) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                scan(&path, files);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                *files += 1;
                let text = std::fs::read_to_string(&path).unwrap();
                for kind in ["counter", "gauge", "histogram"] {
                    let literal = format!("{kind}!(\"");
                    assert!(!text.contains(&literal), "{}: {literal}", path.display());
                }
            }
        }
    }
}
