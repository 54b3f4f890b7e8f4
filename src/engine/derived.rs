//! Targets that follow from the value of another one: dates in one syntax.

use super::catalogue::{Target, TargetSet};
use super::dates;
use super::findings::Findings;
use super::value::Value;
use crate::contract::Confidence;

/// A target and the one that it follows from.
const DATES: [(Target, Target); 2] = [
    (Target::DOCUMENT_CREATED_UTC, Target::DOCUMENT_CREATED_AT),
    (Target::DOCUMENT_MODIFIED_UTC, Target::DOCUMENT_MODIFIED_AT),
];

/// The targets that have to be found so that those of a set can be derived.
pub(crate) fn sources(wanted: TargetSet) -> TargetSet {
    DATES
        .iter()
        .filter(|(derived, _)| wanted.contains(*derived))
        .map(|(_, source)| *source)
        .collect()
}

/// Fills in what follows from the findings.
pub(crate) fn fill(findings: &mut Findings) {
    for (derived, source) in DATES {
        if !findings.wants(derived) {
            continue;
        }
        let Some(recorded) = findings.get(source).cloned() else {
            continue;
        };
        findings.enter(recorded.path);
        match &recorded.value {
            Some(Value::Text(text)) => match dates::to_utc(text) {
                Some(date) => {
                    let confidence = if date.has_zone {
                        recorded.confidence
                    } else {
                        recorded.confidence.min(Confidence::Medium)
                    };
                    findings.put(derived, date.text, confidence, recorded.source);
                }
                None => findings.unknown(derived),
            },
            Some(Value::Null) => {
                findings.put(derived, Value::Null, recorded.confidence, recorded.source);
            }
            Some(_) => findings.unknown(derived),
            None => findings.no_value(derived, recorded.status),
        }
    }
}
