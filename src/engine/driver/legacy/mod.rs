//! Binary Office documents (doc, xls, ppt) and encrypted Office Open XML packages: everything whose
//! container is a compound file.
//!
//! The main stream decides what a file is, and only the root storage's own children count, so that an
//! embedded document never passes for the document. What a target needs is read when the first path
//! asks for it and kept for the others.

mod bytes;
mod codepage;
mod encryption;
mod excel;
mod identify;
mod inventory;
mod persist;
mod powerpoint;
mod properties;
mod references;
mod statistics;
mod summary;
mod word;
mod word_text;

pub(crate) use self::identify::identify;
use encryption::Encryption;
use excel::Excel;
use powerpoint::Powerpoint;
use properties::PropertySet;
use word::Word;

use super::{Driver, Probe};
use crate::engine::catalogue::{PathId, Profile, Target};
use crate::engine::container::cfb::{Cfb, EntryId};
use crate::engine::error::{ProbeError, Result};
use crate::engine::findings::Findings;

/// The driver of one probe.
#[derive(Debug)]
pub(crate) struct Legacy<'p> {
    probe: &'p Probe<'p>,
    cfb: Cfb<'p>,
    /// The storage that holds the document's streams: the root, but for dual PowerPoint files.
    home: EntryId,
    /// The file is a workbook stream without a container.
    is_bare: bool,
    /// Opened at first need.
    content: Option<Content<'p>>,
}

/// The document behind the container. Each part of it is read when it is first asked for.
#[derive(Debug)]
enum Content<'p> {
    Word(Word<'p>),
    Excel(Excel<'p>),
    Powerpoint(Powerpoint<'p>),
    Package(Encryption),
    /// The main stream is there but does not begin like one.
    Unreadable,
}

/// Bytes at the beginning of a file that are looked at for a workbook without a container.
const HEAD: usize = 16;

/// Whether a file begins like a workbook stream of BIFF 2 to 8 ([MS-XLS] 2.4.21, and its predecessors).
pub(crate) fn is_bare_workbook(head: &[u8]) -> bool {
    excel::version(head).is_some()
}

/// What a compound file holds, by the names of its main streams (contract §8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    profile: Profile,
    home: EntryId,
}

impl<'p> Driver<'p> for Legacy<'p> {
    fn open(probe: &'p Probe<'p>) -> Result<Self> {
        if probe.profile == Profile::Xls && is_bare_workbook(probe.source.read_head(HEAD)?) {
            let cfb = Cfb::none(probe.source);
            let home = cfb.root();
            return Ok(Self {
                probe,
                cfb,
                home,
                is_bare: true,
                content: None,
            });
        }
        let mut cfb = Cfb::open(probe.source)?;
        let mut found = kind(&cfb);
        if found.is_none() && cfb.adopt_orphans() {
            found = kind(&cfb);
        }
        let Some(kind) = found else {
            return Err(ProbeError::malformed(
                "the compound file has no main stream of an Office document",
            ));
        };
        if kind.profile != probe.profile {
            return Err(ProbeError::malformed(format_args!(
                ".{} input holds {} content",
                probe.extension,
                kind.profile.name()
            )));
        }
        Ok(Self {
            probe,
            cfb,
            home: kind.home,
            is_bare: false,
            content: None,
        })
    }

    fn run(&mut self, path: PathId, out: &mut Findings) -> Result<()> {
        match path {
            PathId::OfficeLegacyCfbInventory => inventory::run(self, out),
            PathId::OfficeLegacySummaryInformation => summary::run(self, out),
            PathId::OfficeLegacyReferences => references::run(self, out),
            PathId::OfficeLegacyContentStatistics => statistics::run(self, out),
            _ => Err(ProbeError::internal(format_args!(
                "{} is no path of compound files",
                path.name()
            ))),
        }
    }
}

impl<'p> Legacy<'p> {
    fn is_package(&self) -> bool {
        self.probe.profile == Profile::EncryptedOoxml
    }

    /// The document, opened at the first call.
    fn content(&mut self, out: &Findings) -> Result<&mut Content<'p>> {
        if self.content.is_none() {
            self.content = Some(self.open_content(out)?);
        }
        Ok(self.content.get_or_insert(Content::Unreadable))
    }

    fn open_content(&self, out: &Findings) -> Result<Content<'p>> {
        let (cfb, home) = (&self.cfb, self.home);
        let content = match self.probe.profile {
            Profile::Doc => Word::open(cfb, home)?.map(Content::Word),
            Profile::Xls => {
                let strings = out.wants(Target::EXCEL_SHARED_STRING_COUNT);
                let stream = if self.is_bare {
                    Some(cfb.whole_file())
                } else {
                    excel::STREAMS
                        .iter()
                        .find_map(|name| cfb.stream_named(home, name))
                };
                match stream {
                    Some(stream) => Excel::open(stream, strings)?.map(Content::Excel),
                    None => None,
                }
            }
            Profile::Ppt => Powerpoint::open(cfb, home).map(Content::Powerpoint),
            _ => Some(Content::Package(
                match cfb.stream_named(home, "EncryptionInfo") {
                    Some(mut info) => Encryption::of_package(&mut info)?,
                    None => Encryption::rights_management(),
                },
            )),
        };
        Ok(content.unwrap_or(Content::Unreadable))
    }

    fn summary(&self, name: &str) -> Result<Option<PropertySet<'p>>> {
        match PropertySet::open(&self.cfb, self.home, name)? {
            Some(set) => Ok(Some(set)),
            // A dual file keeps its properties in the root.
            None if self.home != self.cfb.root() => {
                PropertySet::open(&self.cfb, self.cfb.root(), name)
            }
            None => Ok(None),
        }
    }
}

impl Content<'_> {
    /// How the document is encrypted. `None` when that cannot be known, `Some(None)` when it is not.
    fn encryption(&mut self) -> Result<Option<Option<Encryption>>> {
        match self {
            Self::Word(word) => word.encryption().map(Some),
            Self::Excel(excel) => excel.encryption().map(Some),
            Self::Powerpoint(powerpoint) => powerpoint.encryption(),
            Self::Package(encryption) => Ok(Some(Some(encryption.clone()))),
            Self::Unreadable => Ok(None),
        }
    }
}

/// Looks at the root's children, in the contract's order.
fn kind(cfb: &Cfb<'_>) -> Option<Kind> {
    let root = cfb.root();
    let has = |name: &str| {
        cfb.children(root)
            .any(|e| e.is_stream() && e.is_named(name))
    };
    let in_root = |profile| {
        Some(Kind {
            profile,
            home: root,
        })
    };
    // Without `EncryptionInfo` a rights management server keeps the key.
    if has("EncryptedPackage") {
        return in_root(Profile::EncryptedOoxml);
    }
    if has(word::STREAM) {
        return in_root(Profile::Doc);
    }
    if excel::STREAMS.iter().any(|name| has(name)) {
        return in_root(Profile::Xls);
    }
    if let Some(dual) = cfb.storage_named(root, powerpoint::DUAL_STORAGE)
        && cfb.child(dual, powerpoint::STREAM).is_some()
    {
        return Some(Kind {
            profile: Profile::Ppt,
            home: dual,
        });
    }
    has(powerpoint::STREAM).then_some(Kind {
        profile: Profile::Ppt,
        home: root,
    })
}
