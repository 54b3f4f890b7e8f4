//! A document: its trailer, and any object by its number.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use super::crypt::Encryption;
use super::header::{Header, Linearization};
use super::object::{Dict, Name, Object, Text};
use super::objstm::ObjectStream;
use super::parser::Wanted;
use super::scan::Recovered;
use super::start;
use super::store::Store;
use super::text;
use super::xref::{Entry, Kinds, Xref};
use crate::contract::Level;
use crate::engine::budget::Meter;
use crate::engine::error::Result;
use crate::engine::source::Source;

/// How a document may be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Whether damaged cross-reference data may be rebuilt.
    pub(crate) repair: bool,
    /// Most objects that the document may have.
    pub(crate) max_objects: u64,
    /// What the file is looked at for, which decides how much is read at a time.
    pub(crate) level: Level,
}

/// A document whose cross-reference data and trailer are known.
pub(crate) struct Document<'p> {
    pub(super) store: Store<'p>,
    pub(super) settings: Settings,
    pub(super) xref: Xref<'p>,
    /// What is added to an offset, where the file begins with foreign bytes.
    pub(super) shift: u64,
    updates: Option<u64>,
    /// Of a file without a usable `startxref`.
    linearization: Option<Linearization>,
    pub(super) trailer: Dict<'p>,
    pub(super) catalogue: Option<Dict<'p>>,
    /// Whether the sections are not all there is: numbers that they do not know are looked up in the
    /// scan.
    pub(super) scan_completes: bool,
    pub(super) scan: OnceCell<Recovered<'p>>,
    pub(super) repaired: Cell<bool>,
    pub(super) encryption: OnceCell<Encryption>,
    pub(super) reading_encryption: Cell<bool>,
    pub(super) blocked: Cell<u64>,
    pub(super) unreadable: Cell<u64>,
    pub(super) containers: RefCell<BTreeMap<u32, CachedStream<'p>>>,
    /// An object stream is being read: what its dictionary refers to must be outside of object streams.
    pub(super) in_container: Cell<bool>,
    pub(super) steps: Cell<u32>,
}

/// An object stream that was requested before.
pub(super) enum CachedStream<'p> {
    Decoded(Rc<ObjectStream<'p>>),
    /// It is encrypted and cannot be decrypted.
    Encrypted,
    /// It is missing or damaged.
    Unreadable,
}

/// Steps between two looks at the clock.
const CLOCK_STEP: u32 = 128;

impl<'p> Document<'p> {
    /// Finds the cross-reference data, or rebuilds them, and the catalogue. `header_at` is where
    /// `%PDF-` is.
    ///
    /// # Errors
    /// `MALFORMED_INPUT` when no catalogue can be found, and budget errors.
    pub(crate) fn open(source: &'p Source, header_at: u64, settings: Settings) -> Result<Self> {
        let store = Store::new(source, settings.level);
        let start = start::find(&store, header_at, settings.repair)?;
        let updates = updates_of(&store, header_at, &start)?;
        let chain = start.chain;
        let mut document = Self {
            store,
            settings,
            xref: chain.xref,
            shift: start.shift,
            updates,
            linearization: start.linearization,
            trailer: Dict::default(),
            catalogue: None,
            scan_completes: !chain.whole,
            scan: OnceCell::new(),
            repaired: Cell::new(start.is_recovered),
            encryption: OnceCell::new(),
            reading_encryption: Cell::new(false),
            blocked: Cell::new(0),
            unreadable: Cell::new(0),
            containers: RefCell::default(),
            in_container: Cell::new(false),
            steps: Cell::new(0),
        };
        document.choose_trailer(chain.trailers)?;
        Ok(document)
    }

    /// Holds the document to `pdf.max_objects`, before anything is loaded.
    pub(super) fn check_size(&self) -> Result<()> {
        let max = self.settings.max_objects;
        if self.xref.claimed() > max && self.xref.in_use(&self.store)? > max {
            return Err(self.meter().exceeded(format_args!(
                "the document has more than {max} objects (pdf.max_objects)"
            )));
        }
        Ok(())
    }

    /// Lets the next path begin without the work of those before it.
    pub(crate) fn reset_work(&self) {
        self.store.reset_work();
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

    /// How many objects could not be read so far although they are there: because they are encrypted,
    /// damaged, too large, or in an object stream that cannot be decoded. Whoever finds nothing while
    /// this grows does not know that there is nothing.
    pub(crate) fn blocked(&self) -> u64 {
        self.blocked.get() + self.unreadable.get()
    }

    /// How many updates were appended to the file. `None` when its chain of sections is damaged.
    pub(crate) fn incremental_updates(&self) -> Option<u64> {
        self.updates
    }

    /// The number of pages that a linearized file says it has, when its end is cut off.
    pub(crate) fn pages_before_cut(&self) -> Option<u64> {
        let linearization = self.linearization.as_ref()?;
        let is_cut = self.size() < linearization.length;
        linearization.pages.filter(|_| is_cut)
    }

    /// Bytes of the file.
    pub(crate) fn size(&self) -> u64 {
        self.store.size()
    }

    /// Counts an object that is there and whose content cannot be read.
    pub(crate) fn count_unreadable(&self) {
        self.unreadable.set(self.unreadable.get() + 1);
    }

    /// How many of [`Document::blocked`] are encrypted.
    pub(crate) fn encrypted(&self) -> u64 {
        self.blocked.get()
    }

    /// Objects in use: by the cross-reference data, and those that only a scan of the file found.
    ///
    /// # Errors
    /// Budget errors.
    pub(crate) fn object_count(&self) -> Result<u64> {
        let mut count = self.xref.in_use(&self.store)?;
        let is_useless = count == 0;
        if self.settings.repair && (self.scan_completes || self.scan.get().is_some()) {
            for number in self.scanned_entries()?.keys() {
                count += u64::from(match self.entry(*number)? {
                    None => self.scan_completes,
                    // Some writers leave such lines behind for objects that they removed.
                    Some(entry) => is_useless && entry == Entry::Invalid,
                });
            }
        }
        Ok(count)
    }

    /// Whether there may be an object of this number. It is not loaded.
    ///
    /// # Errors
    /// Budget and I/O errors.
    pub(crate) fn may_exist(&self, number: u32) -> Result<bool> {
        Ok(self.scan_completes
            || self.is_in_use(number)?
            || self.entry(number)? == Some(Entry::Invalid))
    }

    /// Whether the cross-reference data have an object of this number. It is not loaded.
    ///
    /// # Errors
    /// Budget and I/O errors.
    pub(crate) fn is_in_use(&self, number: u32) -> Result<bool> {
        self.xref.is_in_use(&self.store, number)
    }

    /// Whether the cross-reference data list this number as free.
    ///
    /// # Errors
    /// Budget and I/O errors.
    pub(crate) fn is_freed(&self, number: u32) -> Result<bool> {
        Ok(self.entry(number)? == Some(Entry::Free))
    }

    /// The entry of an object in the cross-reference data.
    pub(super) fn entry(&self, number: u32) -> Result<Option<Entry>> {
        self.xref.lookup(&self.store, number)
    }

    /// The catalogue. `None` when it is encrypted.
    pub(crate) fn catalogue(&self) -> Option<&Dict<'p>> {
        self.catalogue.as_ref()
    }

    /// Whether strings and streams can be read.
    ///
    /// # Errors
    /// Budget and I/O errors.
    pub(crate) fn encryption(&self) -> Result<&Encryption> {
        if let Some(encryption) = self.encryption.get() {
            return Ok(encryption);
        }
        // The encryption dictionary itself is never encrypted; nor may reading it ask for the lock.
        if self.reading_encryption.replace(true) {
            return Ok(&Encryption::None);
        }
        let encryption = self.read_encryption();
        self.reading_encryption.set(false);
        let encryption = encryption?;
        Ok(self.encryption.get_or_init(|| encryption))
    }

    /// Whether strings and streams can be read.
    ///
    /// # Errors
    /// Budget and I/O errors.
    pub(crate) fn can_decrypt(&self) -> Result<bool> {
        let encryption = self.encryption()?;
        Ok(matches!(
            encryption,
            Encryption::None | Encryption::Unlocked(_)
        ))
    }

    /// Counts a step of a loop whose length the file decides, and checks the clock now and then.
    ///
    /// # Errors
    /// `BUDGET_EXCEEDED` past the time limit.
    pub(crate) fn count_step(&self) -> Result<()> {
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

    /// As [`Document::resolve`], of an indirect dictionary only these entries: a page has many more than a
    /// walk over pages asks for.
    ///
    /// # Errors
    /// As [`Document::resolve`].
    pub(crate) fn resolve_keys<'o>(
        &self,
        object: &'o Object<'p>,
        keys: &'static [&'static [u8]],
    ) -> Result<Cow<'o, Object<'p>>> {
        let Object::Ref(reference) = object else {
            return Ok(Cow::Borrowed(object));
        };
        let loaded = self.load_with(*reference, Wanted::Keys(keys))?;
        Ok(Cow::Owned(loaded.object))
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
        let Some(owner) = string.owner() else {
            return Ok(Some(text::decode(&bytes)));
        };
        Ok(match self.encryption()? {
            Encryption::None => Some(text::decode(&bytes)),
            Encryption::Unlocked(key) => key
                .decrypt(key.strings, owner, &bytes)
                .map(|bytes| text::decode(&bytes)),
            Encryption::PasswordRequired { .. } | Encryption::Unsupported => None,
        })
    }
}

/// Each update appends a section with a trailer. A linearized file begins with two.
fn updates_of(store: &Store<'_>, header_at: u64, start: &start::Start<'_>) -> Result<Option<u64>> {
    let sections = start.chain.trailers.len() as u64;
    if !start.chain.whole || start.is_recovered || sections == 0 {
        return Ok(None);
    }
    let mut updates = sections - 1;
    if updates > 0 {
        let header = usize::try_from(header_at).unwrap_or(usize::MAX);
        let head = store.window(0, Header::WITHIN)?;
        updates -= u64::from(Linearization::read(head, header).is_some());
    }
    Ok(Some(updates))
}
