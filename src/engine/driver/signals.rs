//! Reasons why a document may be a risk: what was found, and where.

use crate::engine::value::Value;

/// A kind of content that a reviewer wants to know of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Signal {
    JavaScript,
    XfaJavaScript,
    XfaFormCalc,
    LaunchAction,
    SubmitForm,
    ImportData,
    Multimedia,
    ExternalReference,
    EmbeddedFile,
    EmbeddedExecutable,
    EncryptedContent,
    UnreadableContent,
}

/// How much a signal weighs. The order is ascending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    /// The content could not be examined.
    Unknown,
    Low,
    Medium,
    High,
}

impl Signal {
    const fn as_str(self) -> &'static str {
        match self {
            Self::JavaScript => "javascript",
            Self::XfaJavaScript => "xfa_javascript",
            Self::XfaFormCalc => "xfa_formcalc",
            Self::LaunchAction => "launch_action",
            Self::SubmitForm => "submit_form",
            Self::ImportData => "import_data",
            Self::Multimedia => "multimedia",
            Self::ExternalReference => "external_reference",
            Self::EmbeddedFile => "embedded_file",
            Self::EmbeddedExecutable => "embedded_executable",
            Self::EncryptedContent => "encrypted_content",
            Self::UnreadableContent => "unreadable_content",
        }
    }

    const fn severity(self) -> Severity {
        match self {
            Self::JavaScript
            | Self::XfaJavaScript
            | Self::LaunchAction
            | Self::EmbeddedExecutable => Severity::High,
            Self::XfaFormCalc | Self::SubmitForm | Self::ImportData | Self::Multimedia => {
                Severity::Medium
            }
            Self::ExternalReference | Self::EmbeddedFile => Severity::Low,
            Self::EncryptedContent | Self::UnreadableContent => Severity::Unknown,
        }
    }
}

impl Severity {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// The signals of a document, one entry for each kind.
#[derive(Debug, Default)]
pub(crate) struct RiskSignals {
    found: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    signal: Signal,
    count: u64,
    /// Where the first one is.
    location: String,
}

impl RiskSignals {
    /// Adds a signal. Of each kind the first location is kept.
    pub(crate) fn add(&mut self, signal: Signal, location: impl FnOnce() -> String) {
        match self.found.iter_mut().find(|entry| entry.signal == signal) {
            Some(entry) => entry.count += 1,
            None => self.found.push(Entry {
                signal,
                count: 1,
                location: location(),
            }),
        }
    }

    pub(crate) fn has_any(&self, signals: &[Signal]) -> bool {
        self.found
            .iter()
            .any(|entry| signals.contains(&entry.signal))
    }

    /// How many there are of a kind.
    pub(crate) fn count(&self, signal: Signal) -> u64 {
        self.found
            .iter()
            .find(|entry| entry.signal == signal)
            .map_or(0, |entry| entry.count)
    }

    /// The contract's rating: that of the gravest signal.
    pub(crate) fn risk(&self) -> &'static str {
        let gravest = self.found.iter().map(|entry| entry.signal.severity()).max();
        match gravest {
            None | Some(Severity::Unknown) => "none",
            Some(severity) => severity.as_str(),
        }
    }

    /// The value of `security.risk_signals`: the gravest first.
    pub(crate) fn value(&self) -> Value {
        let mut entries: Vec<&Entry> = self.found.iter().collect();
        entries.sort_by_key(|entry| (std::cmp::Reverse(entry.signal.severity()), entry.signal));
        let object = |entry: &Entry| {
            Value::object([
                ("count", Value::from(entry.count)),
                ("location", Value::from(entry.location.as_str())),
                ("severity", Value::word(entry.signal.severity().as_str())),
                ("signal", Value::word(entry.signal.as_str())),
            ])
        };
        Value::List(entries.into_iter().map(object).collect())
    }
}
