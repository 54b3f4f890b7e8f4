//! The budgets of one probe, and what it has spent.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::error::{ProbeError, Result};
use crate::contract::Limits;

/// Counts what a probe reads and inflates, and says no **before** a limit is passed.
///
/// One meter serves all readers of a probe, so a budget is per probe, not per part.
#[derive(Debug)]
pub(crate) struct Meter {
    limits: Limits,
    started: Instant,
    physical: Cell<u64>,
    expanded: Cell<u64>,
    random_reads: Cell<u64>,
    position: Cell<u64>,
}

/// What a probe has spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Bytes requested from the source.
    pub(crate) physical_bytes: u64,
    /// Bytes that came out of decompression.
    pub(crate) expanded_bytes: u64,
    /// Reads that did not begin where the one before ended.
    pub(crate) random_reads: u64,
}

impl Meter {
    /// Starts the clock.
    pub(crate) fn start(limits: Limits) -> Self {
        Self {
            limits,
            started: Instant::now(),
            physical: Cell::new(0),
            expanded: Cell::new(0),
            random_reads: Cell::new(0),
            position: Cell::new(0),
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    pub(crate) fn cost(&self) -> Cost {
        Cost {
            physical_bytes: self.physical.get(),
            expanded_bytes: self.expanded.get(),
            random_reads: self.random_reads.get(),
        }
    }

    /// Ends the probe when its time is up. Loops over file-controlled counts call it now and then.
    ///
    /// # Errors
    /// `BUDGET_EXCEEDED` past the time limit.
    pub(crate) fn check_clock(&self) -> Result<()> {
        if self.elapsed() > Duration::from_millis(self.limits.timeout_ms) {
            return Err(self.exceeded(format_args!(
                "timeout of {} ms exceeded",
                self.limits.timeout_ms
            )));
        }
        Ok(())
    }

    /// Takes `len` bytes at `offset` from the physical budget, before they are read.
    ///
    /// # Errors
    /// `BUDGET_EXCEEDED` when they do not fit, or past the time limit.
    pub(crate) fn charge_physical(&self, offset: u64, len: u64) -> Result<()> {
        self.check_clock()?;
        let total = self.physical.get().saturating_add(len);
        if total > self.limits.physical_bytes {
            return Err(self.exceeded(format_args!(
                "reading {len} more bytes at offset {offset} would pass the physical read budget \
                 of {} bytes",
                self.limits.physical_bytes
            )));
        }
        if self.position.replace(offset.saturating_add(len)) != offset {
            self.random_reads.set(self.random_reads.get() + 1);
        }
        self.physical.set(total);
        Ok(())
    }

    /// How many bytes may still come out of decompression.
    pub(crate) fn expanded_left(&self) -> u64 {
        self.limits
            .expanded_bytes
            .saturating_sub(self.expanded.get())
    }

    /// Takes `len` bytes from the expansion budget, before or while they are produced.
    ///
    /// # Errors
    /// `BUDGET_EXCEEDED` when they do not fit; `what` names the part.
    pub(crate) fn charge_expanded(&self, len: u64, what: &str) -> Result<()> {
        let total = self.expanded.get().saturating_add(len);
        if total > self.limits.expanded_bytes {
            return Err(self.exceeded(format_args!(
                "expanding {what} would pass the budget of {} expanded bytes",
                self.limits.expanded_bytes
            )));
        }
        self.expanded.set(total);
        Ok(())
    }

    /// Checks the number of distinct entries of an archive.
    ///
    /// # Errors
    /// `BUDGET_EXCEEDED` above the limit.
    pub(crate) fn check_entries(&self, entries: u64) -> Result<()> {
        if entries > self.limits.archive_entries {
            return Err(self.exceeded(format_args!(
                "the archive has more than {} entries",
                self.limits.archive_entries
            )));
        }
        Ok(())
    }

    /// A budget error that says what was spent so far.
    pub(crate) fn exceeded(&self, message: std::fmt::Arguments<'_>) -> ProbeError {
        let cost = self.cost();
        ProbeError::budget(format_args!(
            "{message}; spent {} bytes read, {} bytes expanded, {} ms",
            cost.physical_bytes,
            cost.expanded_bytes,
            self.elapsed().as_millis()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Budget, Level};

    fn meter(budget: Budget) -> Meter {
        Meter::start(Limits::with(Level::Metadata, &budget))
    }

    #[test]
    fn a_budget_is_used_up_to_the_last_byte_and_not_beyond() {
        let meter = meter(Budget {
            max_physical_bytes: Some(10),
            max_expanded_bytes: Some(10),
            ..Budget::default()
        });
        assert!(meter.charge_physical(0, 10).is_ok());
        let refused = meter.charge_physical(10, 1).unwrap_err();
        assert!(refused.is_budget() && refused.message().contains("spent 10 bytes read"));
        assert!(meter.charge_expanded(10, "a part").is_ok());
        assert_eq!(meter.expanded_left(), 0);
        assert!(
            meter
                .charge_expanded(1, "a part")
                .unwrap_err()
                .message()
                .contains("a part")
        );
        assert_eq!(meter.cost().physical_bytes, 10);
    }

    #[test]
    fn a_read_that_goes_on_where_the_last_one_ended_is_not_random() {
        let meter = meter(Budget::default());
        for (offset, len) in [(0, 8), (8, 8), (100, 4), (104, 4), (0, 8)] {
            meter.charge_physical(offset, len).unwrap();
        }
        assert_eq!(meter.cost().random_reads, 2);
    }
}
