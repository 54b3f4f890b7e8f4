//! Paths as bytes.

use std::path::PathBuf;

/// A path from its bytes.
#[cfg(unix)]
pub(in super::super) fn from_bytes(bytes: Vec<u8>) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    std::ffi::OsString::from_vec(bytes).into()
}

/// A path from its bytes. Other systems have no paths that are not text.
#[cfg(not(unix))]
pub(in super::super) fn from_bytes(bytes: Vec<u8>) -> PathBuf {
    String::from_utf8_lossy(&bytes).into_owned().into()
}
