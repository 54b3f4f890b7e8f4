//! One entry of `results`.

use std::borrow::Cow;

use super::{KeyOrder, Report};
use crate::contract::Confidence;
use crate::engine::catalogue::Target;
use crate::engine::findings::Finding;
use crate::engine::json;

/// What is said of one target.
pub(super) enum Evidence<'f> {
    Found(&'f Finding),
    None {
        status: &'static str,
        path: &'static str,
    },
}

impl<'r> Evidence<'r> {
    /// What a report says of a target (contract §5).
    pub(super) fn of(report: &Report<'r>, target: Target) -> Self {
        match report.findings.map(|findings| findings.get(target)) {
            Some(Some(finding)) => Self::Found(finding),
            _ if report.plan.unsupported.contains(target) => Self::None {
                status: "unsupported",
                path: "planner",
            },
            Some(None) => Self::None {
                status: "unknown",
                path: "planner",
            },
            None => Self::None {
                status: "planned",
                path: "plan-only",
            },
        }
    }

    /// Appends the entry.
    pub(super) fn write(&self, target: Target, order: KeyOrder, out: &mut Vec<u8>) {
        let (status, value, confidence, path, source) = match self {
            Self::Found(finding) => (
                finding.status.as_str(),
                finding.value.as_ref(),
                finding.confidence,
                finding.path.name(),
                &finding.source,
            ),
            Self::None { status, path } => (
                *status,
                None,
                Confidence::None,
                *path,
                &Cow::Borrowed("none"),
            ),
        };
        let word = |out: &mut Vec<u8>, name: &str, word: &'static str| {
            out.extend_from_slice(name.as_bytes());
            json::word(out, word);
        };
        let score = |out: &mut Vec<u8>| {
            out.extend_from_slice(printed(confidence).as_bytes());
            word(out, ",\"path\":", path);
            out.extend_from_slice(b",\"source\":");
            match source {
                Cow::Borrowed(source) => json::word(out, source),
                Cow::Owned(source) => json::string(out, source),
            }
        };
        out.push(b'{');
        if order == KeyOrder::Sorted {
            score(out);
            word(out, ",\"status\":", status);
            word(out, ",\"target\":", target.id());
        } else {
            word(out, "\"target\":", target.id());
            word(out, ",\"status\":", status);
        }
        if let Some(value) = value {
            out.extend_from_slice(b",\"value\":");
            value.write(out);
        }
        if order == KeyOrder::Declared {
            out.push(b',');
            score(out);
        }
        out.push(b'}');
    }
}

/// The members that say how sure a result is.
const fn printed(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::None => r#""confidence":"none","confidence_score":0.0"#,
        Confidence::Low => r#""confidence":"low","confidence_score":0.4"#,
        Confidence::Medium => r#""confidence":"medium","confidence_score":0.7"#,
        Confidence::High => r#""confidence":"high","confidence_score":0.95"#,
        Confidence::Exact => r#""confidence":"exact","confidence_score":1.0"#,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidences_are_printed_as_the_contract_names_and_scores_them() {
        for confidence in Confidence::ASKABLE.into_iter().chain([Confidence::None]) {
            let mut expected = b"\"confidence\":".to_vec();
            json::string(&mut expected, confidence.as_str());
            expected.extend_from_slice(b",\"confidence_score\":");
            json::float(&mut expected, confidence.score());
            assert_eq!(printed(confidence).as_bytes(), expected);
        }
    }
}
