//! Exclusive use of a child, safe to drop at any moment.

use std::sync::Arc;

use deadpool::managed::Object;
use tokio::sync::oneshot;

use super::admission::Permit;
use super::core::Core;
use super::keyed_pool::{ProfilePool, Starter};
use super::worker::{Job, Outcome, Phase};

/// A leased child. deadpool's object *returns* itself when dropped, a busy one too; the lease is what
/// prevents that: while a record is in flight, dropping the lease takes the child out of the pool, and
/// its tending task, which sees the caller gone, kills it at once.
pub(super) struct Lease {
    core: Arc<Core>,
    child: Option<Object<Starter>>,
    /// Keeps the pool alive while one of its children is out.
    _pool: Arc<ProfilePool>,
    permit: Arc<Permit>,
}

impl Lease {
    pub(super) fn new(
        core: Arc<Core>,
        pool: Arc<ProfilePool>,
        child: Object<Starter>,
        permit: Arc<Permit>,
    ) -> Self {
        Self {
            core,
            child: Some(child),
            _pool: pool,
            permit,
        }
    }

    /// The child's number, for the log.
    pub(super) fn child_id(&self) -> u64 {
        self.child.as_ref().map_or(0, |child| child.shared.id)
    }

    /// Runs one record.
    pub(super) async fn run(&mut self, line: Vec<u8>, display_name: Option<String>) -> Outcome {
        let Some(child) = &mut self.child else {
            return Outcome::NotHandedOver;
        };
        let (answer, outcome) = oneshot::channel();
        // Set before the hand-over; the tending task clears it after a whole, good reply.
        child.shared.set_phase(Phase::Busy);
        child.run(Job {
            line,
            display_name,
            permit: Arc::clone(&self.permit),
            answer,
        });
        // A task that ended drops the job unseen.
        outcome.await.unwrap_or(Outcome::NotHandedOver)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(child) = self.child.take() else {
            return;
        };
        if child.shared.phase() != Phase::Idle {
            drop(Object::take(child));
            return;
        }
        match self.core.due_end(&child.shared) {
            Some((reason, token)) => Object::take(child).retire(reason, token),
            // Back among the idle ones, before the permit is given back: the next job finds it.
            None => drop(child),
        }
        if self.core.is_ending() {
            // The end may have swept the pool just before the child came back.
            self.core.retire_idle();
        }
    }
}
