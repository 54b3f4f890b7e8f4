//! From the bytes of a component to its joined chunks.

use crate::engine::budget::Meter;
use crate::engine::container::zip::EntryStream;
use crate::engine::error::{ProbeError, Result};

/// Length of a chunk's header.
const HEADER: usize = 4;

/// Snappy's densest element makes 64 bytes of three: a block that claims more per byte is broken.
const MAX_RATIO: usize = 22;

/// Longest varint in bytes.
const MAX_VARINT: usize = 10;

/// Used-up bytes in front of a buffer before it is moved down.
const SLACK: usize = 256 * 1024;

/// Where the bytes of a component come from, piece by piece.
pub(crate) trait Feed {
    /// Appends some more bytes. `false` at the end.
    ///
    /// # Errors
    /// What keeps them from being read, and budget errors.
    fn more(&mut self, out: &mut Vec<u8>) -> Result<bool>;
}

impl Feed for EntryStream<'_, '_> {
    fn more(&mut self, out: &mut Vec<u8>) -> Result<bool> {
        EntryStream::more(self, out)
    }
}

/// Decodes a component from front to back.
pub(crate) struct Decoder<'m, F> {
    feed: F,
    meter: &'m Meter,
    name: &'m str,
    /// Chunks that are not decoded yet.
    packed: Buffer,
    /// Decoded bytes that nobody took yet.
    plain: Buffer,
}

impl<'m, F: Feed> Decoder<'m, F> {
    /// A decoder that has read nothing yet. `name` is for messages.
    pub(crate) fn new(feed: F, meter: &'m Meter, name: &'m str) -> Self {
        Self {
            feed,
            meter,
            name,
            packed: Buffer::default(),
            plain: Buffer::default(),
        }
    }

    pub(super) fn meter(&self) -> &'m Meter {
        self.meter
    }

    pub(super) fn name(&self) -> &'m str {
        self.name
    }

    /// The next decoded varint; `None` at the end of the component.
    pub(super) fn varint(&mut self) -> Result<Option<u64>> {
        loop {
            let mut rest = self.plain.bytes();
            let before = rest.len();
            if let Ok(value) = super::wire::varint(&mut rest) {
                let used = before - rest.len();
                self.plain.consume(used);
                return Ok(Some(value));
            }
            // Cut off, or too long to be one.
            if before >= MAX_VARINT || !self.decode_chunk()? {
                return if before == 0 {
                    Ok(None)
                } else {
                    Err(malformed(self.name, "a length does not decode"))
                };
            }
        }
    }

    /// The next `length` decoded bytes. The length is a claim: memory grows with what is decoded.
    pub(super) fn take(&mut self, length: u64) -> Result<&[u8]> {
        while (self.plain.len() as u64) < length {
            if !self.decode_chunk()? {
                return Err(self.ends_early());
            }
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "that many bytes are in memory"
        )]
        Ok(self.plain.consume(length as usize))
    }

    /// Passes over `length` decoded bytes.
    pub(super) fn skip(&mut self, length: u64) -> Result<()> {
        let mut left = length;
        loop {
            let step = left.min(self.plain.len() as u64);
            #[expect(
                clippy::cast_possible_truncation,
                reason = "that many bytes are in memory"
            )]
            self.plain.consume(step as usize);
            left -= step;
            if left == 0 {
                return Ok(());
            }
            if !self.decode_chunk()? {
                return Err(self.ends_early());
            }
        }
    }

    /// The next `length` bytes of the component as it is stored, without consuming them; `None` when it
    /// has fewer.
    pub(super) fn peek(&mut self, length: usize) -> Result<Option<&[u8]>> {
        let is_there = self.fill(length)?;
        Ok(is_there.then(|| &self.packed.bytes()[..length]))
    }

    /// Skips `length` bytes of the component as it is stored.
    pub(super) fn skip_packed(&mut self, length: u64) -> Result<()> {
        let mut left = length;
        loop {
            let step = left.min(self.packed.len() as u64);
            #[expect(
                clippy::cast_possible_truncation,
                reason = "that many bytes are in memory"
            )]
            self.packed.consume(step as usize);
            left -= step;
            if left == 0 {
                return Ok(());
            }
            self.meter.check_clock()?;
            if !self.fill(1)? {
                return Err(malformed(self.name, "a block is longer than the component"));
            }
        }
    }

    /// Decodes one more chunk into `plain`; `false` at the end of the component.
    fn decode_chunk(&mut self) -> Result<bool> {
        self.meter.check_clock()?;
        if !self.fill(HEADER)? {
            if self.packed.len() == 0 {
                return Ok(false);
            }
            return Err(malformed(self.name, "it ends inside a chunk header"));
        }
        let [kind, a, b, c] = *self.packed.consume(HEADER) else {
            return Ok(false);
        };
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        if kind > 1 {
            return Err(malformed(
                self.name,
                format_args!("chunk type {kind} is unknown"),
            ));
        }
        if !self.fill(length)? {
            return Err(malformed(self.name, "a chunk is longer than the component"));
        }
        let chunk = self.packed.consume(length);
        if kind == 1 {
            self.meter.charge_expanded(length as u64, self.name)?;
            self.plain.space(length).copy_from_slice(chunk);
            return Ok(true);
        }
        let broken = || malformed(self.name, "a Snappy block does not decode");
        let claim = snap::raw::decompress_len(chunk).map_err(|_| broken())?;
        if claim > length.saturating_mul(MAX_RATIO) {
            return Err(broken());
        }
        self.meter.charge_expanded(claim as u64, self.name)?;
        let made = snap::raw::Decoder::new()
            .decompress(chunk, self.plain.space(claim))
            .map_err(|_| broken())?;
        if made != claim {
            return Err(broken());
        }
        Ok(true)
    }

    /// Makes sure that `length` packed bytes are in memory; `false` when the component has fewer.
    fn fill(&mut self, length: usize) -> Result<bool> {
        while self.packed.len() < length {
            if !self.feed.more(self.packed.tail())? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn ends_early(&self) -> ProbeError {
        malformed(self.name, "it ends inside an archive")
    }
}

pub(super) fn malformed(name: &str, why: impl std::fmt::Display) -> ProbeError {
    ProbeError::malformed(format_args!("IWA component {name:?}: {why}"))
}

/// Bytes that are appended at the back and consumed at the front.
#[derive(Debug, Default)]
struct Buffer {
    bytes: Vec<u8>,
    start: usize,
}

impl Buffer {
    fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Uses up the first `length` bytes, of which there are enough.
    fn consume(&mut self, length: usize) -> &[u8] {
        let from = self.start;
        self.start += length;
        &self.bytes[from..self.start]
    }

    /// The vector to append to, with little that is used up in it.
    fn tail(&mut self) -> &mut Vec<u8> {
        if self.start == self.bytes.len() {
            self.bytes.clear();
            self.start = 0;
        } else if self.start > SLACK {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        &mut self.bytes
    }

    /// Room for `length` more bytes.
    fn space(&mut self, length: usize) -> &mut [u8] {
        let tail = self.tail();
        let from = tail.len();
        tail.resize(from + length, 0);
        &mut tail[from..]
    }
}
