//! Reading XML parts: decoded to UTF-8, pulled token by token, namespaces resolved, nothing expanded.
//!
//! Entities other than the five of XML itself are never looked up, so there is nothing that could
//! grow or reach out: what such a reference stands for is not known.

mod encoding;
mod names;

use std::borrow::Cow;

use memchr::memmem;
use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::PrefixDeclaration;

pub(crate) use self::encoding::decode;
pub(crate) use self::names::Ns;
use crate::engine::error::{ProbeError, Result};
use crate::engine::meter::Meter;

/// Most namespace declarations in scope at one place. Documents have up to about forty.
const MAX_BINDINGS: usize = 512;

/// Deepest nesting: some bytes are kept for every open element. Documents have a hundred levels or so.
const MAX_DEPTH: usize = 1_000_000;

/// A pull reader over decoded text. An element without content comes as [`Token::Open`] and
/// [`Token::Close`] like any other.
pub(crate) struct Xml<'t> {
    reader: Reader<&'t [u8]>,
    meter: &'t Meter,
    tokens: u32,
    depth: usize,
    /// An element was closed; its declarations go out of scope before the next token.
    bindings: Vec<Binding>,
    declares: memmem::Finder<'static>,
}

struct Binding {
    depth: usize,
    /// Empty for the default namespace.
    prefix: Box<str>,
    ns: Ns,
}

/// What comes next.
#[derive(Debug)]
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

/// The start tag of an element.
#[derive(Debug)]
pub(crate) struct Tag<'t>(BytesStart<'t>);

impl Tag<'_> {
    /// The name without prefix.
    pub(crate) fn local(&self) -> &str {
        self.0.local_name().into_inner()
    }

    /// The value of an attribute without prefix. `None` when it is absent.
    ///
    /// # Errors
    /// `MALFORMED_INPUT` when the attributes cannot be read up to it, or its value has a reference to
    /// an unknown entity.
    pub(crate) fn attribute(&self, name: &str) -> Result<Option<Cow<'_, str>>> {
        self.first_attribute(|key| key == name)
    }

    /// The value of the attribute with this local name and any prefix.
    ///
    /// # Errors
    /// As [`Tag::attribute`].
    pub(crate) fn prefixed_attribute(&self, local: &str) -> Result<Option<Cow<'_, str>>> {
        self.first_attribute(|key| key.rsplit_once(':').is_some_and(|(_, name)| name == local))
    }

    fn first_attribute(&self, wanted: impl Fn(&str) -> bool) -> Result<Option<Cow<'_, str>>> {
        for attribute in self.0.attributes().with_checks(false) {
            let attribute = attribute.map_err(malformed)?;
            if wanted(attribute.key.into_inner()) {
                return value(&attribute).map(Some);
            }
        }
        Ok(None)
    }

    /// Calls `each` with every attribute's name, prefix included, and value.
    ///
    /// # Errors
    /// As [`Tag::attribute`].
    pub(crate) fn attributes<'a>(&'a self, mut each: impl FnMut(&str, Cow<'a, str>)) -> Result<()> {
        for attribute in self.0.attributes().with_checks(false) {
            let attribute = attribute.map_err(malformed)?;
            each(attribute.key.into_inner(), value(&attribute)?);
        }
        Ok(())
    }
}

impl<'t> Xml<'t> {
    /// Starts to read. The meter's clock is looked at now and then.
    pub(crate) fn new(text: &'t str, meter: &'t Meter) -> Self {
        let mut reader = Reader::from_str(text);
        reader.config_mut().expand_empty_elements = true;
        Self {
            reader,
            meter,
            tokens: 0,
            depth: 0,
            bindings: Vec::new(),
            declares: memmem::Finder::new(b"xmlns"),
        }
    }

    /// The next token; `None` at the end of a document whose elements are all closed.
    ///
    /// # Errors
    /// `MALFORMED_INPUT` where the text is not well-formed; `BUDGET_EXCEEDED` past the time limit.
    pub(crate) fn next(&mut self) -> Result<Option<Token<'t>>> {
        loop {
            self.tokens = self.tokens.wrapping_add(1);
            if self.tokens.is_multiple_of(4096) {
                self.meter.check_clock()?;
            }
            return Ok(Some(match self.reader.read_event().map_err(malformed)? {
                Event::Start(start) => {
                    self.open(&start)?;
                    Token::Open(Tag(start))
                }
                Event::End(_) => {
                    self.close();
                    Token::Close
                }
                Event::Text(text) => Token::Text(text.xml10_content()),
                Event::CData(text) => Token::Text(text.xml10_content()),
                Event::GeneralRef(reference) => {
                    if let Some(character) = reference.resolve_char_ref().map_err(malformed)? {
                        Token::Text(Cow::Owned(character.into()))
                    } else {
                        let name = reference.xml10_content();
                        resolve_predefined_entity(&name)
                            .map_or(Token::Reference, |text| Token::Text(Cow::Borrowed(text)))
                    }
                }
                Event::Eof if self.depth > 0 => {
                    return Err(malformed("the text ends inside an element"));
                }
                Event::Eof => return Ok(None),
                // Empty elements are expanded by the reader.
                Event::Empty(_)
                | Event::Comment(_)
                | Event::Decl(_)
                | Event::PI(_)
                | Event::DocType(_) => continue,
            }));
        }
    }

    /// How many elements are open.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// The namespace of the element that was opened last.
    pub(crate) fn ns(&self, tag: &Tag<'_>) -> Ns {
        let name = tag.0.name();
        let prefix = name.prefix().map_or("", |prefix| prefix.into_inner());
        self.bindings
            .iter()
            .rev()
            .find(|binding| *binding.prefix == *prefix)
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
                Some(Token::Open(tag)) if self.depth == depth + 1 => return Ok(Some(tag)),
                Some(Token::Close) if self.depth < depth => return Ok(None),
                Some(_) => {}
                None => return Ok(None),
            }
        }
    }

    /// Passes over the rest of the element that was opened last.
    ///
    /// # Errors
    /// As [`Xml::next`].
    pub(crate) fn skip(&mut self) -> Result<()> {
        let depth = self.depth;
        while self.depth >= depth {
            if self.next()?.is_none() {
                break;
            }
        }
        Ok(())
    }

    /// All text up to the end of the element that was opened last, joined. `None` when some of it is
    /// a reference to an entity that XML itself does not define.
    ///
    /// # Errors
    /// As [`Xml::next`].
    pub(crate) fn text(&mut self) -> Result<Option<Cow<'t, str>>> {
        let depth = self.depth;
        let mut whole = Cow::Borrowed("");
        let mut known = true;
        loop {
            match self.next()? {
                Some(Token::Reference) => known = false,
                Some(Token::Text(piece)) if whole.is_empty() => whole = piece,
                Some(Token::Text(piece)) => whole.to_mut().push_str(&piece),
                Some(Token::Close) if self.depth < depth => break,
                Some(_) => {}
                None => break,
            }
        }
        Ok(known.then_some(whole))
    }

    fn open(&mut self, start: &BytesStart<'t>) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(malformed("elements nest too deep"));
        }
        let raw = start.attributes_raw();
        if raw.is_empty() || self.declares.find(raw.as_bytes()).is_none() {
            return Ok(());
        }
        for attribute in start.attributes().with_checks(false) {
            let attribute = attribute.map_err(malformed)?;
            let prefix = match attribute.key.as_namespace_binding() {
                Some(PrefixDeclaration::Default) => "",
                Some(PrefixDeclaration::Named(prefix)) => prefix,
                None => continue,
            };
            if self.bindings.len() >= MAX_BINDINGS {
                return Err(malformed("too many namespaces are declared"));
            }
            self.bindings.push(Binding {
                depth: self.depth,
                prefix: prefix.into(),
                ns: Ns::of(&value(&attribute)?),
            });
        }
        Ok(())
    }

    fn close(&mut self) {
        while self
            .bindings
            .last()
            .is_some_and(|binding| binding.depth >= self.depth)
        {
            self.bindings.pop();
        }
        self.depth = self.depth.saturating_sub(1);
    }
}

fn value<'a>(attribute: &quick_xml::events::attributes::Attribute<'a>) -> Result<Cow<'a, str>> {
    attribute
        .normalized_value(XmlVersion::Implicit1_0)
        .map_err(malformed)
}

fn malformed(error: impl std::fmt::Display) -> ProbeError {
    ProbeError::malformed(format_args!("XML that is not well-formed: {error}"))
}

#[cfg(test)]
mod tests;
