//! What differs by system. `unix` and `other` have the same items; `other` does what can be done
//! without process groups.

#[cfg(target_os = "linux")]
mod confine;
pub(super) mod path;
#[cfg(unix)]
mod raw;
#[cfg(target_os = "linux")]
mod seccomp;
#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(super) use unix::*;
#[cfg(not(unix))]
mod other;
#[cfg(not(unix))]
pub(super) use other::*;
