//! Where the cross-reference data of a file begin.

use super::chain::{self, Chain};
use super::header::{Header, Linearization};
use super::lexer::Lexer;
use super::scan::head_before;
use super::store::Store;
use crate::engine::error::Result;

/// Bytes at the end of a file that are searched for `startxref`: what the standard recommends, then
/// more for files with foreign bytes behind their end.
const TAILS: [usize; 2] = [1024, 32 * 1024];

/// Bytes at the end of a file that are searched for a section when `startxref` leads to none. The
/// table of a hundred thousand objects has two megabytes.
const SECTION_TAILS: [usize; 3] = [32 * 1024, 512 * 1024, 4 << 20];

/// Most sections near the end that are tried.
const MAX_TRIES: usize = 8;

/// Bytes between the head of an xref stream's object and its `/XRef`.
const XREF_DICT: usize = 1024;

/// The chain of sections, what to add to its offsets, and how it was found.
pub(super) struct Start<'p> {
    pub(super) chain: Chain<'p>,
    pub(super) shift: u64,
    /// `startxref` is missing or wrong, and the chain was found in another way.
    pub(super) is_recovered: bool,
    /// The linearization dictionary, where `startxref` leads nowhere.
    pub(super) linearization: Option<Linearization>,
}

/// Reads the chain of sections that `startxref` leads to. Where it leads to none and `repair` allows
/// it, sections near the end of the file are tried, and the first-page section of a linearized file.
///
/// # Errors
/// Budget and I/O errors.
pub(super) fn find<'p>(store: &Store<'p>, header_at: u64, repair: bool) -> Result<Start<'p>> {
    if let Some((start, shift)) = start_of_xref(store, header_at)? {
        let chain = chain::read_chain(store, start, shift)?;
        if !chain.trailers.is_empty() || !repair {
            return Ok(Start {
                chain,
                shift,
                is_recovered: false,
                linearization: None,
            });
        }
    }
    let head = store.window(0, Header::WITHIN)?;
    let header = usize::try_from(header_at).unwrap_or(usize::MAX);
    let linearization = Linearization::read(head, header);
    let mut starts = Vec::new();
    if repair {
        starts = sections_near_end(store)?;
        starts.extend(linearization.map(|linearization| linearization.end));
    }
    let shifts = if header_at == 0 { 1 } else { 2 };
    for start in starts {
        for shift in [0, header_at].into_iter().take(shifts) {
            let chain = chain::read_chain(store, start.saturating_sub(shift), shift)?;
            if chain.trailers.iter().any(|trailer| trailer.has(b"Root")) {
                return Ok(Start {
                    chain,
                    shift,
                    is_recovered: true,
                    linearization,
                });
            }
        }
    }
    Ok(Start {
        chain: Chain::default(),
        shift: header_at,
        is_recovered: false,
        linearization,
    })
}

/// The offset behind the last `startxref`, and what to add to offsets: where foreign bytes precede
/// the header, some writers count from the header.
fn start_of_xref(store: &Store<'_>, header_at: u64) -> Result<Option<(u64, u64)>> {
    let mut start = None;
    for len in TAILS {
        let tail = store.window(store.size().saturating_sub(len as u64), len)?;
        if let Some(behind) = behind_last(tail, b"startxref") {
            start = Lexer::new(tail, behind).unsigned();
            break;
        }
    }
    let Some(start) = start else {
        return Ok(None);
    };
    for shift in [0, header_at] {
        let head = store.window(start.saturating_add(shift), 64)?;
        let mut lexer = Lexer::new(head, 0);
        lexer.skip_space();
        if lexer.keyword(b"xref") || lexer.object_head().is_some() {
            return Ok(Some((start, shift)));
        }
    }
    Ok(None)
}

/// Offsets of tables and xref streams near the end of the file, the last first.
fn sections_near_end(store: &Store<'_>) -> Result<Vec<u64>> {
    let meter = store.meter();
    let left = meter.limits().physical_bytes - meter.cost().physical_bytes;
    let mut starts = Vec::new();
    for len in SECTION_TAILS {
        // A repair of the whole file may still follow, and must not fail for this.
        if len as u64 > left / 4 || !starts.is_empty() {
            break;
        }
        let from = store.size().saturating_sub(len as u64);
        let tail = store.window(from, len)?;
        starts = sections_in(tail)
            .map(|at| from + at as u64)
            .take(MAX_TRIES)
            .collect();
        if from == 0 {
            break;
        }
    }
    Ok(starts)
}

/// Where tables and xref streams begin in these bytes, the last first.
fn sections_in(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let ends_word = |at: usize| !bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
    let begins_word = |at: usize| at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
    memchr::memmem::rfind_iter(bytes, b"ref")
        .filter_map(move |at| {
            let start = at.checked_sub(1)?;
            match bytes[start] {
                b'x' if begins_word(start) && ends_word(start + 4) => Some(start),
                _ => None,
            }
        })
        .chain(
            memchr::memmem::rfind_iter(bytes, b"/XRef").filter_map(move |at| {
                let window = &bytes[..at];
                let nearest =
                    memchr::memmem::rfind(&window[at.saturating_sub(XREF_DICT)..], b"obj")?;
                let keyword = at.saturating_sub(XREF_DICT) + nearest;
                let (_, start) = head_before(bytes, keyword)?;
                usize::try_from(start).ok()
            }),
        )
}

/// Where the last occurrence of a keyword ends. It is near the end of what is searched, so that making
/// a searcher would take longer than the search.
fn behind_last(bytes: &[u8], keyword: &[u8]) -> Option<usize> {
    let last = *keyword.last()?;
    let mut end = bytes.len();
    while let Some(at) = memchr::memrchr(last, &bytes[..end]) {
        if bytes[..=at].ends_with(keyword) {
            return Some(at + 1);
        }
        end = at;
    }
    None
}
