//! Cuts an answer to `max_chars`, at a whole value, and says what is missing.

use serde_json::{Value, json};

/// Most names of omitted targets in an answer.
const NAMED: usize = 30;
/// Room for the note about what is missing, in characters.
const NOTE: usize = 300;

/// The report of one document in at most `most` characters of compact JSON; `None` if it fits as it is.
/// Values are dropped from the end.
pub(super) fn report(report: &str, most: usize) -> Option<String> {
    if report.len() <= most {
        return None;
    }
    let mut report: Value = serde_json::from_str(report).ok()?;
    drop_long_diagnostics(&mut report, most);
    let mut length = report.to_string().len() + NOTE;
    let mut omitted = Vec::new();
    for member in ["values", "results"] {
        let Some(values) = report.get_mut(member).and_then(Value::as_object_mut) else {
            continue;
        };
        while length > most {
            let Some(last) = values.keys().next_back().cloned() else {
                break;
            };
            let value = values.remove(&last).unwrap_or_default();
            length = length.saturating_sub(last.len() + value.to_string().len() + 4);
            if omitted.len() < NAMED {
                length += last.len() + 3;
            }
            omitted.push(last);
        }
    }
    omitted.reverse();
    let count = omitted.len();
    omitted.truncate(NAMED);
    report["truncated"] = json!({
        "omitted": count,
        "omitted_targets": omitted,
        "how": "ask for these targets in calls of their own, or raise max_chars",
    });
    Some(report.to_string())
}

/// Values come first: diagnostics, and what execution says of targets without a value, take at most a
/// quarter of the room each.
fn drop_long_diagnostics(report: &mut Value, most: usize) {
    for member in [
        "/diagnostics",
        "/execution/unresolved_targets",
        "/unresolved_targets",
        "/piggyback_targets",
    ] {
        if let Some(list) = report.pointer_mut(member)
            && list.to_string().len() > most / 4
        {
            *list = json!([]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_values_are_dropped_and_named() {
        let values: serde_json::Map<String, Value> = (0..50)
            .map(|at| (format!("a.target_{at:02}"), json!("x".repeat(40))))
            .collect();
        let full = json!({"status": "ok", "values": values}).to_string();
        assert_eq!(report(&full, full.len()), None);
        let cut = report(&full, 1500).unwrap();
        assert!(cut.len() <= 1500, "{}", cut.len());
        let cut: Value = serde_json::from_str(&cut).unwrap();
        let kept = cut["values"].as_object().unwrap().len();
        assert!(kept > 0);
        assert_eq!(cut["truncated"]["omitted"], 50 - kept);
        assert_eq!(
            cut["truncated"]["omitted_targets"][0],
            format!("a.target_{kept:02}")
        );
    }
}
