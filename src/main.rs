//! Parses the command line and hands over.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    deckprobe_mcp::cli::main(args)
}
