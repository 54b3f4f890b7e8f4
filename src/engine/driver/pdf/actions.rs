//! A walk through everything that the catalogue leads to, for what acts, signs, embeds or refers to
//! other documents (ISO 32000-2, 12.6, 12.8, 7.11).

use super::assets::Assets;
use super::signatures::Signature;
use super::visited::Visited;
use super::xfa;
use crate::engine::container::pdf::{Dict, Document, Loaded, MAX_DEPTH, Name, Object, Ref};
use crate::engine::driver::signals::{RiskSignals, Signal};
use crate::engine::error::Result;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct ActiveContent {
    pub(super) signals: RiskSignals,
    /// Without usage rights, which the maker of the software grants (12.8.2.3).
    pub(super) signatures: Vec<Signature>,
    pub(super) signature_count: u64,
    pub(super) assets: Assets,
    /// Something nests so deep that content below it may have been skipped.
    pub(super) too_deep: bool,
}

/// The gravest rating: nothing that is not known yet can change it.
pub(super) const WORST: &str = "high";

/// Most signatures that are described.
const MAX_SIGNATURES: usize = 100;

/// Raw bytes of an embedded file that are decoded to recognise a program.
const EXECUTABLE_HEAD: usize = 512;

impl ActiveContent {
    pub(super) fn has_java_script(&self) -> bool {
        self.signals
            .has_any(&[Signal::JavaScript, Signal::XfaJavaScript])
    }

    pub(super) fn has_external_references(&self) -> bool {
        self.signals.has_any(&[
            Signal::ExternalReference,
            Signal::LaunchAction,
            Signal::SubmitForm,
            Signal::ImportData,
        ])
    }

    /// File specifications with an embedded file.
    pub(super) fn attachments(&self) -> u64 {
        self.signals.count(Signal::EmbeddedFile)
    }
}

/// Looks through all objects that the catalogue leads to, each once. What was freed or belongs to an
/// older revision is not reached and does not count. When a budget ends the walk, `content` holds what
/// was found before.
///
/// # Errors
/// Budget and I/O errors.
pub(super) fn find<'p>(
    document: &Document<'p>,
    catalogue: &Dict<'p>,
    content: &mut ActiveContent,
) -> Result<()> {
    let rights = usage_rights(document, catalogue)?;
    let mut search = Search {
        document,
        visited: Visited::default(),
        content,
        rights,
        stack: Vec::new(),
        current: None,
    };
    // What refers back to the catalogue must not have it counted twice.
    if let Some(root) = document.trailer().get(b"Root").and_then(Object::as_ref) {
        search.visited.insert(root.number);
    }
    for (_, value) in catalogue.iter() {
        search.object(value, 1)?;
    }
    while let Some(reference) = search.stack.pop() {
        let loaded = document.load(reference)?;
        search.current = Some(reference.number);
        search.loaded(&loaded)?;
    }
    search.current = None;
    search.form_scripts(catalogue)
}

/// The dictionaries of usage rights: signatures of the software's maker, which sign nothing of the
/// author's (12.8.2.3).
#[derive(Debug, Default)]
struct UsageRights<'p> {
    numbers: Visited,
    inline: Vec<Dict<'p>>,
}

fn usage_rights<'p>(document: &Document<'p>, catalogue: &Dict<'p>) -> Result<UsageRights<'p>> {
    let mut rights = UsageRights::default();
    let Some(permissions) = document.dict_of(catalogue, b"Perms")? else {
        return Ok(rights);
    };
    for key in [&b"UR"[..], b"UR3"] {
        match permissions.get(key) {
            Some(Object::Ref(reference)) => drop(rights.numbers.insert(reference.number)),
            Some(Object::Dict(dict)) => rights.inline.push(dict.clone()),
            _ => {}
        }
    }
    Ok(rights)
}

struct Search<'d, 'p> {
    document: &'d Document<'p>,
    visited: Visited,
    content: &'d mut ActiveContent,
    rights: UsageRights<'p>,
    stack: Vec<Ref>,
    /// The object that is being searched. `None` for the catalogue.
    current: Option<u32>,
}

impl<'p> Search<'_, 'p> {
    fn loaded(&mut self, loaded: &Loaded<'p>) -> Result<()> {
        match &loaded.object {
            Object::Dict(dict) => self.dict(dict, loaded.is_stream(), 0),
            object => self.object(object, 0),
        }
    }

    /// Direct objects nest no deeper than the parser allows. What nests deeper reads as null.
    fn object(&mut self, object: &Object<'p>, depth: usize) -> Result<()> {
        match object {
            Object::Dict(dict) => self.dict(dict, false, depth),
            Object::Array(items) => {
                self.content.too_deep |= depth + 1 >= MAX_DEPTH;
                items
                    .iter()
                    .try_for_each(|item| self.object(item, depth + 1))
            }
            Object::Ref(reference) => {
                if self.document.may_exist(reference.number)?
                    && self.visited.insert(reference.number)
                {
                    self.stack.push(*reference);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn dict(&mut self, dict: &Dict<'p>, is_stream: bool, depth: usize) -> Result<()> {
        self.content.too_deep |= depth + 1 >= MAX_DEPTH;
        let keys = Keys::of(dict);
        self.action(dict, &keys)?;
        if keys.signs() {
            self.signature(dict, depth)?;
        }
        self.file(&keys, is_stream)?;
        if let (0, Some(number)) = (depth, self.current) {
            self.asset(number, dict, &keys, is_stream)?;
        } else if keys.is(keys.kind, &[b"Font"]) {
            self.font(dict)?;
        }
        if keys.is(keys.subtype, &[b"RichMedia", b"Movie", b"Sound", b"Screen"]) {
            self.signal(Signal::Multimedia);
        }
        dict.iter()
            .try_for_each(|(_, value)| self.object(value, depth + 1))
    }

    /// Takes what fonts and images are made of.
    fn asset(
        &mut self,
        number: u32,
        dict: &Dict<'p>,
        keys: &Keys<'_, 'p>,
        is_stream: bool,
    ) -> Result<()> {
        if is_stream {
            if keys.is(keys.subtype, &[b"Image"]) {
                self.content.assets.image(number, dict);
            }
        } else if keys.is(keys.kind, &[b"Font"]) {
            self.font(dict)?;
        } else if keys.is(keys.kind, &[b"FontDescriptor"]) {
            self.content.assets.descriptor(number, dict);
        }
        Ok(())
    }

    fn font(&mut self, dict: &Dict<'p>) -> Result<()> {
        let name = self.document.name_of(dict, b"BaseFont")?;
        self.content.assets.font(dict, name);
        Ok(())
    }

    fn signal(&mut self, signal: Signal) {
        let current = self.current;
        self.content.signals.add(signal, || location(current));
    }

    fn action(&mut self, dict: &Dict<'p>, keys: &Keys<'_, 'p>) -> Result<()> {
        let Some(kind) = keys.action else {
            return Ok(());
        };
        let Some(kind) = self.document.resolve(kind)?.as_name() else {
            return Ok(());
        };
        match &*kind.bytes() {
            b"JavaScript" => self.signal(Signal::JavaScript),
            b"Launch" => self.signal(Signal::LaunchAction),
            b"SubmitForm" => self.signal(Signal::SubmitForm),
            b"ImportData" => self.signal(Signal::ImportData),
            b"URI" | b"GoToR" => self.signal(Signal::ExternalReference),
            // These lead to another document only when they name a file that is not embedded.
            b"GoToE" | b"Thread" if dict.has(b"F") && keys.embedded.is_none() => {
                self.signal(Signal::ExternalReference);
            }
            b"Rendition" => {
                self.signal(Signal::Multimedia);
                if dict.has(b"JS") {
                    self.signal(Signal::JavaScript);
                }
            }
            b"Movie" | b"Sound" => self.signal(Signal::Multimedia),
            _ => {}
        }
        Ok(())
    }

    fn signature(&mut self, dict: &Dict<'p>, depth: usize) -> Result<()> {
        let is_right = match self.current {
            Some(number) if depth == 0 => self.rights.numbers.contains(number),
            _ => self.rights.inline.contains(dict),
        };
        if is_right {
            return Ok(());
        }
        self.content.signature_count += 1;
        if self.content.signatures.len() < MAX_SIGNATURES {
            let signature = Signature::read(self.document, dict)?;
            self.content.signatures.push(signature);
        }
        Ok(())
    }

    fn file(&mut self, keys: &Keys<'_, 'p>, is_stream: bool) -> Result<()> {
        if let Some(embedded) = keys.embedded {
            if let Some(files) = self.document.resolve(embedded)?.as_dict() {
                self.signal(Signal::EmbeddedFile);
                self.embedded_program(files)?;
            }
            return Ok(());
        }
        let is_specification = keys.is(keys.kind, &[b"Filespec", b"F"]);
        // Specifications without a type are recognised by where they are: the data of a stream that
        // are in another file, and the file of an annotation.
        let outside = if is_stream { keys.file } else { keys.attached };
        let is_external = is_specification && (keys.file.is_some() || keys.unicode_file)
            || match outside {
                None => false,
                Some(outside) => match &*self.document.resolve(outside)? {
                    Object::Text(_) => true,
                    Object::Dict(dict) => !dict.has(b"EF") && (dict.has(b"F") || dict.has(b"UF")),
                    _ => false,
                },
            };
        if is_external {
            self.signal(Signal::ExternalReference);
        }
        Ok(())
    }

    /// Looks at the first bytes of an embedded file. Its versions for other systems are mostly the
    /// same stream.
    fn embedded_program(&mut self, files: &Dict<'p>) -> Result<()> {
        let can_read = self.document.can_decrypt()?;
        let file = [&b"F"[..], b"UF", b"DOS", b"Mac", b"Unix"]
            .iter()
            .find_map(|key| files.get(key)?.as_ref());
        let Some(file) = file.filter(|_| can_read) else {
            return Ok(());
        };
        let loaded = self.document.load(file)?;
        let head = self.document.stream_head(&loaded, EXECUTABLE_HEAD)?;
        if head.is_some_and(is_program) {
            self.signal(Signal::EmbeddedExecutable);
        }
        Ok(())
    }

    fn form_scripts(&mut self, catalogue: &Dict<'p>) -> Result<()> {
        let Some(form) = self.document.dict_of(catalogue, b"AcroForm")? else {
            return Ok(());
        };
        let scripts = xfa::scripts(self.document, &form)?;
        let (java_script, form_calc) = (scripts.java_script, scripts.form_calc);
        for (signal, count) in [
            (Signal::XfaJavaScript, java_script),
            (Signal::XfaFormCalc, form_calc),
        ] {
            for _ in 0..count {
                self.content.signals.add(signal, || "XFA form".to_owned());
            }
        }
        Ok(())
    }
}

/// Where in the document something is.
fn location(number: Option<u32>) -> String {
    match number {
        Some(number) => format!("object {number}"),
        None => "document catalogue".to_owned(),
    }
}

/// Whether a file begins like a program: of Windows, of Linux, of macOS, of Java, or a script with an
/// interpreter line.
fn is_program(head: &[u8]) -> bool {
    const MAGIC: [&[u8]; 8] = [
        b"MZ",
        b"\x7FELF",
        b"\xFE\xED\xFA\xCE",
        b"\xFE\xED\xFA\xCF",
        b"\xCE\xFA\xED\xFE",
        b"\xCF\xFA\xED\xFE",
        b"\xCA\xFE\xBA\xBE",
        b"#!",
    ];
    MAGIC.iter().any(|magic| head.starts_with(magic))
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
