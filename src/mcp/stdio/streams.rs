//! Standard input and output as non-blocking streams, whatever they are.
//!
//! Most clients pass FIFOs; Node passes socket pairs. Both are polled by the event loop without a
//! thread. Anything else (a file, a terminal, another system) goes through the blocking pool, where a
//! pending read ends with the process.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

/// Where requests come from.
pub type Input = Box<dyn AsyncRead + Send + Unpin>;
/// Where replies go.
pub type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Opens standard input and output. Must be called inside a runtime.
#[must_use]
pub fn open() -> (Input, Output) {
    (open_input(), open_output())
}

/// How often standard output is polled for a reader that has left.
const LOOK: Duration = Duration::from_millis(200);

/// Completes when the other end of standard output is closed. A client that dies closes both ends,
/// and without this only the next write would notice.
pub(super) async fn reader_gone() {
    loop {
        tokio::time::sleep(LOOK).await;
        if is_abandoned() {
            return;
        }
    }
}

/// Completes when the other end of standard input is closed, also while there is something left to read.
pub(super) async fn input_hung_up() {
    loop {
        tokio::time::sleep(LOOK).await;
        if is_hung_up() {
            return;
        }
    }
}

#[cfg(unix)]
fn is_abandoned() -> bool {
    use rustix::event::PollFlags;
    unix::polls(&std::io::stdout(), PollFlags::empty())
}

#[cfg(target_os = "linux")]
fn is_hung_up() -> bool {
    use rustix::event::PollFlags;
    unix::polls(&std::io::stdin(), PollFlags::RDHUP)
}

/// Elsewhere a half-closed socket cannot be told from an open one without reading.
#[cfg(all(unix, not(target_os = "linux")))]
fn is_hung_up() -> bool {
    use rustix::event::PollFlags;
    unix::polls(&std::io::stdin(), PollFlags::empty())
}

#[cfg(not(unix))]
fn is_abandoned() -> bool {
    false
}

#[cfg(not(unix))]
fn is_hung_up() -> bool {
    false
}

#[cfg(unix)]
fn open_input() -> Input {
    let stdin = std::io::stdin();
    unix::reader(&stdin).unwrap_or_else(|| Box::new(tokio::io::stdin()))
}

#[cfg(unix)]
fn open_output() -> Output {
    let stdout = std::io::stdout();
    unix::writer(&stdout).unwrap_or_else(|| Box::new(tokio::io::stdout()))
}

#[cfg(not(unix))]
fn open_input() -> Input {
    Box::new(tokio::io::stdin())
}

#[cfg(not(unix))]
fn open_output() -> Output {
    Box::new(tokio::io::stdout())
}

#[cfg(unix)]
mod unix {
    use std::os::fd::{AsFd, AsRawFd, OwnedFd};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fs::{FileType, Mode, OFlags};
    use tokio::net::UnixStream;
    use tokio::net::unix::pipe;

    use super::{Input, Output};

    pub(super) fn reader(stream: &(impl AsFd + AsRawFd)) -> Option<Input> {
        match kind(stream)? {
            FileType::Fifo => {
                let own = reopen(stream, OFlags::RDONLY)?;
                Some(Box::new(pipe::Receiver::from_owned_fd(own).ok()?))
            }
            FileType::Socket => Some(Box::new(socket(stream)?)),
            _ => None,
        }
    }

    pub(super) fn writer(stream: &(impl AsFd + AsRawFd)) -> Option<Output> {
        match kind(stream)? {
            FileType::Fifo => {
                let own = reopen(stream, OFlags::WRONLY)?;
                Some(Box::new(pipe::Sender::from_owned_fd(own).ok()?))
            }
            FileType::Socket => Some(Box::new(socket(stream)?)),
            _ => None,
        }
    }

    /// Whether the other end of a stream is closed, or one of the events `asked` for is there.
    pub(super) fn polls(stream: &impl AsFd, asked: PollFlags) -> bool {
        let mut look = [PollFd::new(stream, asked)];
        let at_once = Timespec::default();
        let gone = PollFlags::ERR | PollFlags::HUP | asked;
        poll(&mut look, Some(&at_once)).is_ok() && look[0].revents().intersects(gone)
    }

    fn kind(stream: &impl AsFd) -> Option<FileType> {
        let stat = rustix::fs::fstat(stream).ok()?;
        Some(FileType::from_raw_mode(stat.st_mode))
    }

    /// Opens the FIFO again, so that the non-blocking flag is ours alone: the original may be shared
    /// with processes that expect it to block. Only Linux can do that; elsewhere the caller falls
    /// back to the blocking pool.
    fn reopen(stream: &impl AsRawFd, access: OFlags) -> Option<OwnedFd> {
        let path = format!("/proc/self/fd/{}", stream.as_raw_fd());
        let flags = access | OFlags::NONBLOCK | OFlags::CLOEXEC;
        rustix::fs::open(path, flags, Mode::empty()).ok()
    }

    /// A socket cannot be opened again, and a duplicate shares its flags. The other end of the pair
    /// has its own.
    fn socket(stream: &impl AsFd) -> Option<UnixStream> {
        let own = stream.as_fd().try_clone_to_owned().ok()?;
        let socket = std::os::unix::net::UnixStream::from(own);
        socket.local_addr().ok()?;
        socket.set_nonblocking(true).ok()?;
        UnixStream::from_std(socket).ok()
    }
}
