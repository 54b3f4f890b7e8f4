//! The pool: the [ledger](super::ledger) of places under one lock, waiting for a place with a limit, and
//! guards that give a place back when they are dropped.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::contract::Profile;
use crate::telemetry::metric;

use super::child_status::ChildStatus;
use super::child_task::{ChildHandle, Job, Outcome};
use super::failure::AdmissionError;
use super::fair_queue::Ticket;
use super::ledger::{Action, Counts, Grant, PlaceId, ProfileId};
use super::os;
use super::pool_state::{Admitted, PoolState, Request};
use super::profiles::{KnownProfile, Profiles};
use super::recycle::Reason;

type Child = Arc<ChildHandle>;
type Waiter = oneshot::Sender<Result<Granted, AdmissionError>>;
type State = PoolState<Child, Waiter>;
type Actions = Vec<Action<Child, Waiter>>;

/// All places, and those who wait for one.
pub(super) struct Pool {
    state: Mutex<State>,
    pub(super) profiles: Profiles,
    /// Every task that owns a process or a start.
    pub(super) tasks: TaskTracker,
    /// The end has begun: nothing is started any more.
    pub(super) closing: CancellationToken,
    /// Every child is to be killed now.
    pub(super) killing: CancellationToken,
    /// A child ended that should be replaced in the background.
    pub(super) replacement_wanted: Notify,
}

/// What a call gets.
pub(super) enum Granted {
    /// An idle child.
    Child(Lease),
    /// A place to start a child in.
    Place(StartPlace),
}

/// A child that is promised to one caller. Dropped unused, the child is idle again.
pub(super) struct Lease {
    pool: Arc<Pool>,
    id: PlaceId,
    /// Taken when the child gets the record: from then on its task decides about the place.
    child: Option<Child>,
}

/// A reserved place in which no process has been started yet. Dropped, it is free again.
pub(super) struct StartPlace {
    pool: Arc<Pool>,
    /// Taken when a start begins.
    id: Option<PlaceId>,
}

/// A place in the queue for a call that does not know its profile yet.
pub(super) struct Seat {
    pool: Arc<Pool>,
    pub(super) ticket: Ticket,
}

/// A batch's place in the queue, for as long as it has records to start.
pub(super) struct BatchSeat {
    pool: Arc<Pool>,
}

/// What the pool looks like now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) places: Counts,
    /// Single calls that wait.
    pub(super) waiting: usize,
    pub(super) batches: usize,
}

impl Pool {
    pub(super) fn new(places: usize, max_queue: usize) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State::new(places, max_queue)),
            profiles: Profiles::default(),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
            killing: CancellationToken::new(),
            replacement_wanted: Notify::new(),
        })
    }

    /// The entry of a profile, which counts as used now.
    pub(super) fn profile(&self, profile: &Profile) -> Arc<KnownProfile> {
        let with_children = || {
            let state = self.lock();
            let profiles = state.ledger.occupied().filter_map(|place| place.profile());
            profiles.collect()
        };
        self.profiles.touch(profile, with_children)
    }

    /// Waits for a child, or a place to start one in, at most `longest`. The ticket is for another
    /// attempt. Leaving early (dropping the future) gives the turn up at once.
    pub(super) async fn acquire(
        self: &Arc<Self>,
        request: Request,
        longest: Duration,
    ) -> Result<(Granted, Ticket), AdmissionError> {
        let mut turn = None;
        let (ticket, admitted) = {
            let mut state = self.lock();
            let admitted = state.admit(request, || {
                let (sender, receiver) = oneshot::channel();
                turn = Some(receiver);
                sender
            })?;
            show_places_in_use(&state);
            admitted
        };
        match (admitted, turn) {
            (Admitted::Granted(grant), _) => Ok((self.granted(grant), ticket)),
            (Admitted::Waits(actions), Some(turn)) => {
                let waiting = Waiting::new(self, ticket);
                self.act(actions);
                Ok((waiting.wait(turn, longest).await?, ticket))
            }
            (Admitted::Waits(_), None) => Err(AdmissionError::ShuttingDown),
        }
    }

    /// Reserves a place for a start in the background, if nobody else wants it.
    pub(super) fn acquire_in_background(
        self: &Arc<Self>,
        profile: ProfileId,
    ) -> Option<StartPlace> {
        let mut state = self.lock();
        let id = state.admit_in_background(profile)?;
        show_places_in_use(&state);
        drop(state);
        Some(StartPlace::new(self, id))
    }

    /// Takes a place in the queue for a call that cannot ask for a child yet.
    pub(super) fn take_seat(self: &Arc<Self>) -> Result<Seat, AdmissionError> {
        let ticket = self.lock().take_seat()?;
        let pool = Arc::clone(self);
        Ok(Seat { pool, ticket })
    }

    /// Takes the one place in the queue that a batch occupies.
    pub(super) fn take_batch_seat(self: &Arc<Self>) -> Result<BatchSeat, AdmissionError> {
        self.lock().take_batch_seat()?;
        let pool = Arc::clone(self);
        Ok(BatchSeat { pool })
    }

    /// Refuses new calls from now on; those inside go on.
    pub(super) fn close_to_new(&self) {
        self.lock().close_to_new();
    }

    /// Refuses everyone from now on, also those who wait, starts nothing, and ends idle children.
    pub(super) fn close(self: &Arc<Self>) {
        self.closing.cancel();
        self.tasks.close();
        let (waiters, actions) = self.lock().close();
        for waiter in waiters {
            let _left = waiter.send(Err(AdmissionError::ShuttingDown));
        }
        self.act(actions);
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.is_cancelled()
    }

    /// Ends the children of earlier generations of the engine: idle ones now, others after their record.
    pub(super) fn expect_generation(self: &Arc<Self>, generation: u64) {
        let of = |child: &Child| child.info.engine.generation;
        self.transition(|state| ((), state.expect_generation(generation, of)));
    }

    /// Ends the least recently used idle child, to make means free for another process.
    pub(super) fn evict_one(self: &Arc<Self>) {
        self.transition(|state| ((), state.ledger.evict_one()));
    }

    /// Kills every child, without waiting.
    pub(super) fn kill_all(&self) {
        self.killing.cancel();
        for (_, child) in self.children() {
            child.signal(os::StopSignal::Kill);
        }
    }

    /// Every process that has not been reaped, with the state of its place.
    pub(super) fn children(&self) -> Vec<(&'static str, Arc<ChildStatus>)> {
        let state = self.lock();
        let children = state.ledger.occupied().filter_map(|place| {
            let child = place.child()?;
            Some((place.as_str(), Arc::clone(&child.info)))
        });
        children.collect()
    }

    /// Places that a profile has, and how many of them are idle.
    pub(super) fn places_of(&self, profile: ProfileId) -> (usize, usize) {
        let state = self.lock();
        let places = state.ledger.occupied();
        let places = places.filter(|place| place.profile() == Some(profile));
        places.fold((0, 0), |(all, idle), place| {
            (all + 1, idle + usize::from(place.is_idle()))
        })
    }

    pub(super) fn load(&self) -> Load {
        let state = self.lock();
        let places = state.ledger.counts();
        Load {
            places,
            waiting: places.waiting + state.seats,
            batches: state.batches,
        }
    }

    /// A process exists in a place.
    pub(super) fn attach(&self, id: PlaceId, child: &Child) {
        self.lock().ledger.attach(id, Arc::clone(child));
    }

    /// A child is ready. The lease is for the one who started it.
    pub(super) fn ready(self: &Arc<Self>, id: PlaceId, child: Child) -> Lease {
        self.transition(|state| ((), state.ledger.ready(id)));
        Lease::new(self, id, child)
    }

    /// A process is busy with the question that it was started for.
    pub(super) fn answering(self: &Arc<Self>, id: PlaceId) {
        self.transition(|state| ((), state.ledger.ready(id)));
    }

    /// A child can take another record. A reason means that it must end instead.
    pub(super) fn idle(
        self: &Arc<Self>,
        id: PlaceId,
        due: Option<Reason>,
        generation: u64,
    ) -> Option<Reason> {
        self.transition(|state| state.idle(id, due, generation))
    }

    /// An idle child wants to end. `false` if a record is on its way to it.
    pub(super) fn may_retire(self: &Arc<Self>, id: PlaceId, reason: Reason) -> bool {
        self.transition(|state| (state.may_retire(id, reason), Actions::new()))
    }

    /// A child ends, whatever it was doing.
    pub(super) fn condemn(self: &Arc<Self>, id: PlaceId, reason: Reason) {
        self.transition(|state| ((), state.ledger.condemn(id, reason)));
    }

    /// A child does not end although it was killed.
    pub(super) fn lose(self: &Arc<Self>, id: PlaceId) {
        self.transition(|state| ((), state.ledger.lose(id)));
    }

    /// There is no process in a place (any more).
    pub(super) fn free(self: &Arc<Self>, id: PlaceId) {
        self.transition(|state| ((), state.ledger.free(id)));
    }

    /// Changes the state, then carries out what follows from it. The lock is free by then: a waiter
    /// that has just left drops what it is sent, which is another transition.
    fn transition<T>(self: &Arc<Self>, change: impl FnOnce(&mut State) -> (T, Actions)) -> T {
        let (result, actions) = {
            let mut state = self.lock();
            let changed = change(&mut state);
            show_places_in_use(&state);
            changed
        };
        self.act(actions);
        result
    }

    fn act(self: &Arc<Self>, actions: Actions) {
        for action in actions {
            match action {
                Action::Granted(waiter, grant) => {
                    let _left = waiter.send(Ok(self.granted(grant)));
                }
                Action::Retire(child, reason) => child.retire(reason),
                Action::Refuse(waiter) => {
                    let _left = waiter.send(Err(AdmissionError::AllLost));
                }
            }
        }
    }

    fn granted(self: &Arc<Self>, grant: Grant<Child>) -> Granted {
        match grant {
            Grant::Claimed(id, child) => Granted::Child(Lease::new(self, id, child)),
            Grant::Start(id) => Granted::Place(StartPlace::new(self, id)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn show_places_in_use(state: &State) {
    #[expect(clippy::cast_precision_loss, reason = "at most 1024 places")]
    let in_use = state.ledger.counts().in_use as f64;
    metrics::gauge!(metric::PERMITS_IN_USE).set(in_use);
}

impl Lease {
    fn new(pool: &Arc<Pool>, id: PlaceId, child: Child) -> Self {
        Self {
            pool: Arc::clone(pool),
            id,
            child: Some(child),
        }
    }

    /// What is known about the child.
    pub(super) fn info(&self) -> Option<&ChildStatus> {
        self.child.as_deref().map(|child| &*child.info)
    }

    /// Runs one record. Dropping the future leaves the record to the child's task, which sees the
    /// caller gone and ends the child if the record has reached it.
    pub(super) async fn run(
        mut self,
        line: Vec<u8>,
        display_name: Option<String>,
        limit: Duration,
    ) -> Outcome {
        let Some(child) = self.child.take() else {
            return Outcome::NotHandedOver;
        };
        let (answer, outcome) = oneshot::channel();
        child.run(Job {
            line,
            display_name,
            limit,
            answer,
        });
        // A task that has ended drops the job.
        outcome.await.unwrap_or(Outcome::NotHandedOver)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            let generation = child.info.engine.generation;
            if let Some(reason) = self.pool.idle(self.id, None, generation) {
                child.retire(reason);
            }
        }
    }
}

impl StartPlace {
    fn new(pool: &Arc<Pool>, id: PlaceId) -> Self {
        let (pool, id) = (Arc::clone(pool), Some(id));
        Self { pool, id }
    }

    /// The place, for a start that gives it back by itself.
    pub(super) fn take(mut self) -> Option<PlaceId> {
        self.id.take()
    }
}

impl Drop for StartPlace {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            self.pool.free(id);
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut state = self.pool.lock();
        state.seats = state.seats.saturating_sub(1);
    }
}

impl Drop for BatchSeat {
    fn drop(&mut self) {
        let mut state = self.pool.lock();
        state.batches = state.batches.saturating_sub(1);
    }
}

/// A waiter's turn; dropping it gives it up.
struct Waiting<'a> {
    pool: &'a Arc<Pool>,
    ticket: Ticket,
    since: Instant,
}

impl<'a> Waiting<'a> {
    fn new(pool: &'a Arc<Pool>, ticket: Ticket) -> Self {
        metrics::gauge!(metric::QUEUE_WAITING).increment(1.0);
        let since = Instant::now();
        Self {
            pool,
            ticket,
            since,
        }
    }

    async fn wait(
        self,
        mut turn: oneshot::Receiver<Result<Granted, AdmissionError>>,
        longest: Duration,
    ) -> Result<Granted, AdmissionError> {
        if let Ok(answer) = tokio::time::timeout(longest, &mut turn).await {
            return answer.unwrap_or(Err(AdmissionError::ShuttingDown));
        }
        let waited = self.since.elapsed();
        let depth = self.pool.lock().queued();
        drop(self);
        // The turn may have come at this very moment.
        let late = turn.try_recv();
        late.unwrap_or(Err(AdmissionError::WaitedTooLong { waited, depth }))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        metrics::gauge!(metric::QUEUE_WAITING).decrement(1.0);
        let ticket = self.ticket;
        // The waiter is dropped outside the lock.
        let _left = self.pool.transition(|state| state.ledger.leave(ticket));
    }
}
