//! The fixed words of the contract.

use std::fmt;
use std::str::FromStr;

/// The version of the JSON envelope, `schema_version` everywhere.
pub const SCHEMA_VERSION: u32 = 2;

/// The version of the engine contract that this package implements and expects.
pub const CONTRACT_VERSION: &str = "2.4.0";

/// How deep a probe may look. Ordered: a deeper level includes the shallower ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Identity only: the signature and what the container says about itself.
    Header,
    /// Properties, inventories and cheap structure; the engine's default.
    #[default]
    Metadata,
    /// Everything, the main parts included.
    Deep,
}

impl Level {
    /// All levels, shallow to deep.
    pub const ALL: [Self; 3] = [Self::Header, Self::Metadata, Self::Deep];

    /// The word of the contract.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Metadata => "metadata",
            Self::Deep => "deep",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Level {
    type Err = ();

    /// Parses the long word only; the engine's short spellings belong to its command line.
    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL
            .into_iter()
            .find(|level| level.as_str() == text)
            .ok_or(())
    }
}

/// How strong the evidence for a value is. Ordered from weak to strong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// No value.
    None,
    /// Weak or indirect evidence.
    Low,
    /// Inferred from a proxy.
    Medium,
    /// A statistic that the authoring application saved; the engine's default minimum.
    #[default]
    High,
    /// Read from the structure that defines the fact.
    Exact,
}

impl Confidence {
    /// The labels that a caller may ask for (`none` is refused).
    pub const ASKABLE: [Self; 4] = [Self::Low, Self::Medium, Self::High, Self::Exact];

    /// The word of the contract.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Exact => "exact",
        }
    }

    /// The fixed number that stands beside the label. It is no probability.
    #[must_use]
    pub const fn score(self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Low => 0.4,
            Self::Medium => 0.7,
            Self::High => 0.95,
            Self::Exact => 1.0,
        }
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Confidence {
    type Err = ();

    /// Parses the long word only, `none` refused, as a caller may ask for it.
    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ASKABLE
            .into_iter()
            .find(|label| label.as_str() == text)
            .ok_or(())
    }
}

/// Which shape of report is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum View {
    /// Values with evidence and cost. Called `report` on the MCP surface and `full` on the engine's
    /// command line.
    #[default]
    Report,
    /// Just target → value.
    Values,
}

impl View {
    /// The engine's word (`--view=…`).
    #[must_use]
    pub const fn as_engine_str(self) -> &'static str {
        match self {
            Self::Report => "full",
            Self::Values => "values",
        }
    }

    /// The word of the MCP surface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Values => "values",
        }
    }
}

impl FromStr for View {
    type Err = ();

    /// Accepts the words of both surfaces.
    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "report" | "full" => Ok(Self::Report),
            "values" => Ok(Self::Values),
            _ => Err(()),
        }
    }
}
