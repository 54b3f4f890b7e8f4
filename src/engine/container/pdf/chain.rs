//! Reading cross-reference data: tables, xref streams, and the chain of them.

use std::collections::BTreeSet;

use super::indirect::{self, Indirect};
use super::lexer::{Lexer, is_space};
use super::object::{Dict, Object};
use super::parser::Wanted;
use super::store::Store;
use super::stream;
use super::xref::Entry;
use super::xref::{self, Hybrid, LINE, Lines, Records, SHORT_RUN, Section, Xref};
use crate::engine::error::Result;

/// Most sections of a file; each is an incremental update or a gap in the numbers.
const MAX_SECTIONS: usize = 100_000;

/// The chain of sections from `startxref` on.
#[derive(Default)]
pub(crate) struct Chain<'p> {
    pub(crate) xref: Xref<'p>,
    /// Trailer dictionaries, newest first.
    pub(crate) trailers: Vec<Dict<'p>>,
    /// Whether every section that is named could be read.
    pub(crate) whole: bool,
}

/// Reads the sections from `start` on. A cycle ends the chain.
///
/// # Errors
/// Budget and I/O errors.
pub(crate) fn read_chain<'p>(store: &Store<'p>, start: u64, shift: u64) -> Result<Chain<'p>> {
    let mut chain = Chain {
        xref: Xref::default(),
        trailers: Vec::new(),
        whole: true,
    };
    let mut seen = BTreeSet::new();
    let mut next = Some(start);
    while let Some(offset) = next {
        store.meter().check_clock()?;
        if !seen.insert(offset) || chain.xref.sections.len() > MAX_SECTIONS {
            break;
        }
        let Some(trailer) = chain.read(store, offset, shift, &mut seen)? else {
            chain.whole = false;
            break;
        };
        next = match trailer.get(b"Prev") {
            None => None,
            // Some writers put `/Prev 0` for "none".
            Some(prev) => match prev.as_u64() {
                Some(0) => None,
                Some(prev) => Some(prev),
                None => {
                    chain.whole = false;
                    None
                }
            },
        };
        chain.trailers.push(trailer);
    }
    Ok(chain)
}

impl<'p> Chain<'p> {
    /// Reads one section, table or stream, and returns its trailer dictionary.
    fn read(
        &mut self,
        store: &Store<'p>,
        offset: u64,
        shift: u64,
        seen: &mut BTreeSet<u64>,
    ) -> Result<Option<Dict<'p>>> {
        let at = offset.saturating_add(shift);
        let mut lexer = Lexer::new(store.window(at, 64)?, 0);
        lexer.skip_space();
        if !lexer.rest().starts_with(b"xref") {
            return self.read_stream(store, at, Hybrid::No);
        }
        let body = at + lexer.position() as u64 + 4;
        let before = self.xref.sections.len();
        let Some(trailer) = self.read_table(store, body)? else {
            return Ok(None);
        };
        self.xref.kinds.tables = true;
        if let Some(hidden) = trailer.get(b"XRefStm").and_then(Object::as_u64) {
            for section in &mut self.xref.sections[before..] {
                section.hybrid = Hybrid::Table;
            }
            if seen.insert(hidden)
                && self
                    .read_stream(store, hidden.saturating_add(shift), Hybrid::Stream)?
                    .is_none()
            {
                self.whole = false;
            }
        }
        Ok(Some(trailer))
    }

    /// Reads the subsections of a table and the trailer behind them.
    fn read_table(&mut self, store: &Store<'p>, body: u64) -> Result<Option<Dict<'p>>> {
        let mut at = body;
        loop {
            let window = store.window(at, 128)?;
            let mut lexer = Lexer::new(window, 0);
            lexer.skip_space();
            if lexer.rest().starts_with(b"trailer") {
                at += lexer.position() as u64 + 7;
                return read_trailer(store, at);
            }
            let (Some(first), Some(count)) = (lexer.unsigned(), lexer.unsigned()) else {
                return Ok(None);
            };
            // A line break, perhaps with a blank before it, precedes the first line.
            lexer.skip_space();
            at += lexer.position() as u64;
            // The shortest line that occurs has 18 bytes.
            if count > store.size().saturating_sub(at) / 18 {
                return Ok(None);
            }
            if self.xref.sections.len() > MAX_SECTIONS {
                return Ok(None);
            }
            let Some((records, len)) = read_lines(store, at, count)? else {
                return Ok(None);
            };
            let lines_at = at;
            at += len;
            if count == 0 {
                continue;
            }
            let section = Section {
                first: numbered_from_one(store, first, lines_at)?,
                count,
                records,
                hybrid: Hybrid::No,
            };
            self.xref.sections.push(section);
        }
    }

    fn read_stream(
        &mut self,
        store: &Store<'p>,
        at: u64,
        hybrid: Hybrid,
    ) -> Result<Option<Dict<'p>>> {
        let Some(Indirect {
            object: Object::Dict(dict),
            stream: Some(data_at),
            ..
        }) = indirect::read(store, at, None, Wanted::All)?
        else {
            return Ok(None);
        };
        if !dict.is(b"Type", b"XRef") {
            return Ok(None);
        }
        let Some(widths) = widths(&dict) else {
            return Ok(None);
        };
        let length = dict.get(b"Length").and_then(Object::as_u64);
        let raw = stream::raw(store, data_at, length)?;
        let Some(filters) = stream::filters(&dict, &mut |object| Ok(object.clone()))? else {
            return Ok(None);
        };
        let data = stream::decode(store, &filters, raw)?;
        self.xref.kinds.streams = true;
        self.push_fields(&dict, data, widths, hybrid);
        Ok(Some(dict))
    }

    /// Cuts the records of an xref stream into sections. `Index` and `Size` are claims: there are as
    /// many records as there is data.
    fn push_fields(&mut self, dict: &Dict<'p>, data: &'p [u8], widths: [u8; 3], hybrid: Hybrid) {
        let stride = xref::stride(widths);
        let size = dict
            .get(b"Size")
            .and_then(Object::as_u64)
            .unwrap_or(u64::MAX);
        let whole = [
            Object::Int(0),
            Object::Int(i64::try_from(size).unwrap_or(i64::MAX)),
        ];
        let index = dict
            .get(b"Index")
            .and_then(Object::as_array)
            .unwrap_or(&whole);
        let mut rest = data;
        for pair in index.chunks_exact(2) {
            let (Some(first), Some(count)) = (pair[0].as_u64(), pair[1].as_u64()) else {
                break;
            };
            let available = rest.len() / stride;
            let count = usize::try_from(count).unwrap_or(usize::MAX).min(available);
            if count == 0 || self.xref.sections.len() > MAX_SECTIONS {
                continue;
            }
            let (records, after) = rest.split_at(count * stride);
            rest = after;
            self.xref.sections.push(Section {
                first,
                count: count as u64,
                records: Records::Fields(records, widths),
                hybrid,
            });
        }
    }
}

/// The widths of the fields: three small numbers that are not all zero, else the stream is unusable.
fn widths(dict: &Dict<'_>) -> Option<[u8; 3]> {
    let array = dict.get(b"W")?.as_array()?;
    let mut widths = [0; 3];
    for (width, object) in widths.iter_mut().zip(array.get(..3)?) {
        *width = u8::try_from(object.as_u64()?).ok().filter(|w| *w <= 8)?;
    }
    (widths.iter().any(|width| *width > 0)).then_some(widths)
}

fn read_trailer<'p>(store: &Store<'p>, at: u64) -> Result<Option<Dict<'p>>> {
    let object = indirect::read_direct(store, at)?;
    Ok(match object {
        Some(Object::Dict(dict)) => Some(dict),
        _ => None,
    })
}

/// Some writers begin a table with `1 N` and mean `0 N`: the head of the free list shows it.
fn numbered_from_one(store: &Store<'_>, first: u64, at: u64) -> Result<u64> {
    const HEAD: &[u8] = b"0000000000 65535 f";
    let is_head = first == 1 && store.window(at, HEAD.len())?.starts_with(HEAD);
    Ok(if is_head { 0 } else { first })
}

/// Reads the lines of a subsection, or of a long one just the first and the last; returns their length
/// in bytes too.
fn read_lines<'p>(store: &Store<'p>, at: u64, count: u64) -> Result<Option<(Records<'p>, u64)>> {
    let len = count.saturating_mul(LINE as u64);
    let Ok(len) = usize::try_from(len) else {
        return Ok(None);
    };
    if len > SHORT_RUN {
        let last_at = at + (len - LINE) as u64;
        let end = store.window(last_at, LINE + 64)?;
        if store.window(at, LINE)?.first_chunk().is_some_and(is_line)
            && end.first_chunk().is_some_and(is_line)
            && ends_well(&end[LINE..])
        {
            return Ok(Some((Records::Lines(Lines::unread(at, len)), len as u64)));
        }
    }
    let window = store.window(at, len.saturating_add(64))?;
    if let Some(lines) = window.get(..len)
        && lines.first_chunk::<LINE>().is_none_or(is_line)
        && lines.last_chunk::<LINE>().is_none_or(is_line)
        && ends_well(&window[len..])
    {
        return Ok(Some((Records::Lines(Lines::read(lines)), len as u64)));
    }
    // Lines of another length: 19 bytes, or with more white space.
    let mut lexer = Lexer::new(window, 0);
    let mut entries = Vec::new();
    for index in 0..count {
        if index % 1024 == 0 {
            store.meter().check_clock()?;
        }
        let (Some(offset), Some(_)) = (lexer.unsigned(), lexer.unsigned()) else {
            return Ok(None);
        };
        lexer.skip_space();
        entries.push(match lexer.regular() {
            b"n" => xref::at(offset),
            b"f" => Entry::Free,
            _ => Entry::Invalid,
        });
    }
    Ok(Some((Records::Parsed(entries), lexer.position() as u64)))
}

fn is_line(line: &[u8; LINE]) -> bool {
    line[..10].iter().all(u8::is_ascii_digit)
        && line[10] == b' '
        && line[11..16].iter().all(u8::is_ascii_digit)
        && line[16] == b' '
        && matches!(line[17], b'n' | b'f')
        && is_space(line[18])
        && is_space(line[19])
}

/// Behind the lines comes another subsection or the trailer.
fn ends_well(rest: &[u8]) -> bool {
    let mut lexer = Lexer::new(rest, 0);
    lexer.skip_space();
    lexer
        .peek()
        .is_some_and(|byte| byte == b't' || byte.is_ascii_digit())
}
