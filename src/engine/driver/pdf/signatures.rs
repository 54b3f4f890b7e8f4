//! Signature dictionaries (ISO 32000-2, 12.8.1).

use crate::engine::container::pdf::{Dict, Document, Object};
use crate::engine::error::Result;
use crate::engine::value::Value;

/// A signature as it describes itself. Nothing is verified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Signature {
    /// The signer's name: `Name`, else the common name in the signing certificate.
    pub(super) signer: Option<String>,
    /// The time of signing, as it is written.
    pub(super) signed_at: Option<String>,
    /// The format, such as `adbe.pkcs7.detached`.
    pub(super) format: Option<String>,
    /// Whether the signed ranges are the whole file but for the signature itself.
    pub(super) covers_whole_file: Option<bool>,
}

impl Signature {
    pub(super) fn read<'p>(document: &Document<'p>, dict: &Dict<'p>) -> Result<Self> {
        let text = |key: &[u8]| -> Result<Option<String>> {
            let text = match document.get(dict, key)?.as_deref() {
                Some(Object::Text(text)) => document.text(*text)?,
                _ => None,
            };
            Ok(text.filter(|text| !text.trim().is_empty()))
        };
        let format = document.name_of(dict, b"SubFilter")?;
        Ok(Self {
            signer: text(b"Name")?,
            signed_at: text(b"M")?,
            format: format.map(|name| String::from_utf8_lossy(&name.bytes()).into_owned()),
            covers_whole_file: covers_whole_file(document, dict)?,
        })
    }

    pub(super) fn value(&self) -> Value {
        Value::object([
            ("covers_whole_file", Value::from(self.covers_whole_file)),
            ("format", Value::from(self.format.as_deref())),
            ("signed_at", Value::from(self.signed_at.as_deref())),
            ("signer", Value::from(self.signer.as_deref())),
        ])
    }
}

/// Whether `ByteRange` begins at the start of the file, ends at its end, and leaves out one gap.
fn covers_whole_file<'p>(document: &Document<'p>, dict: &Dict<'p>) -> Result<Option<bool>> {
    let Some(range) = document.get(dict, b"ByteRange")? else {
        return Ok(None);
    };
    let mut numbers = Vec::new();
    for number in range.as_array().unwrap_or_default().iter().take(5) {
        numbers.extend(document.resolve(number)?.as_u64());
    }
    let &[start, len, rest, rest_len] = &numbers[..] else {
        return Ok(Some(false));
    };
    let ends = rest.checked_add(rest_len);
    Ok(Some(
        start == 0 && len <= rest && ends == Some(document.size()),
    ))
}
