//! The path check: what a caller named → a record that an engine may open, or an envelope.
//!
//! A path is resolved to its real path (`realpath`), compared with the allow-list and looked at once;
//! the engine gets the real path, with the requested name beside it, so that a symlink swapped after
//! the check leads nowhere. All of it runs off the event loop and under a time limit, since a path on
//! a dead mount may block for ever.
//!
//! Outside the allow-list there is one answer, whatever is there: nothing that a caller can see tells
//! an existing path from a missing one.

mod walk;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::contract::{Envelope, ErrorCode, Record};

/// Longest time that one path may take to resolve.
const LIMIT: Duration = Duration::from_secs(5);
/// Longest path, in bytes: no system opens a longer one, and walking along it would cost for nothing.
const LONGEST: usize = if cfg!(windows) { 3 * 32_767 } else { 4095 };
/// Most checks at once. One that blocks for ever keeps its place, so this also bounds stuck threads.
const AT_ONCE: usize = 64;

/// The check, shared by all calls. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Access {
    /// Real paths of the directories that may be probed; empty for no restriction.
    roots: Arc<[PathBuf]>,
    /// One permit a running check.
    checks: Arc<Semaphore>,
    /// Longest time of one check, waiting for a permit included.
    limit: Duration,
}

impl Access {
    /// A check against these directories, which must be real paths; none means no restriction.
    #[must_use]
    pub fn new(roots: Vec<PathBuf>) -> Self {
        Self {
            roots: roots.into(),
            checks: Arc::new(Semaphore::new(AT_ONCE)),
            limit: LIMIT,
        }
    }

    /// Whether the allow-list restricts anything.
    #[must_use]
    pub fn is_restricted(&self) -> bool {
        !self.roots.is_empty()
    }

    /// Checks a path as a caller gave it and makes the record for it.
    ///
    /// # Errors
    /// `MCP_INVALID_ARGUMENT` for what is no path, `MCP_PATH_OUTSIDE_ROOTS`, and inside the allow-list
    /// `MCP_PATH_NOT_FOUND`, `MCP_NOT_A_FILE` or `MCP_PATH_UNREADABLE`, the last also when the file
    /// system did not answer in time.
    pub async fn admit(&self, requested: &str) -> Result<Record, Envelope> {
        refuse_what_is_no_path(requested)?;
        let shown = requested.to_owned();
        let path = requested.to_owned();
        let roots = Arc::clone(&self.roots);
        let checks = Arc::clone(&self.checks);
        let check = async move {
            let permit = checks.acquire_owned().await;
            tokio::task::spawn_blocking(move || {
                let _held_until_done = permit;
                check(&path, &roots)
            })
            .await
        };
        match tokio::time::timeout(self.limit, check).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_panicked_or_shutting_down)) => Err(unreadable(&shown, "the check broke off")),
            Err(_elapsed) => Err(self.too_slow(&shown)),
        }
    }

    /// The file system did not answer. Only a path that plainly stands inside the allow-list is told
    /// so: elsewhere a slow answer would tell what is there.
    fn too_slow(&self, requested: &str) -> Envelope {
        if !is_inside(Path::new(requested), &self.roots) {
            return outside(requested);
        }
        let within = self.limit.as_secs();
        unreadable(
            requested,
            &format!("the file system did not answer within {within} s; perhaps a dead mount"),
        )
    }
}

fn refuse_what_is_no_path(requested: &str) -> Result<(), Envelope> {
    let invalid = |message: String| Err(Envelope::new(ErrorCode::McpInvalidArgument, message));
    if requested.is_empty() {
        return invalid("path is empty; give the path of a file".into());
    }
    if requested.len() > LONGEST {
        let got = requested.len();
        return invalid(format!("path has {got} bytes; at most {LONGEST}"));
    }
    if requested.contains('\0') {
        return invalid("path holds a NUL character, which no file name can".into());
    }
    // A file may be named "file:x" only in the working directory; addresses are the common mistake.
    if requested.len() >= 5 && requested.as_bytes()[..5].eq_ignore_ascii_case(b"file:") {
        return invalid(format!(
            "path {requested:?} is an address; give a plain local path such as /home/me/a.pdf, \
             without file:// and without percent escapes"
        ));
    }
    Ok(())
}

/// The blocking part. `roots` are real paths.
fn check(requested: &str, roots: &[PathBuf]) -> Result<Record, Envelope> {
    let path = Path::new(requested);
    if !roots.is_empty() && walk::leaves_through_dots(path, roots) {
        return Err(outside(requested));
    }
    let real = match std::fs::canonicalize(path) {
        Ok(real) if is_inside(&real, roots) => real,
        Ok(_) => return Err(outside(requested)),
        Err(error) => return Err(missing(requested, path, roots, &error)),
    };
    let kind = std::fs::metadata(&real).map_err(|error| describe(requested, &error))?;
    if !kind.is_file() {
        return Err(Envelope::new(
            ErrorCode::McpNotAFile,
            format!("{requested:?} is not a regular file; give the path of a document"),
        ));
    }
    open_for_reading(&real).map_err(|error| describe(requested, &error))?;
    let Some(real) = real.to_str() else {
        return Err(unreadable(
            requested,
            "its real path is not valid UTF-8, which an engine cannot be given",
        ));
    };
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    Record::from_path(real, name)
}

fn is_inside(real: &Path, roots: &[PathBuf]) -> bool {
    roots.is_empty() || roots.iter().any(|root| real.starts_with(root))
}

/// A path that does not resolve: inside the allow-list the reason is told, outside it is not.
fn missing(requested: &str, path: &Path, roots: &[PathBuf], error: &std::io::Error) -> Envelope {
    if roots.is_empty() || is_inside(&walk::would_be(path), roots) {
        describe(requested, error)
    } else {
        outside(requested)
    }
}

fn describe(requested: &str, error: &std::io::Error) -> Envelope {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename => {
            Envelope::new(
                ErrorCode::McpPathNotFound,
                format!("no file at {requested:?}; relative paths start at the server's directory"),
            )
        }
        _ => unreadable(requested, &error.to_string()),
    }
}

fn unreadable(requested: &str, reason: &str) -> Envelope {
    Envelope::new(
        ErrorCode::McpPathUnreadable,
        format!("{requested:?} cannot be read: {reason}"),
    )
}

fn outside(requested: &str) -> Envelope {
    Envelope::new(
        ErrorCode::McpPathOutsideRoots,
        format!("{requested:?} is outside the directories that this server may read"),
    )
}

/// Opens the file as an engine would, so that a refusal is told before a child is asked. Never
/// blocks: the file may have become a FIFO since it was looked at.
fn open_for_reading(real: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        options.custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    }
    options.open(real).map(drop)
}

#[cfg(test)]
mod tests;
