//! ZIP archives, byte for byte.
#![no_main]

use deckprobe_mcp::engine::fuzzing;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| fuzzing::archive(bytes));
