//! Processes on Unix: groups, exit notices, pipes, and becoming the engine.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::process::{Child, Command};

use super::super::launch_spec::{Applied, Spec};
use super::raw;

/// Whether children are started through our own binary (`launch`), which confines itself first.
pub(in super::super) const HAS_LAUNCHER: bool = true;

/// Whether a child can be signalled together with all it started.
pub(in super::super) const HAS_GROUPS: bool = true;

/// Puts a child in a process group of its own, so that it can be ended with all it started, and so
/// that a Ctrl-C in a terminal reaches only us.
pub(in super::super) fn own_group(command: &mut Command) {
    command.process_group(0);
}

/// How hard to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum StopSignal {
    /// The child may clean up.
    End,
    /// It ends now.
    Kill,
}

/// Signals a process group that has not been reaped. One that is gone already is a success.
pub(in super::super) fn signal_group(pid: u32, ask: StopSignal) -> io::Result<()> {
    let signal = match ask {
        StopSignal::End => Signal::TERM,
        StopSignal::Kill => Signal::KILL,
    };
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return Ok(());
    };
    match rustix::process::kill_process_group(pid, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whether a start failed because the system has no process, descriptor or memory just now.
pub(in super::super) fn is_shortage(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let shortages = [Errno::AGAIN, Errno::MFILE, Errno::NFILE, Errno::NOMEM];
    let code = error.raw_os_error();
    shortages
        .iter()
        .any(|errno| code == Some(errno.raw_os_error()))
}

/// Processes and threads that this user may have, where that is limited.
pub(in super::super) fn process_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nproc).current
}

/// Tells when a child has ended, without reaping it where the system allows: its id is then still
/// ours, and its group can be signalled without hitting a stranger.
pub(in super::super) struct ExitNotice {
    #[cfg(target_os = "linux")]
    pidfd: Option<tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>>,
}

impl ExitNotice {
    pub(in super::super) fn of(pid: u32) -> Self {
        #[cfg(target_os = "linux")]
        {
            let pidfd = i32::try_from(pid)
                .ok()
                .and_then(Pid::from_raw)
                .and_then(|pid| {
                    let flags = rustix::process::PidfdFlags::NONBLOCK;
                    rustix::process::pidfd_open(pid, flags).ok()
                })
                .and_then(raw::watch);
            Self { pidfd }
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _no_such_thing = pid;
            Self {}
        }
    }

    /// Completes when the child has ended. Safe to drop and to call again.
    pub(in super::super) async fn ended(&self, child: &mut Child) {
        #[cfg(target_os = "linux")]
        if let Some(pidfd) = &self.pidfd {
            // The readiness is kept: the child stays ended.
            let _ready = pidfd.readable().await;
            return;
        }
        // Reaps it here; `Child::wait` gives the same answer again later.
        let _status = child.wait().await;
    }
}

/// What a read that does not wait found.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) enum TryRead {
    /// Nothing there now.
    Dry,
    /// At least one byte was appended.
    Some,
    /// The other end is closed.
    Closed,
}

/// Appends what is in the pipe right now, up to `most` bytes, whatever the event loop knows about it.
pub(in super::super) fn try_read<P: AsFd>(pipe: &P, into: &mut Vec<u8>, most: usize) -> TryRead {
    let mut found = TryRead::Dry;
    let mut chunk = [0_u8; 16 * 1024];
    let end = into.len().saturating_add(most);
    while into.len() < end {
        let room = chunk.len().min(end - into.len());
        let Some(room) = chunk.get_mut(..room) else {
            break;
        };
        match rustix::io::read(pipe, &mut *room) {
            Ok(0) => return TryRead::Closed,
            Ok(n) => {
                into.extend_from_slice(room.get(..n).unwrap_or_default());
                found = TryRead::Some;
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => break,
            Err(_) => return TryRead::Closed,
        }
    }
    found
}

/// Bytes in a pipe that its reader has not taken yet, seen from the writing end. `None` where the
/// system does not tell.
pub(in super::super) fn untaken<P: AsFd>(pipe: &P) -> Option<u64> {
    #[cfg(target_os = "linux")]
    return rustix::io::ioctl_fionread(pipe).ok();
    #[cfg(not(target_os = "linux"))]
    {
        let _not_told = pipe;
        None
    }
}

/// Reads the resident memory of a child, cheaply: the file stays open.
pub(in super::super) struct MemoryGauge {
    #[cfg(target_os = "linux")]
    statm: Option<std::fs::File>,
}

impl MemoryGauge {
    pub(in super::super) fn of(pid: u32) -> Self {
        #[cfg(target_os = "linux")]
        {
            Self {
                statm: std::fs::File::open(format!("/proc/{pid}/statm")).ok(),
            }
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _not_readable = pid;
            Self {}
        }
    }

    /// Resident bytes; `None` where they cannot be read.
    pub(in super::super) fn resident(&self) -> Option<u64> {
        #[cfg(target_os = "linux")]
        {
            let mut text = [0_u8; 128];
            let n = std::os::unix::fs::FileExt::read_at(self.statm.as_ref()?, &mut text, 0).ok()?;
            let text = std::str::from_utf8(text.get(..n)?).ok()?;
            let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
            Some(pages * u64::try_from(rustix::param::page_size()).ok()?)
        }
        #[cfg(not(target_os = "linux"))]
        None
    }
}

/// How a status reads in a sentence, and the signal in it.
pub(in super::super) fn describe_exit(status: ExitStatus) -> (String, Option<i32>) {
    if let Some(signal) = status.signal() {
        return (
            format!("was ended by {}", signal_name(signal)),
            Some(signal),
        );
    }
    let text = match status.code() {
        Some(code) => format!("exited with status {code}"),
        None => "ended".to_owned(),
    };
    (text, None)
}

/// The signal of the system's out-of-memory killer, and of ours.
pub(in super::super) const KILLED: i32 = 9;

fn signal_name(signal: i32) -> String {
    let name = match Signal::from_named_raw(signal) {
        Some(Signal::ABORT) => "SIGABRT",
        Some(Signal::BUS) => "SIGBUS",
        Some(Signal::FPE) => "SIGFPE",
        Some(Signal::ILL) => "SIGILL",
        Some(Signal::INT) => "SIGINT",
        Some(Signal::KILL) => "SIGKILL",
        Some(Signal::PIPE) => "SIGPIPE",
        Some(Signal::SEGV) => "SIGSEGV",
        Some(Signal::SYS) => "SIGSYS",
        Some(Signal::TERM) => "SIGTERM",
        Some(Signal::XCPU) => "SIGXCPU",
        Some(Signal::XFSZ) => "SIGXFSZ",
        _ => "",
    };
    if name.is_empty() {
        format!("signal {signal}")
    } else {
        format!("signal {signal} ({name})")
    }
}

/// Identifies a file on disk: it is another one after an upgrade.
pub(in super::super) fn file_identity(path: &Path) -> io::Result<Vec<i64>> {
    use std::os::unix::fs::MetadataExt;
    let meta = std::fs::metadata(path)?;
    Ok([
        meta.dev().cast_signed(),
        meta.ino().cast_signed(),
        meta.size().cast_signed(),
        meta.mtime(),
        meta.mtime_nsec(),
    ]
    .to_vec())
}

/// Identifies a directory, whatever it holds: its size and other times change with its content, and
/// its number may be given to the next one.
pub(in super::super) fn directory_identity(path: &Path) -> io::Result<Vec<i64>> {
    use std::os::unix::fs::MetadataExt;
    let meta = std::fs::metadata(path)?;
    let born = meta.created().ok();
    let born = born.and_then(|born| born.duration_since(std::time::UNIX_EPOCH).ok());
    let born = born.map_or(0, |born| i64::try_from(born.as_nanos()).unwrap_or_default());
    Ok([meta.dev().cast_signed(), meta.ino().cast_signed(), born].to_vec())
}

/// Whether two paths lead to the same file.
pub(in super::super) fn same_file(a: &Path, b: &Path) -> bool {
    match (file_identity(a), file_identity(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

/// Whether a file may be executed at all.
pub(in super::super) fn is_executable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Our own binary, by a name that still leads to it after an upgrade on disk.
pub(in super::super) fn own_binary() -> io::Result<std::path::PathBuf> {
    if cfg!(target_os = "linux") && Path::new("/proc/self/exe").exists() {
        return Ok("/proc/self/exe".into());
    }
    std::env::current_exe()
}

/// In the launcher: makes the process end with its parent, and confines it.
///
/// # Errors
/// When the parent is gone already, or what must be in force is not.
pub(in super::super) fn confine(spec: &Spec) -> Result<Applied, String> {
    tie_to_parent(spec.parent)?;
    raw::close_inherited();
    raw::default_handlers();
    limit(spec);
    #[cfg(target_os = "linux")]
    return super::confine::apply(spec);
    #[cfg(not(target_os = "linux"))]
    Ok(Applied::default())
}

/// In the launcher: becomes the engine. Returns only on failure.
pub(in super::super) fn become_program(program: &OsString, args: &[OsString]) -> io::Error {
    const BUSY_RETRIES: u32 = 6;
    for attempt in 0.. {
        let error = std::process::Command::new(program).args(args).exec();
        // A file that someone has open for writing, as just after an upgrade.
        let busy = error.raw_os_error() == Some(rustix::io::Errno::TXTBSY.raw_os_error());
        if !busy || attempt == BUSY_RETRIES {
            return error;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    io::Error::other("not started")
}

fn tie_to_parent(parent: u32) -> Result<(), String> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| format!("cannot tie the engine to its supervisor: {error}"))?;
    // It may have ended before the line above.
    let alive = |parent: u32| {
        let now = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
        u32::try_from(now) == Ok(parent)
    };
    if !alive(parent) {
        return Err("the supervisor is gone".to_owned());
    }
    Ok(())
}

/// Ends the process when its parent ends, for systems without a parent-death signal. Only useful
/// in a process that goes on as the built-in engine.
pub(in super::super) fn watch_parent(parent: u32) {
    if cfg!(target_os = "linux") {
        return;
    }
    let watch = move || {
        loop {
            std::thread::sleep(Duration::from_millis(500));
            let now = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
            if u32::try_from(now) != Ok(parent) {
                std::process::exit(1);
            }
        }
    };
    let _best_effort = std::thread::Builder::new()
        .name("lifeline".into())
        .spawn(watch);
}

/// RecycleLimits that hold for every child. Failing to set one is no reason not to start.
fn limit(spec: &Spec) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let cap = |resource: Resource, most: u64| {
        let hard = getrlimit(resource).maximum;
        let most = hard.map_or(most, |hard| hard.min(most));
        let _best_effort = setrlimit(
            resource,
            Rlimit {
                current: Some(most),
                maximum: Some(most),
            },
        );
    };
    cap(Resource::Core, 0);
    if !spec.confined() {
        return;
    }
    cap(Resource::Fsize, 0);
    cap(Resource::Nofile, 256);
    #[cfg(not(any(target_os = "macos", target_os = "openbsd")))]
    if let Some(bytes) = spec.memory {
        cap(Resource::As, bytes);
    }
    if let Some(seconds) = spec.cpu_seconds {
        cap(Resource::Cpu, seconds);
    }
}
