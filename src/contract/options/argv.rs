//! Options as the flags of an engine: printing them for a child, parsing them from a command line.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;

use clap::{ArgAction, Args, Parser};

use super::{ProbeOptions, split_lists};
use crate::contract::{Budget, Confidence, Level, View};

/// An option set as the exact argv that it maps to. Cloning shares the text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Profile(Arc<[String]>);

impl Profile {
    /// The arguments, each `--long=value` or `--long`.
    #[must_use]
    pub fn argv(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            f.write_str("default")
        } else {
            f.write_str(&self.0.join(" "))
        }
    }
}

impl ProbeOptions {
    /// The option set as the engine's argv, defaults left out: the key of the pool.
    #[must_use]
    pub fn profile(&self) -> Profile {
        let mut argv = Vec::new();
        let is_default = self.targets.is_empty() || self.targets == ["@default"];
        if !is_default {
            argv.push(format!("--targets={}", self.targets.join(",")));
        }
        if !self.optional_targets.is_empty() {
            let names = self.optional_targets.join(",");
            argv.push(format!("--optional-targets={names}"));
        }
        if self.level != Level::default() {
            argv.push(format!("--probe-level={}", self.level));
        }
        if self.min_confidence != Confidence::default() {
            argv.push(format!("--minimum-confidence={}", self.min_confidence));
        }
        for (target, confidence) in &self.target_confidence {
            argv.push(format!("--target-confidence={target}={confidence}"));
        }
        if let Some(format) = &self.input_format {
            argv.push(format!("--input-format={format}"));
        }
        for (key, value) in &self.format_options {
            argv.push(format!("--format-option={key}={value}"));
        }
        if self.view != View::default() {
            argv.push(format!("--view={}", self.view.as_engine_str()));
        }
        let budget = self.budget();
        for (flag, limit) in [
            ("--probe-size", budget.max_physical_bytes),
            ("--max-expanded-bytes", budget.max_expanded_bytes),
            ("--max-archive-entries", budget.max_archive_entries),
            ("--timeout-ms", budget.timeout_ms),
        ] {
            argv.extend(limit.map(|limit| format!("{flag}={limit}")));
        }
        for (flag, is_set) in [
            ("--no-piggyback", self.no_piggyback),
            ("--strict", self.strict),
            ("--plan-only", self.plan_only),
            ("--telemetry", self.telemetry),
        ] {
            argv.extend(is_set.then(|| flag.to_owned()));
        }
        Profile(argv.into())
    }
}

/// Parses options as they are written on a command line, without the program's name.
///
/// # Errors
/// The message of the error.
pub(crate) fn from_argv<I, S>(argv: I) -> Result<ProbeOptions, String>
where
    I: IntoIterator<Item = S>,
    S: Into<OsString> + Clone,
{
    #[derive(Parser)]
    #[command(name = "deckprobe", no_binary_name = true)]
    struct CommandLine {
        #[command(flatten)]
        flags: OptionFlags,
    }
    let line = CommandLine::try_parse_from(argv).map_err(|error| error.to_string())?;
    line.flags.options()
}

/// The flags of the engine's command line that make up an option set.
#[derive(Args, Debug, Default)]
pub(crate) struct OptionFlags {
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

impl OptionFlags {
    /// The option set that the flags describe.
    ///
    /// # Errors
    /// A sentence about the `key=value` pair that is wrong.
    pub(crate) fn options(self) -> Result<ProbeOptions, String> {
        let mut target_confidence = BTreeMap::new();
        for text in &self.target_confidence {
            let (target, label) = pair("--target-confidence", text)?;
            target_confidence.insert(target.to_owned(), parse_confidence(label)?);
        }
        let mut format_options = BTreeMap::new();
        for text in &self.format_option {
            let (key, value) = pair("--format-option", text)?;
            format_options.insert(key.to_owned(), value.to_owned());
        }
        Ok(ProbeOptions {
            targets: split_lists(self.targets),
            optional_targets: split_lists(self.optional_targets),
            level: self.probe_level,
            min_confidence: self.minimum_confidence,
            target_confidence,
            no_piggyback: self.no_piggyback,
            input_format: self.input_format,
            format_options,
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

/// Splits at the first equals sign; neither side may be empty.
fn pair<'a>(flag: &str, text: &'a str) -> Result<(&'a str, &'a str), String> {
    text.split_once('=')
        .filter(|(key, value)| !key.is_empty() && !value.is_empty())
        .ok_or_else(|| format!("{flag} needs key=value, got {text:?}"))
}

fn parse_level(text: &str) -> Result<Level, String> {
    match text {
        "header" | "h" | "l0" | "0" => Ok(Level::Header),
        "metadata" | "m" | "l1" | "1" => Ok(Level::Metadata),
        "deep" | "d" | "l2" | "2" => Ok(Level::Deep),
        _ => Err(format!(
            "{text:?} is not a level; accepts header, metadata or deep"
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
            "{text:?} is not a confidence; accepts low, medium, high or exact"
        )),
    }
}

fn parse_view(text: &str) -> Result<View, String> {
    match text {
        "full" => Ok(View::Report),
        "values" => Ok(View::Values),
        _ => Err(format!("{text:?} is not a view; accepts full or values")),
    }
}

/// Digits only, without sign or unit.
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
        let long = from_argv([
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
        let short = from_argv([
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
        let other = from_argv([
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
            assert!(from_argv(bad.iter().copied()).is_err(), "{bad:?}");
        }
    }
}
