//! The four budgets of a probe, as overrides and as limits in force.

use super::Level;

/// A caller's overrides. `None` means "the level's default". The engine also accepts 0 ("nothing
/// allowed"); the MCP surface asks for positive numbers and checks that itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Most bytes read from the file (`--probe-size`).
    pub max_physical_bytes: Option<u64>,
    /// Most bytes after decompression (`--max-expanded-bytes`).
    pub max_expanded_bytes: Option<u64>,
    /// Most entries in an archive (`--max-archive-entries`).
    pub max_archive_entries: Option<u64>,
    /// The engine's own, cooperative, time limit in milliseconds (`--timeout-ms`).
    pub timeout_ms: Option<u64>,
}

impl Budget {
    /// The same budget without the overrides that only repeat the default of `level`, so that equal
    /// requests share one profile.
    #[must_use]
    pub fn normalized(self, level: Level) -> Self {
        let default = Limits::of(level);
        let drop_default = |value: Option<u64>, default: u64| value.filter(|v| *v != default);
        Self {
            max_physical_bytes: drop_default(self.max_physical_bytes, default.physical_bytes),
            max_expanded_bytes: drop_default(self.max_expanded_bytes, default.expanded_bytes),
            max_archive_entries: drop_default(self.max_archive_entries, default.archive_entries),
            timeout_ms: drop_default(self.timeout_ms, default.timeout_ms),
        }
    }
}

/// The limits in force for one probe: the level's defaults with a caller's overrides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that may be read from the source.
    pub physical_bytes: u64,
    /// Bytes that may come out of decompression.
    pub expanded_bytes: u64,
    /// Distinct entries that an archive may have.
    pub archive_entries: u64,
    /// Milliseconds from the start of the probe.
    pub timeout_ms: u64,
}

impl Limits {
    /// The defaults of a level (contract §4).
    #[must_use]
    pub const fn of(level: Level) -> Self {
        const MIB: u64 = 1024 * 1024;
        let (physical, expanded, entries, timeout) = match level {
            Level::Header => (4 * MIB, 4 * MIB, 4096, 500),
            Level::Metadata => (16 * MIB, 8 * MIB, 10_000, 500),
            Level::Deep => (128 * MIB, 256 * MIB, 50_000, 5000),
        };
        Self {
            physical_bytes: physical,
            expanded_bytes: expanded,
            archive_entries: entries,
            timeout_ms: timeout,
        }
    }

    /// The defaults of a level with a caller's overrides.
    #[must_use]
    pub fn with(level: Level, budget: &Budget) -> Self {
        let default = Self::of(level);
        Self {
            physical_bytes: budget.max_physical_bytes.unwrap_or(default.physical_bytes),
            expanded_bytes: budget.max_expanded_bytes.unwrap_or(default.expanded_bytes),
            archive_entries: budget
                .max_archive_entries
                .unwrap_or(default.archive_entries),
            timeout_ms: budget.timeout_ms.unwrap_or(default.timeout_ms),
        }
    }
}
