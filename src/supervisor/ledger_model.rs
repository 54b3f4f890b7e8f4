//! Random walks over every transition of the ledger, checked after each step against a second, simpler
//! account of who lives and who waits.

use std::collections::BTreeMap;

use super::*;

/// Names a process.
type Process = u64;

/// What the driver of the ledger (pool, tasks, callers) knows by itself.
#[derive(Default)]
struct Model {
    /// Starts under way, without a process yet or with one.
    starting: Vec<(PlaceId, Lane, Option<Process>)>,
    /// Children promised to callers.
    busy: Vec<(PlaceId, Lane, Process)>,
    /// Idle children, by process.
    idle: BTreeMap<Process, PlaceId>,
    /// Processes that are being ended.
    dying: Vec<(PlaceId, Option<Lane>, Process)>,
    lost: Vec<(PlaceId, Process)>,
    /// Waiters by number, with ticket, lane and what they want.
    waiting: BTreeMap<u64, (Ticket, Lane, Want)>,
    next: u64,
}

impl Model {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Places that are occupied, as the driver sees it.
    fn occupied(&self) -> usize {
        self.starting.len() + self.busy.len() + self.idle.len() + self.dying.len() + self.lost.len()
    }

    /// What batches hold, which excludes places that are lost.
    fn batches(&self) -> usize {
        let starting = self.starting.iter().map(|(_, lane, _)| Some(*lane));
        let busy = self.busy.iter().map(|(_, lane, _)| Some(*lane));
        let dying = self.dying.iter().map(|(_, lane, _)| *lane);
        let all = starting.chain(busy).chain(dying);
        all.filter(|lane| *lane == Some(Lane::Batch)).count()
    }

    fn granted(&mut self, lane: Lane, grant: Grant<Process>) {
        match grant {
            Grant::Start(id) => self.starting.push((id, lane, None)),
            Grant::Claimed(id, process) => {
                let known = self.idle.remove(&process);
                assert_eq!(known, Some(id), "only an idle child can be claimed");
                self.busy.push((id, lane, process));
            }
        }
    }

    fn act(&mut self, actions: Vec<Action<Process, u64>>) {
        for action in actions {
            match action {
                Action::Granted(waiter, grant) => {
                    let (_, lane, _) = self.waiting.remove(&waiter).expect("it waited");
                    self.granted(lane, grant);
                }
                Action::Retire(process, _) => {
                    let id = self
                        .idle
                        .remove(&process)
                        .expect("only idle ones are evicted");
                    self.dying.push((id, None, process));
                }
                Action::Refuse(waiter) => {
                    self.waiting.remove(&waiter).expect("it waited");
                }
            }
        }
    }
}

struct Walk {
    ledger: Ledger<Process, u64>,
    model: Model,
    random: fastrand::Rng,
    places: usize,
}

impl Walk {
    fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let places = random.usize(1..=5);
        Self {
            ledger: Ledger::new(places),
            model: Model::default(),
            random,
            places,
        }
    }

    fn pick<T>(&mut self, of: fn(&mut Model) -> &mut Vec<T>) -> Option<T> {
        let all = of(&mut self.model);
        if all.is_empty() {
            return None;
        }
        let at = self.random.usize(..all.len());
        Some(all.swap_remove(at))
    }

    fn step(&mut self) {
        let batches_before = self.model.batches();
        match self.random.u8(..12) {
            0..=2 => self.call(),
            3 => self.background(),
            4 => self.process_appears(),
            5 => self.ready(),
            6 | 7 => self.release(),
            8 => self.condemn(),
            9 => self.reaped(),
            10 => self.lose_or_find(),
            _ => self.caller_leaves(),
        }
        self.check(batches_before);
    }

    fn call(&mut self) {
        let lane = [Lane::Interactive, Lane::Batch][self.random.usize(..2)];
        let profile = self.random.u64(1..=3);
        if self.ledger.all_lost() {
            return;
        }
        let ticket = self.ledger.ticket();
        let which = match self.random.u8(..8) {
            0 => Which::Fresh,
            1 => Which::Existing,
            _ => Which::Any,
        };
        let want = Want { profile, which };
        if let Some(grant) = self.ledger.request(lane, want) {
            match which {
                Which::Any => {}
                Which::Fresh => assert!(matches!(grant, Grant::Start(_))),
                Which::Existing => assert!(matches!(grant, Grant::Claimed(..))),
            }
            self.model.granted(lane, grant);
            return;
        }
        let waiter = self.model.number();
        self.model.waiting.insert(waiter, (ticket, lane, want));
        let actions = self.ledger.wait(lane, want, ticket, waiter);
        self.model.act(actions);
    }

    fn background(&mut self) {
        let profile = self.random.u64(1..=3);
        if let Some(id) = self.ledger.request_in_background(profile) {
            assert!(self.model.waiting.is_empty(), "callers go first");
            self.model.starting.push((id, Lane::Background, None));
        }
    }

    fn process_appears(&mut self) {
        let process = self.model.number();
        let mut starting = self.model.starting.iter_mut();
        if let Some((id, _, child)) = starting.find(|(_, _, child)| child.is_none()) {
            *child = Some(process);
            self.ledger.attach(*id, process);
        }
    }

    fn ready(&mut self) {
        match self.pick(|m| &mut m.starting) {
            Some((id, lane, Some(process))) => {
                if lane == Lane::Background {
                    self.model.idle.insert(process, id);
                } else {
                    self.model.busy.push((id, lane, process));
                }
                let actions = self.ledger.ready(id);
                self.model.act(actions);
            }
            // The start failed before there was a process, or its caller left.
            Some((id, _, None)) => {
                let actions = self.ledger.free(id);
                self.model.act(actions);
            }
            None => {}
        }
    }

    fn release(&mut self) {
        if let Some((id, _, process)) = self.pick(|m| &mut m.busy) {
            self.model.idle.insert(process, id);
            let actions = self.ledger.release(id);
            self.model.act(actions);
            // Repeating it changes nothing, whoever has the child by now.
            let before = self.model.busy.len();
            if self.model.idle.contains_key(&process) {
                let actions = self.ledger.release(id);
                self.model.act(actions);
            }
            assert!(self.model.busy.len() >= before);
        }
    }

    fn condemn(&mut self) {
        let reason = if self.random.bool() {
            Reason::Deadline
        } else {
            Reason::Records
        };
        if self.random.bool() {
            if let Some((id, lane, process)) = self.pick(|m| &mut m.busy) {
                self.model.dying.push((id, Some(lane), process));
                let actions = self.ledger.condemn(id, reason);
                self.model.act(actions);
                assert!(!self.ledger.retire(id, reason), "it is not idle");
            }
        } else if let Some((process, id)) = self.model.idle.pop_first() {
            self.model.dying.push((id, None, process));
            assert!(self.ledger.retire(id, Reason::Idle));
        }
    }

    fn reaped(&mut self) {
        if let Some((id, ..)) = self.pick(|m| &mut m.dying) {
            let actions = self.ledger.free(id);
            self.model.act(actions);
            // Whoever still has the old id changes nothing with it.
            for actions in [
                self.ledger.free(id),
                self.ledger.release(id),
                self.ledger.lose(id),
                self.ledger.condemn(id, Reason::Exit),
            ] {
                assert!(actions.is_empty());
            }
        }
    }

    fn lose_or_find(&mut self) {
        if self.random.bool() {
            if let Some((id, _, process)) = self.pick(|m| &mut m.dying) {
                self.model.lost.push((id, process));
                let actions = self.ledger.lose(id);
                self.model.act(actions);
            }
        } else if let Some((id, _)) = self.pick(|m| &mut m.lost) {
            let actions = self.ledger.free(id);
            self.model.act(actions);
        }
    }

    fn caller_leaves(&mut self) {
        let waiters: Vec<u64> = self.model.waiting.keys().copied().collect();
        if let Some(waiter) = self.random.choice(waiters) {
            let (ticket, ..) = self.model.waiting.remove(&waiter).unwrap();
            let (left, actions) = self.ledger.leave(ticket);
            assert_eq!(left, Some(waiter));
            self.model.act(actions);
            assert_eq!(self.ledger.leave(ticket).0, None, "twice is harmless");
        }
    }

    fn check(&self, batches_before: usize) {
        let model = &self.model;
        let counts = self.ledger.counts();
        assert!(model.occupied() <= self.places, "never more than N");
        assert_eq!(counts.lost, model.lost.len());
        let in_use = model.starting.len() + model.busy.len() + model.dying.len();
        assert_eq!(counts.in_use, in_use);
        assert_eq!(self.ledger.occupied().count(), model.occupied());
        let usable = self.places - model.lost.len();
        let batches = model.batches();
        assert!(
            batches <= batches_before || batches <= usable.saturating_sub(1).max(1),
            "batches leave a place to others"
        );
        if usable == 0 {
            assert!(model.waiting.is_empty(), "nobody waits in vain");
        }
        let calls = model
            .waiting
            .values()
            .filter(|(_, lane, _)| *lane == Lane::Interactive);
        let calls: Vec<_> = calls.collect();
        let free = self.places - model.occupied();
        let expected = model.starting.iter();
        let expected = expected.filter(|(_, lane, _)| *lane == Lane::Background);
        let startable = |(_, _, want): &&&(_, _, Want)| want.which != Which::Existing;
        if calls.iter().filter(startable).count() > expected.count() {
            assert_eq!(free, 0, "no free place while a call waits");
        }
        // Every idle child is of a profile for which nobody waits, or others were evicted for them.
        for (_, _, want) in calls {
            let idle = |index: &usize| self.ledger.at(*index).is_some_and(Place::is_idle);
            let of = |index: &usize| self.ledger.at(*index).and_then(Place::profile);
            let mut indices = 0..self.places;
            assert!(
                !indices.any(|at| idle(&at)
                    && want.which != Which::Fresh
                    && of(&at) == Some(want.profile)),
                "nobody waits beside an idle child of its profile"
            );
        }
    }

    /// Every child does what it has to and ends: whoever still waits is served, in order of arrival
    /// within its lane.
    fn finish(mut self) {
        // These do not wait for ever: there may never be such a child.
        let existing = |want: &Want| want.which == Which::Existing;
        let waiting = std::mem::take(&mut self.model.waiting);
        let (leave, stay) = waiting
            .into_iter()
            .partition(|(_, (_, _, want))| existing(want));
        self.model.waiting = stay;
        let leave: BTreeMap<u64, (Ticket, Lane, Want)> = leave;
        for (ticket, ..) in leave.into_values() {
            let (left, actions) = self.ledger.leave(ticket);
            assert!(left.is_some());
            self.model.act(actions);
        }
        for _ in 0..10_000 {
            if self.model.waiting.is_empty() {
                return;
            }
            self.process_appears();
            self.ready();
            self.release();
            self.reaped();
            if let Some((id, _)) = self.pick(|m| &mut m.lost) {
                let actions = self.ledger.free(id);
                self.model.act(actions);
            }
        }
        panic!("starved: {:?}", self.model.waiting);
    }
}

#[test]
fn whatever_happens_places_are_neither_lost_nor_invented_and_nobody_starves() {
    for seed in 0..600 {
        let mut walk = Walk::new(seed);
        for _ in 0..500 {
            walk.step();
        }
        walk.finish();
    }
}

fn any(profile: ProfileId) -> Want {
    let which = Which::Any;
    Want { profile, which }
}

/// A ledger with busy children of these profiles.
fn busy(profiles: &[ProfileId]) -> (Ledger<Process, u64>, Vec<PlaceId>) {
    let mut ledger = Ledger::new(profiles.len());
    let start = |(process, profile): (Process, &ProfileId)| {
        let Some(Grant::Start(id)) = ledger.request(Lane::Interactive, any(*profile)) else {
            panic!("there is room");
        };
        ledger.attach(id, process);
        assert!(ledger.ready(id).is_empty());
        id
    };
    let ids = (0..).zip(profiles).map(start).collect();
    (ledger, ids)
}

#[test]
fn capacity_after_k_lost_places_is_n_minus_k_and_the_last_loss_refuses_who_waits() {
    let (mut ledger, ids) = busy(&[1; 4]);
    for (lost, id) in ids.into_iter().enumerate() {
        ledger.condemn(id, Reason::Deadline);
        let refused = if lost == 3 {
            let ticket = ledger.ticket();
            assert!(ledger.wait(Lane::Batch, any(1), ticket, 9).is_empty());
            ledger.lose(id)
        } else {
            assert!(ledger.lose(id).is_empty());
            Vec::new()
        };
        assert_eq!(ledger.counts().lost, lost + 1);
        assert_eq!(ledger.counts().in_use, 3 - lost, "counted once");
        assert_eq!(refused.len(), usize::from(lost == 3));
    }
    assert!(ledger.all_lost());
}

#[test]
fn a_lost_place_leaves_the_others_usable() {
    let (mut ledger, ids) = busy(&[1, 1]);
    ledger.condemn(ids[0], Reason::Deadline);
    ledger.lose(ids[0]);
    ledger.release(ids[1]);
    for _ in 0..5 {
        let Some(Grant::Claimed(id, 1)) = ledger.request(Lane::Batch, any(1)) else {
            panic!("one place is left, for batches too");
        };
        assert!(ledger.request(Lane::Interactive, any(1)).is_none());
        ledger.release(id);
    }
}

#[test]
fn the_least_recently_used_child_is_evicted_and_only_one_for_each_waiter() {
    let (mut ledger, ids) = busy(&[1, 2, 3]);
    for id in [ids[1], ids[0], ids[2]] {
        ledger.release(id);
    }
    let ticket = ledger.ticket();
    assert!(ledger.request(Lane::Interactive, any(4)).is_none());
    let actions = ledger.wait(Lane::Interactive, any(4), ticket, 7);
    assert!(
        matches!(actions[..], [Action::Retire(1, Reason::Evicted)]),
        "{actions:?}"
    );
    // A caller of another profile is served meanwhile, without another eviction.
    assert!(matches!(
        ledger.wait(Lane::Interactive, any(3), ticket + 1, 8)[..],
        [Action::Granted(8, Grant::Claimed(_, 2))]
    ));
    let actions = ledger.free(ids[1]);
    assert!(
        matches!(actions[..], [Action::Granted(7, Grant::Start(_))]),
        "{actions:?}"
    );
}

#[test]
fn a_call_waits_for_a_child_that_is_being_started_in_the_background() {
    let mut ledger: Ledger<Process, u64> = Ledger::new(3);
    let id = ledger.request_in_background(1).unwrap();
    assert!(ledger.request(Lane::Interactive, any(1)).is_none());
    assert!(ledger.wait(Lane::Interactive, any(1), 1, 10).is_empty());
    // It is spoken for: the next one starts a child of its own.
    assert!(matches!(
        ledger.wait(Lane::Interactive, any(1), 2, 11)[..],
        [Action::Granted(11, Grant::Start(_))]
    ));
    ledger.attach(id, 5);
    assert!(matches!(
        ledger.ready(id)[..],
        [Action::Granted(10, Grant::Claimed(_, 5))]
    ));
}

#[test]
fn a_background_start_that_fails_does_not_hold_up_who_waited_for_it() {
    let mut ledger: Ledger<Process, u64> = Ledger::new(2);
    let id = ledger.request_in_background(1).unwrap();
    ledger.attach(id, 5);
    assert!(ledger.wait(Lane::Interactive, any(1), 1, 10).is_empty());
    assert!(matches!(
        ledger.condemn(id, Reason::Start)[..],
        [Action::Granted(10, Grant::Start(_))]
    ));
}

#[test]
fn who_wants_a_fresh_child_gets_a_place_although_one_is_idle() {
    let (mut ledger, ids) = busy(&[1, 1]);
    ledger.release(ids[0]);
    let want = Want {
        profile: 1,
        which: Which::Fresh,
    };
    let ticket = ledger.ticket();
    assert!(ledger.request(Lane::Interactive, want).is_none());
    assert!(matches!(
        ledger.wait(Lane::Interactive, want, ticket, 7)[..],
        [Action::Retire(0, Reason::Evicted)]
    ));
    assert!(matches!(
        ledger.free(ids[0])[..],
        [Action::Granted(7, Grant::Start(_))]
    ));
}

#[test]
fn batches_leave_one_place_to_calls() {
    let mut ledger: Ledger<Process, u64> = Ledger::new(4);
    for _ in 0..3 {
        assert!(ledger.request(Lane::Batch, any(1)).is_some());
    }
    assert!(ledger.request(Lane::Batch, any(1)).is_none());
    assert!(ledger.wait(Lane::Batch, any(1), 1, 10).is_empty());
    assert!(ledger.request(Lane::Interactive, any(1)).is_some());
}
