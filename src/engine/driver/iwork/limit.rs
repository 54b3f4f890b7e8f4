//! What a document can make as long as it likes: values in the reply, and lists in its objects.

use crate::contract::Confidence::Exact;
use crate::engine::catalogue::Target;
use crate::engine::container::iwa::DecodeError;
use crate::engine::findings::{Findings, Status};
use crate::engine::value::Value;

/// Longest value in bytes, before escapes. A reply must stay readable for whoever asked.
const MAX_BYTES: usize = 1024 * 1024;

/// Most items of one list in an object: slides, sheets, data, tables. A reference takes four bytes in
/// the document and many more in memory, and no document that somebody made has so many.
const MAX_ITEMS: usize = 1_000_000;

/// Refuses a list that has become longer than any document's.
pub(super) fn check_items(count: usize) -> Result<(), DecodeError> {
    if count > MAX_ITEMS {
        Err(DecodeError)
    } else {
        Ok(())
    }
}

/// Puts a value of about `length` bytes, or says that it would be too long.
pub(super) fn put(
    target: Target,
    length: usize,
    source: &'static str,
    out: &mut Findings,
    value: impl FnOnce() -> Value,
) {
    if length > MAX_BYTES {
        out.no_value(target, Status::BudgetExceeded);
    } else {
        out.put(target, value(), Exact, source);
    }
}

/// Puts a list of texts, or says that it would be too long.
pub(super) fn put_texts(
    target: Target,
    texts: Vec<&str>,
    source: &'static str,
    out: &mut Findings,
) {
    let length = texts.iter().map(|text| text.len() + 3).sum();
    put(target, length, source, out, || Value::from(texts));
}
