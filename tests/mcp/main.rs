//! The MCP server as a process: the real binary, a real client, real documents.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on must fail"
)]
// The tests with a misbehaving engine run on Linux only; what they use is unused elsewhere.
#![cfg_attr(not(target_os = "linux"), allow(dead_code))]

#[allow(dead_code, unreachable_pub, reason = "each binary uses its part of it")]
#[path = "../common/mod.rs"]
mod common;

mod arguments;
mod batch;
#[cfg(target_os = "linux")]
mod chaos;
mod command_line;
mod errors;
mod fixtures;
mod framing;
mod generations;
mod hostile;
mod http;
mod http_gate;
mod lifecycle;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod misbehaving;
mod replicas;
mod roots;
mod sdk_client;
mod surface;
mod tokens;
#[cfg(target_os = "linux")]
mod transports;
mod wire;
