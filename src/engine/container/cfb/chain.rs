//! Sectors, allocation tables, and the chains that run through them ([MS-CFB] §2.3–2.5).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use super::header::{DIFAT_IN_HEADER, Header, u32_at};
use super::sector_set::SectorSet;
use crate::engine::error::Result;
use crate::engine::source::Source;

/// The mark at the end of a chain.
const END_OF_CHAIN: u32 = 0xFFFF_FFFE;

/// Links between two looks at the clock.
pub(super) const CLOCK_EVERY: usize = 4096;

/// Most bytes that reading a whole chain takes memory for before it has read them. At least one sector.
const READ_AHEAD: usize = 1 << 20;

/// Which of the two kinds of sectors a chain is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Space {
    /// Sectors of the file, linked by the FAT.
    Regular,
    /// Mini sectors inside the root's stream, linked by the mini FAT.
    Mini,
}

/// Where a sector's chain goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    To(u32),
    End,
    /// Nowhere: the table has no such entry, or one that no chain may hold.
    Broken,
}

/// A sector of an allocation table, by its number within the table.
type BlockId = (Space, u32);
type Block = Rc<[u8]>;

/// The sectors of one file and the parts of its allocation tables that were needed so far.
#[derive(Debug)]
pub(super) struct Sectors<'s> {
    source: &'s Source,
    header: Header,
    /// Locations of the DIFAT sectors walked so far.
    difat_sectors: RefCell<Vec<u32>>,
    /// Table sectors by their number within the table; at most what was read.
    blocks: RefCell<HashMap<BlockId, Block>>,
    /// The table sector used last: neighbouring sectors share it.
    recent: RefCell<Option<(BlockId, Block)>>,
    mini_fat: RefCell<Chain>,
    mini_stream: RefCell<Chain>,
    mini_stream_size: Cell<u64>,
}

impl<'s> Sectors<'s> {
    pub(super) fn new(source: &'s Source, header: Header) -> Self {
        let mini_fat = Chain::new(Space::Regular, header.first_mini_fat_sector);
        Self {
            source,
            header,
            difat_sectors: RefCell::default(),
            blocks: RefCell::default(),
            recent: RefCell::default(),
            mini_fat: RefCell::new(mini_fat),
            mini_stream: RefCell::new(Chain::new(Space::Regular, END_OF_CHAIN)),
            mini_stream_size: Cell::new(0),
        }
    }

    pub(super) fn header(&self) -> &Header {
        &self.header
    }

    pub(super) fn source(&self) -> &'s Source {
        self.source
    }

    /// Says where the mini stream is: the root entry's own stream.
    pub(super) fn set_mini_stream(&self, start: u32, size: u64) {
        self.mini_stream.replace(Chain::new(Space::Regular, start));
        self.mini_stream_size.set(size);
    }

    /// Sector size of a space as a power of two.
    pub(super) fn shift(&self, space: Space) -> u32 {
        match space {
            Space::Regular => self.header.sector_shift,
            Space::Mini => self.header.mini_shift,
        }
    }

    /// How many sectors there can be. The last one may be cut short by the end of the file.
    pub(super) fn sector_count(&self, space: Space) -> u64 {
        match space {
            Space::Regular => (self.source.size())
                .div_ceil(1 << self.header.sector_shift)
                .saturating_sub(1),
            Space::Mini => (self.mini_stream_size.get().min(self.source.size()))
                .div_ceil(1 << self.header.mini_shift),
        }
    }

    /// The link that follows a sector.
    pub(super) fn link(&self, space: Space, sector: u32) -> Result<Link> {
        let per_block = 1_u32 << (self.header.sector_shift - 2);
        let Some(block) = self.block((space, sector / per_block))? else {
            return Ok(Link::Broken);
        };
        let at = (sector % per_block) as usize * 4;
        Ok(match u32_at(&block, at) {
            Some(END_OF_CHAIN) => Link::End,
            Some(next) if u64::from(next) < self.sector_count(space) => Link::To(next),
            _ => Link::Broken,
        })
    }

    /// One sector of an allocation table; `None` when the table does not reach that far.
    fn block(&self, id: BlockId) -> Result<Option<Block>> {
        if let Some((recent, block)) = &*self.recent.borrow()
            && *recent == id
        {
            return Ok(Some(Rc::clone(block)));
        }
        let known = self.blocks.borrow().get(&id).cloned();
        let block = match known {
            Some(block) => block,
            None => {
                let Some(block) = self.read_block(id)? else {
                    return Ok(None);
                };
                let block = Block::from(block);
                self.blocks.borrow_mut().insert(id, Rc::clone(&block));
                block
            }
        };
        self.recent.replace(Some((id, Rc::clone(&block))));
        Ok(Some(block))
    }

    fn read_block(&self, (space, number): BlockId) -> Result<Option<Vec<u8>>> {
        let sector = match space {
            Space::Regular => self.fat_sector(number as usize)?,
            Space::Mini => self.mini_fat.borrow_mut().sector(self, number as usize)?,
        };
        let Some(sector) = sector.filter(|s| u64::from(*s) < self.sector_count(Space::Regular))
        else {
            return Ok(None);
        };
        let mut block = vec![0; 1 << self.header.sector_shift];
        let filled = self.read_sectors(sector, 0, &mut block)?;
        block.truncate(filled);
        Ok(Some(block))
    }

    /// Where the FAT's sector of this number is: listed in the header, or in a chain of DIFAT sectors
    /// of which each ends with the location of the next.
    fn fat_sector(&self, number: usize) -> Result<Option<u32>> {
        if number < DIFAT_IN_HEADER {
            return Ok(Some(self.header.difat[number]));
        }
        let per_sector = (1_usize << (self.header.sector_shift - 2)) - 1;
        let (index, slot) = (
            (number - DIFAT_IN_HEADER) / per_sector,
            (number - DIFAT_IN_HEADER) % per_sector,
        );
        let count = self.sector_count(Space::Regular);
        let mut known = self.difat_sectors.borrow_mut();
        // A circle only gives wrong locations: the index bounds the walk.
        while known.len() <= index {
            let next = match known.last() {
                None => Some(self.header.first_difat_sector),
                Some(last) => self.u32_in_sector(*last, per_sector * 4)?,
            };
            match next.filter(|sector| u64::from(*sector) < count) {
                Some(sector) => known.push(sector),
                None => return Ok(None),
            }
        }
        self.u32_in_sector(known[index], slot * 4)
    }

    fn u32_in_sector(&self, sector: u32, at: usize) -> Result<Option<u32>> {
        let mut field = [0; 4];
        let filled = self.read_sectors(sector, at as u64, &mut field)?;
        Ok((filled == 4).then(|| u32::from_le_bytes(field)))
    }

    /// Reads from a sector on, through the sectors that follow it in the file.
    fn read_sectors(&self, sector: u32, within: u64, buffer: &mut [u8]) -> Result<usize> {
        let offset = (u64::from(sector) + 1) << self.header.sector_shift;
        self.source.read_at(offset + within, buffer)
    }
}

/// The sectors of one stream in order, found as far as they were asked for.
#[derive(Debug)]
pub(super) struct Chain {
    space: Space,
    sectors: Vec<u32>,
    next: Link,
    /// The sectors of the chain: the first that comes back ends it.
    seen: SectorSet,
}

impl Chain {
    pub(super) fn new(space: Space, start: u32) -> Self {
        Self {
            space,
            sectors: Vec::new(),
            next: if start == END_OF_CHAIN {
                Link::End
            } else {
                Link::To(start)
            },
            seen: SectorSet::default(),
        }
    }

    /// Whether the chain was seen to end at an impossible link or in a circle.
    pub(super) fn is_broken(&self) -> bool {
        self.next == Link::Broken
    }

    /// The sector at an index; `None` past the end.
    fn sector(&mut self, sectors: &Sectors<'_>, index: usize) -> Result<Option<u32>> {
        while self.sectors.len() <= index {
            if !self.advance(sectors)? {
                return Ok(None);
            }
        }
        Ok(Some(self.sectors[index]))
    }

    /// Follows one link. False at the end.
    fn advance(&mut self, sectors: &Sectors<'_>) -> Result<bool> {
        let Link::To(sector) = self.next else {
            return Ok(false);
        };
        if u64::from(sector) >= sectors.sector_count(self.space) || !self.seen.insert(sector) {
            self.next = Link::Broken;
            return Ok(false);
        }
        if self.sectors.len().is_multiple_of(CLOCK_EVERY) {
            sectors.source.meter().check_clock()?;
        }
        self.sectors.push(sector);
        self.next = sectors.link(self.space, sector)?;
        Ok(true)
    }

    /// Reads the whole chain. What a damaged chain has before its break is returned.
    pub(super) fn read_all(&mut self, sectors: &Sectors<'_>) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        loop {
            let known = all.len();
            // Sector by sector, but in one read what lies side by side.
            let most = READ_AHEAD >> sectors.shift(self.space);
            let Some((_, run)) =
                self.run_from(sectors, known >> sectors.shift(self.space), most)?
            else {
                return Ok(all);
            };
            all.resize(known + (run << sectors.shift(self.space)), 0);
            let filled = self.read_at(sectors, known as u64, &mut all[known..])?;
            all.truncate(known + filled);
            if filled < run << sectors.shift(self.space) {
                self.next = Link::Broken;
                return Ok(all);
            }
        }
    }

    /// The sector at an index, and how many from it on lie side by side, at most `most`. `None` past the
    /// end.
    fn run_from(
        &mut self,
        sectors: &Sectors<'_>,
        index: usize,
        most: usize,
    ) -> Result<Option<(u32, usize)>> {
        let Some(first) = self.sector(sectors, index)? else {
            return Ok(None);
        };
        let mut run = 1;
        while run < most
            && let Some(next) = self.sector(sectors, index + run)?
            && u64::from(next) == u64::from(first) + run as u64
        {
            run += 1;
        }
        Ok(Some((first, run)))
    }

    /// Fills as much of the buffer as the chain has from `offset` on.
    pub(super) fn read_at(
        &mut self,
        sectors: &Sectors<'_>,
        offset: u64,
        buffer: &mut [u8],
    ) -> Result<usize> {
        let shift = sectors.shift(self.space);
        let size = 1_u64 << shift;
        let mut filled = 0;
        while filled < buffer.len() {
            let at = offset + filled as u64;
            let Ok(index) = usize::try_from(at >> shift) else {
                break;
            };
            let within = at & (size - 1);
            let rest = (buffer.len() - filled) as u64;
            #[expect(
                clippy::cast_possible_truncation,
                reason = "at most the buffer's length"
            )]
            let most = (within + rest).div_ceil(size) as usize;
            let Some((first, run)) = self.run_from(sectors, index, most)? else {
                break;
            };
            #[expect(
                clippy::cast_possible_truncation,
                reason = "at most the buffer's length"
            )]
            let wanted = ((run as u64) * size - within).min(rest) as usize;
            let target = &mut buffer[filled..filled + wanted];
            let got = match self.space {
                Space::Regular => sectors.read_sectors(first, within, target)?,
                Space::Mini => sectors.mini_stream.borrow_mut().read_at(
                    sectors,
                    (u64::from(first) << shift) + within,
                    target,
                )?,
            };
            filled += got;
            if got < wanted {
                break;
            }
        }
        Ok(filled)
    }
}
