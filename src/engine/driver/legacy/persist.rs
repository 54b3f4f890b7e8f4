//! The objects of a PowerPoint stream and where they are ([MS-PPT] §2.1.2).
//!
//! A presentation is saved by appending: each user edit brings a directory that says where the newest
//! copy of each object is. What no current list entry refers to is history and is not looked at.

use std::collections::HashMap;

use super::bytes::{u16_at, u32_at};
use super::encryption::Encryption;
use crate::engine::container::cfb::Stream;
use crate::engine::error::Result;

/// Persist identifiers have 20 bits (§2.3.5).
pub(super) const MAX_PERSIST_ID: u32 = 0xF_FFFF;

/// Records between two looks at the clock.
const CLOCK_EVERY: u32 = 1024;

/// Record types ([MS-PPT] §2.13.24).
mod record {
    pub(super) const USER_EDIT: u16 = 0x0FF5;
    pub(super) const PERSIST_DIRECTORY: u16 = 0x1772;
    pub(super) const CRYPT_SESSION: u16 = 0x2F14;
}

/// A presentation's main stream, read by records.
#[derive(Debug)]
pub(super) struct Objects<'s> {
    pub(super) stream: Stream<'s>,
    current_user: Option<Stream<'s>>,
    state: Option<State>,
    /// Where the newest user edit is, until its directories are read.
    newest: Option<u64>,
    /// Where each persist object is.
    places: HashMap<u32, u32>,
}

/// What the newest user edit says.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    /// Not encrypted; the persist identifier of the document container.
    Clear { document: u32 },
    /// Encrypted; the persist identifier of the object that says how.
    Encrypted { session: Option<u32> },
    /// There is no user edit.
    Unknown,
}

/// The header of a record, and where its content is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    version: u16,
    pub(super) instance: u16,
    pub(super) kind: u16,
    /// Where the content begins, and ends.
    pub(super) start: u64,
    pub(super) end: u64,
}

/// A user edit (§2.3.3).
struct Edit {
    document: u32,
    /// Only encrypted presentations have it.
    session: Option<u32>,
    directory: u64,
    before: u64,
}

impl<'s> Objects<'s> {
    pub(super) fn new(stream: Stream<'s>, current_user: Option<Stream<'s>>) -> Self {
        Self {
            stream,
            current_user,
            state: None,
            newest: None,
            places: HashMap::new(),
        }
    }

    /// Finds the newest edit and, unless it is encrypted, reads no further.
    pub(super) fn state(&mut self) -> Result<State> {
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

    /// Where the newest copy of an object is.
    pub(super) fn place(&mut self, id: u32) -> Result<Option<u32>> {
        self.state()?;
        self.read_directories()?;
        Ok(self.places.get(&id).copied())
    }

    /// The record at a place, if it is of this type.
    fn record_of(&mut self, place: u64, kind: u16) -> Result<Option<Record>> {
        let record = self.record_in(place, self.stream.len())?;
        Ok(record.filter(|record| record.kind == kind))
    }

    /// As [`Self::record_of`], and it must be a container.
    pub(super) fn container_at(&mut self, place: Option<u32>, kind: u16) -> Result<Option<Record>> {
        let Some(place) = place else {
            return Ok(None);
        };
        let record = self.record_of(place.into(), kind)?;
        Ok(record.filter(|record| record.version == 0xF))
    }

    /// The record that begins at `at`, cut at `end`; `None` when there is no room for one.
    pub(super) fn record_in(&mut self, at: u64, end: u64) -> Result<Option<Record>> {
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
        // Taken, so that the directories are read once.
        let mut next = self.newest.take();
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
                self.places.entry(id).or_insert(place);
            }
        }
        Ok(Some(length))
    }

    /// The encryption header is in a session object of its own (§2.3.7).
    pub(super) fn session(&mut self, session: Option<u32>) -> Result<Encryption> {
        let place = match session {
            Some(id) => self.place(id)?,
            None => None,
        };
        let Some(record) = self.container_at(place, record::CRYPT_SESSION)? else {
            return Ok(Encryption::unrecognised());
        };
        let length = (record.end - record.start).min(4096);
        let header = self.stream.read_range(record.start, length)?;
        Encryption::of_info(&header, self.stream.meter())
    }
}
