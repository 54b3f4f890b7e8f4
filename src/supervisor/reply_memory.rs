//! One bound for the replies that are on their way to clients.
//!
//! A reply counts from the moment at which it was read until its last clone is dropped, which is when it
//! has been written. While the bound is reached, no further record is handed to a child: so a client that
//! does not read, or a crowd of large reports, costs a bounded amount of memory, and no call is lost. The
//! size of a reply is known only when it is there, so the bound is passed by at most one reply for each
//! child.
//!
//! A batch holds its replies until it is complete, so batches that wait for each other's memory would
//! wait for ever. One batch at a time may therefore go beyond the bound; its consumer limits how much.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::contract::Reply;

/// Most bytes of replies before no further record is started.
const BOUND: usize = 32 * 1024 * 1024;
/// What a reply costs beside its text, in bytes.
const OVERHEAD: usize = 256;

/// The replies of all calls.
pub(super) struct ReplyMemory {
    used: Mutex<usize>,
    changed: Notify,
    beyond: Arc<Semaphore>,
    /// When the supervisor ends, nobody waits any more.
    closing: CancellationToken,
}

/// The right of one batch to go beyond the bound. Each of its replies holds a clone.
pub(super) type Beyond = Arc<OwnedSemaphorePermit>;

impl ReplyMemory {
    pub(super) fn new(closing: CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            used: Mutex::default(),
            changed: Notify::new(),
            beyond: Arc::new(Semaphore::new(1)),
            closing,
        })
    }

    /// Whether another record may be started.
    pub(super) fn has_room(&self) -> bool {
        self.closing.is_cancelled() || *self.lock() < BOUND
    }

    /// Waits until another record may be started.
    pub(super) async fn room(&self) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before the check, so that no change in between is missed.
            changed.as_mut().enable();
            if self.has_room() {
                return;
            }
            tokio::select! {
                () = changed => {}
                () = self.closing.cancelled() => return,
            }
        }
    }

    /// The same for a batch, which may go beyond the bound with `beyond` and gets it if nobody else has.
    pub(super) async fn room_for_batch(&self, beyond: &mut Option<Beyond>) {
        if beyond.is_some() || self.has_room() {
            return;
        }
        tokio::select! {
            biased;
            () = self.room() => {}
            permit = Arc::clone(&self.beyond).acquire_owned() => *beyond = permit.ok().map(Arc::new),
        }
    }

    /// Counts a reply until its last clone is dropped.
    pub(super) fn hold(self: &Arc<Self>, reply: Reply, beyond: Option<Beyond>) -> Reply {
        let bytes = reply.json().len() + OVERHEAD;
        *self.lock() += bytes;
        reply.holding(Held {
            memory: Arc::clone(self),
            bytes,
            _beyond: beyond,
        })
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The share of one reply.
struct Held {
    memory: Arc<ReplyMemory>,
    bytes: usize,
    _beyond: Option<Beyond>,
}

impl Drop for Held {
    fn drop(&mut self) {
        *self.memory.lock() -= self.bytes;
        self.memory.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Envelope, ErrorCode};
    use futures_util::FutureExt;

    fn reply(bytes: usize) -> Reply {
        let envelope = Envelope::new(ErrorCode::McpTimeout, "x".repeat(bytes));
        Reply::from_envelope(&envelope, "2.4.0")
    }

    #[tokio::test]
    async fn records_wait_until_the_last_clone_of_a_large_reply_is_dropped() {
        let memory = ReplyMemory::new(CancellationToken::new());
        let held = memory.hold(reply(BOUND), None);
        let clone = held.clone();
        drop(held);
        assert!(memory.room().now_or_never().is_none());
        drop(clone);
        assert!(memory.room().now_or_never().is_some());
    }

    #[tokio::test]
    async fn one_batch_at_a_time_goes_beyond_the_bound() {
        let memory = ReplyMemory::new(CancellationToken::new());
        let unread = memory.hold(reply(BOUND), None);
        let (mut first, mut second) = (None, None);
        memory.room_for_batch(&mut first).await;
        assert!(first.is_some());
        assert!(memory.room_for_batch(&mut second).now_or_never().is_none());
        // The right goes on when the replies that hold it have been written.
        let written = memory.hold(reply(1), first.take());
        assert!(memory.room_for_batch(&mut second).now_or_never().is_none());
        drop(written);
        assert!(memory.room_for_batch(&mut second).now_or_never().is_some());
        drop(unread);
    }

    #[tokio::test]
    async fn nobody_waits_after_the_end() {
        let closing = CancellationToken::new();
        let memory = ReplyMemory::new(closing.clone());
        let _unread = memory.hold(reply(BOUND), None);
        closing.cancel();
        assert!(memory.room().now_or_never().is_some());
    }
}
