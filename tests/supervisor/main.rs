//! The supervisor against a real engine process that misbehaves on command. One module a chapter of
//! `docs/failure-modes.md`.
#![cfg(unix)]
#![allow(
    missing_docs,
    unreachable_pub,
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr
)]

mod exchange;
mod harness;
