//! Documents that kill: the same file with the same options that ended its child again and again is
//! refused for a while, so that an agent that retries cannot burn the pool.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::contract::{Envelope, Input, ProbeOptions, Record};

use super::os;

/// How long a strike counts, and how long a refusal lasts.
const MEMORY: Duration = Duration::from_secs(300);
/// Longest wait for a look at the file: a dead mount must not hold anything up.
const LOOK: Duration = Duration::from_millis(500);
/// Most documents that are remembered.
const MOST: usize = 1024;

/// Names a document as it is now, with the options of the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct DocumentKey(u64);

/// The memory of what killed.
pub(super) struct Quarantine {
    limit: u32,
    entries: Mutex<HashMap<DocumentKey, Entry>>,
}

struct Entry {
    count: u32,
    last: Instant,
    reason: Envelope,
}

impl Quarantine {
    pub(super) fn new(limit: u32) -> Self {
        Self {
            limit,
            entries: Mutex::default(),
        }
    }

    /// Whether any document is remembered, so that it is worth the cost of identifying this one.
    pub(super) fn remembers_any(&self, _now: Instant) -> bool {
        self.limit > 0 && !self.entries().is_empty()
    }

    pub(super) fn is_on(&self) -> bool {
        self.limit > 0
    }

    /// The refusal of a document that has struck out.
    pub(super) fn refusal(&self, key: DocumentKey, now: Instant) -> Option<Envelope> {
        let mut entries = self.entries();
        let entry = entries.get(&key)?;
        let age = now.saturating_duration_since(entry.last);
        if age >= MEMORY {
            entries.remove(&key);
            return None;
        }
        if entry.count < self.limit {
            return None;
        }
        let message = format!(
            "not probed: this file with these options ended {} engine processes in a short time and \
             is refused for another {} s; the last time: {}",
            entry.count,
            (MEMORY - age).as_secs(),
            entry.reason.message
        );
        Some(Envelope::new(entry.reason.code, message))
    }

    /// Counts a child that was lost, and adds to its envelope what a caller should know.
    pub(super) fn strike(&self, key: DocumentKey, envelope: &mut Envelope, now: Instant) {
        let mut entries = self.entries();
        entries.retain(|_, entry| now.saturating_duration_since(entry.last) < MEMORY);
        if entries.len() >= MOST && !entries.contains_key(&key) {
            let oldest = entries.iter().min_by_key(|(_, entry)| entry.last);
            let oldest = oldest.map(|(key, _)| *key);
            oldest.and_then(|oldest| entries.remove(&oldest));
        }
        let entry = entries.entry(key).or_insert_with(|| Entry {
            count: 0,
            last: now,
            reason: envelope.clone(),
        });
        entry.count += 1;
        entry.last = now;
        entry.reason = envelope.clone();
        envelope.message.push_str(if entry.count < self.limit {
            "; do not send the same file with the same options again: it would likely end the same way"
        } else {
            "; this file with these options will be refused for a while"
        });
    }

    pub(super) fn remembered(&self) -> usize {
        self.entries().len()
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<DocumentKey, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Names the document of a record as it is on disk now: a file that was changed gets a new chance.
pub(super) async fn document_key(record: &Record, options: &ProbeOptions) -> DocumentKey {
    let mut hash = DefaultHasher::new();
    options.hash(&mut hash);
    match record.input() {
        Input::Bytes { name, data_base64 } => (name, data_base64).hash(&mut hash),
        Input::Path { path, name } => {
            let file = path.clone();
            let look = tokio::task::spawn_blocking(move || os::file_identity(file.as_ref()).ok());
            let identity = tokio::time::timeout(LOOK, look).await;
            match identity {
                Ok(Ok(Some(identity))) => (identity, name).hash(&mut hash),
                _ => (path, name).hash(&mut hash),
            }
        }
    }
    DocumentKey(hash.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::ErrorCode;

    fn died() -> Envelope {
        Envelope::new(ErrorCode::McpEngineFailure, "the engine died")
    }

    #[test]
    fn the_first_strike_warns_and_the_second_refuses_for_a_while() {
        let quarantine = Quarantine::new(2);
        let (bad, other) = (DocumentKey(1), DocumentKey(2));
        let now = Instant::now();
        let mut first = died();
        quarantine.strike(bad, &mut first, now);
        assert!(first.message.contains("do not send"), "{first}");
        assert_eq!(quarantine.refusal(bad, now), None);
        let mut second = died();
        quarantine.strike(bad, &mut second, now);
        assert!(second.message.contains("will be refused"), "{second}");
        let refusal = quarantine.refusal(bad, now).unwrap();
        assert_eq!(refusal.code, ErrorCode::McpEngineFailure);
        assert!(refusal.message.contains("the engine died"), "{refusal}");
        assert_eq!(quarantine.refusal(other, now), None);
        assert_eq!(quarantine.refusal(bad, now + MEMORY), None);
    }

    #[test]
    fn the_memory_is_bounded() {
        let quarantine = Quarantine::new(2);
        let now = Instant::now();
        for n in 0..5000 {
            quarantine.strike(DocumentKey(n), &mut died(), now + Duration::from_millis(n));
        }
        assert_eq!(quarantine.remembered(), MOST);
    }
}
