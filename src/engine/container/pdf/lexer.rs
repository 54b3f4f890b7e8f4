//! The characters and tokens of PDF (ISO 32000-2, 7.2).

/// Why a construct could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParseError {
    /// The bytes end before the construct does: more bytes may help.
    Incomplete,
    /// It is not PDF syntax.
    Invalid,
}

/// A cursor over bytes that are in memory.
#[derive(Clone, Debug)]
pub(crate) struct Lexer<'p> {
    bytes: &'p [u8],
    at: usize,
}

const SPACE: u8 = 1;
const DELIMITER: u8 = 2;

/// Character classes of ISO 32000-2, tables 1 and 2; 0 is a regular character.
static CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let (spaces, delimiters) = (*b"\0\t\n\x0c\r ", *b"()<>[]{}/%");
    let mut i = 0;
    while i < spaces.len() {
        class[spaces[i] as usize] = SPACE;
        i += 1;
    }
    i = 0;
    while i < delimiters.len() {
        class[delimiters[i] as usize] = DELIMITER;
        i += 1;
    }
    class
};

pub(crate) fn is_space(byte: u8) -> bool {
    CLASS[byte as usize] == SPACE
}

pub(crate) fn is_regular(byte: u8) -> bool {
    CLASS[byte as usize] == 0
}

impl<'p> Lexer<'p> {
    pub(crate) fn new(bytes: &'p [u8], at: usize) -> Self {
        Self {
            bytes,
            at: at.min(bytes.len()),
        }
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    pub(crate) fn set_position(&mut self, at: usize) {
        self.at = at.min(self.bytes.len());
    }

    pub(crate) fn rest(&self) -> &'p [u8] {
        &self.bytes[self.at..]
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(crate) fn bump(&mut self) {
        self.at = (self.at + 1).min(self.bytes.len());
    }

    /// Steps over a byte if it is this one.
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let is_it = self.peek() == Some(byte);
        self.at += usize::from(is_it);
        is_it
    }

    /// Steps over white space and comments.
    pub(crate) fn skip_space(&mut self) {
        while let Some(byte) = self.peek() {
            if is_space(byte) {
                self.at += 1;
            } else if byte == b'%' {
                let rest = self.rest();
                self.at += memchr::memchr2(b'\r', b'\n', rest).unwrap_or(rest.len());
            } else {
                break;
            }
        }
    }

    /// Takes a reference as nearly every writer writes it, `N G R` with single blanks. `None` leaves the
    /// cursor where it is.
    pub(crate) fn plain_reference(&mut self) -> Option<(u32, u16)> {
        let mut ahead = self.clone();
        let number = ahead.plain_integer()?;
        let generation = match ahead.rest() {
            [b' ', b'0', b' ', ..] => {
                ahead.at += 3;
                0
            }
            [b' ', ..] => {
                ahead.at += 1;
                let generation = ahead.plain_integer()?;
                if !ahead.eat(b' ') {
                    return None;
                }
                generation
            }
            _ => return None,
        };
        match ahead.rest() {
            [b'R', behind, ..] if !is_regular(*behind) => ahead.at += 1,
            _ => return None,
        }
        let reference = (u32::try_from(number).ok()?, u16::try_from(generation).ok()?);
        self.at = ahead.at;
        Some(reference)
    }

    /// Takes a number of at most 18 digits and nothing else, as nearly all numbers are. `None` leaves the
    /// cursor where it is.
    pub(crate) fn plain_integer(&mut self) -> Option<i64> {
        let rest = self.rest();
        let mut value = 0;
        for (len, byte) in rest.iter().take(19).enumerate() {
            let digit = byte.wrapping_sub(b'0');
            if digit < 10 && len < 18 {
                value = value * 10 + i64::from(digit);
            } else if len > 0 && !is_regular(*byte) {
                self.at += len;
                return Some(value);
            } else {
                break;
            }
        }
        None
    }

    /// Takes the regular characters from here on; empty at a space, a delimiter or the end.
    pub(crate) fn regular(&mut self) -> &'p [u8] {
        let rest = self.rest();
        let len = rest
            .iter()
            .position(|byte| !is_regular(*byte))
            .unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    /// Takes a keyword, if it begins and ends here.
    pub(crate) fn keyword(&mut self, word: &[u8]) -> bool {
        let rest = self.rest();
        let stands =
            rest.starts_with(word) && rest.get(word.len()).is_none_or(|byte| !is_regular(*byte));
        if stands {
            self.at += word.len();
        }
        stands
    }

    /// Takes an unsigned decimal number of at most 19 digits, after white space.
    pub(crate) fn unsigned(&mut self) -> Option<u64> {
        self.skip_space();
        let (mut value, mut len) = (0_u64, 0);
        while let Some(digit) = self
            .bytes
            .get(self.at + len)
            .map(|byte| byte.wrapping_sub(b'0'))
            && digit < 10
        {
            if len == 19 {
                return None;
            }
            value = value * 10 + u64::from(digit);
            len += 1;
        }
        self.at += len;
        (len > 0).then_some(value)
    }

    /// Takes `N G obj`, after white space: the head of an indirect object.
    pub(crate) fn object_head(&mut self) -> Option<(u64, u64)> {
        let number = self.unsigned()?;
        if !self.peek().is_some_and(is_space) {
            return None;
        }
        let generation = self.unsigned()?;
        self.skip_space();
        // `obj` may run into the object: `1 0 obj<<` always, `1 0 obj5` in sloppy files.
        if !self.rest().starts_with(b"obj") {
            return None;
        }
        self.at += 3;
        Some((number, generation))
    }

    /// Takes a name without its slash, escapes kept.
    pub(crate) fn name(&mut self) -> &'p [u8] {
        self.regular()
    }

    /// Takes a literal string; the cursor is behind its `(`. Returns what is between the
    /// outer parentheses, escapes kept.
    pub(crate) fn literal_string(&mut self) -> Result<&'p [u8], ParseError> {
        let start = self.at;
        let mut depth = 1_usize;
        loop {
            let rest = self.rest();
            let Some(next) = memchr::memchr3(b'(', b')', b'\\', rest) else {
                return Err(ParseError::Incomplete);
            };
            match rest[next] {
                b'\\' => self.at += next + 2,
                b'(' => {
                    depth += 1;
                    self.at += next + 1;
                }
                _ => {
                    depth -= 1;
                    self.at += next + 1;
                    if depth == 0 {
                        return Ok(&self.bytes[start..self.at - 1]);
                    }
                }
            }
            if self.at > self.bytes.len() {
                self.at = self.bytes.len();
                return Err(ParseError::Incomplete);
            }
        }
    }

    /// Takes a hexadecimal string; the cursor is behind its `<`.
    pub(crate) fn hex_string(&mut self) -> Result<&'p [u8], ParseError> {
        let rest = self.rest();
        let len = memchr::memchr(b'>', rest).ok_or(ParseError::Incomplete)?;
        self.at += len + 1;
        Ok(&rest[..len])
    }

    /// How many of a byte follow one another here.
    fn run_of(&self, byte: u8) -> usize {
        let rest = self.rest();
        let end = rest.iter().position(|other| *other != byte);
        end.unwrap_or(rest.len())
    }

    /// Steps over everything up to the end of a container that was opened just before the cursor.
    /// It needs no stack, however deep the nesting.
    pub(crate) fn skip_container(&mut self) -> Result<(), ParseError> {
        let mut depth = 1_usize;
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                // Deep nesting is mostly runs of these.
                b'[' => {
                    let more = self.run_of(b'[');
                    depth += 1 + more;
                    self.at += more;
                }
                b']' => {
                    let more = self.run_of(b']').min(depth - 1);
                    depth -= 1 + more;
                    self.at += more;
                }
                b'<' if self.eat(b'<') => depth += 1,
                b'<' => {
                    self.hex_string()?;
                }
                b'>' => {
                    self.eat(b'>');
                    depth -= 1;
                }
                b'(' => {
                    self.literal_string()?;
                }
                b'%' => {
                    let rest = self.rest();
                    self.at += memchr::memchr2(b'\r', b'\n', rest).unwrap_or(rest.len());
                }
                _ => {}
            }
            if depth == 0 {
                return Ok(());
            }
        }
        Err(ParseError::Incomplete)
    }
}

/// Reads digits as a number; `None` for none, for more than 19, or above the range.
pub(crate) fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 19 {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, digit| {
        let digit = digit.wrapping_sub(b'0');
        (digit < 10).then(|| value * 10 + u64::from(digit))
    })
}
