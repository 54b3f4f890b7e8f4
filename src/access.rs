//! The path check: what a caller named → a record that an engine may open, or an envelope.
//!
//! A path is resolved to its real path (`realpath`) and compared with the allow-list. The engine gets
//! the real path, with the requested name beside it, so that a symlink swapped after the check has no
//! effect. All of it runs off the event loop and under a time limit, since a path on a dead mount may
//! block for ever.
//!
//! Outside the allow-list there is one answer, whatever is there: a caller cannot tell an existing path
//! from a missing one.

mod checkers;
mod mounts;
mod walk;

use std::borrow::Cow;
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use self::checkers::{Checkers, Ended, Place};
use self::mounts::Mounts;
use crate::contract::{Envelope, ErrorCode, Record};

/// Longest time that one path may take to resolve.
const LIMIT: Duration = Duration::from_secs(5);
/// Longest path, in bytes: no system opens a longer one, and walking along it would cost for nothing.
const LONGEST: usize = if cfg!(windows) { 3 * 32_767 } else { 4095 };
/// Most mounts that one path may lead through.
const MAX_MOUNTS: usize = 8;
/// Most directories of the allow-list that a refusal names.
const NAMED: usize = 8;

/// The check, shared by all calls. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Access {
    /// Real paths of the directories that may be probed; empty for no restriction.
    roots: Arc<[PathBuf]>,
    /// The threads that run the checks.
    checkers: Arc<Checkers>,
    /// Longest time of one check, waiting for a thread included.
    limit: Duration,
}

impl Access {
    /// A check against these directories, which must be real paths; none means no restriction.
    #[must_use]
    pub fn new(roots: Vec<PathBuf>) -> Self {
        Self {
            roots: roots.into(),
            checkers: Checkers::new(LIMIT),
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
        match tokio::time::timeout(self.limit, self.check_on_thread(requested)).await {
            Ok(outcome) => outcome,
            Err(_elapsed) => Err(self.too_slow(requested)),
        }
    }

    /// Runs the check. It starts on the mount that the path seems to be on; when a link leads to
    /// another one, it is made again with room on both.
    async fn check_on_thread(&self, requested: &str) -> Result<Record, Envelope> {
        let seems = absolute(Path::new(requested), &self.roots);
        let mut entered = vec![Mounts::read(&self.roots).of(&seems).to_owned()];
        while entered.len() <= MAX_MOUNTS {
            let (path, roots, mounts) = (requested.to_owned(), self.roots.clone(), entered.clone());
            let check = move |place: &Place| check(&path, &roots, &mounts, place);
            match self.checkers.run(&entered, check).await {
                Ended::Done(Ok(outcome)) => return outcome,
                Ended::Done(Err(LeadsTo(mount))) => entered.push(mount),
                Ended::Unanswered(mount) => return Err(self.unanswered(requested, &mount)),
                Ended::Failed(reason) => return Err(unreadable(requested, &reason)),
            }
        }
        Err(self.unreadable_if_inside(requested, "it leads through too many mounts"))
    }

    fn too_slow(&self, requested: &str) -> Envelope {
        let within = self.limit.as_secs();
        self.unreadable_if_inside(
            requested,
            &format!("the file system did not answer within {within} s; perhaps a dead mount"),
        )
    }

    fn unanswered(&self, requested: &str, mount: &Path) -> Envelope {
        self.unreadable_if_inside(
            requested,
            &format!(
                "the file system at {} did not answer an earlier check, which still waits; perhaps a \
                 dead mount",
                mount.display()
            ),
        )
    }

    /// The reason, for a path whose spelling is inside the allow-list. Elsewhere a reason would reveal
    /// what is there.
    fn unreadable_if_inside(&self, requested: &str, reason: &str) -> Envelope {
        if is_inside(&absolute(Path::new(requested), &self.roots), &self.roots) {
            unreadable(requested, reason)
        } else {
            outside(requested, &self.roots)
        }
    }
}

/// The mount that a path leads to, beyond those that its check may touch.
struct LeadsTo(PathBuf);

/// Where a path starts. A relative one starts at the working directory, or at the first root when that
/// is not inside the allow-list.
fn absolute<'a>(path: &'a Path, roots: &[PathBuf]) -> Cow<'a, Path> {
    if path.has_root() {
        return Cow::Borrowed(path);
    }
    let here = std::env::current_dir().ok();
    let here = here.filter(|here| is_inside(here, roots));
    let base = here.or_else(|| roots.first().cloned());
    base.map_or(Cow::Borrowed(path), |base| Cow::Owned(base.join(path)))
}

/// The places that a path may mean, in order: a relative one is searched for in each root when the
/// working directory is not inside the allow-list.
fn meanings<'a>(path: &'a Path, roots: &[PathBuf]) -> Vec<Cow<'a, Path>> {
    let first = absolute(path, roots);
    let in_first_root = roots.first().is_some_and(|root| *first == root.join(path));
    if path.has_root() || !in_first_root {
        return vec![first];
    }
    let others = roots.iter().skip(1).map(|root| Cow::Owned(root.join(path)));
    std::iter::once(first).chain(others).collect()
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

/// The blocking part. `roots` are real paths; `mounts` are those that it may touch.
fn check(
    requested: &str,
    roots: &[PathBuf],
    mounts: &[PathBuf],
    place: &Place,
) -> Result<Result<Record, Envelope>, LeadsTo> {
    let table = Mounts::read(roots);
    let mut first_refusal = None;
    for path in meanings(Path::new(requested), roots) {
        stay_on(&path, &table, mounts, place)?;
        match check_one(requested, &path, roots) {
            Err(refusal) if refusal.code == ErrorCode::McpPathNotFound => {
                first_refusal.get_or_insert(refusal);
            }
            outcome => return Ok(outcome),
        }
    }
    Ok(Err(
        first_refusal.unwrap_or_else(|| outside(requested, roots))
    ))
}

/// Follows the path's links, but to no mount beyond these and those above them.
fn stay_on(path: &Path, table: &Mounts, mounts: &[PathBuf], place: &Place) -> Result<(), LeadsTo> {
    let mut leads_to = None;
    walk::touch(path, |next| {
        let mount = table.of(next);
        if !mounts.iter().any(|entered| entered.starts_with(mount)) {
            leads_to = Some(mount.to_owned());
            return ControlFlow::Break(());
        }
        place.touches(mount);
        ControlFlow::Continue(())
    });
    leads_to.map_or(Ok(()), |mount| Err(LeadsTo(mount)))
}

fn check_one(requested: &str, path: &Path, roots: &[PathBuf]) -> Result<Record, Envelope> {
    if !roots.is_empty() && walk::leaves_through_dots(path, roots) {
        return Err(outside(requested, roots));
    }
    let real = match std::fs::canonicalize(path) {
        Ok(real) if is_inside(&real, roots) => real,
        Ok(_) => return Err(outside(requested, roots)),
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
    // A record is UTF-8. A real path that is not can still be reached by a link that is.
    let reachable = real.to_str().or_else(|| {
        let plain = |part| !matches!(part, Component::ParentDir);
        path.to_str().filter(|_| path.components().all(plain))
    });
    let Some(reachable) = reachable else {
        return Err(unreadable(
            requested,
            "its real path is not valid UTF-8, which an engine cannot be given; a symbolic link with a \
             UTF-8 name can lead to its directory",
        ));
    };
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    Record::from_path(reachable, name)
}

fn is_inside(real: &Path, roots: &[PathBuf]) -> bool {
    roots.is_empty() || roots.iter().any(|root| real.starts_with(root))
}

/// A path that does not resolve: the answer gives the reason only inside the allow-list.
fn missing(requested: &str, path: &Path, roots: &[PathBuf], error: &std::io::Error) -> Envelope {
    if roots.is_empty() || is_inside(&walk::would_be(path), roots) {
        describe(requested, error)
    } else {
        outside(requested, roots)
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

fn outside(requested: &str, roots: &[PathBuf]) -> Envelope {
    let named = roots.iter().take(NAMED);
    let mut named: Vec<String> = named
        .map(|root| format!("{:?}", root.to_string_lossy()))
        .collect();
    if roots.len() > NAMED {
        named.push(format!("and {} more", roots.len() - NAMED));
    }
    Envelope::new(
        ErrorCode::McpPathOutsideRoots,
        format!(
            "{requested:?} is outside the directories that this server may read: {}",
            named.join(", ")
        ),
    )
}

/// Opens the file as an engine would, so that a refusal is reported before a child is used. Never
/// blocks: the file may have become a FIFO since it was checked.
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
