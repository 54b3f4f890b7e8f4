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

/// Closes everything but the three standard streams: an engine does not need what our own parent left
/// open for us to inherit.
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

/// Makes a refused system call print its number to stderr, the first time, and fail with `EPERM`. For
/// a filter that traps instead of refusing. Returns whether this system can do that.
#[cfg(target_os = "linux")]
pub(super) fn report_refused_calls() -> bool {
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return false;
    }
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_refused;
    // SAFETY: all zeroes is a valid `sigaction`; the handler has the signature that SA_SIGINFO asks
    // for and calls nothing but `write`.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
        libc::sigaction(libc::SIGSYS, &raw const action, std::ptr::null_mut()) == 0
    }
}

#[cfg(target_os = "linux")]
extern "C" fn on_refused(
    _signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    /// The head of `siginfo_t` for SIGSYS, which `libc` does not describe.
    #[repr(C)]
    struct Refused {
        head: [libc::c_int; 3],
        address: *mut libc::c_void,
        number: libc::c_int,
    }
    // SAFETY: the kernel hands both structures to the handler of SIGSYS, and nobody else reads or
    // writes them meanwhile.
    let number = unsafe { (*info.cast::<Refused>()).number };
    report_once(number);
    // SAFETY: as above.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext };
    #[cfg(target_arch = "x86_64")]
    if let Some(result) = registers.gregs.get_mut(libc::REG_RAX as usize) {
        *result = -libc::c_longlong::from(libc::EPERM);
    }
    #[cfg(target_arch = "aarch64")]
    {
        registers.regs[0] = (-i64::from(libc::EPERM)).cast_unsigned();
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _never_installed = registers;
}

/// Prints the number of a call, the first time. Without allocating: a signal handler calls this.
#[cfg(target_os = "linux")]
fn report_once(number: libc::c_int) {
    use std::io::Write;
    use std::sync::atomic::{AtomicU64, Ordering};
    static SEEN: [AtomicU64; 8] = [const { AtomicU64::new(0) }; 8];
    let (word, bit) = (
        (number.cast_unsigned() / 64) % 8,
        number.cast_unsigned() % 64,
    );
    let seen = SEEN
        .get(word as usize)
        .map_or(0, |seen| seen.fetch_or(1 << bit, Ordering::Relaxed));
    if seen & (1 << bit) != 0 {
        return;
    }
    let mut line = [0_u8; 80];
    let mut rest = &mut line[..];
    let _fits = writeln!(
        rest,
        "deckprobe-mcp: the sandbox refused system call {number}"
    );
    let length = 80 - rest.len();
    // SAFETY: the buffer outlives the call, and `length` is within it.
    unsafe { libc::write(2, line.as_ptr().cast(), length) };
}
