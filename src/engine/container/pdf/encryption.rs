//! Reads the encryption dictionary of a document (ISO 32000-2, 7.6.2).

use super::crypt::{self, Encryption, EncryptionDict, Method};
use super::document::Document;
use super::object::{Dict, Object};
use crate::engine::error::Result;

impl<'p> Document<'p> {
    /// Reads the encryption dictionary that the trailer names and tries the empty password.
    ///
    /// # Errors
    /// Budget and I/O errors.
    pub(super) fn read_encryption(&self) -> Result<Encryption> {
        let trailer = self.trailer();
        let Some(entry) = trailer.get(b"Encrypt") else {
            return Ok(Encryption::None);
        };
        let loaded = self.resolve(entry)?;
        let Some(dict) = loaded.as_dict() else {
            return Ok(Encryption::Unsupported);
        };
        let handler = self.name_of(dict, b"Filter")?;
        if !handler.is_some_and(|name| name.is(b"Standard")) {
            return Ok(Encryption::Unsupported);
        }
        let Some(encryption) = read_dict(self, dict, trailer)? else {
            return Ok(Encryption::Unsupported);
        };
        Ok(match crypt::unlock(&encryption, self.meter())? {
            Some(key) => Encryption::Unlocked(key),
            None => Encryption::PasswordRequired {
                encrypt_metadata: encryption.encrypt_metadata,
            },
        })
    }
}

/// Collects what the standard handler needs. `None` for a version that it does not define.
fn read_dict<'p>(
    document: &Document<'p>,
    dict: &Dict<'p>,
    trailer: &Dict<'p>,
) -> Result<Option<EncryptionDict>> {
    let number = |key: &[u8]| -> Result<Option<u64>> {
        Ok(match dict.get(key) {
            Some(object) => document.resolve(object)?.as_u64(),
            None => None,
        })
    };
    let bytes = |key: &[u8]| -> Result<Vec<u8>> {
        Ok(match dict.get(key) {
            Some(object) => match &*document.resolve(object)? {
                Object::Text(text) => text.bytes().into_owned(),
                _ => Vec::new(),
            },
            None => Vec::new(),
        })
    };
    let (version, revision) = (number(b"V")?.unwrap_or(0), number(b"R")?.unwrap_or(0));
    let (streams, strings) = match version {
        1..=3 => (Method::Rc4, Method::Rc4),
        4 | 5 => (
            method(document, dict, b"StmF")?,
            method(document, dict, b"StrF")?,
        ),
        _ => return Ok(None),
    };
    if !(2..=6).contains(&revision) {
        return Ok(None);
    }
    let permissions = match dict.get(b"P") {
        Some(object) => match &*document.resolve(object)? {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the standard speaks of 32 bits, written signed or unsigned"
            )]
            Object::Int(value) => *value as u32,
            _ => 0,
        },
        None => 0,
    };
    let encrypt_metadata = match dict.get(b"EncryptMetadata") {
        Some(object) => document.resolve(object)?.as_bool().unwrap_or(true),
        None => true,
    };
    let key_bits = match number(b"Length")?.unwrap_or(40) {
        // Some writers give bytes.
        bytes @ 5..=32 => bytes * 8,
        bits => bits,
    };
    Ok(Some(EncryptionDict {
        version,
        revision,
        key_bits,
        owner: bytes(b"O")?,
        user: bytes(b"U")?,
        owner_key: bytes(b"OE")?,
        user_key: bytes(b"UE")?,
        permissions,
        encrypt_metadata,
        streams,
        strings,
        file_id: file_id(document, trailer)?,
    }))
}

/// The crypt filter that `key` names, as a method.
fn method<'p>(document: &Document<'p>, dict: &Dict<'p>, key: &[u8]) -> Result<Method> {
    let Some(name) = document.name_of(dict, key)? else {
        return Ok(Method::Identity);
    };
    if name.is(b"Identity") {
        return Ok(Method::Identity);
    }
    let Some(filters) = document.dict_of(dict, b"CF")? else {
        return Ok(Method::Unknown);
    };
    let Some(filter) = document.dict_of(&filters, &name.bytes())? else {
        return Ok(Method::Unknown);
    };
    let Some(method) = document.name_of(&filter, b"CFM")? else {
        return Ok(Method::Identity);
    };
    Ok(match &*method.bytes() {
        b"None" => Method::Identity,
        b"V2" => Method::Rc4,
        b"AESV2" => Method::AesV2,
        b"AESV3" => Method::AesV3,
        _ => Method::Unknown,
    })
}

/// The first element of `ID`; empty when there is none.
fn file_id<'p>(document: &Document<'p>, trailer: &Dict<'p>) -> Result<Vec<u8>> {
    let Some(entry) = trailer.get(b"ID") else {
        return Ok(Vec::new());
    };
    let loaded = document.resolve(entry)?;
    let Some(first) = loaded.as_array().and_then(<[_]>::first) else {
        return Ok(Vec::new());
    };
    Ok(match &*document.resolve(first)? {
        Object::Text(text) => text.bytes().into_owned(),
        _ => Vec::new(),
    })
}
