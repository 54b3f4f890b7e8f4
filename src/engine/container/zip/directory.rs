//! The end record and the central directory (APPNOTE.TXT 4.3.12 to 4.3.16).

use std::ops::Range;

use memchr::memmem;

use super::window::Window;
use crate::engine::budget::Meter;
use crate::engine::error::{ProbeError, Result};
use crate::engine::source::Source;

pub(super) const STORED: u16 = 0;
pub(super) const DEFLATE: u16 = 8;

/// Length of a local header without its name and extra fields (4.3.7).
pub(super) const LOCAL_HEADER: u64 = 30;

const END: &[u8] = b"PK\x05\x06";
const END64: &[u8] = b"PK\x06\x06";
const END64_LOCATOR: &[u8] = b"PK\x06\x07";
const CENTRAL: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";

const END_LEN: usize = 22;
const END64_LEN: usize = 56;
const END64_LOCATOR_LEN: usize = 20;
const CENTRAL_LEN: usize = 46;

/// How far from the end of the file the end record is looked for, step by step. A comment has at
/// most 65,535 bytes; more than that is junk behind the archive, which other readers tolerate too.
const SEARCH: [u64; 3] = [2 * 1024, 66 * 1024, 1024 * 1024];

/// Largest directory that is read without a look at its first bytes.
const ONE_READ: u64 = 64 * 1024;

/// One entry as the central directory describes it.
#[derive(Debug)]
pub(super) struct Record {
    name: Range<u32>,
    /// Length of the name in the file.
    name_len: u16,
    flags: u16,
    pub(super) method: u16,
    pub(super) crc: u32,
    pub(super) packed_size: u64,
    pub(super) size: u64,
    /// Where the local header is, from the beginning of the file.
    pub(super) offset: u64,
}

impl Record {
    pub(super) fn name<'n>(&self, names: &'n str) -> &'n str {
        names
            .get(self.name.start as usize..self.name.end as usize)
            .unwrap_or_default()
    }

    /// The least that lies between the offset and the packed bytes.
    pub(super) fn least_header(&self) -> u64 {
        LOCAL_HEADER + u64::from(self.name_len)
    }

    /// Bit 3: sizes stand behind the packed bytes, in a descriptor of uncertain length (4.3.9).
    pub(super) fn has_descriptor(&self) -> bool {
        self.flags & 1 << 3 != 0
    }

    /// Bit 0: encrypted; bit 6: strongly; bit 13: the directory is masked as well (4.4.4).
    pub(super) fn is_encrypted(&self) -> bool {
        self.flags & (1 | 1 << 6 | 1 << 13) != 0
    }
}

/// All records, duplicates included, and their names one after the other.
#[derive(Debug, Default)]
pub(super) struct Directory {
    pub(super) names: String,
    pub(super) records: Vec<Record>,
    /// Where it begins in the file.
    pub(super) start: u64,
}

/// Finds the central directory and reads it. The window ends up holding it.
pub(super) fn read(source: &Source, window: &mut Window) -> Result<Directory> {
    let mut searched = u64::MAX;
    // An archive without entries may be a record that only looks like one, inside a comment.
    let mut last_resort = None;
    let mut refused = None;
    for reach in SEARCH {
        window.extend_to(source, source.size().saturating_sub(reach))?;
        if searched == window.start() {
            break;
        }
        let at_the_end = (searched == u64::MAX)
            .then(|| without_comment(window))
            .flatten();
        // What was searched before without success need not be searched again, but for a record
        // that lies across the border.
        let end = usize::try_from((searched - window.start()).saturating_add(END_LEN as u64))
            .unwrap_or(usize::MAX)
            .min(window.bytes().len());
        searched = window.start();
        let mut candidates: Vec<u64> = at_the_end.into_iter().collect();
        candidates.extend(
            memmem::rfind_iter(&window.bytes()[..end], END)
                .map(|at| window.start() + at as u64)
                .filter(|at| Some(*at) != at_the_end)
                .take(16),
        );
        for candidate in candidates {
            match attempt(source, window, candidate, &mut last_resort)? {
                Ok(directory) => return Ok(directory),
                Err(error) => refused = refused.or(error),
            }
        }
    }
    if let Some(located) = last_resort {
        return parse(source, window, &located);
    }
    Err(refused.unwrap_or_else(|| {
        ProbeError::malformed(
            "the file has no ZIP end-of-directory record that leads to a central directory",
        )
    }))
}

/// Reads the directory that an end record at `at` leads to. What is wrong with the record or its
/// directory is the inner error; there may be another record.
fn attempt(
    source: &Source,
    window: &mut Window,
    at: u64,
    last_resort: &mut Option<Located>,
) -> Result<Result<Directory, Option<ProbeError>>> {
    let Some(located) = locate(source, window, at)? else {
        return Ok(Err(None));
    };
    if located.entries == 0 {
        last_resort.get_or_insert(located);
        return Ok(Err(None));
    }
    match parse(source, window, &located) {
        Ok(directory) => Ok(Ok(directory)),
        Err(error) if error.is_malformed() => Ok(Err(Some(error))),
        Err(error) => Err(error),
    }
}

/// Where the end record is when it is the very end of the file, as mostly.
fn without_comment(window: &Window) -> Option<u64> {
    let at = window.bytes().len().checked_sub(END_LEN)?;
    let record = &window.bytes()[at..];
    (record.starts_with(END) && u16_at(record, 20) == 0).then(|| window.start() + at as u64)
}

/// Where the directory is, checked by the signature of its first record.
struct Located {
    start: u64,
    end: u64,
    entries: u64,
    /// What all offsets in the directory are relative to.
    base: u64,
}

/// Follows an end record at `at`. `None` when it is not one.
fn locate(source: &Source, window: &mut Window, at: u64) -> Result<Option<Located>> {
    let record = window.range(source, at, END_LEN as u64)?;
    if record.len() < END_LEN
        || at + END_LEN as u64 + u64::from(u16_at(&record, 20)) > source.size()
    {
        return Ok(None);
    }
    let mut entries = u64::from(u16_at(&record, 10));
    let mut size = u64::from(u32_at(&record, 12));
    let mut offset = u64::from(u32_at(&record, 16));
    let mut end = at;
    let sentinel =
        entries == 0xFFFF || size == u64::from(u32::MAX) || offset == u64::from(u32::MAX);
    if sentinel && let Some((record, start)) = end64(source, window, at)? {
        entries = u64_at(&record, 32);
        size = u64_at(&record, 40);
        offset = u64_at(&record, 48);
        end = start;
    }
    // The directory stands right before its end record. Only where it does not, its claimed offset
    // counts: so bytes that were put before the archive do no harm.
    let before_end = end.checked_sub(size);
    for start in [before_end, Some(offset)].into_iter().flatten() {
        let Some(base) = start.checked_sub(offset) else {
            continue;
        };
        let end = start.saturating_add(size).min(end);
        let located = Located {
            start,
            end,
            entries,
            base,
        };
        if start == end {
            if entries == 0 {
                return Ok(Some(located));
            }
            continue;
        }
        if end < start {
            continue;
        }
        // A directory of usual size is read before its first bytes are judged: one read, not two.
        if size <= ONE_READ && end >= window.start() {
            window.extend_to(source, start)?;
        }
        if window
            .range(source, start, CENTRAL.len() as u64)?
            .starts_with(CENTRAL)
        {
            if end >= window.start() {
                window.extend_to(source, start)?;
            }
            return Ok(Some(located));
        }
    }
    Ok(None)
}

/// The ZIP64 end record that belongs to an end record at `at`, and where it is.
fn end64(source: &Source, window: &Window, at: u64) -> Result<Option<(Vec<u8>, u64)>> {
    let Some(locator_at) = at.checked_sub(END64_LOCATOR_LEN as u64) else {
        return Ok(None);
    };
    let locator = window.range(source, locator_at, END64_LOCATOR_LEN as u64)?;
    if locator.len() < END64_LOCATOR_LEN || !locator.starts_with(END64_LOCATOR) {
        return Ok(None);
    }
    // Mostly it stands right before its locator, and there it is found whatever was put before the
    // archive; with a comment of its own it is longer, and the locator says where it begins.
    let adjacent = locator_at.checked_sub(END64_LEN as u64);
    for start in [adjacent, Some(u64_at(&locator, 8))].into_iter().flatten() {
        if start >= locator_at {
            continue;
        }
        let record = window.range(source, start, END64_LEN as u64)?;
        if record.len() == END64_LEN && record.starts_with(END64) {
            return Ok(Some((record.into_owned(), start)));
        }
    }
    Ok(None)
}

fn parse(source: &Source, window: &Window, located: &Located) -> Result<Directory> {
    let bytes = window.range(source, located.start, located.end - located.start)?;
    let mut directory = Directory {
        start: located.start,
        ..Directory::default()
    };
    // A record has 46 bytes at least, so the claim cannot take more memory than was read.
    let fitting = bytes.len() / CENTRAL_LEN;
    directory
        .records
        .reserve(usize::try_from(located.entries).map_or(fitting, |claim| claim.min(fitting)));
    directory.names.reserve(
        bytes
            .len()
            .saturating_sub(directory.records.capacity() * CENTRAL_LEN),
    );
    let mut rest = &bytes[..];
    while rest.len() >= CENTRAL_LEN && rest.starts_with(CENTRAL) {
        let Some(length) = push(&mut directory, rest, located.base) else {
            return Err(ProbeError::malformed(
                "the central directory of the ZIP archive is damaged",
            ));
        };
        rest = &rest[length..];
        check_clock(source.meter(), directory.records.len())?;
    }
    let found = directory.records.len() as u64;
    if found < located.entries {
        return Err(ProbeError::malformed(format_args!(
            "the central directory of the ZIP archive has {found} entries where {} are announced",
            located.entries
        )));
    }
    Ok(directory)
}

/// Takes one record from the beginning of `bytes` and returns its length. `None` when it is cut off.
fn push(directory: &mut Directory, bytes: &[u8], base: u64) -> Option<usize> {
    let name_end = CENTRAL_LEN + usize::from(u16_at(bytes, 28));
    let extra_end = name_end + usize::from(u16_at(bytes, 30));
    let length = extra_end + usize::from(u16_at(bytes, 32));
    if length > bytes.len() {
        return None;
    }
    let mut record = Record {
        name: push_name(&mut directory.names, &bytes[CENTRAL_LEN..name_end])?,
        name_len: u16_at(bytes, 28),
        flags: u16_at(bytes, 8),
        method: u16_at(bytes, 10),
        crc: u32_at(bytes, 16),
        packed_size: u64::from(u32_at(bytes, 20)),
        size: u64::from(u32_at(bytes, 24)),
        offset: u64::from(u32_at(bytes, 42)),
    };
    widen(&mut record, &bytes[name_end..extra_end]);
    record.offset = record.offset.saturating_add(base);
    directory.records.push(record);
    Some(length)
}

/// Appends a name. One that is not UTF-8 is in some 8-bit code page: every byte becomes one
/// character, so that different names stay different. Names that mean something are ASCII.
fn push_name(names: &mut String, bytes: &[u8]) -> Option<Range<u32>> {
    let start = u32::try_from(names.len()).ok()?;
    match std::str::from_utf8(bytes) {
        Ok(name) => names.push_str(name),
        Err(_) => names.extend(bytes.iter().map(|&byte| char::from(byte))),
    }
    Some(start..u32::try_from(names.len()).ok()?)
}

/// Puts the 64-bit values of the ZIP64 extra field in the place of full 32-bit fields (4.5.3).
fn widen(record: &mut Record, mut extra: &[u8]) {
    while extra.len() >= 4 {
        let (id, len) = (u16_at(extra, 0), usize::from(u16_at(extra, 2)));
        let Some(mut field) = extra.get(4..4 + len) else {
            return;
        };
        if id == 1 {
            let full = u64::from(u32::MAX);
            for value in [
                &mut record.size,
                &mut record.packed_size,
                &mut record.offset,
            ] {
                if *value == full && field.len() >= 8 {
                    *value = u64_at(field, 0);
                    field = &field[8..];
                }
            }
            return;
        }
        extra = &extra[4 + len..];
    }
}

/// The length of a local header with its name and extra fields. `None` when it is none.
pub(super) fn local_header_length(header: &[u8]) -> Option<u64> {
    if (header.len() as u64) < LOCAL_HEADER || !header.starts_with(LOCAL) {
        return None;
    }
    Some(LOCAL_HEADER + u64::from(u16_at(header, 26)) + u64::from(u16_at(header, 28)))
}

fn check_clock(meter: &Meter, done: usize) -> Result<()> {
    if done.is_multiple_of(4096) {
        meter.check_clock()?;
    }
    Ok(())
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
