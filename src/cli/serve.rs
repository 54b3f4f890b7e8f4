//! `serve`, and no subcommand at all: the MCP server.

use std::process::ExitCode;

use super::args::RootArg;
use super::{block_on, configure};
use crate::mcp;

pub(super) fn run(root: &RootArg) -> ExitCode {
    match configure(root) {
        Ok(config) => block_on(async move { mcp::serve_stdio(&config).await }),
        Err(code) => code,
    }
}
