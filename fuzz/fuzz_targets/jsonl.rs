//! A stream of records, byte for byte: one good reply for every line that is not blank, and the same
//! for a line wherever it stands.
#![no_main]

use deckprobe_mcp::contract::Reply;
use deckprobe_mcp::engine::fuzzing::stream;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let lines: Vec<&[u8]> = bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| std::str::from_utf8(line).map_or(true, |text| !text.trim().is_empty()))
        .collect();
    let replies = stream(bytes);
    assert!(replies.is_empty() || replies.ends_with(b"\n"));
    let replies: Vec<&[u8]> = replies
        .trim_ascii_end()
        .split(|byte| *byte == b'\n')
        .collect();
    if lines.is_empty() {
        assert_eq!(replies, [b""]);
        return;
    }
    assert_eq!(replies.len(), lines.len());
    for reply in &replies {
        assert!(Reply::from_engine(reply, None).is_ok());
    }
    // The last one, alone: numbers of lines and milliseconds apart.
    let alone = stream(lines[lines.len() - 1]);
    let told = replies[replies.len() - 1];
    let varies = [&b" ms"[..], b"line "];
    if !varies
        .iter()
        .any(|word| told.windows(word.len()).any(|part| part == *word))
    {
        assert_eq!(alone.trim_ascii_end(), told);
    }
});
