//! What a variable may be: its type, its range, where its value goes, and how it is read and shown.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use strum::VariantNames;

use super::reader::Reader;
use super::{Config, MIB};
use crate::supervisor::Settings;
use crate::telemetry::LogSettings;

/// One variable.
pub(super) struct Variable {
    pub(super) name: &'static str,
    pub(super) field: Field,
    /// What the default is called where it is not a value.
    pub(super) unset: &'static str,
    /// One sentence, for `--help` and the README.
    pub(super) help: &'static str,
}

/// A place in a [`Draft`].
type Place<T> = fn(&mut Draft) -> &mut T;

/// The type and range of a variable, and the place that its value goes to.
pub(super) enum Field {
    Millis(Place<Duration>, RangeInclusive<u64>),
    /// 0 means never.
    MillisOrNever(Place<Option<Duration>>, u64),
    Count(Place<usize>, RangeInclusive<u64>),
    /// 0 means never.
    CountOrNever(Place<Option<u64>>, u64),
    /// In MiB; 0 means never.
    MibOrNever(Place<Option<u64>>, u64),
    Bytes(Place<u64>, RangeInclusive<u64>),
    Choice(fn(&mut Draft) -> &mut dyn Choice),
    Text(Place<String>),
    /// Never shown.
    Secret(Place<Option<String>>),
    Path(Place<Option<PathBuf>>),
    /// Separated as in `PATH`, each resolved to its real path.
    Directories(Place<Vec<PathBuf>>),
    /// Separated by commas.
    List(Place<Vec<String>>),
}

/// One of a few words: an enum whose variants are named.
pub(super) trait Choice {
    fn words(&self) -> &'static [&'static str];
    fn word(&self) -> &'static str;
    fn set(&mut self, word: &str) -> bool;
}

impl<T> Choice for T
where
    T: VariantNames + FromStr + Copy + Into<&'static str>,
{
    fn words(&self) -> &'static [&'static str] {
        T::VARIANTS
    }

    fn word(&self) -> &'static str {
        (*self).into()
    }

    fn set(&mut self, word: &str) -> bool {
        word.parse().map(|value| *self = value).is_ok()
    }
}

/// A configuration in the making: what is final, and what depends on flags and other variables.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) config: Config,
    pub(super) inline: Inline,
    pub(super) max_inline_bytes: u64,
    pub(super) http: HttpValues,
}

/// Whether documents may travel inside calls.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantNames,
)]
#[strum(serialize_all = "lowercase")]
pub(super) enum Inline {
    /// Over HTTP only.
    #[default]
    Auto,
    On,
    Off,
}

/// The variables of the HTTP side as they were given.
#[derive(Clone)]
pub(super) struct HttpValues {
    pub(super) token: Option<String>,
    pub(super) token_file: Option<PathBuf>,
    pub(super) hosts: Vec<String>,
    pub(super) origins: Vec<String>,
    pub(super) timeout: Duration,
    pub(super) max_requests: usize,
}

impl std::fmt::Debug for HttpValues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HttpValues(…)")
    }
}

impl Default for Draft {
    /// The defaults of all variables; those of the pool are the supervisor's own.
    fn default() -> Self {
        Self {
            config: Config {
                supervisor: Settings::default(),
                max_batch: 64,
                drain: Duration::from_secs(30),
                inline_bytes: None,
                #[cfg(feature = "http")]
                http: None,
                log: LogSettings::default(),
                in_force: Vec::new(),
                warnings: Vec::new(),
            },
            inline: Inline::default(),
            max_inline_bytes: 8 * MIB,
            http: HttpValues {
                token: None,
                token_file: None,
                hosts: Vec::new(),
                origins: Vec::new(),
                timeout: Duration::from_secs(120),
                max_requests: 256,
            },
        }
    }
}

impl Variable {
    /// Reads the variable into its place; a value that is not accepted is a problem of the reader.
    pub(super) fn read(&self, read: &mut Reader<'_>, draft: &mut Draft) {
        match &self.field {
            Field::Choice(place) => self.read_word(read, place(draft)),
            Field::Text(place) => {
                if let Some(text) = read.text(self.name) {
                    *place(draft) = text;
                }
            }
            Field::Secret(place) => *place(draft) = read.secret(self.name),
            Field::Path(place) => *place(draft) = read.path(self.name),
            Field::Directories(place) => *place(draft) = read.directories(self.name),
            Field::List(place) => {
                if let Some(text) = read.text(self.name) {
                    *place(draft) = entries(&text);
                }
            }
            _ => {
                if let Some((range, default)) = self.field.number(draft)
                    && let Some(value) =
                        read.number(self.name, self.field.of_unit(), range, default)
                {
                    self.field.set_number(draft, value);
                }
            }
        }
    }

    fn read_word(&self, read: &mut Reader<'_>, choice: &mut dyn Choice) {
        if let Some(text) = read.text(self.name)
            && !choice.set(text.trim())
        {
            let words = choice.words().join(", ");
            read.problem(format!(
                "{}={text:?} is not accepted: one of {words}",
                self.name
            ));
        }
    }

    /// What the variable accepts, in a few words.
    pub(super) fn accepts(&self, draft: &mut Draft) -> String {
        match &self.field {
            Field::Choice(place) => return place(draft).words().join(", "),
            Field::Text(_) | Field::Secret(_) => return "text".into(),
            Field::Path(_) => return "a path".into(),
            Field::Directories(_) => return "directories".into(),
            Field::List(_) => return "a list".into(),
            _ => {}
        }
        let range = self.field.number(draft).map(|(range, _)| range);
        let (low, high) = range.unwrap_or(0..=0).into_inner();
        format!("{low} to {high}")
    }

    /// The value in the draft, as a variable would spell it.
    pub(super) fn shown(&self, draft: &mut Draft) -> String {
        let text = match &self.field {
            Field::Choice(place) => place(draft).word().to_owned(),
            Field::Text(place) => place(draft).clone(),
            Field::Secret(place) => place(draft).as_ref().map_or("", |_| "(set)").to_owned(),
            Field::Path(place) => {
                let path = place(draft).as_ref();
                path.map_or_else(String::new, |path| path.display().to_string())
            }
            Field::Directories(place) => {
                let paths = std::env::join_paths(place(draft).iter());
                paths.unwrap_or_default().to_string_lossy().into_owned()
            }
            Field::List(place) => place(draft).join(","),
            _ => self
                .field
                .number(draft)
                .map_or_else(String::new, |(_, value)| value.to_string()),
        };
        if text.is_empty() {
            return self.unset.to_owned();
        }
        text
    }
}

impl Field {
    /// The range and the value of a number.
    fn number(&self, draft: &mut Draft) -> Option<(RangeInclusive<u64>, u64)> {
        Some(match self {
            Self::Millis(place, range) => (range.clone(), millis(*place(draft))),
            Self::MillisOrNever(place, most) => (0..=*most, place(draft).map_or(0, millis)),
            Self::Count(place, range) => (range.clone(), *place(draft) as u64),
            Self::CountOrNever(place, most) => (0..=*most, place(draft).unwrap_or(0)),
            Self::MibOrNever(place, most) => (0..=*most, place(draft).unwrap_or(0) / MIB),
            Self::Bytes(place, range) => (range.clone(), *place(draft)),
            _ => return None,
        })
    }

    /// The unit of a number, as a message names it.
    fn of_unit(&self) -> &'static str {
        match self {
            Self::Millis(..) => " of milliseconds",
            Self::MillisOrNever(..) => " of milliseconds (0 = never)",
            Self::CountOrNever(..) => " (0 = never)",
            Self::MibOrNever(..) => " of MiB (0 = never)",
            Self::Bytes(..) => " of bytes",
            _ => "",
        }
    }

    fn set_number(&self, draft: &mut Draft, value: u64) {
        let some = (value != 0).then_some(value);
        match self {
            Self::Millis(place, _) => *place(draft) = Duration::from_millis(value),
            Self::MillisOrNever(place, _) => *place(draft) = some.map(Duration::from_millis),
            Self::Count(place, _) => *place(draft) = usize::try_from(value).unwrap_or(usize::MAX),
            Self::CountOrNever(place, _) => *place(draft) = some,
            Self::MibOrNever(place, _) => *place(draft) = some.map(|mib| mib.saturating_mul(MIB)),
            Self::Bytes(place, _) => *place(draft) = value,
            _ => {}
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The entries of a list, without the white space around them and without empty ones.
fn entries(text: &str) -> Vec<String> {
    text.split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .map(str::to_owned)
        .collect()
}
