//! The tail of a file, kept in memory: what is in it is never read a second time.

use std::borrow::Cow;

use crate::engine::error::Result;
use crate::engine::source::Source;

/// The bytes from `start` to the end of the file.
#[derive(Debug, Default)]
pub(super) struct Window {
    start: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// Makes the window reach down to `start`, reading only what is not in it yet.
    pub(super) fn extend_to(&mut self, source: &Source, start: u64) -> Result<()> {
        if self.bytes.is_empty() {
            self.start = source.size();
        }
        if start < self.start {
            let mut bytes = source.read_range(start, self.start - start)?;
            bytes.append(&mut self.bytes);
            self.bytes = bytes;
            self.start = start;
        }
        Ok(())
    }

    pub(super) fn start(&self) -> u64 {
        self.start
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Up to `len` bytes from `offset`: from the window where it has them all, else from the source.
    /// There are fewer only at the end of the file.
    pub(super) fn range(&self, source: &Source, offset: u64, len: u64) -> Result<Cow<'_, [u8]>> {
        match self.held(offset, len) {
            Some(bytes) => Ok(Cow::Borrowed(bytes)),
            None => source.read_range(offset, len).map(Cow::Owned),
        }
    }

    fn held(&self, offset: u64, len: u64) -> Option<&[u8]> {
        let from = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        let rest = self.bytes.get(from..)?;
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        Some(&rest[..len.min(rest.len())])
    }
}
