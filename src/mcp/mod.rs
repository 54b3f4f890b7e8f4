//! The MCP server: tools, resources and transports on top of the supervisor.
//!
//! [`Server`] is the hand-written handler of the protocol; each tool has a file of its own under
//! `tools`. Arguments are checked field by field (`arguments`), replies of the engine become results
//! without being parsed (`outcome`), and errors get one line of advice (`hints`).

mod arguments;
mod guard;
mod hints;
mod outcome;
mod progress;
mod resources;
mod run;
mod server;
pub mod stdio;
mod tools;

pub use run::serve_stdio;
pub use server::Server;
