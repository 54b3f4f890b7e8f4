//! The records of binary workbooks, byte for byte.
#![no_main]

use deckprobe_mcp::engine::fuzzing;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| fuzzing::binary_workbook(bytes));
