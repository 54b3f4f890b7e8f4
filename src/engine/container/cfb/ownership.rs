//! Which stream owns which sectors: finds sectors that two streams claim.

use super::chain::{CLOCK_EVERY, Link, Sectors, Space};
use super::sector_set::SectorSet;
use crate::engine::error::Result;

/// The sectors that streams own.
#[derive(Debug, Default)]
pub(super) struct Ownership {
    regular: SectorSet,
    mini: SectorSet,
}

impl Ownership {
    /// Follows the chain of a stream of `size` bytes. Returns false when the chain is too short, broken, or
    /// contains a sector that another stream owns. Each sector is visited once, however many streams
    /// claim it.
    pub(super) fn claim(
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
            // The link of the last sector does not affect the content.
            if step + 1 < needed {
                next = sectors.link(space, sector)?;
            }
        }
        Ok(true)
    }
}
