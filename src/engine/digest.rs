//! The digest of the whole file.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::error::Result;
use super::source::Source;

/// Bytes that are held at a time.
const CHUNK: usize = 64 << 10;

/// The SHA-256 of an input in lower-case hexadecimal. A file that does not fit into what is left of the
/// budget is refused before any of it is read.
///
/// # Errors
/// `BUDGET_EXCEEDED` and `SOURCE_IO`.
pub(crate) fn sha256(source: &Source) -> Result<String> {
    let meter = source.meter();
    let left = meter
        .limits()
        .physical_bytes
        .saturating_sub(meter.cost().physical_bytes);
    if source.size() > left {
        return Err(meter.exceeded(format_args!(
            "the digest of {} bytes would pass the physical read budget of {} bytes",
            source.size(),
            meter.limits().physical_bytes
        )));
    }
    let mut digest = Sha256::new();
    let mut buffer = vec![0; CHUNK];
    let mut offset = 0;
    loop {
        let read = source.read_at(offset, &mut buffer)?;
        if read == 0 {
            break;
        }
        digest.update(&buffer[..read]);
        offset += read as u64;
    }
    let mut text = String::with_capacity(64);
    for byte in digest.finalize() {
        // Writing to memory cannot fail.
        let _infallible = write!(text, "{byte:02x}");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standard_and_every_byte_is_charged() {
        for (bytes, expected) in [
            (
                Vec::new(),
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            ),
            (
                b"abc".to_vec(),
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            ),
            (
                vec![b'a'; 1_000_000],
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
            ),
        ] {
            let len = bytes.len() as u64;
            let source = Source::for_test("a.pdf", bytes);
            assert_eq!(sha256(&source).unwrap(), expected);
            assert_eq!(source.meter().cost().physical_bytes, len);
        }
    }
}
