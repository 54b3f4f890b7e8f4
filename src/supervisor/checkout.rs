//! From a permit to a leased child: an idle one of the profile, or a new one in the room that is made
//! for it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::select;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::sleep;

use crate::contract::Profile;

use super::admission::Permit;
use super::breaker::{Attempt, Verdict};
use super::core::Core;
use super::failure::StartError;
use super::keyed_pool::{Prepared, ProfilePool};
use super::lease::Lease;
use super::recycle::Reason;

/// How often a job that waits for room looks for an idle child to send away.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

impl Core {
    /// A child of this profile for the holder of a permit.
    ///
    /// The caller may leave at any await: an evicted child is ending anyway, and a child that is being
    /// started goes on in a task of its own, which keeps the permit, and becomes idle.
    pub(super) async fn checkout(
        self: &Arc<Self>,
        profile: &Profile,
        permit: &Arc<Permit>,
    ) -> Result<Lease, StartError> {
        let pool = self
            .pools
            .of(self.weak(), profile)
            .map_err(StartError::Failed)?;
        let lease = |child| {
            Lease::new(
                Arc::clone(self),
                Arc::clone(&pool),
                child,
                Arc::clone(permit),
            )
        };
        if let Some(child) = pool.idle().await {
            return Ok(lease(child));
        }
        if let Some(child) = pool.expected_one().await {
            return Ok(lease(child));
        }
        let engine = self.engine().await?;
        let attempt = self.may_start().await?;
        let limit = self.settings.start_timeout;
        let slot = self.slot(limit).await?;
        let prepared = Prepared {
            engine,
            slot,
            attempt,
            limit,
        };
        let start = self.tracker.spawn({
            let (pool, permit) = (Arc::clone(&pool), Arc::clone(permit));
            async move {
                let _kept_until_started = permit;
                pool.idle_or_new(prepared).await
            }
        });
        match start.await {
            Ok(child) => child.map(lease),
            Err(error) => Err(StartError::Failed(error.to_string())),
        }
    }

    /// Starts one child for the background, and leaves it idle.
    pub(super) async fn warm_up(
        self: &Arc<Self>,
        pool: &Arc<ProfilePool>,
        permit: Permit,
    ) -> Result<(), StartError> {
        let expectation = pool.expect_one();
        let engine = self.engine().await?;
        let Verdict::Start(attempt) = self.breaker.ask(Instant::now()) else {
            return Ok(());
        };
        let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() else {
            return Ok(());
        };
        let limit = self.settings.start_timeout;
        let prepared = Prepared {
            engine,
            slot,
            attempt,
            limit,
        };
        let child = pool.idle_or_new(prepared).await?;
        // Back to the pool first: who waits for it, or gets the permit next, finds it.
        drop(child);
        drop(expectation);
        drop(permit);
        if self.is_ending() {
            self.retire_idle();
        }
        Ok(())
    }

    /// Waits until the breaker lets a start through, at most as long as a start may take: starts that hang
    /// are tried one after the other.
    pub(super) async fn may_start(&self) -> Result<Attempt, StartError> {
        let begun = Instant::now();
        loop {
            if self.is_ending() {
                return Err(StartError::ShuttingDown);
            }
            match self.breaker.ask(Instant::now()) {
                Verdict::Start(attempt) => return Ok(attempt),
                Verdict::Refuse { reason, retry_in } => {
                    return Err(StartError::HeldBack { reason, retry_in });
                }
                Verdict::Wait(wait) if begun.elapsed() >= self.settings.start_timeout => {
                    let reason = self.breaker.view(Instant::now()).last_reason;
                    return Err(StartError::HeldBack {
                        reason: reason.unwrap_or_else(|| "the engine does not start".to_owned()),
                        retry_in: wait,
                    });
                }
                Verdict::Wait(wait) => select! {
                    () = self.stopping.cancelled() => return Err(StartError::ShuttingDown),
                    () = sleep(wait) => {}
                },
            }
        }
    }

    /// A place for one more process. If all are taken, the least recently used idle child makes room;
    /// if none is idle, one is dying, and its place comes when it has been reaped.
    pub(super) async fn slot(&self, longest: Duration) -> Result<OwnedSemaphorePermit, StartError> {
        let begun = Instant::now();
        if let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() {
            return Ok(slot);
        }
        self.make_room();
        let turn = Arc::clone(&self.slots).acquire_owned();
        tokio::pin!(turn);
        loop {
            select! {
                biased;
                slot = &mut turn => return slot.map_err(|_| StartError::ShuttingDown),
                () = self.stopping.cancelled() => return Err(StartError::ShuttingDown),
                () = sleep(LOOK_AGAIN) => {}
            }
            if begun.elapsed() >= longest {
                return Err(StartError::NoRoom(begun.elapsed()));
            }
            self.make_room();
        }
    }

    fn make_room(&self) {
        if let Some(worker) = self.pools.claim_least_recently_used() {
            worker.retire(Reason::Evicted, None);
        }
    }
}
