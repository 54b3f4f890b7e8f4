//! The stdio transport: newline-delimited JSON-RPC under limits.
//!
//! It replaces the SDK's transport because it has to answer lines that are too long or not JSON-RPC,
//! hold the end of input back until what is in flight has been answered, accept notifications before
//! the first request, bound the memory that a client can take by flooding or not reading, and write an
//! engine's JSON into a reply byte for byte.

mod id_scanner;
mod in_flight;
mod lines;
mod outgoing;
mod streams;
mod transport;

pub use streams::{Input, Output, open as open_streams};
pub use transport::{ConnectionLimits, StdioTransport};
