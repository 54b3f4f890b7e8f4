//! Objects by their number, object streams and the data of streams.

use std::borrow::Cow;
use std::rc::Rc;

use super::crypt::Encryption;
use super::document::{CachedStream, Document};
use super::indirect::{self, Indirect};
use super::lexer::Lexer;
use super::object::{Dict, Object, Ref};
use super::objstm::ObjectStream;
use super::parser::Wanted;
use super::stream;
use super::xref::Entry;
use crate::engine::error::Result;

/// An object that was loaded by its number.
#[derive(Clone, Debug)]
pub(crate) struct Loaded<'p> {
    /// The object; of a stream its dictionary; null when there is no such object.
    pub(crate) object: Object<'p>,
    pub(crate) stream: Option<StreamAt>,
}

/// The data of a stream that was not read yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamAt {
    at: u64,
    owner: Ref,
}

/// Most references that are followed from one to the next. A reference to a reference is already
/// more than the standard allows.
const MAX_HOPS: usize = 8;

impl<'p> Document<'p> {
    /// Loads an object by its number. Missing and damaged ones are null.
    ///
    /// # Errors
    /// Budget and I/O errors.
    pub(crate) fn load(&self, reference: Ref) -> Result<Loaded<'p>> {
        self.load_with(reference, Wanted::All)
    }

    /// As [`Document::load`], of a dictionary only the entries that are wanted.
    pub(super) fn load_with(&self, reference: Ref, wanted: Wanted) -> Result<Loaded<'p>> {
        let mut number = reference.number;
        for _ in 0..MAX_HOPS {
            self.count_step()?;
            let loaded = self.load_number(number, wanted)?;
            match loaded.object {
                Object::Ref(next) => number = next.number,
                _ => return Ok(loaded),
            }
        }
        Ok(Loaded::NULL)
    }

    fn load_number(&self, number: u32, wanted: Wanted) -> Result<Loaded<'p>> {
        let entry = match self.entry(number)? {
            Some(entry) => entry,
            None if self.scan_completes && self.settings.repair => {
                return Ok(self.load_scanned(number, wanted)?.unwrap_or(Loaded::NULL));
            }
            None => Entry::Free,
        };
        if entry == Entry::Free {
            return Ok(Loaded::NULL);
        }
        let blocked = self.blocked.get();
        if let Some(loaded) = self.read_entry(number, entry, self.shift, wanted)? {
            return Ok(loaded);
        }
        if self.blocked.get() > blocked {
            return Ok(Loaded::NULL);
        }
        // The entry is wrong. Look where the object really is.
        if self.settings.repair
            && let Some(recovered) = self.load_scanned(number, wanted)?
        {
            self.repaired.set(true);
            return Ok(recovered);
        }
        if self.exists_at(number, entry)? {
            self.count_unreadable();
        }
        Ok(Loaded::NULL)
    }

    /// Loads an object from where the scan found it. `None` when it did not find it.
    fn load_scanned(&self, number: u32, wanted: Wanted) -> Result<Option<Loaded<'p>>> {
        match self.scanned_entry(number)? {
            Some(entry) => self.read_entry(number, entry, 0, wanted),
            None => Ok(None),
        }
    }

    /// As [`Document::resolve_keys`], of an object that must exist. When the cross-reference data do
    /// not list it at all, it is looked for in the file.
    ///
    /// # Errors
    /// As [`Document::resolve`].
    pub(crate) fn resolve_required<'o>(
        &self,
        object: &'o Object<'p>,
        keys: &'static [&'static [u8]],
    ) -> Result<Cow<'o, Object<'p>>> {
        let resolved = self.resolve_keys(object, keys)?;
        let Object::Ref(reference) = object else {
            return Ok(resolved);
        };
        if !resolved.is_null()
            || !self.settings.repair
            || self.scan_completes
            || self.entry(reference.number)?.is_some()
        {
            return Ok(resolved);
        }
        Ok(
            match self.load_scanned(reference.number, Wanted::Keys(keys))? {
                Some(recovered) => {
                    self.repaired.set(true);
                    Cow::Owned(recovered.object)
                }
                None => resolved,
            },
        )
    }

    /// Whether there is an object where the entry leads, though it cannot be read.
    fn exists_at(&self, number: u32, entry: Entry) -> Result<bool> {
        Ok(match entry {
            Entry::Free => false,
            // Only a scan of the file could tell.
            Entry::Invalid => !self.settings.repair,
            Entry::At(offset) => {
                indirect::begins(&self.store, offset.saturating_add(self.shift), number)?
            }
            Entry::In { container, .. } => {
                let containers = self.containers.borrow();
                matches!(containers.get(&container), Some(CachedStream::Unreadable))
            }
        })
    }

    /// Whether an object is a dictionary. A large one is not parsed for it.
    pub(super) fn leads_to_dict(&self, object: &Object<'p>) -> Result<bool> {
        if let Object::Ref(reference) = object
            && let Some(Entry::At(offset)) = self.entry(reference.number)?
        {
            let window = self.store.window(offset.saturating_add(self.shift), 64)?;
            let mut lexer = Lexer::new(window, 0);
            if lexer.object_head().map(|head| head.0) == Some(reference.number.into()) {
                lexer.skip_space();
                if lexer.rest().starts_with(b"<<") {
                    return Ok(true);
                }
            }
        }
        Ok(self.resolve_keys(object, &[])?.as_dict().is_some())
    }

    /// Reads the object that an entry leads to; `None` when it is not there.
    fn read_entry(
        &self,
        number: u32,
        entry: Entry,
        shift: u64,
        wanted: Wanted,
    ) -> Result<Option<Loaded<'p>>> {
        match entry {
            Entry::Free | Entry::Invalid => Ok(None),
            Entry::At(offset) => {
                let at = offset.saturating_add(shift);
                let read = indirect::read(&self.store, at, Some(number), wanted)?;
                Ok(read.map(Loaded::from))
            }
            Entry::In { container, index } => {
                let Some(container) = self.container(container)? else {
                    return Ok(None);
                };
                let (object, length) = container.object(number, index, wanted);
                self.store.work(length)?;
                Ok(object.map(|object| Loaded {
                    object,
                    stream: None,
                }))
            }
        }
    }

    /// An object stream, decoded once. `None` when it is missing or cannot be read.
    pub(super) fn container(&self, number: u32) -> Result<Option<Rc<ObjectStream<'p>>>> {
        if let Some(known) = self.known_container(number) {
            return Ok(known);
        }
        // Object streams cannot contain object streams, so this does not nest.
        if self.in_container.get() {
            return Ok(None);
        }
        let place = match self.entry(number)? {
            Some(Entry::At(offset)) => Some((offset, self.shift)),
            Some(_) => None,
            None => match self.scan.get() {
                Some(found) => found.scan.objects.get(&number).map(|offset| (*offset, 0)),
                None => None,
            },
        };
        let blocked = self.blocked.get();
        let mut container = match place {
            Some((offset, shift)) => self.read_container(number, offset.saturating_add(shift))?,
            None => None,
        };
        if container.is_none()
            && self.settings.repair
            && self.can_decrypt()?
            && let Some(offset) = self.scan()?.scan.objects.get(&number)
        {
            container = self.read_container(number, *offset)?;
            if container.is_some() {
                self.repaired.set(true);
            }
        }
        Ok(self.remember(number, container, blocked))
    }

    /// The known result of an earlier lookup; the inner option is the result of [`Self::container`].
    #[expect(clippy::option_option, reason = "not asked for yet, and not readable")]
    pub(super) fn known_container(&self, number: u32) -> Option<Option<Rc<ObjectStream<'p>>>> {
        match self.containers.borrow().get(&number)? {
            CachedStream::Decoded(stream) => Some(Some(Rc::clone(stream))),
            CachedStream::Unreadable => Some(None),
            CachedStream::Encrypted => {
                self.blocked.set(self.blocked.get() + 1);
                Some(None)
            }
        }
    }

    /// Keeps an object stream; `blocked` is how much was blocked before it was read.
    pub(super) fn remember(
        &self,
        number: u32,
        stream: Option<ObjectStream<'p>>,
        blocked: u64,
    ) -> Option<Rc<ObjectStream<'p>>> {
        let stream = stream.map(Rc::new);
        let known = match &stream {
            Some(stream) => CachedStream::Decoded(Rc::clone(stream)),
            None if self.blocked.get() > blocked => CachedStream::Encrypted,
            None => CachedStream::Unreadable,
        };
        self.containers.borrow_mut().insert(number, known);
        stream
    }

    pub(super) fn read_container(&self, number: u32, at: u64) -> Result<Option<ObjectStream<'p>>> {
        if self.in_container.replace(true) {
            return Ok(None);
        }
        let container = self.read_container_at(number, at);
        self.in_container.set(false);
        container
    }

    fn read_container_at(&self, number: u32, at: u64) -> Result<Option<ObjectStream<'p>>> {
        let Some(indirect) = indirect::read(&self.store, at, Some(number), Wanted::All)? else {
            return Ok(None);
        };
        let loaded = Loaded::from(indirect);
        let Some(dict) = loaded.object.as_dict() else {
            return Ok(None);
        };
        if !dict.is(b"Type", b"ObjStm") {
            return Ok(None);
        }
        let claim = |key: &[u8]| {
            dict.get(key)
                .and_then(Object::as_u64)
                .and_then(|value| usize::try_from(value).ok())
        };
        let (Some(first), Some(count)) = (claim(b"First"), claim(b"N")) else {
            return Ok(None);
        };
        Ok(self
            .stream_data(&loaded)?
            .map(|data| ObjectStream::new(data, first, count)))
    }

    /// The decoded data of a stream. `None` when it has none, a filter is not known here, or it
    /// cannot be decrypted.
    ///
    /// # Errors
    /// Budget and I/O errors.
    pub(crate) fn stream_data(&self, loaded: &Loaded<'p>) -> Result<Option<&'p [u8]>> {
        self.stream_up_to(loaded, None)
    }

    /// As [`Document::stream_data`], decoded from the first `raw_len` bytes of the stream.
    ///
    /// # Errors
    /// Budget and I/O errors.
    pub(crate) fn stream_head(
        &self,
        loaded: &Loaded<'p>,
        raw_len: usize,
    ) -> Result<Option<&'p [u8]>> {
        self.stream_up_to(loaded, Some(raw_len))
    }

    fn stream_up_to(
        &self,
        loaded: &Loaded<'p>,
        raw_len: Option<usize>,
    ) -> Result<Option<&'p [u8]>> {
        let (Some(dict), Some(place)) = (loaded.object.as_dict(), loaded.stream) else {
            return Ok(None);
        };
        let length = match dict.get(b"Length") {
            Some(Object::Ref(reference)) => self.plain_number(*reference)?,
            Some(object) => object.as_u64(),
            None => None,
        };
        let mut resolve = |object: &Object<'p>| Ok(self.resolve(object)?.into_owned());
        let Some(filters) = stream::filters(dict, &mut resolve)? else {
            return Ok(None);
        };
        let raw = match raw_len {
            None => stream::raw(&self.store, place.at, length)?,
            Some(raw_len) => stream::raw_head(&self.store, place.at, length, raw_len)?,
        };
        let plain = |raw| stream::decode(&self.store, &filters, raw).map(Some);
        let key = match self.encryption()? {
            Encryption::None => return plain(raw),
            _ if self.is_plain(dict, raw)? => return plain(raw),
            Encryption::Unlocked(key) => key,
            Encryption::PasswordRequired { .. } | Encryption::Unsupported => {
                self.blocked.set(self.blocked.get() + 1);
                return Ok(None);
            }
        };
        let Some(data) = key.decrypt(key.streams, place.owner, raw) else {
            self.blocked.set(self.blocked.get() + 1);
            return Ok(None);
        };
        Ok(Some(stream::decode_vec(&self.store, &filters, data)?))
    }

    /// Whether a stream of an encrypted document is not encrypted.
    fn is_plain(&self, dict: &Dict<'p>, raw: &[u8]) -> Result<bool> {
        Ok(
            dict.is(b"Type", b"Metadata") && self.is_plain_metadata(raw)?
                || self.has_identity_filter(dict)?,
        )
    }

    /// Whether a metadata stream is in the clear: the encryption dictionary says so, or the data begin
    /// like a packet. The latter covers security handlers that say it elsewhere.
    fn is_plain_metadata(&self, raw: &[u8]) -> Result<bool> {
        let encrypt_metadata = match self.encryption()? {
            Encryption::Unlocked(key) => key.encrypt_metadata,
            Encryption::PasswordRequired { encrypt_metadata } => *encrypt_metadata,
            Encryption::None | Encryption::Unsupported => true,
        };
        let raw = raw.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(raw);
        let raw = raw.trim_ascii_start();
        Ok(!encrypt_metadata || raw.starts_with(b"<?xpacket") || raw.starts_with(b"<x:xmpmeta"))
    }

    /// Whether a stream says by an `Identity` crypt filter that it is not encrypted.
    fn has_identity_filter(&self, dict: &Dict<'p>) -> Result<bool> {
        let Some(filter) = self.get(dict, b"Filter")? else {
            return Ok(false);
        };
        let first = match &*filter {
            Object::Array(items) => items.first().and_then(Object::as_name),
            object => object.as_name(),
        };
        if !first.is_some_and(|name| name.is(b"Crypt")) {
            return Ok(false);
        }
        let parameters = self.get(dict, b"DecodeParms")?.map(Cow::into_owned);
        let parameters = match parameters {
            Some(Object::Array(items)) => match items.first() {
                Some(first) => Some(self.resolve(first)?.into_owned()),
                None => None,
            },
            other => other,
        };
        // Without a name the filter is Identity (table 14).
        Ok(match parameters.as_ref().and_then(Object::as_dict) {
            Some(dict) => dict.name(b"Name").is_none_or(|name| name.is(b"Identity")),
            None => true,
        })
    }

    /// The value of an integer object, as `Length` refers to. It never looks at stream data, so a
    /// chain of lengths cannot nest.
    fn plain_number(&self, reference: Ref) -> Result<Option<u64>> {
        match self.entry(reference.number)? {
            Some(Entry::At(offset)) => {
                let at = offset.saturating_add(self.shift);
                let read = indirect::read(&self.store, at, Some(reference.number), Wanted::All)?;
                Ok(read.and_then(|indirect| indirect.object.as_u64()))
            }
            // Not there, or in an object stream, whose own length may be this one: the keyword
            // `endstream` shows the end as well.
            _ => Ok(None),
        }
    }
}

impl Loaded<'_> {
    pub(crate) fn is_stream(&self) -> bool {
        self.stream.is_some()
    }

    const NULL: Self = Self {
        object: Object::Null,
        stream: None,
    };
}

impl<'p> From<Indirect<'p>> for Loaded<'p> {
    fn from(indirect: Indirect<'p>) -> Self {
        let owner = indirect.id;
        Self {
            object: indirect.object,
            stream: indirect.stream.map(|at| StreamAt { at, owner }),
        }
    }
}
