//! Interactive form fields (ISO 32000-2, 12.7.4).

use std::collections::HashMap;

use super::visited::Visited;
use crate::engine::container::pdf::{Dict, Document, Object};
use crate::engine::error::Result;

/// Counts the terminal fields: those that have no fields below them. Widgets without a name of their
/// own are looks of their field, not fields. A field that is reached twice is one field, so that a
/// shared graph costs no more than its nodes.
pub(super) fn count<'p>(document: &Document<'p>, catalogue: &Dict<'p>) -> Result<u64> {
    let Some(form) = document.dict_of(catalogue, b"AcroForm")? else {
        return Ok(0);
    };
    let mut fields = Fields {
        document,
        seen: Visited::default(),
        kinds: HashMap::new(),
    };
    let mut count = 0;
    let mut stack = array(document, &form, b"Fields")?.unwrap_or_default();
    stack.retain(|node| fields.is_new(node));
    while let Some(node) = stack.pop() {
        document.count_step()?;
        let field = document.resolve_keys(&node, &[b"Kids"])?;
        let Some(field) = field.as_dict() else {
            continue;
        };
        let mut has_fields_below = false;
        for kid in array(document, field, b"Kids")?.unwrap_or_default() {
            document.count_step()?;
            if fields.is_field(&kid)? {
                has_fields_below = true;
                // Only what was not there before waits for its turn, or a graph would outgrow its file.
                if fields.is_new(&kid) {
                    stack.push(kid);
                }
            }
        }
        count += u64::from(!has_fields_below);
    }
    Ok(count)
}

struct Fields<'d, 'p> {
    document: &'d Document<'p>,
    /// Fields that were counted or wait for it.
    seen: Visited,
    /// Whether a kid is a field, of those that were looked at.
    kinds: HashMap<u32, bool>,
}

impl<'p> Fields<'_, 'p> {
    /// Whether a node comes for the first time. It is marked.
    fn is_new(&mut self, node: &Object<'p>) -> bool {
        node.as_ref()
            .is_none_or(|reference| self.seen.insert(reference.number))
    }

    /// Whether a kid is a field and not only a look of one.
    fn is_field(&mut self, kid: &Object<'p>) -> Result<bool> {
        let number = kid.as_ref().map(|reference| reference.number);
        if let Some(known) = number.and_then(|number| self.kinds.get(&number)) {
            return Ok(*known);
        }
        let is_field = self
            .document
            .resolve_keys(kid, &[b"T", b"Kids"])?
            .as_dict()
            .is_some_and(|kid| kid.has(b"T") || kid.has(b"Kids"));
        if let Some(number) = number {
            self.kinds.insert(number, is_field);
        }
        Ok(is_field)
    }
}

fn array<'p>(
    document: &Document<'p>,
    dict: &Dict<'p>,
    key: &[u8],
) -> Result<Option<Vec<Object<'p>>>> {
    Ok(match document.get(dict, key)? {
        Some(object) => match object.into_owned() {
            Object::Array(items) => Some(items),
            _ => None,
        },
        None => None,
    })
}
