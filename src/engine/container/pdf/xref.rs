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

    /// The line of a number that the section covers, if it has lines of 20 bytes.
    fn line(&self, number: u64) -> Option<&[u8; LINE]> {
        let Records::Lines(lines) = &self.records else {
            return None;
        };
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        lines.get(index.checked_mul(LINE)?..)?.first_chunk()
    }

    /// The entry of a number that the section covers.
    fn entry(&self, number: u64) -> Option<Entry> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let entry = match &self.records {
            Records::Lines(_) => {
                let line = self.line(number)?;
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

/// Whether a line is that of an object: `n`, with a place other than the very start.
fn is_line_in_use(line: &[u8; LINE]) -> bool {
    let digits = &line[..10];
    line[17] == b'n' && digits.iter().all(u8::is_ascii_digit) && digits != b"0000000000"
}

/// Reads one record of an xref stream (7.5.8.3).
fn fields(data: &[u8], widths: [u8; 3], index: usize) -> Option<Entry> {
    let stride = stride(widths);
    let record = data.get(index.checked_mul(stride)?..)?.get(..stride)?;
    record_entry(record, widths)
}

/// Bytes of a record.
pub(super) fn stride(widths: [u8; 3]) -> usize {
    widths.iter().map(|width| usize::from(*width)).sum()
}

fn record_entry(mut record: &[u8], widths: [u8; 3]) -> Option<Entry> {
    let mut take = |width: u8| {
        let (field, rest) = record.split_at_checked(usize::from(width))?;
        record = rest;
        let value = field
            .iter()
            .fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
        Some(value)
    };
    let kind = if widths[0] == 0 { 1 } else { take(widths[0])? };
    let (second, third) = (take(widths[1])?, take(widths[2])?);
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
        self.entry(self.piece(number)?.section, number)
    }

    /// Whether the newest entry of an object says that there is one.
    pub(crate) fn is_in_use(&self, number: u32) -> bool {
        let number = u64::from(number);
        let Some(piece) = self.piece(number) else {
            return false;
        };
        let section = &self.sections[piece.section];
        match section.line(number) {
            Some(line) if section.hybrid == Hybrid::No => is_line_in_use(line),
            _ => self
                .entry(piece.section, number)
                .is_some_and(|entry| entry != Entry::Free),
        }
    }

    fn piece(&self, number: u64) -> Option<&Piece> {
        let pieces = self.pieces();
        let at = pieces.partition_point(|piece| piece.end <= number);
        pieces.get(at).filter(|piece| piece.first <= number)
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
    /// `BUDGET_EXCEEDED` past the time limit.
    pub(crate) fn in_use(&self, meter: &Meter) -> Result<u64> {
        let mut count = 0;
        for piece in self.pieces() {
            let section = &self.sections[piece.section];
            // Number 0 is the head of the free list.
            let numbers = piece.first.max(1)..piece.end;
            let place = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
            let skip = place(numbers.start.saturating_sub(section.first));
            let take = place(numbers.end.saturating_sub(numbers.start));
            if let (Records::Lines(lines), Hybrid::No) = (&section.records, section.hybrid) {
                let lines = lines.as_chunks::<LINE>().0.iter().skip(skip).take(take);
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
                    .filter_map(|record| record_entry(record, *widths))
                    .filter(|entry| !matches!(entry, Entry::Free | At(0)))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Level, Limits};

    /// Numbers 3 to 8 in lines, 20 to 25 in records of a stream.
    fn xref() -> Xref<'static> {
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
        xref.sections.push(section(3, Records::Lines(LINES)));
        xref.sections
            .push(section(20, Records::Fields(RECORDS, [1, 1, 1])));
        xref
    }

    #[test]
    fn what_is_in_use_is_the_same_looked_up_asked_for_and_counted() {
        let xref = xref();
        let is_object = |number: &u32| {
            let entry = xref.lookup(*number);
            entry.is_some_and(|entry| entry != Entry::Free)
        };
        let looked_up: Vec<u32> = (0..40).filter(is_object).collect();
        assert_eq!(looked_up, [3, 8, 21, 23, 25]);
        let asked: Vec<u32> = (0..40).filter(|number| xref.is_in_use(*number)).collect();
        assert_eq!(asked, looked_up);
        let meter = Meter::start(Limits::of(Level::Metadata));
        // The count of lines does not look into every digit.
        assert_eq!(xref.in_use(&meter).unwrap(), 6);
    }
}
