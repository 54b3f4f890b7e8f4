//! What the client is owed: requests without a reply, and replies that it has not read yet.
//!
//! It answers two questions: may another request be read (bounds), and is everything
//! answered (end of input)?

use std::collections::HashMap;
use std::sync::Mutex;

use rmcp::model::RequestId;
use tokio::sync::Notify;

/// Most replies that are being made or written at once.
const REPLIES: usize = 64;

/// Shared between the transport and the handlers.
#[derive(Debug)]
pub struct InFlight {
    state: Mutex<State>,
    changed: Notify,
    /// Most requests without a reply.
    max_requests: usize,
    /// Most bytes of requests and replies held together.
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct State {
    unanswered: HashMap<RequestId, Owed>,
    request_bytes: usize,
    /// How many of `unanswered` have their reply being made or written.
    replying: usize,
    reply_bytes: usize,
    broken: bool,
}

/// A request without a reply.
#[derive(Debug)]
struct Owed {
    /// The length of its line.
    bytes: usize,
    /// Whether its reply is being made or written.
    replying: bool,
}

impl InFlight {
    /// Nothing in flight, with its bounds.
    #[must_use]
    pub fn new(max_requests: usize, max_bytes: usize) -> Self {
        Self {
            state: Mutex::default(),
            changed: Notify::new(),
            max_requests,
            max_bytes,
        }
    }

    /// Enters a request. `false` when one with this id is still unanswered.
    pub(super) fn open(&self, id: RequestId, bytes: usize) -> bool {
        self.change(|state| match state.unanswered.entry(id) {
            std::collections::hash_map::Entry::Occupied(_) => false,
            std::collections::hash_map::Entry::Vacant(free) => {
                free.insert(Owed {
                    bytes,
                    replying: false,
                });
                state.request_bytes += bytes;
                true
            }
        })
    }

    /// Strikes a request out: its reply was written, or it was cancelled and gets none.
    pub(super) fn close(&self, id: &RequestId) {
        self.change(|state| {
            if let Some(owed) = state.unanswered.remove(id) {
                state.request_bytes -= owed.bytes;
                state.replying -= usize::from(owed.replying);
            }
        });
    }

    /// Counts bytes that wait to be written until the guard is dropped.
    pub(super) fn queue(self: &std::sync::Arc<Self>, bytes: usize) -> Queued {
        self.change(|state| state.reply_bytes += bytes);
        Queued {
            in_flight: std::sync::Arc::clone(self),
            bytes,
        }
    }

    /// Notes that nothing can be written any more.
    pub(super) fn broke(&self) {
        self.change(|state| state.broken = true);
    }

    /// Waits until another request may be read, or nothing can be written any more.
    pub(super) async fn room(&self) {
        self.until(|state| {
            state.broken
                || (state.unanswered.len() < self.max_requests
                    && state.request_bytes + state.reply_bytes < self.max_bytes)
        })
        .await;
    }

    /// Waits for a place among the replies that are being made or written, and takes it for `id`. It is
    /// given back with the request itself, so this may be dropped, called twice or called for a request
    /// that is over.
    pub async fn reserve(&self, id: &RequestId) {
        self.until(|state| {
            let Some(owed) = state.unanswered.get_mut(id) else {
                return true;
            };
            if !owed.replying && state.replying >= REPLIES && !state.broken {
                return false;
            }
            state.replying += usize::from(!owed.replying);
            owed.replying = true;
            true
        })
        .await;
    }

    /// Waits until every request has its reply and every reply is written.
    pub(super) async fn settled(&self) {
        self.until(|state| state.broken || (state.unanswered.is_empty() && state.reply_bytes == 0))
            .await;
    }

    /// Waits until nothing can be written any more.
    pub(super) async fn broken(&self) {
        self.until(|state| state.broken).await;
    }

    async fn until(&self, mut holds: impl FnMut(&mut State) -> bool) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before the look, so that a change in between is not missed.
            changed.as_mut().enable();
            if holds(&mut self.lock()) {
                return;
            }
            changed.await;
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let outcome = change(&mut self.lock());
        self.changed.notify_waiters();
        outcome
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // Counters only: whole after a panic elsewhere.
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Bytes on their way to the client.
#[derive(Debug)]
pub(super) struct Queued {
    in_flight: std::sync::Arc<InFlight>,
    bytes: usize,
}

impl Drop for Queued {
    fn drop(&mut self) {
        let bytes = self.bytes;
        self.in_flight.change(|state| state.reply_bytes -= bytes);
    }
}
