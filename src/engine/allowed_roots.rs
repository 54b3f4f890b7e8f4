//! The directories that this process may read, compared with what it has really opened.
//!
//! The supervisor checks a path before the engine opens it. Where the sandbox cannot restrict files, a
//! directory of that path may be replaced by a link in between. So the engine looks up where the open
//! file is, before it reads a byte.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Real paths; empty or unset for no restriction.
static ROOTS: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// Restricts this process to these directories. The first call counts.
pub(super) fn set(roots: Vec<PathBuf>) {
    let _only_once = ROOTS.set(roots);
}

/// Whether an open file is in one of the directories. `path` is how it was opened.
///
/// # Errors
/// When the system does not say where the file is.
pub(super) fn check(file: &File, path: &Path) -> io::Result<()> {
    let Some(roots) = ROOTS.get().filter(|roots| !roots.is_empty()) else {
        return Ok(());
    };
    let real = real_path(file, path)?;
    if roots.iter().any(|root| real.starts_with(root)) {
        return Ok(());
    }
    Err(io::ErrorKind::PermissionDenied.into())
}

/// The path of an open file, from its descriptor.
fn real_path(file: &File, path: &Path) -> io::Result<PathBuf> {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        let link = format!("/proc/self/fd/{}", file.as_raw_fd());
        if let Ok(real) = std::fs::read_link(link) {
            return Ok(real);
        }
    }
    #[cfg(target_os = "macos")]
    {
        use std::os::unix::ffi::OsStringExt;
        let real = rustix::fs::getpath(file)?;
        return Ok(std::ffi::OsString::from_vec(real.into_bytes()).into());
    }
    #[cfg(not(target_os = "macos"))]
    same_file_at(file, path)
}

/// Where the path leads now, if that is the open file.
#[cfg(not(target_os = "macos"))]
fn same_file_at(file: &File, path: &Path) -> io::Result<PathBuf> {
    let real = std::fs::canonicalize(path)?;
    #[cfg(unix)]
    let same = {
        use std::os::unix::fs::MetadataExt;
        let (open, named) = (file.metadata()?, std::fs::metadata(&real)?);
        (open.dev(), open.ino()) == (named.dev(), named.ino())
    };
    #[cfg(windows)]
    let same =
        same_file::Handle::from_file(file.try_clone()?)? == same_file::Handle::from_path(&real)?;
    if same {
        Ok(real)
    } else {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}
