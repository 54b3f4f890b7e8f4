//! Cross-reference data: where each object is (ISO 32000-2, 7.5.4, 7.5.8).
//!
//! Sections are kept as the bytes that they are, newest first; an entry is read when it is asked
//! for. So a table of a hundred thousand lines costs its reading and little more.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use self::Entry::At;
use super::lexer::decimal;
use crate::engine::error::Result;
use crate::engine::meter::Meter;

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
    /// Which section decides for which numbers.
    pieces: OnceCell<Vec<Piece>>,
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

/// A run of numbers, and the newest section that covers it.
#[derive(Clone, Copy, Debug)]
struct Piece {
    first: u64,
    end: u64,
    section: usize,
}

/// Entries between two looks at the clock.
const CLOCK_STEP: u64 = 1 << 16;

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
        let number = u64::from(number);
        let pieces = self.pieces();
        let at = pieces.partition_point(|piece| piece.end <= number);
        let piece = pieces.get(at).filter(|piece| piece.first <= number)?;
        self.entry(piece.section, number)
    }

    /// The entry of a number in the newest section that covers it. What is free in the table of a
    /// hybrid file may stand in the xref stream of the same revision (7.5.8.4).
    fn entry(&self, section: usize, number: u64) -> Option<Entry> {
        let entry = self.sections[section].entry(number);
        if entry != Some(Entry::Free) || self.sections[section].hybrid != Hybrid::Table {
            return entry;
        }
        let hidden = self.sections[section..]
            .iter()
            .skip_while(|section| section.hybrid == Hybrid::Table)
            .take_while(|section| section.hybrid == Hybrid::Stream)
            .find(|section| section.covers(number));
        hidden.and_then(|section| section.entry(number)).or(entry)
    }

    /// The numbers that the sections cover, ascending, cut so that in each piece one section decides.
    /// It takes memory for the sections, not for their entries.
    fn pieces(&self) -> &[Piece] {
        self.pieces.get_or_init(|| {
            let mut pieces: BTreeMap<u64, (u64, usize)> = BTreeMap::new();
            for (index, section) in self.sections.iter().enumerate() {
                let mut at = section.first;
                let end = section.first.saturating_add(section.count);
                while at < end {
                    // What newer sections cover is theirs.
                    if let Some((_, (covered, _))) = pieces.range(..=at).next_back()
                        && *covered > at
                    {
                        at = *covered;
                        continue;
                    }
                    let next = pieces.range(at..).next().map_or(end, |(first, _)| *first);
                    let next = next.min(end);
                    pieces.insert(at, (next, index));
                    at = next;
                }
            }
            let piece = |(first, (end, section))| Piece {
                first,
                end,
                section,
            };
            pieces.into_iter().map(piece).collect()
        })
    }

    /// Most objects that there can be: the numbers that the sections cover.
    pub(crate) fn claimed(&self) -> u64 {
        self.pieces()
            .iter()
            .map(|piece| piece.end - piece.first)
            .sum()
    }

    /// Objects in use.
    ///
    /// # Errors
    /// `BUDGET_EXCEEDED` past the time limit.
    pub(crate) fn in_use(&self, meter: &Meter) -> Result<u64> {
        let mut count = 0;
        for piece in self.pieces() {
            let section = &self.sections[piece.section];
            // Number 0 is the head of the free list.
            let numbers = piece.first.max(1)..piece.end;
            if let (Records::Lines(lines), Hybrid::No) = (&section.records, section.hybrid) {
                let skip = numbers.start.saturating_sub(section.first);
                let take = numbers.end.saturating_sub(numbers.start);
                count += lines
                    .as_chunks::<LINE>()
                    .0
                    .iter()
                    .skip(usize::try_from(skip).unwrap_or(usize::MAX))
                    .take(usize::try_from(take).unwrap_or(usize::MAX))
                    .filter(|line| line[17] == b'n' && line[..10] != *b"0000000000")
                    .count() as u64;
                continue;
            }
            for number in numbers {
                if number.is_multiple_of(CLOCK_STEP) {
                    meter.check_clock()?;
                }
                let entry = self.entry(piece.section, number);
                count += u64::from(entry.is_some_and(|entry| entry != Entry::Free));
            }
        }
        Ok(count)
    }
}
