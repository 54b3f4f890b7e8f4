//! The MCP server: tools, resources and transports on top of the supervisor.
//!
//! [`Server`] handles the protocol's methods. Each tool is one file under `tools`. `arguments` checks
//! arguments field by field, `result_encoder` turns the engine's replies into results without parsing
//! them, and `hints` adds one line of advice to every error.

mod arguments;
mod hints;
#[cfg(feature = "http")]
mod http;
mod panic;
mod progress;
mod prompts;
mod raw_json;
mod resources;
mod result_encoder;
mod run;
mod server;
mod services;
mod signals;
mod skill;
mod stamp;
pub mod stdio;
mod text;
mod tools;

#[cfg(feature = "http")]
pub use http::serve_http;
pub use run::serve_stdio;
pub use server::Server;
