//! The command line: one file a subcommand.
//!
//! Two subcommands are not parsed here, because they are no commands for people: `engine` has a
//! command line of its own (the engine contract's, with its own errors as JSON), and `launch` is how
//! the supervisor starts a child. Both are looked for before anything else is set up, so that a child
//! starts as fast as it can.

mod args;
mod batch;
mod completions;
mod doctor;
mod man;
mod probe;
mod serve;

use std::ffi::OsString;
use std::future::Future;
use std::io::ErrorKind;
use std::process::ExitCode;

use clap::Parser;

use crate::config::{Config, Overrides};
use crate::engine;
use crate::supervisor::{SandboxMode, blocking_threads, check_sandbox, intercept_launch};
use crate::telemetry;

pub use args::command;
use args::{Cli, Command, RootArg};

/// Exit status for a command line or a configuration that cannot be used, as usual on Unix and as the
/// engine has it.
const USAGE: u8 = 2;

/// Runs the program. `args` are without the program's name.
#[must_use]
pub fn main(args: Vec<OsString>) -> ExitCode {
    if let Some(code) = intercept_launch(&args, engine_main) {
        return code;
    }
    if args.first().is_some_and(|first| first == "engine") {
        return engine::cli::main(args.into_iter().skip(1));
    }
    let program = OsString::from("deckprobe-mcp");
    let cli = match Cli::try_parse_from(std::iter::once(program).chain(args)) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to stdout with status 0, errors to stderr with 2.
            let code = u8::try_from(error.exit_code()).unwrap_or(USAGE);
            return match error.print() {
                Err(why) if why.kind() != ErrorKind::BrokenPipe => unsaid(&why),
                _ => ExitCode::from(code),
            };
        }
    };
    let code = match cli.command {
        None => serve::stdio(&cli.root),
        Some(Command::Serve(args)) => serve::run(&args),
        Some(Command::Probe(args)) => probe::run(&args),
        Some(Command::Batch(args)) => batch::run(&args),
        Some(Command::Doctor(args)) => doctor::run(&args),
        Some(Command::Completions(args)) => completions::run(&args),
        Some(Command::Man) => man::run(),
    };
    telemetry::finish();
    code
}

fn engine_main(args: Vec<OsString>) -> ExitCode {
    engine::cli::main(args)
}

/// The configuration with the flags over it, tracing set up. Errors are printed on stderr.
fn configure(overrides: &Overrides) -> Result<Config, ExitCode> {
    let config = Config::from_env(overrides).map_err(|error| {
        complain(&error.to_string());
        ExitCode::from(USAGE)
    })?;
    telemetry::init(&config.log);
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    if config.supervisor.sandbox == SandboxMode::Require
        && let Err(why) = check_sandbox(&config.supervisor)
    {
        complain(&why);
        return Err(ExitCode::FAILURE);
    }
    Ok(config)
}

impl RootArg {
    /// For a server.
    fn overrides(&self) -> Overrides {
        Overrides {
            root: self.root.clone(),
            ..Overrides::default()
        }
    }

    /// For a command whose output people read: only what is wrong is logged.
    fn quiet(&self) -> Overrides {
        Overrides {
            log: Some("warn"),
            ..self.overrides()
        }
    }
}

/// Runs a command on an event loop. One thread: the work is done by children, and a hand-over between
/// threads would cost more than it brings.
fn block_on(work: impl Future<Output = ExitCode>) -> ExitCode {
    run_on(&mut tokio::runtime::Builder::new_current_thread(), work)
}

/// Runs a command for many clients at once: printing one's large answer must not hold up the others.
#[cfg(feature = "http")]
fn block_on_threads(work: impl Future<Output = ExitCode>) -> ExitCode {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    run_on(builder.worker_threads(2), work)
}

fn run_on(builder: &mut tokio::runtime::Builder, work: impl Future<Output = ExitCode>) -> ExitCode {
    builder
        .max_blocking_threads(blocking_threads())
        .thread_keep_alive(std::time::Duration::from_secs(2));
    match builder.enable_all().build() {
        Ok(runtime) => {
            let code = runtime.block_on(work);
            // A path check or a read of stdin may be stuck for ever; the process ends with it.
            runtime.shutdown_background();
            code
        }
        Err(error) => {
            complain(&format!("the event loop cannot start: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// A message for a person, on stderr.
fn complain(message: &str) {
    use std::io::Write;
    // Nobody is left to tell when stderr is closed.
    let _closed = writeln!(std::io::stderr(), "deckprobe-mcp: {message}");
}

/// Text on stdout.
///
/// # Errors
/// The status to end with: the one that is given when the reader has left, which is an ordinary end,
/// and a failure when the text could not be written (a full disk).
fn say(text: &str, so_far: ExitCode) -> Result<(), ExitCode> {
    use std::io::Write;
    let mut stdout = std::io::stdout().lock();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    written.map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => so_far,
        _ => unsaid(&error),
    })
}

/// The status of a command whose output is lost.
fn unsaid(error: &std::io::Error) -> ExitCode {
    complain(&format!("the output cannot be written: {error}"));
    ExitCode::FAILURE
}
