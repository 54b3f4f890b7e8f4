//! Chance for jitter. Nothing here needs to be unguessable.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// A number in `0.0..1.0`.
pub(super) fn unit() -> f64 {
    // Every `RandomState` has fresh keys, so the hash of anything is a fresh number.
    let bits = RandomState::new().hash_one(0_u8) >> 11;
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit a double exactly")]
    let unit = bits as f64 / (1_u64 << 53) as f64;
    unit
}

/// A limit with ±10 % jitter, so that children of one age do not all reach it together.
pub(super) fn around(limit: Duration) -> Duration {
    const TEN_YEARS: Duration = Duration::from_secs(10 * 365 * 86_400);
    // Multiplying the largest duration would overflow; ten years are as good as never.
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
    0.9 + unit() / 5.0
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
