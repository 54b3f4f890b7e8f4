//! The standard security handler with the empty password (ISO 32000-2, 7.6).

use aes::cipher::block_padding::NoPadding;
use aes::cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyInit, KeyIvInit, StreamCipher};
use md5::{Digest, Md5};
use rc4::Rc4;
use sha2::{Sha256, Sha384, Sha512};

use super::object::Ref;
use crate::engine::budget::Meter;
use crate::engine::error::Result;

/// Whether strings and streams can be read.
#[derive(Debug)]
pub(crate) enum Encryption {
    /// The document is not encrypted.
    None,
    /// The empty password opens it.
    Unlocked(Key),
    /// A password is needed.
    PasswordRequired {
        /// Whether the metadata stream is encrypted like all others.
        encrypt_metadata: bool,
    },
    /// The security handler is not the standard one, or is of an unknown version.
    Unsupported,
}

/// The encryption dictionary, with its references resolved.
#[derive(Debug, Default)]
pub(crate) struct EncryptionDict {
    /// `V`: which family of algorithms.
    pub(crate) version: u64,
    /// `R`: revision of the standard security handler.
    pub(crate) revision: u64,
    /// `Length` in bits.
    pub(crate) key_bits: u64,
    pub(crate) owner: Vec<u8>,
    pub(crate) user: Vec<u8>,
    pub(crate) owner_key: Vec<u8>,
    pub(crate) user_key: Vec<u8>,
    /// `P` as its 32 bits.
    pub(crate) permissions: u32,
    pub(crate) encrypt_metadata: bool,
    pub(crate) streams: Method,
    pub(crate) strings: Method,
    /// First element of the file's `ID`.
    pub(crate) file_id: Vec<u8>,
}

/// How a string or stream is encrypted (`CFM`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Method {
    #[default]
    Identity,
    Rc4,
    AesV2,
    AesV3,
    /// A method that the standard does not know: what it encrypts stays unread.
    Unknown,
}

/// A key that opens the document.
#[derive(Debug)]
pub(crate) struct Key {
    key: Vec<u8>,
    pub(crate) streams: Method,
    pub(crate) strings: Method,
    pub(crate) encrypt_metadata: bool,
}

/// Fills up short passwords: algorithm 2, step a.
const PADDING: [u8; 32] = [
    0x28, 0xBF, 0x4E, 0x5E, 0x4E, 0x75, 0x8A, 0x41, 0x64, 0x00, 0x4E, 0x56, 0xFF, 0xFA, 0x01, 0x08,
    0x2E, 0x2E, 0x00, 0xB6, 0xD0, 0x68, 0x3E, 0x80, 0x2F, 0x0C, 0xA9, 0xFE, 0x64, 0x53, 0x69, 0x7A,
];

/// Rounds of algorithm 2.B beyond which a file is hostile: the chance of more is below 10^-100.
const MAX_ROUNDS: u32 = 20_000;

/// Tries the empty password. `None` when it does not open the document.
///
/// # Errors
/// Budget errors.
pub(crate) fn unlock(encryption: &EncryptionDict, meter: &Meter) -> Result<Option<Key>> {
    let key = if encryption.revision >= 5 {
        unlock_aes256(encryption, meter)?
    } else {
        unlock_md5(encryption)
    };
    Ok(key.map(|key| Key {
        key,
        streams: encryption.streams,
        strings: encryption.strings,
        encrypt_metadata: encryption.encrypt_metadata,
    }))
}

/// Algorithms 2 and 6 for revisions 2 to 4.
fn unlock_md5(encryption: &EncryptionDict) -> Option<Vec<u8>> {
    let length = match (encryption.revision, encryption.version) {
        (2, _) | (_, 1) => 5,
        (_, 4) => 16,
        _ => usize::try_from(encryption.key_bits / 8)
            .unwrap_or(5)
            .clamp(5, 16),
    };
    let mut hash = Md5::new();
    hash.update(PADDING);
    hash.update(encryption.owner.get(..32)?);
    hash.update(encryption.permissions.to_le_bytes());
    hash.update(&encryption.file_id);
    if encryption.revision >= 4 && !encryption.encrypt_metadata {
        hash.update([0xFF; 4]);
    }
    let mut key: [u8; 16] = hash.finalize().into();
    if encryption.revision >= 3 {
        for _ in 0..50 {
            key = Md5::digest(&key[..length]).into();
        }
    }
    let matches = if encryption.revision == 2 {
        let mut check = PADDING;
        rc4(&key[..length], &mut check);
        encryption.user.get(..32)? == check
    } else {
        encryption.user.get(..16)? == user_check(key, length, &encryption.file_id)
    };
    matches.then(|| key[..length].to_vec())
}

/// Algorithm 5: what `U` begins with.
fn user_check(key: [u8; 16], length: usize, file_id: &[u8]) -> [u8; 16] {
    let mut hash = Md5::new();
    hash.update(PADDING);
    hash.update(file_id);
    let mut check: [u8; 16] = hash.finalize().into();
    for round in 0..20 {
        rc4(&key.map(|byte| byte ^ round)[..length], &mut check);
    }
    check
}

/// Algorithm 2.A for revisions 5 and 6: the empty password as user's, then as owner's.
fn unlock_aes256(encryption: &EncryptionDict, meter: &Meter) -> Result<Option<Vec<u8>>> {
    let Some(user) = encryption.user.get(..48) else {
        return Ok(None);
    };
    let ways = [
        (Some(user), &encryption.user_key, &user[..0]),
        (encryption.owner.get(..48), &encryption.owner_key, user),
    ];
    for (record, encrypted_key, user) in ways {
        let (Some(record), Some(encrypted_key)) = (record, encrypted_key.get(..32)) else {
            continue;
        };
        if hash_2b(encryption.revision, &record[32..40], user, meter)? != record[..32] {
            continue;
        }
        let intermediate = hash_2b(encryption.revision, &record[40..48], user, meter)?;
        let mut key = encrypted_key.to_vec();
        let Ok(cipher) = cbc::Decryptor::<aes::Aes256>::new_from_slices(&intermediate, &[0; 16])
        else {
            continue;
        };
        if cipher.decrypt_padded::<NoPadding>(&mut key).is_ok() {
            return Ok(Some(key));
        }
    }
    Ok(None)
}

/// Algorithm 2.B with the empty password.
fn hash_2b(revision: u64, salt: &[u8], user: &[u8], meter: &Meter) -> Result<[u8; 32]> {
    let mut hash = Sha256::new();
    hash.update(salt);
    hash.update(user);
    let (mut key, mut key_len) = ([0; 64], 32);
    key[..32].copy_from_slice(&hash.finalize());
    let mut block = Vec::with_capacity(64 * (key.len() + user.len()));
    let mut round = 0;
    while revision >= 6 && round < MAX_ROUNDS {
        if round % 64 == 0 {
            meter.check_clock()?;
        }
        block.clear();
        block.extend_from_slice(&key[..key_len]);
        block.extend_from_slice(user);
        // Twice as much six times: 64 repetitions.
        for _ in 0..6 {
            block.extend_from_within(..);
        }
        let len = block.len();
        if let Ok(cipher) = cbc::Encryptor::<aes::Aes128>::new_from_slices(&key[..16], &key[16..32])
        {
            // The length is a multiple of 16 by construction.
            let _ = cipher.encrypt_padded::<NoPadding>(&mut block, len);
        }
        let remainder = block[..16].iter().map(|byte| u32::from(*byte)).sum::<u32>() % 3;
        key_len = match remainder {
            0 => digest::<Sha256>(&block, &mut key),
            1 => digest::<Sha384>(&block, &mut key),
            _ => digest::<Sha512>(&block, &mut key),
        };
        round += 1;
        let last = block.last().map_or(0, |byte| u32::from(*byte));
        if round >= 64 && last <= round - 32 {
            break;
        }
    }
    let mut result = [0; 32];
    result.copy_from_slice(&key[..32]);
    Ok(result)
}

/// Writes a hash to the front of `out` and returns its length.
fn digest<D: Digest>(data: &[u8], out: &mut [u8; 64]) -> usize {
    let hash = D::digest(data);
    let len = hash.len().min(out.len());
    out[..len].copy_from_slice(&hash[..len]);
    len
}

fn rc4(key: &[u8], data: &mut [u8]) {
    if let Ok(mut cipher) = Rc4::new_from_slice(key) {
        cipher.apply_keystream(data);
    }
}

impl Key {
    /// Decrypts a string or the data of a stream of the object `owner`. `None` when it cannot be
    /// read.
    pub(crate) fn decrypt(&self, method: Method, owner: Ref, data: &[u8]) -> Option<Vec<u8>> {
        match method {
            Method::Identity => Some(data.to_vec()),
            Method::Unknown => None,
            Method::Rc4 => {
                let mut out = data.to_vec();
                let (key, length) = self.object_key(owner, b"");
                rc4(&key[..length], &mut out);
                Some(out)
            }
            Method::AesV2 => {
                let (key, length) = self.object_key(owner, b"sAlT");
                let cipher = |iv: &[u8]| {
                    cbc::Decryptor::<aes::Aes128>::new_from_slices(&key[..length], iv).ok()
                };
                unpad(data, |iv, data| {
                    cipher(iv)?.decrypt_padded::<NoPadding>(data).ok()?;
                    Some(())
                })
            }
            Method::AesV3 => unpad(data, |iv, data| {
                cbc::Decryptor::<aes::Aes256>::new_from_slices(&self.key, iv)
                    .ok()?
                    .decrypt_padded::<NoPadding>(data)
                    .ok()?;
                Some(())
            }),
        }
    }

    /// Algorithm 1: the key for one object.
    fn object_key(&self, owner: Ref, salt: &[u8]) -> ([u8; 16], usize) {
        let mut hash = Md5::new();
        hash.update(&self.key);
        hash.update(&owner.number.to_le_bytes()[..3]);
        hash.update(owner.generation.to_le_bytes());
        hash.update(salt);
        (hash.finalize().into(), (self.key.len() + 5).min(16))
    }
}

/// Splits off the initialization vector, decrypts whole blocks and takes the padding away.
fn unpad(data: &[u8], decrypt: impl FnOnce(&[u8], &mut [u8]) -> Option<()>) -> Option<Vec<u8>> {
    if data.is_empty() {
        return Some(Vec::new());
    }
    let (iv, body) = data.split_at_checked(16)?;
    // A cut-off last block cannot be decrypted: the rest still can.
    let mut out = body[..body.len() / 16 * 16].to_vec();
    decrypt(iv, &mut out)?;
    if let Some(&padding) = out.last()
        && (1..=16).contains(&padding)
    {
        out.truncate(out.len() - usize::from(padding));
    }
    Some(out)
}
