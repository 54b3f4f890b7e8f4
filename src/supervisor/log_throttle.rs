//! A crash loop in the log: the first lines, then a count, not a line each.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_secs(10);
/// Lines within one window.
const LINES: u32 = 5;

/// Lets a few lines through in every window and counts the rest.
#[derive(Default)]
pub(super) struct LogThrottle {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    began: Option<Instant>,
    lines: u32,
    held_back: u64,
}

impl LogThrottle {
    /// Whether to log now, and if so, how many lines were held back before.
    pub(super) fn pass(&self, now: Instant) -> Option<u64> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let over = |began: Instant| now.saturating_duration_since(began) >= WINDOW;
        if state.began.is_none_or(over) {
            state.began = Some(now);
            state.lines = 0;
        }
        if state.lines >= LINES {
            state.held_back += 1;
            return None;
        }
        state.lines += 1;
        Some(std::mem::take(&mut state.held_back))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_is_the_first_lines_and_a_count() {
        let gate = LogThrottle::default();
        let begun = Instant::now();
        let logged: Vec<u64> = (0..3000)
            .filter_map(|n| gate.pass(begun + Duration::from_millis(n * 10)))
            .collect();
        assert_eq!(logged, [0, 0, 0, 0, 0, 995, 0, 0, 0, 0, 995, 0, 0, 0, 0]);
    }
}
