//! What Word, Excel and PowerPoint packages have in common: verification, identity, properties,
//! inventory and security (contract §9.1).

mod choice;
mod excel;
mod links;
mod powerpoint;
mod properties;
mod sheets;
mod slides;
mod word;

use std::cell::OnceCell;
use std::collections::BTreeMap;

pub(crate) use self::excel::Excel;
use self::links::Links;
pub(crate) use self::powerpoint::Powerpoint;
use self::properties::{AppProperties, CoreProperties};
pub(crate) use self::word::Word;
use super::{Probe, identity};
use crate::contract::Confidence::{Exact, High};
use crate::engine::catalogue::{DriverId, PathId, Profile, Target as T};
use crate::engine::container::opc::{Kind, Main, Package};
use crate::engine::container::xml::{Ns, Xml};
use crate::engine::container::zip::Entry;
use crate::engine::error::{ProbeError, Result};
use crate::engine::findings::{Findings, Status};
use crate::engine::value::Value;

/// An open and verified package, and what was read of it so far.
struct Office<'p> {
    probe: &'p Probe<'p>,
    package: Package<'p>,
    /// The position of the main part.
    main: usize,
    root: OnceCell<Root>,
    app: OnceCell<AppProperties>,
    links: OnceCell<Links>,
}

/// Where the relationships of the package lead, as positions in the archive.
#[derive(Debug, Default)]
struct Root {
    main: Option<usize>,
    /// The type of the relationship to the main part is one of the strict conformance class.
    strict: Option<bool>,
    core: Option<usize>,
    app: Option<usize>,
    custom: Option<usize>,
    /// The picture of the document itself, which is no part of its content.
    thumbnail: Option<usize>,
    links: Links,
}

impl<'p> Office<'p> {
    /// Opens the package and makes sure that its main part is what the profile says.
    fn open(probe: &'p Probe<'p>) -> Result<Self> {
        let package = Package::open(probe.source)?;
        let root = OnceCell::new();
        let main = find_main(&package, &root, probe.profile)?;
        let office = Self {
            probe,
            package,
            main,
            root,
            app: OnceCell::new(),
            links: OnceCell::new(),
        };
        let main = office.main();
        let kind = office.package.kind(main);
        if kind != Kind::Main(main_kind(probe.profile)) {
            return Err(ProbeError::malformed(format_args!(
                "the content type of the main part {} does not match .{}",
                main.name(),
                probe.profile.name()
            )));
        }
        Ok(office)
    }

    fn package(&self) -> &Package<'p> {
        &self.package
    }

    fn profile(&self) -> Profile {
        self.probe.profile
    }

    fn probe(&self) -> &'p Probe<'p> {
        self.probe
    }

    /// The main part.
    fn main(&self) -> Entry<'_> {
        self.package.entry(self.main)
    }

    /// The relationships of the package, read at first need.
    fn root(&self) -> Result<&Root> {
        root(&self.package, &self.root)
    }

    /// How many distinct image parts the content has.
    fn image_count(&self) -> Result<usize> {
        let images = || {
            self.package
                .parts()
                .filter(|(_, kind)| *kind == Kind::Image)
        };
        if images().next().is_none() {
            return Ok(0);
        }
        let thumbnail = self.root()?.thumbnail;
        Ok(images()
            .filter(|(entry, _)| Some(entry.index()) != thumbnail)
            .count())
    }

    /// Runs a path that the three families share.
    fn run(&self, path: PathId, out: &mut Findings) -> Result<()> {
        match path {
            PathId::OoxmlIdentity => self.identity(out),
            PathId::OoxmlCoreProperties => self.core_properties(out)?,
            PathId::OoxmlAppProperties => self.app_properties(out)?,
            PathId::OoxmlPackageInventory => self.inventory(out)?,
            PathId::OoxmlReadabilitySecurity => {
                out.put(
                    T::SECURITY_PASSWORD_PROTECTED,
                    false,
                    Exact,
                    "ZIP package that opens without a password",
                );
            }
            PathId::OoxmlPackageSecurity => self.package_security(out)?,
            PathId::OoxmlDeepSecurity => self.deep_security(out)?,
            _ => {}
        }
        Ok(())
    }

    /// The extended properties, read once. Empty when there are none or they cannot be read.
    fn app(&self) -> Result<&AppProperties> {
        if let Some(app) = self.app.get() {
            return Ok(app);
        }
        let app = match self.property_part(Kind::ExtendedProperties, APP, |root| root.app)? {
            None => AppProperties::default(),
            Some(entry) => unless_damaged(self.package.read_text(entry))?.map_or_else(
                || Ok(AppProperties::default()),
                |text| AppProperties::parse(&text, self.package.meter()),
            )?,
        };
        Ok(self.app.get_or_init(|| app))
    }

    fn identity(&self, out: &mut Findings) {
        identity::put(self.probe, out);
        out.put(
            T::SECURITY_ENCRYPTED,
            false,
            Exact,
            "ZIP package that is not encrypted",
        );
        let kind = match self.probe.profile.driver() {
            DriverId::Word => "word",
            DriverId::Excel => "excel",
            _ => "powerpoint",
        };
        out.put(T::OFFICE_DOCUMENT_KIND, kind, Exact, "main part");
    }

    fn core_properties(&self, out: &mut Findings) -> Result<()> {
        let text = match self.property_part(Kind::CoreProperties, CORE, |root| root.core)? {
            Some(entry) => unless_damaged(self.package.read_text(entry))?,
            None => None,
        };
        let core = match text {
            Some(text) => CoreProperties::parse(&text, self.package.meter())?,
            None => CoreProperties::default(),
        };
        for (target, value) in [
            (T::DOCUMENT_TITLE, core.title),
            (T::DOCUMENT_SUBJECT, core.subject),
            (T::DOCUMENT_AUTHOR, core.creator),
            (T::DOCUMENT_KEYWORDS, core.keywords),
            (T::DOCUMENT_DESCRIPTION, core.description),
            (T::DOCUMENT_CREATED_AT, core.created),
            (T::DOCUMENT_MODIFIED_AT, core.modified),
        ] {
            out.put_or_unknown(target, value, High, "core properties part");
        }
        Ok(())
    }

    fn app_properties(&self, out: &mut Findings) -> Result<()> {
        let app = self.app()?;
        for (target, value) in [
            (T::DOCUMENT_APPLICATION, &app.application),
            (T::DOCUMENT_APPLICATION_VERSION, &app.version),
        ] {
            out.put_or_unknown(target, value.clone(), High, "extended properties part");
        }
        if out.wants(T::OFFICE_CUSTOM_PROPERTIES) {
            let custom = self.custom_properties()?;
            out.put_or_unknown(
                T::OFFICE_CUSTOM_PROPERTIES,
                custom,
                High,
                "custom properties part",
            );
        }
        Ok(())
    }

    /// `None` when there is a part for them and it cannot be read.
    fn custom_properties(&self) -> Result<Option<Value>> {
        let part = self.property_part(Kind::CustomProperties, CUSTOM, |root| root.custom)?;
        let properties = match part {
            None => Some(BTreeMap::new()),
            Some(part) => match unless_damaged(self.package.read_text(part))? {
                Some(text) => unless_damaged(properties::custom(&text, self.package.meter()))?,
                None => None,
            },
        };
        Ok(properties.map(|list| {
            Value::object(
                list.into_iter()
                    .map(|(name, value)| (name, Value::from(value))),
            )
        }))
    }

    fn inventory(&self, out: &mut Findings) -> Result<()> {
        out.put(
            T::SECURITY_HAS_MACROS,
            self.has_macros(),
            Exact,
            "parts of the package",
        );
        out.put(
            T::OFFICE_PACKAGE_ENTRY_COUNT,
            self.package.entry_count(),
            Exact,
            "ZIP central directory",
        );
        if out.wants(T::OFFICE_CONFORMANCE) {
            let strict = self.is_strict()?;
            out.put_or_unknown(
                T::OFFICE_CONFORMANCE,
                strict.map(|strict| if strict { "strict" } else { "transitional" }),
                High,
                "type of the relationship to the main part",
            );
        }
        Ok(())
    }

    /// VBA projects and Excel 4.0 macro sheets.
    fn has_macros(&self) -> bool {
        self.package.parts().any(|(entry, kind)| {
            matches!(kind, Kind::VbaProject | Kind::Macrosheet)
                || ends_ignore_case(entry.name(), "vbaproject.bin")
        })
    }

    /// The type of the relationship to the main part says it; without one, the main part's namespace.
    fn is_strict(&self) -> Result<Option<bool>> {
        let strict = self.root()?.strict;
        if strict.is_some() {
            return Ok(strict);
        }
        if self.profile() == Profile::Xlsb {
            // Binary workbooks know one class only.
            return Ok(Some(false));
        }
        unless_damaged(slides::at_start(
            &self.package,
            self.main(),
            has_strict_root,
        ))
    }

    fn package_security(&self, out: &mut Findings) -> Result<()> {
        let wanted = links::Wanted {
            external: out.wants(T::SECURITY_HAS_EXTERNAL_RELATIONSHIPS) || wants_risk(out),
            embedded: out.wants(T::SECURITY_HAS_EMBEDDED_FILES) || wants_risk(out),
        };
        let links = *self.links(wanted)?;
        let parts = "relationship parts";
        let root = self.root()?.links;
        let signed = root.signature || self.has_signature_parts();
        if signed || !root.damaged {
            out.put(
                T::SECURITY_HAS_DIGITAL_SIGNATURE,
                signed,
                Exact,
                "signature parts",
            );
        } else {
            out.unknown(T::SECURITY_HAS_DIGITAL_SIGNATURE);
        }
        let known = |found: bool| (found || !links.damaged).then_some(found);
        out.put_or_unknown(
            T::SECURITY_HAS_EXTERNAL_RELATIONSHIPS,
            known(links.external),
            Exact,
            parts,
        );
        out.put_or_unknown(
            T::SECURITY_HAS_EMBEDDED_FILES,
            known(links.embedded),
            Exact,
            parts,
        );
        Ok(())
    }

    fn deep_security(&self, out: &mut Findings) -> Result<()> {
        out.put(
            T::SECURITY_SIGNATURE_COUNT,
            self.signature_count(),
            Exact,
            "signature parts",
        );
        out.no_value(T::SECURITY_HAS_JAVASCRIPT, Status::Unsupported);
        if wants_risk(out) {
            let risk = self.risk()?;
            out.put_or_unknown(
                T::SECURITY_ACTIVE_CONTENT_RISK,
                risk,
                Exact,
                "macro, control, embedding and relationship parts",
            );
        }
        Ok(())
    }

    /// `None` when a damaged relationship part could make it worse.
    fn risk(&self) -> Result<Option<&'static str>> {
        if self.has_macros() {
            return Ok(Some("high"));
        }
        let links = self.links(links::Wanted {
            external: true,
            embedded: true,
        })?;
        let controls = self.package.count(&[Kind::ActiveX]) > 0;
        Ok(if controls || links.embedded {
            Some("medium")
        } else if links.damaged {
            None
        } else if links.external {
            Some("low")
        } else {
            Some("none")
        })
    }

    fn has_signature_parts(&self) -> bool {
        self.package.parts().any(|(entry, kind)| {
            kind == Kind::Signature
                || starts_ignore_case(entry.trimmed_name(), "_xmlsignatures/")
                    && !entry.is_directory()
        })
    }

    fn signature_count(&self) -> usize {
        self.package
            .parts()
            .filter(|(entry, kind)| *kind == Kind::Signature || is_signature_name(entry.name()))
            .count()
    }

    /// What all relationship parts say, read once.
    fn links(&self, wanted: links::Wanted) -> Result<&Links> {
        if let Some(links) = self.links.get() {
            return Ok(links);
        }
        let links = links::scan(&self.package, self.root()?.links, wanted)?;
        Ok(self.links.get_or_init(|| links))
    }

    /// The part that a relationship of the package leads to. When only one part has the content type
    /// the relationship can lead nowhere else and is not read. Without either, producers that forgot
    /// them have the part under its usual name.
    fn property_part(
        &self,
        kind: Kind,
        name: &str,
        known: impl Fn(&Root) -> Option<usize>,
    ) -> Result<Option<Entry<'_>>> {
        if let Some(only) = self.package.only(kind) {
            return Ok(Some(only));
        }
        Ok(match known(self.root()?) {
            Some(index) => Some(self.package.entry(index)),
            None => self.package.find(name),
        })
    }
}

/// For `fuzz/`: reads the records of a binary workbook.
pub(crate) fn fuzz_binary_workbook(bytes: &[u8]) {
    let limits = crate::contract::Limits::of(crate::contract::Level::Metadata);
    let meter = crate::engine::meter::Meter::start(limits);
    let _any = sheets::binary::workbook(bytes, &meter);
    let _any = sheets::binary::shared_strings(bytes, &meter);
}

const CORE: &str = "docProps/core.xml";
const APP: &str = "docProps/app.xml";
const CUSTOM: &str = "docProps/custom.xml";

/// Finds the main part. When only one part has the content type of a main part, the relationship can
/// lead nowhere else and is not read.
fn find_main(package: &Package<'_>, cell: &OnceCell<Root>, profile: Profile) -> Result<usize> {
    let mains = || {
        package
            .parts()
            .filter(|(_, kind)| matches!(kind, Kind::Main(_)))
            .map(|(entry, _)| entry.index())
    };
    let mut all = mains();
    if let (Some(only), None) = (all.next(), all.next()) {
        return Ok(only);
    }
    // A damaged relationship part is no reason to give up.
    let expected = Kind::Main(main_kind(profile));
    root(package, cell)?
        .main
        .or_else(|| mains().find(|index| package.kind(package.entry(*index)) == expected))
        .ok_or_else(|| {
            ProbeError::malformed(format_args!(".{} package has no main part", profile.name()))
        })
}

/// The relationships of the package, read at first need.
fn root<'c>(package: &Package<'_>, cell: &'c OnceCell<Root>) -> Result<&'c Root> {
    if let Some(root) = cell.get() {
        return Ok(root);
    }
    let root = read_root(package)?;
    Ok(cell.get_or_init(|| root))
}

fn read_root(package: &Package<'_>) -> Result<Root> {
    let mut root = Root::default();
    let Some(entry) = package.relationships_of("") else {
        return Ok(root);
    };
    root.links.root = Some(entry.index());
    let read = package.relationships(entry, |relationship| {
        root.links.see(relationship);
        if relationship.external {
            return;
        }
        let slot = if relationship.kind.is_office("officeDocument") {
            if root.main.is_none() {
                root.strict = Some(relationship.kind.is_strict());
            }
            &mut root.main
        } else if relationship.kind.is_core_properties() {
            &mut root.core
        } else if relationship.kind.is_office("extended-properties")
            || relationship.kind.is_office("extendedProperties")
        {
            &mut root.app
        } else if relationship.kind.is_office("custom-properties")
            || relationship.kind.is_office("customProperties")
        {
            &mut root.custom
        } else if relationship.kind.is_thumbnail() {
            &mut root.thumbnail
        } else {
            return;
        };
        if slot.is_none() {
            *slot = package.target("", &relationship.target).map(Entry::index);
        }
    });
    root.links.damaged = unless_damaged(read)?.is_none();
    Ok(root)
}

/// Whether the root element is in a namespace of the strict conformance class.
fn has_strict_root(xml: &mut Xml<'_>) -> Result<bool> {
    let root = xml.root()?;
    let ns = xml.ns(&root);
    let mut strict = false;
    root.attributes(|name, uri| {
        strict |= name.starts_with("xmlns")
            && Ns::of(&uri) == ns
            && uri.starts_with("http://purl.oclc.org/ooxml/");
    })?;
    Ok(strict)
}

/// Turns a damaged part into `None`; all other errors stay.
fn unless_damaged<V>(result: Result<V>) -> Result<Option<V>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_malformed() => Ok(None),
        Err(error) => Err(error),
    }
}

fn wants_risk(out: &Findings) -> bool {
    out.wants(T::SECURITY_ACTIVE_CONTENT_RISK)
}

/// `_xmlsignatures/…/sig*.xml`, relationship parts aside.
fn is_signature_name(name: &str) -> bool {
    let name = name.trim_start_matches(['/', '\\']);
    let mut segments = name.split(['/', '\\']);
    segments
        .next()
        .is_some_and(|first| first.eq_ignore_ascii_case("_xmlsignatures"))
        && segments
            .next_back()
            .is_some_and(|last| starts_ignore_case(last, "sig") && ends_ignore_case(last, ".xml"))
        && !segments.any(|segment| segment.eq_ignore_ascii_case("_rels"))
}

fn starts_ignore_case(text: &str, start: &str) -> bool {
    text.get(..start.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(start))
}

fn ends_ignore_case(text: &str, end: &str) -> bool {
    text.len()
        .checked_sub(end.len())
        .and_then(|at| text.get(at..))
        .is_some_and(|tail| tail.eq_ignore_ascii_case(end))
}

fn main_kind(profile: Profile) -> Main {
    match profile {
        Profile::Docm => Main::Docm,
        Profile::Dotx => Main::Dotx,
        Profile::Dotm => Main::Dotm,
        Profile::Xlsx => Main::Xlsx,
        Profile::Xlsm => Main::Xlsm,
        Profile::Xltx => Main::Xltx,
        Profile::Xltm => Main::Xltm,
        Profile::Xlsb => Main::Xlsb,
        Profile::Pptx => Main::Pptx,
        Profile::Pptm => Main::Pptm,
        Profile::Ppsx => Main::Ppsx,
        Profile::Ppsm => Main::Ppsm,
        Profile::Potx => Main::Potx,
        Profile::Potm => Main::Potm,
        _ => Main::Docx,
    }
}
