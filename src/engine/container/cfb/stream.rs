//! Reading one stream by position.

use std::rc::Rc;

use super::chain::{Chain, Sectors};
use crate::engine::budget::Meter;
use crate::engine::error::{ProbeError, Result};

/// Small reads are served from blocks of at least this many bytes, each read once as long as a caller
/// stays near. A caller that goes on where a block ends gets larger ones.
const SMALLEST_BLOCK: usize = 512;
const LARGEST_BLOCK: usize = 8192;

/// A stream of a compound file. Its size is a claim: a read may return less.
#[derive(Debug)]
pub(crate) struct Stream<'s> {
    sectors: Rc<Sectors<'s>>,
    /// `None` for a file without a container.
    chain: Option<Chain>,
    size: u64,
    block: Vec<u8>,
    block_at: u64,
    block_size: usize,
}

impl<'s> Stream<'s> {
    pub(super) fn new(sectors: Rc<Sectors<'s>>, chain: Chain, size: u64) -> Self {
        Self {
            sectors,
            chain: Some(chain),
            size,
            block: Vec::new(),
            block_at: 0,
            block_size: SMALLEST_BLOCK,
        }
    }

    /// The bytes of the file itself.
    pub(super) fn whole(sectors: Rc<Sectors<'s>>) -> Self {
        let size = sectors.source().size();
        Self {
            sectors,
            chain: None,
            size,
            block: Vec::new(),
            block_at: 0,
            block_size: SMALLEST_BLOCK,
        }
    }

    /// The size in bytes that the directory claims, at most that of the file.
    pub(crate) fn len(&self) -> u64 {
        self.size
    }

    pub(crate) fn meter(&self) -> &'s Meter {
        self.sectors.source().meter()
    }

    /// Fills as much of `buffer` as the stream has from `offset` on: less at the end of the stream or
    /// where its chain breaks.
    ///
    /// # Errors
    /// Budget errors and `SOURCE_IO`.
    pub(crate) fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "at most the buffer's length"
        )]
        let wanted = self.size.saturating_sub(offset).min(buffer.len() as u64) as usize;
        let buffer = &mut buffer[..wanted];
        if wanted >= LARGEST_BLOCK {
            return read(&mut self.chain, &self.sectors, offset, buffer);
        }
        let mut filled = 0;
        while filled < wanted {
            let got = self.copy_from_block(offset + filled as u64, &mut buffer[filled..])?;
            if got == 0 {
                break;
            }
            filled += got;
        }
        Ok(filled)
    }

    /// Reads an array of fixed length; `None` when the stream ends before.
    ///
    /// # Errors
    /// As [`Stream::read_at`].
    pub(crate) fn read_array<const N: usize>(&mut self, offset: u64) -> Result<Option<[u8; N]>> {
        let mut bytes = [0; N];
        Ok((self.read_at(offset, &mut bytes)? == N).then_some(bytes))
    }

    /// Reads without the block: for the few bytes of a header when nothing else of the stream may be
    /// needed.
    ///
    /// # Errors
    /// As [`Stream::read_at`].
    pub(crate) fn read_array_alone<const N: usize>(
        &mut self,
        offset: u64,
    ) -> Result<Option<[u8; N]>> {
        if offset.saturating_add(N as u64) > self.size {
            return Ok(None);
        }
        let mut bytes = [0; N];
        let filled = read(&mut self.chain, &self.sectors, offset, &mut bytes)?;
        Ok((filled == N).then_some(bytes))
    }

    /// Reads up to `len` bytes from `offset` on. `len` may come from the file: memory is taken only for
    /// what the file can hold and the budget allows.
    ///
    /// # Errors
    /// As [`Stream::read_at`].
    pub(crate) fn read_range(&mut self, offset: u64, len: u64) -> Result<Vec<u8>> {
        let source = self.sectors.source();
        let wanted = self.size.saturating_sub(offset).min(len).min(source.size());
        let meter = source.meter();
        let left = (meter.limits().physical_bytes).saturating_sub(meter.cost().physical_bytes);
        if wanted > left {
            // Refused here, before the buffer exists.
            meter.charge_physical(0, wanted)?;
        }
        let wanted = usize::try_from(wanted)
            .map_err(|_| ProbeError::malformed("a stream is larger than memory"))?;
        let mut bytes = vec![0; wanted];
        let filled = self.read_at(offset, &mut bytes)?;
        bytes.truncate(filled);
        Ok(bytes)
    }

    fn copy_from_block(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let held = self.block_at..self.block_at + self.block.len() as u64;
        if !held.contains(&offset) {
            self.block_size = if offset == held.end && offset > 0 {
                (self.block_size * 2).min(LARGEST_BLOCK)
            } else {
                SMALLEST_BLOCK
            };
            // Blocks begin at sector boundaries, and one that goes on never reads a byte again.
            let aligned = offset / SMALLEST_BLOCK as u64 * SMALLEST_BLOCK as u64;
            self.block_at = if held.contains(&aligned) {
                offset
            } else {
                aligned
            };
            #[expect(clippy::cast_possible_truncation, reason = "at most one block")]
            let wanted = (self.size - self.block_at).min(self.block_size as u64) as usize;
            self.block.resize(wanted, 0);
            let filled = read(
                &mut self.chain,
                &self.sectors,
                self.block_at,
                &mut self.block,
            );
            self.block.truncate(*filled.as_ref().unwrap_or(&0));
            filled?;
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "an offset within the block"
        )]
        let start = offset.saturating_sub(self.block_at) as usize;
        let available = self.block.get(start..).unwrap_or_default();
        let len = available.len().min(buffer.len());
        buffer[..len].copy_from_slice(&available[..len]);
        Ok(len)
    }
}

fn read(
    chain: &mut Option<Chain>,
    sectors: &Sectors<'_>,
    offset: u64,
    buffer: &mut [u8],
) -> Result<usize> {
    match chain {
        Some(chain) => chain.read_at(sectors, offset, buffer),
        None => sectors.source().read_at(offset, buffer),
    }
}
