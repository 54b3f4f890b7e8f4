//! What the paths of a probe have found.

use std::borrow::Cow;

use super::catalogue::{PathId, Target, TargetSet};
use super::value::Value;
use crate::contract::Confidence;

/// The outcome of one target (`status` of an evidence entry).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// A value with confidence `high` or `exact`.
    Resolved,
    /// A value with less.
    Estimated,
    /// The path ran; the document does not record the fact.
    Unknown,
    /// No usable path, or one that cannot answer this.
    Unsupported,
    /// A limit stopped this target.
    BudgetExceeded,
}

impl Status {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Resolved => "resolved",
            Self::Estimated => "estimated",
            Self::Unknown => "unknown",
            Self::Unsupported => "unsupported",
            Self::BudgetExceeded => "budget_exceeded",
        }
    }
}

/// What is known of one target.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finding {
    pub(crate) status: Status,
    /// Present for `resolved` and `estimated` only.
    pub(crate) value: Option<Value>,
    pub(crate) confidence: Confidence,
    pub(crate) path: PathId,
    /// The structure that the value came from, in words.
    pub(crate) source: Cow<'static, str>,
}

/// Collects evidence while paths run. For one target, evidence of strictly higher confidence wins;
/// ties keep what came first (contract §7).
#[derive(Debug)]
pub(crate) struct Findings {
    wanted: TargetSet,
    path: PathId,
    /// One a wanted target, by its rank.
    slots: Vec<Option<Finding>>,
}

impl Findings {
    /// Nothing found yet; evidence for what is not wanted is dropped.
    pub(crate) fn new(wanted: TargetSet) -> Self {
        Self {
            wanted,
            path: PathId::OoxmlIdentity,
            slots: vec![None; wanted.len() as usize],
        }
    }

    /// From here on evidence belongs to this path.
    pub(crate) fn enter(&mut self, path: PathId) {
        self.path = path;
    }

    /// Whether the probe asks for the target. A driver skips work that nobody wants.
    pub(crate) fn wants(&self, target: Target) -> bool {
        self.wanted.contains(target)
    }

    /// Whether the probe asks for any of these.
    pub(crate) fn wants_any(&self, targets: &[Target]) -> bool {
        self.wanted.intersects(TargetSet::of(targets))
    }

    /// Records a value. `Value::Null` is a value too: "the document says: nothing".
    pub(crate) fn put(
        &mut self,
        target: Target,
        value: impl Into<Value>,
        confidence: Confidence,
        source: impl Into<Cow<'static, str>>,
    ) {
        let path = self.path;
        let Some(slot) = self.slot(target) else {
            return;
        };
        let stronger = slot
            .as_ref()
            .is_none_or(|known| known.value.is_none() || known.confidence < confidence);
        if stronger {
            let status = if confidence >= Confidence::High {
                Status::Resolved
            } else {
                Status::Estimated
            };
            *slot = Some(Finding {
                status,
                value: Some(value.into()),
                confidence,
                path,
                source: source.into(),
            });
        }
    }

    /// Records a value where there is one, and else that the document does not record the fact.
    pub(crate) fn put_or_unknown(
        &mut self,
        target: Target,
        value: Option<impl Into<Value>>,
        confidence: Confidence,
        source: impl Into<Cow<'static, str>>,
    ) {
        match value {
            Some(value) => self.put(target, value, confidence, source),
            None => self.unknown(target),
        }
    }

    /// Records that this path ran and the document does not record the fact.
    pub(crate) fn unknown(&mut self, target: Target) {
        self.no_value(target, Status::Unknown);
    }

    /// Records why there is no value. It never replaces a value, and the first reason stays, but for a
    /// budget: a path that could have answered and was stopped says more than one that found nothing.
    pub(crate) fn no_value(&mut self, target: Target, status: Status) {
        let path = self.path;
        if let Some(slot) = self.slot(target)
            && slot.as_ref().is_none_or(|known| {
                known.value.is_none()
                    && known.status == Status::Unknown
                    && status == Status::BudgetExceeded
            })
        {
            *slot = Some(Finding {
                status,
                value: None,
                confidence: Confidence::None,
                path,
                source: Cow::Borrowed("none"),
            });
        }
    }

    /// What is known of a target.
    pub(crate) fn get(&self, target: Target) -> Option<&Finding> {
        if !self.wants(target) {
            return None;
        }
        self.slots[self.wanted.rank(target)].as_ref()
    }

    /// The value of a target, if there is one.
    pub(crate) fn value(&self, target: Target) -> Option<&Value> {
        self.get(target).and_then(|finding| finding.value.as_ref())
    }

    /// All values, with their targets.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = (Target, &mut Value)> {
        let slots = self.wanted.iter().zip(&mut self.slots);
        slots.filter_map(|(target, slot)| Some((target, slot.as_mut()?.value.as_mut()?)))
    }

    /// The place of a target, if it is wanted.
    fn slot(&mut self, target: Target) -> Option<&mut Option<Finding>> {
        self.wants(target)
            .then(|| &mut self.slots[self.wanted.rank(target)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TITLE: Target = Target::DOCUMENT_TITLE;

    #[test]
    fn stronger_evidence_wins_and_ties_keep_the_first() {
        let mut findings = Findings::new(TargetSet::of(&[TITLE]));
        findings.unknown(TITLE);
        assert_eq!(findings.get(TITLE).unwrap().status, Status::Unknown);
        findings.put(TITLE, "a", Confidence::Medium, "one");
        assert_eq!(findings.get(TITLE).unwrap().status, Status::Estimated);
        findings.put(TITLE, "b", Confidence::High, "two");
        findings.put(TITLE, "c", Confidence::High, "three");
        findings.unknown(TITLE);
        assert_eq!(findings.value(TITLE), Some(&Value::from("b")));
        findings.put(Target::DOCUMENT_AUTHOR, "x", Confidence::Exact, "unasked");
        assert!(findings.get(Target::DOCUMENT_AUTHOR).is_none());
    }
}
