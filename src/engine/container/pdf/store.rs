//! Bytes of the file by position, read once, in blocks, and kept as long as the probe.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use super::header::Header;
use crate::contract::Level;
use crate::engine::budget::Meter;
use crate::engine::error::Result;
use crate::engine::source::Source;

/// A file up to this size is read at once: one system call is cheaper than the bytes it saves.
const SMALL: u64 = 32 * 1024;

/// Bytes of a block of a larger file.
const BLOCK: u64 = 8 * 1024;

/// Bytes of a block of any file at the level `header`, which looks at the ends of a file and at one
/// object: there bytes are saved, and not many more system calls made.
const HEADER_BLOCK: u64 = 512;

/// Bytes of a block.
fn block_len(source: &Source, level: Level) -> u64 {
    if level == Level::Header {
        HEADER_BLOCK
    } else if source.size() <= SMALL {
        SMALL
    } else {
        BLOCK
    }
}

/// The start of a file, as much of it as shows where the header is: the first block, which is the whole
/// of a small file, or a kilobyte where that is more or a budget is tight. Only a file whose header
/// begins at the very end of its first kilobyte costs another read.
pub(crate) fn read_start(source: &Source, level: Level) -> Result<&[u8]> {
    const USUAL: usize = 1024;
    let budget = source.meter().limits().physical_bytes;
    let block = usize::try_from(block_len(source, level)).unwrap_or(USUAL);
    let len = if budget < 2 * SMALL {
        USUAL
    } else {
        block.max(USUAL)
    };
    let head = source.read_head(len)?;
    if head.len() as u64 == source.size() || Header::is_whole_in(head) {
        return Ok(head);
    }
    Ok(source.keep(source.read_range(0, Header::WITHIN as u64)?))
}

/// How often all bytes of a document may be parsed or copied, before it is one that leads to the same
/// ones again and again. Real documents stay below 6.
const MAX_ROUNDS: u64 = 16;

/// Work that even the smallest document may cost, in bytes.
const FREE_WORK: u64 = 4 << 20;

/// Bytes of work between two looks at the clock.
const CLOCK_STEP: u64 = 64 * 1024;

/// What has been read of the file.
pub(crate) struct Store<'p> {
    source: &'p Source,
    block: u64,
    /// From each block that is there to the end of the bytes that were read or joined with it.
    blocks: RefCell<BTreeMap<u64, &'p [u8]>>,
    /// The range that was handed out last: most reads lie next to the one before.
    recent: Cell<(u64, &'p [u8])>,
    /// Bytes parsed and copied so far.
    work: Cell<u64>,
}

impl<'p> Store<'p> {
    pub(crate) fn new(source: &'p Source, level: Level) -> Self {
        let block = block_len(source, level);
        let store = Self {
            source,
            block,
            blocks: RefCell::default(),
            recent: Cell::new((0, &[])),
            work: Cell::new(0),
        };
        // What was read to look at the signature may be the first blocks.
        let mut rest = source.head().unwrap_or_default();
        let mut blocks = store.blocks.borrow_mut();
        for number in 0.. {
            let len = block.min(source.size().saturating_sub(number * block));
            if len == 0 || (rest.len() as u64) < len {
                break;
            }
            blocks.insert(number, rest);
            rest = tail(0, rest, len).unwrap_or_default();
        }
        drop(blocks);
        store
    }

    pub(crate) fn size(&self) -> u64 {
        self.source.size()
    }

    pub(crate) fn meter(&self) -> &'p Meter {
        self.source.meter()
    }

    /// Keeps bytes as long as the probe lives.
    pub(crate) fn keep(&self, bytes: Vec<u8>) -> &'p [u8] {
        self.source.keep(bytes)
    }

    /// Counts bytes that were parsed or copied. Objects are not kept, so a small file can have a large
    /// object parsed for every reference to it: this bounds that, and looks at the clock.
    ///
    /// # Errors
    /// `BUDGET_EXCEEDED` when the document costs many times its bytes, or past the time limit.
    pub(crate) fn work(&self, bytes: usize) -> Result<()> {
        let before = self.work.get();
        let work = before.saturating_add(bytes as u64);
        self.work.set(work);
        if before / CLOCK_STEP == work / CLOCK_STEP {
            return Ok(());
        }
        let meter = self.meter();
        meter.check_clock()?;
        let distinct = self.size().saturating_add(meter.cost().expanded_bytes);
        if work > FREE_WORK.saturating_add(distinct.saturating_mul(MAX_ROUNDS)) {
            return Err(meter.exceeded(format_args!(
                "the document leads to the same objects again and again: {work} bytes were parsed"
            )));
        }
        Ok(())
    }

    /// Forgets the work that was done.
    pub(crate) fn reset_work(&self) {
        self.work.set(0);
    }

    /// The bytes from `offset` on: at least `len`, or all up to the end of the file.
    ///
    /// # Errors
    /// Budget and I/O errors.
    pub(crate) fn window(&self, offset: u64, len: usize) -> Result<&'p [u8]> {
        let available = self.size().saturating_sub(offset);
        let wanted = available.min(len as u64);
        if wanted == 0 {
            return Ok(&[]);
        }
        let (start, recent) = self.recent.get();
        if let Some(bytes) = tail(start, recent, offset)
            && bytes.len() as u64 >= wanted
        {
            return Ok(bytes);
        }
        let (first, last) = (offset / self.block, (offset + wanted - 1) / self.block);
        let start = first * self.block;
        let known = self.blocks.borrow().get(&first).copied();
        let needed = offset - start + wanted;
        let bytes = match known {
            Some(bytes) if bytes.len() as u64 >= needed => bytes,
            _ if first == last => self.one(first)?,
            _ => self.join(first, last)?,
        };
        self.recent.set((start, bytes));
        Ok(tail(start, bytes, offset).unwrap_or_default())
    }

    /// The whole file in one piece.
    ///
    /// # Errors
    /// As [`Store::window`].
    pub(crate) fn whole(&self) -> Result<&'p [u8]> {
        self.window(0, usize::try_from(self.size()).unwrap_or(usize::MAX))
    }

    fn one(&self, block: u64) -> Result<&'p [u8]> {
        let bytes = self.keep(self.source.read_range(block * self.block, self.block)?);
        self.blocks.borrow_mut().insert(block, bytes);
        Ok(bytes)
    }

    /// Several blocks as one range. Runs of blocks that are not there yet are read at once.
    fn join(&self, first: u64, last: u64) -> Result<&'p [u8]> {
        #[expect(clippy::cast_possible_truncation, reason = "the size of a block")]
        let block_len = self.block as usize;
        let mut joined = Vec::new();
        let mut block = first;
        while block <= last {
            let known = self.blocks.borrow().get(&block).copied();
            if let Some(bytes) = known {
                joined.extend_from_slice(&bytes[..bytes.len().min(block_len)]);
                block += 1;
                continue;
            }
            let run = (block..=last)
                .take_while(|next| !self.blocks.borrow().contains_key(next))
                .count() as u64;
            let bytes = self
                .source
                .read_range(block * self.block, run * self.block)?;
            if joined.is_empty() {
                joined = bytes;
            } else {
                joined.reserve_exact(bytes.len());
                joined.extend_from_slice(&bytes);
            }
            block += run;
        }
        let joined = self.keep(joined);
        self.work(joined.len())?;
        let mut blocks = self.blocks.borrow_mut();
        for (block, from) in (first..).zip((0..joined.len()).step_by(block_len)) {
            let tail = &joined[from..];
            let known = blocks.entry(block).or_insert(tail);
            if known.len() < tail.len() {
                *known = tail;
            }
        }
        Ok(joined)
    }
}

fn tail(start: u64, bytes: &[u8], offset: u64) -> Option<&[u8]> {
    let skip = usize::try_from(offset.checked_sub(start)?).ok()?;
    bytes.get(skip..).filter(|tail| !tail.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_bounded_by_what_there_is() {
        let source = Source::for_test("x.pdf", vec![0; 1 << 20]);
        let store = Store::new(&source, Level::Deep);
        let rounds = (0..1000)
            .take_while(|_| store.work(1 << 20).is_ok())
            .count() as u64;
        assert!(
            (MAX_ROUNDS..=MAX_ROUNDS + FREE_WORK).contains(&rounds),
            "{rounds}"
        );
    }

    #[test]
    fn every_byte_is_read_once_however_often_it_is_asked_for() {
        let bytes: Vec<u8> = (0..100_000_u32).map(|i| (i % 251) as u8).collect();
        let source = Source::for_test("x.pdf", bytes.clone());
        let store = Store::new(&source, Level::Deep);
        for (offset, len) in [
            (99_000, 4096),
            (8190, 10),
            (0, 5),
            (8000, 40_000),
            (20_000, 9),
        ] {
            let window = store.window(offset, len).unwrap();
            let start = usize::try_from(offset).unwrap();
            assert!(window.len() >= len.min(bytes.len() - start));
            assert_eq!(window, &bytes[start..start + window.len()]);
        }
        let spent = source.meter().cost().physical_bytes;
        assert!(spent <= 6 * 8192 + 8192 + 1696, "{spent}");
        let copied = store.work.get();
        for (offset, len) in [(8190, 10), (8000, 40_000), (90_000, 10_000), (8000, 40_000)] {
            store.window(offset, len).unwrap();
        }
        assert!(
            store.work.get() < copied + 20_000,
            "what was joined is kept"
        );
        assert!(store.window(100_000, 1).unwrap().is_empty());
        assert!(store.window(u64::MAX, 1).unwrap().is_empty());
    }
}
