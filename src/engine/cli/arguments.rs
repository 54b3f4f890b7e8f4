//! The engine's command line as `clap` sees it (contract §1.1). The flags of a probe are those of
//! [`OptionFlags`].

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use crate::contract::OptionFlags;
use crate::engine::version::TOOL_VERSION;

/// Facts about PDF, Office and iWork documents, as JSON.
///
/// Probes one file (or standard input, with a name), or answers one record a line with --jsonl.
#[derive(Parser, Debug)]
#[command(
    name = "deckprobe",
    version = TOOL_VERSION,
    subcommand_negates_reqs = true,
    after_help = "Exit status: 0 ok or partial, 1 request, 2 command line or I/O, 3 format, \
                  4 malformed or over budget, 5 partial with --strict, 6 engine fault."
)]
pub(super) struct Cli {
    /// File to probe, or - for standard input (with --stdin-name)
    pub(super) input: Option<OsString>,

    /// Name of the document on standard input; its extension decides the format
    #[arg(short = 'n', long, value_name = "NAME")]
    pub(super) stdin_name: Option<String>,

    /// Answer one record a line on standard input until its end
    #[arg(long, conflicts_with_all = ["input", "pretty", "stdin_name"])]
    pub(super) jsonl: bool,

    /// Indent the output
    #[arg(short, long, global = true)]
    pub(super) pretty: bool,

    /// Directory that may be read; repeatable. Set by a supervisor
    #[arg(long, hide = true, value_name = "DIR")]
    pub(super) root: Vec<std::path::PathBuf>,

    #[command(flatten)]
    pub(super) options: OptionFlags,

    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

#[derive(Subcommand, Debug)]
pub(super) enum Command {
    /// List drivers and profiles
    Formats,
    /// List the targets, selectors and options of a format
    Targets {
        /// Profile or family, such as pptx or word [default: pptx]
        #[arg(conflicts_with = "named")]
        format: Option<String>,
        /// The same, as an option
        #[arg(short = 'f', long = "format", id = "named", value_name = "FORMAT")]
        named: Option<String>,
    },
    /// Print the JSON Schema of the reports
    Schema,
}
