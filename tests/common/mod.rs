//! What several test binaries share.

pub mod documents;
#[path = "../engine/support/zip.rs"]
pub mod zip;
