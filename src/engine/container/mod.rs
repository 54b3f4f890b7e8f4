//! From bytes to parts: ZIP/OPC, CFB, IWA and PDF objects.

pub(crate) mod iwa;
pub(crate) mod zip;
