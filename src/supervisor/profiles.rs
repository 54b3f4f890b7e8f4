//! The option sets that calls have used: a number and a use count for each. Bounded, as a caller may
//! send ten thousand different budgets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dashmap::DashMap;

use crate::contract::Profile;

use super::ledger::ProfileId;

/// Profiles that are remembered.
const MAX_PROFILES: usize = 128;
/// Uses after which all use counts are halved, so that old habits fade.
const HALVE_EVERY: u64 = 4096;

/// The profiles in use.
#[derive(Default)]
pub(super) struct Profiles {
    known: DashMap<Profile, Arc<KnownProfile>>,
    /// Counts uses, as a clock for "least recently used".
    clock: AtomicU64,
    next_id: AtomicU64,
}

/// One profile.
pub(super) struct KnownProfile {
    /// Counted from 1.
    pub(super) id: ProfileId,
    pub(super) profile: Profile,
    /// How often it was asked for, halved now and then.
    uses: AtomicU64,
    last_use: AtomicU64,
}

impl KnownProfile {
    pub(super) fn uses(&self) -> u64 {
        self.uses.load(Ordering::Relaxed)
    }

    fn touch(&self, now: u64) {
        self.uses.fetch_add(1, Ordering::Relaxed);
        self.last_use.store(now, Ordering::Relaxed);
    }
}

impl Profiles {
    /// The entry of a profile, which counts as used now. `has_children` says which entries must stay
    /// when room is needed.
    pub(super) fn touch(
        &self,
        profile: &Profile,
        has_children: impl FnOnce() -> Vec<ProfileId>,
    ) -> Arc<KnownProfile> {
        let now = self.clock.fetch_add(1, Ordering::Relaxed) + 1;
        if now.is_multiple_of(HALVE_EVERY) {
            for entry in &self.known {
                entry.uses.store(entry.uses() / 2, Ordering::Relaxed);
            }
        }
        if let Some(known) = self.known.get(profile) {
            known.touch(now);
            return Arc::clone(&known);
        }
        if self.known.len() >= MAX_PROFILES {
            self.forget_unused(&has_children());
        }
        let entry = self.known.entry(profile.clone()).or_insert_with(|| {
            Arc::new(KnownProfile {
                id: self.next_id.fetch_add(1, Ordering::Relaxed) + 1,
                profile: profile.clone(),
                uses: AtomicU64::new(0),
                last_use: AtomicU64::new(0),
            })
        });
        entry.touch(now);
        Arc::clone(&entry)
    }

    /// All profiles, the one used most first.
    pub(super) fn by_use(&self) -> Vec<Arc<KnownProfile>> {
        let mut all: Vec<_> = self.known.iter().map(|entry| Arc::clone(&entry)).collect();
        all.sort_by_key(|entry| std::cmp::Reverse(entry.uses()));
        all
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// Forgets profiles without children, the longest unused first. A call that has the entry already
    /// goes on with it; the child that it starts is evicted or ends as any that nobody uses.
    fn forget_unused(&self, keep: &[ProfileId]) {
        let mut unused = self.by_use();
        unused.retain(|entry| !keep.contains(&entry.id));
        unused.sort_by_key(|entry| entry.last_use.load(Ordering::Relaxed));
        for entry in unused.iter().take(MAX_PROFILES / 2) {
            self.known.remove(&entry.profile);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Budget, ProbeOptions};

    fn profile(n: u64) -> Profile {
        let budget = Budget {
            timeout_ms: Some(n + 1),
            ..Budget::default()
        };
        ProbeOptions::new().with_budget(budget).profile()
    }

    #[test]
    fn profiles_are_bounded_and_those_with_children_stay() {
        let profiles = Profiles::default();
        let kept = profiles.touch(&profile(0), Vec::new).id;
        for n in 1..10_000 {
            profiles.touch(&profile(n), || vec![kept]);
            assert!(profiles.len() <= MAX_PROFILES);
        }
        assert_eq!(profiles.touch(&profile(0), Vec::new).id, kept);
    }
}
