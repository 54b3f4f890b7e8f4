//! Which sectors are taken: how circles and shared sectors are seen.

use std::collections::HashMap;

use super::super::super::error::Result;
use super::chain::{CLOCK_EVERY, Link, Sectors, Space};

/// The sectors that streams were seen to own.
#[derive(Debug, Default)]
pub(super) struct Used {
    regular: SectorSet,
    mini: SectorSet,
}

impl Used {
    /// Follows the chain of a stream of `size` bytes. False when it is too short, broken, or runs into
    /// a sector that is taken already: so each sector is looked at once, however many streams claim it.
    pub(super) fn take(
        &mut self,
        sectors: &Sectors<'_>,
        space: Space,
        start: u32,
        size: u64,
    ) -> Result<bool> {
        let needed = size.div_ceil(1 << sectors.shift(space));
        if needed > sectors.sector_count(space) {
            return Ok(false);
        }
        let taken = match space {
            Space::Regular => &mut self.regular,
            Space::Mini => &mut self.mini,
        };
        let mut next = Link::To(start);
        for step in 0..needed {
            let Link::To(sector) = next else {
                return Ok(false);
            };
            if u64::from(sector) >= sectors.sector_count(space) || !taken.insert(sector) {
                return Ok(false);
            }
            if step.is_multiple_of(CLOCK_EVERY as u64) {
                sectors.source().meter().check_clock()?;
            }
            // The last sector's link is no matter for the content.
            if step + 1 < needed {
                next = sectors.link(space, sector)?;
            }
        }
        Ok(true)
    }
}

/// A set of sectors: bits in pages, so that only what is used costs memory.
#[derive(Debug, Default)]
pub(super) struct SectorSet {
    pages: HashMap<u32, [u64; 16]>,
}

impl SectorSet {
    /// Bits of a page as a power of two.
    const PAGE_SHIFT: u32 = 10;

    /// Most pages: what a file of 128 GiB can fill. A chain that jumps about in a larger, sparse file ends
    /// there.
    const MAX_PAGES: usize = 1 << 18;

    /// False when the sector is in the set already, or the set is full.
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
