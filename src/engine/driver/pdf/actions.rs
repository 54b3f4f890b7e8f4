//! Everything that can be reached from the catalogue, looked through for what acts, signs, embeds or
//! points outside (ISO 32000-2, 12.6, 12.8, 7.11).

use super::visited::Visited;
use crate::engine::container::pdf::{Dict, Document, Loaded, MAX_DEPTH, Name, Object, Ref};
use crate::engine::error::Result;

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ActiveContent {
    pub(super) signatures: u64,
    /// File specifications with an embedded file.
    pub(super) attachments: u64,
    pub(super) javascript: bool,
    pub(super) embedded: bool,
    pub(super) external: bool,
    pub(super) launch: bool,
    /// Form submission, multimedia: content that acts, but runs no code.
    pub(super) active: bool,
    /// Something nests so deep that what is below may have been passed over.
    pub(super) too_deep: bool,
}

/// The worst judgement: nothing that is not known yet can change it.
pub(super) const WORST: &str = "high";

impl ActiveContent {
    /// The contract's judgement: the worst kind of active content.
    pub(super) fn risk(&self) -> &'static str {
        if self.javascript || self.launch {
            WORST
        } else if self.active {
            "medium"
        } else if self.external || self.embedded {
            "low"
        } else {
            "none"
        }
    }
}

/// Looks through all objects that the catalogue leads to. What was freed, or is left over from an
/// older revision, is not reached and does not count. Every object is looked at once.
pub(super) fn find<'p>(document: &Document<'p>, catalogue: &Dict<'p>) -> Result<ActiveContent> {
    let mut search = Search {
        document,
        seen: Visited::default(),
        found: ActiveContent::default(),
        stack: Vec::new(),
    };
    // What refers back to the catalogue must not have it looked at, and counted, twice.
    if let Some(root) = document.trailer().get(b"Root").and_then(Object::as_ref) {
        search.seen.insert(root.number);
    }
    for (_, value) in catalogue.iter() {
        search.object(value, 1)?;
    }
    while let Some(reference) = search.stack.pop() {
        let loaded = document.load(reference)?;
        search.loaded(&loaded)?;
    }
    let rights = usage_rights(document, catalogue)?;
    search.found.signatures = search.found.signatures.saturating_sub(rights);
    Ok(search.found)
}

/// How many signatures are usage rights: those the software's maker grants, and they sign nothing of
/// the author's (12.8.2.3). Whatever else they lead to counts like everything else.
fn usage_rights<'p>(document: &Document<'p>, catalogue: &Dict<'p>) -> Result<u64> {
    let Some(permissions) = document.dict_of(catalogue, b"Perms")? else {
        return Ok(0);
    };
    let mut seen = Visited::default();
    let mut rights = 0;
    for key in [&b"UR"[..], b"UR3"] {
        let Some(entry) = permissions.get(key) else {
            continue;
        };
        if entry.as_ref().is_some_and(|of| !seen.insert(of.number)) {
            continue;
        }
        let right = document.resolve(entry)?;
        rights += u64::from(right.as_dict().is_some_and(|dict| Keys::of(dict).signs()));
    }
    Ok(rights)
}

struct Search<'d, 'p> {
    document: &'d Document<'p>,
    seen: Visited,
    found: ActiveContent,
    stack: Vec<Ref>,
}

impl<'p> Search<'_, 'p> {
    fn loaded(&mut self, loaded: &Loaded<'p>) -> Result<()> {
        match &loaded.object {
            Object::Dict(dict) => self.dict(dict, loaded.stream.is_some(), 0),
            object => self.object(object, 0),
        }
    }

    /// Direct objects nest no deeper than the parser allows; in the last level it reads, what nests
    /// deeper is null.
    fn object(&mut self, object: &Object<'p>, depth: usize) -> Result<()> {
        match object {
            Object::Dict(dict) => self.dict(dict, false, depth),
            Object::Array(items) => {
                self.found.too_deep |= depth + 1 >= MAX_DEPTH;
                items
                    .iter()
                    .try_for_each(|item| self.object(item, depth + 1))
            }
            Object::Ref(reference) => {
                if self.document.may_exist(reference.number)? && self.seen.insert(reference.number)
                {
                    self.stack.push(*reference);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn dict(&mut self, dict: &Dict<'p>, is_stream: bool, depth: usize) -> Result<()> {
        self.found.too_deep |= depth + 1 >= MAX_DEPTH;
        let keys = Keys::of(dict);
        self.action(dict, &keys)?;
        self.found.signatures += u64::from(keys.signs());
        self.file(&keys, is_stream)?;
        if keys.is(keys.subtype, &[b"RichMedia", b"Movie", b"Sound", b"Screen"]) {
            self.found.active = true;
        }
        dict.iter()
            .try_for_each(|(_, value)| self.object(value, depth + 1))
    }

    fn action(&mut self, dict: &Dict<'p>, keys: &Keys<'_, 'p>) -> Result<()> {
        let Some(kind) = keys.action else {
            return Ok(());
        };
        let Some(kind) = self.document.resolve(kind)?.as_name() else {
            return Ok(());
        };
        let found = &mut self.found;
        match &*kind.bytes() {
            b"JavaScript" => found.javascript = true,
            b"Launch" => {
                found.launch = true;
                found.external = true;
            }
            b"SubmitForm" | b"ImportData" => {
                found.active = true;
                found.external = true;
            }
            b"URI" | b"GoToR" => found.external = true,
            // These lead outside only when they name a file; a file within is no other document.
            b"GoToE" | b"Thread" if dict.has(b"F") && keys.embedded.is_none() => {
                found.external = true;
            }
            b"Rendition" => {
                found.active = true;
                found.javascript |= dict.has(b"JS");
            }
            b"Movie" | b"Sound" => found.active = true,
            _ => {}
        }
        Ok(())
    }

    fn file(&mut self, keys: &Keys<'_, 'p>, is_stream: bool) -> Result<()> {
        if let Some(embedded) = keys.embedded {
            let has_file = self.document.resolve(embedded)?.as_dict().is_some();
            self.found.attachments += u64::from(has_file);
            self.found.embedded |= has_file;
            return Ok(());
        }
        let is_specification = keys.is(keys.kind, &[b"Filespec", b"F"]);
        if is_specification && (keys.file.is_some() || keys.unicode_file) {
            self.found.external = true;
        }
        // Specifications without a type are known by where they stand: the data of a stream that
        // are in another file, and the file of an annotation.
        let outside = if is_stream { keys.file } else { keys.attached };
        if let Some(outside) = outside {
            self.found.external |= match &*self.document.resolve(outside)? {
                Object::Text(_) => true,
                Object::Dict(dict) => !dict.has(b"EF") && (dict.has(b"F") || dict.has(b"UF")),
                _ => false,
            };
        }
        Ok(())
    }
}

/// The entries that decide, picked out in one pass.
#[derive(Default)]
struct Keys<'o, 'p> {
    kind: Option<Name<'p>>,
    subtype: Option<Name<'p>>,
    action: Option<&'o Object<'p>>,
    embedded: Option<&'o Object<'p>>,
    file: Option<&'o Object<'p>>,
    attached: Option<&'o Object<'p>>,
    unicode_file: bool,
    byte_range: bool,
    contents: bool,
}

impl<'o, 'p> Keys<'o, 'p> {
    fn of(dict: &'o Dict<'p>) -> Self {
        let mut keys = Self::default();
        for (name, value) in dict.iter().filter(|(_, value)| !value.is_null()) {
            match &*name.bytes() {
                b"Type" => keys.kind = value.as_name(),
                b"Subtype" => keys.subtype = value.as_name(),
                b"S" => keys.action = Some(value),
                b"EF" => keys.embedded = Some(value),
                b"F" => keys.file = Some(value),
                b"FS" => keys.attached = Some(value),
                b"UF" => keys.unicode_file = true,
                b"ByteRange" => keys.byte_range = true,
                b"Contents" => keys.contents = true,
                _ => {}
            }
        }
        keys
    }

    /// Whether this is a signature.
    fn signs(&self) -> bool {
        self.is(self.kind, &[b"Sig", b"DocTimeStamp"]) || self.byte_range && self.contents
    }

    fn is(&self, name: Option<Name<'p>>, names: &[&[u8]]) -> bool {
        name.is_some_and(|name| name.is_any(names))
    }
}
