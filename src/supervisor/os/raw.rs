//! The few calls that the safe interfaces do not cover.
#![allow(unsafe_code)]

/// Watches a descriptor that we own for readability.
#[cfg(target_os = "linux")]
pub(super) fn watch(
    fd: std::os::fd::OwnedFd,
) -> Option<tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>> {
    use tokio::io::{Interest, unix::AsyncFd};
    // SAFETY: an `OwnedFd` is open and the same descriptor for as long as it lives, and the `AsyncFd`
    // owns it.
    unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }.ok()
}

/// Default handlers for what our own parent may have set to "ignore": ending a child relies on
/// SIGTERM. (The mask is cleaned by the standard library at every spawn.)
pub(super) fn default_handlers() {
    for signal in [
        libc::SIGTERM,
        libc::SIGINT,
        libc::SIGHUP,
        libc::SIGQUIT,
        libc::SIGCHLD,
        libc::SIGXFSZ,
    ] {
        // SAFETY: a default disposition installs no handler, and no other thread exists yet.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Closes everything but the three standard streams: what our own parent left open for us to inherit
/// is none of an engine's business.
pub(super) fn close_inherited() {
    #[cfg(target_os = "linux")]
    // SAFETY: the launcher has one thread and has opened nothing that it uses afterwards.
    unsafe {
        libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32);
    }
    #[cfg(not(target_os = "linux"))]
    for fd in 3..1024 {
        // SAFETY: as above.
        unsafe { libc::close(fd) };
    }
}
