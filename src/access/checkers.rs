//! The threads that check paths, shared out by mount.
//!
//! A path on a dead mount may block its thread for ever. So a check runs only when each mount that it
//! touches has room for it, and one that does not come back within the limit is written off: its place
//! is given to others, and further checks of that mount fail at once until it answers again.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, oneshot};

/// Most checks at once.
const AT_ONCE: usize = 32;
/// Most of them on one mount.
const PER_MOUNT: usize = 8;
/// Most blocked threads that are replaced.
const REPLACED: usize = 64;
/// How long a thread waits for its next check before it ends.
const IDLE: Duration = Duration::from_secs(10);
/// How often a waiting check looks for places of checks that were written off.
const RECHECK: Duration = Duration::from_millis(250);

type Job = Box<dyn FnOnce() + Send>;

/// How a check ended.
pub(super) enum Ended<T> {
    Done(T),
    /// It was not made: an earlier one still waits for this mount.
    Unanswered(PathBuf),
    /// No thread could be started, or the check panicked.
    Failed(String),
}

#[derive(Debug)]
pub(super) struct Checkers {
    /// After this time a check is written off.
    limit: Duration,
    running: Mutex<Running>,
    freed: Notify,
    /// Threads that wait for a check; the last is the one that ran last.
    idle: Mutex<Vec<mpsc::Sender<Job>>>,
}

#[derive(Debug, Default)]
struct Running {
    next: u64,
    checks: HashMap<u64, Check>,
}

#[derive(Debug)]
struct Check {
    mounts: Vec<PathBuf>,
    /// The mount that it touches now.
    current: PathBuf,
    since: Instant,
}

/// A check's entry in the list. It is there until the thread is done, however long that takes.
pub(super) struct Place {
    checkers: Arc<Checkers>,
    number: u64,
}

impl Place {
    /// Records which mount is touched next.
    pub(super) fn touches(&self, mount: &Path) {
        let mut running = self.checkers.lock();
        if let Some(check) = running.checks.get_mut(&self.number)
            && check.current != mount
        {
            mount.clone_into(&mut check.current);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.checkers.lock().checks.remove(&self.number);
        self.checkers.freed.notify_waiters();
    }
}

impl Checkers {
    pub(super) fn new(limit: Duration) -> Arc<Self> {
        Arc::new(Self {
            limit,
            running: Mutex::default(),
            freed: Notify::new(),
            idle: Mutex::default(),
        })
    }

    /// Runs a check that touches these mounts on a thread of its own, once there is room.
    pub(super) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        mounts: &[PathBuf],
        check: impl FnOnce(&Place) -> T + Send + 'static,
    ) -> Ended<T> {
        let place = loop {
            let freed = self.freed.notified();
            match self.enter(mounts) {
                Ok(Some(place)) => break place,
                Ok(None) => drop(tokio::time::timeout(RECHECK, freed).await),
                Err(mount) => return Ended::Unanswered(mount),
            }
        };
        let (done, outcome) = oneshot::channel();
        let job = move || {
            let result = check(&place);
            drop(place);
            let _caller_left = done.send(result);
        };
        if let Err(error) = self.start(Box::new(job)) {
            return Ended::Failed(format!("no thread for the check: {error}"));
        }
        match outcome.await {
            Ok(result) => Ended::Done(result),
            Err(_panicked) => Ended::Failed("the check broke off".to_owned()),
        }
    }

    /// A place, if there is room now.
    ///
    /// # Errors
    /// The mount that does not answer.
    fn enter(self: &Arc<Self>, mounts: &[PathBuf]) -> Result<Option<Place>, PathBuf> {
        let mut running = self.lock();
        let now = Instant::now();
        let written_off = |check: &Check| now.saturating_duration_since(check.since) >= self.limit;
        let mut stuck = 0;
        for check in running.checks.values() {
            if written_off(check) {
                stuck += 1;
                if mounts.contains(&check.current) {
                    return Err(check.current.clone());
                }
            }
        }
        let counted = running.checks.len() - stuck.min(REPLACED);
        let on = |mount| {
            let checks = running.checks.values();
            checks.filter(|check| check.mounts.contains(mount)).count()
        };
        if counted >= AT_ONCE || mounts.iter().any(|mount| on(mount) >= PER_MOUNT) {
            return Ok(None);
        }
        let number = running.next;
        running.next += 1;
        let check = Check {
            mounts: mounts.to_vec(),
            current: mounts.first().cloned().unwrap_or_default(),
            since: now,
        };
        running.checks.insert(number, check);
        Ok(Some(Place {
            checkers: Arc::clone(self),
            number,
        }))
    }

    /// Hands a job to an idle thread, or to a new one.
    fn start(self: &Arc<Self>, mut job: Job) -> std::io::Result<()> {
        loop {
            let idle = self
                .idle
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .pop();
            let Some(idle) = idle else { break };
            match idle.send(job) {
                Ok(()) => return Ok(()),
                // It ended while it was taken from the list.
                Err(mpsc::SendError(unsent)) => job = unsent,
            }
        }
        let this = Arc::clone(self);
        let work = move || {
            let mut next = Some(job);
            while let Some(job) = next.take() {
                // A panic ends the thread; the caller sees that its check broke off.
                job();
                let (sender, jobs) = mpsc::channel();
                this.idle
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(sender);
                next = jobs.recv_timeout(IDLE).ok();
            }
        };
        std::thread::Builder::new()
            .name("path-check".into())
            .spawn(work)
            .map(drop)
    }

    fn lock(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn under_way(&self) -> usize {
        self.lock().checks.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mount whose checks do not come back until the sender is dropped.
    fn block(checkers: &Arc<Checkers>, mount: &str) -> mpsc::Sender<()> {
        let (answer, wait) = mpsc::channel::<()>();
        let (checkers, mounts) = (Arc::clone(checkers), [PathBuf::from(mount)]);
        tokio::spawn(async move { checkers.run(&mounts, move |_| wait.recv().ok()).await });
        answer
    }

    async fn until(checkers: &Checkers, count: usize) {
        while checkers.under_way() != count {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    #[tokio::test]
    async fn checks_of_one_mount_leave_places_for_another() {
        let checkers = Checkers::new(Duration::from_secs(3600));
        let blocked: Vec<_> = (0..AT_ONCE * 2)
            .map(|_| block(&checkers, "/dead"))
            .collect();
        until(&checkers, PER_MOUNT).await;
        let good = checkers.run(&["/good".into()], |_| 7).await;
        assert!(matches!(good, Ended::Done(7)));
        drop(blocked);
        until(&checkers, 0).await;
    }

    #[tokio::test]
    async fn a_mount_that_does_not_answer_fails_at_once_until_it_answers() {
        let checkers = Checkers::new(Duration::ZERO);
        let blocked = block(&checkers, "/dead");
        until(&checkers, 1).await;
        let refused = checkers.run(&["/dead".into()], |_| ()).await;
        assert!(matches!(refused, Ended::Unanswered(mount) if mount == Path::new("/dead")));
        drop(blocked);
        until(&checkers, 0).await;
        assert!(matches!(
            checkers.run(&["/dead".into()], |_| ()).await,
            Ended::Done(())
        ));
    }

    #[tokio::test]
    async fn blocked_threads_are_replaced_up_to_a_limit() {
        let checkers = Checkers::new(Duration::ZERO);
        let most = REPLACED + AT_ONCE;
        let mut blocked = Vec::new();
        for number in 0..most {
            blocked.push(block(&checkers, &format!("/dead/{number}")));
            until(&checkers, number + 1).await;
        }
        assert!(checkers.enter(&["/good".into()]).unwrap().is_none());
        blocked.pop();
        until(&checkers, most - 1).await;
        assert!(checkers.enter(&["/good".into()]).unwrap().is_some());
        drop(blocked);
    }
}
