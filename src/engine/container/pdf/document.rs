//! A document: its trailer, and any object by its number.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use super::crypt::Method;
use super::encryption::Lock;
use super::indirect::{self, Indirect};
use super::lexer::Lexer;
use super::object::{Dict, Name, Object, Ref, Text};
use super::objstm::ObjectStream;
use super::scan::{self, Scan};
use super::store::Store;
use super::xref::{self, Chain, Entry, Kinds, Xref};
use super::{stream, text};
use crate::engine::error::{ProbeError, Result};
use crate::engine::meter::Meter;
use crate::engine::source::Source;

/// How a document may be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Whether damaged cross-reference data may be rebuilt.
    pub(crate) repair: bool,
    /// Most objects that the document may have.
    pub(crate) max_objects: u64,
}

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

/// A document whose cross-reference data and trailer are known.
pub(crate) struct Document<'p> {
    store: Store<'p>,
    settings: Settings,
    xref: Xref<'p>,
    /// What is added to an offset, where the file begins with foreign bytes.
    shift: u64,
    trailer: Dict<'p>,
    /// Whether the sections are not all there is: numbers that they do not know are looked up in the
    /// scan.
    scan_completes: bool,
    scan: OnceCell<Found<'p>>,
    repaired: Cell<bool>,
    lock: OnceCell<Lock>,
    locking: Cell<bool>,
    blocked: Cell<u64>,
    containers: RefCell<HashMap<u32, Option<Rc<ObjectStream<'p>>>>>,
    /// An object stream is being read: what its dictionary refers to must stand outside of others.
    in_container: Cell<bool>,
    steps: Cell<u32>,
}

/// What a trailer has to lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Demand {
    /// A catalogue whose page tree has a root.
    Pages,
    Catalogue,
}

/// A scan of the file with the objects of its object streams.
struct Found<'p> {
    scan: Scan<'p>,
    entries: OnceCell<HashMap<u32, Entry>>,
}

/// Bytes at the end of a file that are searched for `startxref`: the standard's habit, then more for
/// files with foreign bytes behind their end.
const TAILS: [usize; 2] = [1024, 32 * 1024];

/// Most references that are followed from one to the next. A reference to a reference is already
/// more than the standard allows.
const MAX_HOPS: usize = 8;

/// Most trailers or catalogues of a damaged file that are tried.
const MAX_TRIES: usize = 64;

/// Steps between two looks at the clock.
const CLOCK_STEP: u32 = 128;

impl<'p> Document<'p> {
    /// Finds the cross-reference data, or rebuilds them, and the catalogue. `header_at` is where
    /// `%PDF-` stands.
    ///
    /// # Errors
    /// `MALFORMED_INPUT` when no catalogue can be found, and budget errors.
    pub(crate) fn open(source: &'p Source, header_at: u64, settings: Settings) -> Result<Self> {
        let store = Store::new(source);
        let mut chain = None;
        if let Some((start, shift)) = start_of_xref(&store, header_at)? {
            chain = Some((xref::read_chain(&store, start, shift)?, shift));
        }
        let (chain, shift) = chain.unwrap_or_else(|| (Chain::broken(), header_at));
        let mut document = Self {
            store,
            settings,
            xref: chain.xref,
            shift,
            trailer: Dict::default(),
            scan_completes: !chain.whole,
            scan: OnceCell::new(),
            repaired: Cell::new(false),
            lock: OnceCell::new(),
            locking: Cell::new(false),
            blocked: Cell::new(0),
            containers: RefCell::default(),
            in_container: Cell::new(false),
            steps: Cell::new(0),
        };
        document.settle(chain.trailers)?;
        Ok(document)
    }

    /// Chooses the trailer: the newest that leads to a catalogue with pages; else, where that is
    /// allowed, the file is scanned for one.
    fn settle(&mut self, trailers: Vec<Dict<'p>>) -> Result<()> {
        self.check_size()?;
        self.repaired
            .set(self.scan_completes && self.settings.repair);
        if self.adopt_any(&trailers, Demand::Pages)? {
            return Ok(());
        }
        if !self.settings.repair {
            return if self.adopt_any(&trailers, Demand::Catalogue)? {
                Ok(())
            } else {
                Err(ProbeError::malformed(
                    "the cross-reference data lead to no document catalogue (pdf.repair_xref=none)",
                ))
            };
        }
        // Sections that lead nowhere are not believed: what the scan finds counts.
        let kinds = self.xref.kinds;
        let believed = std::mem::replace(&mut self.xref, Xref::without_sections(kinds));
        let completes = std::mem::replace(&mut self.scan_completes, true);
        self.repaired.set(true);
        if self.adopt_scanned(Demand::Pages)? {
            return Ok(());
        }
        // Not even that finds pages: a catalogue without them is better than none.
        let scanned = std::mem::replace(&mut self.xref, believed);
        self.scan_completes = completes;
        if self.adopt_any(&trailers, Demand::Catalogue)? {
            self.repaired.set(completes);
            return Ok(());
        }
        self.xref = scanned;
        self.scan_completes = true;
        if self.adopt_scanned(Demand::Catalogue)? {
            return Ok(());
        }
        Err(ProbeError::malformed(
            "the file has no document catalogue that can be read",
        ))
    }

    fn adopt_any(&mut self, trailers: &[Dict<'p>], demand: Demand) -> Result<bool> {
        for trailer in trailers.iter().take(MAX_TRIES) {
            if self.adopt(trailer.clone(), demand)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes a trailer, if its catalogue is what is demanded (or encrypted, so that nobody can tell).
    fn adopt(&mut self, trailer: Dict<'p>, demand: Demand) -> Result<bool> {
        self.trailer = trailer;
        self.lock = OnceCell::new();
        self.containers.borrow_mut().clear();
        self.blocked.set(0);
        let Some(root) = self.dict_of(&self.trailer, b"Root")? else {
            return Ok(self.blocked.get() > 0);
        };
        let fits = match demand {
            Demand::Catalogue => root.is(b"Type", b"Catalog") || root.has(b"Pages"),
            Demand::Pages => self.dict_of(&root, b"Pages")?.is_some(),
        };
        Ok(fits || self.blocked.get() > 0)
    }

    /// Finds a trailer and a catalogue in the scanned file.
    fn adopt_scanned(&mut self, demand: Demand) -> Result<bool> {
        let scan = &self.scan()?.scan;
        let kinds = scan.kinds;
        let catalogues: Vec<Ref> = scan.catalogues.iter().rev().copied().collect();
        let trailers: Vec<Dict<'p>> = scan
            .trailers
            .iter()
            .rev()
            .take(MAX_TRIES)
            .cloned()
            .collect();
        if self.xref.kinds == Kinds::default() {
            self.xref.kinds = kinds;
        }
        for trailer in &trailers {
            if self.adopt(completed(trailer, &trailers), demand)? {
                return Ok(true);
            }
        }
        // No trailer leads to a catalogue: keep what they say of encryption and properties.
        let base = completed(&Dict::default(), &trailers);
        let compressed = self.catalogue_in_object_streams(&base)?;
        for root in catalogues.into_iter().take(MAX_TRIES).chain(compressed) {
            if self.adopt(base.clone().with(b"Root", Object::Ref(root)), demand)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A catalogue that stands in an object stream, when no trailer names it.
    fn catalogue_in_object_streams(&mut self, trailer: &Dict<'p>) -> Result<Option<Ref>> {
        self.trailer = trailer.clone();
        self.lock = OnceCell::new();
        self.containers.borrow_mut().clear();
        let streams = self.scan()?.scan.object_streams.clone();
        for (number, _) in streams.into_iter().rev() {
            let Some(container) = self.container(number)? else {
                continue;
            };
            for (index, number) in (0..).zip(container.numbers()) {
                self.tick()?;
                let object = container.object(number, index);
                if let Some(Object::Dict(dict)) = object
                    && dict.is(b"Type", b"Catalog")
                {
                    return Ok(Some(Ref {
                        number,
                        generation: 0,
                    }));
                }
            }
        }
        Ok(None)
    }

    /// Holds the document to `pdf.max_objects`, before anything is loaded.
    fn check_size(&self) -> Result<()> {
        let max = self.settings.max_objects;
        if self.xref.claimed() > max && self.xref.in_use() > max {
            return Err(self.meter().exceeded(format_args!(
                "the document has more than {max} objects (pdf.max_objects)"
            )));
        }
        Ok(())
    }

    pub(crate) fn meter(&self) -> &'p Meter {
        self.store.meter()
    }

    pub(crate) fn trailer(&self) -> &Dict<'p> {
        &self.trailer
    }

    /// Whether cross-reference data had to be rebuilt, wholly or for some object.
    pub(crate) fn repaired(&self) -> bool {
        self.repaired.get()
    }

    pub(crate) fn kinds(&self) -> Kinds {
        self.xref.kinds
    }

    /// How many objects could not be read so far because they are encrypted.
    pub(crate) fn blocked(&self) -> u64 {
        self.blocked.get()
    }

    /// Objects in use.
    ///
    /// # Errors
    /// Budget errors.
    pub(crate) fn object_count(&self) -> Result<u64> {
        if !self.scan_completes || !self.settings.repair {
            return Ok(self.xref.in_use());
        }
        let found = self.found_entries()?;
        let only_found = found
            .keys()
            .filter(|number| self.xref.lookup(**number).is_none())
            .count() as u64;
        Ok(self.xref.in_use() + only_found)
    }

    /// Whether the cross-reference data have an object of this number. Nothing is loaded.
    pub(crate) fn is_in_use(&self, number: u32) -> bool {
        self.xref
            .lookup(number)
            .is_some_and(|entry| entry != Entry::Free)
    }

    /// The catalogue. `None` when it is encrypted.
    ///
    /// # Errors
    /// Budget and I/O errors.
    pub(crate) fn catalogue(&self) -> Result<Option<Dict<'p>>> {
        self.dict_of(&self.trailer, b"Root")
    }

    /// Whether strings and streams can be read.
    ///
    /// # Errors
    /// Budget and I/O errors.
    pub(crate) fn lock(&self) -> Result<&Lock> {
        if let Some(lock) = self.lock.get() {
            return Ok(lock);
        }
        // The encryption dictionary itself is never encrypted; nor may reading it ask for the lock.
        if self.locking.replace(true) {
            return Ok(&Lock::None);
        }
        let lock = Lock::of(self, &self.trailer);
        self.locking.set(false);
        let lock = lock?;
        Ok(self.lock.get_or_init(|| lock))
    }

    /// Counts a step of a loop over what the file says, and looks at the clock now and then.
    ///
    /// # Errors
    /// `BUDGET_EXCEEDED` past the time limit.
    pub(crate) fn tick(&self) -> Result<()> {
        let steps = self.steps.get().wrapping_add(1);
        self.steps.set(steps);
        if steps.is_multiple_of(CLOCK_STEP) {
            self.meter().check_clock()?;
        }
        Ok(())
    }

    /// Follows a reference to its object; anything else is returned as it is.
    ///
    /// # Errors
    /// Budget and I/O errors. What is missing or damaged is null.
    pub(crate) fn resolve<'o>(&self, object: &'o Object<'p>) -> Result<Cow<'o, Object<'p>>> {
        let Object::Ref(reference) = object else {
            return Ok(Cow::Borrowed(object));
        };
        Ok(Cow::Owned(self.load(*reference)?.object))
    }

    /// An entry of a dictionary, resolved. `None` when it is missing or null.
    ///
    /// # Errors
    /// As [`Document::resolve`].
    pub(crate) fn get<'o>(
        &self,
        dict: &'o Dict<'p>,
        key: &[u8],
    ) -> Result<Option<Cow<'o, Object<'p>>>> {
        Ok(match dict.get(key) {
            Some(object) => Some(self.resolve(object)?).filter(|object| !object.is_null()),
            None => None,
        })
    }

    /// An entry that is a dictionary (or a stream: then its dictionary).
    ///
    /// # Errors
    /// As [`Document::resolve`].
    pub(crate) fn dict_of(&self, dict: &Dict<'p>, key: &[u8]) -> Result<Option<Dict<'p>>> {
        Ok(match self.get(dict, key)?.map(Cow::into_owned) {
            Some(Object::Dict(dict)) => Some(dict),
            _ => None,
        })
    }

    /// An entry that is a name.
    ///
    /// # Errors
    /// As [`Document::resolve`].
    pub(crate) fn name_of(&self, dict: &Dict<'p>, key: &[u8]) -> Result<Option<Name<'p>>> {
        Ok(self.get(dict, key)?.and_then(|object| object.as_name()))
    }

    /// A string as text. `None` when it is encrypted and cannot be read.
    ///
    /// # Errors
    /// As [`Document::lock`].
    pub(crate) fn text(&self, string: Text<'p>) -> Result<Option<String>> {
        let bytes = string.bytes();
        let Some(owner) = string.owner else {
            return Ok(Some(text::decode(&bytes)));
        };
        Ok(match self.lock()? {
            Lock::None => Some(text::decode(&bytes)),
            Lock::Open(key) => key
                .decrypt(key.strings, owner, &bytes)
                .map(|bytes| text::decode(&bytes)),
            Lock::Shut | Lock::Foreign => None,
        })
    }

    /// Loads an object by its number. Missing and damaged ones are null.
    ///
    /// # Errors
    /// Budget and I/O errors.
    pub(crate) fn load(&self, reference: Ref) -> Result<Loaded<'p>> {
        let mut number = reference.number;
        for _ in 0..MAX_HOPS {
            self.tick()?;
            let loaded = self.load_number(number)?;
            match loaded.object {
                Object::Ref(next) => number = next.number,
                _ => return Ok(loaded),
            }
        }
        Ok(Loaded::NULL)
    }

    fn load_number(&self, number: u32) -> Result<Loaded<'p>> {
        let entry = match self.xref.lookup(number) {
            Some(entry) => entry,
            None if self.scan_completes && self.settings.repair => {
                return Ok(match self.found_entry(number)? {
                    Some(entry) => self.read_entry(number, entry, 0)?.unwrap_or(Loaded::NULL),
                    None => Loaded::NULL,
                });
            }
            None => Entry::Free,
        };
        if entry == Entry::Free {
            return Ok(Loaded::NULL);
        }
        let blocked = self.blocked.get();
        if let Some(loaded) = self.read_entry(number, entry, self.shift)? {
            return Ok(loaded);
        }
        if self.blocked.get() > blocked || !self.settings.repair {
            return Ok(Loaded::NULL);
        }
        // The entry is wrong. Look where the object really is.
        let Some(entry) = self.found_entry(number)? else {
            return Ok(Loaded::NULL);
        };
        let mended = self.read_entry(number, entry, 0)?;
        if mended.is_some() {
            self.repaired.set(true);
        }
        Ok(mended.unwrap_or(Loaded::NULL))
    }

    /// Reads the object that an entry leads to; `None` when it is not there.
    fn read_entry(&self, number: u32, entry: Entry, shift: u64) -> Result<Option<Loaded<'p>>> {
        match entry {
            Entry::Free => Ok(None),
            Entry::At(offset) => {
                let read = indirect::read(&self.store, offset.saturating_add(shift))?;
                Ok(read
                    .filter(|indirect| indirect.id.number == number)
                    .map(Loaded::from))
            }
            Entry::In { container, index } => {
                let Some(container) = self.container(container)? else {
                    return Ok(None);
                };
                Ok(container.object(number, index).map(|object| Loaded {
                    object,
                    stream: None,
                }))
            }
        }
    }

    /// An object stream, decoded once. `None` when it is none or cannot be read.
    fn container(&self, number: u32) -> Result<Option<Rc<ObjectStream<'p>>>> {
        if let Some(known) = self.containers.borrow().get(&number) {
            if known.is_none()
                && !matches!(self.lock.get(), None | Some(Lock::None | Lock::Open(_)))
            {
                self.blocked.set(self.blocked.get() + 1);
            }
            return Ok(known.clone());
        }
        // Object streams cannot stand in object streams, so this does not nest.
        if self.in_container.get() {
            return Ok(None);
        }
        let place = match self.xref.lookup(number) {
            Some(Entry::At(offset)) => Some((offset, self.shift)),
            Some(_) => None,
            None => match self.scan.get() {
                Some(found) => found.scan.objects.get(&number).map(|offset| (*offset, 0)),
                None => None,
            },
        };
        let mut container = match place {
            Some((offset, shift)) => self.read_container(number, offset.saturating_add(shift))?,
            None => None,
        };
        if container.is_none()
            && self.settings.repair
            && matches!(self.lock()?, Lock::None | Lock::Open(_))
            && let Some(offset) = self.scan()?.scan.objects.get(&number)
        {
            container = self.read_container(number, *offset)?;
            if container.is_some() {
                self.repaired.set(true);
            }
        }
        let container = container.map(Rc::new);
        self.containers
            .borrow_mut()
            .insert(number, container.clone());
        Ok(container)
    }

    fn read_container(&self, number: u32, at: u64) -> Result<Option<ObjectStream<'p>>> {
        if self.in_container.replace(true) {
            return Ok(None);
        }
        let container = self.read_container_at(number, at);
        self.in_container.set(false);
        container
    }

    fn read_container_at(&self, number: u32, at: u64) -> Result<Option<ObjectStream<'p>>> {
        let Some(indirect) = indirect::read(&self.store, at)? else {
            return Ok(None);
        };
        if indirect.id.number != number {
            return Ok(None);
        }
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
        let raw = stream::raw(&self.store, place.at, length)?;
        let key = match self.lock()? {
            Lock::None => return Ok(Some(stream::decode(&self.store, &filters, raw)?)),
            Lock::Open(key) => key,
            Lock::Shut | Lock::Foreign if self.is_plain(dict)? => {
                return Ok(Some(stream::decode(&self.store, &filters, raw)?));
            }
            Lock::Shut | Lock::Foreign => {
                self.blocked.set(self.blocked.get() + 1);
                return Ok(None);
            }
        };
        let is_open_metadata = !key.encrypt_metadata && dict.is(b"Type", b"Metadata");
        let method = if is_open_metadata || self.is_plain(dict)? {
            Method::Identity
        } else {
            key.streams
        };
        let Some(data) = key.decrypt(method, place.owner, raw) else {
            self.blocked.set(self.blocked.get() + 1);
            return Ok(None);
        };
        Ok(Some(stream::decode_vec(&self.store, &filters, data)?))
    }

    /// Whether a stream says by an `Identity` crypt filter that it is not encrypted.
    fn is_plain(&self, dict: &Dict<'p>) -> Result<bool> {
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
        match self.xref.lookup(reference.number) {
            Some(Entry::At(offset)) => {
                let at = offset.saturating_add(self.shift);
                let read = indirect::read(&self.store, at)?;
                Ok(read
                    .filter(|indirect| indirect.id.number == reference.number)
                    .and_then(|indirect| indirect.object.as_u64()))
            }
            // Not there, or in an object stream, whose own length may be this one: the keyword
            // `endstream` tells as well.
            _ => Ok(None),
        }
    }

    /// Where the scan found an object.
    fn found_entry(&self, number: u32) -> Result<Option<Entry>> {
        if self.in_container.get() {
            // The entries may just be in the making.
            let found = self.scan()?.scan.objects.get(&number);
            return Ok(found.map(|offset| Entry::At(*offset)));
        }
        Ok(self.found_entries()?.get(&number).copied())
    }

    fn scan(&self) -> Result<&Found<'p>> {
        if let Some(found) = self.scan.get() {
            return Ok(found);
        }
        let scan = scan::scan(&self.store, self.settings.max_objects)?;
        Ok(self.scan.get_or_init(|| Found {
            scan,
            entries: OnceCell::new(),
        }))
    }

    /// Where the scan found each object, those in object streams included: the last definition in
    /// the file counts.
    fn found_entries(&self) -> Result<&HashMap<u32, Entry>> {
        let found = self.scan()?;
        if let Some(entries) = found.entries.get() {
            return Ok(entries);
        }
        let mut entries: HashMap<u32, Entry> = found
            .scan
            .objects
            .iter()
            .map(|(number, offset)| (*number, Entry::At(*offset)))
            .collect();
        for (container, offset) in &found.scan.object_streams {
            // A stream that was replaced later says nothing any more.
            if found.scan.objects.get(container) != Some(offset) {
                continue;
            }
            self.meter().check_clock()?;
            let Some(stream) = self.scanned_container(*container, *offset)? else {
                continue;
            };
            for (index, number) in (0..).zip(stream.numbers()) {
                let newer = found
                    .scan
                    .objects
                    .get(&number)
                    .is_some_and(|place| place > offset);
                if !newer {
                    entries.insert(
                        number,
                        Entry::In {
                            container: *container,
                            index,
                        },
                    );
                }
            }
        }
        if entries.len() as u64 > self.settings.max_objects {
            let max = self.settings.max_objects;
            return Err(self.meter().exceeded(format_args!(
                "the document has more than {max} objects (pdf.max_objects)"
            )));
        }
        Ok(found.entries.get_or_init(|| entries))
    }

    fn scanned_container(&self, number: u32, offset: u64) -> Result<Option<Rc<ObjectStream<'p>>>> {
        if let Some(known) = self.containers.borrow().get(&number) {
            return Ok(known.clone());
        }
        let container = self.read_container(number, offset)?.map(Rc::new);
        self.containers
            .borrow_mut()
            .insert(number, container.clone());
        Ok(container)
    }
}

impl Loaded<'_> {
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

impl Chain<'_> {
    fn broken() -> Self {
        Self {
            xref: Xref::default(),
            trailers: Vec::new(),
            whole: false,
        }
    }
}

/// A trailer with the entries that it lacks from others with the same root, the nearest first.
fn completed<'p>(trailer: &Dict<'p>, others: &[Dict<'p>]) -> Dict<'p> {
    let mut whole = trailer.clone();
    for key in [&b"Encrypt"[..], b"ID", b"Info"] {
        if whole.has(key) {
            continue;
        }
        let of_same_root = others
            .iter()
            .filter(|other| trailer.len() == 0 || other.get(b"Root") == trailer.get(b"Root"))
            .find_map(|other| other.get(key));
        if let Some(value) = of_same_root {
            whole = whole.with(key, value.clone());
        }
    }
    whole
}

/// The offset behind the last `startxref`, and what to add to offsets: where foreign bytes precede
/// the header, some writers count from the header.
fn start_of_xref(store: &Store<'_>, header_at: u64) -> Result<Option<(u64, u64)>> {
    let mut start = None;
    for len in TAILS {
        let tail = store.window(store.size().saturating_sub(len as u64), len)?;
        if let Some(keyword) = memchr::memmem::rfind(tail, b"startxref") {
            start = Lexer::new(tail, keyword + 9).unsigned();
            break;
        }
    }
    let Some(start) = start else {
        return Ok(None);
    };
    for shift in [0, header_at] {
        let head = store.window(start.saturating_add(shift), 64)?;
        let mut lexer = Lexer::new(head, 0);
        lexer.skip_space();
        if lexer.keyword(b"xref") || lexer.object_head().is_some() {
            return Ok(Some((start, shift)));
        }
    }
    Ok(None)
}
