//! The stdio transport: newline-delimited JSON-RPC under limits.
//!
//! Ours instead of the SDK's, because it must: answer lines that are too long or no JSON-RPC; hold
//! the end of input back until what is in flight has been answered; survive stray notifications before
//! the first request; bound what a client that floods or does not read can make us keep; and put an
//! engine's JSON into a reply byte for byte.

mod id_scanner;
mod in_flight;
mod lines;
mod raw_json;
mod streams;
mod transport;

pub use in_flight::InFlight;
pub use raw_json::{RAW_JSON_KEY, RawJsonTransport};
pub use streams::{Input, Output, open as open_streams};
pub use transport::{ConnectionLimits, StdioTransport};
