//! PowerPoint presentations: the persist directory and the document container ([MS-PPT] §2.1.2, §2.4).
//!
//! A presentation is saved by appending: each user edit brings a directory that says where the newest
//! copy of each object is. What no current list entry refers to is history and is not looked at.

use std::collections::{HashMap, HashSet};

use super::bytes::{u16_at, u32_at};
use super::encryption::Encryption;
use crate::engine::container::cfb::{Cfb, EntryId, Stream};
use crate::engine::error::Result;

/// Name of the main stream.
pub(super) const STREAM: &str = "PowerPoint Document";

/// Storage that holds the PowerPoint 97 form of a presentation saved for 95 too.
pub(super) const DUAL_STORAGE: &str = "PP97_DUALSTORAGE";

/// Persist identifiers have 20 bits (§2.3.5).
const MAX_PERSIST_ID: u32 = 0xF_FFFF;

/// Records between two looks at the clock.
const CLOCK_EVERY: u32 = 1024;

/// Record types ([MS-PPT] §2.13.24).
mod record {
    pub(super) const DOCUMENT: u16 = 0x03E8;
    pub(super) const DOCUMENT_ATOM: u16 = 0x03E9;
    pub(super) const SLIDE: u16 = 0x03EE;
    pub(super) const SLIDE_PERSIST: u16 = 0x03F3;
    pub(super) const SLIDE_SHOW_INFO: u16 = 0x03F9;
    pub(super) const VBA_INFO: u16 = 0x03FF;
    pub(super) const VBA_INFO_ATOM: u16 = 0x0400;
    pub(super) const OBJECTS: u16 = 0x0409;
    pub(super) const DRAWING: u16 = 0x040C;
    pub(super) const DOCUMENT_INFO: u16 = 0x07D0;
    pub(super) const TEXT: u16 = 0x0FBA;
    pub(super) const EMBEDDED: u16 = 0x0FCC;
    pub(super) const LINKED: u16 = 0x0FCE;
    pub(super) const HYPERLINK: u16 = 0x0FD7;
    pub(super) const SLIDE_LIST: u16 = 0x0FF0;
    pub(super) const USER_EDIT: u16 = 0x0FF5;
    pub(super) const LINKED_MOVIE: [u16; 2] = [0x1006, 0x1007];
    pub(super) const LINKED_SOUND: [u16; 2] = [0x100D, 0x1010];
    pub(super) const PERSIST_DIRECTORY: u16 = 0x1772;
    pub(super) const CRYPT_SESSION: u16 = 0x2F14;
}

/// Instances of a slide list.
mod list {
    pub(super) const SLIDES: u16 = 0;
    pub(super) const MASTERS: u16 = 1;
    pub(super) const NOTES: u16 = 2;
}

/// What the document container says.
#[derive(Debug, Default)]
pub(super) struct Document {
    /// Persist identifiers of the slides, each once.
    slides: Vec<u32>,
    pub(super) masters: u64,
    pub(super) notes: u64,
    /// Width and height of a slide in master units, 576 to the inch.
    pub(super) slide_size: Option<(u32, u32)>,
    pub(super) has_macros: bool,
    pub(super) has_embedded_objects: bool,
    pub(super) has_external_references: bool,
}

impl Document {
    pub(super) fn slide_count(&self) -> u64 {
        self.slides.len() as u64
    }
}

/// A presentation's main stream.
#[derive(Debug)]
pub(super) struct Powerpoint<'s> {
    stream: Stream<'s>,
    current_user: Option<Stream<'s>>,
    state: Option<State>,
    /// Where the newest user edit is.
    newest: Option<u64>,
    document: Option<Option<Document>>,
    /// Where each persist object is.
    objects: HashMap<u32, u32>,
}

/// What the newest user edit says.
#[derive(Clone, Copy, Debug)]
enum State {
    /// Not encrypted; the persist identifier of the document container.
    Clear { document: u32 },
    /// Encrypted; the persist identifier of the object that says how.
    Encrypted { session: Option<u32> },
    /// There is no user edit.
    Unknown,
}

/// The header of a record, and where its content is.
#[derive(Clone, Copy, Debug)]
struct Record {
    version: u16,
    instance: u16,
    kind: u16,
    start: u64,
    end: u64,
}

/// A user edit (§2.3.3).
struct Edit {
    document: u32,
    /// Only encrypted presentations have it.
    session: Option<u32>,
    directory: u64,
    before: u64,
}

impl<'s> Powerpoint<'s> {
    /// Opens the main stream. `None` when there is none.
    pub(super) fn open(cfb: &Cfb<'s>, home: EntryId) -> Option<Self> {
        Some(Self {
            stream: cfb.stream_named(home, STREAM)?,
            current_user: cfb.stream_named(home, "Current User"),
            state: None,
            newest: None,
            document: None,
            objects: HashMap::new(),
        })
    }

    /// How the presentation is encrypted. `None` when that cannot be known, `Some(None)` when it is not.
    pub(super) fn encryption(&mut self) -> Result<Option<Option<Encryption>>> {
        Ok(match self.state()? {
            State::Clear { .. } => Some(None),
            State::Encrypted { session } => Some(Some(self.session(session)?)),
            State::Unknown => None,
        })
    }

    /// What the document container says, read at the first call. `None` when it is encrypted or missing.
    pub(super) fn document(&mut self) -> Result<Option<&Document>> {
        if self.document.is_none() {
            let document = self.read_document()?;
            self.document = Some(document);
        }
        Ok(self.document.as_ref().and_then(Option::as_ref))
    }

    /// How many of the slides are hidden; `None` when a slide cannot be found. Each slide is looked at
    /// once, up to its drawing.
    pub(super) fn hidden_slides(&mut self) -> Result<Option<u64>> {
        let Some(document) = self.document()? else {
            return Ok(None);
        };
        let slides = document.slides.clone();
        let mut hidden = 0;
        let mut known = HashMap::new();
        for slide in slides {
            self.stream.meter().check_clock()?;
            let Some(place) = self.objects.get(&slide).copied() else {
                return Ok(None);
            };
            let is_hidden = match known.get(&place) {
                Some(is_hidden) => *is_hidden,
                None => {
                    let Some(container) = self.container_at(Some(place), record::SLIDE)? else {
                        return Ok(None);
                    };
                    let is_hidden = self.is_hidden(container)?;
                    known.insert(place, is_hidden);
                    is_hidden
                }
            };
            hidden += u64::from(is_hidden);
        }
        Ok(Some(hidden))
    }

    /// Finds the newest edit and, unless it is encrypted, reads no further.
    fn state(&mut self) -> Result<State> {
        if let Some(state) = self.state {
            return Ok(state);
        }
        let (place, encrypted) = self.current_edit()?;
        let edit = match place {
            Some(place) => self.edit(place)?,
            None => None,
        };
        let session = edit.as_ref().and_then(|edit| edit.session);
        let state = match edit {
            _ if encrypted || session.is_some() => State::Encrypted { session },
            Some(edit) => State::Clear {
                document: edit.document,
            },
            None => State::Unknown,
        };
        self.newest = place;
        Ok(*self.state.insert(state))
    }

    fn read_document(&mut self) -> Result<Option<Document>> {
        let State::Clear { document } = self.state()? else {
            return Ok(None);
        };
        self.read_directories()?;
        let place = self.objects.get(&document).copied();
        match self.container_at(place, record::DOCUMENT)? {
            Some(container) => Ok(Some(self.document_at(container)?)),
            None => Ok(None),
        }
    }

    fn is_hidden(&mut self, slide: Record) -> Result<bool> {
        const HIDDEN: u16 = 1 << 2;
        // The settings of the show follow the slide's own atom; nobody writes more before them.
        const FIRST_CHILDREN: usize = 16;
        let mut at = slide.start;
        for _ in 0..FIRST_CHILDREN {
            let Some(child) = self.record_in(at, slide.end)? else {
                break;
            };
            match child.kind {
                record::SLIDE_SHOW_INFO => {
                    let flags = self.stream.read_array::<2>(child.start + 10)?;
                    return Ok(flags.is_some_and(|flags| u16::from_le_bytes(flags) & HIDDEN != 0));
                }
                record::DRAWING => return Ok(false),
                _ => at = child.end,
            }
        }
        Ok(false)
    }

    /// Where the newest user edit is, and whether the presentation is encrypted, by the `Current User`
    /// stream (§2.3.2); without a usable one, the last edit of the main stream.
    fn current_edit(&mut self) -> Result<(Option<u64>, bool)> {
        let atom = match &mut self.current_user {
            Some(stream) => stream.read_array::<20>(0)?,
            None => None,
        };
        let token = atom.as_ref().and_then(|atom| u32_at(atom, 12));
        let place = atom
            .as_ref()
            .and_then(|atom| u32_at(atom, 16))
            .map(u64::from);
        let encrypted = token == Some(0xF3D1_C4DF);
        if let Some(place) = place
            && self.record_of(place, record::USER_EDIT)?.is_some()
        {
            return Ok((Some(place), encrypted));
        }
        Ok((self.last_edit()?, encrypted))
    }

    /// Walks the top level of the stream.
    fn last_edit(&mut self) -> Result<Option<u64>> {
        let mut last = None;
        let mut at = 0;
        let end = self.stream.len();
        for count in 0_u32.. {
            if count.is_multiple_of(CLOCK_EVERY) {
                self.stream.meter().check_clock()?;
            }
            let Some(record) = self.record_in(at, end)? else {
                break;
            };
            if record.kind == record::USER_EDIT {
                last = Some(at);
            }
            at = record.end;
        }
        Ok(last)
    }

    fn edit(&mut self, place: u64) -> Result<Option<Edit>> {
        let Some(record) = self.record_of(place, record::USER_EDIT)? else {
            return Ok(None);
        };
        let Some(fields) = self.stream.read_array::<28>(record.start)? else {
            return Ok(None);
        };
        let field = |at| u32_at(&fields, at).unwrap_or_default();
        let session = if record.end - record.start >= 32 {
            self.stream.read_array::<4>(record.start + 28)?
        } else {
            None
        };
        Ok(Some(Edit {
            document: field(16),
            session: session.map(u32::from_le_bytes),
            directory: field(12).into(),
            before: field(8).into(),
        }))
    }

    /// Collects the persist directories from the newest edit to the oldest; the newest place of an object
    /// stands. Edits only ever point back, and directories own their bytes: together they are never longer
    /// than the stream, so a circle or a shared directory ends the walk.
    fn read_directories(&mut self) -> Result<()> {
        let mut next = self.newest;
        let mut bytes_left = self.stream.len();
        while let Some(place) = next {
            self.stream.meter().check_clock()?;
            let Some(edit) = self.edit(place)? else {
                break;
            };
            let Some(used) = self.read_directory(edit.directory, bytes_left)? else {
                break;
            };
            bytes_left -= used;
            next = (edit.before != 0 && edit.before < place).then_some(edit.before);
        }
        Ok(())
    }

    /// Reads one persist directory (§2.3.5) of at most `limit` bytes and returns its size.
    fn read_directory(&mut self, place: u64, limit: u64) -> Result<Option<u64>> {
        let Some(record) = self.record_of(place, record::PERSIST_DIRECTORY)? else {
            return Ok(None);
        };
        let length = record.end - record.start;
        if length > limit {
            return Ok(None);
        }
        let bytes = self.stream.read_range(record.start, length)?;
        let mut words = (bytes.as_chunks::<4>().0.iter()).map(|word| u32::from_le_bytes(*word));
        while let Some(head) = words.next() {
            let (first, count) = (head & MAX_PERSIST_ID, head >> 20);
            for (index, place) in words.by_ref().take(count as usize).enumerate() {
                #[expect(clippy::cast_possible_truncation, reason = "the count has 12 bits")]
                let id = first + index as u32;
                self.objects.entry(id).or_insert(place);
            }
        }
        Ok(Some(length))
    }

    /// The encryption header is in a session object of its own (§2.3.7).
    fn session(&mut self, session: Option<u32>) -> Result<Encryption> {
        self.read_directories()?;
        let place = session.and_then(|id| self.objects.get(&id).copied());
        let Some(record) = self.container_at(place, record::CRYPT_SESSION)? else {
            return Ok(Encryption::unrecognised());
        };
        let length = (record.end - record.start).min(4096);
        let header = self.stream.read_range(record.start, length)?;
        Ok(Encryption::of_info(&header))
    }

    fn document_at(&mut self, container: Record) -> Result<Document> {
        let mut document = Document::default();
        let mut at = container.start;
        for count in 0_u32.. {
            if count.is_multiple_of(CLOCK_EVERY) {
                self.stream.meter().check_clock()?;
            }
            let Some(child) = self.record_in(at, container.end)? else {
                break;
            };
            match (child.kind, child.instance) {
                (record::DOCUMENT_ATOM, _) => {
                    let size = self.stream.read_array::<8>(child.start)?;
                    document.slide_size =
                        size.and_then(|size| Some((u32_at(&size, 0)?, u32_at(&size, 4)?)));
                }
                (record::SLIDE_LIST, list::SLIDES) => {
                    document.slides = self.persist_ids(child)?;
                }
                (record::SLIDE_LIST, list::MASTERS) => {
                    document.masters = self.persist_ids(child)?.len() as u64;
                }
                (record::SLIDE_LIST, list::NOTES) => {
                    document.notes = self.persist_ids(child)?.len() as u64;
                }
                (record::OBJECTS, _) => self.external_objects(child, &mut document)?,
                (record::DOCUMENT_INFO, _) => document.has_macros = self.has_macros(child)?,
                _ => {}
            }
            at = child.end;
        }
        Ok(document)
    }

    /// The entries of a slide list, in order, each object once.
    fn persist_ids(&mut self, list: Record) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        let mut seen = HashSet::new();
        let mut at = list.start;
        for count in 0_u32.. {
            if count.is_multiple_of(CLOCK_EVERY) {
                self.stream.meter().check_clock()?;
            }
            let Some(child) = self.record_in(at, list.end)? else {
                break;
            };
            if child.kind == record::SLIDE_PERSIST
                && let Some(id) = self.stream.read_array::<4>(child.start)?
            {
                let id = u32::from_le_bytes(id);
                if id <= MAX_PERSIST_ID && seen.insert(id) {
                    ids.push(id);
                }
            }
            at = child.end;
        }
        Ok(ids)
    }

    /// The list of hyperlinks, embedded and linked objects (§2.10.1).
    fn external_objects(&mut self, list: Record, document: &mut Document) -> Result<()> {
        let mut at = list.start;
        for count in 0_u32.. {
            if count.is_multiple_of(CLOCK_EVERY) {
                self.stream.meter().check_clock()?;
            }
            let Some(child) = self.record_in(at, list.end)? else {
                break;
            };
            match child.kind {
                record::EMBEDDED => document.has_embedded_objects = true,
                record::LINKED => document.has_external_references = true,
                kind if record::LINKED_MOVIE.contains(&kind)
                    || record::LINKED_SOUND.contains(&kind) =>
                {
                    document.has_external_references = true;
                }
                record::HYPERLINK if !document.has_external_references => {
                    document.has_external_references = self.has_target(child)?;
                }
                _ => {}
            }
            at = child.end;
        }
        Ok(())
    }

    /// Whether a hyperlink leads out of the presentation: the target is the text of instance 1 (§2.10.16);
    /// a jump to another slide has none.
    fn has_target(&mut self, hyperlink: Record) -> Result<bool> {
        let mut at = hyperlink.start;
        while let Some(child) = self.record_in(at, hyperlink.end)? {
            if child.kind == record::TEXT && child.instance == 1 && child.end > child.start {
                return Ok(true);
            }
            at = child.end;
        }
        Ok(false)
    }

    /// Whether a VBA project is attached (§2.4.10): a flag, and the object that holds the project.
    fn has_macros(&mut self, info: Record) -> Result<bool> {
        let mut at = info.start;
        while let Some(child) = self.record_in(at, info.end)? {
            if child.kind == record::VBA_INFO
                && let Some(atom) = self.record_in(child.start, child.end)?
                && atom.kind == record::VBA_INFO_ATOM
                && let Some(fields) = self.stream.read_array::<8>(atom.start)?
            {
                let project = u32_at(&fields, 0).unwrap_or_default();
                let flag = u32_at(&fields, 4).unwrap_or_default();
                return Ok(flag != 0 && self.objects.contains_key(&project));
            }
            at = child.end;
        }
        Ok(false)
    }

    /// The record at a place, if it is of this type.
    fn record_of(&mut self, place: u64, kind: u16) -> Result<Option<Record>> {
        let record = self.record_in(place, self.stream.len())?;
        Ok(record.filter(|record| record.kind == kind))
    }

    /// As [`Self::record_of`], and it must be a container.
    fn container_at(&mut self, place: Option<u32>, kind: u16) -> Result<Option<Record>> {
        let Some(place) = place else {
            return Ok(None);
        };
        let record = self.record_of(place.into(), kind)?;
        Ok(record.filter(|record| record.version == 0xF))
    }

    /// The record that begins at `at`, cut at `end`; `None` when there is no room for one.
    fn record_in(&mut self, at: u64, end: u64) -> Result<Option<Record>> {
        if at.saturating_add(8) > end {
            return Ok(None);
        }
        let Some(header) = self.stream.read_array::<8>(at)? else {
            return Ok(None);
        };
        let first = u16_at(&header, 0).unwrap_or_default();
        let length = u32_at(&header, 4).unwrap_or_default();
        let start = at + 8;
        Ok(Some(Record {
            version: first & 0xF,
            instance: first >> 4,
            kind: u16_at(&header, 2).unwrap_or_default(),
            start,
            end: (start + u64::from(length)).min(end),
        }))
    }
}
