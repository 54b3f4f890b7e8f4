//! Fonts and images of a document (ISO 32000-2, 9.6 to 9.9, 8.9.5).

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::engine::container::pdf::{Dict, Name, Object};
use crate::engine::value::Value;

/// Most fonts that are listed, and most characters of a name.
const MAX_FONTS: usize = 1000;
const MAX_NAME: usize = 200;

/// What was seen of fonts and images. A font and its descriptor come in any order.
#[derive(Debug, Default)]
pub(super) struct Assets {
    fonts: Vec<Font>,
    /// Descriptors by number: whether they have a font file.
    descriptors: HashMap<u32, bool>,
    images: HashSet<u32>,
    masks: HashSet<u32>,
}

#[derive(Debug)]
struct Font {
    name: String,
    kind: String,
    file: File,
}

/// Where it shows whether a font is embedded.
#[derive(Clone, Copy, Debug)]
enum File {
    Known(bool),
    Descriptor(u32),
}

const FILES: [&[u8]; 3] = [b"FontFile", b"FontFile2", b"FontFile3"];

impl Assets {
    /// Adds a font dictionary. Composite fonts are listed as the fonts that they are made of.
    pub(super) fn font(&mut self, dict: &Dict<'_>, name: Option<Name<'_>>) {
        let Some(kind) = dict.name(b"Subtype") else {
            return;
        };
        if kind.is(b"Type0") || self.fonts.len() >= MAX_FONTS {
            return;
        }
        let file = match dict.get(b"FontDescriptor") {
            // The glyphs of a Type 3 font are streams of the document.
            _ if kind.is(b"Type3") => File::Known(true),
            Some(Object::Ref(reference)) => File::Descriptor(reference.number),
            Some(Object::Dict(descriptor)) => File::Known(has_file(descriptor)),
            _ => File::Known(false),
        };
        self.fonts.push(Font {
            name: name.map(text).unwrap_or_default(),
            kind: text(kind),
            file,
        });
    }

    pub(super) fn descriptor(&mut self, number: u32, dict: &Dict<'_>) {
        self.descriptors.insert(number, has_file(dict));
    }

    pub(super) fn image(&mut self, number: u32, dict: &Dict<'_>) {
        self.images.insert(number);
        for key in [&b"SMask"[..], b"Mask"] {
            let mask = dict.get(key).and_then(Object::as_ref);
            self.masks.extend(mask.map(|mask| mask.number));
        }
    }

    /// Images that are not masks of others.
    pub(super) fn image_count(&self) -> u64 {
        self.images.difference(&self.masks).count() as u64
    }

    /// The distinct fonts in the order of their names.
    pub(super) fn fonts(&self) -> Value {
        let mut fonts = BTreeMap::new();
        for font in &self.fonts {
            let embedded = match font.file {
                File::Known(embedded) => embedded,
                File::Descriptor(number) => self.descriptors.get(&number) == Some(&true),
            };
            let (name, subset) = without_tag(&font.name);
            fonts.insert((name, &font.kind, embedded, subset), ());
        }
        let fonts = fonts.into_keys().map(|(name, kind, embedded, subset)| {
            Value::object([
                ("embedded", Value::from(embedded)),
                ("name", Value::from(name)),
                ("subset", Value::from(subset)),
                ("type", Value::from(kind.as_str())),
            ])
        });
        Value::List(fonts.collect())
    }
}

fn has_file(descriptor: &Dict<'_>) -> bool {
    FILES.iter().any(|key| descriptor.has(key))
}

fn text(name: Name<'_>) -> String {
    let bytes = name.bytes();
    String::from_utf8_lossy(&bytes)
        .chars()
        .take(MAX_NAME)
        .collect()
}

/// A name without the tag of a subset, six capital letters and a plus sign (9.9.2).
fn without_tag(name: &str) -> (&str, bool) {
    match name.split_once('+') {
        Some((tag, rest)) if tag.len() == 6 && tag.bytes().all(|b| b.is_ascii_uppercase()) => {
            (rest, true)
        }
        _ => (name, false),
    }
}
