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
    // What follows is not the contract's. It may hold names from the request or the document.
    for (code, text) in [
        ("SELECTOR_NARROWED", &report.plan.narrowed),
        ("TARGET_NOT_APPLICABLE", &report.plan.not_applicable),
    ] {
        if let Some(text) = text {
            list.text("info", code, text);
        }
    }
    for text in report.truncated {
        list.text("warning", "VALUE_TRUNCATED", text);
    }
    if let Some(reason) = report.cut_short {
        list.text("warning", "BUDGET_EXCEEDED", reason);
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

    /// Appends a diagnostic whose message has to be escaped.
    fn text(&mut self, level: &str, code: &str, message: &str) {
        self.start(level, code);
        json::string(self.out, message);
        self.out.push(b'}');
    }

    /// Appends one warning up to its message.
    fn begin(&mut self, code: &str) {
        self.start("warning", code);
    }

    fn start(&mut self, level: &str, code: &str) {
        if !std::mem::take(&mut self.is_empty) {
            self.out.push(b',');
        }
        let parts = match self.order {
            KeyOrder::Sorted => [r#"{"code":""#, code, r#"","level":""#, level],
            KeyOrder::Declared => [r#"{"level":""#, level, r#"","code":""#, code],
        };
        for part in parts.into_iter().chain([r#"","message":"#]) {
            self.out.extend_from_slice(part.as_bytes());
        }
    }
}
