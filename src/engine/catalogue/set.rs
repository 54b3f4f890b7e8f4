//! Sets of targets as bits: no allocation, ascending iteration.

use super::Target;

const WORDS: usize = Target::COUNT.div_ceil(64);

/// A set of targets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct TargetSet([u64; WORDS]);

impl TargetSet {
    pub(crate) const EMPTY: Self = Self([0; WORDS]);

    /// The set of these targets.
    pub(crate) const fn of(targets: &[Target]) -> Self {
        let mut set = Self::EMPTY;
        let mut i = 0;
        while i < targets.len() {
            let index = targets[i].index();
            set.0[index / 64] |= 1 << (index % 64);
            i += 1;
        }
        set
    }

    pub(crate) const fn contains(&self, target: Target) -> bool {
        let index = target.index();
        self.0[index / 64] & (1 << (index % 64)) != 0
    }

    /// How many members stand before a target: its place in a table that has one row a member.
    pub(crate) const fn rank(&self, target: Target) -> usize {
        let index = target.index();
        let mut rank = (self.0[index / 64] & ((1 << (index % 64)) - 1)).count_ones();
        let mut i = 0;
        while i < index / 64 {
            rank += self.0[i].count_ones();
            i += 1;
        }
        rank as usize
    }

    pub(crate) const fn is_empty(&self) -> bool {
        let mut i = 0;
        while i < WORDS {
            if self.0[i] != 0 {
                return false;
            }
            i += 1;
        }
        true
    }

    pub(crate) fn insert(&mut self, target: Target) {
        *self = self.union(Self::of(&[target]));
    }

    pub(crate) fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    pub(crate) const fn union(self, other: Self) -> Self {
        let mut set = self;
        let mut i = 0;
        while i < WORDS {
            set.0[i] |= other.0[i];
            i += 1;
        }
        set
    }

    pub(crate) const fn intersection(self, other: Self) -> Self {
        let mut set = self;
        let mut i = 0;
        while i < WORDS {
            set.0[i] &= other.0[i];
            i += 1;
        }
        set
    }

    pub(crate) const fn difference(self, other: Self) -> Self {
        let mut set = self;
        let mut i = 0;
        while i < WORDS {
            set.0[i] &= !other.0[i];
            i += 1;
        }
        set
    }

    pub(crate) const fn intersects(self, other: Self) -> bool {
        !self.intersection(other).is_empty()
    }

    /// The targets, ascending by id.
    pub(crate) fn iter(self) -> impl Iterator<Item = Target> {
        self.0.into_iter().enumerate().flat_map(|(index, word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                if rest == 0 {
                    return None;
                }
                let bit = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                Some(Target::from_index(index * 64 + bit))
            })
        })
    }
}

impl FromIterator<Target> for TargetSet {
    fn from_iter<I: IntoIterator<Item = Target>>(targets: I) -> Self {
        let mut set = Self::EMPTY;
        for target in targets {
            set.insert(target);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_is_ascending_and_complete() {
        let all: TargetSet = (0..Target::COUNT).map(Target::from_index).collect();
        let ids: Vec<_> = all.iter().map(Target::id).collect();
        assert_eq!(ids.len(), Target::COUNT);
        assert!(ids.is_sorted());
        for (place, target) in all.iter().enumerate() {
            assert_eq!(all.rank(target), place);
        }
        let two = TargetSet::of(&[Target::WORD_WORD_COUNT, Target::DOCUMENT_TITLE]);
        assert_eq!(two.len(), 2);
        assert_eq!(two.rank(Target::DOCUMENT_TITLE), 0);
        assert_eq!(two.rank(Target::WORD_WORD_COUNT), 1);
        assert_eq!(all.difference(two).len() as usize, Target::COUNT - 2);
        assert!(two.intersects(all) && !two.intersects(all.difference(two)));
    }
}
