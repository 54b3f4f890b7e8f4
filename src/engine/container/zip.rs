//! ZIP archives: the directory from the tail of the file, and single entries by position.
//!
//! Opening reads the last 2 KiB, which hold the end record and mostly the whole central directory;
//! what is missing of the directory is read in one piece. An entry costs its local header and its
//! packed bytes, and nothing else is touched. Everything that the file says about itself (counts,
//! sizes, offsets) is a claim that is checked against what is there before memory is taken.
//!
//! Written here and not taken from a crate because a probe has to account for every byte: the crates
//! read the directory a second time, or all of it through a buffer of their own, and report a spent
//! budget as an I/O error that cannot be told from an absent part.

mod directory;
mod stream;
mod window;

use std::cell::RefCell;
use std::cmp::Ordering;

use flate2::{Crc, Decompress, FlushDecompress, Status};

use self::directory::Record;
pub(crate) use self::stream::EntryStream;
use self::window::Window;
use crate::engine::error::{ProbeError, Result};
use crate::engine::source::Source;

/// Most bytes that one call of the decompressor gets. Deflate makes at most 1032 of one byte, so the
/// clock is looked at after 16 MiB of output at the latest.
const FEED: usize = 16 * 1024;

/// Packed bytes that are held in memory at a time.
const CHUNK: u64 = 256 * 1024;

/// Packed bytes of a first look into an entry: slides, sheets and the like mostly say what they are
/// within 200.
const FIRST_LOOK: u64 = 224;

/// Deflate cannot expand by more than this.
const MAX_RATIO: u64 = 1032;

/// An open archive. It knows its entries and has read none of them.
pub(crate) struct Archive<'s> {
    source: Held<'s>,
    window: Window,
    /// All names, one after the other.
    names: String,
    /// Every entry once, in the order of the directory.
    records: Vec<Record>,
    /// Hashes of the names' keys with indices into `records`, ascending.
    by_key: Vec<(u64, u32)>,
    /// Made at the first packed entry and used again for the others: its tables are not small.
    inflate: RefCell<Option<Decompress>>,
}

/// The input that an archive reads: the caller's, or its own when it lies in another archive.
enum Held<'s> {
    Lent(&'s Source),
    Own(Box<Source>),
}

impl std::ops::Deref for Held<'_> {
    type Target = Source;

    fn deref(&self) -> &Source {
        match self {
            Self::Lent(source) => source,
            Self::Own(source) => source,
        }
    }
}

/// One entry of an archive.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    index: usize,
    record: &'a Record,
    name: &'a str,
}

impl<'a> Entry<'a> {
    /// The position of the entry among [`Archive::entries`].
    pub(crate) fn index(self) -> usize {
        self.index
    }

    /// The name as it stands in the directory.
    pub(crate) fn name(self) -> &'a str {
        self.name
    }

    /// The name without leading slashes.
    pub(crate) fn trimmed_name(self) -> &'a str {
        self.name.trim_start_matches(['/', '\\'])
    }

    /// The unpacked size that the directory claims.
    pub(crate) fn size(self) -> u64 {
        self.record.size
    }

    /// The packed size that the directory claims.
    pub(crate) fn packed_size(self) -> u64 {
        self.record.packed_size
    }

    /// Whether the entry only stands for a folder.
    pub(crate) fn is_directory(self) -> bool {
        self.name.ends_with(['/', '\\'])
    }

    /// Whether the entry's bytes are encrypted.
    pub(crate) fn is_encrypted(self) -> bool {
        self.record.is_encrypted()
    }
}

impl<'s> Archive<'s> {
    /// Finds and reads the central directory.
    ///
    /// # Errors
    /// `MALFORMED_INPUT` when there is no readable directory; `BUDGET_EXCEEDED` also for more distinct
    /// entries than the budget allows.
    pub(crate) fn open(source: &'s Source) -> Result<Self> {
        Self::read_directory(Held::Lent(source))
    }

    fn read_directory(source: Held<'s>) -> Result<Self> {
        let mut window = Window::default();
        let directory = directory::read(&source, &mut window)?;
        let mut archive = Self {
            source,
            window,
            names: directory.names,
            records: directory.records,
            by_key: Vec::new(),
            inflate: RefCell::new(None),
        };
        archive.index()?;
        let entries = archive.records.len() as u64;
        archive.source.meter().check_entries(entries)?;
        Ok(archive)
    }

    /// How many distinct entries there are, folders included.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// The entries in the order of the directory. Of several with one name only the last is there.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        (0..self.records.len()).map(|index| self.entry(index))
    }

    /// The entry at a position of [`Archive::entries`].
    ///
    /// # Panics
    /// If there is none.
    pub(crate) fn entry(&self, index: usize) -> Entry<'_> {
        let record = &self.records[index];
        Entry {
            index,
            record,
            name: record.name(&self.names),
        }
    }

    /// Finds a part by the rules of OPC: upper and lower case are equal, a leading slash does not
    /// count, a backslash is a slash. An entry that is spelled exactly so comes first, else the last
    /// in the directory counts.
    pub(crate) fn find(&self, name: &str) -> Option<Entry<'_>> {
        self.spelled_like(name)
            .max_by_key(|entry| (entry.name == name, entry.index))
    }

    /// Finds an entry by its exact name.
    pub(crate) fn find_exact(&self, name: &str) -> Option<Entry<'_>> {
        self.spelled_like(name).find(|entry| entry.name == name)
    }

    /// Reads a whole entry.
    ///
    /// # Errors
    /// `MALFORMED_INPUT` when it is encrypted, packed in a way other than stored and deflate, or
    /// damaged (also when it holds more than it claims); budget errors, the expansion budget before
    /// anything is unpacked.
    pub(crate) fn read(&self, entry: Entry<'_>) -> Result<Vec<u8>> {
        let size = entry.size();
        if size > self.source.meter().expanded_left() {
            return Err(self.over_budget(entry));
        }
        let content = self.expand(entry, size)?;
        let mut crc = Crc::new();
        crc.update(&content);
        if crc.sum() != entry.record.crc {
            return Err(damaged(entry, "its checksum is wrong"));
        }
        Ok(content)
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
        self.expand(entry, wanted)
    }

    /// Reads an entry from its beginning, a little at a time, until `enough` says so of what there is,
    /// or to its end. For what stands at the beginning of a part that may be large.
    ///
    /// # Errors
    /// As [`Archive::read_prefix`].
    pub(crate) fn read_until(
        &self,
        entry: Entry<'_>,
        mut enough: impl FnMut(&[u8]) -> bool,
    ) -> Result<Vec<u8>> {
        let (start, method) = self.readable(entry)?;
        let mut slot = self.inflate.borrow_mut();
        let inflate = slot.get_or_insert_with(|| Decompress::new(false));
        inflate.reset(false);

        let packed_size = entry.record.packed_size;
        let mut content = Vec::new();
        let mut taken = 0;
        let mut chunk = FIRST_LOOK;
        while taken < packed_size {
            let len = chunk.min(packed_size - taken);
            let piece = self.window.range(&self.source, start + taken, len)?;
            if piece.is_empty() {
                return Err(damaged(entry, "the file ends inside it"));
            }
            taken += piece.len() as u64;
            chunk = (chunk * 2).min(CHUNK);
            let ended = if method == Method::Stored {
                self.charge(entry, piece.len())?;
                content.extend_from_slice(&piece);
                false
            } else {
                let fed = self.feed(inflate, &piece, &mut content, entry, entry.size())?;
                fed == Fed::Ended
            };
            if ended || enough(&content) {
                break;
            }
        }
        Ok(content)
    }

    /// Unpacks up to `wanted` bytes, of which the expansion budget has enough. Only what is really
    /// unpacked is charged.
    fn expand(&self, entry: Entry<'_>, wanted: u64) -> Result<Vec<u8>> {
        let (start, method) = self.readable(entry)?;
        match method {
            Method::Stored => self.copy(entry, start, wanted),
            Method::Deflate => self.inflate(entry, start, wanted),
        }
    }

    /// Where the packed bytes begin, and how they are packed.
    fn readable(&self, entry: Entry<'_>) -> Result<(u64, Method)> {
        let record = entry.record;
        if record.is_encrypted() {
            return Err(damaged(entry, "it is encrypted"));
        }
        let method = match record.method {
            directory::STORED => Method::Stored,
            directory::DEFLATE => Method::Deflate,
            other => {
                return Err(damaged(
                    entry,
                    format_args!("compression method {other} is not supported"),
                ));
            }
        };
        Ok((self.data_start(entry)?, method))
    }

    fn copy(&self, entry: Entry<'_>, start: u64, wanted: u64) -> Result<Vec<u8>> {
        if entry.record.packed_size != entry.record.size {
            return Err(damaged(entry, "it is stored, but its two sizes differ"));
        }
        let content = self.window.range(&self.source, start, wanted)?.into_owned();
        self.charge(entry, content.len())?;
        if (content.len() as u64) < wanted {
            return Err(damaged(entry, "the file ends inside it"));
        }
        Ok(content)
    }

    fn inflate(&self, entry: Entry<'_>, start: u64, wanted: u64) -> Result<Vec<u8>> {
        let mut slot = self.inflate.borrow_mut();
        let inflate = slot.get_or_insert_with(|| Decompress::new(false));
        inflate.reset(false);

        let packed_size = entry.record.packed_size;
        if packed_size == 0 && entry.size() == 0 {
            return Ok(Vec::new());
        }
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
            let piece =
                self.window
                    .range(&self.source, start + taken, chunk.min(packed_size - taken))?;
            if piece.is_empty() {
                break;
            }
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
        loop {
            let before = (inflate.total_in(), content.len());
            let piece = &packed[..packed.len().min(FEED)];
            let status = inflate
                .decompress_vec(piece, content, FlushDecompress::None)
                .map_err(|_| damaged(entry, "its packed bytes are not valid deflate"))?;
            let used = (inflate.total_in() - before.0) as usize;
            packed = &packed[used..];
            if content.len() as u64 > wanted {
                if wanted == entry.size() {
                    return Err(damaged(entry, "it holds more than it claims"));
                }
                self.charge(entry, to_usize(wanted)?.saturating_sub(before.1))?;
                return Ok(Fed::Enough);
            }
            self.charge(entry, content.len() - before.1)?;
            if status == Status::StreamEnd {
                return Ok(Fed::Ended);
            }
            let whole = wanted == entry.size();
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

    /// Where the packed bytes begin. The local header is looked at because only it knows its length.
    fn data_start(&self, entry: Entry<'_>) -> Result<u64> {
        let header =
            self.window
                .range(&self.source, entry.record.offset, directory::LOCAL_HEADER)?;
        directory::local_header_length(&header)
            .map(|length| entry.record.offset + length)
            .ok_or_else(|| damaged(entry, "there is no local header where it should be"))
    }

    fn charge(&self, entry: Entry<'_>, len: usize) -> Result<()> {
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

    /// The entries whose name OPC takes for this one.
    fn spelled_like(&self, name: &str) -> impl Iterator<Item = Entry<'_>> {
        let hash = key_hash(name);
        let start = self.by_key.partition_point(|&(known, _)| known < hash);
        self.by_key[start..]
            .iter()
            .take_while(move |&&(known, _)| known == hash)
            .map(|&(_, index)| self.entry(index as usize))
            .filter(move |entry| key_cmp(entry.name, name) == Ordering::Equal)
    }

    /// Sorts the entries for look-ups and drops duplicates: of entries with exactly the same name the
    /// last one stays, as every reader of ZIP files has it.
    fn index(&mut self) -> Result<()> {
        if u32::try_from(self.records.len()).is_err() {
            return Err(ProbeError::malformed(
                "the archive has more entries than a ZIP file can",
            ));
        }
        self.by_key = self.sorted();
        let name = |index: u32| self.records[index as usize].name(&self.names);
        let duplicates: Vec<u32> = self
            .by_key
            .windows(2)
            .filter(|pair| pair[0].0 == pair[1].0 && name(pair[0].1) == name(pair[1].1))
            .map(|pair| pair[0].1)
            .collect();
        if !duplicates.is_empty() {
            let mut keep = vec![true; self.records.len()];
            for index in duplicates {
                keep[index as usize] = false;
            }
            let mut keep = keep.into_iter();
            self.records.retain(|_| keep.next().unwrap_or(true));
            self.by_key = self.sorted();
        }
        Ok(())
    }

    /// All entries by hash; where hashes are equal, by name and position. Names are compared only
    /// there, so the order is cheap, and names that were made to collide do not make it slow.
    fn sorted(&self) -> Vec<(u64, u32)> {
        let name = |index: u32| self.records[index as usize].name(&self.names);
        let mut sorted: Vec<(u64, u32)> = (0..)
            .zip(&self.records)
            .map(|(index, record)| (key_hash(record.name(&self.names)), index))
            .collect();
        sorted.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0)
                .then_with(|| name(a.1).cmp(name(b.1)))
                .then(a.1.cmp(&b.1))
        });
        sorted
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

/// Compares names as OPC does: ASCII case, leading slashes and the kind of slash do not count.
fn key_cmp(a: &str, b: &str) -> Ordering {
    key(a).cmp(key(b))
}

fn key(name: &str) -> impl Iterator<Item = u8> {
    name.trim_start_matches(['/', '\\'])
        .bytes()
        .map(|byte| match byte {
            b'\\' => b'/',
            other => other.to_ascii_lowercase(),
        })
}

/// FNV-1a over the key.
fn key_hash(name: &str) -> u64 {
    key(name).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn damaged(entry: Entry<'_>, why: impl std::fmt::Display) -> ProbeError {
    ProbeError::malformed(format_args!("archive entry {:?}: {why}", entry.name()))
}

fn to_usize(n: u64) -> Result<usize> {
    usize::try_from(n).map_err(|_| ProbeError::malformed("an archive entry is larger than memory"))
}

#[cfg(test)]
mod tests;
