//! Finds the request id in a line that is too long to keep, so that the request can be answered.

use rmcp::model::RequestId;

/// Longest id that is kept, in bytes of JSON.
const MAX_ID: usize = 256;

/// Scans bytes for a top-level `"id"` member, in constant memory.
#[derive(Debug, Default)]
pub(super) struct IdScanner {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The last string at depth 1, as far as needed to compare it with `id`.
    key: Vec<u8>,
    /// Whether the next string at depth 1 is a key.
    expects_key: bool,
    /// The raw value after `"id":` while it is being read.
    value: Option<Vec<u8>>,
    found: Option<RequestId>,
}

impl IdScanner {
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        if self.found.is_some() {
            return;
        }
        for &byte in bytes {
            self.step(byte);
        }
    }

    /// The id, if a valid one was seen.
    pub(super) fn id(mut self) -> Option<RequestId> {
        self.end_value();
        self.found
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            self.inside_string(byte);
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                if self.depth == 1 && self.expects_key {
                    self.key.clear();
                }
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.depth += 1;
                self.expects_key = self.depth == 1;
                self.value = None;
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_value();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b',' if self.depth == 1 => {
                self.end_value();
                self.expects_key = true;
            }
            b':' if self.depth == 1 => {
                self.expects_key = false;
                self.value = (self.key == b"id").then(Vec::new);
            }
            _ => self.keep(byte),
        }
    }

    fn inside_string(&mut self, byte: u8) {
        let ends = byte == b'"' && !self.escaped;
        self.escaped = byte == b'\\' && !self.escaped;
        self.in_string = !ends;
        if self.depth == 1 && self.expects_key && !ends && self.key.len() < 3 {
            self.key.push(byte);
        }
        self.keep(byte);
    }

    fn keep(&mut self, byte: u8) {
        if let Some(value) = &mut self.value
            && value.len() <= MAX_ID
        {
            value.push(byte);
        }
    }

    fn end_value(&mut self) {
        if let Some(value) = self.value.take()
            && value.len() <= MAX_ID
            && self.found.is_none()
        {
            self.found = serde_json::from_slice(&value).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_is_found_at_the_top_level_only() {
        let number = |n| Some(RequestId::Number(n));
        let cases = [
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{"#,
                number(7),
            ),
            (
                r#"{"method":"x","params":{"id":1,"a":[{"id":2}]},"id": 9 }"#,
                number(9),
            ),
            (
                r#"{"id":"a\"b","x":1"#,
                Some(RequestId::String("a\"b".into())),
            ),
            (r#"{"x":"\",\"id\":5","id":6}"#, number(6)),
            (r#"{"x":"id","y":5}"#, None),
            (r#"{"idx":1,"i":2}"#, None),
            (r#"[{"id":1}]"#, None),
            (r#"{"id":null}"#, None),
            (r#"{"id":{"a":1}}"#, None),
            ("garbage", None),
        ];
        for (text, expected) in cases {
            for size in [1, 3, text.len()] {
                let mut id_scanner = IdScanner::default();
                text.as_bytes()
                    .chunks(size)
                    .for_each(|part| id_scanner.feed(part));
                assert_eq!(id_scanner.id(), expected, "{text} in chunks of {size}");
            }
        }
        let mut id_scanner = IdScanner::default();
        id_scanner.feed(format!("{{\"id\":\"{}\"}}", "x".repeat(10_000)).as_bytes());
        assert_eq!(id_scanner.id(), None);
    }
}
