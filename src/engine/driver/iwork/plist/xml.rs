//! XML property lists (`PropertyList-1.0.dtd`).

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::events::Event;

use super::{MAX_ITEMS, Plist, Scalar};
use crate::engine::container::iwa::Broken;

/// Collects the scalars of the outermost collection.
struct Collector {
    /// What was collected. A dictionary's keys and values alternate.
    items: Vec<Scalar<'static>>,
    /// The kind of the outermost collection.
    outer: Option<Outer>,
    /// Elements that are open, the outermost collection not counted.
    depth: usize,
    text: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Outer {
    Dictionary,
    Array,
    Scalar,
}

pub(super) fn read(bytes: &[u8]) -> Result<Plist<'static>, Broken> {
    // A byte order mark tells UTF-16; UTF-8 is what the format prescribes.
    let text = encoding_rs::Encoding::for_bom(bytes).map_or_else(
        || {
            std::str::from_utf8(bytes)
                .map(Cow::Borrowed)
                .map_err(|_| Broken)
        },
        |(encoding, bom)| Ok(encoding.decode_without_bom_handling(&bytes[bom..]).0),
    )?;
    let mut reader = Reader::from_str(&text);
    let mut collector = Collector {
        items: Vec::new(),
        outer: None,
        depth: 0,
        text: String::new(),
    };
    loop {
        match reader.read_event().map_err(|_| Broken)? {
            Event::Start(element) => collector.open(element.name().as_ref()),
            Event::Empty(element) => {
                collector.open(element.name().as_ref());
                if collector.close(element.name().as_ref()) {
                    return collector.finish();
                }
            }
            Event::End(element) => {
                if collector.close(element.name().as_ref()) {
                    return collector.finish();
                }
            }
            Event::Text(text) => collector.append(&text),
            Event::CData(text) => collector.append(&text),
            Event::GeneralRef(reference) => {
                let character = reference.resolve_char_ref().map_err(|_| Broken)?;
                let name: &str = &reference;
                match character {
                    Some(character) => collector.append(character.encode_utf8(&mut [0; 4])),
                    None => {
                        collector.append(quick_xml::escape::resolve_xml_entity(name).ok_or(Broken)?)
                    }
                }
            }
            Event::Eof => return Err(Broken),
            Event::Decl(_) | Event::PI(_) | Event::DocType(_) | Event::Comment(_) => {}
        }
    }
}

impl Collector {
    fn open(&mut self, name: &str) {
        match (self.outer, name) {
            (None, "plist") => {}
            (None, "dict") => self.outer = Some(Outer::Dictionary),
            (None, "array") => self.outer = Some(Outer::Array),
            (None, _) => self.outer = Some(Outer::Scalar),
            (Some(_), _) => {
                self.depth += 1;
                self.text.clear();
            }
        }
    }

    /// Closes an element; `true` when it was the outermost collection.
    fn close(&mut self, name: &str) -> bool {
        if self.depth == 0 {
            return self.outer.is_some();
        }
        self.depth -= 1;
        if self.depth == 0 && self.items.len() <= MAX_ITEMS {
            self.items.push(match name {
                "key" | "string" => {
                    Scalar::Utf8(Cow::Owned(std::mem::take(&mut self.text).into_bytes()))
                }
                "true" => Scalar::Bool(true),
                "false" => Scalar::Bool(false),
                _ => Scalar::Other,
            });
        }
        false
    }

    fn append(&mut self, text: &str) {
        if self.depth == 1 {
            self.text.push_str(text);
        }
    }

    fn finish(self) -> Result<Plist<'static>, Broken> {
        match self.outer {
            _ if self.items.len() > MAX_ITEMS => Err(Broken),
            Some(Outer::Dictionary) => {
                if !self.items.len().is_multiple_of(2) {
                    return Err(Broken);
                }
                let mut items = self.items.into_iter();
                let mut entries = Vec::new();
                while let (Some(key), Some(value)) = (items.next(), items.next()) {
                    entries.push((key, value));
                }
                Ok(Plist::Dictionary(entries))
            }
            Some(Outer::Array) => Ok(Plist::Array(self.items)),
            Some(Outer::Scalar) | None => Ok(Plist::Scalar),
        }
    }
}
