//! Reads bounded lines. Cancel-safe: what was read before a drop stays in the buffer.

use rmcp::model::RequestId;
use tokio::io::AsyncReadExt;

use super::id_scanner::IdScanner;
use super::streams::Input;

/// Room asked for in one read, in bytes.
const READ_SIZE: usize = 64 * 1024;

/// The next line of input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line, without its line feed.
    Text(Vec<u8>),
    /// A line above the limit, which was discarded, with its request id if it has one.
    TooLong(Option<RequestId>),
    /// The input has ended.
    End,
}

/// A byte order mark. Some editors and shells put it before the first line.
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Reads lines of at most `limit` bytes.
pub(super) struct LineReader {
    source: Input,
    limit: usize,
    /// Bytes read; those before `start` have been handed out.
    buffer: Vec<u8>,
    /// Where the next line begins in `buffer`.
    start: usize,
    /// How much of `buffer` has been searched for a line feed.
    searched: usize,
    /// Set while the rest of an oversized line is discarded.
    discarding: Option<IdScanner>,
    /// Whether the first line was handed out.
    begun: bool,
    ended: bool,
}

impl LineReader {
    pub(super) fn new(source: Input, limit: usize) -> Self {
        Self {
            source,
            limit,
            buffer: Vec::new(),
            start: 0,
            searched: 0,
            discarding: None,
            begun: false,
            ended: false,
        }
    }

    /// The next line. A last one without a line feed counts; a read error counts as the end.
    pub(super) async fn next(&mut self) -> Line {
        loop {
            if let Some(line) = self.take_line() {
                return line;
            }
            if self.ended {
                return self.take_rest();
            }
            self.make_room();
            match self.source.read_buf(&mut self.buffer).await {
                Ok(0) => self.ended = true,
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "reading from the client failed");
                    self.ended = true;
                }
            }
        }
    }

    fn take_line(&mut self) -> Option<Line> {
        let feed = memchr::memchr(b'\n', &self.buffer[self.searched..]);
        let Some(end) = feed.map(|at| at + self.searched) else {
            self.searched = self.buffer.len();
            if self.searched - self.start > self.limit || self.discarding.is_some() {
                self.discard();
            }
            return None;
        };
        let text = self.buffer[self.start..end].to_vec();
        self.start = end + 1;
        self.searched = self.start;
        Some(self.judge(text))
    }

    fn take_rest(&mut self) -> Line {
        let text = self.buffer.split_off(self.start);
        self.buffer.clear();
        self.start = 0;
        self.searched = 0;
        if text.is_empty() && self.discarding.is_none() {
            return Line::End;
        }
        self.judge(text)
    }

    /// A whole line, or the end of one whose beginning was discarded.
    fn judge(&mut self, mut text: Vec<u8>) -> Line {
        if !std::mem::replace(&mut self.begun, true) && text.starts_with(BOM) {
            text.drain(..BOM.len());
        }
        if let Some(mut id_scanner) = self.discarding.take() {
            id_scanner.feed(&text);
            return Line::TooLong(id_scanner.id());
        }
        if text.len() > self.limit {
            let mut id_scanner = IdScanner::default();
            id_scanner.feed(&text);
            return Line::TooLong(id_scanner.id());
        }
        Line::Text(text)
    }

    fn discard(&mut self) {
        let id_scanner = self.discarding.get_or_insert_default();
        id_scanner.feed(&self.buffer[self.start..]);
        self.start = self.buffer.len();
    }

    /// Moves the rest to the front, shrinks the buffer after a huge line, and makes room for a read.
    fn make_room(&mut self) {
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        if self.buffer.len() < READ_SIZE && self.buffer.capacity() > 4 * READ_SIZE {
            self.buffer.shrink_to(2 * READ_SIZE);
        }
        self.buffer.reserve(READ_SIZE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(bytes: &[u8], chunk: usize, limit: usize) -> Vec<Line> {
        let (mut client, server) = tokio::io::duplex(chunk);
        let bytes = bytes.to_vec();
        let writer = tokio::spawn(async move {
            use tokio::io::AsyncWriteExt;
            for part in bytes.chunks(chunk) {
                client.write_all(part).await.unwrap();
            }
        });
        let mut reader = LineReader::new(Box::new(server), limit);
        let mut out = Vec::new();
        loop {
            match reader.next().await {
                Line::End => break,
                line => out.push(line),
            }
        }
        writer.await.unwrap();
        out
    }

    #[tokio::test]
    async fn lines_are_whole_for_any_chunk_size() {
        let text = |s: &str| Line::Text(s.as_bytes().to_vec());
        for chunk in [1, 2, 7, 4096] {
            let got = lines(b"one\n\ntwo\r\nlast", chunk, 100).await;
            assert_eq!(got, [text("one"), text(""), text("two\r"), text("last")]);
        }
    }

    #[tokio::test]
    async fn byte_order_mark_is_skipped_before_the_first_line_only() {
        let text = |bytes: &[u8]| Line::Text(bytes.to_vec());
        for chunk in [1, 2, 4096] {
            let got = lines(b"\xEF\xBB\xBF{}\n\xEF\xBB\xBF{}\n", chunk, 100).await;
            assert_eq!(got, [text(b"{}"), text(b"\xEF\xBB\xBF{}")]);
        }
    }

    #[tokio::test]
    async fn line_of_exactly_the_limit_passes_and_one_byte_more_does_not() {
        let mut bytes = vec![b'x'; 100];
        bytes.push(b'\n');
        let fits = bytes.clone();
        bytes.insert(0, b'x');
        bytes.extend_from_slice(b"next\n");
        for chunk in [1, 16, 4096] {
            assert_eq!(
                lines(&fits, chunk, 100).await,
                [Line::Text(vec![b'x'; 100])]
            );
            assert_eq!(
                lines(&bytes, chunk, 100).await,
                [Line::TooLong(None), Line::Text(b"next".to_vec())]
            );
        }
    }

    #[tokio::test]
    async fn oversized_line_costs_no_memory_and_keeps_its_id() {
        let mut bytes = b"{\"id\":41,\"params\":\"".to_vec();
        bytes.resize(20_000_000, b'a');
        bytes.extend_from_slice(b"\"}\nnext\n");
        let (mut client, server) = tokio::io::duplex(65536);
        let writer = tokio::spawn(async move {
            use tokio::io::AsyncWriteExt;
            client.write_all(&bytes).await.unwrap();
        });
        let mut reader = LineReader::new(Box::new(server), 1000);
        assert_eq!(
            reader.next().await,
            Line::TooLong(Some(RequestId::Number(41)))
        );
        assert!(reader.buffer.capacity() <= 8 * READ_SIZE);
        assert_eq!(reader.next().await, Line::Text(b"next".to_vec()));
        writer.await.unwrap();
    }
}
