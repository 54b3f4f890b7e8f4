//! Finding the objects of a file whose cross-reference data are damaged: one pass over its bytes.
//!
//! The pass is linear: every byte is looked at a bounded number of times, whatever the file holds.
//! Streams are stepped over, so that a document within a document is not taken for this one.

use std::cell::{Cell, OnceCell};
use std::collections::HashMap;

use memchr::memmem;

use super::indirect::parse_body;
use super::lexer::{Lexer, ParseError, decimal, is_regular, is_space};
use super::object::{Dict, Object, Ref};
use super::parser::{Parser, Wanted};
use super::store::Store;
use super::xref::{Entry, Kinds};
use crate::engine::error::Result;

/// What a pass over the whole file found.
#[derive(Debug, Default)]
pub(crate) struct Scan<'p> {
    /// The last definition of each object: its offset.
    pub(crate) objects: HashMap<u32, u64>,
    /// Object streams in file order, with their offsets.
    pub(crate) object_streams: Vec<(u32, u64)>,
    /// Dictionaries of trailers and xref streams in file order.
    pub(crate) trailers: Vec<Dict<'p>>,
    /// Document catalogues in file order.
    pub(crate) catalogues: Vec<Ref>,
    pub(crate) kinds: Kinds,
}

/// A scan of the file, with the objects of its object streams once they are needed.
pub(super) struct Recovered<'p> {
    pub(super) scan: Scan<'p>,
    pub(super) entries: OnceCell<HashMap<u32, Entry>>,
    /// Some object stream is encrypted, so there may be more entries.
    pub(super) locked: Cell<bool>,
}

/// Objects between two looks at the clock.
const CLOCK_STEP: usize = 64;

/// Most trailers that are kept.
const MAX_TRAILERS: usize = 256;

/// Extra bytes that may be parsed again because `obj` was part of a string, per byte of the file.
const SECOND_LOOKS: usize = 4;

/// Scans the whole file.
///
/// # Errors
/// Budget errors: of the clock, of the physical reads, and of `max_objects`.
pub(crate) fn scan<'p>(store: &Store<'p>, max_objects: u64) -> Result<Scan<'p>> {
    let bytes = store.whole()?;
    let mut pass = Pass {
        bytes,
        scan: Scan::default(),
        second_looks: bytes.len().saturating_mul(SECOND_LOOKS),
        end_of_stream: Some(0),
    };
    let objects = memmem::Finder::new(b"obj");
    let trailers = memmem::Finder::new(b"trailer");
    let find = |finder: &memmem::Finder<'_>, from: usize| {
        bytes
            .get(from..)
            .and_then(|rest| finder.find(rest))
            .map(|at| from + at)
    };
    let mut at = 0;
    let mut next_trailer = find(&trailers, 0);
    let mut next_object = find(&objects, 0);
    let mut count = 0_usize;
    loop {
        if next_object.is_some_and(|next| next < at) {
            next_object = find(&objects, at);
        }
        if next_trailer.is_some_and(|next| next < at) {
            next_trailer = find(&trailers, at);
        }
        if count.is_multiple_of(CLOCK_STEP) {
            store.meter().check_clock()?;
        }
        count += 1;
        match (next_object, next_trailer) {
            (None, None) => break,
            (Some(object), trailer) if trailer.is_none_or(|trailer| object < trailer) => {
                let limit = find(&objects, object + 3).unwrap_or(bytes.len());
                at = pass.object(object, limit);
            }
            (object, Some(trailer)) => {
                let next = find(&trailers, trailer + 7).unwrap_or(bytes.len());
                at = pass.trailer(trailer + 7, object.map_or(next, |object| object.min(next)));
            }
            (Some(_), None) => break,
        }
        if pass.scan.objects.len() as u64 > max_objects {
            return Err(store.meter().exceeded(format_args!(
                "the document has more than {max_objects} objects (pdf.max_objects)"
            )));
        }
    }
    Ok(pass.scan)
}

struct Pass<'p> {
    bytes: &'p [u8],
    scan: Scan<'p>,
    second_looks: usize,
    /// The place of the next `endstream` as last found; `None` when there is no more.
    end_of_stream: Option<usize>,
}

impl<'p> Pass<'p> {
    /// Takes the object whose `obj` keyword is at `keyword`; the next `obj` is at `limit`.
    /// Returns where to go on.
    fn object(&mut self, keyword: usize, limit: usize) -> usize {
        let body = keyword + 3;
        let Some((id, offset)) = head_before(self.bytes, keyword) else {
            return body;
        };
        // The parser sees no further than the next `obj`, usually that of `endobj`: so an object that
        // never ends costs no more than the bytes up to there.
        let mut parsed = parse_body(&self.bytes[..limit], body, id, Wanted::All);
        if parsed.is_err() {
            parsed = self.second_look(body, limit, id);
        }
        let Ok((object, stream, end)) = parsed else {
            return body;
        };
        self.scan.objects.insert(id.number, offset);
        let Object::Dict(dict) = object else {
            return end.max(body);
        };
        let length = dict.get(b"Length").cloned();
        if dict.is(b"Type", b"Catalog") {
            self.scan.catalogues.push(id);
        } else if stream.is_some() && dict.is(b"Type", b"ObjStm") {
            self.scan.object_streams.push((id.number, offset));
        } else if stream.is_some() && dict.is(b"Type", b"XRef") {
            self.scan.kinds.streams = true;
            self.keep_trailer(dict);
        }
        match stream {
            Some(start) => self.end_of_stream(start, length.as_ref()),
            None => end,
        }
    }

    /// A string may hold the letters `obj`: look once more up to the next `endobj`, as long as such
    /// looks stay few.
    fn second_look(
        &mut self,
        body: usize,
        limit: usize,
        id: Ref,
    ) -> Result<(Object<'p>, Option<usize>, usize), ParseError> {
        let window = self.bytes.len().min(limit.saturating_add(64 * 1024));
        let cost = window - body;
        self.second_looks = self
            .second_looks
            .checked_sub(cost)
            .ok_or(ParseError::Invalid)?;
        let end = memmem::find(&self.bytes[limit..window], b"endobj").ok_or(ParseError::Invalid)?;
        self.second_looks += window - (limit + end);
        parse_body(&self.bytes[..limit + end + 6], body, id, Wanted::All)
    }

    /// Where a stream ends: by its length where that leads to `endstream`, else at the next
    /// `endstream`.
    fn end_of_stream(&mut self, start: usize, length: Option<&Object<'_>>) -> usize {
        let length = match length {
            Some(Object::Ref(reference)) => self.number(*reference),
            Some(object) => object.as_u64(),
            None => None,
        };
        if let Some(end) = length
            .and_then(|length| usize::try_from(length).ok())
            .and_then(|length| start.checked_add(length))
            && let Some(rest) = self.bytes.get(end..)
        {
            let mut lexer = Lexer::new(&rest[..rest.len().min(32)], 0);
            lexer.skip_space();
            if lexer.rest().starts_with(b"endstream") {
                return end;
            }
        }
        if self.end_of_stream.is_some_and(|found| found < start) {
            self.end_of_stream =
                memmem::find(&self.bytes[start..], b"endstream").map(|at| start + at);
        }
        self.end_of_stream.unwrap_or(start)
    }

    /// The value of an integer object that was defined before.
    fn number(&self, reference: Ref) -> Option<u64> {
        let at = usize::try_from(*self.scan.objects.get(&reference.number)?).ok()?;
        let window = self.bytes.get(at..)?;
        let mut lexer = Lexer::new(&window[..window.len().min(64)], 0);
        lexer.object_head()?;
        lexer.unsigned()
    }

    /// Keeps a trailer, and of very many the last ones.
    fn keep_trailer(&mut self, trailer: Dict<'p>) {
        if self.scan.trailers.len() >= MAX_TRAILERS {
            self.scan.trailers.drain(..MAX_TRAILERS / 2);
        }
        self.scan.trailers.push(trailer);
    }

    /// Takes the dictionary behind `trailer`, if there is one before the limit.
    fn trailer(&mut self, at: usize, limit: usize) -> usize {
        self.scan.kinds.tables = true;
        if let Ok(Object::Dict(dict)) = Parser::new(&self.bytes[..limit.max(at)], at, None).object()
        {
            self.keep_trailer(dict);
        }
        at
    }
}

/// The `N G` before an `obj` keyword, and where it begins.
pub(super) fn head_before(bytes: &[u8], keyword: usize) -> Option<(Ref, u64)> {
    let mut at = keyword;
    let generation = number_before(bytes, &mut at, 5)?;
    let number = number_before(bytes, &mut at, 10)?;
    let glued = at > 0 && is_regular(bytes[at - 1]);
    if glued && !bytes[..at].ends_with(b"endobj") && !bytes[..at].ends_with(b"endstream") {
        return None;
    }
    let id = Ref {
        number: u32::try_from(number).ok()?,
        generation: u16::try_from(generation).ok()?,
    };
    Some((id, at as u64))
}

/// The digits before `at`, with white space between.
fn number_before(bytes: &[u8], at: &mut usize, max_digits: usize) -> Option<u64> {
    let spaces = bytes[..*at]
        .iter()
        .rev()
        .take(16)
        .take_while(|byte| is_space(**byte))
        .count();
    let end = *at - spaces;
    let digits = bytes[..end]
        .iter()
        .rev()
        .take(max_digits)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if spaces == 0 || digits == 0 {
        return None;
    }
    *at = end - digits;
    decimal(&bytes[*at..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::source::Source;

    fn scan_of(bytes: impl Into<Vec<u8>>, check: impl FnOnce(Scan<'_>)) {
        let source = Source::for_test("x.pdf", bytes);
        let store = Store::new(&source, crate::contract::Level::Deep);
        check(scan(&store, 100_000).unwrap());
    }

    #[test]
    fn objects_are_found_however_they_are_written() {
        let text = b"%PDF-1.4\r1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\r2 0 obj\r<</Kids[]>>\rendobj3 0 obj (endobj obj) endobj\n\
            4 0 obj <</Length 5 0 R>> stream\n6 0 obj 7 endobj\nendstream endobj 5 0 obj 17 endobj\n\
            8 0 obj 1 endobj 8 0 obj 2 endobj trailer<</Root 1 0 R>>";
        scan_of(*text, |scan| {
            let mut numbers: Vec<_> = scan.objects.keys().copied().collect();
            numbers.sort_unstable();
            assert_eq!(numbers, [1, 2, 3, 4, 5, 8]);
            let second = memmem::rfind(text, b"8 0 obj").unwrap() as u64;
            assert_eq!(scan.objects[&8], second, "the last definition counts");
            assert_eq!(scan.catalogues.len(), 1);
            assert_eq!(scan.trailers.len(), 1);
        });
    }

    #[test]
    fn a_pass_is_linear_in_hostile_files() {
        // Objects that never end, unclosed strings, and no `endobj` at all.
        for unit in [
            "1 0 obj (",
            "1 0 obj <</A ",
            "1 0 obj [ ",
            "1 0 obj<</Length 9>>stream\n",
        ] {
            let text = unit.repeat(100_000);
            let started = std::time::Instant::now();
            scan_of(text, |scan| assert!(scan.objects.len() <= 1));
            let elapsed = started.elapsed();
            assert!(elapsed.as_secs() < 120, "{unit}: {elapsed:?}");
        }
    }
}
