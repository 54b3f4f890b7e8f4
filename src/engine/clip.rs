//! Values that no reader wants whole are clipped, so that one of them does not cost the report.

use std::borrow::Cow;

use super::findings::Findings;
use super::value::Value;

/// Longest text, in characters.
const MAX_CHARS: usize = 4096;

/// Longest list, in entries.
const MAX_ENTRIES: usize = 10_000;

/// Largest list, in printed bytes.
const MAX_LIST_BYTES: usize = 256 << 10;

const ELLIPSIS: &str = "…";

/// Clips what was found. Returns one sentence for each value that lost something.
pub(crate) fn values(findings: &mut Findings) -> Vec<String> {
    let mut sentences = Vec::new();
    for (target, value) in findings.values_mut() {
        if let Some(loss) = clip(value) {
            sentences.push(format!(
                "{} {loss}; the format option document.long_values=whole lifts the limit",
                target.id()
            ));
        }
    }
    sentences
}

fn clip(value: &mut Value) -> Option<String> {
    match value {
        Value::Text(text) => {
            let (all, kept) = clip_text(text)?;
            Some(format!(
                "has {all} characters, of which {kept} are reported"
            ))
        }
        Value::List(items) => {
            let all = items.len();
            let mut clipped = 0;
            let kept = fitting(items.iter_mut().map(|item| {
                clipped += usize::from(clip_inner(item));
                item.printed_len()
            }));
            let is_text = matches!(items.first(), Some(Value::Text(_)));
            items.truncate(kept);
            if kept < all && is_text {
                items.push(Value::from(ELLIPSIS.to_owned()));
            }
            loss("entries", all, kept, clipped)
        }
        Value::Object(members) => {
            let all = members.len();
            let mut clipped = 0;
            let kept = fitting(members.iter_mut().map(|(key, value)| {
                let is_long = clip_text(key).is_some();
                clipped += usize::from(clip_inner(value) || is_long);
                key.len() + value.printed_len()
            }));
            members.truncate(kept);
            loss("members", all, kept, clipped)
        }
        _ => None,
    }
}

fn clip_inner(value: &mut Value) -> bool {
    match value {
        Value::Text(text) => clip_text(text).is_some(),
        _ => clip(value).is_some(),
    }
}

/// How many entries of these sizes are kept.
fn fitting(sizes: impl Iterator<Item = usize>) -> usize {
    let mut bytes = 0;
    sizes
        .take(MAX_ENTRIES)
        .take_while(|size| {
            bytes += size + 1;
            bytes <= MAX_LIST_BYTES
        })
        .count()
}

fn loss(what: &str, all: usize, kept: usize, clipped: usize) -> Option<String> {
    let shorter = format!("{clipped} of them clipped to {MAX_CHARS} characters");
    match (kept < all, clipped > 0) {
        (false, false) => None,
        (false, true) => Some(format!("has {all} {what}, {shorter}")),
        (true, false) => Some(format!("has {all} {what}, of which {kept} are reported")),
        (true, true) => Some(format!(
            "has {all} {what}, of which {kept} are reported, {shorter}"
        )),
    }
}

/// Clips a text that is too long. Returns how many characters it had and has.
fn clip_text(text: &mut Cow<'static, str>) -> Option<(usize, usize)> {
    if text.len() <= MAX_CHARS {
        return None;
    }
    let (end, _) = text.char_indices().nth(MAX_CHARS)?;
    let all = text.chars().count();
    *text = Cow::Owned([&text[..end], ELLIPSIS].concat());
    Some((all, MAX_CHARS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters_and_ends_in_an_ellipsis() {
        for (text, kept) in [
            ("é".repeat(MAX_CHARS), None),
            ("é".repeat(MAX_CHARS + 1), Some(MAX_CHARS)),
            ("😀".repeat(20_000), Some(MAX_CHARS)),
        ] {
            let mut value = Value::from(text.clone());
            let loss = clip(&mut value);
            let Value::Text(clipped) = value else {
                panic!("not a text")
            };
            match kept {
                None => assert_eq!((clipped.as_ref(), loss), (text.as_str(), None)),
                Some(kept) => {
                    assert_eq!(clipped.chars().count(), kept + 1);
                    assert!(
                        clipped.ends_with('…') && text.starts_with(clipped.trim_end_matches('…'))
                    );
                    let all = text.chars().count().to_string();
                    assert!(loss.unwrap().contains(&all));
                }
            }
        }
    }

    #[test]
    fn a_list_is_cut_by_entries_and_by_bytes() {
        let mut many = Value::from(vec!["a"; MAX_ENTRIES + 5]);
        assert!(
            clip(&mut many)
                .unwrap()
                .contains("10005 entries, of which 10000")
        );
        let Value::List(items) = &many else { panic!() };
        assert_eq!(items.len(), MAX_ENTRIES + 1);
        assert_eq!(items.last(), Some(&Value::word("…")));
        let mut large = Value::from(vec!["a".repeat(4000); 100]);
        assert!(
            clip(&mut large)
                .unwrap()
                .contains("100 entries, of which 65")
        );
        let mut fine = Value::from(vec!["a".repeat(4000); 60]);
        assert_eq!(clip(&mut fine), None);
        let mut long = Value::object([("k".repeat(5000), Value::from("v".repeat(9000)))]);
        assert!(
            clip(&mut long)
                .unwrap()
                .contains("1 members, 1 of them clipped")
        );
        assert!(long.printed_len() < 10_000);
        let mut objects = Value::List(vec![Value::object([("a", Value::from(1_u64))]); 20_000]);
        assert!(clip(&mut objects).is_some());
        let Value::List(items) = &objects else {
            panic!()
        };
        assert!(items.iter().all(|item| matches!(item, Value::Object(_))));
    }
}
