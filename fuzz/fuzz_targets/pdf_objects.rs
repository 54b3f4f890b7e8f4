//! The objects of a PDF file. The input is their bodies, parted by lines of `%%`; the target writes the
//! file around them, with the right offsets, so that mutations reach the content of the objects.
//!
//! Object 1 is the catalogue, 2 the Info dictionary, 3 the encryption dictionary where the first body
//! begins with `%`.
#![no_main]

use std::cell::RefCell;

use deckprobe_mcp::engine::fuzzing::Prober;
use libfuzzer_sys::fuzz_target;

thread_local! {
    static PROBER: RefCell<Prober> = RefCell::new(Prober::new().expect("the options are known"));
}

fn build(bytes: &[u8]) -> Vec<u8> {
    let mut file = b"%PDF-1.7\n".to_vec();
    let mut table = String::from("0000000000 65535 f \n");
    let mut count = 1;
    let mut rest = bytes;
    while count < 500 {
        let end = rest.windows(4).position(|window| window == b"\n%%\n");
        let (body, tail) = match end {
            Some(end) => (&rest[..end], &rest[end + 4..]),
            None => (rest, &rest[..0]),
        };
        table.push_str(&format!("{:010} 00000 n \n", file.len()));
        file.extend(format!("{count} 0 obj\n").bytes());
        file.extend_from_slice(body);
        file.extend_from_slice(b"\nendobj\n");
        count += 1;
        if tail.is_empty() {
            break;
        }
        rest = tail;
    }
    let encrypt = if bytes.starts_with(b"%") { "/Encrypt 3 0 R/ID[<00><00>]" } else { "" };
    let start = file.len();
    file.extend(
        format!(
            "xref\n0 {count}\n{table}trailer\n<</Size {count}/Root 1 0 R/Info 2 0 R{encrypt}>>\nstartxref\n{start}\n%%EOF\n"
        )
        .bytes(),
    );
    file
}

fuzz_target!(|bytes: &[u8]| {
    let file = build(bytes);
    PROBER.with_borrow_mut(|prober| {
        let reply = prober.probe("a.pdf", &file);
        assert!(reply.starts_with(b"{") && reply.len() < 16 << 20);
    });
});
