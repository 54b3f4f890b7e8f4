//! The `diagnostics` of a report: what was asked for and not had, and why (contract §5).

use std::fmt::Arguments;
use std::io::Write as _;

use super::{KeyOrder, Report};
use crate::engine::json;

/// Appends the array. First what nobody planned, then what came back wanting, each ascending by id.
pub(super) fn write(report: &Report<'_>, order: KeyOrder, out: &mut Vec<u8>) {
    let mut list = List {
        order,
        out,
        is_empty: true,
    };
    list.out.push(b'[');
    for target in report.plan.unsupported.iter() {
        list.push(
            "UNSUPPORTED_TARGET_AT_REQUESTED_LEVEL",
            format_args!(
                "no path yields {} at level {} with the requested confidence",
                target.id(),
                report.plan.level
            ),
        );
    }
    if let Some(findings) = report.findings {
        let wanting = report.unresolved.difference(report.plan.unsupported);
        for target in wanting.iter() {
            let found = findings.get(target);
            match found.filter(|finding| finding.value.is_some()) {
                Some(finding) => list.push(
                    "INSUFFICIENT_CONFIDENCE",
                    format_args!(
                        "{} was found with confidence {}, below the requested {}",
                        target.id(),
                        finding.confidence,
                        report.plan.minimum(target)
                    ),
                ),
                None => {
                    list.begin("UNRESOLVED_TARGET");
                    let parts = [
                        "\"",
                        target.id(),
                        " could not be resolved from this document\"}",
                    ];
                    for part in parts {
                        list.out.extend_from_slice(part.as_bytes());
                    }
                }
            }
        }
    }
    if let Some(reason) = report.cut_short {
        // It may name a part of the document, whose name may hold anything.
        list.begin("BUDGET_EXCEEDED");
        json::string(list.out, reason);
        list.out.push(b'}');
    }
    list.out.push(b']');
}

struct List<'o> {
    order: KeyOrder,
    out: &'o mut Vec<u8>,
    is_empty: bool,
}

impl List<'_> {
    /// Appends one warning. The message is ours (ids, labels and numbers): nothing in it has to be
    /// escaped.
    fn push(&mut self, code: &str, message: Arguments<'_>) {
        self.begin(code);
        // Writing to memory cannot fail.
        let _infallible = write!(self.out, "\"{message}\"}}");
    }

    /// Appends one warning up to its message.
    fn begin(&mut self, code: &str) {
        if !std::mem::take(&mut self.is_empty) {
            self.out.push(b',');
        }
        let parts = match self.order {
            KeyOrder::Sorted => [r#"{"code":""#, code, r#"","level":"warning""#],
            KeyOrder::Declared => [r#"{"level":"warning","code":""#, code, r#"""#],
        };
        for part in parts.into_iter().chain([r#","message":"#]) {
            self.out.extend_from_slice(part.as_bytes());
        }
    }
}
