//! Whole PDF files, byte for byte. Most mutations break the cross-reference data, so this is recovery
//! as much as reading.
#![no_main]

use std::cell::RefCell;

use deckprobe_mcp::engine::fuzzing::Prober;
use libfuzzer_sys::fuzz_target;

thread_local! {
    static PROBER: RefCell<Prober> = RefCell::new(Prober::new().expect("the options are known"));
}

fuzz_target!(|bytes: &[u8]| {
    PROBER.with_borrow_mut(|prober| {
        let reply = prober.probe("a.pdf", bytes);
        assert!(reply.starts_with(b"{") && reply.len() < 16 << 20);
    });
});
