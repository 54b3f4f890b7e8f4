//! An engine that attacks. For each record it makes some 130 system calls against the process that the
//! file name names (`victim-PID`) and against the file itself, and reports how each call ended.
//!
//! Every call is harmless when it succeeds, so that it can be made without a sandbox too. The program
//! serves as an external engine, and as the launcher of a built-in one: then its own code runs behind
//! the filter that the built-in engine gets.
#![allow(
    missing_docs,
    unsafe_code,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    attack::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod attack {
    use std::ffi::{CString, OsString};
    use std::io::{BufRead, Write};
    use std::path::Path;
    use std::process::ExitCode;

    use serde_json::{Map, Value, json};

    pub(super) fn main() -> ExitCode {
        let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
        deckprobe_mcp::supervisor::intercept_launch(&arguments, serve)
            .unwrap_or_else(|| serve(arguments))
    }

    fn serve(arguments: Vec<OsString>) -> ExitCode {
        if arguments.iter().any(|argument| argument == "--version") {
            println!("deckprobe 2.4.0");
            return ExitCode::SUCCESS;
        }
        // A lease on a file that is opened next signals its holder.
        for signal in [libc::SIGIO, libc::SIGURG] {
            // SAFETY: ignoring a signal installs no handler.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
        }
        let mut stdout = std::io::stdout();
        for line in std::io::stdin().lock().lines() {
            let record: Value = serde_json::from_str(&line.unwrap()).unwrap();
            let Some(path) = record["path"].as_str() else {
                println!(
                    r#"{{"schema_version":2,"tool_version":"2.4.0","status":"error","error":{{"code":"INVALID_REQUEST","message":"no input","exit_code":1}}}}"#
                );
                continue;
            };
            let name = Path::new(path).file_name().unwrap().to_str().unwrap();
            let reply = json!({
                "input": {"display_name": name, "source_kind": "local_file"},
                "schema_version": 2,
                "status": "ok",
                "tool_version": "2.4.0",
                "calls": attempts(path, name),
            });
            writeln!(stdout, "{reply}").unwrap();
        }
        ExitCode::SUCCESS
    }

    /// The calls that were made, and how they ended.
    struct Attempts {
        ended: Map<String, Value>,
    }

    impl Attempts {
        fn call(&mut self, name: &str, number: i64, arguments: [usize; 6]) {
            let [a, b, c, d, e, f] = arguments;
            // SAFETY: pointers among the arguments are null or lead to live values of the caller.
            let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
            let how = if result == -1 {
                match std::io::Error::last_os_error().raw_os_error() {
                    Some(libc::EPERM) => "EPERM".to_owned(),
                    Some(libc::ENOSYS) => "ENOSYS".to_owned(),
                    error => format!("error {}", error.unwrap_or_default()),
                }
            } else {
                "done".to_owned()
            };
            self.ended.insert(name.to_owned(), how.into());
        }
    }

    fn attempts(path: &str, name: &str) -> Map<String, Value> {
        let victim: usize = name
            .trim_start_matches("victim-")
            .split('.')
            .next()
            .unwrap()
            .parse()
            .unwrap();
        let mut attempts = Attempts { ended: Map::new() };
        on_process(&mut attempts, victim);
        on_file(&mut attempts, path);
        on_system(&mut attempts);
        attempts.ended
    }

    fn at<T>(value: &T) -> usize {
        std::ptr::from_ref(value) as usize
    }

    fn on_process(to: &mut Attempts, victim: usize) {
        let own = std::process::id() as usize;
        let limit = [64_u64, 64];
        let one = [1_u64, 0];
        let scheduling = [48_u32, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let idle = (2 << 13) | 7;
        let bad = usize::MAX;
        to.call(
            "prlimit64",
            libc::SYS_prlimit64,
            [victim, 7, at(&limit), 0, 0, 0],
        );
        to.call(
            "sched_setaffinity",
            libc::SYS_sched_setaffinity,
            [victim, 8, at(&one), 0, 0, 0],
        );
        to.call(
            "setpriority",
            libc::SYS_setpriority,
            [0, victim, 7, 0, 0, 0],
        );
        to.call(
            "setpriority of a group",
            libc::SYS_setpriority,
            [1, victim, 7, 0, 0, 0],
        );
        to.call(
            "sched_setscheduler",
            libc::SYS_sched_setscheduler,
            [victim, 3, at(&[0_u64]), 0, 0, 0],
        );
        to.call(
            "sched_setparam",
            libc::SYS_sched_setparam,
            [victim, at(&[0_u64]), 0, 0, 0, 0],
        );
        to.call(
            "sched_setattr",
            libc::SYS_sched_setattr,
            [victim, at(&scheduling), 0, 0, 0, 0],
        );
        to.call(
            "ioprio_set",
            libc::SYS_ioprio_set,
            [1, victim, idle, 0, 0, 0],
        );
        to.call("kill", libc::SYS_kill, [victim, 0, 0, 0, 0, 0]);
        to.call("tkill", libc::SYS_tkill, [victim, 0, 0, 0, 0, 0]);
        to.call("tgkill", libc::SYS_tgkill, [victim, victim, 0, 0, 0, 0]);
        to.call(
            "rt_sigqueueinfo",
            libc::SYS_rt_sigqueueinfo,
            [victim, 0, 0, 0, 0, 0],
        );
        to.call(
            "rt_tgsigqueueinfo",
            libc::SYS_rt_tgsigqueueinfo,
            [victim, victim, 0, 0, 0, 0],
        );
        to.call("pidfd_open", libc::SYS_pidfd_open, [victim, 0, 0, 0, 0, 0]);
        to.call(
            "pidfd_send_signal",
            libc::SYS_pidfd_send_signal,
            [bad, 0, 0, 0, 0, 0],
        );
        to.call("pidfd_getfd", libc::SYS_pidfd_getfd, [bad, 0, 0, 0, 0, 0]);
        to.call(
            "process_vm_readv",
            libc::SYS_process_vm_readv,
            [victim, 0, 0, 0, 0, 0],
        );
        to.call(
            "process_vm_writev",
            libc::SYS_process_vm_writev,
            [victim, 0, 0, 0, 0, 0],
        );
        to.call(
            "process_madvise",
            libc::SYS_process_madvise,
            [bad, 0, 0, 0, 0, 0],
        );
        to.call("process_mrelease", 448, [bad, 0, 0, 0, 0, 0]);
        // Peeking into a process that is not traced fails; it does not stop it.
        to.call("ptrace", libc::SYS_ptrace, [3, victim, 0, 0, 0, 0]);
        to.call("kcmp", libc::SYS_kcmp, [own, victim, 1, 0, 0, 0]);
        to.call(
            "migrate_pages",
            libc::SYS_migrate_pages,
            [victim, 0, 0, 0, 0, 0],
        );
        to.call("move_pages", libc::SYS_move_pages, [victim, 0, 0, 0, 0, 0]);
        to.call(
            "F_SETOWN",
            libc::SYS_fcntl,
            [0, libc::F_SETOWN as usize, victim, 0, 0, 0],
        );
        to.call(
            "F_SETOWN_EX",
            libc::SYS_fcntl,
            [0, 15, at(&[1_u32, victim as u32]), 0, 0, 0],
        );
        to.call(
            "F_SETSIG",
            libc::SYS_fcntl,
            [0, 10, libc::SIGURG as usize, 0, 0, 0],
        );
        to.call("PR_SET_PDEATHSIG", libc::SYS_prctl, [1, 9, 0, 0, 0, 0]);
        to.call("setpgid", libc::SYS_setpgid, [0, own, 0, 0, 0, 0]);
        to.call("setsid", libc::SYS_setsid, [0; 6]);
        #[cfg(target_arch = "x86_64")]
        to.call("x32 getpid", 0x4000_0000 | 39, [0; 6]);
    }

    #[allow(clippy::too_many_lines)]
    fn on_file(to: &mut Attempts, path: &str) {
        let here = libc::AT_FDCWD as usize;
        let file = std::fs::File::open(path);
        let fd = file.as_ref().map_or(usize::MAX, |file| {
            use std::os::fd::AsRawFd;
            file.as_raw_fd() as usize
        });
        let text = |suffix: &str| CString::new(format!("{path}{suffix}")).unwrap();
        let (itself, new, missing) = (text(""), text(".new"), text(".missing"));
        let (f, new, gone) = (
            itself.as_ptr() as usize,
            new.as_ptr() as usize,
            missing.as_ptr() as usize,
        );
        let name = c"user.attack".as_ptr() as usize;
        let times = [[1_u64, 0], [1, 0]];
        let change = [at(b"x"), 1, 0];
        let [value, size, flags] = change;
        let xattr = [at(b"x") as u64, 1_u64];
        to.call("fchmod", libc::SYS_fchmod, [fd, 0o777, 0, 0, 0, 0]);
        to.call("fchmodat", libc::SYS_fchmodat, [here, f, 0o777, 0, 0, 0]);
        to.call("fchmodat2", 452, [here, f, 0o777, 0, 0, 0]);
        to.call("fchown", libc::SYS_fchown, [fd, 1, 1, 0, 0, 0]);
        to.call("fchownat", libc::SYS_fchownat, [here, f, 1, 1, 0, 0]);
        to.call(
            "utimensat",
            libc::SYS_utimensat,
            [here, f, at(&times), 0, 0, 0],
        );
        to.call(
            "futimens",
            libc::SYS_utimensat,
            [fd, 0, at(&times), 0, 0, 0],
        );
        to.call(
            "setxattr",
            libc::SYS_setxattr,
            [f, name, value, size, flags, 0],
        );
        to.call(
            "lsetxattr",
            libc::SYS_lsetxattr,
            [f, name, value, size, flags, 0],
        );
        to.call(
            "fsetxattr",
            libc::SYS_fsetxattr,
            [fd, name, value, size, flags, 0],
        );
        to.call("setxattrat", 463, [here, f, 0, name, at(&xattr), 16]);
        to.call("removexattr", libc::SYS_removexattr, [f, name, 0, 0, 0, 0]);
        to.call(
            "lremovexattr",
            libc::SYS_lremovexattr,
            [f, name, 0, 0, 0, 0],
        );
        to.call(
            "fremovexattr",
            libc::SYS_fremovexattr,
            [fd, name, 0, 0, 0, 0],
        );
        to.call("removexattrat", 466, [here, f, 0, name, 0, 0]);
        to.call("file_setattr", 469, [here, f, at(&[0_u64; 4]), 32, 0, 0]);
        // Sets "no dump" by a descriptor that is open for reading only.
        to.call(
            "FS_IOC_SETFLAGS",
            libc::SYS_ioctl,
            [fd, 0x4008_6602, at(&[0x40_u64]), 0, 0, 0],
        );
        to.call(
            "F_NOTIFY",
            libc::SYS_fcntl,
            [fd, libc::F_NOTIFY as usize, 1, 0, 0, 0],
        );
        to.call("truncate", libc::SYS_truncate, [f, 0, 0, 0, 0, 0]);
        to.call("ftruncate", libc::SYS_ftruncate, [fd, 0, 0, 0, 0, 0]);
        to.call("fallocate", libc::SYS_fallocate, [fd, 0, 0, 1, 0, 0]);
        to.call(
            "openat O_WRONLY",
            libc::SYS_openat,
            [here, f, libc::O_WRONLY as usize, 0, 0, 0],
        );
        to.call(
            "openat O_RDWR",
            libc::SYS_openat,
            [here, f, libc::O_RDWR as usize, 0, 0, 0],
        );
        to.call(
            "openat O_TRUNC",
            libc::SYS_openat,
            [here, f, libc::O_TRUNC as usize, 0, 0, 0],
        );
        to.call(
            "openat O_CREAT",
            libc::SYS_openat,
            [here, new, libc::O_CREAT as usize, 0o600, 0, 0],
        );
        to.call(
            "openat2",
            libc::SYS_openat2,
            [here, f, at(&[libc::O_RDWR as u64, 0, 0]), 24, 0, 0],
        );
        to.call("mkdirat", libc::SYS_mkdirat, [here, gone, 0o700, 0, 0, 0]);
        to.call(
            "rmdir by unlinkat",
            libc::SYS_unlinkat,
            [here, gone, libc::AT_REMOVEDIR as usize, 0, 0, 0],
        );
        to.call("mknodat", libc::SYS_mknodat, [here, f, 0o10_600, 0, 0, 0]);
        to.call("symlinkat", libc::SYS_symlinkat, [f, here, f, 0, 0, 0]);
        to.call("linkat", libc::SYS_linkat, [here, f, here, f, 0, 0]);
        to.call(
            "renameat2",
            libc::SYS_renameat2,
            [here, gone, here, f, 0, 0],
        );
        to.call("unlinkat", libc::SYS_unlinkat, [here, gone, 0, 0, 0, 0]);
        #[cfg(target_arch = "x86_64")]
        {
            to.call(
                "open O_RDWR",
                libc::SYS_open,
                [f, libc::O_RDWR as usize, 0, 0, 0, 0],
            );
            to.call("creat", libc::SYS_creat, [gone, 0o600, 0, 0, 0, 0]);
            to.call("unlink", libc::SYS_unlink, [gone, 0, 0, 0, 0, 0]);
            to.call("chmod", libc::SYS_chmod, [f, 0o777, 0, 0, 0, 0]);
            to.call("chown", libc::SYS_chown, [f, 1, 1, 0, 0, 0]);
            to.call("lchown", libc::SYS_lchown, [f, 1, 1, 0, 0, 0]);
            to.call("utime", libc::SYS_utime, [f, at(&[1_u64, 1]), 0, 0, 0, 0]);
            to.call("utimes", libc::SYS_utimes, [f, at(&times), 0, 0, 0, 0]);
            to.call(
                "futimesat",
                libc::SYS_futimesat,
                [here, f, at(&times), 0, 0, 0],
            );
            to.call("rename", libc::SYS_rename, [gone, f, 0, 0, 0, 0]);
            to.call("link", libc::SYS_link, [f, f, 0, 0, 0, 0]);
            to.call("symlink", libc::SYS_symlink, [f, f, 0, 0, 0, 0]);
            to.call("mkdir", libc::SYS_mkdir, [f, 0o700, 0, 0, 0, 0]);
            to.call("rmdir", libc::SYS_rmdir, [gone, 0, 0, 0, 0, 0]);
            to.call("mknod", libc::SYS_mknod, [f, 0o10_600, 0, 0, 0, 0]);
        }
        // The last one: opening the file for writing would wait for the holder of the lease.
        to.call(
            "F_SETLEASE",
            libc::SYS_fcntl,
            [
                fd,
                libc::F_SETLEASE as usize,
                libc::F_RDLCK as usize,
                0,
                0,
                0,
            ],
        );
    }

    /// With arguments that the kernel refuses, once it looks at them.
    fn on_system(to: &mut Attempts) {
        let nowhere = c"/nonexistent/attack".as_ptr() as usize;
        let bad = usize::MAX;
        let path_first = [nowhere, 0, 0, 0, 0, 0];
        let bad_first = [bad, 0, 0, 0, 0, 0];
        let here = [bad, nowhere, 0, 0, 0, 0];
        for (name, number, arguments) in [
            ("socket", libc::SYS_socket, [1, 1, 0, 0, 0, 0]),
            ("socketpair", libc::SYS_socketpair, [1, 1, 0, 0, 0, 0]),
            ("connect", libc::SYS_connect, bad_first),
            ("bind", libc::SYS_bind, bad_first),
            ("listen", libc::SYS_listen, bad_first),
            (
                "mount",
                libc::SYS_mount,
                [nowhere, nowhere, nowhere, 0, 0, 0],
            ),
            ("umount2", libc::SYS_umount2, path_first),
            (
                "pivot_root",
                libc::SYS_pivot_root,
                [nowhere, nowhere, 0, 0, 0, 0],
            ),
            ("chroot", libc::SYS_chroot, path_first),
            ("open_tree", libc::SYS_open_tree, here),
            ("open_tree_attr", 467, here),
            (
                "move_mount",
                libc::SYS_move_mount,
                [bad, nowhere, bad, nowhere, 0, 0],
            ),
            ("fsopen", libc::SYS_fsopen, path_first),
            ("fsconfig", libc::SYS_fsconfig, bad_first),
            ("fsmount", libc::SYS_fsmount, bad_first),
            ("fspick", libc::SYS_fspick, here),
            ("mount_setattr", 442, here),
            ("open_by_handle_at", libc::SYS_open_by_handle_at, bad_first),
            ("fanotify_init", libc::SYS_fanotify_init, bad_first),
            ("fanotify_mark", libc::SYS_fanotify_mark, bad_first),
            ("unshare", libc::SYS_unshare, [0; 6]),
            ("setns", libc::SYS_setns, bad_first),
            ("io_uring_setup", libc::SYS_io_uring_setup, [0; 6]),
            ("io_uring_enter", libc::SYS_io_uring_enter, bad_first),
            ("io_uring_register", libc::SYS_io_uring_register, bad_first),
            ("bpf", libc::SYS_bpf, bad_first),
            ("perf_event_open", libc::SYS_perf_event_open, [0; 6]),
            ("userfaultfd", libc::SYS_userfaultfd, bad_first),
            ("memfd_create", libc::SYS_memfd_create, [0; 6]),
            ("keyctl", libc::SYS_keyctl, bad_first),
            ("add_key", libc::SYS_add_key, [0; 6]),
            ("request_key", libc::SYS_request_key, [0; 6]),
            ("reboot", libc::SYS_reboot, [0; 6]),
            ("kexec_load", libc::SYS_kexec_load, [0, 1, 0, bad, 0, 0]),
            ("init_module", libc::SYS_init_module, [0; 6]),
            ("finit_module", libc::SYS_finit_module, bad_first),
            ("delete_module", libc::SYS_delete_module, path_first),
            ("swapon", libc::SYS_swapon, path_first),
            ("swapoff", libc::SYS_swapoff, path_first),
            ("sethostname", libc::SYS_sethostname, [0, bad, 0, 0, 0, 0]),
            (
                "setdomainname",
                libc::SYS_setdomainname,
                [0, bad, 0, 0, 0, 0],
            ),
            ("settimeofday", libc::SYS_settimeofday, [0; 6]),
            ("clock_settime", libc::SYS_clock_settime, bad_first),
            ("clock_adjtime", libc::SYS_clock_adjtime, bad_first),
            ("adjtimex", libc::SYS_adjtimex, [0; 6]),
            ("acct", libc::SYS_acct, path_first),
            ("quotactl", libc::SYS_quotactl, bad_first),
            ("quotactl_fd", 443, bad_first),
            ("syslog", libc::SYS_syslog, bad_first),
            ("shmget", libc::SYS_shmget, [0; 6]),
            ("shmctl", libc::SYS_shmctl, bad_first),
            ("semget", libc::SYS_semget, [0, bad, 0, 0, 0, 0]),
            ("semctl", libc::SYS_semctl, bad_first),
            ("msgctl", libc::SYS_msgctl, bad_first),
            ("mq_open", libc::SYS_mq_open, path_first),
            ("mq_unlink", libc::SYS_mq_unlink, path_first),
        ] {
            to.call(name, number, arguments);
        }
    }
}
