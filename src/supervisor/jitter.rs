//! Jitter for limits, so that children of the same age do not all reach one together.

use std::time::Duration;

/// A limit with ±10 % jitter.
pub(super) fn around(limit: Duration) -> Duration {
    const TEN_YEARS: Duration = Duration::from_secs(10 * 365 * 86_400);
    // Multiplying the largest duration would overflow; ten years is as good as never.
    limit.min(TEN_YEARS).mul_f64(factor())
}

/// A count with ±10 % jitter; never 0, which would mean something else.
pub(super) fn around_count(limit: u64) -> u64 {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a limit of records, positive and far below 2^52"
    )]
    let jittered = (limit as f64 * factor()).round() as u64;
    jittered.max(1)
}

fn factor() -> f64 {
    0.9 + fastrand::f64() / 5.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_stays_within_a_tenth_and_differs() {
        let values: Vec<u64> = (0..50).map(|_| around_count(1000)).collect();
        assert!(values.iter().all(|value| (900..=1100).contains(value)));
        assert!(values.iter().any(|value| *value != values[0]));
        assert_eq!(around_count(1), 1);
    }
}
