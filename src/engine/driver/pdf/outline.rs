//! Bookmarks and page labels (ISO 32000-2, 12.3.3, 12.4.2).

use super::visited::Visited;
use crate::engine::container::pdf::{Dict, Document, Object};
use crate::engine::error::Result;
use crate::engine::value::Value;

/// How many bookmarks there are, and how many levels they have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outline {
    pub(super) items: u64,
    pub(super) depth: u64,
}

const OF_ITEMS: &[&[u8]] = &[b"First", b"Next"];

/// Walks the bookmarks, each once. `None` when there is an item that cannot be read.
///
/// # Errors
/// Budget and I/O errors.
pub(super) fn outline<'p>(
    document: &Document<'p>,
    catalogue: &Dict<'p>,
) -> Result<Option<Outline>> {
    let unread = document.blocked();
    let mut found = Outline::default();
    let mut visited = Visited::default();
    let mut stack = Vec::new();
    if let Some(root) = document.dict_of(catalogue, b"Outlines")? {
        stack.extend(root.get(b"First").cloned().map(|first| (first, 1)));
    }
    while let Some((item, depth)) = stack.pop() {
        document.count_step()?;
        if item
            .as_ref()
            .is_some_and(|item| !visited.insert(item.number))
        {
            continue;
        }
        let item = document.resolve_keys(&item, OF_ITEMS)?;
        let Some(item) = item.as_dict() else {
            continue;
        };
        found.items += 1;
        found.depth = found.depth.max(depth);
        stack.extend(item.get(b"Next").cloned().map(|next| (next, depth)));
        stack.extend(item.get(b"First").cloned().map(|first| (first, depth + 1)));
    }
    Ok((document.blocked() == unread).then_some(found))
}

/// Most ranges of labels that are listed.
const MAX_RANGES: usize = 1000;

/// The ranges of page labels in the order of their first page, which counts from 1. `None` when the
/// tree cannot be read.
///
/// # Errors
/// Budget and I/O errors.
pub(super) fn page_labels<'p>(
    document: &Document<'p>,
    catalogue: &Dict<'p>,
) -> Result<Option<Value>> {
    let unread = document.blocked();
    let mut ranges = Vec::new();
    let mut visited = Visited::default();
    let mut stack: Vec<Object<'p>> = catalogue.get(b"PageLabels").cloned().into_iter().collect();
    while let Some(node) = stack.pop() {
        document.count_step()?;
        if node
            .as_ref()
            .is_some_and(|node| !visited.insert(node.number))
        {
            continue;
        }
        let node = document.resolve(&node)?;
        let Some(node) = node.as_dict() else {
            continue;
        };
        if let Some(kids) = document.get(node, b"Kids")? {
            stack.extend(kids.as_array().unwrap_or_default().iter().cloned());
        }
        let numbers = document.get(node, b"Nums")?;
        let numbers = numbers.as_deref().and_then(Object::as_array);
        for pair in numbers.unwrap_or_default().chunks_exact(2) {
            if ranges.len() < MAX_RANGES
                && let Some(first) = document.resolve(&pair[0])?.as_u64()
                && let Some(label) = document.resolve(&pair[1])?.as_dict()
            {
                ranges.push((first, range(document, first, label)?));
            }
        }
    }
    ranges.sort_by_key(|(first, _)| *first);
    let ranges = ranges.into_iter().map(|(_, range)| range).collect();
    Ok((document.blocked() == unread).then_some(Value::List(ranges)))
}

fn range<'p>(document: &Document<'p>, first: u64, label: &Dict<'p>) -> Result<Value> {
    let style = document.name_of(label, b"S")?;
    let style = match style.as_ref().map(|style| style.bytes()).as_deref() {
        Some(b"D") => Value::word("decimal"),
        Some(b"R") => Value::word("upper_roman"),
        Some(b"r") => Value::word("lower_roman"),
        Some(b"A") => Value::word("upper_letters"),
        Some(b"a") => Value::word("lower_letters"),
        _ => Value::Null,
    };
    let prefix = match document.get(label, b"P")?.as_deref() {
        Some(Object::Text(text)) => document.text(*text)?,
        _ => None,
    };
    let start = document.get(label, b"St")?.and_then(|start| start.as_u64());
    Ok(Value::object([
        ("first_page", Value::from(first.saturating_add(1))),
        ("prefix", Value::from(prefix)),
        ("start", Value::from(start.unwrap_or(1))),
        ("style", style),
    ]))
}
