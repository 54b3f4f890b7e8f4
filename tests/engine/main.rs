//! The built-in engine as a process: the real `deckprobe-mcp engine`, real documents.

mod core;
mod harness;
