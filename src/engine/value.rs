//! Values of targets, and how they print.

use std::borrow::Cow;

use super::json;

/// The value of a target.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    U64(u64),
    /// Prints in shortest round-trip form, always with a fraction or exponent; not a number → null.
    F64(f64),
    /// Borrowed where the words are ours.
    Text(Cow<'static, str>),
    List(Vec<Value>),
    /// Prints with its keys sorted.
    Object(Vec<(Cow<'static, str>, Value)>),
}

impl Value {
    /// Words of ours, without a copy.
    pub(crate) const fn word(word: &'static str) -> Self {
        Self::Text(Cow::Borrowed(word))
    }

    /// An object. Keys are sorted here, once.
    pub(crate) fn object<K, I>(members: I) -> Self
    where
        K: Into<Cow<'static, str>>,
        I: IntoIterator<Item = (K, Value)>,
    {
        let mut members: Vec<_> = members
            .into_iter()
            .map(|(key, value)| (key.into(), value))
            .collect();
        members.sort_by(|a, b| a.0.cmp(&b.0));
        Self::Object(members)
    }

    /// About how many bytes the value prints as: escapes are not counted.
    pub(crate) fn printed_len(&self) -> usize {
        match self {
            Self::Null | Self::Bool(_) => 5,
            Self::U64(_) | Self::F64(_) => 8,
            Self::Text(text) => text.len() + 2,
            Self::List(items) => items.iter().map(|item| item.printed_len() + 1).sum(),
            Self::Object(members) => members
                .iter()
                .map(|(key, value)| key.len() + value.printed_len() + 4)
                .sum(),
        }
    }

    /// Appends the value as compact JSON.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"null"),
            Self::Bool(true) => out.extend_from_slice(b"true"),
            Self::Bool(false) => out.extend_from_slice(b"false"),
            Self::U64(n) => json::number(out, *n),
            Self::F64(x) => json::float(out, *x),
            Self::Text(Cow::Borrowed(word)) => json::word(out, word),
            Self::Text(Cow::Owned(text)) => json::string(out, text),
            Self::List(items) => {
                out.push(b'[');
                json::separated(out, items, |out, item| item.write(out));
                out.push(b']');
            }
            Self::Object(members) => {
                out.push(b'{');
                json::separated(out, members, |out, (key, value)| {
                    json::string(out, key);
                    out.push(b':');
                    value.write(out);
                });
                out.push(b'}');
            }
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::U64(value)
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Self::U64(value as u64)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::U64(value.into())
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::F64(value)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(Cow::Owned(value))
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(Cow::Owned(value.to_owned()))
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

/// `None` is the value `null` ("the document says: nothing"), not an unknown.
impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_print_as_the_contract_says() {
        let cases = [
            (Value::from(720.0), "720.0"),
            (Value::from(16.0 / 9.0), "1.7777777777777777"),
            (Value::from(f64::NAN), "null"),
            (Value::from(u64::MAX), "18446744073709551615"),
            (Value::word("word"), "\"word\""),
            (Value::from("a\"\n\u{2028}é"), "\"a\\\"\\n\\u2028é\""),
            (Value::from(Option::<u64>::None), "null"),
            (Value::from(vec!["x", "y"]), r#"["x","y"]"#),
            (
                Value::object([("width", Value::from(2_u64)), ("height", Value::Null)]),
                r#"{"height":null,"width":2}"#,
            ),
        ];
        for (value, expected) in cases {
            let mut out = Vec::new();
            value.write(&mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
