//! Cross-reference data: where each object is (ISO 32000-2, 7.5.4, 7.5.8).
//!
//! Sections are kept as bytes, newest first, and an entry is parsed when it is needed: to load one
//! object of a table of a hundred thousand lines, one line is read.

use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;

use self::Entry::At;
use super::lexer::decimal;
use super::store::Store;
use crate::engine::error::Result;

/// Where an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Free,
    /// The record is damaged, or says "in use, at offset 0", where no object can be.
    Invalid,
    /// Offset in the file.
    At(u64),
    /// Within an object stream.
    In {
        container: u32,
        index: u32,
    },
}

impl Entry {
    /// Whether the entry says where an object is.
    pub(super) fn is_in_use(self) -> bool {
        matches!(self, At(_) | Self::In { .. })
    }
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
    Lines(Lines<'p>),
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

/// A run of well-formed lines, read when they are needed.
pub(super) struct Lines<'p> {
    at: u64,
    len: usize,
    whole: OnceCell<&'p [u8]>,
    /// Lines that were read one by one.
    single: Cell<u32>,
}

/// A run that is not longer is read at once.
pub(super) const SHORT_RUN: usize = 2 * 1024;

/// After so many single lines the whole run is read, since more are likely to follow.
const MAX_SINGLE: u32 = 16;

impl<'p> Lines<'p> {
    /// Lines that are there.
    pub(super) fn read(lines: &'p [u8]) -> Self {
        Self {
            at: 0,
            len: lines.len(),
            whole: OnceCell::from(lines),
            single: Cell::new(0),
        }
    }

    /// So many bytes of lines at a place of the file.
    pub(super) fn unread(at: u64, len: usize) -> Self {
        Self {
            at,
            len,
            whole: OnceCell::new(),
            single: Cell::new(0),
        }
    }

    fn whole(&self, store: &Store<'p>) -> Result<&'p [u8]> {
        if let Some(lines) = self.whole.get() {
            return Ok(lines);
        }
        let window = store.window(self.at, self.len)?;
        let lines = &window[..window.len().min(self.len)];
        Ok(self.whole.get_or_init(|| lines))
    }

    fn line(&self, store: &Store<'p>, index: usize) -> Result<Option<&'p [u8; LINE]>> {
        let Some(start) = index.checked_mul(LINE).filter(|start| *start < self.len) else {
            return Ok(None);
        };
        if self.whole.get().is_some() || self.single.get() >= MAX_SINGLE {
            return Ok(self.whole(store)?[start..].first_chunk());
        }
        self.single.set(self.single.get() + 1);
        Ok(store.window(self.at + start as u64, LINE)?.first_chunk())
    }
}

impl<'p> Section<'p> {
    fn covers(&self, number: u64) -> bool {
        number >= self.first && number - self.first < self.count
    }

    /// The entry of a number that the section covers.
    fn entry(&self, store: &Store<'p>, number: u64) -> Result<Option<Entry>> {
        let index = number.checked_sub(self.first).map(usize::try_from);
        let Some(Ok(index)) = index else {
            return Ok(None);
        };
        Ok(match &self.records {
            Records::Lines(lines) => lines.line(store, index)?.map(line_entry),
            Records::Fields(data, widths) => fields(data, *widths, index),
            Records::Parsed(entries) => entries.get(index).copied(),
        })
    }
}

fn line_entry(line: &[u8; LINE]) -> Entry {
    match line[17] {
        b'n' => decimal(&line[..10]).map_or(Entry::Invalid, at),
        b'f' => Entry::Free,
        _ => Entry::Invalid,
    }
}

/// The entry of an object at an offset.
pub(super) fn at(offset: u64) -> Entry {
    match offset {
        0 => Entry::Invalid,
        offset => At(offset),
    }
}

/// Whether a line is that of an object: `n`, with an offset other than 0.
fn is_line_in_use(line: &[u8; LINE]) -> bool {
    let digits = &line[..10];
    line[17] == b'n' && digits.iter().all(u8::is_ascii_digit) && digits != b"0000000000"
}

/// Reads one record of an xref stream (7.5.8.3).
fn fields(data: &[u8], widths: [u8; 3], index: usize) -> Option<Entry> {
    let stride = stride(widths);
    let record = data.get(index.checked_mul(stride)?..)?.get(..stride)?;
    Some(record_entry(record, widths))
}

/// Bytes of a record.
pub(super) fn stride(widths: [u8; 3]) -> usize {
    widths.iter().map(|width| usize::from(*width)).sum()
}

/// The entry of a whole record.
fn record_entry(mut record: &[u8], widths: [u8; 3]) -> Entry {
    let mut take = |width: u8| {
        let (field, rest) = record.split_at(usize::from(width).min(record.len()));
        record = rest;
        field
            .iter()
            .fold(0_u64, |value, byte| value << 8 | u64::from(*byte))
    };
    let kind = if widths[0] == 0 { 1 } else { take(widths[0]) };
    let (second, third) = (take(widths[1]), take(widths[2]));
    match (kind, u32::try_from(second), u32::try_from(third)) {
        (1, ..) => at(second),
        (2, Ok(container), Ok(index)) => Entry::In { container, index },
        (2, ..) => Entry::Invalid,
        // Free, or of a type that the standard does not define: that reads as null.
        _ => Entry::Free,
    }
}

impl<'p> Xref<'p> {
    /// No sections. `kinds` is what the file has or had.
    pub(crate) fn without_sections(kinds: Kinds) -> Self {
        Self {
            kinds,
            ..Self::default()
        }
    }

    /// The newest entry of an object; `None` when no section knows it.
    ///
    /// # Errors
    /// Budget and I/O errors.
    pub(crate) fn lookup(&self, store: &Store<'p>, number: u32) -> Result<Option<Entry>> {
        let number = u64::from(number);
        match self.piece(number) {
            Some(piece) => self.entry(store, piece.section, number),
            None => Ok(None),
        }
    }

    /// Whether the newest entry of an object is in use.
    ///
    /// # Errors
    /// As [`Xref::lookup`].
    pub(crate) fn is_in_use(&self, store: &Store<'p>, number: u32) -> Result<bool> {
        let number = u64::from(number);
        let Some(piece) = self.piece(number) else {
            return Ok(false);
        };
        let section = &self.sections[piece.section];
        if let (Records::Lines(lines), Hybrid::No) = (&section.records, section.hybrid) {
            let index = usize::try_from(number - section.first).unwrap_or(usize::MAX);
            return Ok(lines.line(store, index)?.is_some_and(is_line_in_use));
        }
        let entry = self.entry(store, piece.section, number)?;
        Ok(entry.is_some_and(Entry::is_in_use))
    }

    fn piece(&self, number: u64) -> Option<&Piece> {
        let pieces = self.pieces();
        let at = pieces.partition_point(|piece| piece.end <= number);
        pieces.get(at).filter(|piece| piece.first <= number)
    }

    /// The entry of a number in the newest section that covers it. What is not in use in the table of
    /// a hybrid file may be in the xref stream of the same revision (7.5.8.4).
    fn entry(&self, store: &Store<'p>, section: usize, number: u64) -> Result<Option<Entry>> {
        let entry = self.sections[section].entry(store, number)?;
        if entry.is_none_or(Entry::is_in_use) || self.sections[section].hybrid != Hybrid::Table {
            return Ok(entry);
        }
        let hidden = self.sections[section..]
            .iter()
            .skip_while(|section| section.hybrid == Hybrid::Table)
            .take_while(|section| section.hybrid == Hybrid::Stream)
            .find(|section| section.covers(number));
        Ok(match hidden {
            Some(section) => section.entry(store, number)?.or(entry),
            None => entry,
        })
    }

    /// The numbers that the sections cover, ascending, cut so that in each piece one section decides.
    /// It takes memory for the sections, not for their entries.
    fn pieces(&self) -> &[Piece] {
        self.pieces.get_or_init(|| {
            if let [only] = &self.sections[..] {
                // Most files: nothing to cut.
                return vec![Piece {
                    first: only.first,
                    end: only.first.saturating_add(only.count),
                    section: 0,
                }];
            }
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
    /// Budget and I/O errors.
    pub(crate) fn in_use(&self, store: &Store<'p>) -> Result<u64> {
        let meter = store.meter();
        let mut count = 0;
        for piece in self.pieces() {
            let section = &self.sections[piece.section];
            // Number 0 is the head of the free list.
            let numbers = piece.first.max(1)..piece.end;
            let place = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
            let skip = place(numbers.start.saturating_sub(section.first));
            let take = place(numbers.end.saturating_sub(numbers.start));
            if let (Records::Lines(lines), Hybrid::No) = (&section.records, section.hybrid) {
                let lines = lines.whole(store)?.as_chunks::<LINE>().0;
                let lines = lines.iter().skip(skip).take(take);
                count += lines
                    .filter(|line| line[17] == b'n' && line[..10] != *b"0000000000")
                    .count() as u64;
                continue;
            }
            if let (Records::Fields(data, widths), Hybrid::No) = (&section.records, section.hybrid)
            {
                if data.len() as u64 > CLOCK_STEP {
                    meter.check_clock()?;
                }
                let records = data.chunks_exact(stride(*widths)).skip(skip).take(take);
                count += records
                    .filter(|record| record_entry(record, *widths).is_in_use())
                    .count() as u64;
                continue;
            }
            for number in numbers {
                if number.is_multiple_of(CLOCK_STEP) {
                    meter.check_clock()?;
                }
                let entry = self.entry(store, piece.section, number)?;
                count += u64::from(entry.is_some_and(Entry::is_in_use));
            }
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Level;
    use crate::engine::source::Source;

    /// Numbers 3 to 8 in lines, 20 to 25 in records of a stream.
    fn xref<'p>() -> Xref<'p> {
        const LINES: &[u8] = b"0000000017 00000 n \n0000000000 65535 f \n0000000000 00000 n \n\
            00000x0017 00000 n \n0000000009 00000 x \n9999999999 00000 n \n";
        const RECORDS: &[u8] = &[0, 9, 0, 1, 9, 0, 1, 0, 0, 2, 9, 0, 3, 9, 0, 2, 0, 1];
        let section = |first, records| Section {
            first,
            count: 6,
            records,
            hybrid: Hybrid::No,
        };
        let mut xref = Xref::default();
        xref.sections
            .push(section(3, Records::Lines(Lines::read(LINES))));
        xref.sections
            .push(section(20, Records::Fields(RECORDS, [1, 1, 1])));
        xref
    }

    #[test]
    fn lookup_and_count_agree_on_entries_in_use() {
        let source = Source::for_test("x.pdf", b"");
        let store = Store::new(&source, Level::Deep);
        let xref = xref();
        let is_object = |number: &u32| {
            let entry = xref.lookup(&store, *number).unwrap();
            entry.is_some_and(Entry::is_in_use)
        };
        let looked_up: Vec<u32> = (0..40).filter(is_object).collect();
        assert_eq!(looked_up, [3, 8, 21, 23, 25]);
        let is_in_use = |number: &u32| xref.is_in_use(&store, *number).unwrap();
        let asked: Vec<u32> = (0..40).filter(is_in_use).collect();
        assert_eq!(asked, looked_up);
        // The count of lines does not look into every digit.
        assert_eq!(xref.in_use(&store).unwrap(), 6);
    }

    #[test]
    fn a_long_table_is_read_line_by_line_for_few_objects_and_whole_for_many() {
        let lines: String = (0..10_000).map(|n| format!("{n:010} 00000 n \n")).collect();
        let source = Source::for_test("x.pdf", lines.as_bytes());
        let store = Store::new(&source, Level::Header);
        let section = Section {
            first: 0,
            count: 10_000,
            records: Records::Lines(Lines::unread(0, lines.len())),
            hybrid: Hybrid::No,
        };
        let entry = |number| section.entry(&store, number).unwrap();
        assert_eq!(entry(7_000), Some(At(7_000)));
        assert!(source.meter().cost().physical_bytes <= 2048);
        for number in 1..10_000 {
            assert_eq!(entry(number), Some(At(number)));
        }
        assert_eq!(entry(10_000), None);
        assert!(source.meter().cost().random_reads <= 40);
        assert!(source.meter().cost().physical_bytes <= 200_000);
    }
}
