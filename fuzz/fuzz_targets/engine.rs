//! Whole documents: the first byte chooses the extension, the second the options. A good reply for
//! each, and the same one when it is asked again.
#![no_main]

use std::cell::RefCell;

use deckprobe_mcp::contract::Reply;
use deckprobe_mcp::engine::fuzzing::Prober;
use libfuzzer_sys::fuzz_target;

const EXTENSIONS: [&str; 26] = [
    "pdf", "doc", "dot", "xls", "xlt", "ppt", "pps", "pot", "docx", "docm", "dotx", "dotm", "xlsx",
    "xlsm", "xltx", "xltm", "xlsb", "pptx", "pptm", "ppsx", "ppsm", "potx", "potm", "key",
    "numbers", "pages",
];

const OPTIONS: [&[&str]; 5] = [
    &["-T60000", "-l", "deep", "-t", "@all"],
    &["-T60000"],
    &["-T60000", "-l", "header", "-t", "@header"],
    &[
        "-T60000",
        "-l",
        "deep",
        "-t",
        "@structure,@header",
        "-c",
        "exact",
        "-o",
        "title,author",
    ],
    // Budgets that real documents pass.
    &[
        "-T60000",
        "-l",
        "deep",
        "-t",
        "@all",
        "--view=values",
        "-b9000",
        "-x20000",
        "-e12",
    ],
];

thread_local! {
    static PROBERS: RefCell<Vec<Prober>> = RefCell::new(
        OPTIONS.iter().map(|options| Prober::with(options).expect("known options")).collect()
    );
}

fuzz_target!(|bytes: &[u8]| {
    let [extension, options, document @ ..] = bytes else {
        return;
    };
    let extension = EXTENSIONS[usize::from(*extension) % EXTENSIONS.len()];
    let options = usize::from(*options) % OPTIONS.len();
    let name = format!("a.{extension}");
    PROBERS.with_borrow_mut(|probers| {
        let prober = &mut probers[options];
        let first = prober.probe(&name, document);
        assert!(Reply::from_engine(&first, Some(&name)).is_ok());
        if !first.windows(3).any(|part| part == b" ms") {
            assert_eq!(first, prober.probe(&name, document));
        }
    });
});
