//! The built-in engine.
//!
//! It is a program of its own behind `deckprobe-mcp engine`: a command line, a JSONL loop, a planner
//! and drivers that read documents by position and within budgets. It never runs inside the
//! supervising process.

#![allow(dead_code, unused_imports, reason = "the core that uses it lands next")]

mod catalogue;
mod container;
mod driver;
mod error;
mod findings;
mod json;
mod meter;
mod source;
mod value;
