//! Why children end, and the limits that make a healthy one end.

use std::time::{Duration, Instant};

use super::{Settings, jitter};

/// Why a child ended. The words are metric labels and log fields, a closed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// A record missed its deadline.
    Deadline,
    /// It exited by itself.
    Exit,
    /// A signal that we did not send ended it.
    Signal,
    /// It said something that is no reply.
    Protocol,
    /// It closed one of its pipes.
    StdinClosed,
    /// The caller left in the middle of a record.
    Cancelled,
    /// It served as many records as it may.
    Records,
    /// It is too old.
    Age,
    /// Its resident memory is above the limit.
    Memory,
    /// Nobody used it for a while.
    Idle,
    /// The engine was replaced on disk.
    Upgraded,
    /// It made room for a child of another profile.
    Evicted,
    /// It never became ready.
    Start,
    /// It was started to answer one discovery question.
    Discovery,
    /// The supervisor ends.
    Shutdown,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 15] = [
        Self::Deadline,
        Self::Exit,
        Self::Signal,
        Self::Protocol,
        Self::StdinClosed,
        Self::Cancelled,
        Self::Records,
        Self::Age,
        Self::Memory,
        Self::Idle,
        Self::Upgraded,
        Self::Evicted,
        Self::Start,
        Self::Discovery,
        Self::Shutdown,
    ];

    /// The label.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deadline => "deadline",
            Self::Exit => "exit",
            Self::Signal => "signal",
            Self::Protocol => "protocol",
            Self::StdinClosed => "stdin_closed",
            Self::Cancelled => "cancelled",
            Self::Records => "records",
            Self::Age => "age",
            Self::Memory => "memory",
            Self::Idle => "idle",
            Self::Upgraded => "upgraded",
            Self::Evicted => "evicted",
            Self::Start => "start",
            Self::Discovery => "discovery",
            Self::Shutdown => "shutdown",
        }
    }

    /// Whether we asked for this end, of a child that did nothing wrong.
    #[must_use]
    pub const fn is_planned(self) -> bool {
        matches!(
            self,
            Self::Records
                | Self::Age
                | Self::Memory
                | Self::Idle
                | Self::Upgraded
                | Self::Evicted
                | Self::Discovery
                | Self::Shutdown
        )
    }

    /// Whether the child that ends should be replaced in the background.
    pub(super) const fn wants_replacement(self) -> bool {
        !matches!(
            self,
            Self::Idle | Self::Evicted | Self::Start | Self::Discovery | Self::Shutdown
        )
    }

    pub(super) const fn index(self) -> usize {
        self as usize
    }
}

/// The limits of one child, jittered so that children started together do not end together.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecycleLimits {
    records: Option<u64>,
    expires: Option<Instant>,
    resident: Option<u64>,
    pub(super) idle: Option<Duration>,
}

impl RecycleLimits {
    pub(super) fn of_a_child_born(now: Instant, settings: &Settings) -> Self {
        Self {
            records: settings.max_records.map(jitter::around_count),
            expires: settings
                .max_age
                .and_then(|age| now.checked_add(jitter::around(age))),
            resident: settings.max_rss_bytes,
            idle: settings.idle.map(jitter::around),
        }
    }

    /// The limit that a child has reached, looked at between records.
    pub(super) fn reached(&self, served: u64, resident: u64, now: Instant) -> Option<Reason> {
        if self.resident.is_some_and(|limit| resident > limit) {
            Some(Reason::Memory)
        } else if self.records.is_some_and(|limit| served >= limit) {
            Some(Reason::Records)
        } else if self.expires.is_some_and(|at| now >= at) {
            Some(Reason::Age)
        } else {
            None
        }
    }

    pub(super) fn expires(&self) -> Option<Instant> {
        self.expires
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_limit_means_never() {
        let settings = Settings {
            idle: None,
            max_records: None,
            max_age: None,
            max_rss_bytes: None,
            ..Settings::default()
        };
        let now = Instant::now();
        let limits = RecycleLimits::of_a_child_born(now, &settings);
        let later = now + Duration::from_secs(1_000_000);
        assert_eq!(limits.reached(u64::MAX, u64::MAX, later), None);
        assert_eq!(limits.idle, None);
    }

    #[test]
    fn absurdly_large_limits_do_not_overflow() {
        let settings = Settings {
            idle: Some(Duration::MAX),
            max_age: Some(Duration::MAX),
            max_records: Some(u64::MAX),
            ..Settings::default()
        };
        let now = Instant::now();
        let limits = RecycleLimits::of_a_child_born(now, &settings);
        assert_eq!(limits.reached(1, 1, now), None);
    }

    #[test]
    fn every_limit_has_its_own_reason() {
        let now = Instant::now();
        let limits = RecycleLimits::of_a_child_born(now, &Settings::default());
        let hour = now + Duration::from_secs(3600 + 361);
        assert_eq!(limits.reached(0, 0, now), None);
        assert_eq!(limits.reached(11_001, 0, now), Some(Reason::Records));
        assert_eq!(limits.reached(0, 0, hour), Some(Reason::Age));
        assert_eq!(limits.reached(0, 513 << 20, now), Some(Reason::Memory));
    }

    #[test]
    fn reasons_are_listed_in_the_order_of_their_index() {
        for (index, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason.index(), index);
        }
    }
}
