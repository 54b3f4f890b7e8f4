//! The built-in engine.
//!
//! It is a program of its own behind `deckprobe-mcp engine`: a command line, a JSONL loop, a planner
//! and drivers that read documents by position and within budgets. It never runs inside the
//! supervising process.

mod catalogue;
pub mod cli;
mod container;
mod detect;
mod discovery;
mod driver;
#[allow(
    clippy::module_inception,
    reason = "the object that the module is about"
)]
mod engine;
mod error;
mod findings;
#[doc(hidden)]
pub mod fuzzing;
mod input;
mod json;
mod jsonl;
mod meter;
mod plan;
mod probe;
mod report;
mod source;
mod value;
mod version;

pub use engine::Engine;
