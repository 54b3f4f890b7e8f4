//! From bytes to parts: ZIP/OPC, CFB, IWA and PDF objects.

pub(crate) mod cfb;
pub(crate) mod iwa;
pub(crate) mod opc;
pub(crate) mod pdf;
pub(crate) mod xml;
pub(crate) mod zip;
