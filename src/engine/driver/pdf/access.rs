//! What a reader may do with a document, and what kind of form it has (ISO 32000-2, 7.6.4.2, 12.7.3).

use crate::engine::container::pdf::{Dict, Document, Object};
use crate::engine::error::Result;
use crate::engine::value::Value;

/// The permissions of a user without the owner's password: `Null` for a document that is not
/// encrypted, `None` when the security handler is not the standard one.
///
/// # Errors
/// Budget and I/O errors.
pub(super) fn permissions(document: &Document<'_>) -> Result<Option<Value>> {
    let trailer = document.trailer();
    if !trailer.has(b"Encrypt") {
        return Ok(Some(Value::Null));
    }
    let Some(dict) = document.dict_of(trailer, b"Encrypt")? else {
        return Ok(None);
    };
    let handler = document.name_of(&dict, b"Filter")?;
    if !handler.is_some_and(|name| name.is(b"Standard")) {
        return Ok(None);
    }
    let Some(Object::Int(flags)) = document.get(&dict, b"P")?.as_deref().cloned() else {
        return Ok(None);
    };
    let revision = document
        .get(&dict, b"R")?
        .and_then(|object| object.as_u64());
    Ok(Some(flags_value(flags, revision.unwrap_or(0))))
}

/// The bits of table 22, which counts them from 1. Revision 2 knows only bits 3 to 6; each of them
/// stands for the later, finer one too.
fn flags_value(flags: i64, revision: u64) -> Value {
    let bit = |number: u32| flags >> (number - 1) & 1 == 1;
    let fine = |number: u32, coarse: u32| bit(if revision >= 3 { number } else { coarse });
    Value::object([
        ("print", Value::from(bit(3))),
        ("print_high_quality", Value::from(bit(3) && fine(12, 3))),
        ("modify", Value::from(bit(4))),
        ("assemble", Value::from(fine(11, 4))),
        ("copy", Value::from(bit(5))),
        ("extract_for_accessibility", Value::from(fine(10, 5))),
        ("annotate", Value::from(bit(6))),
        ("fill_forms", Value::from(fine(9, 6))),
    ])
}

/// `none`, `acroform`, `xfa` (shown by an XFA processor only) or `acroform_xfa` (both).
///
/// # Errors
/// Budget and I/O errors.
pub(super) fn form_type<'p>(
    document: &Document<'p>,
    catalogue: &Dict<'p>,
) -> Result<Option<&'static str>> {
    let unread = document.blocked();
    let form = document.dict_of(catalogue, b"AcroForm")?;
    let needs_rendering = document
        .get(catalogue, b"NeedsRendering")?
        .and_then(|needs| needs.as_bool());
    let kind = match &form {
        None => "none",
        Some(form) => {
            let fields = document.get(form, b"Fields")?;
            let has_fields =
                fields.is_some_and(|fields| fields.as_array().is_some_and(|f| !f.is_empty()));
            match (document.get(form, b"XFA")?.is_some(), has_fields) {
                (true, true) if needs_rendering != Some(true) => "acroform_xfa",
                (true, _) => "xfa",
                (false, true) => "acroform",
                // Many writers leave an empty form behind.
                (false, false) => "none",
            }
        }
    };
    Ok((document.blocked() == unread).then_some(kind))
}

#[cfg(test)]
mod tests {
    use super::flags_value;
    use crate::engine::value::Value;

    #[test]
    fn revision_2_has_only_the_coarse_permissions() {
        let Value::Object(coarse) = flags_value(-1 ^ 0b1000, 2) else {
            panic!("no object");
        };
        let denied = |members: &[(std::borrow::Cow<'static, str>, Value)]| -> Vec<String> {
            let denied = members
                .iter()
                .filter(|(_, value)| *value == Value::Bool(false));
            denied.map(|(key, _)| key.to_string()).collect()
        };
        assert_eq!(denied(&coarse), ["assemble", "modify"]);
        let Value::Object(fine) = flags_value(-1 ^ 0b1000, 3) else {
            panic!("no object");
        };
        assert_eq!(denied(&fine), ["modify"]);
    }
}
