//! What Word, Excel and PowerPoint packages have in common: verification, identity, properties,
//! inventory and security (contract §9.1).

mod choice;
mod embedded;
mod excel;
mod identify;
mod links;
mod powerpoint;
mod properties;
mod root;
mod security;
mod sheets;
mod slides;
mod word;

pub(crate) use self::identify::identify;
use std::cell::OnceCell;
use std::collections::BTreeMap;

pub(crate) use self::excel::Excel;
use self::links::Links;
pub(crate) use self::powerpoint::Powerpoint;
use self::properties::{AppProperties, CoreProperties, Custom};
use self::root::{Root, find_main, main_kind, root};
use self::security::InContent;
pub(crate) use self::word::Word;
use super::{Probe, identity};
use crate::contract::Confidence::{Exact, High};
use crate::engine::catalogue::{DriverId, PathId, Profile, Target as T};
use crate::engine::container::opc::{Kind, Package};
use crate::engine::container::xml::{Ns, Xml};
use crate::engine::container::zip::Entry;
use crate::engine::error::{ProbeError, Result};
use crate::engine::findings::Findings;
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
    /// What the text refers to, where it was read.
    content: OnceCell<InContent>,
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
            content: OnceCell::new(),
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
            (T::DOCUMENT_LAST_MODIFIED_BY, core.last_modified_by),
            (T::DOCUMENT_REVISION, core.revision),
            (T::DOCUMENT_LANGUAGE, core.language),
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
            (T::DOCUMENT_TEMPLATE, &app.template),
            (T::DOCUMENT_COMPANY, &app.company),
            (T::DOCUMENT_MANAGER, &app.manager),
        ] {
            if out.wants(target) {
                out.put_or_unknown(target, value.clone(), High, "extended properties part");
            }
        }
        let minutes = app.total_minutes;
        out.put_or_unknown(
            T::DOCUMENT_TOTAL_EDIT_TIME,
            minutes,
            High,
            "extended properties part",
        );
        if out.wants_any(&CUSTOM_TARGETS) {
            self.put_custom_properties(out)?;
        }
        Ok(())
    }

    fn put_custom_properties(&self, out: &mut Findings) -> Result<()> {
        let source = "custom properties part";
        let part = self.property_part(Kind::CustomProperties, CUSTOM, |root| root.custom)?;
        let list = match part {
            None => Some(Vec::new()),
            Some(part) => match unless_damaged(self.package.read_text(part))? {
                Some(text) => unless_damaged(properties::custom(&text, self.package.meter()))?,
                None => None,
            },
        };
        let Some(list) = list else {
            CUSTOM_TARGETS
                .into_iter()
                .for_each(|target| out.unknown(target));
            return Ok(());
        };
        // Of equal names the last counts.
        let by_name: BTreeMap<&str, &Custom> = list
            .iter()
            .map(|property| (property.name.as_str(), property))
            .collect();
        let as_written = by_name
            .iter()
            .map(|(name, property)| ((*name).to_owned(), Value::from(property.value.clone())));
        out.put(
            T::OFFICE_CUSTOM_PROPERTIES,
            Value::object(as_written),
            High,
            source,
        );
        let typed = list.iter().map(|property| {
            Value::object([
                ("name", Value::from(property.name.clone())),
                ("type", Value::from(property.kind.clone())),
                ("value", property.typed()),
            ])
        });
        out.put(
            T::DOCUMENT_CUSTOM_PROPERTIES,
            Value::List(typed.collect()),
            High,
            source,
        );
        let labels = properties::sensitivity_labels(&list);
        out.put(T::DOCUMENT_SENSITIVITY_LABELS, labels, High, source);
        let is_final = by_name
            .get("_MarkAsFinal")
            .is_some_and(|property| property.typed() == Value::Bool(true));
        out.put(T::DOCUMENT_MARKED_FINAL, is_final, High, source);
        Ok(())
    }

    fn inventory(&self, out: &mut Findings) -> Result<()> {
        self.put_macros(out)?;
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
    let meter = crate::engine::budget::Meter::start(limits);
    let _any = sheets::binary::workbook(bytes, &meter);
    let _any = sheets::binary::shared_strings(bytes, &meter);
}

const CUSTOM_TARGETS: [T; 4] = [
    T::OFFICE_CUSTOM_PROPERTIES,
    T::DOCUMENT_CUSTOM_PROPERTIES,
    T::DOCUMENT_SENSITIVITY_LABELS,
    T::DOCUMENT_MARKED_FINAL,
];

const CORE: &str = "docProps/core.xml";
const APP: &str = "docProps/app.xml";
const CUSTOM: &str = "docProps/custom.xml";

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
