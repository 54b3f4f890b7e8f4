//! One probe: route, plan, execute, report.

use std::rc::Rc;

use super::budget::Meter;
use super::catalogue::{Profile, index};
use super::driver::{self, Probe};
use super::error::{ProbeError, Result};
use super::findings::Findings;
use super::plan::Plan;
use super::report::{KeyOrder, Report};
use super::source::Source;
use super::{clip, derived, detect, identify};
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
    let extension = extension.as_deref();
    let routed = detect::route(source, extension, prepared.options().level);
    let by_name = routed.as_ref().ok().copied();
    let error = match routed.and_then(|profile| run_as(profile, source, prepared, order, out)) {
        Err(error) if error.is_about_format() => error,
        outcome => return outcome,
    };
    let Ok(Some(content)) = identify::identify(source) else {
        return Err(error);
    };
    if content.profile.is_some() && content.profile == by_name {
        return Err(error);
    }
    if let Some(profile) = content.profile
        && (extension.is_none() || requests_identity(prepared.options(), profile))
    {
        match run_as(profile, source, prepared, order, out) {
            Err(error) if error.is_about_format() => {}
            outcome => return outcome,
        }
    }
    Err(match content.profile {
        None => error.with_note(format_args!("the content is {}", content.name)),
        Some(_) => error.with_note(format_args!(
            "the content is {}; format_profile and @header are answered for it",
            content.name
        )),
    })
}

/// Whether a request names identity targets. Selectors that hold them among others do not count: who
/// wants the facts of a document under a wrong name is told about the name.
fn requests_identity(options: &ProbeOptions, profile: Profile) -> bool {
    let index = index(profile);
    let is_identity = |name: &String| {
        name == "@header"
            || index
                .find(name)
                .is_some_and(|target| target.spec().is_identity)
    };
    options.targets.iter().any(is_identity)
}

/// Probes a source as a document of a profile.
fn run_as(
    profile: Profile,
    source: &Source,
    prepared: &Prepared,
    order: KeyOrder,
    out: &mut Vec<u8>,
) -> Result<u8> {
    let extension = detect::extension(source.display_name());
    let options = prepared.options();
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
