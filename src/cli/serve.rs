//! `serve`, and no subcommand at all: the MCP server.

use std::process::ExitCode;

use super::args::{RootArg, ServeArgs};
use super::{block_on, configure};
#[cfg(feature = "http")]
use crate::config::Overrides;
use crate::mcp;

/// On standard input and output.
pub(super) fn stdio(root: &RootArg) -> ExitCode {
    match configure(&root.overrides()) {
        Ok(config) => block_on(async move { mcp::serve_stdio(&config).await }),
        Err(code) => code,
    }
}

/// As the flags say.
#[cfg(feature = "http")]
pub(super) fn run(args: &ServeArgs) -> ExitCode {
    let Some(address) = args.http else {
        return stdio(&args.root);
    };
    let overrides = Overrides {
        http: Some(address),
        ..args.root.overrides()
    };
    match configure(&overrides) {
        Ok(config) => super::block_on_threads(async move {
            match &config.http {
                Some(settings) => mcp::serve_http(&config, settings).await,
                None => ExitCode::FAILURE,
            }
        }),
        Err(code) => code,
    }
}

/// As the flags say.
#[cfg(not(feature = "http"))]
pub(super) fn run(args: &ServeArgs) -> ExitCode {
    stdio(&args.root)
}
