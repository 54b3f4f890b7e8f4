//! Reading XML parts: decoded to UTF-8, pulled token by token, namespaces resolved, nothing expanded.
//!
//! Entities other than the five of XML itself are never looked up, so there is nothing that could
//! grow or reach out: what such a reference expands to is not known.
//!
//! A scanner of our own, because content types and properties are most of what a probe parses: with
//! quick-xml, which checks and copies more than is needed here, a record took 2.8 times as long as
//! reading its bytes. The tests hold it against quick-xml token by token.

mod attributes;
mod doctype;
mod encoding;
mod names;
mod outline;
mod pieces;
mod tag;

use std::borrow::Cow;

use memchr::{memchr, memchr2, memchr3, memmem};

use self::attributes::Attributes;
pub(crate) use self::encoding::decode;
pub(crate) use self::names::Ns;
pub(crate) use self::pieces::read_pieces;
pub(crate) use self::tag::Tag;
use crate::engine::budget::Meter;
use crate::engine::error::{ProbeError, Result};

/// Most namespace declarations in scope at one place. Documents have up to about forty.
const MAX_BINDINGS: usize = 512;

/// Deepest nesting: some bytes are kept for every open element. Documents have a hundred levels or so.
const MAX_DEPTH: usize = 250_000;

/// A pull reader over decoded text. An element without content comes as [`Token::Open`] and
/// [`Token::Close`] like any other.
pub(crate) struct Xml<'t> {
    text: &'t str,
    /// Where the next token begins.
    at: usize,
    meter: &'t Meter,
    tokens: u32,
    /// The names of the elements that are open.
    open: Vec<&'t str>,
    /// The last tag was that of an element without content.
    closing: bool,
    bindings: Vec<Binding<'t>>,
}

struct Binding<'t> {
    depth: usize,
    /// Empty for the default namespace.
    prefix: &'t str,
    ns: Ns,
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Token<'t> {
    /// An element begins.
    Open(Tag<'t>),
    /// The innermost open element ends.
    Close,
    /// Text, CDATA or a character that was written as a reference. Text comes in as many pieces as
    /// it was written in.
    Text(Cow<'t, str>),
    /// A reference to an entity that XML itself does not define.
    Reference,
}

impl<'t> Xml<'t> {
    /// Starts to read. The meter's clock is looked at now and then.
    pub(crate) fn new(text: &'t str, meter: &'t Meter) -> Self {
        Self {
            text,
            at: 0,
            meter,
            tokens: 0,
            open: Vec::new(),
            closing: false,
            bindings: Vec::new(),
        }
    }

    /// The next token; `None` at the end of a document whose elements are all closed. After an error the
    /// position is that of the token that could not be read.
    ///
    /// # Errors
    /// `MALFORMED_INPUT` where the text is not well-formed; `BUDGET_EXCEEDED` past the time limit.
    pub(crate) fn next(&mut self) -> Result<Option<Token<'t>>> {
        self.tokens = self.tokens.wrapping_add(1);
        if self.tokens.is_multiple_of(4096) {
            self.meter.check_clock()?;
        }
        if self.closing {
            self.closing = false;
            self.close();
            return Ok(Some(Token::Close));
        }
        loop {
            let rest = &self.text[self.at..];
            match rest.as_bytes() {
                [] if self.open.is_empty() => return Ok(None),
                [] => return Err(malformed("the text ends inside an element")),
                [b'<', b'/', ..] => {
                    self.end_tag(rest)?;
                    return Ok(Some(Token::Close));
                }
                [b'<', b'!', ..] => {
                    if let Some(text) = self.declaration(rest)? {
                        return Ok(Some(Token::Text(text)));
                    }
                }
                [b'<', b'?', ..] => self.pass(rest, 2, "?>")?,
                [b'<', ..] => return self.start_tag(rest).map(|tag| Some(Token::Open(tag))),
                [b'&', ..] if self.open.is_empty() => {
                    return Err(malformed("there is text outside the root element"));
                }
                [b'&', ..] => return self.reference(rest).map(Some),
                _ => {
                    let end = memchr2(b'<', b'&', rest.as_bytes()).unwrap_or(rest.len());
                    self.at += end;
                    // Line ends outside the root element, and anything else there, mean nothing.
                    if !self.open.is_empty() {
                        return Ok(Some(Token::Text(unified(&rest[..end]))));
                    }
                }
            }
        }
    }

    /// What was not read yet.
    pub(crate) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// How many elements are open.
    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    /// The namespace of the element that was opened last.
    pub(crate) fn ns(&self, tag: &Tag<'_>) -> Ns {
        self.ns_of_prefix(tag.prefix())
    }

    /// The namespace and the local name of an attribute of the element that was opened last. An
    /// attribute without prefix is in no namespace.
    pub(crate) fn attribute_ns<'n>(&self, name: &'n str) -> (Ns, &'n str) {
        match name.split_once(':') {
            Some(("xml", local)) => (Ns::Xml, local),
            Some((prefix, local)) => (self.ns_of_prefix(prefix), local),
            None => (Ns::None, name),
        }
    }

    fn ns_of_prefix(&self, prefix: &str) -> Ns {
        self.bindings
            .iter()
            .rev()
            .find(|binding| same(binding.prefix, prefix))
            .map_or(Ns::None, |binding| binding.ns)
    }

    /// Whether the element that was opened last is this one.
    pub(crate) fn is(&self, tag: &Tag<'_>, ns: Ns, local: &str) -> bool {
        tag.local() == local && self.ns(tag) == ns
    }

    /// Opens the root element.
    ///
    /// # Errors
    /// `MALFORMED_INPUT` when there is none.
    pub(crate) fn root(&mut self) -> Result<Tag<'t>> {
        loop {
            match self.next()? {
                Some(Token::Open(tag)) => return Ok(tag),
                Some(_) => {}
                None => return Err(malformed("there is no root element")),
            }
        }
    }

    /// The next child element of the element at `depth`, or `None` at its end. What is inside
    /// children that the caller did not read is passed over.
    ///
    /// # Errors
    /// As [`Xml::next`].
    pub(crate) fn child(&mut self, depth: usize) -> Result<Option<Tag<'t>>> {
        loop {
            match self.next()? {
                Some(Token::Open(tag)) if self.depth() == depth + 1 => return Ok(Some(tag)),
                Some(Token::Close) if self.depth() < depth => return Ok(None),
                Some(_) => {}
                None => return Ok(None),
            }
        }
    }

    /// All text up to the end of the element that was opened last, joined. `None` when some of it is
    /// a reference to an entity that XML itself does not define.
    ///
    /// # Errors
    /// As [`Xml::next`].
    pub(crate) fn text(&mut self) -> Result<Option<Cow<'t, str>>> {
        let depth = self.depth();
        let mut whole = Cow::Borrowed("");
        let mut known = true;
        loop {
            match self.next()? {
                Some(Token::Reference) => known = false,
                Some(Token::Text(piece)) if whole.is_empty() => whole = piece,
                Some(Token::Text(piece)) => whole.to_mut().push_str(&piece),
                Some(Token::Close) if self.depth() < depth => break,
                Some(_) => {}
                None => break,
            }
        }
        Ok(known.then_some(whole))
    }

    fn start_tag(&mut self, rest: &'t str) -> Result<Tag<'t>> {
        let scanned =
            outline::scan(rest.as_bytes()).ok_or_else(|| malformed("a tag does not end"))?;
        let name = &rest[1..scanned.name_end];
        let attributes = &rest[scanned.name_end..scanned.attributes_end];
        if name.is_empty() {
            return Err(malformed("a tag has no name"));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(malformed("elements nest too deep"));
        }
        self.open.push(name);
        if scanned.may_declare {
            self.bind(attributes)?;
        }
        self.at += scanned.len;
        self.closing = scanned.is_empty;
        Ok(Tag { name, attributes })
    }

    fn end_tag(&mut self, rest: &'t str) -> Result<()> {
        let inside = &rest[2..];
        // Written plainly, as always: the name of the open element and nothing else.
        let plain = self.open.last().and_then(|name| {
            let after = inside.strip_prefix(name)?;
            after.starts_with('>').then_some(name.len())
        });
        let end = match plain {
            Some(end) => end,
            None => self.spaced_end_tag(inside)?,
        };
        self.at += 2 + end + 1;
        self.close();
        Ok(())
    }

    /// Where an end tag ends that is not written plainly.
    fn spaced_end_tag(&self, inside: &str) -> Result<usize> {
        let end = memchr(b'>', inside.as_bytes()).ok_or_else(|| malformed("a tag does not end"))?;
        let name = inside[..end].trim_end_matches([' ', '\t', '\r', '\n']);
        if self.open.last() != Some(&name) {
            return Err(malformed(format_args!(
                "the end tag of {name:?} closes another element"
            )));
        }
        Ok(end)
    }

    /// Takes what begins with `<!`: text if it is CDATA, else nothing.
    fn declaration(&mut self, rest: &'t str) -> Result<Option<Cow<'t, str>>> {
        if rest.starts_with("<!--") {
            self.pass(rest, 4, "-->")?;
            return Ok(None);
        }
        if let Some(inside) = rest.strip_prefix("<![CDATA[") {
            let end = find(inside, "]]>").ok_or_else(|| malformed("CDATA does not end"))?;
            if self.open.is_empty() {
                return Err(malformed("there is text outside the root element"));
            }
            self.at += 9 + end + 3;
            return Ok(Some(unified(&inside[..end])));
        }
        if rest.starts_with("<!DOCTYPE") && self.open.is_empty() {
            let end = doctype::end(rest).ok_or_else(|| malformed("the DOCTYPE does not end"))?;
            self.at += end;
            return Ok(None);
        }
        Err(malformed("there is a declaration where none may be"))
    }

    /// Passes over what ends with `end`.
    fn pass(&mut self, rest: &str, from: usize, end: &str) -> Result<()> {
        let at = find(&rest[from..], end)
            .ok_or_else(|| malformed("a comment or an instruction does not end"))?;
        self.at += from + at + end.len();
        Ok(())
    }

    fn reference(&mut self, rest: &'t str) -> Result<Token<'t>> {
        let end = memchr3(b';', b'<', b'>', rest.as_bytes())
            .filter(|&end| rest.as_bytes()[end] == b';')
            .ok_or_else(|| malformed("a reference does not end"))?;
        let token = match attributes::resolve(&rest[1..end])? {
            Some(character) => Token::Text(Cow::Owned(character.into())),
            None => Token::Reference,
        };
        self.at += end + 1;
        Ok(token)
    }

    fn bind(&mut self, attributes: &'t str) -> Result<()> {
        for attribute in Attributes::of(attributes) {
            let (name, raw) = attribute?;
            let prefix = match name.strip_prefix("xmlns") {
                Some("") => "",
                Some(rest) => match rest.strip_prefix(':') {
                    Some(prefix) => prefix,
                    None => continue,
                },
                None => continue,
            };
            if self.bindings.len() >= MAX_BINDINGS {
                return Err(malformed("too many namespaces are declared"));
            }
            self.bindings.push(Binding {
                depth: self.open.len(),
                prefix,
                ns: Ns::of(&attributes::value(raw)?),
            });
        }
        Ok(())
    }

    fn close(&mut self) {
        let depth = self.open.len();
        while self
            .bindings
            .last()
            .is_some_and(|binding| binding.depth >= depth)
        {
            self.bindings.pop();
        }
        self.open.pop();
    }
}

/// Whether two prefixes are the same. They are a few bytes long, for which a call is dear.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().eq(b.bytes())
}

/// Text with every line end as a line feed (2.11).
fn unified(text: &str) -> Cow<'_, str> {
    if memchr(b'\r', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
}

fn find(text: &str, what: &str) -> Option<usize> {
    memmem::find(text.as_bytes(), what.as_bytes())
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn malformed(error: impl std::fmt::Display) -> ProbeError {
    ProbeError::malformed(format_args!("XML that is not well-formed: {error}"))
}

/// For `fuzz/`: decodes a part and reads it to its end.
pub(crate) fn fuzz(bytes: &[u8]) {
    let Ok(text) = decode(bytes.to_vec()) else {
        return;
    };
    let limits = crate::contract::Limits::of(crate::contract::Level::Metadata);
    let meter = Meter::start(limits);
    let mut xml = Xml::new(&text, &meter);
    let mut opened = 0_usize;
    while let Ok(Some(token)) = xml.next() {
        match token {
            Token::Open(tag) => {
                opened += 1;
                assert!(!tag.local().bytes().any(is_space));
                let _any = (
                    xml.ns(&tag),
                    tag.attribute("a"),
                    tag.prefixed_attribute("id"),
                );
            }
            Token::Close => opened -= 1,
            Token::Text(_) | Token::Reference => assert!(opened > 0),
        }
        assert_eq!(opened, xml.depth());
    }
}

#[cfg(test)]
mod tests;
