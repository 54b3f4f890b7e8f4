//! The supervisor against a real engine process that misbehaves on command. One module a chapter of
//! `docs/failure-modes.md`.
#![cfg(unix)]
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr
)]

mod cancel;
mod confinement;
mod deadlines;
mod death;
mod ending;
mod exchange;
mod failing;
mod harness;
mod host;
mod load;
mod pool;
mod start;
