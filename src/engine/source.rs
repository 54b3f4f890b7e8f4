//! The bytes of one input, read by position and only within the budgets.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;
use std::rc::Rc;

use super::budget::Meter;
use super::error::{ProbeError, Result};
use crate::contract::Limits;

/// Where the bytes came from (`input.source_kind`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourceKind {
    LocalFile,
    Stdin,
    JsonlBytes,
}

impl SourceKind {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::LocalFile => "local_file",
            Self::Stdin => "stdin",
            Self::JsonlBytes => "jsonl_bytes",
        }
    }
}

/// One input. It is opened once; every read is positioned, counted, and refused before it is made
/// when a budget does not allow it.
#[derive(Debug)]
pub(crate) struct Source {
    display_name: String,
    kind: SourceKind,
    size: u64,
    /// Shared with the inputs inside this one.
    data: Rc<Data>,
    /// Where the input begins in `data`.
    base: u64,
    /// The first bytes, kept from the look at the signature.
    head: OnceCell<Vec<u8>>,
    /// Bytes that readers keep as long as the probe lives.
    kept: Kept,
    /// One for the whole probe.
    meter: Rc<Meter>,
}

/// Bytes that stay where they are while more are added.
#[derive(Default)]
struct Kept(elsa::FrozenVec<Vec<u8>>);

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Kept")
    }
}

#[derive(Debug)]
enum Data {
    File(File),
    Bytes(Vec<u8>),
    /// Bytes that were read and charged before.
    Unpacked(Vec<u8>),
}

impl Source {
    /// Opens a regular file. What is no regular file is refused without being opened, so a FIFO or a
    /// device cannot hang the engine.
    ///
    /// # Errors
    /// `SOURCE_IO` or `INVALID_REQUEST` (not a regular file).
    pub(crate) fn open(path: &str, display_name: Option<&str>, limits: Limits) -> Result<Self> {
        Self::open_path(Path::new(path), display_name, limits)
    }

    fn open_path(path: &Path, display_name: Option<&str>, limits: Limits) -> Result<Self> {
        let describe = |error: &io::Error| {
            ProbeError::io(format_args!("cannot open {}", path.display()), error)
        };
        let looked_up = std::fs::metadata(path).map_err(|error| describe(&error))?;
        let not_regular = || {
            let hint = if looked_up.is_dir() && is_package_name(path) {
                " (a directory package: compress it to a ZIP file of this name, or save it again as \
                 a single file)"
            } else {
                ""
            };
            ProbeError::invalid(format_args!(
                "input is not a regular file: {}{hint}",
                path.display()
            ))
        };
        if !looked_up.is_file() {
            return Err(not_regular());
        }
        let file = open_for_reading(path).map_err(|error| describe(&error))?;
        // The path may have been replaced since: what counts is the file that is open now.
        let opened = file.metadata().map_err(|error| describe(&error))?;
        if !opened.is_file() {
            return Err(not_regular());
        }
        super::allowed_roots::check(&file, path).map_err(|error| describe(&error))?;
        let last = || path.file_name().and_then(|name| name.to_str());
        Ok(Self {
            display_name: display_name.or_else(last).unwrap_or("<input>").to_owned(),
            kind: SourceKind::LocalFile,
            size: opened.len(),
            data: Rc::new(Data::File(file)),
            base: 0,
            head: OnceCell::new(),
            kept: Kept::default(),
            meter: Rc::new(Meter::start(limits)),
        })
    }

    /// Opens a regular file whose name is not UTF-8. It has no display name that could be printed,
    /// and so no extension.
    ///
    /// # Errors
    /// As [`Source::open`].
    pub(crate) fn open_os(path: &OsStr, limits: Limits) -> Result<Self> {
        Self::open_path(Path::new(path), None, limits)
    }

    /// Takes bytes that are already in memory.
    ///
    /// # Errors
    /// `BUDGET_EXCEEDED` when there are more than the physical budget allows.
    pub(crate) fn bytes(
        display_name: &str,
        bytes: Vec<u8>,
        kind: SourceKind,
        limits: Limits,
    ) -> Result<Self> {
        let size = bytes.len() as u64;
        if size > limits.physical_bytes {
            return Err(ProbeError::budget(format_args!(
                "input has {size} bytes, more than the physical read budget of {}",
                limits.physical_bytes
            )));
        }
        Ok(Self {
            display_name: display_name.to_owned(),
            kind,
            size,
            data: Rc::new(Data::Bytes(bytes)),
            base: 0,
            head: OnceCell::new(),
            kept: Kept::default(),
            meter: Rc::new(Meter::start(limits)),
        })
    }

    /// A range of this input as an input of its own: an archive in an archive. Both spend from one
    /// meter.
    pub(crate) fn part(&self, offset: u64, len: u64) -> Self {
        let offset = offset.min(self.size);
        Self {
            display_name: self.display_name.clone(),
            kind: self.kind,
            size: len.min(self.size - offset),
            data: Rc::clone(&self.data),
            base: self.base + offset,
            head: OnceCell::new(),
            kept: Kept::default(),
            meter: Rc::clone(&self.meter),
        }
    }

    /// Bytes that were unpacked from this input, as an input of their own. Reading them costs nothing
    /// more.
    pub(crate) fn unpacked(&self, bytes: Vec<u8>) -> Self {
        Self {
            display_name: self.display_name.clone(),
            kind: self.kind,
            size: bytes.len() as u64,
            data: Rc::new(Data::Unpacked(bytes)),
            base: 0,
            head: OnceCell::new(),
            kept: Kept::default(),
            meter: Rc::clone(&self.meter),
        }
    }

    pub(crate) fn display_name(&self) -> &str {
        &self.display_name
    }

    pub(crate) fn kind(&self) -> SourceKind {
        self.kind
    }

    /// The size when the input was opened, in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The first `len` bytes, or fewer when the input is shorter. They are read once and kept: a
    /// later read that lies within them costs nothing.
    ///
    /// # Errors
    /// As [`Source::read_at`].
    pub(crate) fn read_head(&self, len: usize) -> Result<&[u8]> {
        if let Some(head) = self.head.get() {
            return Ok(&head[..head.len().min(len)]);
        }
        let head = self.read_range(0, len as u64)?;
        Ok(self.head.get_or_init(|| head))
    }

    /// What [`Source::read_head`] has read.
    pub(crate) fn head(&self) -> Option<&[u8]> {
        self.head.get().map(Vec::as_slice)
    }

    /// Keeps bytes as long as the source lives, so that what is parsed can point into them. They were
    /// charged to a budget when they were read or expanded.
    pub(crate) fn keep(&self, bytes: Vec<u8>) -> &[u8] {
        self.kept.0.push_get(bytes)
    }

    /// Fills as much of `buffer` as the input has from `offset` on and returns how much that was:
    /// less than asked only at the end of the input.
    ///
    /// # Errors
    /// `BUDGET_EXCEEDED` before the read, `SOURCE_IO` from it.
    pub(crate) fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let available = self.size.saturating_sub(offset).min(buffer.len() as u64);
        if available == 0 {
            return Ok(0);
        }
        if let Some(kept) = self.kept(offset, available) {
            buffer[..kept.len()].copy_from_slice(kept);
            return Ok(kept.len());
        }
        let offset = self.base + offset;
        if matches!(*self.data, Data::Unpacked(_)) {
            self.meter.check_clock()?;
        } else {
            self.meter.charge_physical(offset, available)?;
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "at most the length of the buffer"
        )]
        let wanted = &mut buffer[..available as usize];
        match &*self.data {
            Data::Bytes(bytes) | Data::Unpacked(bytes) => {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "below the length in memory"
                )]
                let start = offset as usize;
                wanted.copy_from_slice(&bytes[start..start + wanted.len()]);
                Ok(wanted.len())
            }
            Data::File(file) => {
                let mut filled = 0;
                while filled < wanted.len() {
                    match read_file_at(file, &mut wanted[filled..], offset + filled as u64) {
                        Ok(0) => break,
                        Ok(n) => filled += n,
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(error) => return Err(ProbeError::io("read failed", &error)),
                    }
                }
                Ok(filled)
            }
        }
    }

    /// The range, if it lies within the bytes kept from the look at the signature.
    fn kept(&self, offset: u64, len: u64) -> Option<&[u8]> {
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(usize::try_from(len).ok()?)?;
        self.head.get()?.get(start..end)
    }

    /// Reads up to `len` bytes from `offset`. `len` may come from the file: memory is taken only for
    /// what the input really has and the budget allows.
    ///
    /// # Errors
    /// As [`Source::read_at`].
    pub(crate) fn read_range(&self, offset: u64, len: u64) -> Result<Vec<u8>> {
        let available = self.size.saturating_sub(offset).min(len);
        let spent = self.meter.cost().physical_bytes;
        let counted = !matches!(*self.data, Data::Unpacked(_));
        if counted && available > self.meter.limits().physical_bytes.saturating_sub(spent) {
            // Refused here, before the buffer exists.
            self.meter.charge_physical(offset, available)?;
        }
        let len = usize::try_from(available)
            .map_err(|_| ProbeError::malformed("a range is larger than memory"))?;
        let mut buffer = vec![0; len];
        let filled = self.read_at(offset, &mut buffer)?;
        buffer.truncate(filled);
        Ok(buffer)
    }
}

/// Whether applications save documents of this name as directories too.
fn is_package_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| {
        ["key", "numbers", "pages"]
            .iter()
            .any(|package| extension.eq_ignore_ascii_case(package))
    })
}

/// Opens without waiting: should a FIFO have taken the place of the file that was looked up, opening
/// it must not hang either.
#[cfg(unix)]
fn open_for_reading(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

#[cfg(windows)]
fn open_for_reading(path: &Path) -> io::Result<File> {
    File::open(path)
}

#[cfg(unix)]
fn read_file_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_file_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

#[cfg(test)]
impl Source {
    /// Bytes as an input, with the limits of deep: for tests of readers and drivers.
    pub(crate) fn for_test(name: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self::bytes(
            name,
            bytes.into(),
            SourceKind::JsonlBytes,
            Limits::of(crate::contract::Level::Deep),
        )
        .expect("test input fits the deep budget")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Budget, Level};

    #[test]
    fn an_input_in_an_input_has_its_own_borders_and_the_same_meter() {
        let source = Source::for_test("x.key", *b"0123456789");
        let part = source.part(2, 5).part(1, 100);
        assert_eq!(
            (part.size(), part.read_range(0, 100).unwrap()),
            (4, b"3456".to_vec())
        );
        assert_eq!(source.meter().cost().physical_bytes, 4);
        assert_eq!(source.part(20, 5).size(), 0);
        let unpacked = source.unpacked(b"abc".to_vec());
        assert_eq!(unpacked.read_range(1, 9).unwrap(), b"bc");
        assert_eq!(source.meter().cost().physical_bytes, 4);
    }

    #[test]
    fn reads_are_clipped_at_the_end_and_counted() {
        let source = Source::for_test("x.pdf", *b"0123456789");
        let mut buffer = [0; 4];
        assert_eq!(source.read_at(8, &mut buffer).unwrap(), 2);
        assert_eq!(source.read_at(10, &mut buffer).unwrap(), 0);
        assert_eq!(source.read_at(u64::MAX, &mut buffer).unwrap(), 0);
        assert_eq!(source.read_range(5, u64::MAX).unwrap(), b"56789");
        assert_eq!(source.meter().cost().physical_bytes, 2 + 5);
    }

    #[test]
    fn a_claimed_length_is_refused_before_memory_is_taken() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sparse.pdf");
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        let limits = Limits::with(
            Level::Header,
            &Budget {
                max_physical_bytes: Some(100),
                ..Budget::default()
            },
        );
        let source = Source::open(path.to_str().unwrap(), None, limits).unwrap();
        assert!(source.read_range(0, 1 << 40).unwrap_err().is_budget());
        assert_eq!(source.meter().cost().physical_bytes, 0);
        assert_eq!(source.read_range(7, 100).unwrap().len(), 100);
    }

    #[test]
    fn what_is_no_regular_file_is_never_opened() {
        let limits = Limits::of(Level::Metadata);
        let directory = tempfile::tempdir().unwrap();
        let refused = Source::open(directory.path().to_str().unwrap(), None, limits).unwrap_err();
        assert!(
            refused
                .message()
                .starts_with("invalid request: input is not a regular file")
        );
        let missing = Source::open("/nonexistent/x.pdf", None, limits).unwrap_err();
        assert!(
            missing.message().starts_with("source I/O error: "),
            "{missing}"
        );
    }
}
