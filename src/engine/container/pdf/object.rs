//! The objects of PDF (ISO 32000-2, 7.3) as views of bytes that the probe keeps.

use std::borrow::Cow;

/// Number and generation of an indirect object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Ref {
    pub(crate) number: u32,
    pub(crate) generation: u16,
}

/// A direct object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Object<'p> {
    Null,
    Bool(bool),
    Int(i64),
    Real(f64),
    Text(Text<'p>),
    Name(Name<'p>),
    Array(Vec<Object<'p>>),
    Dict(Dict<'p>),
    Ref(Ref),
}

/// A string as written in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Text<'p> {
    raw: &'p [u8],
    // Number and generation of the owner side by side with the flags: an `Option<Ref>` would make every
    // object larger.
    number: u32,
    generation: u16,
    hex: bool,
    owned: bool,
}

/// A name as written in the file, without its slash and with its `#` escapes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name<'p>(pub(super) &'p [u8]);

/// A dictionary in file order. Of a key that occurs twice the last value counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Dict<'p> {
    pub(super) entries: Vec<(Name<'p>, Object<'p>)>,
}

impl<'p> Object<'p> {
    pub(crate) fn as_dict(&self) -> Option<&Dict<'p>> {
        match self {
            Self::Dict(dict) => Some(dict),
            _ => None,
        }
    }

    pub(crate) fn as_array(&self) -> Option<&[Object<'p>]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn as_name(&self) -> Option<Name<'p>> {
        match self {
            Self::Name(name) => Some(*name),
            _ => None,
        }
    }

    pub(crate) fn as_ref(&self) -> Option<Ref> {
        match self {
            Self::Ref(reference) => Some(*reference),
            _ => None,
        }
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// A number that is not negative. Whole reals count: some writers add `.0` to everything.
    pub(crate) fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Int(value) => u64::try_from(*value).ok(),
            Self::Real(value) if *value >= 0.0 && *value < 9e15 && value.fract() == 0.0 =>
            {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "checked"
                )]
                Some(*value as u64)
            }
            _ => None,
        }
    }

    pub(crate) fn as_f64(&self) -> Option<f64> {
        match self {
            #[expect(
                clippy::cast_precision_loss,
                reason = "sizes and versions are far below 2^52"
            )]
            Self::Int(value) => Some(*value as f64),
            Self::Real(value) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

impl<'p> Name<'p> {
    /// The name with its escapes resolved.
    pub(crate) fn bytes(self) -> Cow<'p, [u8]> {
        if memchr::memchr(b'#', self.0).is_none() {
            return Cow::Borrowed(self.0);
        }
        let mut out = Vec::with_capacity(self.0.len());
        let mut rest = self.0;
        while let Some((&byte, tail)) = rest.split_first() {
            rest = tail;
            if byte == b'#'
                && let Some((pair, after)) = tail.split_first_chunk::<2>()
                && let (Some(high), Some(low)) = (hex_digit(pair[0]), hex_digit(pair[1]))
            {
                out.push(high << 4 | low);
                rest = after;
            } else {
                out.push(byte);
            }
        }
        Cow::Owned(out)
    }

    pub(crate) fn is(self, name: &[u8]) -> bool {
        if self.0.len() <= name.len() {
            return self.0 == name;
        }
        // Only an escape makes a name longer than it is. Most names differ in their first character.
        let may_begin_so = self.0[0] == b'#' || Some(&self.0[0]) == name.first();
        may_begin_so && *self.bytes() == *name
    }

    pub(crate) fn is_any(self, names: &[&[u8]]) -> bool {
        names.iter().any(|name| self.is(name))
    }
}

impl PartialEq for Name<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || self.bytes() == other.bytes()
    }
}

impl<'p> Dict<'p> {
    pub(crate) fn get(&self, key: &[u8]) -> Option<&Object<'p>> {
        self.entries
            .iter()
            .rev()
            .find(|(name, _)| name.is(key))
            .map(|(_, value)| value)
            .filter(|value| !value.is_null())
    }

    pub(crate) fn has(&self, key: &[u8]) -> bool {
        self.get(key).is_some()
    }

    /// The entry as a direct name.
    pub(crate) fn name(&self, key: &[u8]) -> Option<Name<'p>> {
        self.get(key).and_then(Object::as_name)
    }

    /// Whether the entry is this direct name.
    pub(crate) fn is(&self, key: &[u8], name: &[u8]) -> bool {
        self.name(key).is_some_and(|value| value.is(name))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Name<'p>, &Object<'p>)> {
        self.entries.iter().map(|(name, value)| (*name, value))
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The same dictionary with one more entry.
    pub(crate) fn with(mut self, key: &'static [u8], value: Object<'p>) -> Self {
        self.entries.push((Name(key), value));
        self
    }
}

impl<'p> Text<'p> {
    pub(super) fn new(raw: &'p [u8], hex: bool, owner: Option<Ref>) -> Self {
        Self {
            raw,
            number: owner.map_or(0, |owner| owner.number),
            generation: owner.map_or(0, |owner| owner.generation),
            hex,
            owned: owner.is_some(),
        }
    }

    /// The indirect object that holds the string, where an encrypted document encrypts it.
    pub(crate) fn owner(self) -> Option<Ref> {
        self.owned.then_some(Ref {
            number: self.number,
            generation: self.generation,
        })
    }

    /// The bytes of the string, still encrypted where the document is.
    pub(crate) fn bytes(self) -> Cow<'p, [u8]> {
        if self.hex {
            return Cow::Owned(hex_bytes(self.raw));
        }
        if memchr::memchr2(b'\\', b'\r', self.raw).is_none() {
            return Cow::Borrowed(self.raw);
        }
        Cow::Owned(unescape(self.raw))
    }
}

/// Reads hexadecimal digits, stepping over everything else; a missing last digit counts as 0.
pub(crate) fn hex_bytes(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len() / 2 + 1);
    let mut high = None;
    for digit in raw.iter().filter_map(|byte| hex_digit(*byte)) {
        match high.take() {
            None => high = Some(digit),
            Some(high) => out.push(high << 4 | digit),
        }
    }
    out.extend(high.map(|digit| digit << 4));
    out
}

pub(crate) fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// Resolves the escapes of a literal string (7.3.4.2); a bare CR or CR LF is one LF.
fn unescape(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        match byte {
            b'\r' => {
                out.push(b'\n');
                rest = tail.strip_prefix(b"\n").unwrap_or(tail);
            }
            b'\\' => rest = escape(tail, &mut out),
            _ => out.push(byte),
        }
    }
    out
}

/// Resolves one escape; `tail` follows the reverse solidus. Returns what follows.
fn escape<'t>(tail: &'t [u8], out: &mut Vec<u8>) -> &'t [u8] {
    let Some((&byte, after)) = tail.split_first() else {
        return tail;
    };
    match byte {
        b'n' => out.push(b'\n'),
        b'r' => out.push(b'\r'),
        b't' => out.push(b'\t'),
        b'b' => out.push(8),
        b'f' => out.push(12),
        b'\r' => return after.strip_prefix(b"\n").unwrap_or(after),
        b'\n' => {}
        b'0'..=b'7' => {
            let len = tail
                .iter()
                .take(3)
                .take_while(|digit| (b'0'..=b'7').contains(digit))
                .count();
            let code = tail[..len]
                .iter()
                .fold(0_u32, |code, digit| code * 8 + u32::from(digit - b'0'));
            #[expect(
                clippy::cast_possible_truncation,
                reason = "overflow of \\777 is dropped, as the standard says"
            )]
            out.push(code as u8);
            return &tail[len..];
        }
        _ => out.push(byte),
    }
    after
}
