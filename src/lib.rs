//! deckprobe-mcp: a worker-pool supervisor for the `deckprobe` engine, with MCP tools on top.
//!
//! The way a probe travels: [`mcp`] validates a call, `access` checks the path, `supervisor` admits
//! it, hands one line to a warm engine child and reads one line back, and the line goes to the client
//! verbatim. The built-in [`engine`] is reached only through such a child. See
//! `docs/architecture.md` for the picture and the invariants.

pub mod access;
pub mod cli;
pub mod config;
pub mod contract;
pub mod engine;
pub mod mcp;
pub mod supervisor;
pub mod telemetry;
