//! Reads single variables, collecting every problem instead of stopping at the first.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// Where variables come from: the process environment, or a table in tests.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Every variable that could not be used, in one message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", render(problems))]
pub struct ConfigError {
    /// One sentence a problem: the name, the value seen and what is accepted.
    pub problems: Vec<String>,
}

fn render(problems: &[String]) -> String {
    let mut text = String::from("the configuration cannot be used:");
    for problem in problems {
        // Writing to a string cannot fail.
        let _infallible = write!(text, "\n  - {problem}");
    }
    text
}

/// Reads variables by name and remembers what was wrong with them.
pub(super) struct Reader<'a> {
    lookup: Lookup<'a>,
    problems: Vec<String>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(lookup: Lookup<'a>) -> Self {
        Self {
            lookup,
            problems: Vec::new(),
        }
    }

    /// The problems met so far, as an error if there are any.
    pub(super) fn finish(self) -> Result<(), ConfigError> {
        if self.problems.is_empty() {
            Ok(())
        } else {
            Err(ConfigError {
                problems: self.problems,
            })
        }
    }

    /// Notes a problem, once.
    pub(super) fn problem(&mut self, problem: impl Into<String>) {
        let problem = problem.into();
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// A whole number in a range, if the variable is set to one. `of` names the unit for the message.
    pub(super) fn number(
        &mut self,
        name: &str,
        of: &str,
        accepted: RangeInclusive<u64>,
        default: u64,
    ) -> Option<u64> {
        let text = self.text(name)?;
        let value = text.trim().parse::<u64>().ok();
        let in_range = value.filter(|value| accepted.contains(value));
        if in_range.is_none() {
            let (low, high) = accepted.into_inner();
            self.problem(format!(
                "{name}={text:?} is not accepted: a whole number{of} from {low} to {high} (default \
                 {default})"
            ));
        }
        in_range
    }

    /// A path that is not empty. Whether it exists is not checked here.
    pub(super) fn path(&mut self, name: &str) -> Option<PathBuf> {
        let value = (self.lookup)(name)?;
        if value.is_empty() {
            self.problem(format!(
                "{name}=\"\" is not accepted: a path; unset the variable for the default"
            ));
            return None;
        }
        Some(PathBuf::from(value))
    }

    /// A list of directories, separated as `PATH` is, each resolved to its real path.
    pub(super) fn directories(&mut self, name: &str) -> Vec<PathBuf> {
        let Some(value) = (self.lookup)(name) else {
            return Vec::new();
        };
        let entries: Vec<PathBuf> = std::env::split_paths(&value).collect();
        entries
            .iter()
            .filter_map(|entry| match resolve_directory(entry) {
                Ok(real) => Some(real),
                Err(reason) => {
                    self.problem(format!(
                        "{name} entry {:?} is not accepted: {reason}",
                        entry.to_string_lossy()
                    ));
                    None
                }
            })
            .collect()
    }

    /// The text of a variable that must not be shown, not even in a message about it.
    pub(super) fn secret(&mut self, name: &str) -> Option<String> {
        let value = (self.lookup)(name)?;
        let text = value.into_string();
        if text.is_err() {
            self.problem(format!("{name} is not accepted: it is not valid Unicode"));
        }
        text.ok()
    }

    /// The text of a variable; one that is not Unicode is a problem.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        match (self.lookup)(name)?.into_string() {
            Ok(text) => Some(text),
            Err(raw) => {
                self.problem(format!(
                    "{name}={:?} is not accepted: it is not valid Unicode",
                    raw.to_string_lossy()
                ));
                None
            }
        }
    }
}

/// Resolves an entry of the allow-list to its real path.
///
/// # Errors
/// A fragment that says what is wrong with the entry and what to give instead.
pub(super) fn resolve_directory(entry: &Path) -> Result<PathBuf, String> {
    let text = entry.to_string_lossy();
    if text.is_empty() {
        return Err("an empty entry names no directory".into());
    }
    if text.starts_with("file:") {
        return Err("give a plain path, not a file: address".into());
    }
    let real = std::fs::canonicalize(entry).map_err(|error| {
        if text.starts_with('~') {
            format!("{error}; ~ is expanded by shells only, write the directory out")
        } else {
            error.to_string()
        }
    })?;
    if real.is_dir() {
        Ok(real)
    } else {
        Err("it is not a directory".into())
    }
}
