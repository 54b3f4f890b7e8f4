//! The launcher: our own binary, started again as `deckprobe-mcp launch SPEC -- PROGRAM ARG…`, which
//! confines itself and then becomes the engine.
//!
//! A supervisor with many threads cannot safely run code between `fork` and `exec`. A fresh process
//! can: it has one thread, ties its life to its parent, sets limits, gives up rights, and only then
//! executes the engine (or goes on as the built-in one). What it applied, or why it could not, is the
//! first line on its stderr, and why it could not become the engine the second; the supervisor reads
//! both and keeps them out of the engine's own words.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use super::launch_spec::{BUILTIN, MARK, NOTHING, Report, SUBCOMMAND, Spec};
use super::os;

/// The status of a launcher that could not become the engine.
const FAILED: u8 = 126;

/// Runs the hidden `launch` subcommand if `args` (without the program name) ask for it. To be called
/// first thing in `main`, before anything starts a thread. `builtin` is the built-in engine's command
/// line (arguments without a program name), which a launcher becomes without a second `exec`.
#[must_use]
pub fn intercept_launch(
    args: &[OsString],
    builtin: fn(Vec<OsString>) -> ExitCode,
) -> Option<ExitCode> {
    let [first, spec, dashes, program, rest @ ..] = args else {
        return None;
    };
    if first != SUBCOMMAND || dashes != "--" {
        return None;
    }
    let failed = |reason: String| {
        say(&Report::Failed(reason));
        Some(ExitCode::from(FAILED))
    };
    let spec = spec
        .to_str()
        .and_then(|text| serde_json::from_str::<Spec>(text).ok());
    let Some(spec) = spec else {
        return failed("this is an internal subcommand; its arguments are not understood".into());
    };
    match os::confine(&spec) {
        Ok(applied) => say(&Report::Applied(applied)),
        Err(reason) => return failed(reason),
    }
    if program == NOTHING {
        return Some(ExitCode::SUCCESS);
    }
    if program == BUILTIN {
        os::watch_parent(spec.parent);
        return Some(builtin(rest.to_vec()));
    }
    failed(os::become_program(program, rest).to_string())
}

fn say(report: &Report) {
    let json = serde_json::to_string(report).unwrap_or_default();
    // One write, so that the line cannot be torn; a closed stderr must not prevent the start.
    let _best_effort = std::io::stderr().write_all(format!("{MARK}{json}\n").as_bytes());
}
