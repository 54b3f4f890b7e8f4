//! `man`: the manual page, from the same command model as the help and the completions.

use std::process::ExitCode;

use super::args::command;
use super::{complain, say};

/// Prints the manual page in roff on stdout.
pub(super) fn run() -> ExitCode {
    let mut page = Vec::new();
    if let Err(error) = clap_mangen::Man::new(command()).render(&mut page) {
        complain(&format!("the manual page cannot be rendered: {error}"));
        return ExitCode::FAILURE;
    }
    match say(&String::from_utf8_lossy(&page), ExitCode::SUCCESS) {
        Ok(()) => ExitCode::SUCCESS,
        Err(code) => code,
    }
}
