//! The circuit breaker: one gate for all starts of the engine.
//!
//! Only failed starts move it. While starts succeed, none is delayed. After a failure
//! the next start waits (exponential backoff with full jitter); too many failures in a short time
//! open the gate, and while it is open calls fail fast with the last reason. After the backoff one
//! trial start is let through, and its success closes the gate for everyone.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::select;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::failure::StartError;

const BASE: Duration = Duration::from_millis(100);
const CAP: Duration = Duration::from_secs(30);
/// Failures within [`WINDOW`] that open the gate.
const INTENSITY: usize = 5;
const WINDOW: Duration = Duration::from_secs(10);

/// The gate.
pub(super) struct Breaker {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// When recent starts failed. A good start does not clear it: intensity is a rate.
    failures: VecDeque<Instant>,
    /// Failures since the last good start.
    streak: u32,
    /// No start before this.
    not_before: Option<Instant>,
    open: bool,
    /// A start is under way while the last one failed. One at a time.
    trial: bool,
    last_reason: String,
}

/// The answer to a caller that wants to start a child.
pub(super) enum Verdict {
    /// Start, and report how it went.
    Start(Attempt),
    /// StopSignal again after this time.
    Wait(Duration),
    /// Do not start.
    Refuse {
        /// Why the last start failed.
        reason: String,
        /// When a trial is due.
        retry_in: Duration,
    },
}

/// A start under way. Dropped without a verdict (its caller was cancelled) it changes nothing.
pub(super) struct Attempt {
    breaker: Arc<Breaker>,
    /// The one start that is let through after a failure.
    trial: bool,
}

/// What the snapshot shows.
#[derive(Clone, Debug)]
pub(super) struct BreakerView {
    pub(super) state: &'static str,
    pub(super) recent_failures: usize,
    pub(super) last_reason: Option<String>,
    pub(super) retry_in: Option<Duration>,
}

impl Breaker {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
        })
    }

    /// Asks to start a child at `now`.
    pub(super) fn ask(self: &Arc<Self>, now: Instant) -> Verdict {
        let mut state = self.lock();
        let remaining = state.remaining(now);
        if state.open && (state.trial || !remaining.is_zero()) {
            return Verdict::Refuse {
                reason: state.last_reason.clone(),
                retry_in: remaining,
            };
        }
        if !remaining.is_zero() {
            return Verdict::Wait(remaining);
        }
        if state.streak > 0 {
            if state.trial {
                return Verdict::Wait(Duration::from_millis(20));
            }
            state.trial = true;
        }
        Verdict::Start(Attempt {
            breaker: Arc::clone(self),
            trial: state.streak > 0,
        })
    }

    /// Waits until a start is let through, at most as long as a start may take: starts that hang are
    /// tried one after the other.
    pub(super) async fn admit(
        self: &Arc<Self>,
        longest: Duration,
        closing: &CancellationToken,
    ) -> Result<Attempt, StartError> {
        let begun = Instant::now();
        loop {
            if closing.is_cancelled() {
                return Err(StartError::ShuttingDown);
            }
            match self.ask(Instant::now()) {
                Verdict::Start(attempt) => return Ok(attempt),
                Verdict::Refuse { reason, retry_in } => {
                    return Err(StartError::HeldBack { reason, retry_in });
                }
                Verdict::Wait(wait) if begun.elapsed() >= longest => {
                    let reason = self.view(Instant::now()).last_reason;
                    return Err(StartError::HeldBack {
                        reason: reason.unwrap_or_else(|| "the engine does not start".to_owned()),
                        retry_in: wait,
                    });
                }
                Verdict::Wait(wait) => select! {
                    () = closing.cancelled() => return Err(StartError::ShuttingDown),
                    () = sleep(wait) => {}
                },
            }
        }
    }

    pub(super) fn view(&self, now: Instant) -> BreakerView {
        let mut state = self.lock();
        state.forget_old(now);
        let remaining = state.remaining(now);
        BreakerView {
            state: match (state.open, state.streak) {
                (true, _) if state.trial => "trial",
                (true, _) => "open",
                (false, 0) => "closed",
                (false, _) => "backoff",
            },
            recent_failures: state.failures.len(),
            last_reason: (state.streak > 0).then(|| state.last_reason.clone()),
            retry_in: (!remaining.is_zero()).then_some(remaining),
        }
    }

    fn failed(&self, trial: bool, now: Instant, reason: &str, jitter: f64) {
        let mut state = self.lock();
        // In the same step: nobody may be let through between the end of a trial and its verdict.
        state.trial &= !trial;
        state.failures.push_back(now);
        state.forget_old(now);
        state.streak = state.streak.saturating_add(1);
        state.last_reason = reason.to_owned();
        let ceiling = BASE
            .saturating_mul(1_u32.checked_shl(state.streak - 1).unwrap_or(u32::MAX))
            .min(CAP);
        if !state.open && state.failures.len() >= INTENSITY {
            state.open = true;
            tracing::error!(
                reason,
                "the engine keeps failing to start; calls fail fast from now on"
            );
        }
        // An open gate waits at least half the ceiling, so that trials cannot come in a burst.
        let share = if state.open {
            0.5 + jitter / 2.0
        } else {
            jitter
        };
        state.not_before = now.checked_add(ceiling.mul_f64(share));
    }

    fn succeeded(&self, trial: bool) {
        let mut state = self.lock();
        state.trial &= !trial;
        if state.open {
            tracing::info!("the engine starts again");
        }
        state.open = false;
        state.streak = 0;
        state.not_before = None;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn remaining(&self, now: Instant) -> Duration {
        self.not_before
            .map_or(Duration::ZERO, |at| at.saturating_duration_since(now))
    }

    fn forget_old(&mut self, now: Instant) {
        while let Some(oldest) = self.failures.front()
            && now.saturating_duration_since(*oldest) > WINDOW
        {
            self.failures.pop_front();
        }
    }
}

impl Attempt {
    /// The child answered.
    pub(super) fn succeeded(mut self) {
        let trial = std::mem::take(&mut self.trial);
        self.breaker.succeeded(trial);
    }

    /// There is no child, or it ended before it answered anything.
    pub(super) fn failed(self, reason: &str) {
        self.failed_at(Instant::now(), reason, fastrand::f64());
    }

    fn failed_at(mut self, now: Instant, reason: &str, jitter: f64) {
        let trial = std::mem::take(&mut self.trial);
        self.breaker.failed(trial, now, reason, jitter);
    }
}

impl Drop for Attempt {
    /// Without a verdict: another trial may be made.
    fn drop(&mut self) {
        if self.trial {
            self.breaker.lock().trial = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(breaker: &Arc<Breaker>, now: Instant) -> Option<Attempt> {
        match breaker.ask(now) {
            Verdict::Start(attempt) => Some(attempt),
            _ => None,
        }
    }

    fn fail(attempt: Attempt, now: Instant, jitter: f64) {
        attempt.failed_at(now, "no such program", jitter);
    }

    #[test]
    fn good_starts_are_never_delayed() {
        let breaker = Breaker::new();
        let now = Instant::now();
        let attempts: Vec<_> = (0..100).filter_map(|_| start(&breaker, now)).collect();
        assert_eq!(attempts.len(), 100);
    }

    #[test]
    fn an_engine_that_always_fails_is_started_a_bounded_number_of_times() {
        for jitter in [0.0, 0.3, 0.999] {
            let breaker = Breaker::new();
            let begun = Instant::now();
            let mut starts = 0;
            // One eager caller asks every millisecond for ten minutes.
            for millis in 0..600_000 {
                let now = begun + Duration::from_millis(millis);
                if let Some(attempt) = start(&breaker, now) {
                    starts += 1;
                    fail(attempt, now, jitter);
                }
            }
            assert!(
                starts <= 60,
                "{starts} starts in ten minutes at jitter {jitter}"
            );
            assert!(starts >= 20, "{starts}: recovery is still looked for");
        }
    }

    #[test]
    fn one_trial_at_a_time_closes_it_for_everyone() {
        let breaker = Breaker::new();
        let mut now = Instant::now();
        for _ in 0..INTENSITY {
            let attempt = loop {
                match breaker.ask(now) {
                    Verdict::Start(attempt) => break attempt,
                    Verdict::Wait(wait) => now += wait,
                    Verdict::Refuse { .. } => panic!("refused too early"),
                }
            };
            fail(attempt, now, 0.5);
        }
        let Verdict::Refuse { reason, retry_in } = breaker.ask(now) else {
            panic!("open");
        };
        assert_eq!(reason, "no such program");
        now += retry_in;
        let trial = start(&breaker, now).expect("a trial is due");
        assert!(
            matches!(breaker.ask(now), Verdict::Refuse { .. }),
            "one at a time"
        );
        trial.succeeded();
        assert!(start(&breaker, now).is_some());
        assert_eq!(breaker.view(now).state, "closed");
        // The rate is still remembered: one more failure opens it again.
        let again = start(&breaker, now).expect("closed");
        fail(again, now, 0.5);
        assert_eq!(breaker.view(now).state, "open");
    }

    #[test]
    fn a_caller_that_leaves_does_not_block_the_trial() {
        let breaker = Breaker::new();
        let now = Instant::now();
        fail(start(&breaker, now).unwrap(), now, 0.0);
        let later = now + Duration::from_secs(1);
        drop(start(&breaker, later).expect("due"));
        assert!(start(&breaker, later).is_some());
    }
}
