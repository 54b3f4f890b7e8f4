//! Who occupies the pool's `N` places, as plain data: no clock, no tasks, no processes.
//!
//! A place is free, starting, idle, busy, dying or lost, exactly one at a time. A process occupies its
//! place from before it is spawned until it is reaped, so never more than `N` are alive. Everything
//! that changes who may run is one method here: claim an idle child, start one in a free place, evict
//! the least recently used idle child, or wait. [`Ledger::settle`] applies that decision to those who
//! wait whenever something may have changed for them.
//!
//! All batches together use at most one place fewer than are usable (but at least one), so a single
//! call always finds a place that no batch holds.

use super::fair_queue::{FairQueue, Lane, Ticket};
use super::recycle::Reason;

/// Names the profile that a child serves.
pub(super) type ProfileId = u64;

/// Which child a call can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Want {
    pub(super) profile: ProfileId,
    pub(super) which: Which,
}

/// Which children of its profile a call can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// An idle one, or one that is started for it.
    Any,
    /// Only one that is started for it.
    Fresh,
    /// Only one that is there already: there are no means to start another.
    Existing,
}

/// What a process needs that serves no records: a place of its own. No profile has this id.
pub(super) const NO_RECORDS: Want = Want {
    profile: 0,
    which: Which::Fresh,
};

/// One occupation of a place. It names nothing any more once the place was freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PlaceId {
    index: usize,
    epoch: u64,
}

/// What a place is used for.
#[derive(Clone, Debug)]
pub(super) enum Place<C> {
    /// Nothing.
    Free,
    /// A process that is being started and has not been pinged yet.
    Starting {
        lane: Lane,
        profile: ProfileId,
        /// Present once the process exists.
        child: Option<C>,
    },
    /// A child that waits for a record.
    Idle {
        profile: ProfileId,
        child: C,
        /// When it became idle, counted in transitions.
        since: u64,
    },
    /// A child that has a record, or is promised to a caller.
    Busy {
        lane: Lane,
        profile: ProfileId,
        child: C,
    },
    /// A process that is being ended.
    Dying {
        /// The lane of the record that it failed.
        lane: Option<Lane>,
        reason: Reason,
        child: Option<C>,
    },
    /// A process that does not end although it was killed.
    Lost { child: Option<C> },
}

/// What to do after a transition, outside the lock.
#[derive(Debug)]
pub(super) enum Action<C, W> {
    /// This waiter got a place.
    Granted(W, Grant<C>),
    /// This idle child is to be ended.
    Retire(C, Reason),
    /// Every place is lost, so this waiter would wait in vain.
    Refuse(W),
}

/// A place for a call.
#[derive(Debug)]
pub(super) enum Grant<C> {
    /// An idle child.
    Claimed(PlaceId, C),
    /// A place to start a child in.
    Start(PlaceId),
}

/// How many places are in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) total: usize,
    /// Starting, busy or dying.
    pub(super) in_use: usize,
    pub(super) lost: usize,
    /// Interactive calls that wait.
    pub(super) waiting: usize,
}

/// The places and those who wait for one.
pub(super) struct Ledger<C, W> {
    places: Vec<(u64, Place<C>)>,
    queue: FairQueue<(Want, W)>,
    /// Counts transitions to idle: the clock of "least recently used".
    clock: u64,
}

/// What can be done for the first waiter for whom something can be done.
enum Step {
    Claim(Ticket, Lane, usize),
    Start(Ticket, Lane, ProfileId, usize),
    Evict(usize),
}

impl<C: Clone, W> Ledger<C, W> {
    pub(super) fn new(places: usize) -> Self {
        Self {
            places: (0..places.max(1)).map(|_| (0, Place::Free)).collect(),
            queue: FairQueue::new(),
            clock: 0,
        }
    }

    /// A ticket for a call that arrives now.
    pub(super) fn ticket(&mut self) -> Ticket {
        self.queue.ticket()
    }

    /// Grants a place at once, if that passes nobody who waits. A call for whose profile a child is
    /// already being started in the background is to wait for that one.
    pub(super) fn request(&mut self, lane: Lane, want: Want) -> Option<Grant<C>> {
        let batches = self.batches_that_may_start();
        if !self.queue.may_pass(lane, batches) || lane == Lane::Batch && batches == 0 {
            return None;
        }
        let grant = if let Some(index) = self.idle_for(want) {
            let (id, child) = self.claim(index, lane)?;
            Grant::Claimed(id, child)
        } else if want.which != Which::Existing
            && self.position(|place| place.is_expected_by(want)).is_none()
        {
            let index = self.position(Place::is_free)?;
            Grant::Start(self.reserve(index, lane, want.profile))
        } else {
            return None;
        };
        self.queue.passed(lane);
        Some(grant)
    }

    /// Reserves a place for a start in the background: only if it is free and nobody waits.
    pub(super) fn request_in_background(&mut self, profile: ProfileId) -> Option<PlaceId> {
        if !self.queue.is_empty() {
            return None;
        }
        let index = self.position(Place::is_free)?;
        Some(self.reserve(index, Lane::Background, profile))
    }

    /// Adds a waiter. Its turn may have come at once.
    pub(super) fn wait(
        &mut self,
        lane: Lane,
        want: Want,
        ticket: Ticket,
        waiter: W,
    ) -> Vec<Action<C, W>> {
        self.queue.wait(lane, ticket, (want, waiter));
        self.settle()
    }

    /// Removes a waiter; `None` when it was served already. What it waited for may be for another now.
    pub(super) fn leave(&mut self, ticket: Ticket) -> (Option<W>, Vec<Action<C, W>>) {
        match self.queue.leave(ticket) {
            Some((_, waiter)) => (Some(waiter), self.settle()),
            None => (None, Vec::new()),
        }
    }

    /// Removes every waiter.
    pub(super) fn drain_queue(&mut self) -> Vec<W> {
        let waiters = self.queue.drain();
        waiters.into_iter().map(|(_, waiter)| waiter).collect()
    }

    /// Starting: the process exists.
    pub(super) fn attach(&mut self, id: PlaceId, process: C) {
        if let Some(Place::Starting { child, .. }) = self.get_mut(id) {
            *child = Some(process);
        }
    }

    /// Starting → busy: the child is ready, and serves the one who started it first. One that was
    /// started in the background is idle, for whoever waits for it.
    pub(super) fn ready(&mut self, id: PlaceId) -> Vec<Action<C, W>> {
        let Some(place) = self.get_mut(id) else {
            return Vec::new();
        };
        let Place::Starting {
            lane,
            profile,
            child: Some(child),
        } = place
        else {
            return Vec::new();
        };
        let lane = *lane;
        *place = Place::Busy {
            lane,
            profile: *profile,
            child: child.clone(),
        };
        match lane {
            Lane::Background => self.release(id),
            Lane::Interactive | Lane::Batch => Vec::new(),
        }
    }

    /// Busy → idle. Nothing happens in any other state: whoever ends the child may have been faster.
    pub(super) fn release(&mut self, id: PlaceId) -> Vec<Action<C, W>> {
        self.clock += 1;
        let since = self.clock;
        let Some(place) = self.get_mut(id) else {
            return Vec::new();
        };
        let Place::Busy { profile, child, .. } = place else {
            return Vec::new();
        };
        *place = Place::Idle {
            profile: *profile,
            child: child.clone(),
            since,
        };
        self.settle()
    }

    /// Idle → dying. `false` when the child is not idle (any more).
    pub(super) fn retire(&mut self, id: PlaceId, reason: Reason) -> bool {
        let is_idle = matches!(self.get(id), Some(Place::Idle { .. }));
        if is_idle {
            self.set_dying(id, reason);
        }
        is_idle
    }

    /// Idle → dying for the least recently used child, to make means free for another process.
    pub(super) fn evict_one(&mut self) -> Vec<Action<C, W>> {
        let evicted = self.least_recently_used().map(Step::Evict);
        evicted
            .and_then(|step| self.take(step))
            .into_iter()
            .collect()
    }

    /// Idle → dying, for every idle child that `wanted` names.
    pub(super) fn retire_all(
        &mut self,
        reason: Reason,
        wanted: impl Fn(&C) -> bool,
    ) -> Vec<Action<C, W>> {
        let mut actions = Vec::new();
        for index in 0..self.places.len() {
            if let Some(Place::Idle { child, .. }) = self.at(index)
                && wanted(child)
            {
                let child = child.clone();
                self.set_dying(self.id(index), reason);
                actions.push(Action::Retire(child, reason));
            }
        }
        actions.extend(self.settle());
        actions
    }

    /// Starting, idle or busy → dying.
    pub(super) fn condemn(&mut self, id: PlaceId, reason: Reason) -> Vec<Action<C, W>> {
        self.set_dying(id, reason);
        // Who waited for this child has to look elsewhere.
        self.settle()
    }

    fn set_dying(&mut self, id: PlaceId, reason: Reason) {
        let Some(place) = self.get_mut(id) else {
            return;
        };
        let (lane, child) = match place {
            Place::Starting { lane, child, .. } => (Some(*lane), child.clone()),
            Place::Idle { child, .. } => (None, Some(child.clone())),
            Place::Busy { lane, child, .. } => (Some(*lane), Some(child.clone())),
            Place::Free | Place::Dying { .. } | Place::Lost { .. } => return,
        };
        *place = Place::Dying {
            lane,
            reason,
            child,
        };
    }

    /// Dying → lost: the process was killed and does not end.
    pub(super) fn lose(&mut self, id: PlaceId) -> Vec<Action<C, W>> {
        let Some(place) = self.get_mut(id) else {
            return Vec::new();
        };
        if let Place::Dying { child, .. } = place {
            *place = Place::Lost {
                child: child.clone(),
            };
        }
        if self.all_lost() {
            let waiters = self.drain_queue();
            return waiters.into_iter().map(Action::Refuse).collect();
        }
        self.settle()
    }

    /// Any state → free: there is no process (any more).
    pub(super) fn free(&mut self, id: PlaceId) -> Vec<Action<C, W>> {
        let Some(place) = self.get_mut(id) else {
            return Vec::new();
        };
        *place = Place::Free;
        if let Some((epoch, _)) = self.places.get_mut(id.index) {
            *epoch += 1;
        }
        self.settle()
    }

    pub(super) fn all_lost(&self) -> bool {
        self.count(|place| matches!(place, Place::Lost { .. })) == self.places.len()
    }

    /// Whether a call could be served now: a free place, or an idle child that can be claimed or evicted.
    pub(super) fn has_room(&self) -> bool {
        let room = |place: &Place<C>| matches!(place, Place::Free | Place::Idle { .. });
        self.position(room).is_some()
    }

    /// Whether a planned end for reaching a limit is under way.
    pub(super) fn is_recycling(&self) -> bool {
        self.position(|place| matches!(place, Place::Dying { reason, .. } if reason.is_limit()))
            .is_some()
    }

    /// Every place that is not free.
    pub(super) fn occupied(&self) -> impl Iterator<Item = &Place<C>> {
        let places = self.places.iter().map(|(_, place)| place);
        places.filter(|place| !place.is_free())
    }

    pub(super) fn counts(&self) -> Counts {
        Counts {
            total: self.places.len(),
            in_use: self.count(Place::is_in_use),
            lost: self.count(|place| matches!(place, Place::Lost { .. })),
            waiting: self.queue.interactive(),
        }
    }

    /// Serves those who wait, as far as places allow.
    fn settle(&mut self) -> Vec<Action<C, W>> {
        let mut actions = Vec::new();
        while let Some(step) = self.next_step()
            && let Some(action) = self.take(step)
        {
            actions.push(action);
        }
        actions
    }

    /// Each waiter in turn claims an idle child of its profile, waits for one that is being started in
    /// the background, starts one in a free place, waits for a place that is about to be free, or has
    /// an idle child evicted. What one waits for, the next cannot wait for.
    fn next_step(&self) -> Option<Step> {
        if self.queue.is_empty() {
            return None;
        }
        let mut spoken_for = Vec::new();
        let mut batches = self.batches_that_may_start();
        for (ticket, lane, (want, _)) in self.queue.in_order(batches) {
            if lane == Lane::Batch && batches == 0 {
                continue;
            }
            if let Some(index) = self.idle_for(*want) {
                return Some(Step::Claim(ticket, lane, index));
            }
            if want.which == Which::Existing {
                continue;
            }
            let mut awaits = |wanted: &dyn Fn(&Place<C>) -> bool| {
                let found = (0..self.places.len()).find(|index| {
                    !spoken_for.contains(index) && self.at(*index).is_some_and(wanted)
                });
                spoken_for.extend(found);
                found.is_some()
            };
            let expected = awaits(&|place| place.is_expected_by(*want));
            if !expected && let Some(index) = self.position(Place::is_free) {
                return Some(Step::Start(ticket, lane, want.profile, index));
            }
            if !expected && !awaits(&Place::is_about_to_be_free) {
                return self.least_recently_used().map(Step::Evict);
            }
            if lane == Lane::Batch {
                batches -= 1;
            }
        }
        None
    }

    fn take(&mut self, step: Step) -> Option<Action<C, W>> {
        match step {
            Step::Claim(ticket, lane, index) => {
                let (id, child) = self.claim(index, lane)?;
                let (_, waiter) = self.queue.serve(lane, ticket)?;
                Some(Action::Granted(waiter, Grant::Claimed(id, child)))
            }
            Step::Start(ticket, lane, profile, index) => {
                let id = self.reserve(index, lane, profile);
                let (_, waiter) = self.queue.serve(lane, ticket)?;
                Some(Action::Granted(waiter, Grant::Start(id)))
            }
            Step::Evict(index) => {
                let Some(Place::Idle { child, .. }) = self.at(index) else {
                    return None;
                };
                let child = child.clone();
                self.set_dying(self.id(index), Reason::Evicted);
                Some(Action::Retire(child, Reason::Evicted))
            }
        }
    }

    /// Idle → busy.
    fn claim(&mut self, index: usize, lane: Lane) -> Option<(PlaceId, C)> {
        let id = self.id(index);
        let place = self.get_mut(id)?;
        let Place::Idle { profile, child, .. } = place else {
            return None;
        };
        let (profile, child) = (*profile, child.clone());
        *place = Place::Busy {
            lane,
            profile,
            child: child.clone(),
        };
        Some((id, child))
    }

    /// Free → starting.
    fn reserve(&mut self, index: usize, lane: Lane, profile: ProfileId) -> PlaceId {
        let id = self.id(index);
        if let Some(place) = self.get_mut(id) {
            *place = Place::Starting {
                lane,
                profile,
                child: None,
            };
        }
        id
    }

    /// The idle child of the profile that was used last, so that surplus ones can age.
    fn idle_for(&self, want: Want) -> Option<usize> {
        let idle = self.idle();
        let idle =
            idle.filter(|(_, profile, _)| want.which != Which::Fresh && *profile == want.profile);
        idle.max_by_key(|(_, _, since)| *since).map(|(at, ..)| at)
    }

    fn least_recently_used(&self) -> Option<usize> {
        let oldest = self.idle().min_by_key(|(_, _, since)| *since);
        oldest.map(|(at, ..)| at)
    }

    fn idle(&self) -> impl Iterator<Item = (usize, ProfileId, u64)> {
        let places = self.places.iter().enumerate();
        places.filter_map(|(at, (_, place))| match place {
            Place::Idle { profile, since, .. } => Some((at, *profile, *since)),
            _ => None,
        })
    }

    /// Batch records that may get a place now, places permitting.
    fn batches_that_may_start(&self) -> usize {
        let lost = self.count(|place| matches!(place, Place::Lost { .. }));
        let usable = self.places.len() - lost;
        let held = self.count(|place| place.lane() == Some(Lane::Batch));
        usable.saturating_sub(1).max(1).saturating_sub(held)
    }

    fn position(&self, wanted: impl Fn(&Place<C>) -> bool) -> Option<usize> {
        self.places.iter().position(|(_, place)| wanted(place))
    }

    fn count(&self, wanted: impl Fn(&Place<C>) -> bool) -> usize {
        let places = self.places.iter();
        places.filter(|(_, place)| wanted(place)).count()
    }

    fn at(&self, index: usize) -> Option<&Place<C>> {
        self.places.get(index).map(|(_, place)| place)
    }

    fn id(&self, index: usize) -> PlaceId {
        let epoch = self.places.get(index).map_or(0, |(epoch, _)| *epoch);
        PlaceId { index, epoch }
    }

    fn get(&self, id: PlaceId) -> Option<&Place<C>> {
        let (epoch, place) = self.places.get(id.index)?;
        (*epoch == id.epoch).then_some(place)
    }

    fn get_mut(&mut self, id: PlaceId) -> Option<&mut Place<C>> {
        let (epoch, place) = self.places.get_mut(id.index)?;
        (*epoch == id.epoch).then_some(place)
    }
}

impl<C> Place<C> {
    /// The word for it in a snapshot.
    pub(super) const fn as_str(&self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Starting { .. } => "starting",
            Self::Idle { .. } => "idle",
            Self::Busy { .. } => "busy",
            Self::Dying { .. } => "ending",
            Self::Lost { .. } => "lost",
        }
    }

    /// The process in it.
    pub(super) const fn child(&self) -> Option<&C> {
        match self {
            Self::Free => None,
            Self::Idle { child, .. } | Self::Busy { child, .. } => Some(child),
            Self::Starting { child, .. } | Self::Dying { child, .. } | Self::Lost { child } => {
                child.as_ref()
            }
        }
    }

    /// The profile that it serves.
    pub(super) const fn profile(&self) -> Option<ProfileId> {
        match self {
            Self::Starting { profile, .. }
            | Self::Idle { profile, .. }
            | Self::Busy { profile, .. } => Some(*profile),
            Self::Free | Self::Dying { .. } | Self::Lost { .. } => None,
        }
    }

    pub(super) const fn is_idle(&self) -> bool {
        matches!(self, Self::Idle { .. })
    }

    const fn is_free(&self) -> bool {
        matches!(self, Self::Free)
    }

    const fn is_in_use(&self) -> bool {
        matches!(
            self,
            Self::Starting { .. } | Self::Busy { .. } | Self::Dying { .. }
        )
    }

    /// A child that is being started in the background, for whoever wants it.
    fn is_expected_by(&self, want: Want) -> bool {
        matches!(
            self,
            Self::Starting { lane: Lane::Background, profile, .. }
                if want.which != Which::Fresh && *profile == want.profile
        )
    }

    /// A healthy child that is ending because it was asked to.
    const fn is_about_to_be_free(&self) -> bool {
        matches!(self, Self::Dying { reason, .. } if reason.is_planned())
    }

    const fn lane(&self) -> Option<Lane> {
        match self {
            Self::Starting { lane, .. } | Self::Busy { lane, .. } => Some(*lane),
            Self::Dying { lane, .. } => *lane,
            Self::Free | Self::Idle { .. } | Self::Lost { .. } => None,
        }
    }
}

#[cfg(test)]
#[path = "ledger_model.rs"]
mod model;
