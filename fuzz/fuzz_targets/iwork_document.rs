//! Whole iWork packages, byte for byte, under each of the three extensions.
#![no_main]

use std::cell::RefCell;

use deckprobe_mcp::engine::fuzzing::Prober;
use libfuzzer_sys::fuzz_target;

thread_local! {
    static PROBER: RefCell<Prober> = RefCell::new(Prober::new().expect("the options are known"));
}

fuzz_target!(|bytes: &[u8]| {
    PROBER.with_borrow_mut(|prober| {
        for name in ["a.key", "a.numbers", "a.pages"] {
            let reply = prober.probe(name, bytes);
            assert!(reply.starts_with(b"{") && reply.len() < 16 << 20);
        }
    });
});
