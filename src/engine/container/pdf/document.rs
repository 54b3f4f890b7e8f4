//! A document: its trailer, and any object by its number.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use super::chain::{self, Chain};
use super::crypt::Encryption;
use super::lexer::Lexer;
use super::object::{Dict, Name, Object, Text};
use super::objstm::ObjectStream;
use super::parser::Wanted;
use super::scan::Recovered;
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
    /// An object stream is being read: what its dictionary refers to must stand outside of others.
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

/// Bytes at the end of a file that are searched for `startxref`: the standard's habit, then more for
/// files with foreign bytes behind their end.
const TAILS: [usize; 2] = [1024, 32 * 1024];

/// Steps between two looks at the clock.
const CLOCK_STEP: u32 = 128;

impl<'p> Document<'p> {
    /// Finds the cross-reference data, or rebuilds them, and the catalogue. `header_at` is where
    /// `%PDF-` stands.
    ///
    /// # Errors
    /// `MALFORMED_INPUT` when no catalogue can be found, and budget errors.
    pub(crate) fn open(source: &'p Source, header_at: u64, settings: Settings) -> Result<Self> {
        let store = Store::new(source, settings.level);
        let mut chain = None;
        if let Some((start, shift)) = start_of_xref(&store, header_at)? {
            chain = Some((chain::read_chain(&store, start, shift)?, shift));
        }
        let (chain, shift) = chain.unwrap_or_else(|| (Chain::broken(), header_at));
        let mut document = Self {
            store,
            settings,
            xref: chain.xref,
            shift,
            trailer: Dict::default(),
            catalogue: None,
            scan_completes: !chain.whole,
            scan: OnceCell::new(),
            repaired: Cell::new(false),
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

    /// Objects in use.
    ///
    /// # Errors
    /// Budget errors.
    pub(crate) fn object_count(&self) -> Result<u64> {
        if !self.scan_completes || !self.settings.repair {
            return self.xref.in_use(&self.store);
        }
        let found = self.scanned_entries()?;
        let mut only_found = 0;
        for number in found.keys() {
            only_found += u64::from(self.entry(*number)?.is_none());
        }
        Ok(self.xref.in_use(&self.store)? + only_found)
    }

    /// Whether there may be an object of this number. It is not loaded.
    ///
    /// # Errors
    /// Budget and I/O errors.
    pub(crate) fn may_exist(&self, number: u32) -> Result<bool> {
        Ok(self.scan_completes || self.is_in_use(number)?)
    }

    /// Whether the cross-reference data have an object of this number. It is not loaded.
    ///
    /// # Errors
    /// Budget and I/O errors.
    pub(crate) fn is_in_use(&self, number: u32) -> Result<bool> {
        self.xref.is_in_use(&self.store, number)
    }

    /// Whether the cross-reference data say that there is no object of this number any more.
    ///
    /// # Errors
    /// Budget and I/O errors.
    pub(crate) fn is_freed(&self, number: u32) -> Result<bool> {
        Ok(self.entry(number)? == Some(Entry::Free))
    }

    /// What the cross-reference data say of an object.
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

    /// Counts a step of a loop over what the file says, and looks at the clock now and then.
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
            Encryption::PasswordRequired | Encryption::Unsupported => None,
        })
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

/// Where the last occurrence of a keyword ends. It stands near the end of what is searched, so that
/// making a searcher would take longer than the search.
fn behind_last(bytes: &[u8], keyword: &[u8]) -> Option<usize> {
    let last = *keyword.last()?;
    let mut end = bytes.len();
    while let Some(at) = memchr::memrchr(last, &bytes[..end]) {
        if bytes[..=at].ends_with(keyword) {
            return Some(at + 1);
        }
        end = at;
    }
    None
}

/// The offset behind the last `startxref`, and what to add to offsets: where foreign bytes precede
/// the header, some writers count from the header.
fn start_of_xref(store: &Store<'_>, header_at: u64) -> Result<Option<(u64, u64)>> {
    let mut start = None;
    for len in TAILS {
        let tail = store.window(store.size().saturating_sub(len as u64), len)?;
        if let Some(behind) = behind_last(tail, b"startxref") {
            start = Lexer::new(tail, behind).unsigned();
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
