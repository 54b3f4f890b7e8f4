//! PDF, from 1.0 to 2.0: damaged and encrypted files included.
//!
//! The document is opened when the first path needs more than the header; what the paths share
//! (catalogue, features) is read once.

mod access;
mod actions;
mod assets;
mod content;
mod features;
mod fields;
mod header;
mod info;
mod opened;
mod outline;
mod pages;
mod signatures;
mod sizes;
mod structure;
mod version;
mod visited;
mod xfa;
mod xml_text;
mod xmp;

use std::cell::OnceCell;

use self::opened::Opened;
use self::version::Version;
use super::{Driver, Probe};
use crate::contract::Confidence::Exact;
use crate::engine::catalogue::{PathId, Target};
use crate::engine::container::pdf::{Document, Header, Settings, read_start};
use crate::engine::error::{ProbeError, Result};
use crate::engine::findings::Findings;

/// One PDF file.
pub(crate) struct Pdf<'p> {
    probe: &'p Probe<'p>,
    header: Header<'p>,
    opened: OnceCell<Opened<'p>>,
    /// Why the document could not be opened: another attempt would only spend more.
    failed: OnceCell<ProbeError>,
}

impl<'p> Driver<'p> for Pdf<'p> {
    fn open(probe: &'p Probe<'p>) -> Result<Self> {
        let head = read_start(probe.source, probe.level)?;
        let header = Header::find(head).ok_or_else(|| {
            ProbeError::malformed("no PDF header within the first 1024 bytes of the file")
        })?;
        Ok(Self {
            probe,
            header,
            opened: OnceCell::new(),
            failed: OnceCell::new(),
        })
    }

    /// Objects are kept only when they are complete, and to open the file again may cost more than is
    /// left: what is known of it serves the other paths.
    fn after_budget(self, _probe: &'p Probe<'p>) -> Result<Self> {
        if let Some(opened) = self.opened.get() {
            opened.document.reset_work();
        }
        Ok(self)
    }

    fn run(&mut self, path: PathId, out: &mut Findings) -> Result<()> {
        let ran = match path {
            PathId::PdfHeader => header::run(self, out),
            PathId::PdfDocumentStructure => structure::run(self.opened()?, out),
            PathId::PdfInfoDictionary => info::run(self.opened()?, out),
            PathId::PdfDocumentFeatures
            | PathId::PdfDeepDocumentFeatures
            | PathId::PdfActiveContentAssessment => features::run(self.opened()?, out),
            PathId::PdfPageContent => content::run(self.opened()?, out),
            _ => Ok(()),
        };
        if self.probe.paths.last() == Some(&path) {
            self.put_repaired(out);
        }
        ran
    }
}

impl<'p> Pdf<'p> {
    /// Damage may show as late as in the last object that is read, so this is put at the end.
    fn put_repaired(&self, out: &mut Findings) {
        let structure = PathId::PdfDocumentStructure;
        if let Some(opened) = self.opened.get()
            && self.probe.paths.contains(&structure)
        {
            out.enter(structure);
            out.put(
                Target::PDF_REPAIRED,
                opened.document.repaired(),
                Exact,
                "cross-reference data",
            );
        }
    }

    /// The document, opened at the first call.
    fn opened(&self) -> Result<&Opened<'p>> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        if let Some(error) = self.failed.get() {
            return Err(error.clone());
        }
        match self.open_document(self.probe.options.repair_xref) {
            Ok(opened) => Ok(self.opened.get_or_init(|| opened)),
            Err(error) => Err(self.failed.get_or_init(|| error).clone()),
        }
    }

    fn open_document(&self, repair: bool) -> Result<Opened<'p>> {
        let settings = Settings {
            repair,
            max_objects: self.probe.options.max_objects,
            level: self.probe.level,
        };
        let document = Document::open(self.probe.source, self.header.at as u64, settings)?;
        Ok(Opened {
            document,
            header: Version::parse(self.header.version),
        })
    }

    /// Whether some planned path needs the document anyway.
    fn needs_document(&self) -> bool {
        self.probe
            .paths
            .iter()
            .any(|path| *path != PathId::PdfHeader)
    }
}
