//! Parses the command line and hands over.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(first) if first == "engine" => deckprobe_mcp::engine::cli::main(arguments),
        _ => ExitCode::from(2),
    }
}
