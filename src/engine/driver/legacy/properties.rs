//! Property sets ([MS-OLEPS]): what `SummaryInformation` and `DocumentSummaryInformation` hold.

use super::codepage;
use crate::engine::container::cfb::{Cfb, EntryId, Stream};
use crate::engine::error::Result;

/// Name of the stream with title, author, dates and counts.
pub(super) const SUMMARY: &str = "\u{5}SummaryInformation";

/// Name of the stream with company, manager and application version.
pub(super) const DOCUMENT_SUMMARY: &str = "\u{5}DocumentSummaryInformation";

/// Most properties that are looked at. Real sets have about twenty.
const MAX_PROPERTIES: u64 = 1024;

/// Longest text that is taken for a property, in bytes.
const MAX_TEXT: u64 = 1 << 20;

/// The property that holds the code page of the others.
const CODE_PAGE: u32 = 1;

/// Value types ([MS-OLEPS] §2.15).
mod kind {
    pub(super) const I2: u16 = 2;
    pub(super) const I4: u16 = 3;
    pub(super) const BSTR: u16 = 8;
    pub(super) const UI2: u16 = 18;
    pub(super) const UI4: u16 = 19;
    pub(super) const LPSTR: u16 = 30;
    pub(super) const LPWSTR: u16 = 31;
    pub(super) const FILETIME: u16 = 64;
}

/// The first section of a property set stream. Values are read when they are asked for.
#[derive(Debug)]
pub(super) struct PropertySet<'s> {
    stream: Stream<'s>,
    section: u64,
    /// Identifier and offset within the section of each property.
    table: Vec<(u32, u32)>,
    code_page: u16,
}

impl<'s> PropertySet<'s> {
    /// Opens the property set of this name below a storage. `None` when there is none or it has no
    /// usable header.
    pub(super) fn open(cfb: &Cfb<'s>, storage: EntryId, name: &str) -> Result<Option<Self>> {
        let Some(mut stream) = cfb.stream_named(storage, name) else {
            return Ok(None);
        };
        let Some(head) = stream.read_array::<48>(0)? else {
            return Ok(None);
        };
        // Byte order mark, then the number of sections, then the first section's place.
        if head[..2] != [0xFE, 0xFF] {
            return Ok(None);
        }
        let section = u64::from(u32_in(&head, 44));
        let Some(start) = stream.read_array::<8>(section)? else {
            return Ok(None);
        };
        let count = u64::from(u32_in(&start, 4)).min(MAX_PROPERTIES);
        let table = stream.read_range(section + 8, count * 8)?;
        let table = table
            .as_chunks::<8>()
            .0
            .iter()
            .map(|row| (u32_in(row, 0), u32_in(row, 4)))
            .collect();
        let mut set = Self {
            stream,
            section,
            table,
            code_page: 1252,
        };
        if let Some(code_page) = set.number(CODE_PAGE)? {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "stored as a signed 16-bit number"
            )]
            let code_page = code_page as u16;
            set.code_page = code_page;
        }
        Ok(Some(set))
    }

    /// A number: signed types hold counts and are read as unsigned.
    pub(super) fn number(&mut self, id: u32) -> Result<Option<u64>> {
        let Some((kind, at)) = self.find(id)? else {
            return Ok(None);
        };
        let Some(value) = self.stream.read_array::<4>(at)? else {
            return Ok(None);
        };
        Ok(match kind {
            kind::I2 | kind::UI2 => Some(u64::from(u32_in(&value, 0) & 0xFFFF)),
            kind::I4 | kind::UI4 => Some(u64::from(u32_in(&value, 0))),
            _ => None,
        })
    }

    /// A text, decoded by the set's code page, up to its first NUL. Blank counts as absent.
    pub(super) fn text(&mut self, id: u32) -> Result<Option<String>> {
        let Some((kind, at)) = self.find(id)? else {
            return Ok(None);
        };
        let Some(length) = self.stream.read_array::<4>(at)? else {
            return Ok(None);
        };
        let length = u64::from(u32_in(&length, 0));
        let text = match kind {
            // The length counts bytes, also where the code page is UTF-16.
            kind::LPSTR | kind::BSTR => {
                let bytes = self.stream.read_range(at + 4, length.min(MAX_TEXT))?;
                if self.code_page == codepage::UTF16 {
                    utf16_until_nul(&bytes)
                } else {
                    let end = memchr::memchr(0, &bytes).unwrap_or(bytes.len());
                    codepage::decode(self.code_page, &bytes[..end])
                }
            }
            // The length counts UTF-16 units.
            kind::LPWSTR => {
                let bytes =
                    (self.stream).read_range(at + 4, length.saturating_mul(2).min(MAX_TEXT))?;
                utf16_until_nul(&bytes)
            }
            _ => None,
        };
        Ok(text.filter(|text| !text.trim().is_empty()))
    }

    /// A point in time in ISO form, whole seconds of UTC.
    pub(super) fn time(&mut self, id: u32) -> Result<Option<String>> {
        Ok(self.ticks(id)?.and_then(iso_time))
    }

    /// A time or a duration in units of 100 ns.
    pub(super) fn ticks(&mut self, id: u32) -> Result<Option<u64>> {
        match self.find(id)? {
            Some((kind::FILETIME, at)) => {
                let ticks = self.stream.read_array::<8>(at)?;
                Ok(ticks.map(u64::from_le_bytes))
            }
            _ => Ok(None),
        }
    }

    /// The type of a property and where its value begins in the stream.
    fn find(&mut self, id: u32) -> Result<Option<(u16, u64)>> {
        let Some((_, offset)) = self.table.iter().find(|(known, _)| *known == id) else {
            return Ok(None);
        };
        let at = self.section + u64::from(*offset);
        let kind = self.stream.read_array::<2>(at)?;
        Ok(kind.map(|kind| (u16::from_le_bytes(kind), at + 4)))
    }
}

fn u32_in(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..at + 4)
        .and_then(|field| field.try_into().ok())
        .map_or(0, u32::from_le_bytes)
}

fn utf16_until_nul(bytes: &[u8]) -> Option<String> {
    let units = (bytes.as_chunks::<2>().0.iter())
        .map(|pair| u16::from_le_bytes(*pair))
        .take_while(|unit| *unit != 0);
    Some(
        char::decode_utf16(units)
            .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect(),
    )
}

/// A FILETIME (100 ns since 1601) as `YYYY-MM-DDTHH:MM:SSZ`. What lies within a day of its epoch is a
/// duration or an unset field, no date; so is what lies beyond the year 9999.
fn iso_time(ticks: u64) -> Option<String> {
    const SECONDS_A_DAY: u64 = 86_400;
    let seconds = ticks / 10_000_000;
    let (days, second) = (seconds / SECONDS_A_DAY, seconds % SECONDS_A_DAY);
    if days < 2 {
        return None;
    }
    let (year, month, day) = civil_date(days);
    (year <= 9999).then(|| {
        format!(
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
            second / 3600,
            second / 60 % 60,
            second % 60
        )
    })
}

/// The Gregorian date of a day number counted from 1601-01-01, by eras of 400 years that begin on a
/// first of March, so that the leap day is the last of its year.
fn civil_date(days_since_1601: u64) -> (u64, u64, u64) {
    const DAYS_AN_ERA: u64 = 146_097;
    // 1600-03-01 begins an era; 1601-01-01 is 306 days after it.
    let days = days_since_1601 + 306;
    let (era, day_of_era) = (days / DAYS_AN_ERA, days % DAYS_AN_ERA);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = 1600 + era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_times_are_civil_dates() {
        let cases = [
            (0, None),
            (86_399 * 10_000_000, None),
            (116_444_736_000_000_000, Some("1970-01-01T00:00:00Z")),
            (125_911_583_990_000_000, Some("1999-12-31T23:59:59Z")),
            (125_962_560_000_000_000, Some("2000-02-29T00:00:00Z")),
            (133_535_520_019_999_999, Some("2024-02-28T00:00:01Z")),
            (u64::MAX, None),
        ];
        for (ticks, expected) in cases {
            assert_eq!(iso_time(ticks).as_deref(), expected, "{ticks}");
        }
    }
}
