//! The objects that a walk has visited.

use std::collections::HashSet;

/// A set of object numbers: bits for the usual ones, a hash set for very large ones.
#[derive(Debug, Default)]
pub(super) struct Visited {
    bits: Vec<u64>,
    rest: HashSet<u32>,
}

/// Numbers below this are bits: at most 128 KiB.
const DENSE: u32 = 1 << 20;

impl Visited {
    pub(super) fn contains(&self, number: u32) -> bool {
        if number >= DENSE {
            return self.rest.contains(&number);
        }
        let word = self.bits.get((number / 64) as usize);
        word.is_some_and(|word| word & 1 << (number % 64) != 0)
    }

    /// Removes a number.
    pub(super) fn remove(&mut self, number: u32) {
        if number >= DENSE {
            self.rest.remove(&number);
        } else if let Some(word) = self.bits.get_mut((number / 64) as usize) {
            *word &= !(1 << (number % 64));
        }
    }

    /// Adds a number. Returns `false` when it was there.
    pub(super) fn insert(&mut self, number: u32) -> bool {
        if number >= DENSE {
            return self.rest.insert(number);
        }
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if word >= self.bits.len() {
            self.bits.resize((word + 1).max(self.bits.len() * 2), 0);
        }
        let is_new = self.bits[word] & bit == 0;
        self.bits[word] |= bit;
        is_new
    }
}
