//! A set of sector numbers.

use std::collections::HashMap;

/// A set of sectors, stored as bits in pages that are allocated when they are first needed.
#[derive(Debug, Default)]
pub(super) struct SectorSet {
    pages: HashMap<u32, [u64; 16]>,
}

impl SectorSet {
    /// Bits of a page as a power of two.
    const PAGE_SHIFT: u32 = 10;

    /// Page limit: enough for a file of 128 GiB. In a larger, sparse file a scattered chain ends at the limit.
    const MAX_PAGES: usize = 1 << 18;

    /// Returns false when the sector is already in the set or the set is full.
    pub(super) fn insert(&mut self, sector: u32) -> bool {
        let page = sector >> Self::PAGE_SHIFT;
        if self.pages.len() >= Self::MAX_PAGES && !self.pages.contains_key(&page) {
            return false;
        }
        let page = self.pages.entry(page).or_default();
        let (word, bit) = ((sector >> 6 & 15) as usize, 1 << (sector & 63));
        let is_new = page[word] & bit == 0;
        page[word] |= bit;
        is_new
    }
}
