//! One probe: route, plan, execute, report.

use std::rc::Rc;

use super::budget::Meter;
use super::catalogue::Profile;
use super::driver::{self, Probe};
use super::error::{ProbeError, Result};
use super::findings::Findings;
use super::plan::Plan;
use super::report::{KeyOrder, Report};
use super::source::Source;
use super::{clip, derived, detect};
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
    let mut truncated = Vec::new();
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
        if plan.options.clips {
            truncated = clip::values(&mut found);
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
        truncated: &truncated,
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

/// Whether a probe that met a budget has a value for anything that was requested. With nothing known,
/// the probe is an error.
fn is_worth_reporting(plan: &Plan, found: &Findings) -> bool {
    let mut requested = plan.requested.iter();
    requested.any(|target| found.value(target).is_some())
}
