//! The flags of the engine's command line (contract §1.2), and the option set that they make.

use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::{ArgAction, Args, Parser, Subcommand};

use crate::contract::{Budget, Confidence, Level, View};
use crate::engine::error::{ProbeError, Result};
use crate::engine::request::Request;
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

    #[command(flatten)]
    pub(super) options: Options,

    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

#[derive(Args, Debug, Default)]
pub(super) struct Options {
    /// Targets or selectors, such as title or @summary; repeatable, comma lists [default: @default]
    #[arg(short, long, value_name = "SELECTOR", action = ArgAction::Append)]
    targets: Vec<String>,

    /// Targets to report only if a chosen path yields them anyway
    #[arg(short, long, value_name = "SELECTOR", action = ArgAction::Append)]
    optional_targets: Vec<String>,

    /// header (h l0 0), metadata (m l1 1) or deep (d l2 2)
    #[arg(short = 'l', long, visible_alias = "level", value_name = "LEVEL",
        value_parser = parse_level, default_value = "metadata")]
    probe_level: Level,

    /// low (l), medium (m), high (h) or exact (x)
    #[arg(short = 'c', long, visible_alias = "confidence", value_name = "CONFIDENCE",
        value_parser = parse_confidence, default_value = "high")]
    minimum_confidence: Confidence,

    /// Minimum confidence of one target; repeatable, comma lists
    #[arg(short = 'C', long, value_name = "TARGET=CONFIDENCE", action = ArgAction::Append,
        value_delimiter = ',')]
    target_confidence: Vec<String>,

    /// Grant no optional target
    #[arg(short = 'N', long)]
    no_piggyback: bool,

    /// Assert the format; the input is refused when it is another
    #[arg(short = 'f', long, value_name = "FORMAT")]
    input_format: Option<String>,

    /// Format option; repeatable
    #[arg(short = 'O', long, visible_alias = "option", value_name = "KEY=VALUE",
        action = ArgAction::Append)]
    format_option: Vec<String>,

    /// Most bytes to read from the input
    #[arg(short = 'b', long, alias = "probesize", value_name = "BYTES", value_parser = parse_u64)]
    probe_size: Option<u64>,

    /// Most bytes after decompression
    #[arg(short = 'x', long, value_name = "BYTES", value_parser = parse_u64)]
    max_expanded_bytes: Option<u64>,

    /// Most entries in an archive
    #[arg(short = 'e', long, value_name = "N", value_parser = parse_u64)]
    max_archive_entries: Option<u64>,

    /// Time budget in milliseconds
    #[arg(short = 'T', long, value_name = "MS", value_parser = parse_u64)]
    timeout_ms: Option<u64>,

    /// Exit with 5 when a report is partial
    #[arg(short, long)]
    strict: bool,

    /// Print the plan without running it
    #[arg(short = 'P', long, visible_alias = "plan")]
    plan_only: bool,

    /// Add elapsed_ms to the cost
    #[arg(long)]
    telemetry: bool,

    /// full or values
    #[arg(long, value_name = "VIEW", value_parser = parse_view, default_value = "full")]
    view: View,
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
/// Parses an option set as it stands before the input on a command line.
///
/// # Errors
/// The message of the error.
pub(crate) fn parse_options<I, S>(options: I) -> Result<Request, String>
where
    I: IntoIterator<Item = S>,
    S: Into<OsString> + Clone,
{
    let name = OsString::from("deckprobe");
    let arguments = std::iter::once(name).chain(options.into_iter().map(Into::into));
    let cli = Cli::try_parse_from(arguments).map_err(|error| error.to_string())?;
    cli.options.request().map_err(|error| error.to_string())
}
impl Options {
    pub(super) fn request(self) -> Result<Request> {
        let pair = |flag: &str, text: &str| match text.split_once('=') {
            Some((key, value)) if !key.is_empty() && !value.is_empty() => {
                Ok((key.to_owned(), value.to_owned()))
            }
            _ => Err(ProbeError::invalid(format_args!(
                "{flag} needs key=value, got {text:?}"
            ))),
        };
        let mut confidences = BTreeMap::new();
        for text in &self.target_confidence {
            let (target, label) = pair("--target-confidence", text)?;
            let label = parse_confidence(&label).map_err(ProbeError::invalid)?;
            confidences.insert(target, label);
        }
        let mut format_options = BTreeMap::new();
        for text in &self.format_option {
            let (key, value) = pair("--format-option", text)?;
            format_options.insert(key, value);
        }
        Ok(Request {
            targets: self.targets,
            optional_targets: self.optional_targets,
            level: self.probe_level,
            min_confidence: self.minimum_confidence,
            target_confidence: confidences.into_iter().collect(),
            no_piggyback: self.no_piggyback,
            input_format: self.input_format,
            format_options: format_options.into_iter().collect(),
            budget: Budget {
                max_physical_bytes: self.probe_size,
                max_expanded_bytes: self.max_expanded_bytes,
                max_archive_entries: self.max_archive_entries,
                timeout_ms: self.timeout_ms,
            },
            strict: self.strict,
            plan_only: self.plan_only,
            telemetry: self.telemetry,
            view: self.view,
        })
    }
}

fn parse_level(text: &str) -> Result<Level, String> {
    match text {
        "header" | "h" | "l0" | "0" => Ok(Level::Header),
        "metadata" | "m" | "l1" | "1" => Ok(Level::Metadata),
        "deep" | "d" | "l2" | "2" => Ok(Level::Deep),
        _ => Err(format!(
            "{text:?} is no level; accepts header, metadata or deep"
        )),
    }
}

fn parse_confidence(text: &str) -> Result<Confidence, String> {
    match text {
        "low" | "l" => Ok(Confidence::Low),
        "medium" | "m" => Ok(Confidence::Medium),
        "high" | "h" => Ok(Confidence::High),
        "exact" | "x" => Ok(Confidence::Exact),
        _ => Err(format!(
            "{text:?} is no confidence; accepts low, medium, high or exact"
        )),
    }
}

fn parse_view(text: &str) -> Result<View, String> {
    match text {
        "full" => Ok(View::Report),
        "values" => Ok(View::Values),
        _ => Err(format!("{text:?} is no view; accepts full or values")),
    }
}

/// Digits only: no sign and no unit.
fn parse_u64(text: &str) -> Result<u64, String> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("accepts a whole number without sign or unit".into());
    }
    text.parse().map_err(|error| format!("{error}"))
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_the_contract_is_known() {
        let long = parse_options([
            "--targets=a,b",
            "--optional-targets=c",
            "--probe-level=deep",
            "--minimum-confidence=exact",
            "--target-confidence=a=low",
            "--no-piggyback",
            "--input-format=pdf",
            "--format-option=k=v",
            "--probe-size=1",
            "--max-expanded-bytes=2",
            "--max-archive-entries=3",
            "--timeout-ms=4",
            "--strict",
            "--plan-only",
            "--telemetry",
            "--view=values",
        ])
        .unwrap();
        let short = parse_options([
            "-t",
            "a,b",
            "-o",
            "c",
            "-l",
            "d",
            "-c",
            "x",
            "-C",
            "a=l",
            "-N",
            "-f",
            "pdf",
            "-O",
            "k=v",
            "-b",
            "1",
            "-x",
            "2",
            "-e",
            "3",
            "-T",
            "4",
            "-s",
            "-P",
            "--telemetry",
            "--view",
            "values",
        ])
        .unwrap();
        assert_eq!(long, short);
        let other = parse_options([
            "--level=l2",
            "--confidence=x",
            "--option=k=v",
            "--plan",
            "--probesize=1",
        ])
        .unwrap();
        assert_eq!(
            (other.level, other.min_confidence, other.plan_only),
            (Level::Deep, Confidence::Exact, true)
        );
    }

    #[test]
    fn the_profile_of_the_supervisor_is_understood_as_it_was_meant() {
        use crate::contract::ProbeOptions;
        let options = ProbeOptions::new()
            .with_targets(["@summary", "slide_count"])
            .unwrap()
            .with_level(Level::Deep)
            .with_min_confidence(Confidence::Medium)
            .with_target_confidence([("slide_count", Confidence::Exact)])
            .unwrap()
            .with_view(View::Values)
            .with_budget(Budget {
                timeout_ms: Some(7),
                ..Budget::default()
            });
        let from_argv = parse_options(options.profile().argv()).unwrap();
        let mut from_record =
            Request::from_record(&serde_json::to_string(&options).unwrap()).unwrap();
        // A comma list is split by the planner.
        from_record.targets = vec![from_record.targets.join(",")];
        assert_eq!(from_argv, from_record);
    }

    #[test]
    fn syntax_errors_and_bad_pairs_are_refused() {
        for bad in [
            &["--nonsense"][..],
            &["-l", "Deep"],
            &["-c", "none"],
            &["-l", "h", "-l", "d"],
            &["-N", "-N"],
            &["-b", "-1"],
            &["-b", "+1"],
            &["-b", "1k"],
            &["-t", "-x"],
            &["-C", "a"],
            &["-C", "=low"],
            &["-C", "a="],
            &["-C", ""],
            &["-C", "a=low,"],
            &["-C", "a=none"],
            &["-O", "k"],
            &["--view=report"],
        ] {
            assert!(parse_options(bad.iter().copied()).is_err(), "{bad:?}");
        }
    }
}
