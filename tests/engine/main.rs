//! The built-in engine as a process: the real `deckprobe-mcp engine`, real documents.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on must fail"
)]

mod budgets;
mod common;
mod core;
mod framing;
mod harness;
mod identity;
mod inputs;
mod iwork;
mod legacy;
mod manual;
mod names;
mod ooxml;
mod pdf;
mod planner;
mod schema;
mod seeds;

/// What builds documents for more than one format.
mod support {
    #[allow(
        dead_code,
        unreachable_pub,
        missing_docs,
        clippy::cast_possible_truncation,
        reason = "shared with the tests of the archive reader"
    )]
    pub(crate) mod zip;
}
