//! Who may run: permits, the bounded queue before them, and the places of batches in it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::fair_queue::{FairQueue, Lane, Ticket};
use crate::telemetry::metric;

/// Why a call got no permit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AdmissionError {
    /// The queue was full.
    Full {
        /// Places in the queue.
        limit: usize,
    },
    /// It waited as long as it may.
    WaitedTooLong {
        /// How long it waited.
        waited: Duration,
        /// How many calls waited when it gave up.
        depth: usize,
    },
    /// The supervisor is ending.
    ShuttingDown,
    /// Every place is taken by a child that cannot be killed.
    AllLost,
}

/// The gate before the pool.
pub(super) struct Admission {
    state: Mutex<State>,
    max_queue: usize,
}

struct State {
    lanes: FairQueue<oneshot::Sender<Result<Permit, AdmissionError>>>,
    /// Batches that hold a place in the queue.
    batches: usize,
    door: Door,
}

/// Who is let in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Door {
    Open,
    /// New calls are refused; a batch that is inside goes on.
    ClosedToNew,
    /// Everyone is refused.
    Closed,
}

/// The right to run. Giving it back is dropping it. It is shared with the task that tends the child,
/// which keeps it until a condemned child is reaped.
pub(super) struct Permit {
    admission: Arc<Admission>,
    lane: Lane,
}

/// A batch's place in the queue, for as long as it has records to start.
pub(super) struct BatchPlace {
    admission: Arc<Admission>,
}

/// What the queue looks like now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) total: usize,
    pub(super) held: usize,
    pub(super) lost: usize,
    pub(super) waiting: usize,
    pub(super) batches: usize,
}

impl Admission {
    pub(super) fn new(permits: usize, max_queue: usize) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                lanes: FairQueue::new(permits),
                batches: 0,
                door: Door::Open,
            }),
            max_queue,
        })
    }

    /// Waits for a permit. Leaving early (dropping the future) frees the place at once.
    pub(super) async fn acquire(
        self: &Arc<Self>,
        lane: Lane,
        longest: Duration,
    ) -> Result<Permit, AdmissionError> {
        let begun = Instant::now();
        let (ticket, mut turn) = {
            let mut state = self.lock();
            let inside = lane == Lane::Batch && state.door == Door::ClosedToNew;
            if state.door != Door::Open && !inside {
                return Err(AdmissionError::ShuttingDown);
            }
            if state.lanes.all_lost() {
                return Err(AdmissionError::AllLost);
            }
            if state.lanes.try_take(lane) {
                return Ok(self.permit(lane));
            }
            // Checked and taken under one lock: the bound holds exactly.
            if lane == Lane::Interactive && state.places() >= self.max_queue {
                return Err(AdmissionError::Full {
                    limit: self.max_queue,
                });
            }
            let (sender, turn) = oneshot::channel();
            (state.lanes.wait(lane, sender), turn)
        };
        metrics::gauge!(metric::QUEUE_WAITING).increment(1.0);
        let place = Place {
            admission: self,
            ticket,
        };
        if let Ok(answer) = tokio::time::timeout(longest, &mut turn).await {
            return answer.unwrap_or(Err(AdmissionError::ShuttingDown));
        }
        let depth = place.leave();
        // The turn may have come in this very moment.
        turn.try_recv().unwrap_or_else(|_| {
            Err(AdmissionError::WaitedTooLong {
                waited: begun.elapsed(),
                depth,
            })
        })
    }

    /// Takes a permit for a start in the background, if nobody else wants it.
    pub(super) fn try_background(self: &Arc<Self>) -> Option<Permit> {
        let mut state = self.lock();
        let taken = state.door == Door::Open && state.lanes.try_take(Lane::Background);
        taken.then(|| self.permit(Lane::Background))
    }

    /// Takes the one place in the queue that a batch occupies.
    pub(super) fn enter_batch(self: &Arc<Self>) -> Result<BatchPlace, AdmissionError> {
        let mut state = self.lock();
        if state.door != Door::Open {
            return Err(AdmissionError::ShuttingDown);
        }
        if state.places() >= self.max_queue && state.lanes.free() == 0 {
            return Err(AdmissionError::Full {
                limit: self.max_queue,
            });
        }
        state.batches += 1;
        Ok(BatchPlace {
            admission: Arc::clone(self),
        })
    }

    /// Refuses new calls from now on; those that wait and batches that are inside go on.
    pub(super) fn close_to_new(&self) {
        let mut state = self.lock();
        if state.door == Door::Open {
            state.door = Door::ClosedToNew;
        }
    }

    /// Refuses everyone from now on, also those who wait.
    pub(super) fn close(&self) {
        self.lock().door = Door::Closed;
        self.refuse_waiting(&AdmissionError::ShuttingDown);
    }

    /// Refuses everyone who still waits.
    fn refuse_waiting(&self, reason: &AdmissionError) {
        let waiters = self.lock().lanes.drain_waiters();
        for waiter in waiters {
            let _left = waiter.send(Err(reason.clone()));
        }
    }

    /// A child cannot be killed: its place is gone until it is reaped after all.
    pub(super) fn lose_place(&self) {
        let all_lost = {
            let mut state = self.lock();
            state.lanes.lose();
            state.lanes.all_lost()
        };
        if all_lost {
            self.refuse_waiting(&AdmissionError::AllLost);
        }
    }

    /// A lost child was reaped after all.
    pub(super) fn regain_place(self: &Arc<Self>) {
        self.lock().lanes.regain();
        self.serve();
    }

    pub(super) fn load(&self) -> Load {
        let state = self.lock();
        Load {
            total: state.lanes.total(),
            held: state.lanes.held(),
            lost: state.lanes.lost(),
            waiting: state.lanes.waiting_interactive(),
            batches: state.batches,
        }
    }

    fn permit(self: &Arc<Self>, lane: Lane) -> Permit {
        metrics::gauge!(metric::PERMITS_IN_USE).increment(1.0);
        Permit {
            admission: Arc::clone(self),
            lane,
        }
    }

    /// Hands free permits to those whose turn it is.
    fn serve(self: &Arc<Self>) {
        loop {
            let Some((waiter, lane)) = self.lock().lanes.grant() else {
                return;
            };
            // A waiter that left in this moment drops the permit, which serves the next one. The
            // lock is free here, as that drop needs it.
            let _left = waiter.send(Ok(self.permit(lane)));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing below panics while it holds the lock, and plain counters survive if it did.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Places of the queue in use: waiting calls, and one for each batch.
    fn places(&self) -> usize {
        self.lanes.waiting_interactive() + self.batches
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        metrics::gauge!(metric::PERMITS_IN_USE).decrement(1.0);
        self.admission.lock().lanes.give_back(self.lane);
        self.admission.serve();
    }
}

impl Drop for BatchPlace {
    fn drop(&mut self) {
        let mut state = self.admission.lock();
        state.batches = state.batches.saturating_sub(1);
    }
}

/// A waiter's place in the order; leaving is dropping it.
struct Place<'a> {
    admission: &'a Arc<Admission>,
    ticket: Ticket,
}

impl Place<'_> {
    /// Leaves, and tells how many calls waited.
    fn leave(&self) -> usize {
        let mut state = self.admission.lock();
        let depth = state.places();
        drop(state.lanes.leave(self.ticket));
        depth
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        metrics::gauge!(metric::QUEUE_WAITING).decrement(1.0);
        let waiter = self.admission.lock().lanes.leave(self.ticket);
        drop(waiter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn the_bound_of_the_queue_holds_exactly() {
        let admission = Admission::new(2, 5);
        let first = admission.acquire(Lane::Interactive, LONG).await.unwrap();
        let second = admission.acquire(Lane::Interactive, LONG).await.unwrap();
        let calls: Vec<_> = (0..10_000)
            .map(|_| {
                let admission = Arc::clone(&admission);
                tokio::spawn(async move { admission.acquire(Lane::Interactive, LONG).await.err() })
            })
            .collect();
        while calls.iter().filter(|call| call.is_finished()).count() < 10_000 - 5 {
            tokio::task::yield_now().await;
        }
        assert_eq!(admission.load().waiting, 5);
        drop((first, second));
        let mut refused = 0;
        for call in calls {
            match call.await.unwrap() {
                None => {}
                Some(AdmissionError::Full { limit: 5 }) => refused += 1,
                Some(other) => panic!("{other:?}"),
            }
        }
        assert_eq!(refused, 10_000 - 5);
        assert_eq!(admission.load().held, 0);
    }

    #[tokio::test]
    async fn a_waiter_that_leaves_frees_its_place_and_gets_no_permit() {
        let admission = Admission::new(1, 1);
        let held = admission.acquire(Lane::Interactive, LONG).await.unwrap();
        let ghost = tokio::spawn({
            let admission = Arc::clone(&admission);
            async move { admission.acquire(Lane::Interactive, LONG).await.is_ok() }
        });
        while admission.load().waiting == 0 {
            tokio::task::yield_now().await;
        }
        assert!(admission.acquire(Lane::Interactive, LONG).await.is_err());
        ghost.abort();
        assert!(ghost.await.unwrap_err().is_cancelled());
        assert_eq!(admission.load().waiting, 0);
        drop(held);
        assert_eq!(admission.load().held, 0);
        assert!(admission.acquire(Lane::Interactive, LONG).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_has_its_own_limit_and_says_how_long_and_how_deep() {
        let admission = Admission::new(1, 9);
        let _held = admission.acquire(Lane::Interactive, LONG).await.unwrap();
        let refused = admission
            .acquire(Lane::Interactive, Duration::from_millis(50))
            .await
            .err();
        assert!(
            matches!(
                refused,
                Some(AdmissionError::WaitedTooLong { depth: 1, .. })
            ),
            "{refused:?}"
        );
    }

    #[tokio::test]
    async fn with_every_place_lost_nobody_waits_for_ever() {
        let admission = Admission::new(1, 9);
        let held = admission.acquire(Lane::Interactive, LONG).await.unwrap();
        let waiting = tokio::spawn({
            let admission = Arc::clone(&admission);
            async move { admission.acquire(Lane::Interactive, LONG).await.err() }
        });
        while admission.load().waiting == 0 {
            tokio::task::yield_now().await;
        }
        admission.lose_place();
        drop(held);
        assert_eq!(waiting.await.unwrap(), Some(AdmissionError::AllLost));
        let refused = admission.acquire(Lane::Interactive, LONG).await.err();
        assert_eq!(refused, Some(AdmissionError::AllLost));
        admission.regain_place();
        assert!(admission.acquire(Lane::Interactive, LONG).await.is_ok());
    }
}
