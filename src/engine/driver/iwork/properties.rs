//! The property lists under `Metadata/`.

use super::package::Package;
use super::plist::{self, Plist, Scalar};
use super::root::Declared;
use crate::contract::Confidence::High;
use crate::contract::{Level, Limits};
use crate::engine::budget::Meter;
use crate::engine::catalogue::Target;
use crate::engine::error::Result;
use crate::engine::findings::Findings;
use crate::engine::value::Value;

const PROPERTIES: &str = "Metadata/Properties.plist";
const HISTORY: &str = "Metadata/BuildVersionHistory.plist";
/// Where iWork '08 and '09 keep it.
const XML_HISTORY: &str = "buildVersionHistory.plist";

/// Whether data lies outside the package or is missing: one key, and the two that later versions
/// write instead.
const MISSING_DATA: &str = "hasExternalReferenceOrMissingOrUnmaterializedRemoteData";
const MISSING_DATA_PARTS: [&str; 2] = [
    "hasExternalReferenceOrMissingData",
    "hasUnmaterializedRemoteData",
];

/// Properties that only documents before 2013 record.
const NOT_RECORDED: [Target; 6] = [
    Target::DOCUMENT_AUTHOR,
    Target::DOCUMENT_CREATED_AT,
    Target::DOCUMENT_DESCRIPTION,
    Target::DOCUMENT_KEYWORDS,
    Target::DOCUMENT_MODIFIED_AT,
    Target::DOCUMENT_TITLE,
];

/// Longest text that can be a version, a language or a build, in bytes.
const MAX_TEXT: usize = 4096;

/// What the property lists say.
pub(super) struct Properties {
    document: Part<Document>,
    /// The build that saved the document last.
    build: Part<Option<String>>,
    /// The list that the build is from.
    history: &'static str,
    /// Whether the package has the folder that the lists are in.
    has_folder: bool,
}

/// One property list.
enum Part<T> {
    Absent,
    Damaged,
    Read(T),
}

#[derive(Default)]
struct Document {
    file_format_version: Option<String>,
    language: Option<String>,
    locale: Option<String>,
    is_multi_page: Option<bool>,
    has_missing_data: Option<bool>,
}

impl Properties {
    /// Reads the property lists of a package.
    ///
    /// # Errors
    /// Budget errors. A list that is damaged or not there is noted.
    pub(super) fn read(package: &Package<'_>) -> Result<Self> {
        let history = match package.find(XML_HISTORY) {
            Some(_) => XML_HISTORY,
            None => HISTORY,
        };
        Ok(Self {
            document: Part::read(package, PROPERTIES, Document::of)?,
            build: Part::read(package, history, last_build)?,
            history,
            has_folder: package
                .entries()
                .any(|(name, _)| name.starts_with("Metadata/")),
        })
    }

    /// Whether one of them cannot be read, or the one that every `Metadata` folder has is missing. A
    /// package without that folder is complete: web applications export documents so.
    pub(super) fn are_damaged(&self) -> bool {
        let is_lost = match self.document {
            Part::Read(_) => false,
            Part::Damaged => true,
            Part::Absent => self.has_folder,
        };
        is_lost || matches!(self.build, Part::Damaged)
    }

    /// Puts their values, and what the root object declares. What a list does not contain is null; what a
    /// list that cannot be read might have contained is unknown.
    pub(super) fn put(&self, declared: Option<&Declared>, out: &mut Findings) {
        self.put_declared(declared, out);
        for target in NOT_RECORDED {
            out.put(target, Value::Null, High, "document kind");
        }
        let text = |get: fn(&Document) -> &Option<String>| {
            self.document
                .get(|document| Value::from(get(document).clone()))
        };
        let flag = |get: fn(&Document) -> Option<bool>| {
            self.document.get(|document| Value::from(get(document)))
        };
        let all = [
            (
                Target::IWORK_FILE_FORMAT_VERSION,
                text(|d| &d.file_format_version),
            ),
            (Target::IWORK_IS_MULTI_PAGE, flag(|d| d.is_multi_page)),
            (
                Target::IWORK_HAS_EXTERNAL_OR_MISSING_DATA,
                flag(|d| d.has_missing_data),
            ),
        ];
        for (target, value) in all {
            out.put_or_unknown(target, value, High, PROPERTIES);
        }
        self.put_build(out);
    }

    /// Puts the build that saved the document last.
    pub(super) fn put_build(&self, out: &mut Findings) {
        for target in [
            Target::DOCUMENT_APPLICATION_VERSION,
            Target::IWORK_PRODUCER_BUILD,
        ] {
            let build = self.build.get(|build| Value::from(build.clone()));
            out.put_or_unknown(target, build, High, self.history);
        }
    }

    /// The root object decides; some older documents have language and locale in the property list.
    fn put_declared(&self, declared: Option<&Declared>, out: &mut Findings) {
        type InRoot = fn(&Declared) -> &Option<String>;
        type InList = fn(&Document) -> &Option<String>;
        let all: [(Target, InRoot, InList); 3] = [
            (Target::DOCUMENT_LANGUAGE, |d| &d.language, |d| &d.language),
            (Target::DOCUMENT_LOCALE, |d| &d.locale, |d| &d.locale),
            (Target::DOCUMENT_TEMPLATE, |d| &d.template, |_| &None),
        ];
        for (target, in_root, in_list) in all {
            let of_root = declared.and_then(|declared| in_root(declared).clone());
            let of_list = self.document.get(|document| in_list(document).clone());
            if let Some(value) = of_root {
                out.put(target, value, High, "root object");
            } else if let Some(Some(value)) = of_list {
                out.put(target, value, High, PROPERTIES);
            } else if declared.is_some() && !self.are_damaged() {
                out.put(target, Value::Null, High, "root object");
            } else {
                let value = of_list.map(Value::from);
                out.put_or_unknown(target, value, High, PROPERTIES);
            }
        }
    }
}

impl<T> Part<T> {
    fn read(package: &Package<'_>, name: &str, of: fn(&Plist<'_>) -> T) -> Result<Self> {
        let Some(entry) = package.find(name) else {
            return Ok(Self::Absent);
        };
        match package.read(entry) {
            Ok(bytes) => Ok(plist::read(&bytes, package.meter())
                .map_or(Self::Damaged, |plist| Self::Read(of(&plist)))),
            Err(error) if error.is_malformed() => Ok(Self::Damaged),
            Err(error) => Err(error),
        }
    }

    fn get<V>(&self, value: impl FnOnce(&T) -> V) -> Option<V> {
        match self {
            Self::Read(content) => Some(value(content)),
            Self::Absent | Self::Damaged => None,
        }
    }
}

impl Document {
    fn of(plist: &Plist<'_>) -> Self {
        let text = |key| plist.get(key).and_then(short_text);
        let flag = |key| plist.get(key).and_then(Scalar::bool);
        let parts = MISSING_DATA_PARTS.map(flag);
        let any_part = parts
            .iter()
            .flatten()
            .copied()
            .reduce(|one, other| one || other);
        Self {
            file_format_version: text("fileFormatVersion"),
            language: text("language"),
            locale: text("locale"),
            is_multi_page: flag("isMultiPage"),
            has_missing_data: flag(MISSING_DATA).or(any_part),
        }
    }
}

/// The last item of the history that names a build, not the template it began with.
fn last_build(plist: &Plist<'_>) -> Option<String> {
    plist
        .items()
        .iter()
        .rev()
        .filter(|item| !item.begins_with("Template:"))
        .find_map(short_text)
}

fn short_text(scalar: &Scalar<'_>) -> Option<String> {
    scalar
        .text()
        .filter(|text| text.len() <= MAX_TEXT)
        .map(std::borrow::Cow::into_owned)
}

/// Reads all that may be in a property list, for the fuzz targets.
pub(super) fn fuzz(bytes: &[u8]) {
    let meter = Meter::start(Limits::of(Level::Deep));
    if let Ok(plist) = plist::read(bytes, &meter) {
        Document::of(&plist);
        last_build(&plist);
    }
}
