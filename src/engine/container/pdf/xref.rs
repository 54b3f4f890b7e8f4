//! Cross-reference data: where each object is (ISO 32000-2, 7.5.4, 7.5.8).
//!
//! Sections are kept as the bytes that they are, newest first; an entry is read when it is asked
//! for. So a table of a hundred thousand lines costs its reading and little more.

use std::cell::OnceCell;
use std::collections::HashMap;

use self::Entry::At;
use super::lexer::decimal;

/// Where an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Free,
    /// Offset in the file.
    At(u64),
    /// Within an object stream.
    In {
        container: u32,
        index: u32,
    },
}

/// Cross-reference sections, newest first.
#[derive(Default)]
pub(crate) struct Xref<'p> {
    pub(super) sections: Vec<Section<'p>>,
    /// All sections as one, made when there are so many that asking one by one is slow.
    merged: OnceCell<HashMap<u32, Entry>>,
    pub(crate) kinds: Kinds,
}

/// Which kinds of cross-reference data a file has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kinds {
    pub(crate) tables: bool,
    pub(crate) streams: bool,
}

/// A run of entries with ascending numbers.
pub(super) struct Section<'p> {
    pub(super) first: u64,
    pub(super) count: u64,
    pub(super) records: Records<'p>,
    /// Belongs to the table of a hybrid file: what is free here may be in the stream of the same
    /// revision, which is the next run of sections with `of_hybrid`.
    pub(super) hybrid: Hybrid,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hybrid {
    No,
    Table,
    Stream,
}

pub(super) enum Records<'p> {
    /// Lines of 20 bytes.
    Lines(&'p [u8]),
    /// Records of an xref stream with the widths of their fields.
    Fields(&'p [u8], [u8; 3]),
    /// Lines of another length.
    Parsed(Vec<Entry>),
}

/// Bytes of a well-formed line.
pub(super) const LINE: usize = 20;

/// Above this number of sections they are merged.
const MANY: usize = 16;

impl Section<'_> {
    fn covers(&self, number: u64) -> bool {
        number >= self.first && number - self.first < self.count
    }

    /// The entry of a number that the section covers.
    fn entry(&self, number: u64) -> Option<Entry> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let entry = match &self.records {
            Records::Lines(lines) => {
                let line = lines.get(index * LINE..)?.first_chunk::<LINE>()?;
                match line[17] {
                    b'n' => At(decimal(&line[..10])?),
                    b'f' => Entry::Free,
                    _ => return None,
                }
            }
            Records::Fields(data, widths) => fields(data, *widths, index)?,
            Records::Parsed(entries) => *entries.get(index)?,
        };
        // An object cannot stand at the very start: writers mean "free".
        Some(if entry == At(0) { Entry::Free } else { entry })
    }
}

/// Reads one record of an xref stream (7.5.8.3).
fn fields(data: &[u8], widths: [u8; 3], index: usize) -> Option<Entry> {
    let stride = widths
        .iter()
        .map(|width| usize::from(*width))
        .sum::<usize>();
    let mut record = data.get(index.checked_mul(stride)?..)?.get(..stride)?;
    let mut take = |width: u8| {
        let (field, rest) = record.split_at(usize::from(width));
        record = rest;
        field
            .iter()
            .fold(0_u64, |value, byte| value << 8 | u64::from(*byte))
    };
    let kind = if widths[0] == 0 { 1 } else { take(widths[0]) };
    let (second, third) = (take(widths[1]), take(widths[2]));
    Some(match kind {
        0 => Entry::Free,
        1 => At(second),
        2 => Entry::In {
            container: u32::try_from(second).ok()?,
            index: u32::try_from(third).ok()?,
        },
        // Unknown types are to be read as null.
        _ => Entry::Free,
    })
}

impl Xref<'_> {
    /// No sections, of a file that has or had such as `kinds` says.
    pub(crate) fn without_sections(kinds: Kinds) -> Self {
        Self {
            kinds,
            ..Self::default()
        }
    }

    /// The newest entry of an object; `None` when no section knows it.
    pub(crate) fn lookup(&self, number: u32) -> Option<Entry> {
        if self.sections.len() > MANY {
            return self.merged().get(&number).copied();
        }
        self.search(number, &self.sections)
    }

    fn search(&self, number: u32, sections: &[Section<'_>]) -> Option<Entry> {
        let number = u64::from(number);
        let mut found = sections
            .iter()
            .enumerate()
            .filter(|(_, section)| section.covers(number));
        let (at, section) = found.next()?;
        let entry = section.entry(number);
        if entry == Some(Entry::Free) && section.hybrid == Hybrid::Table {
            let of_same_revision = sections[at..]
                .iter()
                .skip_while(|section| section.hybrid == Hybrid::Table)
                .take_while(|section| section.hybrid == Hybrid::Stream)
                .find(|section| section.covers(number));
            return of_same_revision
                .and_then(|section| section.entry(number))
                .or(entry);
        }
        entry
    }

    /// Sections in an order in which the first that knows a number decides.
    fn merged(&self) -> &HashMap<u32, Entry> {
        self.merged.get_or_init(|| {
            let mut merged: HashMap<u32, (Entry, usize)> = HashMap::new();
            let mut revision = 0;
            let mut before = Hybrid::No;
            for section in &self.sections {
                // A table and the stream of the same revision count as one.
                if !(before == Hybrid::Table && section.hybrid != Hybrid::No
                    || before == Hybrid::Stream && section.hybrid == Hybrid::Stream)
                {
                    revision += 1;
                }
                before = section.hybrid;
                for number in section.first..section.first + section.count {
                    let (Ok(key), Some(entry)) = (u32::try_from(number), section.entry(number))
                    else {
                        continue;
                    };
                    let known = merged.entry(key).or_insert((entry, revision));
                    let hidden = known.0 == Entry::Free
                        && known.1 == revision
                        && section.hybrid == Hybrid::Stream;
                    if hidden {
                        *known = (entry, revision);
                    }
                }
            }
            merged
                .into_iter()
                .map(|(key, (entry, _))| (key, entry))
                .collect()
        })
    }

    /// Most objects that there can be: the sections' lengths together.
    pub(crate) fn claimed(&self) -> u64 {
        self.sections.iter().map(|section| section.count).sum()
    }

    /// Objects in use.
    pub(crate) fn in_use(&self) -> u64 {
        if self.sections.len() > MANY {
            return self
                .merged()
                .iter()
                .filter(|entry| counts(*entry.0, *entry.1))
                .count() as u64;
        }
        let mut count = 0;
        for (at, section) in self.sections.iter().enumerate() {
            let newer = &self.sections[..at];
            if let ([], Records::Lines(lines), Hybrid::No) =
                (newer, &section.records, section.hybrid)
            {
                count += lines
                    .as_chunks::<LINE>()
                    .0
                    .iter()
                    .enumerate()
                    .filter(|(index, line)| {
                        line[17] == b'n'
                            && (*index > 0 || section.first > 0)
                            && line[..10] != *b"0000000000"
                    })
                    .count() as u64;
                continue;
            }
            for number in section.first..section.first + section.count {
                let Ok(key) = u32::try_from(number) else {
                    break;
                };
                let is_newest = !newer.iter().any(|section| section.covers(number));
                let entry = if section.hybrid == Hybrid::No {
                    section.entry(number)
                } else {
                    self.search(key, &self.sections)
                };
                count += u64::from(is_newest && entry.is_some_and(|entry| counts(key, entry)));
            }
        }
        count
    }
}

/// Whether an entry stands for an object; number 0 is the head of the free list.
fn counts(number: u32, entry: Entry) -> bool {
    number != 0 && entry != Entry::Free
}
