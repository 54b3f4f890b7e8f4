//! Excel workbooks: the globals of a BIFF5 or BIFF8 stream ([MS-XLS] §2.1.7.20.3). Sheets are what the
//! globals list, so no cell is ever read.

use super::bytes::{u16_at, u32_at};
use super::codepage;
use super::encryption::{EXCEL_DEFAULT_PASSWORD, Encryption, xor_verifier};
use super::references::Outside;
use crate::engine::container::cfb::Stream;
use crate::engine::error::Result;

/// Names of the main stream: BIFF8, then BIFF5 and 7. A file saved for both holds both.
pub(super) const STREAMS: [&str; 2] = ["Workbook", "Book"];

/// Records between two looks at the clock.
const CLOCK_EVERY: u32 = 1024;

/// Longest list of sheets in bytes: about thirty thousand of them. Excel gives up far below.
const MAX_SHEET_BYTES: usize = 1 << 20;

/// Records in which FILEPASS is looked for.
const MAX_PROLOGUE: usize = 64;

/// Record types.
mod record {
    pub(super) const EOF: u16 = 0x000A;
    pub(super) const EXTERN_SHEET: u16 = 0x0017;
    pub(super) const NAME: u16 = 0x0018;
    pub(super) const FILE_PASS: u16 = 0x002F;
    pub(super) const CODE_PAGE: u16 = 0x0042;
    pub(super) const FILE_SHARING: u16 = 0x005B;
    pub(super) const TEMPLATE: u16 = 0x0060;
    pub(super) const BOUND_SHEET: u16 = 0x0085;
    pub(super) const VBA_PROJECT: u16 = 0x00D3;
    pub(super) const DRAWING_GROUP: u16 = 0x00EB;
    pub(super) const STRINGS: u16 = 0x00FC;
    pub(super) const SUP_BOOK: u16 = 0x01AE;
    pub(super) const HYPERLINK: u16 = 0x01B8;
    pub(super) const QUERY: u16 = 0x00DC;
    pub(super) const CONNECTION: u16 = 0x0876;
    pub(super) const BOF: u16 = 0x0809;
    /// As BIFF 3 and 4 number it.
    pub(super) const OLD_NAME: u16 = 0x0218;
    /// A sheet of a BIFF 4 workbook.
    pub(super) const SHEET_HEADER: u16 = 0x008F;
}

/// Kinds of sheets in BOUNDSHEET, and of substreams in BOF.
const MACRO_SHEET: u8 = 1;
const MACRO_SUBSTREAM: u16 = 0x0040;

/// The substream of a BIFF 4 workbook that holds several sheets.
const WORKBOOK_SUBSTREAM: u16 = 0x0100;

/// The version of BIFF that a stream begins with, by its first record. `None` when it is not BIFF.
pub(super) fn version(head: &[u8]) -> Option<u16> {
    let (kind, length) = (u16_at(head, 0)?, u16_at(head, 2)?);
    let substream = u16_at(head, 6)?;
    let is_known = matches!(
        substream,
        0x0005 | 0x0006 | 0x0010 | 0x0020 | 0x0040 | 0x0100
    );
    match (kind, length) {
        (0x0009, 4..=16) if is_known => Some(2),
        (0x0209, 6..=16) if is_known => Some(3),
        (0x0409, 6..=16) if is_known => Some(4),
        (record::BOF, 8..=20) if is_known => match u16_at(head, 4)? {
            0x0500 => Some(5),
            0x0600 => Some(8),
            _ => None,
        },
        _ => None,
    }
}

/// What the globals say.
#[derive(Debug, Default)]
pub(super) struct Globals {
    pub(super) sheets: Vec<Sheet>,
    pub(super) is_template: bool,
    pub(super) has_vba_project: bool,
    /// Whether a password is asked for before the workbook may be changed.
    pub(super) has_password_to_modify: bool,
    /// Defined names, built-in ones such as print areas included, as in the XML formats.
    pub(super) defined_names: u64,
    pub(super) outside: Outside,
    /// Distinct strings, as the table's own header counts them; `None` when the scan ended before.
    pub(super) shared_strings: Option<u64>,
}

/// A sheet of any kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sheet {
    /// `None` when it is encrypted or cannot be decoded.
    pub(super) name: Option<String>,
    /// Hidden or very hidden.
    pub(super) hidden: Option<bool>,
    pub(super) is_macro_sheet: bool,
}

/// An Excel workbook stream.
#[derive(Debug)]
pub(super) struct Excel<'s> {
    stream: Stream<'s>,
    /// BIFF 8, whose texts are UTF-16.
    wide_names: bool,
    /// The kind of the first substream in BIFF 2 to 4, which have no globals.
    old: Option<u16>,
    /// Where the records behind the first one begin.
    start: u64,
    /// Whether the scan is to go on to the string table.
    strings: bool,
    encryption: Option<Option<Encryption>>,
    globals: Option<Option<Globals>>,
}

/// The header of a record, and where its content is.
#[derive(Clone, Copy)]
struct Record {
    kind: u16,
    length: u16,
    body: u64,
}

impl Record {
    fn end(self) -> u64 {
        self.body + u64::from(self.length)
    }
}

/// A sheet as its record says it, before the code page is known.
struct RawSheet {
    position: u32,
    state: u8,
    kind: u8,
    name: Vec<u8>,
}

impl<'s> Excel<'s> {
    /// Opens the workbook stream. `None` when it does not begin like one. The globals list the sheets
    /// before drawings and strings, which can be large: they are read through to the strings only with
    /// `strings`, or when no sheet was listed before.
    pub(super) fn open(mut stream: Stream<'s>, strings: bool) -> Result<Option<Self>> {
        let Some(start) = stream.read_array::<8>(0)? else {
            return Ok(None);
        };
        let old = match version(&start) {
            Some(2..=4) => u16_at(&start, 6),
            _ if u16_at(&start, 0) == Some(record::BOF) => None,
            _ => return Ok(None),
        };
        let length = u64::from(u16_at(&start, 2).unwrap_or_default());
        // BIFF5 and 7 say 0x0500, BIFF8 0x0600.
        let wide_names = old.is_none() && u16_at(&start, 4).unwrap_or_default() >= 0x0600;
        Ok(Some(Self {
            stream,
            wide_names,
            old,
            start: 4 + length,
            strings,
            encryption: None,
            globals: None,
        }))
    }

    /// How the workbook is encrypted, if it is. FILEPASS is among the first records: it stands before
    /// everything that it encrypts.
    pub(super) fn encryption(&mut self) -> Result<Option<Encryption>> {
        if let Some(known) = &self.encryption {
            return Ok(known.clone());
        }
        let mut found = None;
        let mut at = self.start;
        for _ in 0..MAX_PROLOGUE {
            let Some(record) = self.record(at)? else {
                break;
            };
            match record.kind {
                record::FILE_PASS => {
                    let bytes = self.stream.read_range(record.body, record.length.into())?;
                    found = Some(self.file_pass(&bytes)?);
                    break;
                }
                record::CODE_PAGE | record::BOUND_SHEET | record::EOF => break,
                _ => at = record.end(),
            }
        }
        Ok(self.encryption.insert(found).clone())
    }

    /// What the globals say, read at the first call. `None` when they end before anything was said.
    pub(super) fn globals(&mut self) -> Result<Option<&Globals>> {
        if self.globals.is_none() {
            let globals = self.read_globals()?;
            self.globals = Some(globals);
        }
        Ok(self.globals.as_ref().and_then(Option::as_ref))
    }

    fn record(&mut self, at: u64) -> Result<Option<Record>> {
        let header = self.stream.read_array::<4>(at)?;
        Ok(header.map(|[a, b, c, d]| Record {
            kind: u16::from_le_bytes([a, b]),
            length: u16::from_le_bytes([c, d]),
            body: at + 4,
        }))
    }

    fn read_globals(&mut self) -> Result<Option<Globals>> {
        if let Some(substream) = self.old {
            return self.read_old_sheets(substream);
        }
        let encrypted = self.encryption()?.is_some();
        let mut globals = Globals::default();
        let mut raw_sheets: Vec<RawSheet> = Vec::new();
        let mut name_bytes = 0;
        let mut code_page = 1252;
        let mut whole = false;
        let mut last_kind = 0;
        let mut at = self.start;
        for count in 0_u32.. {
            if count.is_multiple_of(CLOCK_EVERY) {
                self.stream.meter().check_clock()?;
            }
            let Some(record) = self.record(at)? else {
                break;
            };
            at = record.end();
            last_kind = record.kind;
            match record.kind {
                record::EOF => {
                    whole = true;
                    break;
                }
                // Another substream begins although this one has not ended.
                record::BOF => break,
                record::DRAWING_GROUP | record::STRINGS
                    if !self.strings && !raw_sheets.is_empty() =>
                {
                    whole = true;
                    break;
                }
                record::CODE_PAGE => {
                    if let Some(value) = self.stream.read_array::<2>(record.body)? {
                        code_page = u16::from_le_bytes(value);
                    }
                }
                record::BOUND_SHEET => {
                    let bytes = self.stream.read_range(record.body, record.length.into())?;
                    name_bytes += bytes.len();
                    if name_bytes > MAX_SHEET_BYTES {
                        return Ok(None);
                    }
                    raw_sheets.extend(raw_sheet(&bytes));
                }
                record::STRINGS => {
                    let head = self.stream.read_array::<8>(record.body)?;
                    globals.shared_strings = head.and_then(|h| u32_at(&h, 4)).map(u64::from);
                }
                _ => self.other_record(record, &mut globals)?,
            }
        }
        if whole && self.strings && globals.shared_strings.is_none() {
            // No table: no string.
            globals.shared_strings = Some(0);
        }
        // Sheets are listed one after the other: a stream that breaks off among them has more.
        let listed = !raw_sheets.is_empty() && last_kind != record::BOUND_SHEET;
        if !whole && !listed {
            return Ok(None);
        }
        globals.sheets = self.sheets(raw_sheets, code_page, encrypted)?;
        Ok(Some(globals))
    }

    fn other_record(&mut self, record: Record, globals: &mut Globals) -> Result<()> {
        let body = record.body;
        match record.kind {
            record::FILE_SHARING => {
                let hash = self.stream.read_array::<4>(body)?;
                globals.has_password_to_modify = hash
                    .and_then(|hash| u16_at(&hash, 2))
                    .is_some_and(|hash| hash != 0);
            }
            record::TEMPLATE => globals.is_template = true,
            record::VBA_PROJECT => globals.has_vba_project = true,
            record::NAME => globals.defined_names += 1,
            record::CONNECTION | record::QUERY => globals.outside.connections = true,
            record::SUP_BOOK if self.wide_names => {
                // The second word marks this workbook or the functions of add-ins; else it is the length
                // of a path. A source without sheets whose path has two parts is a DDE or OLE server.
                let head = self.stream.read_array::<4>(body)?;
                if head.is_some_and(|head| !matches!(u16_at(&head, 2), Some(0x0401 | 0x3A01))) {
                    globals.outside.links = true;
                    let length = record.length.min(512);
                    let bytes = self.stream.read_range(body, length.into())?;
                    let is_server = u16_at(&bytes, 0) == Some(0)
                        && bytes.get(4..).is_some_and(|path| path.contains(&3));
                    globals.outside.dde |= is_server;
                }
            }
            record::EXTERN_SHEET if !self.wide_names => {
                // Length and text; a first character of 2, 3 or 4 is a reference to the book itself.
                let text = self.stream.read_array::<2>(body)?;
                globals.outside.links |=
                    text.is_some_and(|[len, first]| len > 0 && !matches!(first, 2..=4));
            }
            _ => {}
        }
        Ok(())
    }

    /// What the workbook refers to outside of it. `None` when encryption or damage hides it. Where the
    /// globals tell of nothing, the whole stream is read, from record to record.
    pub(super) fn outside(&mut self) -> Result<Option<Outside>> {
        if self.encryption()?.is_some() {
            return Ok(None);
        }
        let Some(mut outside) = self.globals()?.map(|globals| globals.outside) else {
            return Ok(None);
        };
        if outside.any() {
            return Ok(Some(outside));
        }
        let mut at = 0;
        for count in 0_u32.. {
            if count.is_multiple_of(CLOCK_EVERY) {
                self.stream.meter().check_clock()?;
            }
            let Some(record) = self.record(at)? else {
                break;
            };
            match record.kind {
                record::HYPERLINK if self.leads_outside(record)? => {
                    outside.hyperlinks = true;
                    break;
                }
                record::QUERY if self.old.is_none() => {
                    outside.connections = true;
                    break;
                }
                _ => {}
            }
            at = record.end();
        }
        Ok(Some(outside))
    }

    /// Cells, a class id and a version; then flags of which the first says "has a target".
    fn leads_outside(&mut self, hyperlink: Record) -> Result<bool> {
        let flags = self.stream.read_array::<4>(hyperlink.body + 8 + 16 + 4)?;
        Ok(flags.is_some_and(|flags| flags[0] & 1 != 0))
    }

    /// BIFF 2 to 4: one sheet without a name, or a BIFF 4 workbook with a header before each sheet.
    fn read_old_sheets(&mut self, substream: u16) -> Result<Option<Globals>> {
        let mut globals = Globals::default();
        let is_workbook = substream == WORKBOOK_SUBSTREAM;
        if !is_workbook {
            globals.sheets.push(Sheet {
                name: None,
                hidden: Some(false),
                is_macro_sheet: substream == MACRO_SUBSTREAM,
            });
        }
        let mut code_page = 1252;
        let mut name_bytes = 0;
        let mut at = self.start;
        for count in 0_u32.. {
            if count.is_multiple_of(CLOCK_EVERY) {
                self.stream.meter().check_clock()?;
            }
            let Some(record) = self.record(at)? else {
                break;
            };
            at = record.end();
            match record.kind {
                record::EOF if !is_workbook => break,
                record::CODE_PAGE => {
                    let value = self.stream.read_array::<2>(record.body)?;
                    code_page = value.map_or(code_page, u16::from_le_bytes);
                }
                record::NAME | record::OLD_NAME => globals.defined_names += 1,
                record::EXTERN_SHEET => self.other_record(record, &mut globals)?,
                record::SHEET_HEADER => {
                    let bytes = self.stream.read_range(record.body, record.length.into())?;
                    name_bytes += bytes.len();
                    if name_bytes > MAX_SHEET_BYTES {
                        return Ok(None);
                    }
                    let name = bytes.get(4..).and_then(|bytes| self.name(bytes, code_page));
                    globals.sheets.push(Sheet {
                        name,
                        hidden: Some(false),
                        is_macro_sheet: false,
                    });
                }
                _ => {}
            }
        }
        Ok(Some(globals))
    }

    /// Decodes what BOUNDSHEET says. In an encrypted workbook it says only where the sheet begins; the
    /// sheet's first record, which is never encrypted, tells its kind.
    fn sheets(
        &mut self,
        raw: Vec<RawSheet>,
        code_page: u16,
        encrypted: bool,
    ) -> Result<Vec<Sheet>> {
        let mut sheets = Vec::with_capacity(raw.len());
        for sheet in raw {
            sheets.push(if encrypted {
                let start = self.stream.read_array::<8>(sheet.position.into())?;
                let is_macro = |start: [u8; 8]| {
                    u16_at(&start, 0) == Some(record::BOF)
                        && u16_at(&start, 6) == Some(MACRO_SUBSTREAM)
                };
                Sheet {
                    name: None,
                    hidden: None,
                    is_macro_sheet: start.is_some_and(is_macro),
                }
            } else {
                Sheet {
                    name: self.name(&sheet.name, code_page),
                    hidden: Some(sheet.state & 3 != 0),
                    is_macro_sheet: sheet.kind == MACRO_SHEET,
                }
            });
        }
        Ok(sheets)
    }

    /// A short string: one byte of length; in BIFF8 a flag byte says whether two bytes make a character.
    fn name(&self, bytes: &[u8], code_page: u16) -> Option<String> {
        let length = usize::from(*bytes.first()?);
        if !self.wide_names {
            return codepage::decode(code_page, bytes.get(1..1 + length)?);
        }
        let wide = bytes.get(1)? & 1 != 0;
        let text = bytes.get(2..2 + (length << u32::from(wide)))?;
        Some(if wide {
            let units = (text.as_chunks::<2>().0.iter()).map(|pair| u16::from_le_bytes(*pair));
            char::decode_utf16(units)
                .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect()
        } else {
            // Compressed: the high bytes are zero.
            text.iter().map(|byte| char::from(*byte)).collect()
        })
    }

    /// FILEPASS ([MS-XLS] §2.4.117).
    fn file_pass(&self, record: &[u8]) -> Result<Encryption> {
        let xor = |verifier: Option<u16>| Encryption {
            opens_without_password: verifier == Some(xor_verifier(EXCEL_DEFAULT_PASSWORD)),
            ..Encryption::xor()
        };
        if !self.wide_names {
            return Ok(xor(u16_at(record, 2)));
        }
        Ok(match u16_at(record, 0) {
            Some(0) => xor(u16_at(record, 4)),
            Some(1) => {
                let header = record.get(2..).unwrap_or_default();
                Encryption::of_info(header, self.stream.meter())?
            }
            _ => Encryption::unrecognised(),
        })
    }
}

fn raw_sheet(record: &[u8]) -> Option<RawSheet> {
    Some(RawSheet {
        position: u32_at(record, 0)?,
        state: *record.get(4)?,
        kind: *record.get(5)?,
        name: record.get(6..)?.to_vec(),
    })
}
