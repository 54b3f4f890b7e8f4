//! How a document is encrypted ([MS-OFFCRYPTO] §2.3): what the headers that are not encrypted say. Nothing is decrypted.

use std::borrow::Cow;

use super::bytes::{u16_at, u32_at};
use crate::engine::budget::Meter;
use crate::engine::container::cfb::Stream;
use crate::engine::container::xml::{self, Token, Xml};
use crate::engine::error::Result;

/// Bytes of an `EncryptionInfo` stream that are looked at. Real ones have one or two kilobytes.
const MAX_INFO: u64 = 64 * 1024;

/// What protects a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Encryption {
    /// `agile`, `standard`, `extensible`, `cryptoapi`, `rc4`, `xor` or `rights-management`.
    pub(super) scheme: Option<&'static str>,
    /// The cipher, such as `AES` or `RC4`.
    pub(super) algorithm: Option<Cow<'static, str>>,
    pub(super) key_bits: Option<u64>,
    /// The application tries this password by itself, so the user is not prompted.
    pub(super) opens_without_password: bool,
}

impl Encryption {
    /// An unknown scheme.
    pub(super) fn unrecognised() -> Self {
        Self::default()
    }

    /// XOR obfuscation: a 16-bit key made from the password.
    pub(super) fn xor() -> Self {
        Self::new("xor", "XOR", Some(16))
    }

    /// Access is granted by a rights management server, not by a password.
    pub(super) fn rights_management() -> Self {
        Self {
            scheme: Some("rights-management"),
            ..Self::default()
        }
    }

    /// Reads the `EncryptionInfo` stream of an encrypted package.
    pub(super) fn of_package(stream: &mut Stream<'_>) -> Result<Self> {
        let info = stream.read_range(0, MAX_INFO)?;
        Self::of_info(&info, stream.meter())
    }

    /// Reads an encryption header: the `EncryptionInfo` stream, or the header of a binary document. Both
    /// begin with a version.
    ///
    /// # Errors
    /// Budget errors.
    pub(super) fn of_info(info: &[u8], meter: &Meter) -> Result<Self> {
        let (Some(major), Some(minor)) = (u16_at(info, 0), u16_at(info, 2)) else {
            return Ok(Self::unrecognised());
        };
        Ok(match (major, minor) {
            (4, 4) => agile(info.get(8..).unwrap_or_default(), meter)?,
            (1, 1) => Self::new("rc4", "RC4", Some(40)),
            (2..=4, 2) => binary_header(info),
            (3 | 4, 3) => Self {
                scheme: Some("extensible"),
                ..Self::default()
            },
            _ => Self::unrecognised(),
        })
    }

    fn new(scheme: &'static str, algorithm: &'static str, key_bits: Option<u64>) -> Self {
        Self {
            scheme: Some(scheme),
            algorithm: Some(Cow::Borrowed(algorithm)),
            key_bits,
            opens_without_password: false,
        }
    }
}

/// Standard encryption of packages and `CryptoAPI` encryption of binary documents share the header
/// (§2.3.2): flags, its size, then flags again, size extra, cipher, hash, key size, provider.
fn binary_header(info: &[u8]) -> Encryption {
    const AES: u32 = 0x20;
    let Some(header) = info.get(12..) else {
        return Encryption::unrecognised();
    };
    let flags = u32_at(header, 0).unwrap_or_default();
    let claimed = u32_at(header, 16).filter(|bits| *bits <= 4096);
    let (algorithm, default_bits) = match u32_at(header, 8) {
        Some(0x660E) => ("AES", 128),
        Some(0x660F) => ("AES", 192),
        Some(0x6610) => ("AES", 256),
        Some(0x6801) => ("RC4", 40),
        // 0 leaves the choice to the flags.
        Some(0) if flags & AES != 0 => ("AES", 128),
        Some(0) => ("RC4", 40),
        _ => return Encryption::unrecognised(),
    };
    let scheme = if algorithm == "AES" {
        "standard"
    } else {
        "cryptoapi"
    };
    let bits = match claimed {
        None | Some(0) => default_bits,
        Some(bits) => bits,
    };
    Encryption::new(scheme, algorithm, Some(bits.into()))
}

/// Agile encryption (§2.3.4.10): an XML descriptor whose `keyData` element names the cipher of the
/// package. A damaged descriptor yields what was read before the damage.
fn agile(descriptor: &[u8], meter: &Meter) -> Result<Encryption> {
    let mut encryption = Encryption {
        scheme: Some("agile"),
        ..Encryption::default()
    };
    let Ok(text) = xml::decode(descriptor.to_vec()) else {
        return Ok(encryption);
    };
    match read_key_data(&mut Xml::new(&text, meter), &mut encryption) {
        Err(error) if error.is_budget() => Err(error),
        _ => Ok(encryption),
    }
}

fn read_key_data(xml: &mut Xml<'_>, encryption: &mut Encryption) -> Result<()> {
    while let Some(token) = xml.next()? {
        let Token::Open(tag) = token else { continue };
        if tag.local() == "keyData" {
            encryption.algorithm = tag
                .attribute("cipherAlgorithm")?
                .map(|name| Cow::Owned(name.into_owned()));
            encryption.key_bits = tag.attribute("keyBits")?.and_then(|bits| bits.parse().ok());
            break;
        }
    }
    Ok(())
}

/// The verifier that XOR obfuscation stores for a password ([MS-OFFCRYPTO] §2.3.7.1).
pub(super) fn xor_verifier(password: &[u8]) -> u16 {
    let mut verifier = 0_u16;
    let length = u8::try_from(password.len()).unwrap_or(u8::MAX);
    for byte in password.iter().rev().chain([&length]) {
        verifier = ((verifier >> 14) & 1 | (verifier << 1) & 0x7FFF) ^ u16::from(*byte);
    }
    verifier ^ 0xCE4B
}

/// The password with which Excel encrypts a workbook whose structure alone is protected, and which it
/// tries before it asks.
pub(super) const EXCEL_DEFAULT_PASSWORD: &[u8] = b"VelvetSweatshop";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Level, Limits};

    #[test]
    fn headers_tell_scheme_cipher_and_key_length() {
        let agile = br#"....####<?xml version="1.0"?><encryption xmlns="x"><keyData saltSize="16" keyBits="256" cipherAlgorithm="AES" hashAlgorithm="SHA512"/><keyEncryptors><k:encryptedKey keyBits="128" cipherAlgorithm="RC2"/></keyEncryptors></encryption>"#;
        let mut agile = agile.to_vec();
        agile[..4].copy_from_slice(&[4, 0, 4, 0]);
        let binary = |version: [u16; 2], cipher: u32, bits: u32| {
            let mut info = Vec::new();
            info.extend(version.iter().flat_map(|v| v.to_le_bytes()));
            for field in [0x24, 32, 0x24, 0, cipher, 0x8004, bits, 0x18] {
                info.extend(u32::to_le_bytes(field));
            }
            info
        };
        let cases = [
            (agile, Some("agile"), Some("AES"), Some(256)),
            (
                binary([3, 2], 0x660E, 128),
                Some("standard"),
                Some("AES"),
                Some(128),
            ),
            (
                binary([4, 2], 0x6801, 128),
                Some("cryptoapi"),
                Some("RC4"),
                Some(128),
            ),
            (
                binary([2, 2], 0x6801, 0),
                Some("cryptoapi"),
                Some("RC4"),
                Some(40),
            ),
            (vec![1, 0, 1, 0], Some("rc4"), Some("RC4"), Some(40)),
            (vec![9, 0, 9, 0], None, None, None),
            (vec![4, 0, 4, 0, 0], Some("agile"), None, None),
            (
                b"\x04\0\x04\0\x40\0\0\0<encryption><keyData keyBits='128' cipherAlgorithm='AES'/><".to_vec(),
                Some("agile"),
                Some("AES"),
                Some(128),
            ),
            (vec![], None, None, None),
        ];
        let meter = Meter::start(Limits::of(Level::Metadata));
        for (info, scheme, algorithm, key_bits) in cases {
            let found = Encryption::of_info(&info, &meter).unwrap();
            assert_eq!(found.scheme, scheme, "{info:?}");
            assert_eq!(found.algorithm.as_deref(), algorithm, "{info:?}");
            assert_eq!(found.key_bits, key_bits, "{info:?}");
        }
    }

    /// The documentation's own example ([MS-OFFCRYPTO] has none for this hash; the value is the one
    /// that spreadsheets protected with the word "test" carry).
    #[test]
    fn the_xor_verifier_is_the_one_in_real_workbooks() {
        assert_eq!(xor_verifier(b"test"), 0xCBEB);
    }
}
