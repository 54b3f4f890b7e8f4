//! What the pool's lock protects: the ledger of places, the bound of the queue, and who is let in.

use super::failure::AdmissionError;
use super::fair_queue::{Lane, Ticket};
use super::ledger::{Action, Grant, Ledger, PlaceId, ProfileId, Want};
use super::recycle::Reason;

/// What a call asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) lane: Lane,
    pub(super) want: Want,
    pub(super) arrival: Arrival,
}

/// Since when a call is inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// It arrives now; there may be no room for it in the queue.
    New,
    /// It is made on behalf of calls that have been let in.
    Inside,
    /// It has been let in, and has the ticket of a seat.
    Seated(Ticket),
    /// It has been let in, and keeps the ticket of its first attempt.
    Again(Ticket),
}

/// What became of it at once.
pub(super) enum Admitted<C, W> {
    Granted(Grant<C>),
    /// It waits. The actions may be for itself.
    Waits(Vec<Action<C, W>>),
}

/// Who is let in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Door {
    Open,
    /// New calls are refused; those inside go on.
    ClosedToNew,
    /// Everyone is refused.
    Closed,
}

/// The state of a pool. `C` is a child, `W` what is kept for a waiter.
pub(super) struct PoolState<C, W> {
    pub(super) ledger: Ledger<C, W>,
    /// Calls that may wait, a batch counting as one.
    max_queue: usize,
    /// Batches that hold a place in the queue.
    pub(super) batches: usize,
    /// Calls that hold a place in the queue until the engine is known.
    pub(super) seats: usize,
    door: Door,
    /// Children of an earlier generation of the engine serve no further record.
    generation: u64,
}

impl<C: Clone, W> PoolState<C, W> {
    pub(super) fn new(places: usize, max_queue: usize) -> Self {
        Self {
            ledger: Ledger::new(places),
            max_queue,
            batches: 0,
            seats: 0,
            door: Door::Open,
            generation: 0,
        }
    }

    /// Grants a place at once or lets the call wait, in one step, so that the bound holds exactly.
    pub(super) fn admit(
        &mut self,
        request: Request,
        waiter: impl FnOnce() -> W,
    ) -> Result<(Ticket, Admitted<C, W>), AdmissionError> {
        let Request {
            lane,
            want,
            arrival,
        } = request;
        // A batch is inside from its first record to its last.
        let is_new = arrival == Arrival::New && lane == Lane::Interactive;
        if self.door == Door::Closed || is_new && self.door != Door::Open {
            return Err(AdmissionError::ShuttingDown);
        }
        if self.ledger.all_lost() {
            return Err(AdmissionError::AllLost);
        }
        let ticket = match arrival {
            Arrival::Seated(ticket) | Arrival::Again(ticket) => ticket,
            Arrival::New | Arrival::Inside => self.ledger.ticket(),
        };
        if let Some(grant) = self.ledger.request(lane, want) {
            return Ok((ticket, Admitted::Granted(grant)));
        }
        if is_new && self.queued() >= self.max_queue {
            return Err(self.full());
        }
        let actions = self.ledger.wait(lane, want, ticket, waiter());
        Ok((ticket, Admitted::Waits(actions)))
    }

    /// Reserves a place for a start in the background.
    pub(super) fn admit_in_background(&mut self, profile: ProfileId) -> Option<PlaceId> {
        if self.door != Door::Open {
            return None;
        }
        self.ledger.request_in_background(profile)
    }

    /// Takes a place in the queue for a call that cannot ask for a child yet. Its ticket lets it in later.
    pub(super) fn take_seat(&mut self) -> Result<Ticket, AdmissionError> {
        if self.door != Door::Open {
            return Err(AdmissionError::ShuttingDown);
        }
        // As many as could run at once do not count as waiting.
        let running = self.ledger.counts().total;
        if self.queued() >= self.max_queue.saturating_add(running) {
            return Err(self.full());
        }
        self.seats += 1;
        Ok(self.ledger.ticket())
    }

    /// Takes the one place in the queue that a batch occupies.
    pub(super) fn take_batch_seat(&mut self) -> Result<(), AdmissionError> {
        if self.door != Door::Open {
            return Err(AdmissionError::ShuttingDown);
        }
        if self.queued() >= self.max_queue && !self.ledger.has_room() {
            return Err(self.full());
        }
        self.batches += 1;
        Ok(())
    }

    pub(super) fn close_to_new(&mut self) {
        if self.door == Door::Open {
            self.door = Door::ClosedToNew;
        }
    }

    /// Lets nobody in any more. Returns those who wait, and ends idle children.
    pub(super) fn close(&mut self) -> (Vec<W>, Vec<Action<C, W>>) {
        self.door = Door::Closed;
        let waiters = self.ledger.drain_queue();
        (waiters, self.ledger.retire_all(Reason::Shutdown, |_| true))
    }

    /// From now on, children of earlier generations end after their record; idle ones end now.
    pub(super) fn expect_generation(
        &mut self,
        generation: u64,
        of: impl Fn(&C) -> u64,
    ) -> Vec<Action<C, W>> {
        self.generation = generation;
        let old = |child: &C| of(child) < generation;
        self.ledger.retire_all(Reason::Upgraded, old)
    }

    /// A child can take another record. A reason means that it must not, and is dying now.
    pub(super) fn idle(
        &mut self,
        id: PlaceId,
        due: Option<Reason>,
        generation: u64,
    ) -> (Option<Reason>, Vec<Action<C, W>>) {
        let end = if self.door == Door::Closed {
            Some(Reason::Shutdown)
        } else if generation < self.generation {
            Some(Reason::Upgraded)
        } else {
            due.filter(|reason| self.may_end_for(*reason))
        };
        let actions = match end {
            Some(reason) => self.ledger.condemn(id, reason),
            None => self.ledger.release(id),
        };
        (end, actions)
    }

    /// An idle child wants to end. `false` if a record is on its way to it.
    pub(super) fn may_retire(&mut self, id: PlaceId, reason: Reason) -> bool {
        self.may_end_for(reason) && self.ledger.retire(id, reason)
    }

    /// Places of the queue in use: waiting calls, and one for each batch.
    pub(super) fn queued(&self) -> usize {
        self.ledger.counts().waiting + self.seats + self.batches
    }

    /// Ends for reaching a limit come one at a time.
    fn may_end_for(&self, reason: Reason) -> bool {
        !(reason.is_limit() && self.ledger.is_recycling())
    }

    fn full(&self) -> AdmissionError {
        let limit = self.max_queue;
        AdmissionError::Full { limit }
    }
}
