//! The documents of a batch: paths, directories and lists, read by a thread of its own.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::WalkBuilder;
use tokio::sync::mpsc::Sender;

use super::super::args::BatchArgs;
use crate::contract::{Envelope, ErrorCode, Input, Record};

/// Longest line of a list: the largest payload of a record as base64, and some.
const MAX_LINE: u64 = 176 << 20;

/// One document of the list.
pub(super) struct Item {
    /// The path as it was given or found; for inline bytes, their name.
    pub(super) path: String,
    pub(super) document: Document,
}

pub(super) enum Document {
    /// The file at the path.
    File,
    /// The file at the path, under another name.
    Named(String),
    Bytes(Box<Record>),
    /// It cannot be probed, and this is why.
    Failed(Box<Envelope>),
}

/// How directories are walked.
pub(super) struct Walk {
    pub(super) hidden: bool,
    /// Whether files are taken that ignore files exclude.
    pub(super) ignored: bool,
    /// The extensions to take, in lower case; `None` for all files.
    pub(super) extensions: Option<HashSet<String>>,
}

/// How far the producer has come.
#[derive(Default)]
pub(super) struct Found {
    items: AtomicU64,
    complete: AtomicBool,
    problem: Mutex<Option<String>>,
}

impl Found {
    /// The number of documents, once the list has been read to its end.
    pub(super) fn total(&self) -> Option<u64> {
        let complete = self.complete.load(Ordering::Acquire);
        complete.then(|| self.items.load(Ordering::Relaxed))
    }

    /// What kept the list from being read to its end.
    pub(super) fn problem(&self) -> Option<String> {
        let problem = self.problem.lock();
        problem.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Starts the thread that reads the inputs in their order. It waits when the probes fall behind, and
/// ends when nobody takes items any more.
pub(super) fn produce(
    args: &BatchArgs,
    walk: Walk,
    sender: Sender<Item>,
) -> Result<Arc<Found>, String> {
    let paths = args.paths.iter().map(PathBuf::from);
    let is_list = |path: &PathBuf| path == Path::new("-");
    let sources: Vec<Source> = paths
        .map(|path| {
            if is_list(&path) {
                Source::List(path)
            } else {
                Source::Path(path)
            }
        })
        .chain(args.from.iter().cloned().map(Source::List))
        .collect();
    let found = Arc::new(Found::default());
    let producer = Producer {
        walk,
        sender,
        found: Arc::clone(&found),
    };
    std::thread::Builder::new()
        .name("input".into())
        .spawn(move || producer.run(&sources))
        .map_err(|error| format!("no thread can be started to read the input: {error}"))?;
    Ok(found)
}

enum Source {
    Path(PathBuf),
    /// Lines of a file, or of standard input for `-`.
    List(PathBuf),
}

struct Producer {
    walk: Walk,
    sender: Sender<Item>,
    found: Arc<Found>,
}

/// Nobody takes items any more.
struct Left;

impl Producer {
    fn run(self, sources: &[Source]) {
        for source in sources {
            let sent = match source {
                Source::Path(path) if path.is_dir() => self.directory(path),
                Source::Path(path) => self.file(path),
                Source::List(path) => self.list(path),
            };
            if sent.is_err() {
                return;
            }
        }
        self.found.complete.store(true, Ordering::Release);
    }

    fn send(&self, path: String, document: Document) -> Result<(), Left> {
        self.found.items.fetch_add(1, Ordering::Relaxed);
        let item = Item { path, document };
        self.sender.blocking_send(item).map_err(|_| Left)
    }

    fn file(&self, path: &Path) -> Result<(), Left> {
        match path.to_str() {
            Some(text) => self.send(text.to_owned(), Document::File),
            None => self.fail(
                path.to_string_lossy().into_owned(),
                ErrorCode::McpPathUnreadable,
                format!("{path:?} is not valid UTF-8, which an engine cannot be given"),
            ),
        }
    }

    fn fail(&self, path: String, code: ErrorCode, message: String) -> Result<(), Left> {
        let envelope = Envelope::new(code, message);
        self.send(path, Document::Failed(Box::new(envelope)))
    }

    fn directory(&self, directory: &Path) -> Result<(), Left> {
        let walk = WalkBuilder::new(directory)
            .standard_filters(!self.walk.ignored)
            .hidden(!self.walk.hidden)
            .follow_links(false)
            .sort_by_file_name(OsStr::cmp)
            .build();
        for entry in walk {
            match entry {
                Ok(entry) => {
                    let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
                    if is_file && self.takes(entry.path()) {
                        self.file(entry.path())?;
                    }
                }
                Err(error) => self.fail(
                    directory.to_string_lossy().into_owned(),
                    ErrorCode::McpPathUnreadable,
                    error.to_string(),
                )?,
            }
        }
        Ok(())
    }

    fn takes(&self, path: &Path) -> bool {
        let Some(extensions) = &self.walk.extensions else {
            return true;
        };
        let extension = path.extension().and_then(OsStr::to_str);
        extension.is_some_and(|extension| extensions.contains(&extension.to_ascii_lowercase()))
    }

    fn list(&self, path: &Path) -> Result<(), Left> {
        let lines = if path == Path::new("-") {
            self.lines(path, &mut io::stdin().lock())
        } else {
            match File::open(path) {
                Ok(file) => self.lines(path, &mut BufReader::new(file)),
                Err(error) => Ok(Err(error)),
            }
        };
        if let Err(error) = lines? {
            let problem = format!("{}: the list cannot be read: {error}", path.display());
            let slot = self.found.problem.lock();
            *slot.unwrap_or_else(PoisonError::into_inner) = Some(problem);
        }
        Ok(())
    }

    fn lines(&self, list: &Path, lines: &mut dyn BufRead) -> Result<io::Result<()>, Left> {
        let mut line = Vec::new();
        for number in 1_u64.. {
            line.clear();
            match lines.take(MAX_LINE).read_until(b'\n', &mut line) {
                Ok(0) => break,
                Ok(_) if line.len() as u64 == MAX_LINE => {
                    let text = format!("line {number} has more than {MAX_LINE} bytes");
                    return Ok(Err(io::Error::new(io::ErrorKind::InvalidData, text)));
                }
                Ok(_) => self.line(list, number, &line)?,
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(()))
    }

    fn line(&self, list: &Path, number: u64, line: &[u8]) -> Result<(), Left> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let place = || format!("{}:{number}", list.display());
        let Ok(text) = std::str::from_utf8(line) else {
            let message = "the line is not valid UTF-8".to_owned();
            return self.fail(place(), ErrorCode::InvalidRequest, message);
        };
        if text.trim().is_empty() {
            return Ok(());
        }
        if !text.trim_start().starts_with(['{', '"']) {
            return self.send(text.to_owned(), Document::File);
        }
        let input = match Record::parse(text) {
            Ok((record, _)) => record.into_input(),
            Err(error) => {
                return self.fail(place(), ErrorCode::InvalidRequest, error.to_string());
            }
        };
        match input {
            Input::Path { path, name: None } => self.send(path.into_owned(), Document::File),
            Input::Path {
                path,
                name: Some(name),
            } => self.send(path.into_owned(), Document::Named(name.into_owned())),
            Input::Bytes { name, data_base64 } => {
                match Record::from_base64(name.as_ref(), data_base64) {
                    Ok(record) => self.send(name.into_owned(), Document::Bytes(Box::new(record))),
                    Err(envelope) => self.fail(place(), envelope.code, envelope.message),
                }
            }
        }
    }
}
