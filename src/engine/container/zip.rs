//! ZIP archives: the directory from the tail of the file, and single entries by position.
//!
//! Opening reads the last 2 KiB, which hold the end record and mostly the whole central directory;
//! what is missing of the directory is read in one piece. An entry costs its packed bytes, and its local
//! header only where the directory does not show where they begin. Everything that the file says about itself (counts,
//! sizes, offsets) is a claim that is checked against what is there before memory is taken.
//!
//! Written here and not taken from a crate because a probe has to account for every byte: the crates
//! read the directory a second time, or all of it through a buffer of their own, and report a spent
//! budget as an I/O error that cannot be told from an absent part.

mod content;
mod directory;
mod stream;
mod window;

use std::cell::{OnceCell, RefCell};
use std::cmp::Ordering;

use flate2::Decompress;

pub(crate) use self::content::{Beginning, Steps};
use self::directory::Record;
pub(crate) use self::stream::EntryStream;
use self::window::Window;
use crate::engine::error::{ProbeError, Result};
use crate::engine::source::Source;

/// Packed bytes that are held in memory at a time.
const CHUNK: u64 = 256 * 1024;

/// An open archive. It knows its entries and has read none of them.
pub(crate) struct Archive<'s> {
    source: Held<'s>,
    window: Window,
    /// All names, one after the other.
    names: String,
    /// Every entry once, in the order of the directory.
    records: Vec<Record>,
    /// For look-ups: half a hash of each name's key above its index in `records`, ascending.
    by_key: Vec<u64>,
    /// Where the central directory begins.
    end: u64,
    /// Where local headers begin, and the end of the last entry; ascending. Made at first need.
    borders: OnceCell<Vec<u64>>,
    /// Taken at the first packed entry and used again for the others: its tables are not small.
    inflate: RefCell<Option<Decompress>>,
}

thread_local! {
    /// The decompressor of the last archive, for the next one.
    static SPARE: RefCell<Option<Decompress>> = const { RefCell::new(None) };
}

impl Drop for Archive<'_> {
    fn drop(&mut self) {
        if let Some(inflate) = self.inflate.take() {
            SPARE.with(|spare| spare.replace(Some(inflate)));
        }
    }
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

    /// The name as written in the directory.
    pub(crate) fn name(self) -> &'a str {
        self.name
    }

    /// The name without leading slashes.
    pub(crate) fn trimmed_name(self) -> &'a str {
        without_slashes(self.name)
    }

    /// The unpacked size that the directory claims.
    pub(crate) fn size(self) -> u64 {
        self.record.size
    }

    /// The packed size that the directory claims.
    pub(crate) fn packed_size(self) -> u64 {
        self.record.packed_size
    }

    /// Whether the entry is only a folder.
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
            end: directory.start,
            borders: OnceCell::new(),
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
        let run = self.spelled_like(name);
        self.exactly(run, name)
            .or_else(|| run.first().map(|&known| self.entry(index_in(known))))
    }

    /// Finds an entry by its exact name.
    pub(crate) fn find_exact(&self, name: &str) -> Option<Entry<'_>> {
        self.exactly(self.spelled_like(name), name)
    }

    /// The entries whose name OPC takes for this one: a run of `by_key`.
    fn spelled_like(&self, name: &str) -> &[u64] {
        let half = key_hash(name) & HALF;
        let rest = &self.by_key[self.by_key.partition_point(|&known| known < half)..];
        let equal = &rest[..rest.partition_point(|&known| known & HALF == half)];
        match equal {
            [] => &[],
            [only] if is_same_key(self.entry(index_in(*only)).name, name) => equal,
            [_] => &[],
            // Names that were made to collide are many, and halved like all others.
            many => {
                let order = |known: u64| key_cmp(self.entry(index_in(known)).name, name);
                let start = many.partition_point(|&known| order(known).is_lt());
                let end = many.partition_point(|&known| order(known).is_le());
                &many[start..end]
            }
        }
    }

    /// The entry of exactly this name in a run: the first, or found among the others by halving.
    fn exactly(&self, run: &[u64], name: &str) -> Option<Entry<'_>> {
        let entry = |known: u64| self.entry(index_in(known));
        let (first, others) = run.split_first()?;
        if entry(*first).name == name {
            return Some(entry(*first));
        }
        let at = others.binary_search_by(|&known| entry(known).name.cmp(name));
        Some(entry(others[at.ok()?]))
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
        let name = |key: u64| self.records[index_in(key)].name(&self.names);
        let duplicates: Vec<usize> = self
            .by_key
            .windows(2)
            .filter(|pair| pair[0] & HALF == pair[1] & HALF && name(pair[0]) == name(pair[1]))
            .map(|pair| index_in(pair[0]))
            .collect();
        if !duplicates.is_empty() {
            let mut keep = vec![true; self.records.len()];
            for index in duplicates {
                keep[index] = false;
            }
            let mut keep = keep.into_iter();
            self.records.retain(|_| keep.next().unwrap_or(true));
            self.by_key = self.sorted();
        }
        self.put_last_first();
        Ok(())
    }

    /// Of names that are one for OPC, moves the last of the directory to the beginning of their run.
    fn put_last_first(&mut self) {
        let mut by_key = std::mem::take(&mut self.by_key);
        let name = |key: u64| self.records[index_in(key)].name(&self.names);
        for run in by_key
            .chunk_by_mut(|a, b| a & HALF == b & HALF && is_same_key(name(*a), name(*b)))
            .filter(|run| run.len() > 1)
        {
            if let Some(last) = (0..run.len()).max_by_key(|&at| run[at]) {
                run[..=last].rotate_right(1);
            }
        }
        self.by_key = by_key;
    }

    /// All entries by half a hash; where that is equal, by key, name and position. Names are compared
    /// only there, so the order is cheap, and names that were made to collide do not make it slow.
    fn sorted(&self) -> Vec<u64> {
        let mut sorted: Vec<u64> = (0..)
            .zip(&self.records)
            .map(|(index, record)| key_hash(record.name(&self.names)) & HALF | index)
            .collect();
        sorted.sort_unstable();
        let name = |key: u64| self.records[index_in(key)].name(&self.names);
        for equal in sorted.chunk_by_mut(|a, b| a & HALF == b & HALF) {
            if equal.len() > 1 {
                equal.sort_unstable_by(|a, b| {
                    key_cmp(name(*a), name(*b))
                        .then_with(|| name(*a).cmp(name(*b)))
                        .then(a.cmp(b))
                });
            }
        }
        sorted
    }
}

/// The upper half of a number: that of a hash. The lower half has room for any index.
const HALF: u64 = !(u32::MAX as u64);

fn index_in(key: u64) -> usize {
    (key & !HALF) as usize
}

/// For `fuzz/`: opens an archive and reads its entries in every way.
pub(crate) fn fuzz(bytes: &[u8]) {
    let limits = crate::contract::Limits::of(crate::contract::Level::Metadata);
    let kind = crate::engine::source::SourceKind::JsonlBytes;
    let Ok(source) = Source::bytes("fuzz.zip", bytes.to_vec(), kind, limits) else {
        return;
    };
    let Ok(archive) = Archive::open(&source) else {
        return;
    };
    for entry in archive.entries() {
        assert!(archive.find_exact(entry.name()).is_some());
        assert!(archive.find(&entry.name().to_ascii_uppercase()).is_some());
        if let Ok(whole) = archive.read(entry) {
            assert!(whole.len() as u64 <= entry.size());
        }
        if let Ok(prefix) = archive.read_prefix(entry, 100) {
            assert!(prefix.len() <= 100);
        }
        let steps = Steps { first: 20, next: 7 };
        let mut longest = 0;
        let _any = archive.look_into(entry, steps, |beginning| {
            longest = longest.max(beginning.bytes.len() as u64);
            None::<()>
        });
        assert!(longest <= entry.size());
        if let Ok(nested) = archive.nested(entry) {
            nested.entries().for_each(|entry| {
                let _any = nested.read(entry);
            });
        }
    }
}

/// Whether names are one for OPC: ASCII case, leading slashes and the kind of slash do not count.
fn is_same_key(a: &str, b: &str) -> bool {
    let (a, b) = (without_slashes(a), without_slashes(b));
    a.len() == b.len() && (a == b || a.bytes().map(folded).eq(b.bytes().map(folded)))
}

/// The order of names in which those that are one for OPC stand together.
fn key_cmp(a: &str, b: &str) -> Ordering {
    let key = |name| without_slashes(name).bytes().map(folded);
    key(a).cmp(key(b))
}

fn folded(byte: u8) -> u8 {
    match byte {
        b'\\' => b'/',
        other => other.to_ascii_lowercase(),
    }
}

/// The name without leading slashes of either kind.
fn without_slashes(name: &str) -> &str {
    let slashes = name.bytes().position(|byte| !matches!(byte, b'/' | b'\\'));
    &name[slashes.unwrap_or(name.len())..]
}

/// A hash of the key, eight bytes at a time.
fn key_hash(name: &str) -> u64 {
    let name = without_slashes(name);
    if memchr::memchr(b'\\', name.as_bytes()).is_some() {
        return hash(name.replace('\\', "/").as_bytes());
    }
    hash(name.as_bytes())
}

fn hash(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, word: [u8; 8]| {
        (hash.rotate_left(5) ^ lower(u64::from_le_bytes(word))).wrapping_mul(0x517c_c1b7_2722_0a95)
    };
    let (words, rest) = bytes.as_chunks::<8>();
    let mut tail = [0; 8];
    tail[..rest.len()].copy_from_slice(rest);
    let hash = words
        .iter()
        .fold(bytes.len() as u64, |hash, word| mix(hash, *word));
    mix(hash, tail)
}

/// Eight bytes with ASCII capitals made small.
fn lower(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let low_bits = word & (ONES * 0x7F);
    let from_a = low_bits + ONES * (0x80 - b'A' as u64);
    let beyond_z = low_bits + ONES * (0x7F - b'Z' as u64);
    let capitals = !word & (ONES * 0x80) & (from_a ^ beyond_z);
    word | capitals >> 2
}

fn damaged(entry: Entry<'_>, why: impl std::fmt::Display) -> ProbeError {
    ProbeError::malformed(format_args!("archive entry {:?}: {why}", entry.name()))
}

#[cfg(test)]
mod tests;
