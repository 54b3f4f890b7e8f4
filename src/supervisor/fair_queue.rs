//! The order in which permits are given out, as plain data: no clock, no tasks, so that a model test
//! can walk through it.
//!
//! `N` permits; two lanes. Interactive calls go before batch records, first come first served inside
//! a lane, with two exceptions that keep everyone moving: all batches together hold at most `N - 1`
//! permits (1 when `N` is 1), and after [`INTERACTIVE_RUN`] interactive grants in a row a waiting
//! batch record gets one. A batch has at most one record waiting here at a time and queues again
//! behind the others, so that batches take turns by record.

use std::collections::BTreeMap;

/// Interactive grants in a row after which a waiting batch record gets one.
pub(super) const INTERACTIVE_RUN: u32 = 8;

/// Who asks for a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// A single call.
    Interactive,
    /// One record of a batch.
    Batch,
    /// A start in the background. It never waits.
    Background,
}

/// Names a waiter; it also stands for its place in the order of arrival.
pub(super) type Ticket = u64;

/// The state of the lanes. `W` is what is kept for a waiter.
pub(super) struct FairQueue<W> {
    /// All permits.
    total: usize,
    /// Permits given out, by any lane.
    held: usize,
    /// Those of them that batches hold.
    held_by_batches: usize,
    /// Places lost to children that cannot be killed.
    lost: usize,
    /// Interactive grants since the last batch grant, while a batch waited.
    interactive_run: u32,
    interactive: BTreeMap<Ticket, W>,
    batch: BTreeMap<Ticket, W>,
    next_ticket: Ticket,
}

impl<W> FairQueue<W> {
    pub(super) fn new(total: usize) -> Self {
        Self {
            total: total.max(1),
            held: 0,
            held_by_batches: 0,
            lost: 0,
            interactive_run: 0,
            interactive: BTreeMap::new(),
            batch: BTreeMap::new(),
            next_ticket: 0,
        }
    }

    /// Takes a permit at once, if that passes nobody who waits.
    pub(super) fn try_take(&mut self, lane: Lane) -> bool {
        let nobody_ahead = match lane {
            Lane::Interactive => self.interactive.is_empty(),
            Lane::Batch | Lane::Background => self.interactive.is_empty() && self.batch.is_empty(),
        };
        let may = nobody_ahead && self.free() > 0 && (lane != Lane::Batch || self.batch_may_run());
        if may {
            self.take(lane);
        }
        may
    }

    /// Puts a waiter at the end of its lane. A background start does not wait.
    pub(super) fn wait(&mut self, lane: Lane, waiter: W) -> Ticket {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        match lane {
            Lane::Interactive => self.interactive.insert(ticket, waiter),
            Lane::Batch | Lane::Background => self.batch.insert(ticket, waiter),
        };
        ticket
    }

    /// Takes a waiter out of the order; `None` when it was served already.
    pub(super) fn leave(&mut self, ticket: Ticket) -> Option<W> {
        self.interactive
            .remove(&ticket)
            .or_else(|| self.batch.remove(&ticket))
    }

    /// Gives a permit back.
    pub(super) fn give_back(&mut self, lane: Lane) {
        self.held = self.held.saturating_sub(1);
        if lane == Lane::Batch {
            self.held_by_batches = self.held_by_batches.saturating_sub(1);
        }
    }

    /// The next waiter whose turn it is, if a permit is free for it. To be called until `None` after
    /// anything that may have freed a permit.
    pub(super) fn grant(&mut self) -> Option<(W, Lane)> {
        if self.free() == 0 {
            return None;
        }
        let batch_ready = !self.batch.is_empty() && self.batch_may_run();
        let batch_turn = self.interactive.is_empty() || self.interactive_run >= INTERACTIVE_RUN;
        if batch_ready && batch_turn {
            let (_, waiter) = self.batch.pop_first()?;
            self.take(Lane::Batch);
            return Some((waiter, Lane::Batch));
        }
        let (_, waiter) = self.interactive.pop_first()?;
        self.take(Lane::Interactive);
        Some((waiter, Lane::Interactive))
    }

    /// Empties both lanes.
    pub(super) fn drain_waiters(&mut self) -> Vec<W> {
        let lanes = [&mut self.interactive, &mut self.batch];
        lanes
            .into_iter()
            .flat_map(|lane| std::mem::take(lane).into_values())
            .collect()
    }

    /// One place fewer: its child cannot be killed.
    pub(super) fn lose(&mut self) {
        self.lost += 1;
    }

    /// A lost place came back.
    pub(super) fn regain(&mut self) {
        self.lost = self.lost.saturating_sub(1);
    }

    pub(super) fn all_lost(&self) -> bool {
        self.lost >= self.total
    }

    pub(super) fn lost(&self) -> usize {
        self.lost
    }

    pub(super) fn held(&self) -> usize {
        self.held
    }

    pub(super) fn total(&self) -> usize {
        self.total
    }

    pub(super) fn waiting_interactive(&self) -> usize {
        self.interactive.len()
    }

    pub(super) fn free(&self) -> usize {
        self.total.saturating_sub(self.held + self.lost)
    }

    fn batch_may_run(&self) -> bool {
        self.held_by_batches < (self.total - 1).max(1)
    }

    fn take(&mut self, lane: Lane) {
        self.held += 1;
        match lane {
            Lane::Batch => {
                self.held_by_batches += 1;
                self.interactive_run = 0;
            }
            Lane::Interactive if !self.batch.is_empty() => self.interactive_run += 1,
            Lane::Interactive | Lane::Background => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{HashMap, VecDeque};

    /// A generator of repeatable choices (xorshift).
    struct Choices(u64);

    impl Choices {
        fn below(&mut self, n: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            usize::try_from(self.0 % n as u64).unwrap()
        }
    }

    /// Random walks over every operation, with the rules checked after each step by a second,
    /// simpler set of books.
    #[test]
    fn whatever_happens_permits_are_neither_lost_nor_invented() {
        for seed in 1..400_u64 {
            let mut choose = Choices(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let total = 1 + choose.below(4);
            let mut lanes = FairQueue::new(total);
            let mut running: Vec<Lane> = Vec::new();
            let mut waiting: HashMap<u64, (Ticket, Lane)> = HashMap::new();
            let mut order: HashMap<bool, VecDeque<u64>> = HashMap::new();
            let mut lost = 0;
            for id in 0..400_u64 {
                match choose.below(6) {
                    0..=2 => {
                        let lane =
                            [Lane::Interactive, Lane::Batch, Lane::Background][choose.below(3)];
                        if lanes.try_take(lane) {
                            running.push(lane);
                        } else if lane != Lane::Background {
                            waiting.insert(id, (lanes.wait(lane, id), lane));
                            order.entry(lane == Lane::Batch).or_default().push_back(id);
                        }
                    }
                    3 if !running.is_empty() => {
                        let lane = running.swap_remove(choose.below(running.len()));
                        lanes.give_back(lane);
                    }
                    4 if !waiting.is_empty() => {
                        let mut ids: Vec<u64> = waiting.keys().copied().collect();
                        ids.sort_unstable();
                        let leaver = ids[choose.below(ids.len())];
                        let (ticket, lane) = waiting.remove(&leaver).unwrap();
                        assert_eq!(lanes.leave(ticket), Some(leaver));
                        assert_eq!(lanes.leave(ticket), None, "twice is harmless");
                        order
                            .get_mut(&(lane == Lane::Batch))
                            .unwrap()
                            .retain(|x| *x != leaver);
                    }
                    5 if lost > 0 => {
                        lost -= 1;
                        lanes.regain();
                    }
                    5 if lost + running.len() < total => {
                        lost += 1;
                        lanes.lose();
                    }
                    _ => {}
                }
                while let Some((granted, lane)) = lanes.grant() {
                    let (_, asked) = waiting.remove(&granted).expect("granted to a waiter");
                    assert_eq!(asked, lane);
                    let first = order.get_mut(&(lane == Lane::Batch)).unwrap().pop_front();
                    assert_eq!(first, Some(granted), "first come, first served in a lane");
                    running.push(lane);
                }
                let batches = running.iter().filter(|lane| **lane == Lane::Batch).count();
                assert!(running.len() + lost <= total, "seed {seed}");
                assert_eq!(lanes.free(), total - running.len() - lost, "seed {seed}");
                assert!(batches <= (total - 1).max(1), "seed {seed}");
                let idle = lanes.free() > 0;
                assert!(
                    !idle || lanes.waiting_interactive() == 0,
                    "no idle permit while a call waits"
                );
            }
        }
    }

    #[test]
    fn a_call_goes_before_batch_records_and_batches_still_advance() {
        let mut lanes = FairQueue::new(1);
        assert!(lanes.try_take(Lane::Interactive));
        let mut served = Vec::new();
        for name in 0..100 {
            lanes.wait(Lane::Interactive, format!("call {name}"));
        }
        lanes.wait(Lane::Batch, "batch".into());
        for _ in 0..40 {
            lanes.give_back(Lane::Interactive);
            let (who, lane) = lanes.grant().unwrap();
            if lane == Lane::Batch {
                lanes.give_back(lane);
                lanes.wait(Lane::Batch, "batch".into());
                lanes.held += 1; // stands for the interactive permit given back next round
            }
            served.push(who);
        }
        let batches = served.iter().filter(|who| *who == "batch").count();
        assert!((3..=5).contains(&batches), "{batches} of 40");
        assert_eq!(served[0], "call 0");
    }

    #[test]
    fn batches_leave_one_permit_to_calls() {
        let mut lanes = FairQueue::new(4);
        for _ in 0..3 {
            assert!(lanes.try_take(Lane::Batch));
        }
        assert!(!lanes.try_take(Lane::Batch));
        assert!(lanes.try_take(Lane::Interactive));
        lanes.wait(Lane::Batch, 1);
        lanes.give_back(Lane::Interactive);
        assert!(lanes.grant().is_none(), "the fourth is not for batches");
        lanes.give_back(Lane::Batch);
        assert!(lanes.grant().is_some());
    }
}
