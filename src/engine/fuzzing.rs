//! Entry points for the targets under `fuzz/`. No part of the public interface.
//!
//! Each takes bytes from anywhere. It must come back, without a panic, and within the budgets.

use super::container::{iwa, xml, zip};
use super::driver::{iwork, ooxml};
use super::jsonl;
use super::session::Session;
use super::source::{Source, SourceKind};
use crate::contract::ProbeOptions;

/// A warm engine that looks at everything.
#[derive(Debug)]
pub struct Prober(Session);

impl Prober {
    /// An engine that answers `@all` at deep.
    ///
    /// # Errors
    /// None, as long as these options are known.
    pub fn new() -> Result<Self, String> {
        Self::with(&["-l", "deep", "-t", "@all"])
    }

    /// An engine with the options of a command line.
    ///
    /// # Errors
    /// The message of the syntax error.
    pub fn with(options: &[&str]) -> Result<Self, String> {
        Session::new(options.iter().copied()).map(Self)
    }

    /// The reply for a document under a name.
    pub fn probe(&mut self, name: &str, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        self.0.single(
            |options| {
                Source::bytes(
                    name,
                    bytes.to_vec(),
                    SourceKind::JsonlBytes,
                    options.limits(),
                )
            },
            &mut out,
        );
        out
    }
}

/// The replies to a whole stream of records.
pub fn stream(bytes: &[u8]) -> Vec<u8> {
    let mut session = Session::with_options(ProbeOptions::default());
    let mut out = Vec::new();
    // Neither end is a file or a pipe here.
    let _infallible = jsonl::run(&mut session, &mut &bytes[..], &mut out);
    out
}

/// An IWA component, as stored in the package.
pub fn iwa_component(bytes: &[u8]) {
    iwa::fuzz(bytes);
}

/// A property list, binary or XML.
pub fn property_list(bytes: &[u8]) {
    iwork::fuzz_property_list(bytes);
}

/// A picture of which the size is asked.
pub fn picture(bytes: &[u8]) {
    iwork::fuzz_picture(bytes);
}

/// An archive: its directory, every entry in every way, and archives in it.
pub fn archive(bytes: &[u8]) {
    zip::fuzz(bytes);
}

/// An XML part in any encoding.
pub fn xml_part(bytes: &[u8]) {
    xml::fuzz(bytes);
}

/// A workbook part of a binary workbook, and its shared strings.
pub fn binary_workbook(bytes: &[u8]) {
    ooxml::fuzz_binary_workbook(bytes);
}
