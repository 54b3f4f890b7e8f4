//! Dates as documents write them, in one syntax: RFC 3339 in UTC, to the second.

/// A date in UTC.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Utc {
    /// `YYYY-MM-DDTHH:MM:SSZ`.
    pub(crate) text: String,
    /// Whether the document says in which zone it counts. If not, UTC is taken.
    pub(crate) has_zone: bool,
}

/// Converts a PDF date (`D:20260131120000+01'00'`) or an ISO 8601 one. Missing parts are the earliest
/// possible ones. `None` for anything else, for days that do not exist, and outside years 1 to 9999.
pub(crate) fn to_utc(text: &str) -> Option<Utc> {
    let text = text.trim();
    let rest = text.strip_prefix("D:").unwrap_or(text);
    let mut reader = Reader(rest.as_bytes());
    let year = reader.digits(4)?;
    let mut parts = [1, 1, 0, 0, 0];
    // Between parts ISO 8601 has a separator and PDF has none.
    for (part, separator) in parts.iter_mut().zip([b'-', b'-', b'T', b':', b':']) {
        let before = reader.0;
        let separated = reader.take(separator) || separator == b'T' && reader.take(b' ');
        match reader.digits(2) {
            Some(value) => *part = value,
            None if separated && separator != b'-' => return None,
            None => {
                reader.0 = before;
                break;
            }
        }
    }
    reader.fraction();
    let offset = reader.zone()?;
    let [month, day, hour, minute, second] = parts;
    // A leap second is counted as the last one of its minute.
    let second = second.min(59).max(if second > 60 { 99 } else { 0 });
    let is_time = hour < 24 && minute < 60 && second < 60;
    if !(1..=12).contains(&month) || day < 1 || day > days_in(year, month) || !is_time {
        return None;
    }
    let minutes = (days_before(year, month) + day - 1) * 1440 + hour * 60 + minute;
    let utc = minutes - offset.unwrap_or(0);
    let (year, month, day) = date_of(utc.div_euclid(1440))?;
    let of_day = utc.rem_euclid(1440);
    let (hour, minute) = (of_day / 60, of_day % 60);
    Some(Utc {
        text: format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"),
        has_zone: offset.is_some(),
    })
}

struct Reader<'t>(&'t [u8]);

impl Reader<'_> {
    fn take(&mut self, byte: u8) -> bool {
        let found = self.0.first() == Some(&byte);
        self.0 = &self.0[usize::from(found)..];
        found
    }

    /// A number of exactly `count` digits.
    fn digits(&mut self, count: usize) -> Option<i64> {
        let digits = self.0.get(..count)?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        self.0 = &self.0[count..];
        let value = |sum, digit: &u8| sum * 10 + i64::from(digit - b'0');
        Some(digits.iter().fold(0, value))
    }

    fn fraction(&mut self) {
        if self.take(b'.') || self.take(b',') {
            while self.0.first().is_some_and(u8::is_ascii_digit) {
                self.0 = &self.0[1..];
            }
        }
    }

    /// The offset from UTC in minutes at the end of the text; `Some(None)` without one, `None` when
    /// something else follows.
    fn zone(&mut self) -> Option<Option<i64>> {
        let sign = match self.0.first() {
            None => return Some(None),
            Some(b'+') => 1,
            Some(b'-') => -1,
            // PDF writers put an offset of zero behind the letter.
            Some(b'Z' | b'z') => 0,
            Some(_) => return None,
        };
        self.0 = &self.0[1..];
        let hours = self.digits(2).or((sign == 0).then_some(0))?;
        let _separator = self.take(b'\'') || self.take(b':');
        let minutes = self.digits(2).unwrap_or(0);
        let _end = self.take(b'\'');
        (self.0.is_empty() && hours < 24 && minutes < 60)
            .then_some(Some(sign * (hours * 60 + minutes)))
    }
}

const fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

const fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from the first day of year 1 to the first of a month.
fn days_before(year: i64, month: i64) -> i64 {
    let past = year - 1;
    let years = past * 365 + past / 4 - past / 100 + past / 400;
    years + (1..month).map(|month| days_in(year, month)).sum::<i64>()
}

/// The date of a day counted from the first day of year 1. `None` outside years 1 to 9999.
fn date_of(day: i64) -> Option<(i64, i64, i64)> {
    // 146,097 days are 400 years.
    let mut year = day * 400 / 146_097 + 1;
    while day < days_before(year, 1) {
        year -= 1;
    }
    while day >= days_before(year + 1, 1) {
        year += 1;
    }
    let month = (1..=12)
        .rev()
        .find(|month| days_before(year, *month) <= day)?;
    let in_range = day >= 0 && (1..=9999).contains(&year);
    in_range.then(|| (year, month, day - days_before(year, month) + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_documents_become_rfc_3339_in_utc() {
        for (written, utc, has_zone) in [
            ("D:20260131120000+01'00'", "2026-01-31T11:00:00Z", true),
            ("D:20260131120000-08'00", "2026-01-31T20:00:00Z", true),
            ("D:20260131120000Z00'00'", "2026-01-31T12:00:00Z", true),
            ("D:20260131120000Z", "2026-01-31T12:00:00Z", true),
            ("20260131120000", "2026-01-31T12:00:00Z", false),
            ("D:202601311200", "2026-01-31T12:00:00Z", false),
            ("D:2026", "2026-01-01T00:00:00Z", false),
            ("D:20240229235959+0530", "2024-02-29T18:29:59Z", true),
            ("2026-01-01T00:30:00+01:00", "2025-12-31T23:30:00Z", true),
            ("2026-02-28T23:59:60Z", "2026-02-28T23:59:59Z", true),
            ("2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05Z", true),
            ("2026-01-02 03:04:05", "2026-01-02T03:04:05Z", false),
            ("2026-01-02T03:04Z", "2026-01-02T03:04:00Z", true),
            ("2026-01-02", "2026-01-02T00:00:00Z", false),
            ("2026-01", "2026-01-01T00:00:00Z", false),
            (" 2000-02-29T00:00:00Z ", "2000-02-29T00:00:00Z", true),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z", true),
        ] {
            let found = to_utc(written).unwrap_or_else(|| panic!("{written}"));
            assert_eq!(
                (found.text.as_str(), found.has_zone),
                (utc, has_zone),
                "{written}"
            );
        }
    }

    #[test]
    fn what_is_not_a_date_is_none() {
        for written in [
            "",
            "D:",
            "yesterday",
            "Mon Jan  2 03:04:05 2026",
            "2026-13-01",
            "2026-02-29",
            "2026-01-02T25:00:00Z",
            "2026-01-02T03:04:61Z",
            "2026-01-02T03:",
            "2026-01-02T03:04:05+25:00",
            "2026-01-02T03:04:05 and more",
            "0001-01-01T00:00:00+01:00",
            "9999-12-31T23:59:59-01:00",
            "0000-01-01",
            "D:2026013\u{661}",
        ] {
            assert_eq!(to_utc(written), None, "{written}");
        }
    }

    #[test]
    fn every_day_of_400_years_comes_back() {
        let mut day = days_before(1900, 1);
        for year in 1900..2300 {
            for month in 1..=12 {
                for of_month in 1..=days_in(year, month) {
                    assert_eq!(date_of(day), Some((year, month, of_month)));
                    day += 1;
                }
            }
        }
    }
}
