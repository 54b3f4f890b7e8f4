//! PowerPoint presentations: the document container and its lists ([MS-PPT] §2.4).

use std::collections::{HashMap, HashSet};

use super::bytes::u32_at;
use super::encryption::Encryption;
use super::persist::{MAX_PERSIST_ID, Objects, Record, State};
use crate::engine::container::cfb::{Cfb, EntryId};
use crate::engine::error::Result;

/// Name of the main stream.
pub(super) const STREAM: &str = "PowerPoint Document";

/// Storage that holds the PowerPoint 97 form of a presentation saved for 95 too.
pub(super) const DUAL_STORAGE: &str = "PP97_DUALSTORAGE";

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
    pub(super) const LINKED_MOVIE: [u16; 2] = [0x1006, 0x1007];
    pub(super) const LINKED_SOUND: [u16; 2] = [0x100D, 0x1010];
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

/// A presentation.
#[derive(Debug)]
pub(super) struct Powerpoint<'s> {
    objects: Objects<'s>,
    document: Option<Option<Document>>,
}

impl<'s> Powerpoint<'s> {
    /// Opens the main stream. `None` when there is none.
    pub(super) fn open(cfb: &Cfb<'s>, home: EntryId) -> Option<Self> {
        let stream = cfb.stream_named(home, STREAM)?;
        let current_user = cfb.stream_named(home, "Current User");
        Some(Self {
            objects: Objects::new(stream, current_user),
            document: None,
        })
    }

    /// How the presentation is encrypted. `None` when that cannot be known, `Some(None)` when it is not.
    pub(super) fn encryption(&mut self) -> Result<Option<Option<Encryption>>> {
        Ok(match self.objects.state()? {
            State::Clear { .. } => Some(None),
            State::Encrypted { session } => Some(Some(self.objects.session(session)?)),
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
            self.objects.stream.meter().check_clock()?;
            let Some(place) = self.objects.place(slide)? else {
                return Ok(None);
            };
            let is_hidden = match known.get(&place) {
                Some(is_hidden) => *is_hidden,
                None => {
                    let Some(container) = self.objects.container_at(Some(place), record::SLIDE)?
                    else {
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

    fn read_document(&mut self) -> Result<Option<Document>> {
        let State::Clear { document } = self.objects.state()? else {
            return Ok(None);
        };
        let place = self.objects.place(document)?;
        match self.objects.container_at(place, record::DOCUMENT)? {
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
            let Some(child) = self.objects.record_in(at, slide.end)? else {
                break;
            };
            match child.kind {
                record::SLIDE_SHOW_INFO => {
                    let flags = self.objects.stream.read_array::<2>(child.start + 10)?;
                    return Ok(flags.is_some_and(|flags| u16::from_le_bytes(flags) & HIDDEN != 0));
                }
                record::DRAWING => return Ok(false),
                _ => at = child.end,
            }
        }
        Ok(false)
    }

    fn document_at(&mut self, container: Record) -> Result<Document> {
        let mut document = Document::default();
        let mut at = container.start;
        for count in 0_u32.. {
            if count.is_multiple_of(CLOCK_EVERY) {
                self.objects.stream.meter().check_clock()?;
            }
            let Some(child) = self.objects.record_in(at, container.end)? else {
                break;
            };
            match (child.kind, child.instance) {
                (record::DOCUMENT_ATOM, _) => {
                    let size = self.objects.stream.read_array::<8>(child.start)?;
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
                self.objects.stream.meter().check_clock()?;
            }
            let Some(child) = self.objects.record_in(at, list.end)? else {
                break;
            };
            if child.kind == record::SLIDE_PERSIST
                && let Some(id) = self.objects.stream.read_array::<4>(child.start)?
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
                self.objects.stream.meter().check_clock()?;
            }
            let Some(child) = self.objects.record_in(at, list.end)? else {
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
        while let Some(child) = self.objects.record_in(at, hyperlink.end)? {
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
        while let Some(child) = self.objects.record_in(at, info.end)? {
            if child.kind == record::VBA_INFO
                && let Some(atom) = self.objects.record_in(child.start, child.end)?
                && atom.kind == record::VBA_INFO_ATOM
                && let Some(fields) = self.objects.stream.read_array::<8>(atom.start)?
            {
                let project = u32_at(&fields, 0).unwrap_or_default();
                let flag = u32_at(&fields, 4).unwrap_or_default();
                return Ok(flag != 0 && self.objects.place(project)?.is_some());
            }
            at = child.end;
        }
        Ok(false)
    }
}
