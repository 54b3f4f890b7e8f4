//! XML parts, byte for byte, in every encoding.
#![no_main]

use deckprobe_mcp::engine::fuzzing;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| fuzzing::xml_part(bytes));
