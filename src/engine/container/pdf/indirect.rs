//! Objects at a place in the file.

use super::lexer::{Lexer, ParseError};
use super::object::{Object, Ref};
use super::parser::{Parser, Wanted};
use super::store::Store;
use crate::engine::error::Result;

/// Bytes that are looked at first.
const FIRST_LOOK: usize = 256;

/// Objects are mostly smaller than this, so as much is parsed at once where it is in memory anyway.
const USUAL: usize = 8 * 1024;

/// Most bytes of an object without its stream.
const MAX_OBJECT: usize = 4 << 20;

/// Bytes that must follow an object in memory before it counts as whole: a token at the end of the
/// window may continue behind it.
const MARGIN: usize = 16;

/// An indirect object.
#[derive(Debug)]
pub(crate) struct Indirect<'p> {
    pub(crate) id: Ref,
    /// The object; of a stream its dictionary.
    pub(crate) object: Object<'p>,
    /// Where the data of a stream begins.
    pub(crate) stream: Option<u64>,
}

/// Reads `N G obj …` at an offset, of a dictionary the entries that are wanted. `None` when no readable
/// object begins there, or one of another number than the expected one, which is not parsed.
///
/// # Errors
/// Budget and I/O errors.
pub(crate) fn read<'p>(
    store: &Store<'p>,
    at: u64,
    expected: Option<u32>,
    wanted: Wanted,
) -> Result<Option<Indirect<'p>>> {
    let Some((id, body)) = head(store, at)? else {
        return Ok(None);
    };
    if expected.is_some_and(|expected| expected != id.number) {
        return Ok(None);
    }
    grow(store, at, |window| {
        parse_body(window, body, id, wanted).map(|(object, stream, end)| {
            let stream = stream.map(|position| at + position as u64);
            (Indirect { id, object, stream }, end)
        })
    })
}

/// Whether the object of this number begins at an offset, readable or not.
///
/// # Errors
/// Budget and I/O errors.
pub(crate) fn begins(store: &Store<'_>, at: u64, number: u32) -> Result<bool> {
    Ok(head(store, at)?.is_some_and(|(id, _)| id.number == number))
}

/// The head of an object, and its length.
fn head(store: &Store<'_>, at: u64) -> Result<Option<(Ref, usize)>> {
    let mut head = Lexer::new(store.window(at, FIRST_LOOK)?, 0);
    let Some((number, generation)) = head.object_head() else {
        return Ok(None);
    };
    let id = u32::try_from(number).ok().map(|number| Ref {
        number,
        generation: u16::try_from(generation).unwrap_or(u16::MAX),
    });
    Ok(id.map(|id| (id, head.position())))
}

/// Reads a direct object at an offset, as after `trailer`.
///
/// # Errors
/// Budget and I/O errors.
pub(crate) fn read_direct<'p>(store: &Store<'p>, at: u64) -> Result<Option<Object<'p>>> {
    grow(store, at, |window| {
        let mut parser = Parser::new(window, 0, None);
        let object = parser.object()?;
        Ok((object, parser.lexer.position()))
    })
}

/// Reads the body of an object from `position` on: the object, where its stream data begin, and
/// where it ends.
pub(crate) fn parse_body(
    bytes: &[u8],
    position: usize,
    id: Ref,
    wanted: Wanted,
) -> Result<(Object<'_>, Option<usize>, usize), ParseError> {
    let mut parser = Parser::new(bytes, position, Some(id));
    parser.lexer.skip_space();
    // `1 0 obj endobj` is an empty object, which reads as null.
    if parser.lexer.rest().starts_with(b"endobj") {
        return Ok((Object::Null, None, parser.lexer.position()));
    }
    let object = parser.object_with(wanted)?;
    let lexer = &mut parser.lexer;
    let end = lexer.position();
    let mut stream = None;
    if object.as_dict().is_some() {
        lexer.skip_space();
        if lexer.rest().starts_with(b"stream") {
            lexer.set_position(lexer.position() + 6);
            // Blanks before the line break are a known slip; CR alone is another.
            while lexer.peek() == Some(b' ') {
                lexer.bump();
            }
            lexer.eat(b'\r');
            lexer.eat(b'\n');
            stream = Some(lexer.position());
        }
        return Ok((object, stream, lexer.position()));
    }
    Ok((object, stream, end))
}

/// Parses at an offset with more and more bytes, until it is whole, proves not to be an object, or is too large.
fn grow<'p, T>(
    store: &Store<'p>,
    at: u64,
    parse: impl Fn(&'p [u8]) -> Result<(T, usize), ParseError>,
) -> Result<Option<T>> {
    let mut wanted = FIRST_LOOK;
    loop {
        let window = store.window(at, wanted)?;
        // Extra bytes are welcome, but a false object should not cost all that follows.
        let window = &window[..window.len().min(wanted.max(USUAL))];
        let is_all = window.len() < wanted || at + window.len() as u64 >= store.size();
        let parsed = parse(window);
        store.work(match &parsed {
            Ok((_, end)) => *end,
            Err(_) => window.len(),
        })?;
        match parsed {
            Ok((value, end)) if is_all || end + MARGIN <= window.len() => return Ok(Some(value)),
            Err(ParseError::Invalid) => return Ok(None),
            Err(ParseError::Incomplete) if is_all => return Ok(None),
            Ok(_) | Err(ParseError::Incomplete) => {}
        }
        if wanted >= MAX_OBJECT {
            return Ok(None);
        }
        store.meter().check_clock()?;
        wanted = (wanted * 4).max(window.len() * 2).min(MAX_OBJECT);
    }
}
