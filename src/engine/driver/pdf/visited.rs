//! Which objects a walk has been to.

use std::collections::HashSet;

/// A set of object numbers: bits for the usual ones, a hash for the odd giant.
#[derive(Debug, Default)]
pub(super) struct Visited {
    bits: Vec<u64>,
    rest: HashSet<u32>,
}

/// Numbers below this are bits: at most 128 KiB.
const DENSE: u32 = 1 << 20;

impl Visited {
    /// Adds a number; `false` when it was there.
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
