//! The command line as `clap` sees it.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::contract::{Confidence, InvalidOption, Level, ProbeOptions, View};

/// Facts about documents for agents: the deckprobe engine as an MCP server.
///
/// Without a subcommand it serves MCP on standard input and output. Settings come from DECKPROBE_MCP_*
/// variables, which --help lists.
#[derive(Debug, Parser)]
#[command(
    name = "deckprobe-mcp",
    version,
    after_long_help = crate::config::settings_help(),
    args_conflicts_with_subcommands = true
)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) root: RootArg,
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Serve MCP on standard input and output (the default).
    Serve(ServeArgs),
    /// Probe documents and print their reports as JSON.
    Probe(ProbeArgs),
    /// Probe any number of documents: trees and lists, as a stream.
    Batch(BatchArgs),
    /// Check the set-up: configuration, engine, sandbox, one real probe.
    Doctor(DoctorArgs),
    /// Print a completion script for a shell.
    Completions(CompletionsArgs),
    /// Print the manual page in roff.
    Man,
}

#[derive(Clone, Debug, Default, Args)]
pub(super) struct RootArg {
    /// Allow only documents under this directory (overrides DECKPROBE_MCP_ROOTS).
    #[arg(long, value_name = "DIR", value_parser = root_directory)]
    pub(super) root: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    /// Serve Streamable HTTP at ADDR instead: an address with a port, or a port of 127.0.0.1.
    #[cfg(feature = "http")]
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "127.0.0.1:3930",
        value_parser = http_address)]
    pub(super) http: Option<std::net::SocketAddr>,
    #[command(flatten)]
    pub(super) root: RootArg,
}

#[derive(Debug, Args)]
pub(super) struct ProbeArgs {
    /// Paths of the documents.
    #[arg(required = true, value_name = "PATH")]
    pub(super) paths: Vec<OsString>,
    #[command(flatten)]
    pub(super) flags: ProbeFlags,
    /// The shape of the reports.
    #[arg(long, value_enum, default_value = "report")]
    pub(super) view: ViewArg,
    /// Indent the JSON (the default on a terminal).
    #[arg(short, long)]
    pub(super) pretty: bool,
    #[command(flatten)]
    pub(super) root: RootArg,
}

/// The options of a probe that all commands share.
#[derive(Debug, Args)]
pub(super) struct ProbeFlags {
    /// What to find out: target names and presets such as @summary.
    #[arg(short, long, value_name = "NAME", value_delimiter = ',')]
    pub(super) targets: Vec<String>,
    /// How deep to look.
    #[arg(short, long, value_enum, default_value = "metadata")]
    pub(super) level: LevelArg,
    /// Weakest evidence that counts.
    #[arg(short = 'c', long, value_enum, default_value = "high")]
    pub(super) min_confidence: ConfidenceArg,
}

impl ProbeFlags {
    pub(super) fn options(&self) -> Result<ProbeOptions, InvalidOption> {
        let options = ProbeOptions::new()
            .with_targets(self.targets.iter().map(|name| name.trim()))?
            .with_level(self.level.into())
            .with_min_confidence(self.min_confidence.into());
        Ok(options)
    }
}

#[derive(Debug, Args)]
pub(super) struct BatchArgs {
    /// Documents, directories to walk, or - for a list on standard input.
    #[arg(value_name = "PATH", required_unless_present = "from")]
    pub(super) paths: Vec<OsString>,
    /// A list with one path or JSONL record a line, or - for standard input; repeatable.
    #[arg(long, value_name = "FILE")]
    pub(super) from: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) flags: ProbeFlags,
    /// The shape of the reports in JSONL.
    #[arg(long, value_enum, default_value = "values")]
    pub(super) view: ViewArg,
    /// Documents that are probed at once [default: the number of processors].
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) jobs: Option<u16>,
    /// Write reports as they finish instead of in the order of the input.
    #[arg(long)]
    pub(super) unordered: bool,
    /// Write to FILE, which appears when it is complete.
    #[arg(short, long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// The format of the output.
    #[arg(long, value_enum, default_value = "jsonl")]
    pub(super) format: BatchFormat,
    /// Write the records that failed to FILE as well, as JSONL.
    #[arg(long, value_name = "FILE")]
    pub(super) errors: Option<PathBuf>,
    /// Go on with an interrupted output, without the documents that it has already.
    #[arg(long, requires = "out")]
    pub(super) resume: bool,
    /// Show neither progress nor a summary.
    #[arg(short, long)]
    pub(super) quiet: bool,
    /// Walk hidden files and directories as well.
    #[arg(long)]
    pub(super) hidden: bool,
    /// Walk files as well that .gitignore and .ignore files exclude.
    #[arg(long)]
    pub(super) no_ignore: bool,
    /// Walk files of every extension, not only those that the engine knows.
    #[arg(long)]
    pub(super) all_files: bool,
    #[command(flatten)]
    pub(super) root: RootArg,
}

impl BatchArgs {
    /// The number of documents that are probed at once.
    pub(super) fn jobs(&self) -> usize {
        self.jobs.map_or_else(
            || std::thread::available_parallelism().map_or(2, std::num::NonZero::get),
            usize::from,
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum BatchFormat {
    /// One JSON object a line: path and report.
    Jsonl,
    /// One row a document, one column a target.
    Csv,
}

#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    /// Print the findings as one JSON object.
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) root: RootArg,
}

#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub(super) shell: Shell,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum LevelArg {
    /// Identity only.
    Header,
    /// Properties and cheap structure.
    Metadata,
    /// Everything.
    Deep,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ConfidenceArg {
    /// Weak or indirect evidence.
    Low,
    /// Inferred from a proxy.
    Medium,
    /// A statistic that the authoring application saved.
    High,
    /// Read from the structure that defines the fact.
    Exact,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ViewArg {
    /// Values with evidence, confidence and cost.
    Report,
    /// Just target and value.
    Values,
}

impl From<LevelArg> for Level {
    fn from(arg: LevelArg) -> Self {
        match arg {
            LevelArg::Header => Self::Header,
            LevelArg::Metadata => Self::Metadata,
            LevelArg::Deep => Self::Deep,
        }
    }
}

impl From<ConfidenceArg> for Confidence {
    fn from(arg: ConfidenceArg) -> Self {
        match arg {
            ConfidenceArg::Low => Self::Low,
            ConfidenceArg::Medium => Self::Medium,
            ConfidenceArg::High => Self::High,
            ConfidenceArg::Exact => Self::Exact,
        }
    }
}

impl From<ViewArg> for View {
    fn from(arg: ViewArg) -> Self {
        match arg {
            ViewArg::Report => Self::Report,
            ViewArg::Values => Self::Values,
        }
    }
}

/// The command line as data, for help, completions and the manual.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}

/// Refuses what cannot be meant as a directory, before anything starts. Whether it exists is checked
/// with the rest of the configuration.
fn root_directory(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() {
        return Err("an empty name is no directory".into());
    }
    if text.starts_with('-') {
        return Err(format!(
            "it looks like an option; write ./{text} for a directory of that name"
        ));
    }
    Ok(PathBuf::from(text))
}

#[cfg(feature = "http")]
fn http_address(text: &str) -> Result<std::net::SocketAddr, String> {
    use std::net::{Ipv4Addr, SocketAddr};
    let loopback = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    if let Ok(port) = text.parse() {
        return Ok(loopback(port));
    }
    if let Some(port) = text.strip_prefix("localhost:")
        && let Ok(port) = port.parse()
    {
        return Ok(loopback(port));
    }
    text.parse().map_err(|_| {
        "an address with a port, such as 127.0.0.1:3930, [::1]:3930 or 0.0.0.0:3930".into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parses(args: &[&str]) -> bool {
        Cli::try_parse_from(std::iter::once("deckprobe-mcp").chain(args.iter().copied())).is_ok()
    }

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[cfg(feature = "http")]
    #[test]
    fn an_http_address_is_loopback_unless_it_says_otherwise() {
        for (given, meant) in [
            (&["serve", "--http"][..], "127.0.0.1:3930"),
            (&["serve", "--http", "8080"], "127.0.0.1:8080"),
            (&["serve", "--http", "localhost:1"], "127.0.0.1:1"),
            (&["serve", "--http", "0.0.0.0:1"], "0.0.0.0:1"),
            (&["serve", "--http", "[::1]:1", "--root", "."], "[::1]:1"),
        ] {
            let args = std::iter::once("deckprobe-mcp").chain(given.iter().copied());
            let Some(Command::Serve(serve)) = Cli::parse_from(args).command else {
                panic!("serve was given")
            };
            assert_eq!(serve.http, meant.parse().ok());
        }
        for bad in ["", "example.com:80", "127.0.0.1", "99999"] {
            assert!(!parses(&["serve", "--http", bad]), "{bad:?}");
        }
    }

    #[test]
    fn root_is_one_plain_directory() {
        for good in [
            &["--root", "."][..],
            &["--root=."],
            &["--root", "./--name"],
            &["serve", "--root", "."],
            &["probe", "--root", ".", "a.pdf"],
            &[],
        ] {
            assert!(parses(good), "{good:?}");
        }
        for bad in [
            &["--root"][..],
            &["--root", ""],
            &["--root="],
            &["--root", ".", "--root", "."],
            &["--root", "--version"],
            &["--root", "-x"],
            &["--root=--name"],
            &["--root", ".", "serve"],
            &["serve", "--root", ".", "--root", "."],
            &["."],
        ] {
            assert!(!parses(bad), "{bad:?}");
        }
    }
}
