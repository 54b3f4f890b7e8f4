//! The pools: one deadpool of identical warm children for each profile.
//!
//! A claim of an idle child is one atomic step under the lock of its pool, for jobs, for eviction and
//! for the child's own idle limit alike: whoever takes it out first has it, the others look on. The
//! most recently used child goes out first, so that surplus ones can age out.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use dashmap::DashMap;
use deadpool::managed::{
    Manager, Metrics, Pool, PoolError, QueueMode, RecycleError, RecycleResult,
};
use tokio::sync::{Notify, OwnedSemaphorePermit};

use crate::contract::Profile;

use super::breaker::Attempt;
use super::core::Core;
use super::failure::StartError;
use super::recycle::Reason;
use super::resolve::ResolvedEngine;
use super::start;
use super::worker::{ChildStatus, Phase, Worker};

/// Profiles that are remembered. A caller may send ten thousand different budgets.
const MAX_PROFILES: usize = 128;

/// All pools.
pub(super) struct KeyedPools {
    pools: DashMap<Profile, Arc<ProfilePool>>,
    children: usize,
    /// Counts uses, as a clock for "least recently used".
    clock: AtomicU64,
}

/// The children of one profile.
pub(super) struct ProfilePool {
    pub(super) profile: Profile,
    pub(super) pool: Pool<Starter>,
    /// How often it was asked for, halved now and then.
    uses: AtomicU64,
    last_use: AtomicU64,
    expected: Mutex<Expected>,
    /// A start in the background that a job waits for is over.
    arrived: Notify,
}

/// Starts in the background: a job that finds none idle waits for one of these instead of starting
/// another child.
#[derive(Default)]
struct Expected {
    /// Those that no job waits for.
    unclaimed: usize,
    /// Those that one waits for.
    claimed: usize,
}

/// A start in the background; over when it is dropped, however it went.
pub(super) struct Expectation(Arc<ProfilePool>);

impl Drop for Expectation {
    fn drop(&mut self) {
        let mut expected = self.0.expected();
        if expected.claimed > 0 {
            expected.claimed -= 1;
            self.0.arrived.notify_one();
        } else {
            expected.unclaimed -= 1;
        }
    }
}

/// What is needed to start a child: prepared outside the pool, where waiting for it can be given up.
pub(super) struct Prepared {
    pub(super) engine: Arc<ResolvedEngine>,
    pub(super) slot: OwnedSemaphorePermit,
    pub(super) attempt: Attempt,
    pub(super) limit: Duration,
}

tokio::task_local! {
    /// Set round `Pool::get` by a caller that may start a child if none is idle.
    static PREPARED: Cell<Option<Prepared>>;
}

/// deadpool's view of how children come and go.
pub(super) struct Starter {
    core: Weak<Core>,
    profile: Profile,
}

impl Manager for Starter {
    type Type = Worker;
    type Error = StartError;

    async fn create(&self) -> Result<Worker, StartError> {
        let prepared = PREPARED.try_with(Cell::take).ok().flatten();
        let (Some(prepared), Some(core)) = (prepared, self.core.upgrade()) else {
            return Err(StartError::NoneIdle);
        };
        let Prepared {
            engine,
            slot,
            attempt,
            limit,
        } = prepared;
        // Boxed: the way of a record is otherwise as large as that of a start, which is rare.
        let starting = start::start(&core, &engine, &self.profile, slot, limit);
        let started = Box::pin(starting).await;
        core.note_start(&started, attempt);
        started
    }

    /// Whether an idle child may serve again. One that may not is dropped by deadpool, which ends it.
    async fn recycle(&self, worker: &mut Worker, _: &Metrics) -> RecycleResult<StartError> {
        let outdated =
            |core: Arc<Core>| core.engine.generation() != worker.shared.engine.generation;
        if worker.shared.phase() != Phase::Idle || self.core.upgrade().is_none_or(outdated) {
            return Err(RecycleError::message("not usable any more"));
        }
        Ok(())
    }
}

impl ProfilePool {
    /// An idle child, without starting one.
    pub(super) async fn idle(&self) -> Option<deadpool::managed::Object<Starter>> {
        self.pool.get().await.ok()
    }

    /// An idle child, or a new one from what was prepared.
    pub(super) async fn idle_or_new(
        &self,
        prepared: Prepared,
    ) -> Result<deadpool::managed::Object<Starter>, StartError> {
        let got = PREPARED.scope(Cell::new(Some(prepared)), self.pool.get());
        got.await.map_err(|error| match error {
            PoolError::Backend(error) => error,
            PoolError::Closed => StartError::ShuttingDown,
            PoolError::Timeout(_)
            | PoolError::NoRuntimeSpecified
            | PoolError::PostCreateHook(_) => StartError::NoneIdle,
        })
    }

    /// Announces a start in the background.
    pub(super) fn expect_one(self: &Arc<Self>) -> Expectation {
        self.expected().unclaimed += 1;
        Expectation(Arc::clone(self))
    }

    /// Waits for a start in the background that no other job waits for, if there is one, and takes
    /// what came of it.
    pub(super) async fn expected_one(&self) -> Option<deadpool::managed::Object<Starter>> {
        {
            let mut expected = self.expected();
            expected.unclaimed = expected.unclaimed.checked_sub(1)?;
            expected.claimed += 1;
        }
        self.arrived.notified().await;
        self.idle().await
    }

    fn expected(&self) -> MutexGuard<'_, Expected> {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Idle children now.
    pub(super) fn idle_count(&self) -> usize {
        self.pool.retain(|_, _| true).retained
    }

    pub(super) fn uses(&self) -> u64 {
        self.uses.load(Ordering::Relaxed)
    }
}

impl KeyedPools {
    pub(super) fn new(children: usize) -> Self {
        Self {
            pools: DashMap::new(),
            children,
            clock: AtomicU64::new(0),
        }
    }

    /// The pool of a profile, which counts as used now.
    pub(super) fn of(
        &self,
        core: &Weak<Core>,
        profile: &Profile,
    ) -> Result<Arc<ProfilePool>, String> {
        let now = self.clock.fetch_add(1, Ordering::Relaxed) + 1;
        if now.is_multiple_of(4096) {
            for entry in &self.pools {
                let halved = entry.uses() / 2;
                entry.uses.store(halved, Ordering::Relaxed);
            }
        }
        if let Some(known) = self.pools.get(profile) {
            known.touch(now);
            return Ok(Arc::clone(&known));
        }
        if self.pools.len() >= MAX_PROFILES {
            self.forget_unused();
        }
        let starter = Starter {
            core: Weak::clone(core),
            profile: profile.clone(),
        };
        let pool = Pool::builder(starter)
            .max_size(self.children)
            .queue_mode(QueueMode::Lifo)
            .build()
            .map_err(|error| error.to_string())?;
        let fresh = Arc::new(ProfilePool {
            profile: profile.clone(),
            pool,
            uses: AtomicU64::new(0),
            last_use: AtomicU64::new(0),
            expected: Mutex::default(),
            arrived: Notify::new(),
        });
        let entry = self.pools.entry(profile.clone()).or_insert(fresh);
        entry.touch(now);
        Ok(Arc::clone(&entry))
    }

    /// Takes one idle child out of its pool. `false` when somebody else has it.
    pub(super) fn claim(&self, shared: &Arc<ChildStatus>) -> bool {
        self.take(shared).is_some()
    }

    /// The least recently used idle child of any profile, claimed.
    pub(super) fn claim_least_recently_used(&self) -> Option<Worker> {
        loop {
            let mut oldest: Option<Arc<ChildStatus>> = None;
            self.for_each_idle(|shared| {
                if oldest
                    .as_ref()
                    .is_none_or(|old| shared.last_used() < old.last_used())
                {
                    oldest = Some(Arc::clone(shared));
                }
            });
            // Taken by somebody else meanwhile: choose again.
            if let Some(worker) = self.take(&oldest?) {
                return Some(worker);
            }
        }
    }

    /// Every idle child that `wanted` names, claimed.
    pub(super) fn claim_all(&self, wanted: impl Fn(&ChildStatus) -> bool) -> Vec<Worker> {
        let pools = self.all();
        pools
            .iter()
            .flat_map(|entry| {
                entry
                    .pool
                    .retain(|worker, _| !wanted(&worker.shared))
                    .removed
            })
            .collect()
    }

    /// All pools, the one used most first.
    pub(super) fn by_use(&self) -> Vec<Arc<ProfilePool>> {
        let mut pools = self.all();
        pools.sort_by_key(|entry| std::cmp::Reverse(entry.uses()));
        pools
    }

    pub(super) fn len(&self) -> usize {
        self.pools.len()
    }

    fn take(&self, shared: &Arc<ChildStatus>) -> Option<Worker> {
        let entry = self.pools.get(&shared.profile).map(|e| Arc::clone(&e))?;
        let claimed = entry
            .pool
            .retain(|worker, _| !Arc::ptr_eq(&worker.shared, shared));
        claimed.removed.into_iter().next()
    }

    fn for_each_idle(&self, mut look: impl FnMut(&Arc<ChildStatus>)) {
        for entry in self.all() {
            entry.pool.retain(|worker, _| {
                look(&worker.shared);
                true
            });
        }
    }

    /// The entries, cloned: no lock of the map is held while a pool is looked at.
    fn all(&self) -> Vec<Arc<ProfilePool>> {
        self.pools.iter().map(|e| Arc::clone(&e)).collect()
    }

    /// Makes room in the books: forgets profiles that have no child, the longest unused first.
    fn forget_unused(&self) {
        let mut empty: Vec<_> = self
            .all()
            .into_iter()
            .filter(|entry| entry.pool.status().size == 0)
            .collect();
        empty.sort_by_key(|entry| entry.last_use.load(Ordering::Relaxed));
        empty.truncate(MAX_PROFILES / 2);
        for entry in empty {
            // A job that is starting a child there keeps the entry alive through its lease; the
            // child ends with it.
            self.pools
                .remove_if(&entry.profile, |_, e| e.pool.status().size == 0);
        }
    }
}

impl ProfilePool {
    fn touch(&self, now: u64) {
        self.uses.fetch_add(1, Ordering::Relaxed);
        self.last_use.store(now, Ordering::Relaxed);
    }
}

/// Ends claimed children.
pub(super) fn retire_all(workers: Vec<Worker>, reason: Reason) {
    for worker in workers {
        worker.retire(reason, None);
    }
}
