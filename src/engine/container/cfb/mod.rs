//! Compound files ([MS-CFB]): a small file system of sectors, read by position.
//!
//! Nothing is read before it is needed: the header and the directory when the file is opened, an
//! allocation table sector when a chain runs through it, and of a stream the bytes that a caller asks
//! for. Every length, link and location in the file is a claim: a chain ends at its first impossible
//! or repeated link, and memory is taken for what was really read.
//!
//! The names of storages and streams are those of the directory's tree. Main streams are looked for
//! below the root (or a storage that the caller names) only, so an embedded document never passes for
//! the document.

mod chain;
mod directory;
mod header;
mod ownership;
mod sector_set;
mod stream;

#[cfg(test)]
mod tests;

use std::rc::Rc;

pub(crate) use directory::{Entry, EntryId};
pub(crate) use stream::Stream;

use self::chain::{Chain, Sectors, Space};
use self::directory::Directory;
use self::header::Header;
use self::ownership::Ownership;
use crate::engine::error::{ProbeError, Result};
use crate::engine::source::Source;

/// An open compound file. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Cfb<'s> {
    sectors: Rc<Sectors<'s>>,
    directory: Rc<Directory>,
}

impl<'s> Cfb<'s> {
    /// Reads the header and the directory.
    ///
    /// # Errors
    /// `MALFORMED_INPUT` when there is no usable header or directory, and budget errors.
    pub(crate) fn open(source: &'s Source) -> Result<Self> {
        let header = Header::read(source)?;
        let first = header.first_directory_sector;
        let sectors = Sectors::new(source, header);
        let mut chain = Chain::new(Space::Regular, first);
        let raw = chain.read_all(&sectors)?;
        let directory = Directory::new(raw, chain.is_broken());
        let Some(root) = directory.root() else {
            return Err(ProbeError::malformed(
                "the compound file has no readable directory",
            ));
        };
        sectors.set_mini_stream(
            root.start_sector(),
            root.size(sectors.header().major_version),
        );
        Ok(Self {
            sectors: Rc::new(sectors),
            directory: Rc::new(directory),
        })
    }

    /// In a file whose directory tree is damaged, takes the entries that nothing leads to for children of
    /// the root. False when there are none. It is for a reader that did not find what must be there.
    pub(crate) fn adopt_orphans(&mut self) -> bool {
        Rc::get_mut(&mut self.directory).is_some_and(Directory::adopt_orphans)
    }

    /// The root storage.
    pub(crate) fn root(&self) -> EntryId {
        EntryId::ROOT
    }

    /// One directory entry.
    pub(crate) fn entry(&self, id: EntryId) -> Entry<'_> {
        self.directory.entry(id)
    }

    /// All storages and streams that the root reaches.
    pub(crate) fn tree(&self) -> impl Iterator<Item = Entry<'_>> {
        self.directory.tree()
    }

    /// An empty container over a file that is not one: for a workbook stream that is a file of its own.
    pub(crate) fn none(source: &'s Source) -> Self {
        Self {
            sectors: Rc::new(Sectors::new(source, Header::empty())),
            directory: Rc::new(Directory::new(Vec::new(), false)),
        }
    }

    /// The whole file as a stream, without a container.
    pub(crate) fn whole_file(&self) -> Stream<'s> {
        Stream::whole(Rc::clone(&self.sectors))
    }

    /// The storages and streams directly below a storage.
    pub(crate) fn children(&self, storage: EntryId) -> impl Iterator<Item = Entry<'_>> {
        self.directory.children(storage)
    }

    /// The storage or stream of this name below a storage; letter case does not matter.
    pub(crate) fn child(&self, storage: EntryId, name: &str) -> Option<Entry<'_>> {
        self.children(storage).find(|entry| entry.is_named(name))
    }

    /// The stream of this name below a storage.
    pub(crate) fn stream_named(&self, storage: EntryId, name: &str) -> Option<Stream<'s>> {
        self.children(storage)
            .find(|entry| entry.is_stream() && entry.is_named(name))
            .map(|entry| self.stream(entry))
    }

    /// The storage of this name below a storage.
    pub(crate) fn storage_named(&self, storage: EntryId, name: &str) -> Option<EntryId> {
        self.children(storage)
            .find(|entry| entry.is_storage() && entry.is_named(name))
            .map(|entry| entry.id())
    }

    /// Opens a stream. Nothing is read yet.
    pub(crate) fn stream(&self, entry: Entry<'_>) -> Stream<'s> {
        let header = self.sectors.header();
        let size = entry.size(header.major_version);
        let space = if size < header.mini_stream_cutoff {
            Space::Mini
        } else {
            Space::Regular
        };
        Stream::new(
            Rc::clone(&self.sectors),
            Chain::new(space, entry.start_sector()),
            // No chain holds more than the file.
            size.min(self.sectors.source().size()),
        )
    }

    /// Storages and streams in use, the root included.
    pub(crate) fn live_entry_count(&self) -> u64 {
        self.directory.live_entry_count()
    }

    /// Whether the directory or an allocation chain is damaged: a link that leads nowhere or in a
    /// circle, a sector that two streams share, a stream that is shorter than its entry says. Reads
    /// the allocation tables, no content. Linear in the number of sectors.
    ///
    /// # Errors
    /// Budget errors.
    pub(crate) fn is_damaged(&self) -> Result<bool> {
        if self.directory.is_damaged() {
            return Ok(true);
        }
        let mut ownership = Ownership::default();
        let root = self.entry(EntryId::ROOT);
        let version = self.sectors.header().major_version;
        if !ownership.claim(
            &self.sectors,
            Space::Regular,
            root.start_sector(),
            root.size(version),
        )? {
            return Ok(true);
        }
        for entry in self.directory.tree().filter(Entry::is_stream) {
            let size = entry.size(version);
            let space = if size < self.sectors.header().mini_stream_cutoff {
                Space::Mini
            } else {
                Space::Regular
            };
            if !ownership.claim(&self.sectors, space, entry.start_sector(), size)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
