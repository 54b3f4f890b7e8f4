//! The drivers: one file (or folder) a format family.
//!
//! A driver opens and verifies its container, then runs the paths that the plan chose, in order. It
//! keeps what it has read, so a part is read and parsed at most once a record, however many targets
//! need it. A fact that it cannot know is an honest `unknown`; only an error that makes the whole
//! probe meaningless ends it. Budget errors are always passed on.

pub(crate) mod identity;
pub(crate) mod iwork;
pub(crate) mod legacy;
pub(crate) mod ooxml;
pub(crate) mod pdf;

use super::catalogue::{FormatOptions, PathId, Profile};
use super::error::Result;
use super::findings::Findings;
use super::meter::Meter;
use super::source::Source;
use crate::contract::Level;

/// What a driver has to work with.
#[derive(Debug)]
pub(crate) struct Probe<'p> {
    /// The bytes.
    pub(crate) source: &'p Source,
    /// What the input was routed to.
    pub(crate) profile: Profile,
    /// The extension of the display name, lower case, without dot.
    pub(crate) extension: &'p str,
    /// Format options in force.
    pub(crate) options: FormatOptions,
    /// How deep the probe goes.
    pub(crate) level: Level,
    /// The paths that will run, in order.
    pub(crate) paths: &'p [PathId],
}

impl Probe<'_> {
    /// The budgets of this probe.
    pub(crate) fn meter(&self) -> &Meter {
        self.source.meter()
    }
}

/// One format family.
pub(crate) trait Driver<'p>: Sized {
    /// Opens and verifies the container. It reads no more than that needs.
    ///
    /// # Errors
    /// `MALFORMED_INPUT` when the container is not what the profile says, and budget errors.
    fn open(probe: &'p Probe<'p>) -> Result<Self>;

    /// The driver for the paths that follow one that met a budget. What it holds of a part that did not
    /// fit is mostly not to be built upon, so it is opened anew.
    ///
    /// # Errors
    /// As [`Driver::open`].
    fn after_budget(self, probe: &'p Probe<'p>) -> Result<Self> {
        drop(self);
        Self::open(probe)
    }

    /// Runs one path and puts what it finds.
    ///
    /// # Errors
    /// Budget errors, and what makes the whole probe meaningless.
    fn run(&mut self, path: PathId, out: &mut Findings) -> Result<()>;
}
