//! Stream data: where it ends, and what its filters are (ISO 32000-2, 7.3.8).

use memchr::memmem;

use super::filter::{self, Filter, FilterName, Predictor};
use super::lexer::{Lexer, is_space};
use super::object::{Dict, Object};
use super::store::Store;
use crate::engine::error::Result;

/// Most filters of a stream. More than a few only ever occur in bombs.
const MAX_FILTERS: usize = 8;

/// What follows the data: `endstream` with a line break before it.
const END: &[u8] = b"endstream";

/// The data as written in the file. A length that does not lead to `endstream` is wrong, and the
/// keyword is searched for.
///
/// # Errors
/// Budget and I/O errors.
pub(crate) fn raw<'p>(store: &Store<'p>, at: u64, length: Option<u64>) -> Result<&'p [u8]> {
    let available = store.size().saturating_sub(at);
    if let Some(length) = length
        && length <= available
        && let Ok(length) = usize::try_from(length)
    {
        let window = store.window(at, length.saturating_add(END.len() + 4))?;
        if let Some((data, rest)) = window.split_at_checked(length) {
            let mut lexer = Lexer::new(rest, 0);
            while lexer.peek().is_some_and(is_space) {
                lexer.bump();
            }
            let behind = lexer.rest();
            if behind.starts_with(END) || behind.starts_with(b"endobj") {
                return Ok(data);
            }
        }
    }
    search(store, at)
}

/// The first `len` bytes of the data, or fewer when the stream is shorter.
///
/// # Errors
/// Budget and I/O errors.
pub(crate) fn raw_head<'p>(
    store: &Store<'p>,
    at: u64,
    length: Option<u64>,
    len: usize,
) -> Result<&'p [u8]> {
    let whole = length.map_or(usize::MAX, |length| usize::try_from(length).unwrap_or(len));
    let window = store.window(at, len.min(whole))?;
    Ok(&window[..window.len().min(len).min(whole)])
}

/// The data up to `endstream`, or to the end of the file.
fn search<'p>(store: &Store<'p>, at: u64) -> Result<&'p [u8]> {
    let mut wanted = 16 * 1024;
    let mut searched = 0_usize;
    loop {
        let window = store.window(at, wanted)?;
        store.meter().check_clock()?;
        let from = searched.saturating_sub(END.len());
        if let Some(found) = memmem::find(&window[from..], END) {
            let data = &window[..from + found];
            let data = data.strip_suffix(b"\n").unwrap_or(data);
            return Ok(data.strip_suffix(b"\r").unwrap_or(data));
        }
        if window.len() < wanted || at + window.len() as u64 >= store.size() {
            return Ok(window);
        }
        searched = window.len();
        wanted = window.len() * 4;
    }
}

/// The filters of a stream in the order of their application; `None` when one is not known here.
/// `Crypt` is left out: decryption handles it.
///
/// # Errors
/// The errors of `resolve`.
pub(crate) fn filters<'p>(
    dict: &Dict<'p>,
    resolve: &mut dyn FnMut(&Object<'p>) -> Result<Object<'p>>,
) -> Result<Option<Vec<Filter>>> {
    // Nearly all streams have one filter, given directly.
    if let (Some(name), None | Some(Object::Dict(_))) =
        (dict.name(b"Filter"), dict.get(b"DecodeParms"))
        && !dict.has(b"DP")
    {
        let parameters = match dict.get(b"DecodeParms") {
            Some(Object::Dict(parameters)) => Parameters::read(parameters, resolve)?,
            _ => Parameters::default(),
        };
        let Some(name) = FilterName::parse(&name.bytes()) else {
            return Ok(None);
        };
        return Ok(Some(parameters.of(name).into_iter().collect()));
    }
    let names = list(dict, [b"Filter", b"F"], resolve)?;
    let parameters = list(dict, [b"DecodeParms", b"DP"], resolve)?;
    if names.len() > MAX_FILTERS {
        return Ok(None);
    }
    let mut filters = Vec::with_capacity(names.len());
    for (index, name) in names.iter().enumerate() {
        let name = name
            .as_name()
            .and_then(|name| FilterName::parse(&name.bytes()));
        let parameters = match parameters.get(index) {
            Some(Object::Dict(dict)) => Parameters::read(dict, resolve)?,
            _ => Parameters::default(),
        };
        let Some(name) = name else {
            return Ok(None);
        };
        filters.extend(parameters.of(name));
    }
    Ok(Some(filters))
}

/// Runs the filters one after another. What comes out is kept as long as the probe.
///
/// # Errors
/// Budget errors.
pub(crate) fn decode<'p>(store: &Store<'p>, filters: &[Filter], raw: &'p [u8]) -> Result<&'p [u8]> {
    let Some((first, rest)) = filters.split_first() else {
        return Ok(raw);
    };
    Ok(store.keep(decode_owned(store, *first, rest, raw)?))
}

/// As [`decode`], of bytes that are dropped afterwards.
///
/// # Errors
/// Budget errors.
pub(crate) fn decode_vec<'p>(
    store: &Store<'p>,
    filters: &[Filter],
    raw: Vec<u8>,
) -> Result<&'p [u8]> {
    let Some((first, rest)) = filters.split_first() else {
        return Ok(store.keep(raw));
    };
    Ok(store.keep(decode_owned(store, *first, rest, &raw)?))
}

fn decode_owned(store: &Store<'_>, first: Filter, rest: &[Filter], raw: &[u8]) -> Result<Vec<u8>> {
    let mut data = filter::decode(first, raw, store.meter())?;
    for filter in rest {
        data = filter::decode(*filter, &data, store.meter())?;
    }
    Ok(data)
}

/// An entry that is one object or an array of them, resolved. The short keys are those of inline
/// images, which some writers use elsewhere too; a file specification under `F` is not a filter.
fn list<'p>(
    dict: &Dict<'p>,
    keys: [&[u8]; 2],
    resolve: &mut dyn FnMut(&Object<'p>) -> Result<Object<'p>>,
) -> Result<Vec<Object<'p>>> {
    for key in keys {
        let Some(entry) = dict.get(key) else {
            continue;
        };
        return match resolve(entry)? {
            Object::Array(items) => items.iter().take(MAX_FILTERS + 1).map(resolve).collect(),
            Object::Null => Ok(Vec::new()),
            Object::Text(_) | Object::Dict(_) if key == b"F" => Ok(Vec::new()),
            object => Ok(vec![object]),
        };
    }
    Ok(Vec::new())
}

/// The parameters of a filter.
struct Parameters {
    predictor: Predictor,
    early_change: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            predictor: Predictor::default(),
            early_change: true,
        }
    }
}

impl Parameters {
    /// The filter of this name. `Crypt` is not one here.
    fn of(&self, name: FilterName) -> Option<Filter> {
        Some(match name {
            FilterName::Crypt => return None,
            FilterName::Flate => Filter::Flate(self.predictor),
            FilterName::Lzw => Filter::Lzw {
                early_change: self.early_change,
                predictor: self.predictor,
            },
            FilterName::Ascii85 => Filter::Ascii85,
            FilterName::AsciiHex => Filter::AsciiHex,
            FilterName::RunLength => Filter::RunLength,
        })
    }

    fn read<'p>(
        dict: &Dict<'p>,
        resolve: &mut dyn FnMut(&Object<'p>) -> Result<Object<'p>>,
    ) -> Result<Self> {
        let mut number = |key: &[u8], default: u64| -> Result<u64> {
            Ok(match dict.get(key) {
                Some(object) => resolve(object)?.as_u64().unwrap_or(default),
                None => default,
            })
        };
        Ok(Self {
            predictor: Predictor {
                kind: number(b"Predictor", 1)?,
                colors: number(b"Colors", 1)?.max(1),
                bits: number(b"BitsPerComponent", 8)?.max(1),
                columns: number(b"Columns", 1)?.max(1),
            },
            early_change: number(b"EarlyChange", 1)? != 0,
        })
    }
}
