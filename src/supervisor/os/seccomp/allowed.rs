//! What the built-in engine may call.
//!
//! Found by tracing every test of the engine; what an allocator, a panic or another C library calls in
//! rare cases is added. `DECKPROBE_SANDBOX_DEBUG=1` shows what a change of the engine needs beyond it.

use seccompiler::{BackendError, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

use super::{Condition, Entry, Processes, WRITE_FLAGS, any_of, equal, value, without};

pub(super) fn entries(processes: Processes) -> Result<Vec<Entry>, BackendError> {
    let mut entries: Vec<Entry> = ALWAYS.iter().map(|call| (*call, Vec::new())).collect();
    let not_executable = [without(2, value(libc::PROT_EXEC))];
    let stdout_or_stderr: [&[Condition]; 2] = [&[equal(0, 1)], &[equal(0, 2)]];
    let itself: [&[Condition]; 1] = [&[equal(0, processes.own)]];
    let read_only = |argument| {
        let write = WRITE_FLAGS.iter().fold(0, |all, flag| all | flag);
        without(argument, value(write))
    };
    entries.extend([
        any_of(libc::SYS_openat, &[&[read_only(2)]])?,
        #[cfg(target_arch = "x86_64")]
        any_of(libc::SYS_open, &[&[read_only(1)]])?,
        any_of(libc::SYS_write, &stdout_or_stderr)?,
        any_of(libc::SYS_writev, &stdout_or_stderr)?,
        any_of(libc::SYS_mmap, &[&not_executable])?,
        any_of(libc::SYS_mprotect, &[&not_executable])?,
        any_of(
            libc::SYS_fcntl,
            &[
                &[equal(1, value(libc::F_GETFD))],
                &[equal(1, value(libc::F_GETFL))],
            ],
        )?,
        // Signals to itself, as `abort` sends one.
        any_of(libc::SYS_kill, &itself)?,
        any_of(libc::SYS_tgkill, &itself)?,
        any_of(libc::SYS_tkill, &itself)?,
        (libc::SYS_prlimit64, own_limits(processes.own)?),
    ]);
    Ok(entries)
}

/// Limits may be read, its own only.
fn own_limits(own: u64) -> Result<Vec<SeccompRule>, BackendError> {
    let rule = |pid| {
        let process = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, pid)?;
        let read = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0)?;
        SeccompRule::new(vec![process, read])
    };
    Ok(vec![rule(0)?, rule(own)?])
}

const ALWAYS: &[i64] = &[
    // Files.
    libc::SYS_read,
    libc::SYS_pread64,
    libc::SYS_close,
    libc::SYS_lseek,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_readlinkat,
    libc::SYS_getcwd,
    libc::SYS_ppoll,
    // Memory.
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    // Itself.
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_futex,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
    // Time and chance.
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
    // Older forms of the above.
    #[cfg(target_arch = "x86_64")]
    libc::SYS_stat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lstat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_readlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_time,
];
