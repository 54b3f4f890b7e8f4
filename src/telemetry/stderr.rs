//! Log lines on their way to stderr, which may never be read.
//!
//! Many clients give the server a pipe for stderr and do not read it. Once the pipe is full, a write to
//! it blocks, and with it the event loop and every call. So a separate thread writes, from a bounded
//! queue; lines that find no room are dropped, and the next line that is written says how many.
//!
//! `tracing-appender` does the same but for three things that matter here: when the queue is full at the
//! end it prints to stdout, which belongs to the protocol; it panics when no thread can be started; and
//! it does not say in the log that lines are missing.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;

use super::LogFormat;

/// Most lines in the queue.
const WAITING: usize = 1024;

/// Takes log lines and never blocks. Cloning shares the queue.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    queue: SyncSender<Entry>,
    lost: Arc<AtomicU64>,
}

#[derive(Debug)]
enum Entry {
    Line(Vec<u8>),
    /// Answered when everything before it is written.
    Flush(SyncSender<()>),
}

impl Lines {
    /// Starts the thread that writes to `sink`.
    pub(super) fn to(sink: impl Write + Send + 'static, format: LogFormat) -> io::Result<Self> {
        let (queue, entries) = sync_channel(WAITING);
        let lost = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&lost);
        std::thread::Builder::new()
            .name("log".into())
            .spawn(move || copy(&entries, sink, &counted, format))?;
        Ok(Self { queue, lost })
    }

    /// Waits until everything logged so far is written, at most `limit`.
    pub(super) fn flush(&self, limit: Duration) {
        let (done, written) = sync_channel(1);
        if self.queue.try_send(Entry::Flush(done)).is_ok() {
            let _written_or_stuck = written.recv_timeout(limit);
        }
    }
}

/// The subscriber writes a line with one call.
impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.queue.try_send(Entry::Line(line.to_vec())).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

fn copy(entries: &Receiver<Entry>, mut sink: impl Write, lost: &AtomicU64, format: LogFormat) {
    // After stderr was closed, flushes must still be answered.
    for entry in entries {
        match entry {
            Entry::Line(line) => {
                let gap = lost.swap(0, Ordering::Relaxed);
                if gap > 0 {
                    let _closed = sink.write_all(note(gap, format).as_bytes());
                }
                let _closed = sink.write_all(&line);
            }
            Entry::Flush(done) => {
                let _closed = sink.flush();
                let _left = done.send(());
            }
        }
    }
}

fn note(lost: u64, format: LogFormat) -> String {
    let text = "log lines were lost because stderr was not read";
    match format {
        LogFormat::Text => format!(" WARN {lost} {text}\n"),
        LogFormat::Json => {
            format!("{{\"level\":\"WARN\",\"message\":\"{text}\",\"lost\":{lost}}}\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// A sink that blocks until the test opens its gate.
    #[derive(Clone, Default)]
    struct Slow {
        gate: Arc<Mutex<()>>,
        text: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _open = self.gate.lock().unwrap();
            self.text.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_stuck_reader_loses_lines_and_delays_nobody() {
        let sink = Slow::default();
        let mut lines = Lines::to(sink.clone(), LogFormat::Text).unwrap();
        let closed = sink.gate.lock().unwrap();
        for n in 0..3000 {
            lines.write_all(format!("line {n}\n").as_bytes()).unwrap();
        }
        Lines::flush(&lines, Duration::from_millis(1));
        drop(closed);
        while lines
            .queue
            .try_send(Entry::Line(b"room\n".to_vec()))
            .is_err()
        {
            std::thread::yield_now();
        }
        Lines::flush(&lines, Duration::from_secs(20));
        let text = String::from_utf8(sink.text.lock().unwrap().clone()).unwrap();
        assert!(text.ends_with("room\n"));
        let notes = text.lines().filter(|line| line.contains("were lost"));
        let lost: usize = notes
            .map(|line| {
                line.split_ascii_whitespace()
                    .nth(1)
                    .unwrap()
                    .parse::<usize>()
                    .unwrap()
            })
            .sum();
        let kept = text.lines().filter(|line| line.starts_with("line")).count();
        assert_eq!(kept + lost, 3000);
        assert!((WAITING..WAITING + 2).contains(&kept), "{kept}");
    }
}
