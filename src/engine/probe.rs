//! One probe: route, plan, execute, report.

use std::rc::Rc;

use super::catalogue::{DriverId, PathId, Profile, Target, TargetSet};
use super::detect;
use super::driver::legacy::Legacy;
use super::driver::pdf::Pdf;
use super::driver::{Driver, Probe, iwork, ooxml};
use super::error::{ProbeError, Result};
use super::findings::{Findings, Status};
use super::meter::Meter;
use super::plan::Plan;
use super::report::{KeyOrder, Report};
use super::source::Source;
use crate::contract::ProbeOptions;

/// An option set with the plans that were made for it: one a profile, made at first need, so that the
/// thousandth record of a process plans nothing.
#[derive(Debug)]
pub(crate) struct Prepared {
    options: ProbeOptions,
    plans: [std::cell::OnceCell<Result<Rc<Plan>>>; Profile::COUNT],
}

impl Prepared {
    pub(crate) fn new(options: ProbeOptions) -> Self {
        Self {
            options,
            plans: std::array::from_fn(|_| std::cell::OnceCell::new()),
        }
    }

    pub(crate) fn options(&self) -> &ProbeOptions {
        &self.options
    }

    fn plan(&self, profile: Profile) -> Result<Rc<Plan>> {
        self.plans[profile as usize]
            .get_or_init(|| Plan::new(&self.options, profile).map(Rc::new))
            .clone()
    }
}

/// Probes a source and appends its report, without line feed. Returns the exit status that the
/// record stands for.
///
/// # Errors
/// Everything that ends a probe without a report; nothing was appended then.
pub(crate) fn run(
    source: &Source,
    prepared: &Prepared,
    order: KeyOrder,
    out: &mut Vec<u8>,
) -> Result<u8> {
    let extension = detect::extension(source.display_name());
    let options = prepared.options();
    let profile = detect::route(source, extension.as_deref(), options.level)?;
    let plan = prepared.plan(profile);
    if profile.is_iwork() && (plan.is_err() || options.plan_only) {
        // To route an iWork document means to look into its package (contract §3, §8), so what is
        // wrong with that comes first, also where nothing would be executed.
        iwork::check_package(source)?;
    }
    let plan = plan?;
    let mut findings = None;
    let mut cut_short = None;
    if !options.plan_only {
        let probe = Probe {
            source,
            profile,
            extension: extension.as_deref().unwrap_or_default(),
            options: plan.options,
            level: plan.level,
            paths: &plan.paths,
        };
        let mut found = Findings::new(plan.wanted());
        if let Err(error) = execute(&probe, &mut found) {
            if !error.is_budget() || !is_worth_reporting(&plan, &found) {
                return Err(error);
            }
            cut_short = Some(error);
        }
        findings = Some(found);
    }
    let meter = source.meter();
    let report = Report {
        source,
        profile,
        plan: &plan,
        findings: findings.as_ref(),
        unresolved: plan.unresolved(findings.as_ref()),
        cost: meter.cost(),
        elapsed_ms: options.telemetry.then(|| elapsed_ms(meter)),
        cut_short: cut_short.as_ref().map(ProbeError::message),
    };
    report.write(options.view, order, out);
    Ok(if options.strict && !report.is_ok() {
        5
    } else {
        0
    })
}

fn elapsed_ms(meter: &Meter) -> f64 {
    meter.elapsed().as_secs_f64() * 1000.0
}

fn execute(probe: &Probe<'_>, out: &mut Findings) -> Result<()> {
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

/// Runs the planned paths. A budget costs the path that met it, not the others (a part that is too
/// large says nothing of the next one); the first such error is returned at the end.
fn drive<'p, D: Driver<'p>>(probe: &'p Probe<'p>, out: &mut Findings) -> Result<()> {
    let mut driver = D::open(probe)?;
    let mut first_hit = None;
    let mut paths = probe.paths.iter().copied();
    while let Some(path) = paths.next() {
        out.enter(path);
        let ran = probe.meter().check_clock();
        let Err(error) = ran.and_then(|()| driver.run(path, out)) else {
            continue;
        };
        if !error.is_budget() {
            return Err(first_hit.unwrap_or(error));
        }
        first_hit.get_or_insert(error);
        give_up(path, out);
        match driver.after_budget(probe) {
            Ok(next) => driver = next,
            Err(_) => {
                paths.for_each(|path| give_up(path, out));
                break;
            }
        }
    }
    first_hit.map_or(Ok(()), Err)
}

/// Says of everything that a path would have yielded that a budget stopped it.
fn give_up(path: PathId, out: &mut Findings) {
    out.enter(path);
    for target in path.spec().targets.union(path.spec().ours).iter() {
        out.no_value(target, Status::BudgetExceeded);
    }
}

/// Whether there is anything beyond identity. If so, a probe that met a budget reports it and is
/// partial; with nothing known, the probe is an error.
fn is_worth_reporting(plan: &Plan, found: &Findings) -> bool {
    let is_fact = |target: Target| !IDENTITY.contains(target) && found.value(target).is_some();
    plan.requested.iter().any(is_fact)
}

/// What is known of every input whose container could be opened: no result worth keeping by itself.
const IDENTITY: TargetSet = PathId::OoxmlIdentity
    .spec()
    .targets
    .union(PathId::PdfHeader.spec().targets)
    .union(PathId::IworkIdentity.spec().targets)
    .union(TargetSet::of(&[
        Target::OFFICE_LEGACY_KIND,
        Target::OFFICE_CFB_CONTAINER,
        Target::OFFICE_CFB_ENTRY_COUNT,
        Target::OFFICE_CONTENT_PROBE_SUPPORTED,
    ]));
