//! Reading and writing the pipes of a child. Each read is safe to drop.

use std::future::pending;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::time::Instant;

use super::stderr_tail::StderrTail;

/// Room that is made in the buffer for one read.
const READ: usize = 32 * 1024;
/// Room for one piece of stderr.
const PIECE: usize = 8 * 1024;

/// An instant in the future; the largest durations mean "practically never".
pub(super) fn after(now: Instant, limit: Duration) -> Instant {
    const A_YEAR: Duration = Duration::from_secs(365 * 86_400);
    now + limit.min(A_YEAR)
}

pub(super) fn make_room(buffer: &mut Vec<u8>) {
    if buffer.capacity() - buffer.len() < READ / 4 {
        buffer.reserve(READ);
    }
}

/// Bytes that were read; 0 at the end or on an error. Loses nothing when dropped.
pub(super) async fn read_some(pipe: &mut Option<ChildStdout>, buffer: &mut Vec<u8>) -> usize {
    match pipe {
        Some(pipe) => pipe.read_buf(buffer).await.unwrap_or(0),
        None => 0,
    }
}

pub(super) async fn write_some(
    pipe: &mut Option<ChildStdin>,
    bytes: &[u8],
) -> std::io::Result<usize> {
    match pipe {
        Some(pipe) => pipe.write(bytes).await,
        None => Ok(0),
    }
}

/// Reads one piece of stderr; `false` at its end. Never completes after that.
pub(super) async fn read_stderr(
    pipe: &mut Option<ChildStderr>,
    piece: &mut Vec<u8>,
    tail: &mut StderrTail,
) -> bool {
    let Some(stderr) = pipe else {
        return pending().await;
    };
    piece.clear();
    piece.reserve(PIECE);
    let open = matches!(stderr.read_buf(piece).await, Ok(n) if n > 0);
    tail.push(piece);
    open
}
