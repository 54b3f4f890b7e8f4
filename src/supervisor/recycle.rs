//! Why children end, and the limits at which a healthy one is ended.

use std::time::{Duration, Instant};

use super::jitter;
use super::settings::Settings;

/// What kind of end a reason is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The child failed, or its caller left it in the middle of a record.
    Fault,
    /// A healthy child reached a limit. Such ends come one at a time.
    Limit,
    /// A healthy child was asked to end.
    Asked,
}

/// Declares [`Reason`] as one table, with everything that the supervisor derives from it.
macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident: $label:literal, $kind:ident, replace: $replace:literal;)*) => {
        /// Why a child ended. The words are metric labels and log fields, a closed list.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Reason {
            $($(#[$doc])* $name,)*
        }

        impl Reason {
            /// All reasons.
            pub const ALL: [Self; [$($label),*].len()] = [$(Self::$name),*];

            /// The label.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }

            /// Whether another child should be started in the background instead.
            pub(super) const fn wants_replacement(self) -> bool {
                match self { $(Self::$name => $replace,)* }
            }

            const fn kind(self) -> Kind {
                match self { $(Self::$name => Kind::$kind,)* }
            }
        }
    };
}

// A new reason is a row here and a row in `docs/observability.md`.
reasons! {
    /// A record missed its deadline.
    Deadline: "deadline", Fault, replace: true;
    /// It exited by itself.
    Exit: "exit", Fault, replace: true;
    /// A signal that we did not send ended it.
    Signal: "signal", Fault, replace: true;
    /// It printed something that is not a reply.
    Protocol: "protocol", Fault, replace: true;
    /// It closed one of its pipes.
    StdinClosed: "stdin_closed", Fault, replace: true;
    /// The caller left in the middle of a record.
    Cancelled: "cancelled", Fault, replace: true;
    /// It served as many records as it may.
    Records: "records", Limit, replace: true;
    /// It is too old.
    Age: "age", Limit, replace: true;
    /// Its resident memory is above the limit.
    Memory: "memory", Limit, replace: true;
    /// Nobody used it for a while.
    Idle: "idle", Asked, replace: false;
    /// The engine was replaced on disk.
    Upgraded: "upgraded", Asked, replace: true;
    /// It made room for a child of another profile.
    Evicted: "evicted", Asked, replace: false;
    /// It never became ready.
    Start: "start", Fault, replace: false;
    /// It was started to answer one question, and has.
    Discovery: "discovery", Asked, replace: false;
    /// The supervisor ends.
    Shutdown: "shutdown", Asked, replace: false;
}

impl Reason {
    /// Whether we asked for this end, of a child that did nothing wrong.
    #[must_use]
    pub const fn is_planned(self) -> bool {
        !matches!(self.kind(), Kind::Fault)
    }

    /// Whether the child reached one of its limits.
    pub(super) const fn is_limit(self) -> bool {
        matches!(self.kind(), Kind::Limit)
    }

    pub(super) const fn index(self) -> usize {
        self as usize
    }
}

/// The limits of one child, jittered so that children that were started together do not end together.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecycleLimits {
    records: Option<u64>,
    expires: Option<Instant>,
    resident: Option<u64>,
    pub(super) idle: Option<Duration>,
}

impl RecycleLimits {
    pub(super) fn for_child_born(now: Instant, settings: &Settings) -> Self {
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

    pub(super) fn has_memory_limit(&self) -> bool {
        self.resident.is_some()
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
        let limits = RecycleLimits::for_child_born(now, &settings);
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
        let limits = RecycleLimits::for_child_born(now, &settings);
        assert_eq!(limits.reached(1, 1, now), None);
    }

    #[test]
    fn every_limit_has_its_own_reason() {
        let now = Instant::now();
        let limits = RecycleLimits::for_child_born(now, &Settings::default());
        let hour = now + Duration::from_secs(3600 + 361);
        assert_eq!(limits.reached(0, 0, now), None);
        assert_eq!(limits.reached(11_001, 0, now), Some(Reason::Records));
        assert_eq!(limits.reached(0, 0, hour), Some(Reason::Age));
        assert_eq!(limits.reached(0, 513 << 20, now), Some(Reason::Memory));
    }

    /// The page that operators read lists exactly these labels.
    #[test]
    fn every_reason_is_documented() {
        let page = include_str!("../../docs/observability.md");
        for reason in Reason::ALL {
            let label = format!("`{}`", reason.as_str());
            assert!(
                page.contains(&label),
                "{label} is missing in observability.md"
            );
        }
    }
}
