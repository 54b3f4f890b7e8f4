//! Unpacking entries, whole or from their beginning.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::{Archive, CHUNK, Entry, SPARE, damaged, directory};
use crate::engine::error::{ProbeError, Result};

/// Most bytes that one call of the decompressor gets. Deflate makes at most 1032 of one byte, so the
/// clock is looked at after 16 MiB of output at the latest.
const FEED: usize = 16 * 1024;

/// Deflate cannot expand by more than this.
const MAX_RATIO: u64 = 1032;

/// Longest extra field of a local header.
const MAX_EXTRA: u64 = u16::MAX as u64;

/// How many packed bytes each look into an entry takes. After some steps they get longer: what is
/// looked for was not near the beginning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    pub(crate) first: u64,
    pub(crate) next: u64,
}

/// What was read of an entry so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beginning<'b> {
    pub(crate) bytes: &'b [u8],
    /// There is no more of it.
    pub(crate) is_all: bool,
}

impl Archive<'_> {
    /// Reads a whole entry.
    ///
    /// # Errors
    /// `MALFORMED_INPUT` when it is encrypted, packed in a way other than stored and deflate, or
    /// damaged (also when it holds more than it claims); budget errors, the expansion budget before
    /// anything is unpacked.
    pub(crate) fn read(&self, entry: Entry<'_>) -> Result<Vec<u8>> {
        let size = entry.size();
        self.check_size(entry)?;
        self.at_its_start(entry, |start, method| {
            let content = self.expand(entry, start, method, size)?;
            let mut crc = Crc::new();
            crc.update(&content);
            if crc.sum() != entry.record.crc {
                return Err(damaged(entry, "its checksum is wrong"));
            }
            Ok(content)
        })
    }

    /// Checks that the expansion budget has room for the whole entry.
    ///
    /// # Errors
    /// `BUDGET_EXCEEDED` when it has not.
    pub(crate) fn check_size(&self, entry: Entry<'_>) -> Result<()> {
        if entry.size() > self.source.meter().expanded_left() {
            return Err(self.over_budget(entry));
        }
        Ok(())
    }

    /// Reads the first `len` bytes of an entry, or all where it is shorter. The checksum, which is
    /// one of the whole, is not compared.
    ///
    /// # Errors
    /// As [`Archive::read`], but what comes after `len` bytes is neither read nor judged.
    pub(crate) fn read_prefix(&self, entry: Entry<'_>, len: u64) -> Result<Vec<u8>> {
        let wanted = len.min(entry.size());
        if wanted > self.source.meter().expanded_left() {
            return Err(self.over_budget(entry));
        }
        let method = method(entry)?;
        self.expand(entry, self.data_start(entry)?, method, wanted)
    }

    /// Reads an entry from its beginning, a little at a time, and asks `look` after each step. It
    /// returns what `look` found, or `None` when the entry ended before. For what stands at the
    /// beginning of a part; the rest is neither read nor judged.
    ///
    /// # Errors
    /// As [`Archive::read_prefix`].
    pub(crate) fn look_into<T>(
        &self,
        entry: Entry<'_>,
        steps: Steps,
        mut look: impl FnMut(Beginning<'_>) -> Option<T>,
    ) -> Result<Option<T>> {
        let method = method(entry)?;
        let likely = self.likely_start(entry);
        let mut outcome = Ok(None);
        if let Some(start) = likely {
            outcome = self.look_from(entry, start, method, steps, &mut look);
            match &outcome {
                Ok(None) => {}
                Err(error) if error.is_malformed() => {}
                _ => return outcome,
            }
        }
        // Nothing found may mean that this is not where the entry begins.
        let start = self.data_start(entry)?;
        if likely == Some(start) {
            return outcome;
        }
        self.look_from(entry, start, method, steps, &mut look)
    }

    fn look_from<T>(
        &self,
        entry: Entry<'_>,
        start: u64,
        method: Method,
        steps: Steps,
        look: &mut impl FnMut(Beginning<'_>) -> Option<T>,
    ) -> Result<Option<T>> {
        let mut slot = self.inflate.borrow_mut();
        let inflate = slot.get_or_insert_with(spare);
        inflate.reset(false);
        let packed_size = entry.record.packed_size;
        let mut content = Vec::new();
        let mut taken = 0;
        let mut piece_len = steps.first;
        while taken < packed_size {
            let piece = self.piece(entry, start + taken, piece_len.min(packed_size - taken))?;
            taken += piece.len() as u64;
            piece_len = if taken < steps.first * 3 {
                steps.next
            } else {
                taken.min(CHUNK)
            };
            let ended = match method {
                Method::Stored => {
                    self.charge(entry, piece.len())?;
                    content.extend_from_slice(&piece);
                    false
                }
                Method::Deflate => {
                    self.feed(inflate, &piece, &mut content, entry, entry.size())? == Fed::Ended
                }
            };
            let found = look(Beginning {
                bytes: &content,
                is_all: ended || taken == packed_size,
            });
            if ended || found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Calls `read` with where the packed bytes most likely begin. Where that does not work out and
    /// the local header says something else, it is called again.
    fn at_its_start<T>(
        &self,
        entry: Entry<'_>,
        mut read: impl FnMut(u64, Method) -> Result<T>,
    ) -> Result<T> {
        let method = method(entry)?;
        let Some(likely) = self.likely_start(entry) else {
            return read(self.data_start(entry)?, method);
        };
        match read(likely, method) {
            Err(error) if error.is_malformed() => {
                let start = self.data_start(entry)?;
                if start == likely {
                    return Err(error);
                }
                read(start, method)
            }
            done => done,
        }
    }

    /// Where the packed bytes begin if nothing lies between them and the next entry: then the local
    /// header, of which nothing else is needed, costs neither a read nor its bytes.
    fn likely_start(&self, entry: Entry<'_>) -> Option<u64> {
        let record = entry.record;
        if record.has_descriptor() {
            return None;
        }
        let borders = self.borders.get_or_init(|| {
            let mut borders: Vec<u64> = self.records.iter().map(|record| record.offset).collect();
            borders.push(self.end);
            borders.sort_unstable();
            borders
        });
        let next = borders.partition_point(|border| *border <= record.offset);
        let start = borders.get(next)?.checked_sub(record.packed_size)?;
        let least = record.offset + record.least_header();
        (least..=least + MAX_EXTRA)
            .contains(&start)
            .then_some(start)
    }

    /// Unpacks up to `wanted` bytes, of which the expansion budget has enough. Only what is really
    /// unpacked is charged.
    fn expand(&self, entry: Entry<'_>, start: u64, method: Method, wanted: u64) -> Result<Vec<u8>> {
        match method {
            Method::Stored => self.copy(entry, start, wanted),
            Method::Deflate => self.inflate(entry, start, wanted),
        }
    }

    fn copy(&self, entry: Entry<'_>, start: u64, wanted: u64) -> Result<Vec<u8>> {
        let content = self.window.range(&self.source, start, wanted)?.into_owned();
        self.charge(entry, content.len())?;
        if (content.len() as u64) < wanted {
            return Err(damaged(entry, "the file ends inside it"));
        }
        Ok(content)
    }

    fn inflate(&self, entry: Entry<'_>, start: u64, wanted: u64) -> Result<Vec<u8>> {
        let packed_size = entry.record.packed_size;
        if packed_size == 0 && entry.size() == 0 {
            return Ok(Vec::new());
        }
        let mut slot = self.inflate.borrow_mut();
        let inflate = slot.get_or_insert_with(spare);
        inflate.reset(false);
        let whole = wanted == entry.size();
        // A short prefix needs few packed bytes: read about as many, and more only when they are used up.
        let chunk = if whole {
            CHUNK
        } else {
            wanted.clamp(1024, CHUNK)
        };
        // The claim sizes the buffer, but never beyond what the packed bytes can hold.
        let ceiling = packed_size.saturating_mul(MAX_RATIO);
        let mut content = Vec::with_capacity(to_usize(wanted.min(ceiling))?);
        let mut taken = 0;
        while taken < packed_size {
            let piece = self.piece(entry, start + taken, chunk.min(packed_size - taken))?;
            taken += piece.len() as u64;
            match self.feed(inflate, &piece, &mut content, entry, wanted)? {
                Fed::All => {}
                Fed::Ended => {
                    if (content.len() as u64) < wanted && !whole {
                        return Err(damaged(entry, "it holds less than it claims"));
                    }
                    return Ok(content);
                }
                Fed::Enough => {
                    content.truncate(to_usize(wanted)?);
                    return Ok(content);
                }
            }
        }
        Err(damaged(entry, "its packed bytes end early"))
    }

    /// Gives packed bytes to the decompressor.
    fn feed(
        &self,
        inflate: &mut Decompress,
        mut packed: &[u8],
        content: &mut Vec<u8>,
        entry: Entry<'_>,
        wanted: u64,
    ) -> Result<Fed> {
        let whole = wanted == entry.size();
        loop {
            let before = (inflate.total_in(), content.len());
            let piece = &packed[..packed.len().min(FEED)];
            let status = inflate
                .decompress_vec(piece, content, FlushDecompress::None)
                .map_err(|_| damaged(entry, "its packed bytes are not valid deflate"))?;
            #[expect(
                clippy::cast_possible_truncation,
                reason = "at most the length of the piece"
            )]
            let used = (inflate.total_in() - before.0) as usize;
            packed = &packed[used..];
            if content.len() as u64 > wanted {
                if whole {
                    return Err(damaged(entry, "it holds more than it claims"));
                }
                self.charge(entry, to_usize(wanted)?.saturating_sub(before.1))?;
                return Ok(Fed::Enough);
            }
            self.charge(entry, content.len() - before.1)?;
            if status == Status::StreamEnd {
                return Ok(Fed::Ended);
            }
            if content.len() as u64 == wanted && !whole {
                return Ok(Fed::Enough);
            }
            if packed.is_empty() && content.len() < content.capacity() {
                return Ok(Fed::All);
            }
            if content.len() == content.capacity() {
                // Full, and the stream has not ended: room for the end mark, or for one byte too many.
                content.reserve(1);
            } else if used == 0 && content.len() == before.1 {
                return Err(damaged(entry, "its packed bytes are not valid deflate"));
            }
            self.source.meter().check_clock()?;
        }
    }

    /// Packed bytes of an entry: some, or the file ends inside it.
    fn piece(&self, entry: Entry<'_>, start: u64, len: u64) -> Result<std::borrow::Cow<'_, [u8]>> {
        let piece = self.window.range(&self.source, start, len)?;
        if piece.is_empty() {
            return Err(damaged(entry, "the file ends inside it"));
        }
        Ok(piece)
    }

    /// Where the packed bytes begin, as the local header says.
    pub(super) fn data_start(&self, entry: Entry<'_>) -> Result<u64> {
        let offset = entry.record.offset;
        let header = self
            .window
            .range(&self.source, offset, directory::LOCAL_HEADER)?;
        directory::local_header_length(&header)
            .and_then(|length| offset.checked_add(length))
            .ok_or_else(|| damaged(entry, "there is no local header where it should be"))
    }

    pub(super) fn charge(&self, entry: Entry<'_>, len: usize) -> Result<()> {
        if len == 0 {
            return Ok(());
        }
        self.source
            .meter()
            .charge_expanded(len as u64, entry.name())
    }

    fn over_budget(&self, entry: Entry<'_>) -> ProbeError {
        let meter = self.source.meter();
        meter.exceeded(format_args!(
            "expanding {} to {} bytes would pass the budget of {} expanded bytes",
            entry.name(),
            entry.size(),
            meter.limits().expanded_bytes
        ))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    Stored,
    Deflate,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fed {
    /// The decompressor took everything and wants more.
    All,
    /// The packed stream is over.
    Ended,
    /// There is as much as was asked for.
    Enough,
}

/// A decompressor: that of the last archive, or a new one.
fn spare() -> Decompress {
    SPARE
        .with(std::cell::RefCell::take)
        .unwrap_or_else(|| Decompress::new(false))
}

/// How an entry is packed, if we can unpack it.
fn method(entry: Entry<'_>) -> Result<Method> {
    if entry.is_encrypted() {
        return Err(damaged(entry, "it is encrypted"));
    }
    match entry.record.method {
        directory::STORED if entry.record.packed_size == entry.record.size => Ok(Method::Stored),
        directory::STORED => Err(damaged(entry, "it is stored, but its two sizes differ")),
        directory::DEFLATE => Ok(Method::Deflate),
        other => Err(damaged(
            entry,
            format_args!("compression method {other} is not supported"),
        )),
    }
}

fn to_usize(n: u64) -> Result<usize> {
    usize::try_from(n).map_err(|_| ProbeError::malformed("an archive entry is larger than memory"))
}
