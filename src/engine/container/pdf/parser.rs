//! Reading direct objects (ISO 32000-2, 7.3), as leniently as viewers do.

use super::lexer::{Lexer, ParseError, decimal, is_regular};
use super::object::{Dict, Name, Object, Ref, Text};

/// How deep containers may nest. What lies deeper is stepped over and reads as null.
pub(crate) const MAX_DEPTH: usize = 96;

/// Most elements of all containers of one indirect object together: it bounds the memory that a few
/// bytes can claim.
const MAX_ELEMENTS: usize = 500_000;

/// Which entries of a dictionary are wanted. What is not wanted is read like the rest, so that damage
/// shows in the same way, but nothing is kept of it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted {
    All,
    Keys(&'static [&'static [u8]]),
}

impl Wanted {
    fn has(self, key: Name<'_>) -> bool {
        match self {
            Self::All => true,
            Self::Keys(keys) => key.is_any(keys),
        }
    }
}

/// Where a value goes. `None` when it is dropped. It holds null until then.
type Place<'o, 'p> = Option<&'o mut Object<'p>>;

fn put<'p>(place: Place<'_, 'p>, object: Object<'p>) {
    if let Some(place) = place {
        // What is replaced is null, which needs no drop.
        std::mem::forget(std::mem::replace(place, object));
    }
}

/// Adds an element and returns its place. Unlike `push`, this makes it where it stays.
fn added<T>(items: &mut Vec<T>, element: impl FnMut() -> T) -> Option<&mut T> {
    items.resize_with(items.len() + 1, element);
    items.last_mut()
}

enum Number {
    Int(i64),
    Real(f64),
}

/// Reads direct objects.
#[derive(Debug)]
pub(crate) struct Parser<'p> {
    pub(crate) lexer: Lexer<'p>,
    owner: Option<Ref>,
    elements: usize,
}

impl<'p> Parser<'p> {
    /// A parser from `at` on. `owner` is the indirect object whose strings may be encrypted.
    pub(crate) fn new(bytes: &'p [u8], at: usize, owner: Option<Ref>) -> Self {
        Self {
            lexer: Lexer::new(bytes, at),
            owner,
            elements: MAX_ELEMENTS,
        }
    }

    /// Reads one object, after white space.
    pub(crate) fn object(&mut self) -> Result<Object<'p>, ParseError> {
        self.object_with(Wanted::All)
    }

    /// Reads one object, of a dictionary only the entries that are wanted.
    pub(crate) fn object_with(&mut self, wanted: Wanted) -> Result<Object<'p>, ParseError> {
        let mut object = Object::Null;
        self.lexer.skip_space();
        if self.lexer.rest().starts_with(b"<<") {
            self.lexer.bump();
            self.lexer.bump();
            self.dict(0, wanted, Some(&mut object))?;
        } else {
            self.value(0, Some(&mut object))?;
        }
        Ok(object)
    }

    /// Reads a value into its place, where it was given one: objects are not small, and handing them
    /// up level by level took longer than reading them.
    fn value(&mut self, depth: usize, place: Place<'_, 'p>) -> Result<(), ParseError> {
        self.lexer.skip_space();
        let byte = self.lexer.peek().ok_or(ParseError::Incomplete)?;
        match byte {
            b'/' => {
                self.lexer.bump();
                put(place, Object::Name(Name(self.lexer.name())));
            }
            b'(' => {
                self.lexer.bump();
                let raw = self.lexer.literal_string()?;
                put(place, self.text(raw, false));
            }
            b'<' => {
                self.lexer.bump();
                if self.lexer.eat(b'<') {
                    return self.dict(depth, Wanted::All, place);
                }
                let raw = self.lexer.hex_string()?;
                put(place, self.text(raw, true));
            }
            b'[' => {
                self.lexer.bump();
                return self.array(depth, place);
            }
            b'0'..=b'9' | b'+' | b'-' | b'.' => return self.number_or_reference(place),
            _ => return self.constant(place),
        }
        Ok(())
    }

    fn text(&self, raw: &'p [u8], hex: bool) -> Object<'p> {
        Object::Text(Text::new(raw, hex, self.owner))
    }

    fn element(&mut self) -> Result<(), ParseError> {
        self.elements = self.elements.checked_sub(1).ok_or(ParseError::Invalid)?;
        Ok(())
    }

    fn array(&mut self, depth: usize, place: Place<'_, 'p>) -> Result<(), ParseError> {
        if depth >= MAX_DEPTH {
            return self.lexer.skip_container();
        }
        let mut items = Vec::new();
        loop {
            self.lexer.skip_space();
            if self.lexer.eat(b']') {
                put(place, Object::Array(items));
                return Ok(());
            }
            self.element()?;
            // Page trees of large documents are long rows of these.
            if let Some(Object::Ref(_)) = items.last()
                && let Some((number, generation)) = self.lexer.plain_reference()
            {
                let reference = Ref { number, generation };
                put(added(&mut items, || Object::Null), Object::Ref(reference));
                continue;
            }
            let item = place.is_some().then(|| added(&mut items, || Object::Null));
            self.item(depth, item.flatten())?;
        }
    }

    fn dict(
        &mut self,
        depth: usize,
        wanted: Wanted,
        place: Place<'_, 'p>,
    ) -> Result<(), ParseError> {
        if depth >= MAX_DEPTH {
            return self.lexer.skip_container();
        }
        let mut entries = Vec::new();
        if depth == 0 && matches!(wanted, Wanted::All) {
            // What most objects have, so that it is not moved while it grows.
            entries.reserve(12);
        }
        loop {
            self.lexer.skip_space();
            match self.lexer.peek().ok_or(ParseError::Incomplete)? {
                b'/' => {
                    self.lexer.bump();
                    let key = Name(self.lexer.name());
                    self.lexer.skip_space();
                    self.element()?;
                    if self.lexer.peek() == Some(b'>') {
                        continue;
                    }
                    let keep = place.is_some() && wanted.has(key);
                    let entry = keep.then(|| added(&mut entries, || (key, Object::Null)));
                    let value = entry.flatten().map(|(_, value)| value);
                    self.item(depth, value)?;
                }
                b'>' => {
                    self.lexer.bump();
                    self.lexer.eat(b'>');
                    put(place, Object::Dict(Dict { entries }));
                    return Ok(());
                }
                // A stray value where a key should be: stepped over, as every viewer does.
                _ => {
                    self.element()?;
                    self.item(depth, None)?;
                }
            }
        }
    }

    /// An element of a container. Anything that is not an object reads as null, unless the container was never
    /// closed.
    fn item(&mut self, depth: usize, place: Place<'_, 'p>) -> Result<(), ParseError> {
        let start = self.lexer.position();
        // A container that is broken breaks the one around it. To try again within it would cost as
        // many ways as there are levels.
        let is_container = matches!(self.lexer.peek(), Some(b'[' | b'<'));
        match self.value(depth + 1, place) {
            Err(ParseError::Invalid) if !is_container => {
                self.lexer.set_position(start);
                let word = self.lexer.regular();
                if word.is_empty() {
                    self.lexer.bump();
                }
                if matches!(
                    word,
                    b"endobj" | b"endstream" | b"stream" | b"obj" | b"xref"
                ) {
                    return Err(ParseError::Invalid);
                }
                Ok(())
            }
            other => other,
        }
    }

    fn constant(&mut self, place: Place<'_, 'p>) -> Result<(), ParseError> {
        match self.lexer.regular() {
            b"true" => put(place, Object::Bool(true)),
            b"false" => put(place, Object::Bool(false)),
            b"null" => {}
            _ => return Err(ParseError::Invalid),
        }
        Ok(())
    }

    fn number_or_reference(&mut self, place: Place<'_, 'p>) -> Result<(), ParseError> {
        let (value, may_be_reference) = match self.lexer.plain_integer() {
            Some(value) => (value, true),
            None => {
                let token = self.lexer.regular();
                match parse_number(token, place.is_some()).ok_or(ParseError::Invalid)? {
                    Number::Int(value) => (value, token[0].is_ascii_digit()),
                    Number::Real(value) => {
                        put(place, Object::Real(value));
                        return Ok(());
                    }
                }
            }
        };
        if may_be_reference && let Ok(number) = u32::try_from(value) {
            let behind = self.lexer.position();
            if let Some(reference) = self.reference(number) {
                put(place, Object::Ref(reference));
                return Ok(());
            }
            self.lexer.set_position(behind);
        }
        put(place, Object::Int(value));
        Ok(())
    }

    /// Takes the rest of `N G R`. When it is not there, the position of the cursor is undefined.
    fn reference(&mut self, number: u32) -> Option<Ref> {
        self.lexer.skip_space();
        if !self.lexer.peek()?.is_ascii_digit() {
            return None;
        }
        let generation = self.lexer.regular();
        if generation.len() > 5 {
            return None;
        }
        let generation = u16::try_from(decimal(generation)?).ok()?;
        self.lexer.skip_space();
        let rest = self.lexer.rest();
        if rest.first() != Some(&b'R') || rest.get(1).is_some_and(|byte| is_regular(*byte)) {
            return None;
        }
        self.lexer.bump();
        Some(Ref { number, generation })
    }
}

/// Reads a number as leniently as viewers do: several signs, more than one point, a sign inside. A real
/// number that is dropped is not computed.
fn parse_number(token: &[u8], keep: bool) -> Option<Number> {
    let negative = token.first() == Some(&b'-');
    let signs = token
        .iter()
        .take_while(|byte| matches!(byte, b'+' | b'-'))
        .count();
    let digits = &token[signs..];
    let whole = digits
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let sign = if negative { -1 } else { 1 };
    if digits.get(whole) != Some(&b'.') {
        if whole == 0 {
            return None;
        }
        let value = decimal(&digits[..whole]).and_then(|v| i64::try_from(v).ok());
        return Some(match value {
            Some(value) => Number::Int(sign * value),
            None => Number::Real(f64::from(i32::try_from(sign).unwrap_or(1)) * f64::MAX),
        });
    }
    let fraction = digits[whole + 1..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if whole + fraction == 0 && digits.len() > 1 {
        return None;
    }
    if !keep {
        return Some(Number::Real(0.0));
    }
    let text = std::str::from_utf8(&digits[..whole + 1 + fraction]).ok()?;
    let value: f64 = match text {
        "." => 0.0,
        text => text.parse().ok()?,
    };
    Some(Number::Real(if negative { -value } else { value }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &[u8]) -> Result<Object<'_>, ParseError> {
        Parser::new(text, 0, None).object()
    }

    #[test]
    fn objects_read_as_the_standard_says_and_as_leniently_as_viewers() {
        let int = Object::Int;
        let cases: [(&[u8], Object<'_>); 24] = [
            (b"true", Object::Bool(true)),
            (b"null ", Object::Null),
            (b"-17", int(-17)),
            (b"+17%x", int(17)),
            (b"--3", int(-3)),
            (b"1.5", Object::Real(1.5)),
            (b"-.25 ", Object::Real(-0.25)),
            (b"4.", Object::Real(4.0)),
            (b"0.5-3", Object::Real(0.5)),
            (
                b"12 0 R",
                Object::Ref(Ref {
                    number: 12,
                    generation: 0,
                }),
            ),
            (
                b"12 0 R/",
                Object::Ref(Ref {
                    number: 12,
                    generation: 0,
                }),
            ),
            (
                b"12  0\nR]",
                Object::Ref(Ref {
                    number: 12,
                    generation: 0,
                }),
            ),
            (b"12 0 RG", int(12)),
            (b"12%x", int(12)),
            (b"12 70000 R ", int(12)),
            (b"9999999999999999999 ", Object::Real(f64::MAX)),
            (b"000000000000000000017 ", Object::Real(f64::MAX)),
            (b"99999999999 0 R ", int(99_999_999_999)),
            (b"/A#42", Object::Name(Name(b"AB"))),
            (
                b"[1 2 0 R 3]",
                Object::Array(vec![
                    int(1),
                    Object::Ref(Ref {
                        number: 2,
                        generation: 0,
                    }),
                    int(3),
                ]),
            ),
            (
                b"[1 bogus 2]",
                Object::Array(vec![int(1), Object::Null, int(2)]),
            ),
            (
                b"<</A 1/B>>",
                Object::Dict(Dict {
                    entries: vec![(Name(b"A"), int(1))],
                }),
            ),
            (
                b"<</A/B 5/C 1>>",
                Object::Dict(Dict {
                    entries: vec![(Name(b"A"), Object::Name(Name(b"B"))), (Name(b"C"), int(1))],
                }),
            ),
            (b"[]", Object::Array(vec![])),
        ];
        for (text, expected) in cases {
            assert_eq!(
                parse(text),
                Ok(expected),
                "{}",
                String::from_utf8_lossy(text)
            );
        }
    }

    #[test]
    fn unwanted_entries_are_parsed_and_dropped() {
        const KEYS: &[&[u8]] = &[b"Kids", b"Count"];
        let text = b"<</Type/Pages/MediaBox[0 0 .5 1e3]/R<</F<</A 1 0 R>>>>/Kids[1 0 R<</X 1>>]/#43ount 2/Kids[7] 5/Z>>9";
        let mut parser = Parser::new(text, 0, None);
        let object = parser.object_with(Wanted::Keys(KEYS)).unwrap();
        let whole = parse(text).unwrap();
        let (dict, whole) = (object.as_dict().unwrap(), whole.as_dict().unwrap());
        assert_eq!(dict.len(), 3);
        for key in KEYS {
            assert_eq!(dict.get(key), whole.get(key));
        }
        assert_eq!(
            parser.object(),
            Ok(Object::Int(9)),
            "the cursor stands behind it"
        );
        for damaged in [
            &b"<</A[1 2 endobj"[..],
            b"<</A<</B(",
            b"<</A <</B 1 endobj>>>>",
            b"<</A",
        ] {
            let mut parser = Parser::new(damaged, 0, None);
            assert_eq!(
                parser.object_with(Wanted::Keys(KEYS)).unwrap_err(),
                parse(damaged).unwrap_err()
            );
        }
        let mut number = Parser::new(b"17", 0, None);
        assert_eq!(number.object_with(Wanted::Keys(KEYS)), Ok(Object::Int(17)));
    }

    #[test]
    fn an_unfinished_object_asks_for_more_bytes() {
        for text in [
            &b"[1 2"[..],
            b"<</A 1",
            b"(abc",
            b"<41",
            b"",
            b"(a\\",
            b"<</A [1",
        ] {
            assert_eq!(
                parse(text),
                Err(ParseError::Incomplete),
                "{}",
                String::from_utf8_lossy(text)
            );
        }
        assert_eq!(parse(b"[1 2 endobj"), Err(ParseError::Invalid));
    }

    #[test]
    fn strings_resolve_their_escapes() {
        let cases: [(&[u8], &[u8]); 10] = [
            (b"(a(b)c)", b"a(b)c"),
            (b"(\\n\\r\\t\\b\\f\\(\\)\\\\)", b"\n\r\t\x08\x0c()\\"),
            (b"(\\101\\0533\\7)", b"A+3\x07"),
            (b"(a\\\nb\\\r\nc)", b"abc"),
            (b"(a\rb\r\nc)", b"a\nb\nc"),
            (b"(\\q)", b"q"),
            (b"<4142>", b"AB"),
            (b"<41 4>", b"A@"),
            (b"<>", b""),
            (b"()", b""),
        ];
        for (text, expected) in cases {
            let object = parse(text).unwrap();
            let Object::Text(text) = object else {
                panic!("no text: {object:?}");
            };
            assert_eq!(*text.bytes(), *expected);
        }
    }

    #[test]
    fn deep_nesting_is_stepped_over_without_a_stack() {
        let mut text = vec![b'['; 2_000_000];
        text.extend_from_slice(b"(]) ");
        text.extend(std::iter::repeat_n(b']', 2_000_000));
        text.extend_from_slice(b" 7");
        let mut parser = Parser::new(&text, 0, None);
        assert!(parser.object().unwrap().as_array().is_some());
        assert_eq!(parser.object(), Ok(Object::Int(7)));
        let dicts = b"<</A ".repeat(100_000);
        assert_eq!(parse(&dicts), Err(ParseError::Incomplete));
    }

    #[test]
    fn a_broken_container_is_not_tried_again_at_every_level() {
        for (open, end) in [
            ("[", "endobj"),
            ("[[<</A ", "endobj"),
            ("<</A[1 ", "endstream endobj"),
        ] {
            let text = open.repeat(20_000) + "]]>>]" + end + " 2 0 obj";
            let started = std::time::Instant::now();
            for depth in [50, 95, 20_000] {
                let text = open.repeat(depth) + "] >> ] ] x " + end;
                assert!(parse(text.as_bytes()).is_err(), "{open} {depth}");
            }
            assert!(parse(text.as_bytes()).is_err());
            assert!(started.elapsed().as_secs() < 5, "{open}");
        }
    }

    #[test]
    fn the_last_of_two_equal_keys_counts_and_null_is_absence() {
        let object = parse(b"<</A 1/#41 2/B null>>").unwrap();
        let dict = object.as_dict().unwrap();
        assert_eq!(dict.get(b"A"), Some(&Object::Int(2)));
        assert!(!dict.has(b"B"));
    }
}
