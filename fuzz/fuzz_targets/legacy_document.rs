//! Whole compound files, byte for byte, under each extension that leads to them.
#![no_main]

use std::cell::RefCell;

use deckprobe_mcp::engine::fuzzing::Prober;
use libfuzzer_sys::fuzz_target;

thread_local! {
    static PROBER: RefCell<Prober> = RefCell::new(Prober::new().expect("the options are known"));
}

fuzz_target!(|bytes: &[u8]| {
    PROBER.with_borrow_mut(|prober| {
        for name in ["a.doc", "a.xls", "a.ppt", "a.docx"] {
            let reply = prober.probe(name, bytes);
            assert!(reply.starts_with(b"{") && reply.len() < 16 << 20);
        }
    });
});
