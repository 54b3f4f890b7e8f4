//! The engine's command line (contract §1).
//!
//! Everything that it prints on stdout is JSON, help and version excepted: one value a line, unless it
//! is asked to indent. Syntax errors are JSON too.

mod arguments;

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::process::ExitCode;

use clap::Parser as _;
use clap::error::ErrorKind;
use serde::Serialize;

use self::arguments::{Cli, Command};
use super::discovery;
use super::error::ProbeError;
use super::jsonl;
use super::session::{Session, write_error};
use super::source::{Source, SourceKind};
use super::version::TOOL_VERSION;
use crate::contract::{ErrorCode, ProbeOptions, SCHEMA_VERSION, escape_line_breaks, indent};

/// Runs the engine with the arguments behind the program's name and returns its exit status.
pub fn main<I>(arguments: I) -> ExitCode
where
    I: IntoIterator<Item = OsString>,
{
    quiet_panics();
    let arguments = std::iter::once(OsString::from("deckprobe")).chain(arguments);
    let mut out = Vec::new();
    let status = match Cli::try_parse_from(arguments) {
        Ok(cli) => run(cli, &mut out),
        Err(error) => syntax_error(&error, &mut out),
    };
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(&out).and_then(|()| stdout.flush());
    ExitCode::from(written.map_or_else(|error| lost_output(&error, status), |()| status))
}

/// The reader of stdout may be gone: that is its business, and changes nothing. A full disk does.
fn lost_output(error: &io::Error, status: u8) -> u8 {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return status;
    }
    let _gone = writeln!(
        io::stderr(),
        "deckprobe: standard output cannot be written: {error}"
    );
    ErrorCode::SourceIo.exit_code()
}

fn run(cli: Cli, out: &mut Vec<u8>) -> u8 {
    let pretty = cli.pretty;
    super::allowed_roots::set(cli.root);
    let mut status = 0;
    let before = out.len();
    match cli.command {
        Some(Command::Formats) => discovery::formats(out),
        Some(Command::Schema) => discovery::schema(out),
        Some(Command::Targets { format, named }) => {
            let name = format.or(named).unwrap_or_else(|| "pptx".into());
            if let Err(error) = discovery::targets(&name, out) {
                status = write_error(&error, out);
            }
        }
        None => match cli.options.options() {
            Err(reason) => status = write_error(&ProbeError::invalid(reason), out),
            Ok(options) if cli.jsonl => return serve(options),
            Ok(options) => status = single(options, cli.input, cli.stdin_name, out),
        },
    }
    if pretty && let Ok(text) = std::str::from_utf8(&out[before..]) {
        let indented = indent(text);
        out.truncate(before);
        out.extend_from_slice(indented.as_bytes());
    }
    out.push(b'\n');
    status
}

fn serve(options: ProbeOptions) -> u8 {
    let mut session = Session::with_options(options);
    match jsonl::run(
        &mut session,
        &mut io::stdin().lock(),
        &mut io::stdout().lock(),
    ) {
        Ok(worst) => worst,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ErrorCode::SourceIo.exit_code(),
        Err(error) => {
            let mut out = Vec::new();
            let fault = ProbeError::io("standard input or output", &error);
            let status = write_error(&fault, &mut out);
            out.push(b'\n');
            let written = io::stdout().lock().write_all(&out);
            written.map_or_else(|error| lost_output(&error, status), |()| status)
        }
    }
}

fn single(
    options: ProbeOptions,
    input: Option<OsString>,
    stdin_name: Option<String>,
    out: &mut Vec<u8>,
) -> u8 {
    let mut session = Session::with_options(options);
    session.single(
        |options| {
            let limits = options.limits();
            let input = input.ok_or_else(|| {
                ProbeError::invalid("no input; give a file, - with --stdin-name, or --jsonl")
            })?;
            match (input.to_str(), stdin_name) {
                (Some("-"), Some(name)) => {
                    let mut bytes = Vec::new();
                    io::stdin()
                        .lock()
                        .take(limits.physical_bytes.saturating_add(1))
                        .read_to_end(&mut bytes)
                        .map_err(|error| ProbeError::io("standard input", &error))?;
                    Source::bytes(&name, bytes, SourceKind::Stdin, limits)
                }
                (Some("-"), None) => Err(ProbeError::invalid(
                    "standard input needs --stdin-name, whose extension decides the format",
                )),
                (_, Some(_)) => Err(ProbeError::invalid("--stdin-name goes with - only")),
                (Some(path), None) => Source::open(path, None, limits),
                (None, None) => Source::open_os(&input, limits),
            }
        },
        out,
    )
}

/// A syntax error as JSON, in declaration order and always compact (contract §2.3); help and version
/// as they are.
fn syntax_error(error: &clap::Error, out: &mut Vec<u8>) -> u8 {
    #[derive(Serialize)]
    struct Wire<'a> {
        schema_version: u32,
        tool_version: &'a str,
        status: &'a str,
        error: Inner<'a>,
    }
    #[derive(Serialize)]
    struct Inner<'a> {
        code: &'a str,
        message: &'a str,
        exit_code: u8,
    }
    let text = error.render().to_string();
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    ) {
        out.extend_from_slice(text.as_bytes());
        return 0;
    }
    let code = ErrorCode::CliSyntax;
    let wire = Wire {
        schema_version: SCHEMA_VERSION,
        tool_version: TOOL_VERSION,
        status: "error",
        error: Inner {
            code: code.as_str(),
            message: text.trim_end(),
            exit_code: code.exit_code(),
        },
    };
    // Strings and small integers always serialize.
    let json = serde_json::to_string(&wire).unwrap_or_default();
    out.extend_from_slice(escape_line_breaks(&json).as_bytes());
    out.push(b'\n');
    code.exit_code()
}

/// A panic inside a record is answered as an envelope; its message goes to stderr as one line, since
/// whoever supervises us reads that.
fn quiet_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let _gone = writeln!(io::stderr(), "deckprobe: panic at {place}");
    }));
}
