//! One probe: route, plan, execute, report.

use std::rc::Rc;

use super::budget::Meter;
use super::catalogue::{PathId, Profile, Target, TargetSet};
use super::driver::{self, Probe};
use super::error::{ProbeError, Result};
use super::findings::Findings;
use super::plan::Plan;
use super::report::{KeyOrder, Report};
use super::source::Source;
use super::{derived, detect};
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
    if plan.is_err() || options.plan_only {
        driver::check_route(profile, source)?;
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
        let wanted = plan.wanted();
        let mut found = Findings::new(wanted.union(derived::sources(wanted)));
        if let Err(error) = driver::execute(&probe, &mut found) {
            if !error.is_budget() || !is_worth_reporting(&plan, &found) {
                return Err(error);
            }
            cut_short = Some(error);
        }
        derived::fill(&mut found);
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

/// Whether there is anything beyond identity. If so, a probe that met a budget reports it and is
/// partial; with nothing known, the probe is an error.
fn is_worth_reporting(plan: &Plan, found: &Findings) -> bool {
    let is_fact = |target: Target| !IDENTITY.contains(target) && found.value(target).is_some();
    plan.requested.iter().any(is_fact)
}

/// What is known of every input whose container could be opened: no result worth keeping by itself.
const IDENTITY: TargetSet = PathId::OoxmlIdentity
    .yields()
    .targets
    .union(PathId::PdfHeader.yields().targets)
    .union(PathId::IworkIdentity.yields().targets)
    .union(TargetSet::of(&[
        Target::OFFICE_LEGACY_KIND,
        Target::OFFICE_CFB_CONTAINER,
        Target::OFFICE_CFB_ENTRY_COUNT,
        Target::OFFICE_CONTENT_PROBE_SUPPORTED,
    ]));
