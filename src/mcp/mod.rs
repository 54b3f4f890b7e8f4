//! The MCP server: tools, resources and transports on top of the supervisor.
//!
//! [`Server`] is the hand-written handler of the protocol; each tool has a file of its own under
//! `tools`. Arguments are checked field by field (`arguments`), replies of the engine become results
//! without being parsed (`result_encoder`), and errors get one line of advice (`hints`).

mod arguments;
mod hints;
#[cfg(feature = "http")]
mod http;
mod panic;
mod progress;
mod prompts;
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
