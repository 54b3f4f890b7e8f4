//! The property lists under `Metadata/`.

use super::package::Package;
use super::plist::{self, Plist, Scalar};
use crate::contract::Confidence::High;
use crate::contract::{Level, Limits};
use crate::engine::budget::Meter;
use crate::engine::catalogue::Target;
use crate::engine::error::Result;
use crate::engine::findings::Findings;
use crate::engine::value::Value;

const PROPERTIES: &str = "Metadata/Properties.plist";
const HISTORY: &str = "Metadata/BuildVersionHistory.plist";

/// Whether data lies outside the package or is missing: one key, and the two that later versions
/// write instead.
const MISSING_DATA: &str = "hasExternalReferenceOrMissingOrUnmaterializedRemoteData";
const MISSING_DATA_PARTS: [&str; 2] = [
    "hasExternalReferenceOrMissingData",
    "hasUnmaterializedRemoteData",
];

/// Longest text that can be a version, a language or a build, in bytes.
const MAX_TEXT: usize = 4096;

/// What the property lists say.
pub(super) struct Properties {
    document: Part<Document>,
    /// The build that saved the document last.
    build: Part<Option<String>>,
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
        Ok(Self {
            document: Part::read(package, PROPERTIES, Document::of)?,
            build: Part::read(package, HISTORY, last_build)?,
        })
    }

    /// Whether one of them cannot be read, or the one that every document has is missing.
    pub(super) fn are_damaged(&self) -> bool {
        !matches!(self.document, Part::Read(_)) || matches!(self.build, Part::Damaged)
    }

    /// Puts what they say. What a list does not say is null; what a list that cannot be read might
    /// have said is unknown.
    pub(super) fn put(&self, out: &mut Findings) {
        let text = |get: fn(&Document) -> &Option<String>| {
            self.document
                .get(|document| Value::from(get(document).clone()))
        };
        let flag = |get: fn(&Document) -> Option<bool>| {
            self.document.get(|document| Value::from(get(document)))
        };
        let build = self.build.get(|build| Value::from(build.clone()));
        let all = [
            (
                Target::IWORK_FILE_FORMAT_VERSION,
                text(|d| &d.file_format_version),
            ),
            (Target::DOCUMENT_LANGUAGE, text(|d| &d.language)),
            (Target::DOCUMENT_LOCALE, text(|d| &d.locale)),
            (Target::IWORK_IS_MULTI_PAGE, flag(|d| d.is_multi_page)),
            (
                Target::IWORK_HAS_EXTERNAL_OR_MISSING_DATA,
                flag(|d| d.has_missing_data),
            ),
        ];
        for (target, value) in all {
            out.put_or_unknown(target, value, High, PROPERTIES);
        }
        out.put_or_unknown(
            Target::DOCUMENT_APPLICATION_VERSION,
            build.clone(),
            High,
            HISTORY,
        );
        out.put_or_unknown(Target::IWORK_PRODUCER_BUILD, build, High, HISTORY);
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
