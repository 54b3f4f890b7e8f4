//! The workbook part and the shared strings of binary workbooks ([MS-XLSB] 2.1.7.62 and 2.1.7.48).

use super::biff12::{Records, wide_string};
use super::{Sheets, Visibility, Workbook};
use crate::engine::budget::Meter;
use crate::engine::error::Result;

// Record types (2.3.2).
const SST_ITEM: u16 = 19;
const NAME: u16 = 39;
const END_BOOK: u16 = 132;
const END_BUNDLE_SHEETS: u16 = 144;
const BUNDLE_SHEET: u16 = 156;
const BEGIN_SST: u16 = 159;
const END_SST: u16 = 160;

/// Reads a workbook part.
///
/// # Errors
/// Budget errors.
pub(in super::super) fn workbook(bytes: &[u8], meter: &Meter) -> Result<Workbook> {
    let mut workbook = Workbook::default();
    let mut sheets = Sheets::default();
    let mut names = Some(Vec::new());
    let mut defined = 0;
    for (index, record) in Records(bytes).enumerate() {
        if index.is_multiple_of(4096) {
            meter.check_clock()?;
        }
        let Ok(record) = record else { break };
        match record.kind {
            BUNDLE_SHEET => match bundle_sheet(record.data) {
                Some((visibility, name)) => {
                    sheets.count(visibility);
                    if let Some(names) = &mut names {
                        names.push(name);
                    }
                }
                None => {
                    sheets.count(Visibility::Visible);
                    names = None;
                }
            },
            END_BUNDLE_SHEETS => {
                workbook.sheets = Some(Sheets {
                    names: names.take(),
                    ..std::mem::take(&mut sheets)
                });
            }
            NAME => defined += 1,
            END_BOOK => {
                workbook.defined_names = Some(defined);
                break;
            }
            _ => {}
        }
    }
    Ok(workbook)
}

/// Whether a sheet is shown, and its name (`BrtBundleSh`, 2.4.304).
fn bundle_sheet(data: &[u8]) -> Option<(Visibility, String)> {
    let (state, mut rest) = data.split_at_checked(8)?;
    let state = u32::from_le_bytes(state[..4].try_into().ok()?);
    let _relationship = wide_string(&mut rest)?;
    let name = wide_string(&mut rest)?;
    let visibility = match state {
        1 => Visibility::Hidden,
        2 => Visibility::VeryHidden,
        _ => Visibility::Visible,
    };
    Some((visibility, name))
}

/// Counts the strings of a shared string part. `None` when it does not end as it should.
///
/// # Errors
/// `MALFORMED_INPUT` when a record is cut off; budget errors.
pub(in super::super) fn shared_strings(bytes: &[u8], meter: &Meter) -> Result<u64> {
    let mut count = 0;
    let mut inside = false;
    for (index, record) in Records(bytes).enumerate() {
        if index.is_multiple_of(4096) {
            meter.check_clock()?;
        }
        match record?.kind {
            BEGIN_SST => inside = true,
            SST_ITEM if inside => count += 1,
            END_SST => break,
            _ => {}
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Level, Limits};

    fn record(kind: u16, data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut number = |mut n: usize| loop {
            let byte = (n & 0x7F) as u8;
            n >>= 7;
            out.push(if n > 0 { byte | 0x80 } else { byte });
            if n == 0 {
                break;
            }
        };
        number(kind.into());
        number(data.len());
        out.extend(data);
        out
    }

    fn sheet(state: u32, name: &str) -> Vec<u8> {
        let mut data = [state.to_le_bytes(), 1_u32.to_le_bytes()].concat();
        for text in ["rId1", name] {
            data.extend((text.encode_utf16().count() as u32).to_le_bytes());
            data.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
        }
        record(BUNDLE_SHEET, &data)
    }

    fn meter() -> Meter {
        Meter::start(Limits::of(Level::Deep))
    }

    #[test]
    fn sheets_and_names_come_from_the_records() {
        let stream = [
            record(131, b""),
            sheet(0, "Ж"),
            sheet(1, "b"),
            sheet(2, &"c".repeat(100)),
            record(END_BUNDLE_SHEETS, b""),
            record(NAME, &[0; 200]),
            record(END_BOOK, b""),
        ]
        .concat();
        let workbook = workbook(&stream, &meter()).unwrap();
        let sheets = workbook.sheets.unwrap();
        assert_eq!((sheets.count, sheets.hidden), (3, 2));
        assert_eq!(
            sheets.names.unwrap(),
            ["Ж".to_owned(), "b".into(), "c".repeat(100)]
        );
        assert_eq!(workbook.defined_names, Some(1));
    }

    #[test]
    fn a_stream_that_is_cut_off_says_only_what_it_said() {
        let whole = [
            sheet(0, "a"),
            record(END_BUNDLE_SHEETS, b""),
            record(NAME, &[0; 10]),
        ]
        .concat();
        let workbook = workbook(&whole[..whole.len() - 3], &meter()).unwrap();
        assert_eq!(workbook.sheets.unwrap().count, 1);
        assert_eq!(workbook.defined_names, None);
        // A string that claims more than its record has.
        let lying = [
            record(BUNDLE_SHEET, &[0, 0, 0, 0, 1, 0, 0, 0, 255, 255, 255, 127]),
            record(END_BUNDLE_SHEETS, b""),
        ]
        .concat();
        let sheets = super::workbook(&lying, &meter()).unwrap().sheets.unwrap();
        assert_eq!((sheets.count, sheets.names), (1, None));
    }

    #[test]
    fn shared_strings_are_counted() {
        let stream = [
            record(BEGIN_SST, &[9; 8]),
            record(SST_ITEM, &[0; 5]),
            record(SST_ITEM, &[0; 5]),
            record(END_SST, b""),
        ]
        .concat();
        assert_eq!(shared_strings(&stream, &meter()), Ok(2));
        assert!(shared_strings(&stream[..12], &meter()).is_err());
    }
}
