//! What a connection owes its client: requests without a reply, and replies that are not written yet.
//!
//! It decides whether another line may be read, whether another request may run, and whether everything
//! has been answered.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;
use tokio::sync::Notify;

use super::super::raw_json::{RawJson, ResultSlot};

/// What a request costs beside its line, in bytes.
const OVERHEAD: usize = 512;
/// How many control requests (pings) may run when no other request may.
const CONTROL: usize = 64;

/// Shared between the transport and its writes.
#[derive(Debug)]
pub(super) struct InFlight {
    state: Mutex<State>,
    changed: Notify,
    /// Most requests that run at once.
    max_running: usize,
    /// Most bytes of requests and replies held together.
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct State {
    requests: HashMap<RequestId, Request>,
    /// How many of `requests` wait for their turn.
    waiting: usize,
    request_bytes: usize,
    reply_bytes: usize,
    broken: bool,
}

/// A request without a reply.
#[derive(Debug)]
struct Request {
    bytes: usize,
    waits: bool,
    /// Where its handler leaves JSON for the reply.
    slot: ResultSlot,
}

/// What may happen to a request that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It runs now.
    Runs,
    /// It waits until [`InFlight::next_may_run`].
    Waits,
    /// Its id belongs to a request without a reply.
    Duplicate,
}

impl InFlight {
    pub(super) fn new(max_running: usize, max_bytes: usize) -> Self {
        Self {
            state: Mutex::default(),
            changed: Notify::new(),
            max_running,
            max_bytes,
        }
    }

    /// Enters a request of so many bytes. Control requests do not wait behind others.
    pub(super) fn enter(
        &self,
        id: RequestId,
        bytes: usize,
        slot: ResultSlot,
        is_control: bool,
    ) -> Admission {
        let bytes = bytes + OVERHEAD;
        self.change(|state| {
            let running = state.requests.len() - state.waiting;
            let waits = if is_control {
                running >= self.max_running + CONTROL
            } else {
                state.waiting > 0 || running >= self.max_running
            };
            let Entry::Vacant(free) = state.requests.entry(id) else {
                return Admission::Duplicate;
            };
            free.insert(Request { bytes, waits, slot });
            state.request_bytes += bytes;
            state.waiting += usize::from(waits);
            if waits {
                Admission::Waits
            } else {
                Admission::Runs
            }
        })
    }

    /// Lets a waiting request run. Its slot, or `None` when it was cancelled meanwhile.
    pub(super) fn run(&self, id: &RequestId) -> Option<ResultSlot> {
        self.change(|state| {
            let request = state.requests.get_mut(id)?;
            state.waiting -= usize::from(request.waits);
            request.waits = false;
            Some(request.slot.clone())
        })
    }

    /// Forgets a request: its reply was written, or it was cancelled and gets none.
    pub(super) fn close(&self, id: &RequestId) {
        self.change(|state| {
            if let Some(request) = state.requests.remove(id) {
                state.request_bytes -= request.bytes;
                state.waiting -= usize::from(request.waits);
            }
        });
    }

    /// The JSON that the handler of a request left for its reply.
    pub(super) fn take_json(&self, id: &RequestId) -> Option<RawJson> {
        let slot = self.lock().requests.get(id)?.slot.clone();
        slot.take()
    }

    /// Counts bytes that wait to be written until the guard is dropped.
    pub(super) fn queue(self: &Arc<Self>, bytes: usize) -> Queued {
        self.change(|state| state.reply_bytes += bytes);
        Queued {
            in_flight: Arc::clone(self),
            bytes,
        }
    }

    /// Records that nothing can be written any more.
    pub(super) fn set_broken(&self) {
        self.change(|state| state.broken = true);
    }

    /// Whether another line may be read.
    pub(super) fn has_room(&self) -> bool {
        self.has_room_in(&self.lock())
    }

    /// Waits until another line may be read, or nothing can be written any more.
    pub(super) async fn room(&self) {
        self.until(|state| state.broken || self.has_room_in(state))
            .await;
    }

    /// Waits until the next waiting request may run, or nothing can be written any more.
    pub(super) async fn next_may_run(&self) {
        self.until(|state| state.broken || state.requests.len() - state.waiting < self.max_running)
            .await;
    }

    /// Waits until every request has its reply and every reply is written.
    pub(super) async fn settled(&self) {
        self.until(|state| state.broken || (state.requests.is_empty() && state.reply_bytes == 0))
            .await;
    }

    /// Waits until nothing can be written any more.
    pub(super) async fn broken(&self) {
        self.until(|state| state.broken).await;
    }

    fn has_room_in(&self, state: &State) -> bool {
        state.request_bytes + state.reply_bytes < self.max_bytes
    }

    async fn until(&self, mut holds: impl FnMut(&State) -> bool) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before the check, so that no change in between is missed.
            changed.as_mut().enable();
            if holds(&self.lock()) {
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

    fn lock(&self) -> MutexGuard<'_, State> {
        // Counters only: consistent after a panic elsewhere.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes on their way to the client.
#[derive(Debug)]
pub(super) struct Queued {
    in_flight: Arc<InFlight>,
    bytes: usize,
}

impl Drop for Queued {
    fn drop(&mut self) {
        let bytes = self.bytes;
        self.in_flight.change(|state| state.reply_bytes -= bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(in_flight: &InFlight, id: i64, is_control: bool) -> Admission {
        in_flight.enter(RequestId::Number(id), 10, ResultSlot::default(), is_control)
    }

    #[tokio::test]
    async fn new_work_waits_and_control_requests_do_not() {
        let in_flight = InFlight::new(2, 1_000_000);
        assert_eq!(enter(&in_flight, 1, false), Admission::Runs);
        assert_eq!(enter(&in_flight, 1, false), Admission::Duplicate);
        assert_eq!(enter(&in_flight, 2, false), Admission::Runs);
        assert_eq!(enter(&in_flight, 3, false), Admission::Waits);
        assert_eq!(enter(&in_flight, 4, true), Admission::Runs);
        in_flight.close(&RequestId::Number(1));
        in_flight.close(&RequestId::Number(2));
        // The order of arrival is kept: what comes now waits behind the third.
        assert_eq!(enter(&in_flight, 5, false), Admission::Waits);
        in_flight.next_may_run().await;
        assert!(in_flight.run(&RequestId::Number(3)).is_some());
        in_flight.close(&RequestId::Number(5));
        assert!(in_flight.run(&RequestId::Number(5)).is_none(), "cancelled");
    }

    #[test]
    fn pings_without_a_reader_are_bounded_too() {
        let in_flight = InFlight::new(2, 1_000_000);
        let runs = (0..500).filter(|id| enter(&in_flight, *id, true) == Admission::Runs);
        assert_eq!(runs.count(), 2 + CONTROL);
    }

    #[test]
    fn reading_stops_at_the_bound_of_bytes() {
        let in_flight = Arc::new(InFlight::new(1, 2000));
        assert!(in_flight.has_room());
        let queued = in_flight.queue(2000);
        assert!(!in_flight.has_room());
        drop(queued);
        assert!(in_flight.has_room());
        for id in 0..4 {
            enter(&in_flight, id, false);
        }
        assert!(!in_flight.has_room());
    }
}
