//! `completions`: scripts for shells.

use std::process::ExitCode;

use super::args::{CompletionsArgs, command};
use super::say;

pub(super) fn run(args: &CompletionsArgs) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "deckprobe-mcp", &mut script);
    match say(&String::from_utf8_lossy(&script), ExitCode::SUCCESS) {
        Ok(()) => ExitCode::SUCCESS,
        Err(code) => code,
    }
}
