//! The last records that failed without a report, for a person to read. It holds nothing that an engine
//! printed and no value of a document: only its name, shortened.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;

use crate::contract::Record;

use super::failure::Failure;

/// Failures that are kept.
const KEPT: usize = 20;
/// Longest part of a name that is shown, in characters.
const NAME_CHARS: usize = 40;

/// One failure.
#[derive(Clone, Debug, Serialize)]
pub struct FailureView {
    /// Time from the start of the supervisor to the failure.
    pub at_ms: u64,
    /// The document's name without its directories, at most 40 characters of it.
    pub document: String,
    /// What happened.
    pub message: String,
}

/// The log. Old failures make room for new ones.
#[derive(Default)]
pub(super) struct FailureLog {
    kept: Mutex<VecDeque<FailureView>>,
}

impl FailureLog {
    pub(super) fn note(&self, failure: &Failure, record: &Record, since_start: Duration) {
        let entry = FailureView {
            at_ms: u64::try_from(since_start.as_millis()).unwrap_or(u64::MAX),
            document: shortened(record.display_name().unwrap_or("")),
            message: failure.summary(),
        };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_front(entry);
        kept.truncate(KEPT);
    }

    /// The latest first.
    pub(super) fn entries(&self) -> Vec<FailureView> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().cloned().collect()
    }
}

fn shortened(path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    match name.char_indices().nth(NAME_CHARS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supervisor::failure::FailureKind;

    #[test]
    fn the_log_is_bounded_and_holds_neither_output_nor_directories() {
        let log = FailureLog::default();
        let failure = Failure {
            kind: FailureKind::Protocol("the secret title".into()),
            stderr: "the secret author".into(),
        };
        for n in 0..100 {
            let path = format!("/home/me/secret/{n}-{}.pdf", "é".repeat(100));
            let record = Record::from_path(path, None).unwrap();
            log.note(&failure, &record, Duration::from_millis(n));
        }
        let entries = log.entries();
        assert_eq!(entries.len(), KEPT);
        assert_eq!(entries[0].at_ms, 99);
        let text = serde_json::to_string(&entries).unwrap();
        assert!(!text.contains("secret"), "{text}");
        assert!(entries.iter().all(|e| e.document.chars().count() == 41));
    }
}
