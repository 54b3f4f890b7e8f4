//! The persistent mode: one record a line in, one reply a line out.

use std::io::{self, BufRead, ErrorKind, Write};

use super::error::ProbeError;
use super::session::{Session, write_error};

/// Longest line that is held: the largest payload of the deep budget as base64, and some. A longer
/// one is refused and skipped; it is never held whole.
const MAX_LINE_BYTES: usize = 176 << 20;

/// A buffer that grew beyond this is given back after its record.
const KEPT_BYTES: usize = 1 << 20;

/// Answers every line of `input` until its end and returns the highest exit status of any record.
/// Each reply is written at once, with its line feed, in one piece.
///
/// # Errors
/// Reading or writing failed. A closed output (`BrokenPipe`) is how a reader says that it is gone.
pub(crate) fn run(
    session: &mut Session,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> io::Result<u8> {
    let mut worst = 0;
    let mut number = 0;
    let mut line = Vec::new();
    let mut reply = Vec::new();
    loop {
        let read = read_line(input, &mut line, MAX_LINE_BYTES)?;
        if read == Read::End {
            return Ok(worst);
        }
        number += 1;
        reply.clear();
        let status = if read == Read::TooLong {
            let refused = ProbeError::invalid(format_args!(
                "JSONL line {number} is invalid: longer than {MAX_LINE_BYTES} bytes"
            ));
            let status = write_error(&refused, &mut reply);
            reply.push(b'\n');
            Some(status)
        } else {
            session.answer(&line, number, &mut reply)
        };
        if let Some(status) = status {
            output.write_all(&reply)?;
            output.flush()?;
            worst = worst.max(status);
        }
        for buffer in [&mut line, &mut reply] {
            if buffer.capacity() > KEPT_BYTES {
                *buffer = Vec::new();
            }
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Read {
    Line,
    TooLong,
    End,
}

/// Reads one line with its line feed, or a last one without. Of a line with more than `most` bytes no
/// more is held than that, and nothing is left.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>, most: usize) -> io::Result<Read> {
    line.clear();
    let mut too_long = false;
    loop {
        let chunk = match input.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if chunk.is_empty() {
            return Ok(match (too_long, line.is_empty()) {
                (true, _) => Read::TooLong,
                (false, true) => Read::End,
                (false, false) => Read::Line,
            });
        }
        let end = memchr::memchr(b'\n', chunk).map(|at| at + 1);
        let taken = end.unwrap_or(chunk.len());
        too_long |= line.len() + taken > most;
        if too_long {
            *line = Vec::new();
        } else {
            line.extend_from_slice(&chunk[..taken]);
        }
        input.consume(taken);
        if end.is_some() {
            return Ok(if too_long { Read::TooLong } else { Read::Line });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::ProbeOptions;

    fn run_on(input: &[u8]) -> (u8, Vec<String>) {
        let mut session = Session::with_options(ProbeOptions::default());
        let mut output = Vec::new();
        // A tiny buffer, so that lines arrive in pieces.
        let mut input = io::BufReader::with_capacity(3, input);
        let worst = run(&mut session, &mut input, &mut output).unwrap();
        (
            worst,
            String::from_utf8(output)
                .unwrap()
                .lines()
                .map(String::from)
                .collect(),
        )
    }

    #[test]
    fn one_reply_a_line_blank_lines_counted_but_unanswered_last_line_without_feed_included() {
        let (worst, replies) = run_on(b"\n{\n\r\n  \n\"/nonexistent.pdf\"\r\n[");
        assert_eq!(replies.len(), 3);
        assert!(
            replies[0].contains("JSONL line 2 is invalid"),
            "{}",
            replies[0]
        );
        assert!(replies[1].contains("SOURCE_IO"));
        assert!(
            replies[2].contains("JSONL line 6 is invalid"),
            "{}",
            replies[2]
        );
        assert_eq!(worst, 2);
        assert_eq!(run_on(b""), (0, vec![]));
    }

    #[test]
    fn a_line_without_end_is_skipped_and_the_next_one_is_read() {
        let text = b"12345678\n123456789\n0123456789abcdef\n\n12345678\n0123456789";
        let mut input = io::BufReader::with_capacity(3, &text[..]);
        let mut line = Vec::new();
        let mut next = || {
            let read = read_line(&mut input, &mut line, 9).unwrap();
            assert!(line.capacity() < 64);
            (read, String::from_utf8(line.clone()).unwrap())
        };
        let whole = |text: &str| (Read::Line, text.to_owned());
        assert_eq!(next(), whole("12345678\n"));
        assert_eq!(next(), (Read::TooLong, String::new()));
        assert_eq!(next(), (Read::TooLong, String::new()));
        assert_eq!(next(), whole("\n"));
        assert_eq!(next(), whole("12345678\n"));
        assert_eq!(next(), (Read::TooLong, String::new()));
        assert_eq!(next(), (Read::End, String::new()));
    }
}
