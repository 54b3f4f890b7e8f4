//! The drivers: one file (or folder) a format family.
//!
//! A driver opens and verifies its container, then runs the paths that the plan chose, in order. It
//! keeps what it has read, so a part is read and parsed at most once a record, however many targets
//! need it. A fact that it cannot know is an honest `unknown`; only an error that makes the whole
//! probe meaningless ends it. Budget errors are always passed on.

pub(crate) mod field_code;
pub(crate) mod identity;
pub(crate) mod iwork;
pub(crate) mod legacy;
pub(crate) mod ooxml;
mod pdf;
mod risk;
mod signals;
mod vba;

use self::legacy::Legacy;
use self::pdf::Pdf;
use super::budget::Meter;
use super::catalogue::{DriverId, FormatOptions, PathId, Profile, Target};
use super::digest;
use super::error::Result;
use super::findings::{Findings, Status};
use super::source::Source;
use crate::contract::Confidence::Exact;
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

/// Runs the planned paths with the driver of the profile.
///
/// # Errors
/// The first budget error, once all paths have had their turn; everything else at once.
pub(crate) fn execute(probe: &Probe<'_>, out: &mut Findings) -> Result<()> {
    match probe.profile.driver() {
        DriverId::Word => drive::<ooxml::Word<'_>>(probe, out),
        DriverId::Excel => drive::<ooxml::Excel<'_>>(probe, out),
        DriverId::Powerpoint => drive::<ooxml::Powerpoint<'_>>(probe, out),
        DriverId::Pdf => drive::<Pdf<'_>>(probe, out),
        DriverId::OfficeLegacy => drive::<Legacy<'_>>(probe, out),
        DriverId::Keynote | DriverId::Numbers | DriverId::Pages => {
            drive::<iwork::Iwork<'_>>(probe, out)
        }
    }
}

/// Looks into a container where routing includes that, although nothing will be executed: with iWork a
/// damaged package is reported before a wrong request (contract §3, §8).
///
/// # Errors
/// `MALFORMED_INPUT`, and budget errors.
pub(crate) fn check_route(profile: Profile, source: &Source) -> Result<()> {
    match profile.driver() {
        DriverId::Keynote | DriverId::Numbers | DriverId::Pages => iwork::check_package(source),
        _ => Ok(()),
    }
}

/// A budget costs the path that met it, not the others: a part that is too large says nothing about the
/// next one.
fn drive<'p, D: Driver<'p>>(probe: &'p Probe<'p>, out: &mut Findings) -> Result<()> {
    let mut driver = match D::open(probe) {
        Err(error) if error.is_budget() => {
            for path in probe.paths {
                give_up(probe, *path, out);
            }
            return Err(error);
        }
        opened => opened?,
    };
    let mut first_hit = None;
    let mut paths = probe.paths.iter().copied();
    while let Some(path) = paths.next() {
        out.enter(path);
        let ran = probe.meter().check_clock().and_then(|()| match path {
            PathId::DocumentDigest => put_digest(probe.source, out),
            _ => driver.run(path, out),
        });
        let Err(error) = ran else {
            continue;
        };
        if !error.is_budget() {
            return Err(first_hit.unwrap_or(error));
        }
        first_hit.get_or_insert(error);
        give_up(probe, path, out);
        match driver.after_budget(probe) {
            Ok(next) => driver = next,
            Err(_) => {
                paths.for_each(|path| give_up(probe, path, out));
                break;
            }
        }
    }
    first_hit.map_or(Ok(()), Err)
}

fn put_digest(source: &Source, out: &mut Findings) -> Result<()> {
    let digest = digest::sha256(source)?;
    out.put(
        Target::DOCUMENT_SHA256,
        digest,
        Exact,
        "all bytes of the input",
    );
    Ok(())
}

/// Records for everything that a path would have yielded that a budget stopped it. What the document
/// is called and begins with is known all the same.
fn give_up(probe: &Probe<'_>, path: PathId, out: &mut Findings) {
    out.enter(path);
    if path.row().is_identity {
        identity::put_unverified(probe, out);
    }
    for target in path.yields().all().iter() {
        out.no_value(target, Status::BudgetExceeded);
    }
}
