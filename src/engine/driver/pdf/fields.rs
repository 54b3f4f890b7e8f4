//! Interactive form fields (ISO 32000-2, 12.7.4).

use super::seen::Seen;
use crate::engine::container::pdf::{Dict, Document, Object};
use crate::engine::error::Result;

/// Counts the terminal fields: those that have no fields below them. Widgets without a name of their
/// own are looks of their field, not fields. A field that is reached twice is one field, so that a
/// shared graph costs no more than its nodes.
pub(super) fn count<'p>(document: &Document<'p>, catalogue: &Dict<'p>) -> Result<u64> {
    let Some(form) = document.dict_of(catalogue, b"AcroForm")? else {
        return Ok(0);
    };
    let mut seen = Seen::default();
    let mut count = 0;
    let mut stack = array(document, &form, b"Fields")?.unwrap_or_default();
    while let Some(node) = stack.pop() {
        document.tick()?;
        let Some(field) = enter(document, &node, &mut seen)? else {
            continue;
        };
        let mut has_fields_below = false;
        for kid in array(document, &field, b"Kids")?.unwrap_or_default() {
            document.tick()?;
            // Looked at without marking: it is marked when its turn comes.
            let is_field = document
                .resolve(&kid)?
                .as_dict()
                .is_some_and(|kid| kid.has(b"T") || kid.has(b"Kids"));
            if is_field {
                has_fields_below = true;
                stack.push(kid);
            }
        }
        count += u64::from(!has_fields_below);
    }
    Ok(count)
}

fn enter<'p>(
    document: &Document<'p>,
    node: &Object<'p>,
    seen: &mut Seen,
) -> Result<Option<Dict<'p>>> {
    if let Object::Ref(reference) = node
        && !seen.insert(reference.number)
    {
        return Ok(None);
    }
    Ok(match document.resolve(node)?.into_owned() {
        Object::Dict(dict) => Some(dict),
        _ => None,
    })
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
