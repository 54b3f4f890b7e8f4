//! Which trailer counts, and what a scan of a damaged file adds to its cross-reference data.

use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::rc::Rc;

use super::document::Document;
use super::object::{Dict, Object, Ref};
use super::objstm::ObjectStream;
use super::parser::Wanted;
use super::scan::{self, Recovered};
use super::xref::{Entry, Kinds, Xref};
use crate::engine::error::{ProbeError, Result};

/// What a trailer has to lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Demand {
    /// A catalogue whose page tree has a root.
    Pages,
    Catalogue,
}

/// Most trailers or catalogues of a damaged file that are tried.
const MAX_TRIES: usize = 64;

impl<'p> Document<'p> {
    /// Chooses the trailer: the newest that leads to a catalogue with pages. Where there is none and
    /// repair is allowed, the file is scanned for one. A file that is too large for that keeps what its
    /// cross-reference data lead to.
    pub(super) fn choose_trailer(&mut self, mut trailers: Vec<Dict<'p>>) -> Result<()> {
        self.check_size()?;
        match self.choose_or_scan(&mut trailers) {
            Err(error) if error.is_budget() && self.adopt_without_scan(&mut trailers)? => Ok(()),
            chosen => chosen,
        }
    }

    /// Takes the newest trailer that leads to a catalogue, by the cross-reference data alone.
    fn adopt_without_scan(&mut self, trailers: &mut [Dict<'p>]) -> Result<bool> {
        self.meter().check_clock()?;
        let completes = std::mem::replace(&mut self.scan_completes, false);
        let repair = std::mem::replace(&mut self.settings.repair, false);
        let adopted = self.adopt_any(trailers, Demand::Catalogue);
        self.scan_completes = completes;
        self.settings.repair = repair;
        adopted
    }

    fn choose_or_scan(&mut self, trailers: &mut [Dict<'p>]) -> Result<()> {
        if self.scan_completes && self.settings.repair {
            self.repaired.set(true);
        }
        if self.adopt_any(trailers, Demand::Pages)? {
            return Ok(());
        }
        if !self.settings.repair {
            return if self.adopt_any(trailers, Demand::Catalogue)? {
                Ok(())
            } else {
                Err(ProbeError::malformed(
                    "the cross-reference data lead to no document catalogue (pdf.repair_xref=none)",
                ))
            };
        }
        // Sections that lead nowhere are not trusted: what the scan finds counts. Without it, they are
        // better than nothing.
        self.scan()?;
        let kinds = self.xref.kinds;
        let distrusted = std::mem::replace(&mut self.xref, Xref::without_sections(kinds));
        let completes = std::mem::replace(&mut self.scan_completes, true);
        let was_repaired = self.repaired.replace(true);
        if self.adopt_scanned(Demand::Pages)? {
            return Ok(());
        }
        // Not even that finds pages: a catalogue without them is better than none.
        let scanned = std::mem::replace(&mut self.xref, distrusted);
        self.scan_completes = completes;
        if self.adopt_any(trailers, Demand::Catalogue)? {
            self.repaired.set(was_repaired);
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

    /// Takes the first trailer that fits out of its list; the others stay.
    fn adopt_any(&mut self, trailers: &mut [Dict<'p>], demand: Demand) -> Result<bool> {
        for trailer in trailers.iter_mut().take(MAX_TRIES) {
            let adopted = self.adopt(std::mem::take(trailer), demand);
            if matches!(adopted, Ok(true)) {
                return adopted;
            }
            *trailer = std::mem::take(&mut self.trailer);
            adopted?;
        }
        Ok(false)
    }

    /// Takes a trailer, if its catalogue meets the demand, or is encrypted and cannot be checked.
    fn adopt(&mut self, trailer: Dict<'p>, demand: Demand) -> Result<bool> {
        self.trailer = trailer;
        self.encryption = OnceCell::new();
        self.containers.borrow_mut().clear();
        self.blocked.set(0);
        self.unreadable.set(0);
        self.catalogue = None;
        let Some(root) = self.dict_of(&self.trailer, b"Root")? else {
            return Ok(self.blocked.get() > 0);
        };
        let fits = match demand {
            Demand::Catalogue => root.is(b"Type", b"Catalog") || root.has(b"Pages"),
            Demand::Pages => match root.get(b"Pages") {
                Some(pages) => self.leads_to_dict(pages)?,
                None => false,
            },
        };
        self.catalogue = Some(root);
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
        // No trailer leads to a catalogue: keep their entries for encryption and properties.
        let base = completed(&Dict::default(), &trailers);
        let compressed = self.catalogue_in_object_streams(&base)?;
        for root in catalogues.into_iter().take(MAX_TRIES).chain(compressed) {
            if self.adopt(base.clone().with(b"Root", Object::Ref(root)), demand)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A catalogue in an object stream, when no trailer names it.
    fn catalogue_in_object_streams(&mut self, trailer: &Dict<'p>) -> Result<Option<Ref>> {
        self.trailer = trailer.clone();
        self.encryption = OnceCell::new();
        self.containers.borrow_mut().clear();
        let streams = self.scan()?.scan.object_streams.clone();
        for (number, _) in streams.into_iter().rev() {
            let Some(container) = self.container(number)? else {
                continue;
            };
            for (index, number) in (0..).zip(container.numbers()) {
                self.count_step()?;
                let (object, length) = container.object(number, index, Wanted::All);
                self.store.work(length)?;
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

    /// Where the scan found an object.
    pub(super) fn scanned_entry(&self, number: u32) -> Result<Option<Entry>> {
        if self.in_container.get() {
            // The entries may just be in the making.
            let found = self.scan()?.scan.objects.get(&number);
            return Ok(found.map(|offset| Entry::At(*offset)));
        }
        let entry = self.scanned_entries()?.get(&number).copied();
        if entry.is_none() && self.scan()?.locked.get() {
            self.blocked.set(self.blocked.get() + 1);
        }
        Ok(entry)
    }

    pub(super) fn scan(&self) -> Result<&Recovered<'p>> {
        if let Some(found) = self.scan.get() {
            return Ok(found);
        }
        let scan = scan::scan(&self.store, self.settings.max_objects)?;
        Ok(self.scan.get_or_init(|| Recovered {
            scan,
            entries: OnceCell::new(),
            locked: Cell::new(false),
        }))
    }

    /// Where the scan found each object, those in object streams included: the last definition in
    /// the file counts.
    pub(super) fn scanned_entries(&self) -> Result<&HashMap<u32, Entry>> {
        let found = self.scan()?;
        if let Some(entries) = found.entries.get() {
            return Ok(entries);
        }
        let blocked = self.blocked.get();
        let mut entries: HashMap<u32, Entry> = found
            .scan
            .objects
            .iter()
            .map(|(number, offset)| (*number, Entry::At(*offset)))
            .collect();
        for (container, offset) in &found.scan.object_streams {
            // A stream that was replaced later does not count.
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
            if entries.len() as u64 > self.settings.max_objects {
                let max = self.settings.max_objects;
                return Err(self.meter().exceeded(format_args!(
                    "the document has more than {max} objects (pdf.max_objects)"
                )));
            }
        }
        // The lookup of a missing object counts as blocked; the search itself does not.
        found.locked.set(self.blocked.replace(blocked) > blocked);
        Ok(found.entries.get_or_init(|| entries))
    }

    fn scanned_container(&self, number: u32, offset: u64) -> Result<Option<Rc<ObjectStream<'p>>>> {
        if let Some(known) = self.known_container(number) {
            return Ok(known);
        }
        let blocked = self.blocked.get();
        let container = self.read_container(number, offset)?;
        Ok(self.remember(number, container, blocked))
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
