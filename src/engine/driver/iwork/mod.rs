//! Apple iWork since 2013: Keynote, Numbers and Pages.
//!
//! One driver, since the three share the package, the components and most of the objects in them;
//! [`keynote`], [`numbers`] and [`pages`] know what is special.

mod assets;
mod content;
mod damage;
mod identify;
mod image;
mod inventory;
mod keynote;
mod limit;
mod numbers;
mod package;
mod pages;
mod plist;
mod preview;
mod properties;
mod root;
mod scan;
mod size;
mod tables;
mod xml_document;

pub(crate) use self::identify::identify;
use std::collections::BTreeMap;

use self::package::Package;
use self::properties::Properties;
use self::root::RootKind;
use self::scan::Scan;
use self::xml_document::XmlDocument;
use super::{Driver, Probe, identity};
use crate::contract::Confidence::{Exact, Medium};
use crate::engine::catalogue::{DriverId, PathId, Target};
use crate::engine::error::{ProbeError, Result};
use crate::engine::findings::Findings;
use crate::engine::source::Source;
use crate::engine::value::Value;

/// A document while it is probed.
pub(crate) struct Iwork<'p> {
    probe: &'p Probe<'p>,
    package: Package<'p>,
    scan: Scan,
    /// Whether a password is needed to read the components.
    is_encrypted: bool,
    /// The kind of a document of iWork '08 or '09, whose main part is XML.
    xml_kind: Option<RootKind>,
    /// Its main part, read at first need.
    xml_document: Option<XmlDocument>,
    /// Read at first need.
    properties: Option<Properties>,
}

/// The part of opening that belongs to routing: is this a package with a document in it?
///
/// # Errors
/// As opening the document, without reading any component.
pub(crate) fn check_package(source: &Source) -> Result<()> {
    Package::open(source).map(drop)
}

impl<'p> Driver<'p> for Iwork<'p> {
    fn open(probe: &'p Probe<'p>) -> Result<Self> {
        let package = Package::open(probe.source)?;
        let mut scan = Scan::new(probe.profile);
        scan.root(&package, probe.meter())?;
        let xml_kind = match package.xml_main() {
            Some(main) => xml_document::kind(&package, main)?,
            None => None,
        };
        let is_encrypted =
            scan.root.is_none() && xml_kind.is_none() && package.has_password_verifier();
        if package.xml_main().is_some() && xml_kind.is_none() && !is_encrypted {
            return Err(ProbeError::unsupported_format(
                "the main part of this iWork '09 package is not a document; Keynote 6, Numbers 3 and Pages 5 \
                 (2013) and later save a document anew that they can open",
            ));
        }
        let driver = Self {
            probe,
            package,
            scan,
            is_encrypted,
            xml_kind,
            xml_document: None,
            properties: None,
        };
        driver.verify()?;
        Ok(driver)
    }

    fn run(&mut self, path: PathId, out: &mut Findings) -> Result<()> {
        if self.package.xml_main().is_some() {
            return self.run_xml(path, out);
        }
        match path {
            PathId::IworkIdentity => self.identity(out),
            PathId::IworkPackageMetadata => {
                let declared = self.scan.root.as_ref().map(|root| root.declared.clone());
                self.properties()?.put(declared.as_ref(), out);
            }
            PathId::IworkPackageInventory => self.inventory(out)?,
            PathId::IworkPreviewMetadata => preview::put(&self.package, out)?,
            PathId::IworkIwaIntegrity => self.integrity(out)?,
            PathId::IworkIwaObjects => {
                self.integrity(out)?;
                self.objects(out);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Iwork<'_> {
    /// Whether the document is what its extension says. The root object decides; where it cannot be
    /// read, only a contradiction does.
    fn verify(&self) -> Result<()> {
        let has_slides = self.package.count("Slide") > 0;
        let found = match (self.root_kind(), self.probe.profile.driver()) {
            (Some(RootKind::Keynote), _) => DriverId::Keynote,
            (Some(RootKind::Numbers), _) => DriverId::Numbers,
            (Some(RootKind::Pages), _) => DriverId::Pages,
            (Some(RootKind::KeynoteOrNumbers), _) if has_slides => DriverId::Keynote,
            (Some(RootKind::KeynoteOrNumbers), _) => DriverId::Numbers,
            (None, DriverId::Numbers | DriverId::Pages) if has_slides => DriverId::Keynote,
            (None, expected) => expected,
        };
        if found == self.probe.profile.driver() {
            return Ok(());
        }
        Err(ProbeError::malformed(format_args!(
            "the .{} package is a document of {}",
            self.probe.profile.name(),
            application(found)
        )))
    }

    fn root_kind(&self) -> Option<RootKind> {
        let of_scan = self.scan.root.as_ref().map(|root| root.kind);
        of_scan.or(self.xml_kind)
    }

    /// Runs a path on a document of iWork '08 or '09. What such documents do not record is unknown.
    fn run_xml(&mut self, path: PathId, out: &mut Findings) -> Result<()> {
        match path {
            PathId::IworkIdentity => self.identity(out),
            PathId::IworkPreviewMetadata => preview::put(&self.package, out)?,
            PathId::IworkPackageMetadata => self.properties()?.put_build(out),
            PathId::IworkPackageInventory => self.shared_inventory(out),
            _ => {}
        }
        if let Some(kind) = self.xml_kind
            && path != PathId::IworkIdentity
        {
            self.xml_document()?.put(kind, path, out);
        }
        for target in path.yields().all().iter() {
            out.unknown(target);
        }
        Ok(())
    }

    fn xml_document(&mut self) -> Result<&XmlDocument> {
        let document = match (self.xml_document.take(), self.package.xml_main()) {
            (Some(document), _) => document,
            (None, Some(main)) => XmlDocument::read(&self.package, main)?,
            (None, None) => XmlDocument::default(),
        };
        Ok(self.xml_document.insert(document))
    }

    fn identity(&self, out: &mut Findings) {
        identity::put(self.probe, out);
        out.put(
            Target::SECURITY_ENCRYPTED,
            self.is_encrypted,
            Exact,
            "document component",
        );
        let kind = self.probe.profile.driver().as_str();
        let (confidence, source) = match self.root_kind() {
            Some(_) => (Exact, "root object"),
            None => (Medium, "input name, since the root object cannot be read"),
        };
        out.put(Target::IWORK_DOCUMENT_KIND, kind, confidence, source);
    }

    /// The inventory that needs no component.
    fn shared_inventory(&self, out: &mut Findings) {
        let driver = self.probe.profile.driver();
        out.put(
            Target::DOCUMENT_APPLICATION,
            application(driver),
            Exact,
            "document kind",
        );
        out.put(
            Target::SECURITY_PASSWORD_PROTECTED,
            self.is_encrypted,
            Exact,
            "document component",
        );
        inventory::put(&self.package, out);
    }

    fn inventory(&mut self, out: &mut Findings) -> Result<()> {
        self.shared_inventory(out);
        if !self.is_encrypted && out.wants_any(self.scan.content.outline_targets()) {
            // Also at deep, where everything is decoded later: a document that is too large for that
            // still has an outline.
            self.scan.outline(&self.package, self.probe.meter())?;
        }
        self.scan.content.inventory(&self.package, out);
        Ok(())
    }

    /// Decodes everything and says whether it decodes.
    fn integrity(&mut self, out: &mut Findings) -> Result<()> {
        if self.is_encrypted {
            // Whether there is damage behind the password, nobody can say.
            out.unknown(Target::IWORK_ALL_IWA_VALID);
            out.unknown(Target::QUALITY_CORRUPTED);
            return Ok(());
        }
        self.scan.everything(&self.package, self.probe.meter())?;
        let is_damaged = self.scan.damage.any;
        out.put(
            Target::IWORK_ALL_IWA_VALID,
            !is_damaged,
            Exact,
            "all IWA components",
        );
        if out.wants(Target::QUALITY_CORRUPTED) {
            let is_damaged = is_damaged || self.properties()?.are_damaged();
            out.put(
                Target::QUALITY_CORRUPTED,
                is_damaged,
                Exact,
                "all IWA components and properties",
            );
        }
        Ok(())
    }

    fn objects(&self, out: &mut Findings) {
        if self.is_encrypted {
            for target in PathId::IworkIwaObjects.yields().all().iter() {
                out.unknown(target);
            }
            return;
        }
        out.put_or_unknown(
            Target::QUALITY_MISSING_ASSETS,
            self.scan.assets.are_missing(&self.package),
            Exact,
            "package metadata and entries",
        );
        self.scan
            .content
            .deep(&self.scan.tables, self.scan.damage, out);
        if self.scan.damage.any {
            // Counts over all objects, some of which are not there to be counted.
            out.unknown(Target::IWORK_ARCHIVE_OBJECT_COUNT);
            out.unknown(Target::IWORK_MESSAGE_TYPE_COUNTS);
            out.unknown(Target::IWORK_OBJECT_TYPE_COUNTS);
            return;
        }
        let counts = &self.scan.counts;
        let source = "all IWA components";
        out.put(
            Target::IWORK_ARCHIVE_OBJECT_COUNT,
            counts.messages(),
            Exact,
            source,
        );
        let empty = BTreeMap::new();
        let length = counts.kinds().map_or(usize::MAX, |kinds| kinds.len() * 20);
        limit::put(
            Target::IWORK_MESSAGE_TYPE_COUNTS,
            length,
            source,
            out,
            || {
                let kinds = counts.kinds().unwrap_or(&empty);
                Value::object(
                    kinds
                        .iter()
                        .map(|(kind, count)| (kind.to_string(), Value::from(*count))),
                )
            },
        );
        let counted = OBJECT_KINDS.iter().map(|(name, kinds)| {
            let count: u64 = kinds.iter().map(|kind| counts.of_kind(*kind)).sum();
            (*name, Value::from(count))
        });
        out.put(
            Target::IWORK_OBJECT_TYPE_COUNTS,
            Value::object(counted),
            Exact,
            source,
        );
    }

    fn properties(&mut self) -> Result<&Properties> {
        let properties = match self.properties.take() {
            Some(properties) => properties,
            None => Properties::read(&self.package)?,
        };
        Ok(self.properties.insert(properties))
    }
}

/// The message types behind `iwork.object_type_counts` (contract §9.7).
const OBJECT_KINDS: [(&str, &[u32]); 8] = [
    ("chart", &[5021]),
    ("comment_info", &[2014]),
    ("comment_storage", &[3056]),
    ("image", &[3005]),
    ("movie", &[3007]),
    ("table_info", &[6000, 6007]),
    ("table_model", &[6001]),
    ("text_storage", &[2001, 2005]),
];

fn application(driver: DriverId) -> &'static str {
    match driver {
        DriverId::Numbers => "Apple Numbers",
        DriverId::Pages => "Apple Pages",
        _ => "Apple Keynote",
    }
}

/// Reads a property list, for the fuzz targets.
pub(crate) fn fuzz_property_list(bytes: &[u8]) {
    properties::fuzz(bytes);
}

/// Looks for the size of a picture, for the fuzz targets.
pub(crate) fn fuzz_picture(bytes: &[u8]) {
    image::dimensions(bytes);
}
