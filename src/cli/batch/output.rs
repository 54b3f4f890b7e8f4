//! Where the reports of a batch go: written by a thread of its own, so that a slow disk or reader holds
//! up the probes and never the clocks of their deadlines.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::super::args::{BatchArgs, BatchFormat};
use crate::contract::Reply;

/// Rows that may wait for the writer.
const WAITING: usize = 64;

/// The columns before those of the targets.
const FIXED: [&str; 5] = ["path", "status", "format", "error_code", "error_message"];

pub(super) enum Format {
    Jsonl,
    /// With the ids of the target columns.
    Csv(Vec<String>),
}

/// One document with its reply.
pub(super) struct Row {
    path: String,
    reply: Reply,
}

impl Row {
    pub(super) fn new(path: String, reply: &Reply) -> Self {
        let reply = reply.clone();
        Self { path, reply }
    }
}

pub(super) struct Output {
    sender: Option<Sender<Row>>,
    writer: Option<JoinHandle<io::Result<()>>>,
    out: Option<PathBuf>,
}

impl Output {
    /// Opens the output, and reads what an earlier run has left in it if that is to be resumed.
    pub(super) fn open(
        args: &BatchArgs,
        format: Format,
    ) -> Result<(Self, HashMap<u64, u32>), String> {
        let mut done = HashMap::new();
        let mut resumed = false;
        let sink: Box<dyn Write + Send> = match &args.out {
            None => Box::new(io::stdout()),
            Some(out) => {
                let named = |error: io::Error| format!("{}: {error}", partial(out).display());
                let (file, length) = open_partial(args, out, &mut done)?;
                resumed = length > 0;
                file.set_len(length).map_err(named)?;
                Box::new(file)
            }
        };
        let errors = match &args.errors {
            None => None,
            Some(path) => {
                let file = open_errors(path, args.resume);
                let file = file.map_err(|error| format!("{}: {error}", path.display()))?;
                Some(BufWriter::new(file))
            }
        };
        let header = match &format {
            Format::Csv(columns) if !resumed => {
                let names = FIXED.into_iter().chain(columns.iter().map(String::as_str));
                csv_line(names)
            }
            _ => Vec::new(),
        };
        let (sender, rows) = channel(WAITING);
        let mut writer = Writer {
            sink: BufWriter::new(sink),
            errors,
            format,
        };
        let thread = std::thread::Builder::new()
            .name("output".into())
            .spawn(move || writer.run(&header, rows))
            .map_err(|error| format!("no thread can be started to write the output: {error}"))?;
        let output = Self {
            sender: Some(sender),
            writer: Some(thread),
            out: args.out.clone(),
        };
        Ok((output, done))
    }

    /// Hands a row to the writer; false when it has failed.
    pub(super) async fn send(&mut self, row: Row) -> bool {
        match &self.sender {
            Some(sender) => sender.send(row).await.is_ok(),
            None => false,
        }
    }

    /// Waits until everything is written; a complete output gets its name.
    pub(super) async fn finish(mut self, complete: bool) -> io::Result<()> {
        drop(self.sender.take());
        let Some(writer) = self.writer.take() else {
            return Ok(());
        };
        let out = self.out.take();
        let close = move || {
            let written = writer.join();
            written.unwrap_or_else(|_| Err(io::Error::other("the writer panicked")))?;
            match out {
                Some(out) if complete => {
                    File::open(partial(&out))?.sync_all()?;
                    std::fs::rename(partial(&out), &out)
                }
                _ => Ok(()),
            }
        };
        let closed = tokio::task::spawn_blocking(close).await;
        closed.unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}

/// The name of an output that is not complete.
pub(super) fn partial(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".partial");
    PathBuf::from(name)
}

/// The hash by which a path is remembered.
pub(super) fn key(path: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}

/// Opens the partial output for appending and returns the length of its complete rows.
fn open_partial(
    args: &BatchArgs,
    out: &Path,
    done: &mut HashMap<u64, u32>,
) -> Result<(File, u64), String> {
    let path = partial(out);
    let named = |error: io::Error| format!("{}: {error}", path.display());
    if path.exists() && !args.resume {
        return Err(format!(
            "{} is left from an interrupted run: --resume goes on with it; remove it to start again",
            path.display()
        ));
    }
    if args.resume && !path.exists() && out.exists() {
        std::fs::copy(out, &path).map_err(named)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    let file = options.open(&path).map_err(named)?;
    let length = match args.format {
        BatchFormat::Jsonl => complete_lines(&file, done),
        BatchFormat::Csv => complete_rows(&file, done),
    };
    Ok((file, length.map_err(named)?))
}

fn open_errors(path: &Path, resume: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true);
    if resume {
        options.append(true).open(path)
    } else {
        options.write(true).truncate(true).open(path)
    }
}

/// Notes the documents of a JSONL output and returns the length up to its last complete line.
fn complete_lines(file: &File, done: &mut HashMap<u64, u32>) -> io::Result<u64> {
    #[derive(Deserialize)]
    struct Line<'a> {
        #[serde(borrow)]
        path: Cow<'a, str>,
    }
    let mut lines = BufReader::new(file);
    let mut line = Vec::new();
    let mut length = 0;
    while lines.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
        let parsed: Line<'_> = serde_json::from_slice(&line)?;
        *done.entry(key(&parsed.path)).or_default() += 1;
        length += line.len() as u64;
        line.clear();
    }
    Ok(length)
}

/// Notes the documents of a CSV output and returns the length up to its last complete row.
fn complete_rows(file: &File, done: &mut HashMap<u64, u32>) -> io::Result<u64> {
    let size = file.metadata()?.len();
    let mut rows = csv::Reader::from_reader(BufReader::new(file));
    let mut row = csv::StringRecord::new();
    if size == 0 || rows.headers().is_err() {
        return Ok(0);
    }
    let mut length = rows.position().byte();
    loop {
        match rows.read_record(&mut row) {
            Ok(false) => return Ok(length),
            // The last row may be cut off: its end of line is missing, or some of its cells.
            Ok(true) if rows.position().byte() >= size && !ends_with_newline(file, size)? => {
                return Ok(length);
            }
            Ok(true) => {
                *done.entry(key(row.get(0).unwrap_or_default())).or_default() += 1;
                length = rows.position().byte();
            }
            Err(error) if matches!(error.kind(), csv::ErrorKind::UnequalLengths { .. }) => {
                return Ok(length);
            }
            Err(error) => return Err(io::Error::other(error)),
        }
    }
}

fn ends_with_newline(mut file: &File, size: u64) -> io::Result<bool> {
    use std::io::{Read, Seek, SeekFrom};
    let mut last = [0_u8];
    file.seek(SeekFrom::Start(size.saturating_sub(1)))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

struct Writer {
    sink: BufWriter<Box<dyn Write + Send>>,
    errors: Option<BufWriter<File>>,
    format: Format,
}

impl Writer {
    fn run(&mut self, header: &[u8], mut rows: Receiver<Row>) -> io::Result<()> {
        self.sink.write_all(header)?;
        while let Some(row) = rows.blocking_recv() {
            self.write(&row)?;
            if rows.is_empty() {
                self.flush()?;
            }
        }
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()?;
        self.errors.as_mut().map_or(Ok(()), BufWriter::flush)
    }

    fn write(&mut self, row: &Row) -> io::Result<()> {
        if row.reply.is_error()
            && let Some(errors) = &mut self.errors
        {
            errors.write_all(&json_line(row)?)?;
        }
        let line = match &self.format {
            Format::Jsonl => json_line(row)?,
            Format::Csv(columns) => csv_row(row, columns)?,
        };
        self.sink.write_all(&line)
    }
}

/// `{"path": …, "report": …}`, the report as the engine printed it.
fn json_line(row: &Row) -> io::Result<Vec<u8>> {
    #[derive(Serialize)]
    struct Line<'a> {
        path: &'a str,
        report: &'a RawValue,
    }
    let report: &RawValue = serde_json::from_str(row.reply.json())?;
    let path = &row.path;
    let mut line = serde_json::to_vec(&Line { path, report })?;
    line.push(b'\n');
    Ok(line)
}

#[derive(Deserialize)]
struct Report<'a> {
    #[serde(borrow)]
    status: Cow<'a, str>,
    #[serde(borrow, default)]
    driver: Option<Driver<'a>>,
    #[serde(borrow, default)]
    error: Option<Failure<'a>>,
    #[serde(borrow, default)]
    values: HashMap<Cow<'a, str>, &'a RawValue>,
}

#[derive(Deserialize)]
struct Driver<'a> {
    #[serde(borrow)]
    profile: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Failure<'a> {
    #[serde(borrow)]
    code: Cow<'a, str>,
    #[serde(borrow)]
    message: Cow<'a, str>,
}

fn csv_row(row: &Row, columns: &[String]) -> io::Result<Vec<u8>> {
    let report: Report<'_> = serde_json::from_str(row.reply.json())?;
    let error = report.error.as_ref();
    let fixed = [
        Cow::from(row.path.as_str()),
        report.status.clone(),
        report
            .driver
            .as_ref()
            .map(|driver| driver.profile.clone())
            .unwrap_or_default(),
        error.map(|error| error.code.clone()).unwrap_or_default(),
        error.map(|error| error.message.clone()).unwrap_or_default(),
    ];
    let values = columns.iter().map(|column| {
        let value = report.values.get(column.as_str());
        value.map_or(Cow::Borrowed(""), |value| cell(value.get()))
    });
    Ok(csv_line(fixed.into_iter().chain(values)))
}

/// A value as the text of a cell: a string as it is, nothing for null, other values as JSON.
fn cell(json: &str) -> Cow<'_, str> {
    match json {
        "null" => Cow::Borrowed(""),
        text if text.starts_with('"') => {
            serde_json::from_str::<String>(text).map_or(Cow::Borrowed(text), Cow::Owned)
        }
        other => Cow::Borrowed(other),
    }
}

fn csv_line<S: AsRef<str>>(cells: impl IntoIterator<Item = S>) -> Vec<u8> {
    let mut writer = csv::WriterBuilder::new().from_writer(Vec::new());
    // Writing to memory cannot fail.
    let _infallible = writer.write_record(cells.into_iter().map(|cell| cell.as_ref().to_owned()));
    writer.into_inner().unwrap_or_default()
}
