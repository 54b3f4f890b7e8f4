//! What makes a document risky to open, with where it was found, and the rating that follows from it.

use crate::engine::value::Value;

/// Most signals that are listed. What is beyond changes the rating no more.
const MAX_SIGNALS: usize = 200;

/// How much a signal weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Risk {
    Low,
    Medium,
    High,
}

impl Risk {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Signal {
    kind: &'static str,
    risk: Risk,
    /// The part, stream or record that holds it.
    location: String,
    /// The name or address that says more, where there is one.
    detail: Option<String>,
    /// How often it was found there.
    count: u64,
}

/// What was found so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Signals {
    list: Vec<Signal>,
    highest: Option<Risk>,
    /// Damage or encryption may hide more.
    incomplete: bool,
}

impl Signals {
    pub(crate) fn add(
        &mut self,
        kind: &'static str,
        risk: Risk,
        location: impl Into<String>,
        detail: Option<String>,
    ) {
        self.highest = self.highest.max(Some(risk));
        let signal = Signal {
            kind,
            risk,
            location: location.into(),
            detail,
            count: 1,
        };
        let same = |known: &&mut Signal| {
            (known.kind, &known.location, &known.detail)
                == (signal.kind, &signal.location, &signal.detail)
        };
        if let Some(known) = self.list.iter_mut().find(same) {
            known.count += 1;
        } else if self.list.len() < MAX_SIGNALS {
            self.list.push(signal);
        }
    }

    /// Records that some of the document could not be looked at.
    pub(crate) fn set_incomplete(&mut self) {
        self.incomplete = true;
    }

    /// `none`, `low`, `medium` or `high`. `None` when what could not be looked at may be worse.
    pub(crate) fn rating(&self) -> Option<&'static str> {
        match self.highest {
            Some(Risk::High) => Some("high"),
            // What is hidden decides between the levels below only where nothing is known to be there.
            Some(Risk::Medium) => Some("medium"),
            _ if self.incomplete => None,
            Some(Risk::Low) => Some("low"),
            None => Some("none"),
        }
    }

    /// The list, the gravest first. `None` when nothing was found and something could not be looked at.
    pub(crate) fn value(&self) -> Option<Value> {
        if self.list.is_empty() && self.incomplete {
            return None;
        }
        let mut list: Vec<&Signal> = self.list.iter().collect();
        list.sort_by_key(|signal| std::cmp::Reverse(signal.risk));
        let value = |signal: &Signal| {
            let mut members = vec![
                ("count", Value::from(signal.count)),
                ("signal", Value::word(signal.kind)),
                ("severity", Value::word(signal.risk.as_str())),
                ("location", Value::from(signal.location.clone())),
            ];
            if let Some(detail) = &signal.detail {
                members.push(("detail", Value::from(detail.clone())));
            }
            Value::object(members)
        };
        Some(Value::List(list.into_iter().map(value).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gravest_signal_rates_the_document() {
        let mut signals = Signals::default();
        assert_eq!(signals.rating(), Some("none"));
        signals.add("hyperlink", Risk::Low, "a", None);
        assert_eq!(signals.rating(), Some("low"));
        let mut hidden = signals.clone();
        hidden.set_incomplete();
        assert_eq!(hidden.rating(), None);
        hidden.add("embedded_object", Risk::Medium, "b", None);
        assert_eq!(hidden.rating(), Some("medium"));
        signals.add("vba_macros", Risk::High, "c", None);
        signals.add("vba_macros", Risk::High, "c", None);
        assert_eq!(signals.rating(), Some("high"));
        let Some(Value::List(list)) = signals.value() else {
            panic!("a list")
        };
        assert_eq!(list.len(), 2);
        assert_eq!(
            list[0],
            Value::object([
                ("count", Value::from(2_u64)),
                ("signal", Value::word("vba_macros")),
                ("severity", Value::word("high")),
                ("location", Value::from("c".to_owned())),
            ])
        );
    }
}
