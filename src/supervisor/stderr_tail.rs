//! What a child says on stderr: always drained, only the end of it kept.

use std::collections::VecDeque;
use std::fmt::Write;

use super::launch_spec::{Applied, MARK, Report};

/// Bytes of stderr that are kept.
const KEPT: usize = 4096;
/// Bytes of it that a reader is shown.
const SHOWN: usize = 600;
/// Longest first line that may still be the launcher's.
const LONGEST_MARK: usize = 16 * 1024;

/// A bounded memory of stderr.
#[derive(Default)]
pub(super) struct StderrTail {
    /// The launcher's next line while it is incomplete; `None` once it has nothing more to say.
    first_line: Option<Vec<u8>>,
    tail: VecDeque<u8>,
    applied: Option<Applied>,
    failed: Option<String>,
}

impl StderrTail {
    /// StderrTail of a child that was started through the launcher, or not.
    pub(super) fn new(through_launcher: bool) -> Self {
        Self {
            first_line: through_launcher.then(Vec::new),
            ..Self::default()
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let Some(mut line) = self.first_line.take() else {
            return self.keep(bytes);
        };
        let end = memchr::memchr(b'\n', bytes);
        let (head, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
        line.extend_from_slice(head);
        if end.is_none() && line.len() < LONGEST_MARK {
            self.first_line = Some(line);
            return;
        }
        let report = line
            .strip_prefix(MARK.as_bytes())
            .and_then(|json| serde_json::from_slice(json).ok());
        match report {
            Some(Report::Applied(applied)) if self.applied.is_none() => {
                self.applied = Some(applied);
                // The next line may say why it could not become the engine.
                self.first_line = Some(Vec::new());
                return self.push(rest);
            }
            Some(Report::Failed(reason)) => self.failed = Some(reason),
            _ => self.keep(&line),
        }
        self.keep(rest);
    }

    /// What the launcher put in force.
    pub(super) fn applied(&self) -> Option<&Applied> {
        self.applied.as_ref()
    }

    /// Why the launcher could not become the engine.
    pub(super) fn launch_failure(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// Whether a failed allocation was the last thing it spoke of.
    pub(super) fn mentions_memory(&self) -> bool {
        let tail = self.raw();
        tail.contains("memory allocation of") || tail.contains("out of memory")
    }

    /// The end of it, escaped, bounded; empty when it was silent.
    pub(super) fn shown(&self) -> String {
        let text = self.raw();
        let text = text.trim();
        let start = text.len().saturating_sub(SHOWN);
        let start = (start..=text.len())
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(0);
        let mut shown = String::new();
        if start > 0 {
            shown.push('…');
        }
        escape(text.get(start..).unwrap_or_default(), &mut shown);
        shown
    }

    fn raw(&self) -> String {
        let (a, b) = self.tail.as_slices();
        let pending = self.first_line.as_deref().unwrap_or_default();
        String::from_utf8_lossy(&[a, b, pending].concat()).into_owned()
    }

    fn keep(&mut self, bytes: &[u8]) {
        let bytes = bytes
            .get(bytes.len().saturating_sub(KEPT)..)
            .unwrap_or(bytes);
        let surplus = (self.tail.len() + bytes.len()).saturating_sub(KEPT);
        self.tail.drain(..surplus.min(self.tail.len()));
        self.tail.extend(bytes);
    }
}

/// Appends text with control characters escaped: nothing in it can move a cursor or end a line.
fn escape(text: &str, into: &mut String) {
    for c in text.chars() {
        // The second set turns the direction of writing.
        if c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') {
            let _infallible = write!(into, "{}", c.escape_default());
        } else {
            into.push(c);
        }
    }
}

/// The beginning of a line that was no reply, escaped and bounded.
pub(super) fn excerpt(line: &[u8]) -> String {
    const MOST: usize = 120;
    let text = String::from_utf8_lossy(line.get(..MOST).unwrap_or(line));
    let mut shown = String::new();
    escape(text.trim_end_matches(['\n', '\r']), &mut shown);
    if line.len() > MOST {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launchers_line_is_kept_apart_from_the_engines_words() {
        let mut tail = StderrTail::new(true);
        tail.push(b"deckprobe-mcp-lau");
        tail.push(b"nch:{\"failed\":\"no such file\"}\nthread main panicked");
        assert_eq!(tail.launch_failure(), Some("no such file"));
        assert_eq!(tail.shown(), "thread main panicked");
    }

    #[test]
    fn a_launcher_that_cannot_become_the_engine_says_so_on_its_second_line() {
        let applied = "deckprobe-mcp-launch:{\"applied\":{}}\n";
        let applied = applied.replace("{}", &serde_json::to_string(&Applied::default()).unwrap());
        let mut tail = StderrTail::new(true);
        tail.push(applied.as_bytes());
        tail.push(b"deckprobe-mcp-launch:{\"failed\":\"no such file\"}\n");
        assert_eq!(tail.launch_failure(), Some("no such file"));
        assert_eq!(
            (tail.applied(), tail.shown().as_str()),
            (Some(&Applied::default()), "")
        );

        // What an engine says behind it is its own, whatever it looks like.
        let mut tail = StderrTail::new(true);
        tail.push(format!("{applied}hello\n{applied}").as_bytes());
        tail.push(b"deckprobe-mcp-launch:{\"failed\":\"x\"}\n");
        assert_eq!(tail.launch_failure(), None);
        assert!(
            tail.shown().starts_with("hello\\ndeckprobe"),
            "{}",
            tail.shown()
        );
    }

    #[test]
    fn an_engine_cannot_speak_for_the_launcher_later() {
        let mut tail = StderrTail::new(true);
        tail.push(b"hello\ndeckprobe-mcp-launch:{\"failed\":\"x\"}\n");
        assert_eq!(tail.launch_failure(), None);
        assert!(tail.shown().starts_with("hello\\n"));
    }

    #[test]
    fn a_flood_is_bounded_and_its_end_is_kept() {
        let mut tail = StderrTail::new(false);
        for n in 0..10_000_u32 {
            tail.push(format!("line {n} \x1b[31m\u{202e}\n").as_bytes());
        }
        tail.push(b"\xff\xfe the end");
        let shown = tail.shown();
        assert!(shown.ends_with("the end"), "{shown}");
        assert!(shown.len() < 2000);
        assert!(!shown.contains(['\x1b', '\n', '\u{202e}']), "{shown}");
    }
}
