//! Documents that end children: the same file with the same options that did so again and again is
//! refused for a while, so that an agent that retries cannot use up the pool.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::contract::{Envelope, Input, ProbeOptions, Record};

use super::os;

/// How long a strike counts, and how long a refusal lasts.
const REMEMBERED_FOR: Duration = Duration::from_secs(300);
/// Longest wait for the file's identity: a dead mount must not hold anything up.
const IDENTIFY_WITHIN: Duration = Duration::from_millis(500);
/// Most documents that are remembered.
const MAX_DOCUMENTS: usize = 1024;

/// Names a document as it is now, with the options of the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct DocumentKey(u64);

/// The documents that ended children lately.
pub(super) struct Quarantine {
    limit: u32,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    entries: HashMap<DocumentKey, Entry>,
    /// No entry expires before this.
    next_expiry: Option<Instant>,
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
            memory: Mutex::default(),
        }
    }

    /// Whether any document is remembered, so that it is worth the cost of identifying this one.
    pub(super) fn remembers_any(&self, now: Instant) -> bool {
        if self.limit == 0 {
            return false;
        }
        let mut memory = self.memory();
        if memory.next_expiry.is_some_and(|at| now >= at) {
            memory.forget_expired(now);
        }
        !memory.entries.is_empty()
    }

    pub(super) fn is_on(&self) -> bool {
        self.limit > 0
    }

    /// The refusal of a document that has ended too many children.
    pub(super) fn refusal(&self, document: DocumentKey, now: Instant) -> Option<Envelope> {
        let memory = self.memory();
        let entry = memory.entries.get(&document)?;
        let age = now.saturating_duration_since(entry.last);
        if age >= REMEMBERED_FOR || entry.count < self.limit {
            return None;
        }
        let message = format!(
            "not probed: this file with these options ended {} engine processes in a short time and \
             is refused for another {} s; the last time: {}",
            entry.count,
            (REMEMBERED_FOR - age).as_secs(),
            entry.reason.message
        );
        Some(Envelope::new(entry.reason.code, message))
    }

    /// Counts a child that was lost, and adds to its envelope what a caller should know.
    pub(super) fn strike(&self, document: DocumentKey, envelope: &mut Envelope, now: Instant) {
        let mut memory = self.memory();
        memory.forget_expired(now);
        memory.make_room_for(document);
        let entry = memory.entries.entry(document).or_insert_with(|| Entry {
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
        memory.next_expiry = memory
            .next_expiry
            .or_else(|| now.checked_add(REMEMBERED_FOR));
    }

    pub(super) fn remembered(&self) -> usize {
        self.memory().entries.len()
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory {
    fn forget_expired(&mut self, now: Instant) {
        self.entries
            .retain(|_, entry| now.saturating_duration_since(entry.last) < REMEMBERED_FOR);
        let oldest = self.entries.values().map(|entry| entry.last).min();
        self.next_expiry = oldest.and_then(|last| last.checked_add(REMEMBERED_FOR));
    }

    fn make_room_for(&mut self, document: DocumentKey) {
        if self.entries.len() >= MAX_DOCUMENTS && !self.entries.contains_key(&document) {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.last);
            let oldest = oldest.map(|(document, _)| *document);
            oldest.and_then(|oldest| self.entries.remove(&oldest));
        }
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
            let identify =
                tokio::task::spawn_blocking(move || os::file_identity(file.as_ref()).ok());
            let identity = tokio::time::timeout(IDENTIFY_WITHIN, identify).await;
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
        assert_eq!(quarantine.refusal(bad, now + REMEMBERED_FOR), None);
    }

    /// Otherwise every later probe would pay for identifying its document, for ever.
    #[test]
    fn remembered_documents_expire_without_being_sent_again() {
        let quarantine = Quarantine::new(2);
        let now = Instant::now();
        assert!(!quarantine.remembers_any(now));
        quarantine.strike(DocumentKey(1), &mut died(), now);
        let later = now + REMEMBERED_FOR / 2;
        quarantine.strike(DocumentKey(2), &mut died(), later);
        assert!(quarantine.remembers_any(now + REMEMBERED_FOR));
        assert_eq!(quarantine.remembered(), 1, "the first has expired");
        assert!(!quarantine.remembers_any(later + REMEMBERED_FOR));
        assert_eq!(quarantine.remembered(), 0);
        quarantine.strike(DocumentKey(3), &mut died(), later + REMEMBERED_FOR);
        assert!(quarantine.remembers_any(later + REMEMBERED_FOR));
    }

    #[test]
    fn the_memory_is_bounded() {
        let quarantine = Quarantine::new(2);
        let now = Instant::now();
        for n in 0..5000 {
            quarantine.strike(DocumentKey(n), &mut died(), now + Duration::from_millis(n));
        }
        assert_eq!(quarantine.remembered(), MAX_DOCUMENTS);
    }
}
