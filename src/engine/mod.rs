//! The built-in engine.
//!
//! It is a program of its own behind `deckprobe-mcp engine`: a command line, a JSONL loop, a planner
//! and drivers that read documents by position and within budgets. It never runs inside the
//! supervising process.

mod allowed_roots;
mod budget;
mod catalogue;
pub mod cli;
mod clip;
mod container;
mod dates;
mod derived;
mod detect;
mod digest;
mod discovery;
mod driver;
mod error;
mod findings;
#[doc(hidden)]
pub mod fuzzing;
mod identify;
mod input;
mod json;
mod jsonl;
mod plan;
mod probe;
mod report;
mod session;
mod source;
mod value;
mod version;

pub use session::Session;
