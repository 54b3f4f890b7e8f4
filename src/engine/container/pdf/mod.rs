//! Object access to PDF files (ISO 32000), by position and within budgets.
//!
//! A [`Document`] reads the tail, the cross-reference data and the objects that are needed, and
//! nothing else. Sizes, counts and offsets in the file are claims that are checked against the bytes. Loops end: chains remember where they were, objects are loaded without recursion, and
//! what lies nested too deep is stepped over.

mod chain;
mod content;
mod crypt;
mod document;
mod encryption;
mod filter;
mod header;
mod indirect;
mod lexer;
mod loading;
mod object;
mod objstm;
mod parser;
mod recovery;
mod scan;
mod start;
mod store;
mod stream;
mod text;
mod xref;

pub(crate) use content::Content;
pub(crate) use crypt::Encryption;
pub(crate) use document::{Document, Settings};
pub(crate) use header::{Header, Linearization};
pub(crate) use loading::Loaded;
pub(crate) use object::{Dict, Name, Object, Ref};
pub(crate) use parser::MAX_DEPTH;
pub(crate) use store::read_start;
