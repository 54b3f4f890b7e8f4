//! What an external engine may not call.
//!
//! An engine reads documents and writes replies. Refused is whatever reaches another process, the
//! network, the system's settings or a file that is not its own. The list has to grow with the kernel;
//! where Landlock is at work, most of what it lists is refused twice.

use seccompiler::BackendError;

use super::{Condition, Entry, Processes, WRITE_FLAGS, any_of, equal, not, value, with, without};

/// Calls whose arguments a filter cannot see: an older call does the same in its sight.
pub(super) fn unknown(script: bool) -> Vec<Entry> {
    let mut calls = vec![libc::SYS_openat2];
    if !script {
        calls.push(libc::SYS_clone3);
    }
    calls.into_iter().map(|call| (call, Vec::new())).collect()
}

/// A script starts programs and may therefore fork and signal, but not its supervisor.
pub(super) fn entries(processes: Processes, script: bool) -> Result<Vec<Entry>, BackendError> {
    let mut entries: Vec<Entry> = always().map(|call| (call, Vec::new())).collect();
    entries.extend(by_process(processes.own)?);
    entries.extend(by_command()?);
    entries.extend(if script {
        not_the_parent(processes.parent)?
    } else {
        no_processes(processes.own)?
    });
    if !script {
        entries.extend(no_writing()?);
    }
    Ok(entries)
}

/// Calls that change the process that an argument names: only itself.
fn by_process(own: u64) -> Result<Vec<Entry>, BackendError> {
    let another = |argument| [not(argument, 0), not(argument, own)];
    // The kind of id comes first here: a process, a group or all processes of a user.
    let process_kind = |call, process| {
        let another = another(1);
        any_of(call, &[&another, &[not(0, process)]])
    };
    let mut entries = vec![
        process_kind(
            libc::SYS_setpriority,
            value(libc::PRIO_PROCESS.cast_signed()),
        )?,
        process_kind(libc::SYS_ioprio_set, 1)?,
    ];
    for call in [
        libc::SYS_prlimit64,
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setattr,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setscheduler,
    ] {
        entries.push(any_of(call, &[&another(0)])?);
    }
    Ok(entries)
}

/// Calls of which only some commands are harmless.
fn by_command() -> Result<Vec<Entry>, BackendError> {
    // Signals to whom it likes, and holding up whoever opens a file.
    const SET_OWNER_EX: u64 = 15;
    let owners = [
        [equal(1, value(libc::F_SETOWN))],
        [equal(1, SET_OWNER_EX)],
        [equal(1, value(F_SETSIG))],
        [equal(1, value(libc::F_SETLEASE))],
        [equal(1, value(libc::F_NOTIFY))],
    ];
    let owners: Vec<&[Condition]> = owners.iter().map(|rule| &rule[..]).collect();
    // Some commands change the attributes of a file that is open for reading, or type into a terminal.
    let harmless: [u64; 6] = [
        0x5401, // TCGETS
        0x5413, // TIOCGWINSZ
        0x541b, // FIONREAD
        0x5421, // FIONBIO
        0x5451, // FIOCLEX
        0x5450, // FIONCLEX
    ];
    let other_command = harmless.map(|command| not(1, command));
    const SET_PARENT_DEATH_SIGNAL: u64 = 1;
    const SCHED_CORE: u64 = 62;
    Ok(vec![
        any_of(libc::SYS_fcntl, &owners)?,
        any_of(libc::SYS_ioctl, &[&other_command])?,
        // The tie to the supervisor stays.
        any_of(
            libc::SYS_prctl,
            &[
                &[equal(0, SET_PARENT_DEATH_SIGNAL)],
                &[equal(0, SCHED_CORE)],
            ],
        )?,
    ])
}

const F_SETSIG: i32 = 10;

fn no_processes(own: u64) -> Result<Vec<Entry>, BackendError> {
    let another: [&[Condition]; 1] = [&[not(0, own)]];
    // Threads are `clone` with CLONE_THREAD; anything else is a process.
    let no_thread = without(0, value(libc::CLONE_THREAD));
    Ok(vec![
        any_of(libc::SYS_clone, &[&[no_thread]])?,
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_fork, Vec::new()),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_vfork, Vec::new()),
        // Signals to itself only, as `abort` sends one.
        any_of(libc::SYS_kill, &another)?,
        any_of(libc::SYS_tgkill, &another)?,
        any_of(libc::SYS_tkill, &another)?,
    ])
}

fn not_the_parent(parent: u64) -> Result<Vec<Entry>, BackendError> {
    // -1 is everybody.
    let rules: [&[Condition]; 2] = [&[equal(0, parent)], &[equal(0, u64::from(u32::MAX))]];
    Ok(vec![
        any_of(libc::SYS_kill, &rules)?,
        any_of(libc::SYS_tgkill, &rules)?,
        any_of(libc::SYS_tkill, &rules)?,
    ])
}

/// Opening for writing. A script may: its shell opens /dev/null.
fn no_writing() -> Result<Vec<Entry>, BackendError> {
    let writes = |argument| WRITE_FLAGS.map(|flag| [with(argument, value(flag))]);
    let openat = writes(2);
    let openat: Vec<&[Condition]> = openat.iter().map(|rule| &rule[..]).collect();
    #[cfg(target_arch = "x86_64")]
    let open = writes(1);
    #[cfg(target_arch = "x86_64")]
    let open: Vec<&[Condition]> = open.iter().map(|rule| &rule[..]).collect();
    Ok(vec![
        any_of(libc::SYS_openat, &openat)?,
        #[cfg(target_arch = "x86_64")]
        any_of(libc::SYS_open, &open)?,
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_creat, Vec::new()),
    ])
}

fn always() -> impl Iterator<Item = i64> {
    let lists = [
        NETWORK, PROCESSES, MOUNTS, SYSTEM, MESSAGES, FILES, OLD_FORMS,
    ];
    lists.into_iter().flatten().copied()
}

/// The network, also to this machine.
const NETWORK: &[i64] = &[
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
];

/// Other processes; leaving the process group; ways round this filter.
const PROCESSES: &[i64] = &[
    libc::SYS_setsid,
    libc::SYS_setpgid,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    PROCESS_MRELEASE,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_kcmp,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_memfd_create,
];

/// The tree of mounts.
const MOUNTS: &[i64] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    MOUNT_SETATTR,
    OPEN_TREE_ATTR,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
];

/// The whole machine.
const SYSTEM: &[i64] = &[
    libc::SYS_reboot,
    libc::SYS_kexec_load,
    KEXEC_FILE_LOAD,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_acct,
    libc::SYS_quotactl,
    QUOTACTL_FD,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_sync,
    libc::SYS_syncfs,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
];

/// Messages and memory that processes share by name.
const MESSAGES: &[i64] = &[
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
];

/// Changing files, also by a descriptor that is open for reading.
const FILES: &[i64] = &[
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_truncate,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    REMOVEXATTRAT,
    FILE_SETATTR,
];

/// Older forms of the above.
#[cfg(target_arch = "x86_64")]
const OLD_FORMS: &[i64] = &[
    libc::SYS_unlink,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_link,
    libc::SYS_symlink,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_mknod,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
];
#[cfg(target_arch = "aarch64")]
const OLD_FORMS: &[i64] = &[libc::SYS_renameat];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const OLD_FORMS: &[i64] = &[];

// Newer than some C libraries' headers. Since 424, numbers are the same on every architecture.
const MOUNT_SETATTR: i64 = 442;
const QUOTACTL_FD: i64 = 443;
const PROCESS_MRELEASE: i64 = 448;
const FCHMODAT2: i64 = 452;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const OPEN_TREE_ATTR: i64 = 467;
const FILE_SETATTR: i64 = 469;
#[cfg(target_arch = "x86_64")]
const KEXEC_FILE_LOAD: i64 = 320;
#[cfg(not(target_arch = "x86_64"))]
const KEXEC_FILE_LOAD: i64 = 294;
