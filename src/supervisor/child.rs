//! One engine process: its pipes, its exit, and the exchange of one line for one line.
//!
//! All of it belongs to one task, so a read that is cut off loses nothing: the buffer stays. Order is the
//! only link between a record and its reply, so whatever casts doubt on the order ends the exchange, and
//! the caller ends the child.

use std::future::pending;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::{Child as Process, ChildStderr, ChildStdin, ChildStdout};
use tokio::select;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::child_status::ChildStatus;
use super::os::{self, ExitNotice, MemoryGauge, TryRead};
use super::pipes::{after, make_room, read_some, read_stderr, write_some};
use super::settings::Settings;
use super::stderr_tail::{StderrTail, excerpt};

/// A timer that fires this late means that this process itself was stopped or starved.
const LATE: Duration = Duration::from_millis(500);
/// A buffer that grew beyond this for a large reply is given back.
const KEPT_BUFFER: usize = 256 * 1024;
/// Bytes of output that are read where there should be none.
const PEEK: usize = 4096;

/// The limits of one child that do not make it old.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChildLimits {
    /// Longest start, from the spawn to the answered ping.
    pub(super) start_timeout: Duration,
    /// Deadline of one record, from its hand-over.
    pub(super) record_timeout: Duration,
    /// Longest reply, without its line feed.
    pub(super) max_reply_bytes: usize,
    /// Its address space; for messages only, as the launcher sets it.
    pub(super) max_memory_bytes: Option<u64>,
    /// Time between asking it to end and killing it.
    pub(super) grace: Duration,
}

impl ChildLimits {
    pub(super) const fn from_settings(settings: &Settings) -> Self {
        Self {
            start_timeout: settings.start_timeout,
            record_timeout: settings.record_timeout,
            max_reply_bytes: settings.max_reply_bytes,
            max_memory_bytes: settings.max_memory_bytes,
            grace: settings.grace,
        }
    }
}

/// A running engine process.
pub(super) struct Child {
    pub(super) info: Arc<ChildStatus>,
    pub(super) stderr_tail: StderrTail,
    process: Process,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    exit: ExitNotice,
    gauge: MemoryGauge,
    /// Output that was read and not yet used.
    buffer: Vec<u8>,
    /// Where a piece of stderr is read to.
    piece: Vec<u8>,
    /// It has ended, reaped or not.
    ended: bool,
    status: Option<ExitStatus>,
}

/// Why an exchange brought no line.
#[derive(Debug)]
pub(super) enum ExchangeError {
    /// Output, or the end of it, before anything was handed over.
    BeforeHandOver(IdleEvent),
    /// The write failed before a byte of the record was written.
    NotWritten,
    /// The child ended without reading a byte of the record.
    NotTaken,
    /// It answered before it had the whole record.
    EarlyReply,
    /// The write broke off.
    StdinClosed,
    /// The deadline passed.
    Deadline,
    /// The deadline passed, and the child has not read a byte of the record: it hung before.
    NeverRead,
    /// The process ended.
    Ended,
    /// It closed its output and has not ended (yet).
    Closed,
    /// The line is longer than the cap.
    Oversized,
    /// The caller left.
    Cancelled,
    /// The supervisor is killing everything.
    Killed,
}

/// What an idle child did.
#[derive(Debug)]
pub(super) enum IdleEvent {
    /// It printed a line that answers nothing. An excerpt.
    Unasked(String),
    /// It closed its output.
    Closed,
    /// It ended.
    Ended,
}

impl Child {
    pub(super) fn new(
        info: Arc<ChildStatus>,
        mut process: Process,
        through_launcher: bool,
    ) -> Self {
        let pid = process.id().unwrap_or_default();
        info.set_pid(process.id());
        Self {
            info,
            stderr_tail: StderrTail::new(through_launcher),
            stdin: process.stdin.take(),
            stdout: process.stdout.take(),
            stderr: process.stderr.take(),
            process,
            exit: ExitNotice::of(pid),
            gauge: MemoryGauge::of(pid),
            buffer: Vec::new(),
            piece: Vec::new(),
            ended: false,
            status: None,
        }
    }

    /// Writes one line and waits for one line. Returns its length without the line feed; the line itself
    /// is then at the beginning of [`Self::output`].
    ///
    /// A line that came before the child had read the record is not a reply to it, and a child that
    /// ended without reading a byte of it never got it: the pipe shows how much was read.
    pub(super) async fn exchange<A>(
        &mut self,
        line: &[u8],
        limit: Duration,
        longest_reply: usize,
        answer: Option<&mut oneshot::Sender<A>>,
        kill: &CancellationToken,
    ) -> Result<usize, ExchangeError> {
        self.expect_silence()?;
        let mut written = 0;
        let exchanged = self
            .converse(line, &mut written, limit, longest_reply, answer, kill)
            .await;
        let untaken = self.stdin.as_ref().and_then(os::untaken).unwrap_or(0);
        let nothing_taken = written > 0 && untaken == written as u64;
        match exchanged {
            Ok(_) if nothing_taken => {
                let what = excerpt(&self.buffer);
                Err(ExchangeError::BeforeHandOver(IdleEvent::Unasked(what)))
            }
            Ok(_) if written < line.len() || untaken > 0 => Err(ExchangeError::EarlyReply),
            Err(ExchangeError::Ended | ExchangeError::Closed) if nothing_taken => {
                Err(ExchangeError::NotTaken)
            }
            Err(ExchangeError::Deadline) if nothing_taken => Err(ExchangeError::NeverRead),
            exchanged => exchanged,
        }
    }

    /// The deadline runs from the hand-over. Writing, reading and draining stderr go on together. A
    /// caller that leaves (`answer` closed) ends the exchange, as does `kill`.
    async fn converse<A>(
        &mut self,
        line: &[u8],
        written: &mut usize,
        limit: Duration,
        longest_reply: usize,
        mut answer: Option<&mut oneshot::Sender<A>>,
        kill: &CancellationToken,
    ) -> Result<usize, ExchangeError> {
        let mut deadline = after(Instant::now(), limit);
        let mut extended = false;
        let mut scanned = 0;
        loop {
            let fresh = self.buffer.get(scanned..).unwrap_or_default();
            if let Some(at) = memchr::memchr(b'\n', fresh) {
                let length = scanned + at;
                return if length > longest_reply {
                    Err(ExchangeError::Oversized)
                } else {
                    Ok(length)
                };
            }
            scanned = self.buffer.len();
            if scanned > longest_reply {
                return Err(ExchangeError::Oversized);
            }
            if self.ended {
                return Err(ExchangeError::Ended);
            }
            make_room(&mut self.buffer);
            let rest = line.get(*written..).unwrap_or_default();
            let left = async {
                match &mut answer {
                    Some(answer) => answer.closed().await,
                    None => pending().await,
                }
            };
            // Polled in this order: output that is there counts before the clock does. Stderr comes
            // last, as a flood of it is always ready.
            select! {
                biased;
                read = read_some(&mut self.stdout, &mut self.buffer) => {
                    if read == 0 {
                        self.stdout = None;
                        return Err(ExchangeError::Closed);
                    }
                }
                done = write_some(&mut self.stdin, rest), if !rest.is_empty() => match done {
                    Ok(n) if n > 0 => *written += n,
                    _ if *written == 0 => return Err(ExchangeError::NotWritten),
                    _ => {
                        // The reply may be there although the record was not read to its end.
                        self.stdin = None;
                        self.read_available_output(longest_reply);
                        if !self.buffer.contains(&b'\n') {
                            return Err(ExchangeError::StdinClosed);
                        }
                    }
                },
                () = left => return Err(ExchangeError::Cancelled),
                () = kill.cancelled() => return Err(ExchangeError::Killed),
                () = self.exit.ended(&mut self.process) => {
                    self.ended = true;
                    self.read_available_output(longest_reply);
                }
                () = sleep_until(deadline) => {
                    // A line that is in the pipe already counts, whatever the clock says: this process
                    // may have been stopped.
                    self.read_available_output(longest_reply);
                    if self.buffer.get(scanned..).is_some_and(|fresh| fresh.contains(&b'\n')) {
                        continue;
                    }
                    let late = deadline.elapsed();
                    if late < LATE || extended {
                        return Err(ExchangeError::Deadline);
                    }
                    // Stopped or frozen, perhaps with the child: the record gets that time back, once.
                    extended = true;
                    deadline = after(Instant::now(), late.min(limit));
                }
                open = read_stderr(&mut self.stderr, &mut self.piece, &mut self.stderr_tail) => {
                    if !open {
                        self.stderr = None;
                    }
                }
            }
        }
    }

    /// The output so far: the line that [`Self::exchange`] found, and perhaps more.
    pub(super) fn output(&self) -> &[u8] {
        &self.buffer
    }

    /// Removes the line from the buffer and returns an excerpt of what follows it: nothing, if all is
    /// well.
    pub(super) fn take_line(&mut self, length: usize) -> Option<String> {
        self.buffer.drain(..(length + 1).min(self.buffer.len()));
        if let Some(stdout) = &self.stdout {
            // A second line that came with the first is not in the buffer yet.
            os::try_read(stdout, &mut self.buffer, PEEK);
        }
        if self.buffer.capacity() > KEPT_BUFFER {
            self.buffer.shrink_to(KEPT_BUFFER / 8);
        }
        (!self.buffer.is_empty()).then(|| excerpt(&self.buffer))
    }

    /// Waits until an idle child does something. Safe to drop and to call again.
    pub(super) async fn next_event(&mut self) -> IdleEvent {
        loop {
            make_room(&mut self.buffer);
            select! {
                biased;
                read = read_some(&mut self.stdout, &mut self.buffer) => {
                    if read > 0 {
                        return IdleEvent::Unasked(excerpt(&self.buffer));
                    }
                    self.stdout = None;
                    return IdleEvent::Closed;
                }
                () = self.exit.ended(&mut self.process) => {
                    self.ended = true;
                    return IdleEvent::Ended;
                }
                open = read_stderr(&mut self.stderr, &mut self.piece, &mut self.stderr_tail) => {
                    if !open {
                        self.stderr = None;
                    }
                }
            }
        }
    }

    /// Reads the output to its end, for a process that answers one question.
    pub(super) async fn whole_output(
        &mut self,
        limit: Duration,
        longest: usize,
        kill: &CancellationToken,
    ) -> Result<Vec<u8>, ExchangeError> {
        self.stdin = None;
        let deadline = after(Instant::now(), limit);
        while self.stdout.is_some() {
            if self.buffer.len() > longest {
                return Err(ExchangeError::Oversized);
            }
            make_room(&mut self.buffer);
            select! {
                biased;
                read = read_some(&mut self.stdout, &mut self.buffer) => {
                    if read == 0 {
                        self.stdout = None;
                    }
                }
                () = kill.cancelled() => return Err(ExchangeError::Killed),
                () = sleep_until(deadline) => return Err(ExchangeError::Deadline),
                open = read_stderr(&mut self.stderr, &mut self.piece, &mut self.stderr_tail) => {
                    if !open {
                        self.stderr = None;
                    }
                }
            }
        }
        Ok(std::mem::take(&mut self.buffer))
    }

    /// Closes the child's input: an idle engine ends by that.
    pub(super) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Waits for the end, at most `limit`, draining both pipes meanwhile. `false` when it has not
    /// ended, or when `kill` came first.
    pub(super) async fn wait_end(&mut self, limit: Duration, kill: &CancellationToken) -> bool {
        let deadline = after(Instant::now(), limit);
        while !self.ended {
            self.buffer.clear();
            make_room(&mut self.buffer);
            select! {
                biased;
                () = self.exit.ended(&mut self.process) => self.ended = true,
                () = sleep_until(deadline) => return false,
                () = kill.cancelled() => return false,
                read = read_some(&mut self.stdout, &mut self.buffer), if self.stdout.is_some() => {
                    if read == 0 {
                        self.stdout = None;
                    }
                }
                open = read_stderr(&mut self.stderr, &mut self.piece, &mut self.stderr_tail) => {
                    if !open {
                        self.stderr = None;
                    }
                }
            }
        }
        true
    }

    /// Kills it and, where the system has process groups, all it started.
    pub(super) fn kill(&mut self) {
        self.info.signal(os::StopSignal::Kill);
        if !os::HAS_GROUPS && !self.ended {
            let _gone_already = self.process.start_kill();
        }
    }

    /// Waits for the end without a limit.
    pub(super) async fn wait_end_for_ever(&mut self) {
        self.exit.ended(&mut self.process).await;
        self.ended = true;
    }

    /// The exit status, once it has ended: kills what is left of its group, reads the rest of its stderr
    /// for a bounded time, and reaps it.
    pub(super) async fn reap(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() && self.ended {
            self.info.give_up_pid();
            self.drain_stderr().await;
            self.status = self.process.wait().await.ok();
        }
        self.status
    }

    /// Resident bytes.
    pub(super) fn resident(&self) -> Option<u64> {
        self.gauge.resident()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Reads what is on stderr right now.
    pub(super) fn read_available_stderr(&mut self) {
        if let Some(stderr) = &self.stderr {
            let mut bytes = Vec::new();
            os::try_read(stderr, &mut bytes, PEEK * 4);
            self.stderr_tail.push(&bytes);
        }
    }

    /// There may be no output before a record is handed over; if there is, it is not a reply to it.
    fn expect_silence(&mut self) -> Result<(), ExchangeError> {
        let seen = match &self.stdout {
            _ if !self.buffer.is_empty() => TryRead::Some,
            Some(stdout) => os::try_read(stdout, &mut self.buffer, PEEK),
            None => TryRead::Closed,
        };
        match seen {
            TryRead::Dry => Ok(()),
            TryRead::Closed => {
                self.stdout = None;
                Err(ExchangeError::BeforeHandOver(IdleEvent::Closed))
            }
            TryRead::Some => {
                let what = excerpt(&self.buffer);
                Err(ExchangeError::BeforeHandOver(IdleEvent::Unasked(what)))
            }
        }
    }

    fn read_available_output(&mut self, longest_reply: usize) {
        if let Some(stdout) = &self.stdout {
            let room = (longest_reply + 2).saturating_sub(self.buffer.len());
            os::try_read(stdout, &mut self.buffer, room);
        }
    }

    /// Reads stderr to its end, for a bounded time: a grandchild may hold it open.
    async fn drain_stderr(&mut self) {
        let deadline = after(Instant::now(), Duration::from_millis(50));
        while self.stderr.is_some() {
            select! {
                biased;
                open = read_stderr(&mut self.stderr, &mut self.piece, &mut self.stderr_tail) => {
                    if !open {
                        self.stderr = None;
                    }
                }
                () = sleep_until(deadline) => return,
            }
        }
    }
}

impl Drop for Child {
    /// Only reached with the process alive when its task was dropped (the runtime ends) or panicked.
    /// `kill_on_drop` ends the process; this ends its group.
    fn drop(&mut self) {
        self.info.give_up_pid();
    }
}
