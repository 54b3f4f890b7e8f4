//! The order in which waiting calls are served, as plain data: no clock and no tasks.
//!
//! There are two lanes. Interactive calls go before batch records, first come first served within a
//! lane, with one exception: after [`INTERACTIVE_RUN`] interactive calls in a row a waiting batch record
//! gets its turn. A batch has at most one record here at a time and queues again behind the others, so
//! batches take turns by record.

use std::collections::BTreeMap;

/// Interactive calls in a row after which a waiting batch record gets its turn.
pub(super) const INTERACTIVE_RUN: u32 = 8;

/// Who asks for a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// A single call.
    Interactive,
    /// One record of a batch.
    Batch,
    /// A start in the background. It never waits.
    Background,
}

/// Names a waiter. Tickets ascend in order of arrival; a retry keeps the ticket of its first attempt.
pub(super) type Ticket = u64;

/// The waiting calls. `W` is what is kept for each.
pub(super) struct FairQueue<W> {
    interactive: BTreeMap<Ticket, W>,
    batch: BTreeMap<Ticket, W>,
    /// Interactive calls served since the last batch record, while a batch record waited.
    interactive_run: u32,
    next_ticket: Ticket,
}

impl<W> FairQueue<W> {
    pub(super) fn new() -> Self {
        Self {
            interactive: BTreeMap::new(),
            batch: BTreeMap::new(),
            interactive_run: 0,
            next_ticket: 0,
        }
    }

    /// A ticket for a call that arrives now.
    pub(super) fn ticket(&mut self) -> Ticket {
        self.next_ticket += 1;
        self.next_ticket
    }

    /// Adds a waiter at the position of its ticket.
    pub(super) fn wait(&mut self, lane: Lane, ticket: Ticket, waiter: W) {
        self.lane(lane).insert(ticket, waiter);
    }

    /// Removes a waiter without serving it; `None` when it was served already.
    pub(super) fn leave(&mut self, ticket: Ticket) -> Option<W> {
        self.interactive
            .remove(&ticket)
            .or_else(|| self.batch.remove(&ticket))
    }

    /// Whether a call that arrives now may be served before those that wait. `batches` is how many
    /// batch records could be served now.
    pub(super) fn may_pass(&self, lane: Lane, batches: usize) -> bool {
        self.interactive.is_empty()
            && (self.batch.is_empty()
                || lane == Lane::Interactive && !(batches > 0 && self.batch_is_due()))
    }

    /// Counts a call that was served without waiting.
    pub(super) fn passed(&mut self, lane: Lane) {
        match lane {
            Lane::Interactive if !self.batch.is_empty() => self.interactive_run += 1,
            Lane::Batch => self.interactive_run = 0,
            Lane::Interactive | Lane::Background => {}
        }
    }

    /// The waiters in the order in which they are to be served, with batch records among them if any
    /// could be served now.
    pub(super) fn in_order(&self, batches: usize) -> impl Iterator<Item = (Ticket, Lane, &W)> {
        let all = if batches > 0 { usize::MAX } else { 0 };
        let first = usize::from(self.batch_is_due()).min(batches);
        let batch = || self.batch.iter().map(|(t, w)| (*t, Lane::Batch, w));
        let interactive = self.interactive.iter();
        let interactive = interactive.map(|(t, w)| (*t, Lane::Interactive, w));
        let rest = batch().take(all).skip(first);
        batch().take(first).chain(interactive).chain(rest)
    }

    /// Removes a waiter that is served now.
    pub(super) fn serve(&mut self, lane: Lane, ticket: Ticket) -> Option<W> {
        let waiter = self.lane(lane).remove(&ticket)?;
        self.passed(lane);
        Some(waiter)
    }

    /// Removes every waiter.
    pub(super) fn drain(&mut self) -> Vec<W> {
        let lanes = [&mut self.interactive, &mut self.batch];
        lanes
            .into_iter()
            .flat_map(|lane| std::mem::take(lane).into_values())
            .collect()
    }

    /// Waiting interactive calls.
    pub(super) fn interactive(&self) -> usize {
        self.interactive.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.interactive.is_empty() && self.batch.is_empty()
    }

    fn batch_is_due(&self) -> bool {
        !self.batch.is_empty() && self.interactive_run >= INTERACTIVE_RUN
    }

    fn lane(&mut self, lane: Lane) -> &mut BTreeMap<Ticket, W> {
        match lane {
            Lane::Interactive => &mut self.interactive,
            Lane::Batch | Lane::Background => &mut self.batch,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(queue: &FairQueue<&'static str>, batches: usize) -> Option<(Ticket, Lane)> {
        let first = queue.in_order(batches).next();
        first.map(|(ticket, lane, _)| (ticket, lane))
    }

    #[test]
    fn calls_go_before_batch_records_and_batches_still_advance() {
        let mut queue = FairQueue::new();
        for _ in 0..100 {
            let ticket = queue.ticket();
            queue.wait(Lane::Interactive, ticket, "call");
        }
        let mut served = Vec::new();
        for _ in 0..45 {
            if queue.batch.is_empty() {
                let ticket = queue.ticket();
                queue.wait(Lane::Batch, ticket, "batch");
            }
            let (ticket, lane) = first(&queue, 1).unwrap();
            served.push(queue.serve(lane, ticket).unwrap());
        }
        let batches: Vec<usize> = (0..45).filter(|at| served[*at] == "batch").collect();
        assert_eq!(batches, [8, 17, 26, 35, 44]);
    }

    #[test]
    fn a_batch_record_that_may_not_run_holds_up_nobody() {
        let mut queue = FairQueue::new();
        let batch = queue.ticket();
        queue.wait(Lane::Batch, batch, "batch");
        assert_eq!(first(&queue, 0), None);
        for _ in 0..20 {
            assert!(queue.may_pass(Lane::Interactive, 0));
            queue.passed(Lane::Interactive);
        }
        assert!(!queue.may_pass(Lane::Interactive, 1), "it is due by now");
        assert_eq!(first(&queue, 1), Some((batch, Lane::Batch)));
    }

    #[test]
    fn a_retry_keeps_its_turn() {
        let mut queue = FairQueue::new();
        let (early, late) = (queue.ticket(), queue.ticket());
        queue.wait(Lane::Interactive, late, "late");
        queue.wait(Lane::Interactive, early, "early");
        assert_eq!(first(&queue, 1), Some((early, Lane::Interactive)));
        assert_eq!(queue.leave(early), Some("early"));
        assert_eq!(queue.leave(early), None, "repeating it is harmless");
    }
}
