//! Systems without process groups: a child is ended by its handle, alone, and is not confined.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitStatus;

use tokio::process::{Child, Command};

use super::super::launch_spec::{Applied, Spec};

pub(in super::super) const HAS_LAUNCHER: bool = false;

/// Whether a child can be signalled together with all it started.
pub(in super::super) const HAS_GROUPS: bool = false;

pub(in super::super) fn own_group(_command: &mut Command) {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum StopSignal {
    End,
    Kill,
}

pub(in super::super) fn signal_group(_pid: u32, _ask: StopSignal) -> io::Result<()> {
    Ok(())
}

pub(in super::super) fn is_shortage(_error: &io::Error) -> bool {
    false
}

pub(in super::super) fn process_limit() -> Option<u64> {
    None
}

pub(in super::super) struct ExitNotice;

impl ExitNotice {
    pub(in super::super) fn of(_pid: u32) -> Self {
        Self
    }

    pub(in super::super) async fn ended(&self, child: &mut Child) {
        let _status = child.wait().await;
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(in super::super) enum TryRead {
    Dry,
    #[allow(dead_code)]
    Some,
    #[allow(dead_code)]
    Closed,
}

pub(in super::super) fn try_read<P>(_pipe: &P, _into: &mut Vec<u8>, _most: usize) -> TryRead {
    TryRead::Dry
}

pub(in super::super) fn untaken<P>(_pipe: &P) -> Option<u64> {
    None
}

pub(in super::super) struct MemoryGauge;

impl MemoryGauge {
    pub(in super::super) fn of(_pid: u32) -> Self {
        Self
    }

    pub(in super::super) fn resident(&self) -> Option<u64> {
        None
    }
}

pub(in super::super) fn describe_exit(status: ExitStatus) -> (String, Option<i32>) {
    let text = match status.code() {
        Some(code) => format!("exited with status {code}"),
        None => "ended".to_owned(),
    };
    (text, None)
}

pub(in super::super) const KILLED: i32 = 9;

pub(in super::super) fn file_identity(path: &Path) -> io::Result<Vec<i64>> {
    let meta = std::fs::metadata(path)?;
    let since = meta
        .modified()?
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    Ok(vec![
        meta.len().cast_signed(),
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        i64::from(since.subsec_nanos()),
    ])
}

/// Nothing is tied to a directory where there is no sandbox.
pub(in super::super) fn directory_identity(_path: &Path) -> io::Result<Vec<i64>> {
    Ok(Vec::new())
}

pub(in super::super) fn same_file(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

pub(in super::super) fn is_executable(_path: &Path) -> bool {
    true
}

pub(in super::super) fn own_binary() -> io::Result<std::path::PathBuf> {
    std::env::current_exe()
}

pub(in super::super) fn confine(_spec: &Spec) -> Result<Applied, String> {
    Ok(Applied::default())
}

pub(in super::super) fn become_program(_program: &OsString, _args: &[OsString]) -> io::Error {
    io::Error::other("this system has no launcher")
}

pub(in super::super) fn watch_parent(_parent: u32) {}
