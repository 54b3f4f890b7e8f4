//! What differs by system. The same items stand in each file; `other` is the honest fallback.

#[cfg(target_os = "linux")]
mod confine;
#[cfg(unix)]
mod raw;
#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(super) use unix::*;
#[cfg(not(unix))]
mod other;
#[cfg(not(unix))]
pub(super) use other::*;
