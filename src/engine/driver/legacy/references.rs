//! The path `office_legacy.references`: what leads out of the document, and the risk that follows. It may
//! read the whole main stream, so it has the highest price and runs last: a spent budget costs the other
//! paths nothing.

use super::{Content, Legacy, inventory};
use crate::contract::Confidence::High;
use crate::engine::catalogue::Target;
use crate::engine::driver::risk::{Risk, Signals};
use crate::engine::driver::vba;
use crate::engine::error::Result;
use crate::engine::findings::Findings;

/// What the document refers to outside of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outside {
    pub(super) dde: bool,
    /// Linked workbooks, pictures, texts and objects.
    pub(super) links: bool,
    pub(super) hyperlinks: bool,
    /// Queries of databases and web pages.
    pub(super) connections: bool,
}

impl Outside {
    pub(super) fn any(self) -> bool {
        self.dde || self.links || self.hyperlinks || self.connections
    }
}

pub(super) fn run(legacy: &mut Legacy<'_>, out: &mut Findings) -> Result<()> {
    let outside = outside(legacy, out)?;
    let external = outside.map(Outside::any);
    let target = Target::SECURITY_HAS_EXTERNAL_RELATIONSHIPS;
    out.put_or_unknown(target, external, High, "links and hyperlinks");
    if !out.wants_any(&[
        Target::SECURITY_ACTIVE_CONTENT_RISK,
        Target::SECURITY_RISK_SIGNALS,
    ]) {
        return Ok(());
    }
    let signals = signals(legacy, outside, out)?;
    let source = "active content";
    let rating = signals.rating();
    out.put_or_unknown(Target::SECURITY_ACTIVE_CONTENT_RISK, rating, High, source);
    out.put_or_unknown(Target::SECURITY_RISK_SIGNALS, signals.value(), High, source);
    Ok(())
}

/// `None` when encryption or damage hides it.
fn outside(legacy: &mut Legacy<'_>, out: &Findings) -> Result<Option<Outside>> {
    Ok(match legacy.content(out)? {
        Content::Word(word) => word.counts()?.map(|counts| counts.outside),
        Content::Excel(excel) => excel.outside()?,
        Content::Powerpoint(powerpoint) => powerpoint.document()?.map(|document| Outside {
            links: document.has_external_references,
            ..Outside::default()
        }),
        Content::Package(_) | Content::Unreadable => None,
    })
}

fn signals(legacy: &mut Legacy<'_>, outside: Option<Outside>, out: &Findings) -> Result<Signals> {
    let mut signals = Signals::default();
    match inventory::macros(legacy, out)? {
        Some(Some(place)) => signals.add("vba_macros", Risk::High, place, None),
        Some(None) => {}
        None => signals.set_incomplete(),
    }
    let projects: Vec<_> = vba::projects(&legacy.cfb).collect();
    for (project, vba) in projects {
        let place = legacy.cfb.entry(project).name();
        for name in vba::auto_exec_names(&legacy.cfb, vba)? {
            signals.add("auto_exec_macro", Risk::High, place.clone(), Some(name));
        }
    }
    if let Content::Excel(excel) = legacy.content(out)?
        && let Some(globals) = excel.globals()?
    {
        for sheet in globals.sheets.iter().filter(|sheet| sheet.is_macro_sheet) {
            let name = sheet.name.clone();
            signals.add("xlm_macro_sheet", Risk::High, "Workbook", name);
        }
    }
    match inventory::has_embedded_objects(legacy, out)? {
        Some(true) => signals.add("embedded_object", Risk::Medium, "object storage", None),
        Some(false) => {}
        None => signals.set_incomplete(),
    }
    let Some(outside) = outside else {
        signals.set_incomplete();
        return Ok(signals);
    };
    for (found, kind, risk) in [
        (outside.dde, "dde_link", Risk::Medium),
        (outside.links, "external_link", Risk::Low),
        (outside.connections, "external_connection", Risk::Low),
        (outside.hyperlinks, "hyperlink", Risk::Low),
    ] {
        if found {
            signals.add(kind, risk, "main stream", None);
        }
    }
    Ok(signals)
}
