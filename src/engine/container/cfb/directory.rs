//! The directory: storages and streams as a tree ([MS-CFB] §2.6).

use std::collections::HashMap;

use super::header::u32_at;

/// Bytes of one directory entry.
const ENTRY_LEN: usize = 128;

/// Object types ([MS-CFB] §2.6.1).
const STORAGE: u8 = 1;
const STREAM: u8 = 2;
const ROOT: u8 = 5;

/// A directory entry, by its place in the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EntryId(u32);

impl EntryId {
    pub(super) const ROOT: Self = Self(0);
}

/// The directory as it was read, and who stands below whom.
#[derive(Debug)]
pub(super) struct Directory {
    raw: Vec<u8>,
    /// Entries grouped by their storage.
    grouped: Vec<u32>,
    /// Each storage's part of `grouped`.
    groups: HashMap<u32, std::ops::Range<usize>>,
    /// What no storage reaches, in a damaged tree. In a sound one such entries are leftovers of deleted
    /// streams.
    orphans: Vec<u32>,
    damaged: bool,
}

impl Directory {
    /// `broken` says that the directory's own chain ended too early.
    pub(super) fn new(mut raw: Vec<u8>, broken: bool) -> Self {
        raw.truncate(raw.len() / ENTRY_LEN * ENTRY_LEN);
        let mut directory = Self {
            raw,
            grouped: Vec::new(),
            groups: HashMap::new(),
            orphans: Vec::new(),
            damaged: broken,
        };
        directory.build_tree();
        directory
    }

    /// The root entry: the first one, whatever its name or type says.
    pub(super) fn root(&self) -> Option<Entry<'_>> {
        (!self.raw.is_empty()).then(|| self.entry(EntryId::ROOT))
    }

    pub(super) fn entry(&self, id: EntryId) -> Entry<'_> {
        let at = id.0 as usize * ENTRY_LEN;
        Entry {
            id,
            raw: self.raw.get(at..at + ENTRY_LEN).unwrap_or(&[0; ENTRY_LEN]),
        }
    }

    pub(super) fn children(&self, storage: EntryId) -> impl Iterator<Item = Entry<'_>> {
        self.groups
            .get(&storage.0)
            .and_then(|range| self.grouped.get(range.clone()))
            .unwrap_or_default()
            .iter()
            .map(|id| self.entry(EntryId(*id)))
    }

    /// Takes what no storage reaches for children of the root: better found in the wrong place than lost.
    /// False when there is nothing of the kind.
    pub(super) fn adopt_orphans(&mut self) -> bool {
        if self.orphans.is_empty() {
            return false;
        }
        let known = self.groups.get(&0).cloned().unwrap_or_default();
        let first = self.grouped.len();
        self.grouped.extend_from_within(known);
        self.grouped.append(&mut self.orphans);
        self.groups.insert(0, first..self.grouped.len());
        true
    }

    /// Everything below the root.
    pub(super) fn tree(&self) -> impl Iterator<Item = Entry<'_>> {
        self.grouped.iter().map(|id| self.entry(EntryId(*id)))
    }

    pub(super) fn live_entry_count(&self) -> u64 {
        self.raw
            .chunks_exact(ENTRY_LEN)
            .filter(|raw| matches!(raw[0x42], STORAGE | STREAM | ROOT))
            .count() as u64
    }

    pub(super) fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// Walks the sibling trees from the root down. An entry belongs to the storage that reaches it
    /// first, so the walk is linear whatever the links say.
    fn build_tree(&mut self) {
        let count = self.raw.len() / ENTRY_LEN;
        if count == 0 {
            return;
        }
        let mut seen = vec![false; count];
        seen[0] = true;
        let mut storages = vec![0_u32];
        let mut done = 0;
        while done < storages.len() {
            let storage = storages[done];
            done += 1;
            let first = self.grouped.len();
            self.walk_siblings(storage, &mut seen);
            let group = first..self.grouped.len();
            for index in group.clone() {
                let id = self.grouped[index];
                if self.entry(EntryId(id)).is_storage() {
                    storages.push(id);
                }
            }
            self.groups.insert(storage, group);
        }
        if self.damaged {
            self.orphans = (0_u32..)
                .zip(&seen)
                .filter(|(_, seen)| !**seen)
                .map(|(id, _)| id)
                .filter(|id| self.entry(EntryId(*id)).is_object())
                .collect();
        }
    }

    /// Appends the entries of one storage to `grouped`.
    fn walk_siblings(&mut self, storage: u32, seen: &mut [bool]) {
        const NONE: u32 = u32::MAX;
        let child = self.entry(EntryId(storage)).link(0x4C);
        let mut pending = vec![child];
        while let Some(id) = pending.pop() {
            if id == NONE {
                continue;
            }
            match seen.get_mut(id as usize) {
                Some(seen) if !*seen => *seen = true,
                _ => {
                    self.damaged = true;
                    continue;
                }
            }
            let entry = self.entry(EntryId(id));
            let (left, right) = (entry.link(0x44), entry.link(0x48));
            if entry.is_object() {
                self.grouped.push(id);
            } else {
                self.damaged = true;
            }
            pending.extend([right, left]);
        }
    }
}

/// One storage or stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'d> {
    id: EntryId,
    raw: &'d [u8],
}

impl Entry<'_> {
    pub(crate) fn id(&self) -> EntryId {
        self.id
    }

    pub(crate) fn is_storage(&self) -> bool {
        self.raw[0x42] == STORAGE
    }

    pub(crate) fn is_stream(&self) -> bool {
        self.raw[0x42] == STREAM
    }

    fn is_object(&self) -> bool {
        self.is_storage() || self.is_stream()
    }

    /// The name's UTF-16 units. The length field counts bytes and the final NUL; a NUL ends the name
    /// whatever the length says.
    fn units(&self) -> impl Iterator<Item = u16> + '_ {
        let len = usize::from(u16::from_le_bytes([self.raw[0x40], self.raw[0x41]])).min(64);
        self.raw[..len]
            .as_chunks::<2>()
            .0
            .iter()
            .map(|pair| u16::from_le_bytes(*pair))
            .take_while(|unit| *unit != 0)
    }

    pub(crate) fn name(&self) -> String {
        char::decode_utf16(self.units())
            .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect()
    }

    /// Whether this is the name; the case of ASCII letters does not matter.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        self.units()
            .map(ascii_lowercase)
            .eq(name.encode_utf16().map(ascii_lowercase))
    }

    /// Whether the name begins like this; the case of ASCII letters does not matter.
    pub(crate) fn name_starts_with(&self, prefix: &str) -> bool {
        let mut units = self.units().map(ascii_lowercase);
        prefix
            .encode_utf16()
            .all(|unit| units.next() == Some(ascii_lowercase(unit)))
    }

    pub(super) fn start_sector(&self) -> u32 {
        u32_at(self.raw, 0x74).unwrap_or(u32::MAX)
    }

    /// The size in bytes that the entry claims. Version 3 writers leave rubbish in the high half.
    pub(super) fn size(&self, major_version: u16) -> u64 {
        let low = u64::from(u32_at(self.raw, 0x78).unwrap_or_default());
        let high = u64::from(u32_at(self.raw, 0x7C).unwrap_or_default());
        if major_version >= 4 {
            low | high << 32
        } else {
            low
        }
    }

    fn link(&self, at: usize) -> u32 {
        u32_at(self.raw, at).unwrap_or(u32::MAX)
    }
}

fn ascii_lowercase(unit: u16) -> u16 {
    match unit {
        0x41..=0x5A => unit + 0x20,
        _ => unit,
    }
}
