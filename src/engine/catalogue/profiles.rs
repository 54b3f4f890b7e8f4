//! The format profiles and the families that share a catalogue.

use super::{PathId, Target};

use Target as T;

/// The driver that answers for a profile (`driver.id`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DriverId {
    Pdf,
    Word,
    Excel,
    Powerpoint,
    Keynote,
    Numbers,
    Pages,
    OfficeLegacy,
}

impl DriverId {
    pub(crate) const ALL: [Self; 8] = [
        Self::Pdf,
        Self::Word,
        Self::Excel,
        Self::Powerpoint,
        Self::Keynote,
        Self::Numbers,
        Self::Pages,
        Self::OfficeLegacy,
    ];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Pdf => "pdf",
            Self::Word => "word",
            Self::Excel => "excel",
            Self::Powerpoint => "powerpoint",
            Self::Keynote => "keynote",
            Self::Numbers => "numbers",
            Self::Pages => "pages",
            Self::OfficeLegacy => "office-legacy",
        }
    }
}

/// A format profile (`driver.profile`), as an index into [`SPECS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Profile {
    Pdf,
    Docx,
    Docm,
    Dotx,
    Dotm,
    Xlsx,
    Xlsm,
    Xltx,
    Xltm,
    Xlsb,
    Pptx,
    Pptm,
    Ppsx,
    Ppsm,
    Potx,
    Potm,
    Key,
    Numbers,
    Pages,
    Doc,
    Xls,
    Ppt,
    EncryptedOoxml,
}

/// One row of the profile table.
#[derive(Debug)]
pub(crate) struct ProfileSpec {
    pub(crate) profile: Profile,
    pub(crate) name: &'static str,
    pub(crate) mime: &'static str,
    /// `document.format`.
    pub(crate) format: &'static str,
    pub(crate) family: &'static Family,
}

/// Profiles that share a driver, a catalogue and paths.
#[derive(Debug)]
pub(crate) struct Family {
    pub(crate) driver: DriverId,
    /// Targets beyond [`COMMON`], in catalogue order.
    pub(crate) own_targets: &'static [T],
    /// Targets of [`Family::own_targets`] or [`COMMON`] that the original engine's catalogue lacks
    /// here. They are listed after the contract's.
    pub(crate) our_targets: &'static [T],
    /// `@header`, beyond [`IDENTITY`].
    pub(crate) header: &'static [T],
    /// `@default` from metadata on, beyond `@header`.
    pub(crate) metadata_default: &'static [T],
    /// `@default` at deep, beyond that of metadata.
    pub(crate) deep_default: &'static [T],
    /// `@summary` from metadata on, beyond [`SUMMARY`].
    pub(crate) summary: &'static [T],
    pub(crate) paths: &'static [PathId],
}

impl Profile {
    pub(crate) const COUNT: usize = SPECS.len();

    pub(crate) fn all() -> impl Iterator<Item = Self> {
        SPECS.iter().map(|spec| spec.profile)
    }

    pub(crate) const fn spec(self) -> &'static ProfileSpec {
        &SPECS[self as usize]
    }

    pub(crate) const fn name(self) -> &'static str {
        self.spec().name
    }

    pub(crate) const fn family(self) -> &'static Family {
        self.spec().family
    }

    pub(crate) const fn driver(self) -> DriverId {
        self.family().driver
    }

    /// Whether this is one of the three iWork formats.
    pub(crate) const fn is_iwork(self) -> bool {
        matches!(self, Self::Key | Self::Numbers | Self::Pages)
    }

    /// All targets of the profile's catalogue, in catalogue order.
    pub(crate) fn targets(self) -> impl Iterator<Item = Target> {
        let family = self.family();
        COMMON
            .iter()
            .chain(family.own_targets)
            .chain(family.our_targets)
            .copied()
    }
}

const fn row(
    profile: Profile,
    name: &'static str,
    format: &'static str,
    mime: &'static str,
    family: &'static Family,
) -> ProfileSpec {
    ProfileSpec {
        profile,
        name,
        mime,
        format,
        family,
    }
}

macro_rules! mime {
    (ooxml $kind:literal) => {
        concat!("application/vnd.openxmlformats-officedocument.", $kind)
    };
    (ms $kind:literal) => {
        concat!("application/vnd.ms-", $kind, ".macroenabled.12")
    };
}

const OOXML: &str = "office-open-xml";
const IWORK: &str = "apple-iwork";
const LEGACY: &str = "office-legacy";

/// The profile table, in the order of [`Profile`] (contract §8).
pub(crate) static SPECS: &[ProfileSpec] = &[
    row(Profile::Pdf, "pdf", "pdf", "application/pdf", &PDF_FAMILY),
    row(
        Profile::Docx,
        "docx",
        OOXML,
        mime!(ooxml "wordprocessingml.document"),
        &WORD_FAMILY,
    ),
    row(
        Profile::Docm,
        "docm",
        OOXML,
        mime!(ms "word.document"),
        &WORD_FAMILY,
    ),
    row(
        Profile::Dotx,
        "dotx",
        OOXML,
        mime!(ooxml "wordprocessingml.template"),
        &WORD_FAMILY,
    ),
    row(
        Profile::Dotm,
        "dotm",
        OOXML,
        mime!(ms "word.template"),
        &WORD_FAMILY,
    ),
    row(
        Profile::Xlsx,
        "xlsx",
        OOXML,
        mime!(ooxml "spreadsheetml.sheet"),
        &EXCEL_FAMILY,
    ),
    row(
        Profile::Xlsm,
        "xlsm",
        OOXML,
        mime!(ms "excel.sheet"),
        &EXCEL_FAMILY,
    ),
    row(
        Profile::Xltx,
        "xltx",
        OOXML,
        mime!(ooxml "spreadsheetml.template"),
        &EXCEL_FAMILY,
    ),
    row(
        Profile::Xltm,
        "xltm",
        OOXML,
        mime!(ms "excel.template"),
        &EXCEL_FAMILY,
    ),
    row(
        Profile::Xlsb,
        "xlsb",
        OOXML,
        mime!(ms "excel.sheet.binary"),
        &EXCEL_FAMILY,
    ),
    row(
        Profile::Pptx,
        "pptx",
        OOXML,
        mime!(ooxml "presentationml.presentation"),
        &POWERPOINT_FAMILY,
    ),
    row(
        Profile::Pptm,
        "pptm",
        OOXML,
        mime!(ms "powerpoint.presentation"),
        &POWERPOINT_FAMILY,
    ),
    row(
        Profile::Ppsx,
        "ppsx",
        OOXML,
        mime!(ooxml "presentationml.slideshow"),
        &POWERPOINT_FAMILY,
    ),
    row(
        Profile::Ppsm,
        "ppsm",
        OOXML,
        mime!(ms "powerpoint.slideshow"),
        &POWERPOINT_FAMILY,
    ),
    row(
        Profile::Potx,
        "potx",
        OOXML,
        mime!(ooxml "presentationml.template"),
        &POWERPOINT_FAMILY,
    ),
    row(
        Profile::Potm,
        "potm",
        OOXML,
        mime!(ms "powerpoint.template"),
        &POWERPOINT_FAMILY,
    ),
    row(
        Profile::Key,
        "key",
        IWORK,
        "application/x-iwork-keynote-sffkey",
        &KEYNOTE_FAMILY,
    ),
    row(
        Profile::Numbers,
        "numbers",
        IWORK,
        "application/x-iwork-numbers-sffnumbers",
        &NUMBERS_FAMILY,
    ),
    row(
        Profile::Pages,
        "pages",
        IWORK,
        "application/x-iwork-pages-sffpages",
        &PAGES_FAMILY,
    ),
    row(
        Profile::Doc,
        "doc",
        LEGACY,
        "application/msword",
        &DOC_FAMILY,
    ),
    row(
        Profile::Xls,
        "xls",
        LEGACY,
        "application/vnd.ms-excel",
        &XLS_FAMILY,
    ),
    row(
        Profile::Ppt,
        "ppt",
        LEGACY,
        "application/vnd.ms-powerpoint",
        &PPT_FAMILY,
    ),
    row(
        Profile::EncryptedOoxml,
        "encrypted-ooxml",
        OOXML,
        "application/x-ole-storage",
        &ENCRYPTED_OOXML_FAMILY,
    ),
];

/// The identity targets, in `@header` of every profile.
pub(crate) const IDENTITY: &[T] = &[
    T::DOCUMENT_FORMAT,
    T::DOCUMENT_FORMAT_PROFILE,
    T::DOCUMENT_MIME_TYPE,
    T::DOCUMENT_FILE_SIZE,
    T::DOCUMENT_EXTENSION,
    T::DOCUMENT_EXTENSION_MATCHES,
];

/// `@summary` of every profile from metadata on, where applicable.
pub(crate) const SUMMARY: &[T] = &[
    T::DOCUMENT_TITLE,
    T::DOCUMENT_AUTHOR,
    T::DOCUMENT_APPLICATION,
    T::DOCUMENT_APPLICATION_VERSION,
];

/// Targets of every profile.
pub(crate) const COMMON: &[T] = &[
    T::DOCUMENT_FORMAT,
    T::DOCUMENT_FORMAT_PROFILE,
    T::DOCUMENT_MIME_TYPE,
    T::DOCUMENT_FILE_SIZE,
    T::DOCUMENT_EXTENSION,
    T::DOCUMENT_EXTENSION_MATCHES,
    T::DOCUMENT_TITLE,
    T::DOCUMENT_SUBJECT,
    T::DOCUMENT_AUTHOR,
    T::DOCUMENT_KEYWORDS,
    T::DOCUMENT_DESCRIPTION,
    T::DOCUMENT_CREATED_AT,
    T::DOCUMENT_MODIFIED_AT,
    T::DOCUMENT_APPLICATION,
    T::DOCUMENT_APPLICATION_VERSION,
    T::DOCUMENT_LANGUAGE,
    T::DOCUMENT_LOCALE,
    T::SECURITY_ENCRYPTED,
    T::SECURITY_HAS_MACROS,
    T::SECURITY_PASSWORD_PROTECTED,
    T::SECURITY_HAS_DIGITAL_SIGNATURE,
    T::SECURITY_SIGNATURE_COUNT,
    T::SECURITY_HAS_JAVASCRIPT,
    T::SECURITY_HAS_EXTERNAL_RELATIONSHIPS,
    T::SECURITY_HAS_EMBEDDED_FILES,
    T::SECURITY_ACTIVE_CONTENT_RISK,
    T::QUALITY_CORRUPTED,
    T::QUALITY_MISSING_ASSETS,
];

/// Targets of the word family.
const WORD: &[T] = &[
    T::OFFICE_DOCUMENT_KIND,
    T::OFFICE_PACKAGE_ENTRY_COUNT,
    T::OFFICE_CONFORMANCE,
    T::WORD_PAGE_COUNT,
    T::WORD_WORD_COUNT,
    T::WORD_CHARACTER_COUNT,
    T::WORD_PARAGRAPH_COUNT,
    T::WORD_TABLE_COUNT,
    T::WORD_IS_TEMPLATE,
    T::WORD_UNIQUE_IMAGE_ASSET_COUNT,
    T::WORD_COMMENT_PART_COUNT,
];

/// Targets of the excel family.
const EXCEL: &[T] = &[
    T::OFFICE_DOCUMENT_KIND,
    T::OFFICE_PACKAGE_ENTRY_COUNT,
    T::OFFICE_CONFORMANCE,
    T::EXCEL_SHEET_COUNT,
    T::EXCEL_SHEET_NAMES,
    T::EXCEL_HIDDEN_SHEET_COUNT,
    T::EXCEL_DEFINED_NAME_COUNT,
    T::EXCEL_SHARED_STRING_COUNT,
    T::EXCEL_TABLE_COUNT,
    T::EXCEL_IS_TEMPLATE,
    T::EXCEL_BINARY_WORKBOOK,
    T::EXCEL_CHART_PART_COUNT,
    T::EXCEL_PIVOT_TABLE_PART_COUNT,
    T::EXCEL_UNIQUE_IMAGE_ASSET_COUNT,
];

/// Targets of the powerpoint family.
const POWERPOINT: &[T] = &[
    T::OFFICE_DOCUMENT_KIND,
    T::OFFICE_PACKAGE_ENTRY_COUNT,
    T::OFFICE_CONFORMANCE,
    T::POWERPOINT_SLIDE_COUNT,
    T::POWERPOINT_HIDDEN_SLIDE_COUNT,
    T::POWERPOINT_MASTER_COUNT,
    T::POWERPOINT_LAYOUT_COUNT,
    T::POWERPOINT_NOTES_SLIDE_COUNT,
    T::POWERPOINT_SLIDE_SIZE,
    T::POWERPOINT_ASPECT_RATIO,
    T::POWERPOINT_ORIENTATION,
    T::POWERPOINT_PRESENTATION_KIND,
    T::POWERPOINT_CHART_PART_COUNT,
    T::POWERPOINT_UNIQUE_IMAGE_ASSET_COUNT,
    T::POWERPOINT_UNIQUE_MEDIA_ASSET_COUNT,
    T::POWERPOINT_COMMENT_PART_COUNT,
];

/// Targets of PDF.
const PDF: &[T] = &[
    T::PDF_VERSION,
    T::PDF_LINEARIZED,
    T::PDF_PAGE_COUNT,
    T::PDF_OBJECT_COUNT,
    T::PDF_XREF_TYPE,
    T::PDF_REPAIRED,
    T::PDF_ANNOTATION_COUNT,
    T::PDF_FORM_FIELD_COUNT,
    T::PDF_ATTACHMENT_COUNT,
    T::PDF_HAS_XMP,
];

/// Targets of key.
const KEYNOTE: &[T] = &[
    T::IWORK_DOCUMENT_KIND,
    T::IWORK_FILE_FORMAT_VERSION,
    T::IWORK_PRODUCER_BUILD,
    T::IWORK_PACKAGE_ENTRY_COUNT,
    T::IWORK_IWA_ENTRY_COUNT,
    T::IWORK_DATA_ASSET_COUNT,
    T::IWORK_DATA_ASSET_BYTES,
    T::IWORK_ASSET_TYPE_COUNTS,
    T::IWORK_HAS_PREVIEW,
    T::IWORK_PREVIEW_COUNT,
    T::IWORK_PREVIEW_DIMENSIONS,
    T::IWORK_IS_MULTI_PAGE,
    T::IWORK_HAS_EXTERNAL_OR_MISSING_DATA,
    T::IWORK_ALL_IWA_VALID,
    T::IWORK_ARCHIVE_OBJECT_COUNT,
    T::IWORK_MESSAGE_TYPE_COUNTS,
    T::IWORK_OBJECT_TYPE_COUNTS,
    T::KEYNOTE_SLIDE_COUNT,
    T::KEYNOTE_MASTER_SLIDE_COUNT,
    T::KEYNOTE_TABLE_COMPONENT_COUNT,
    T::KEYNOTE_SLIDE_SIZE,
    T::KEYNOTE_ASPECT_RATIO,
    T::KEYNOTE_ORIENTATION,
    T::KEYNOTE_HIDDEN_SLIDE_COUNT,
    T::KEYNOTE_SLIDES_WITH_NOTES_COUNT,
    T::KEYNOTE_SLIDES_WITH_BUILDS_COUNT,
    T::KEYNOTE_SLIDES_WITH_TRANSITIONS_COUNT,
    T::KEYNOTE_TABLE_COUNT,
];

/// Targets of numbers.
const NUMBERS: &[T] = &[
    T::IWORK_DOCUMENT_KIND,
    T::IWORK_FILE_FORMAT_VERSION,
    T::IWORK_PRODUCER_BUILD,
    T::IWORK_PACKAGE_ENTRY_COUNT,
    T::IWORK_IWA_ENTRY_COUNT,
    T::IWORK_DATA_ASSET_COUNT,
    T::IWORK_DATA_ASSET_BYTES,
    T::IWORK_ASSET_TYPE_COUNTS,
    T::IWORK_HAS_PREVIEW,
    T::IWORK_PREVIEW_COUNT,
    T::IWORK_PREVIEW_DIMENSIONS,
    T::IWORK_IS_MULTI_PAGE,
    T::IWORK_HAS_EXTERNAL_OR_MISSING_DATA,
    T::IWORK_ALL_IWA_VALID,
    T::IWORK_ARCHIVE_OBJECT_COUNT,
    T::IWORK_MESSAGE_TYPE_COUNTS,
    T::IWORK_OBJECT_TYPE_COUNTS,
    T::NUMBERS_SHEET_COUNT,
    T::NUMBERS_SHEET_NAMES,
    T::NUMBERS_TABLE_COMPONENT_COUNT,
    T::NUMBERS_TABLE_COUNT,
    T::NUMBERS_TABLE_DIMENSIONS,
    T::NUMBERS_HIDDEN_ROW_COUNT,
    T::NUMBERS_HIDDEN_COLUMN_COUNT,
    T::NUMBERS_FILTERED_ROW_COUNT,
    T::NUMBERS_FORMULA_DEFINITION_COUNT,
];

/// Targets of pages.
const PAGES: &[T] = &[
    T::IWORK_DOCUMENT_KIND,
    T::IWORK_FILE_FORMAT_VERSION,
    T::IWORK_PRODUCER_BUILD,
    T::IWORK_PACKAGE_ENTRY_COUNT,
    T::IWORK_IWA_ENTRY_COUNT,
    T::IWORK_DATA_ASSET_COUNT,
    T::IWORK_DATA_ASSET_BYTES,
    T::IWORK_ASSET_TYPE_COUNTS,
    T::IWORK_HAS_PREVIEW,
    T::IWORK_PREVIEW_COUNT,
    T::IWORK_PREVIEW_DIMENSIONS,
    T::IWORK_IS_MULTI_PAGE,
    T::IWORK_HAS_EXTERNAL_OR_MISSING_DATA,
    T::IWORK_ALL_IWA_VALID,
    T::IWORK_ARCHIVE_OBJECT_COUNT,
    T::IWORK_MESSAGE_TYPE_COUNTS,
    T::IWORK_OBJECT_TYPE_COUNTS,
    T::PAGES_TABLE_COMPONENT_COUNT,
    T::PAGES_SECTION_COUNT,
    T::PAGES_SECTION_NAMES,
    T::PAGES_PAGE_SIZE,
    T::PAGES_ASPECT_RATIO,
    T::PAGES_ORIENTATION,
    T::PAGES_CHANGE_TRACKING_ENABLED,
    T::PAGES_BODY_TEXT_LENGTH,
    T::PAGES_BODY_PARAGRAPH_BREAK_COUNT,
    T::PAGES_CACHED_PAGE_COUNT,
    T::PAGES_TABLE_COUNT,
];

/// Targets of doc.
const DOC: &[T] = &[
    T::OFFICE_DOCUMENT_KIND,
    T::OFFICE_LEGACY_KIND,
    T::OFFICE_CFB_CONTAINER,
    T::OFFICE_CFB_ENTRY_COUNT,
    T::OFFICE_CONTENT_PROBE_SUPPORTED,
    T::WORD_PAGE_COUNT,
    T::WORD_WORD_COUNT,
    T::WORD_CHARACTER_COUNT,
    T::WORD_PARAGRAPH_COUNT,
    T::WORD_IS_TEMPLATE,
];

/// Targets of xls.
const XLS: &[T] = &[
    T::OFFICE_DOCUMENT_KIND,
    T::OFFICE_LEGACY_KIND,
    T::OFFICE_CFB_CONTAINER,
    T::OFFICE_CFB_ENTRY_COUNT,
    T::OFFICE_CONTENT_PROBE_SUPPORTED,
    T::EXCEL_SHEET_COUNT,
    T::EXCEL_SHEET_NAMES,
    T::EXCEL_IS_TEMPLATE,
    T::EXCEL_BINARY_WORKBOOK,
];

/// Targets of ppt.
const PPT: &[T] = &[
    T::OFFICE_DOCUMENT_KIND,
    T::OFFICE_LEGACY_KIND,
    T::OFFICE_CFB_CONTAINER,
    T::OFFICE_CFB_ENTRY_COUNT,
    T::OFFICE_CONTENT_PROBE_SUPPORTED,
    T::POWERPOINT_SLIDE_COUNT,
    T::POWERPOINT_NOTES_SLIDE_COUNT,
    T::POWERPOINT_PRESENTATION_KIND,
];

/// Targets of encrypted-ooxml.
const ENCRYPTED_OOXML: &[T] = &[
    T::OFFICE_DOCUMENT_KIND,
    T::OFFICE_LEGACY_KIND,
    T::OFFICE_CFB_CONTAINER,
    T::OFFICE_CFB_ENTRY_COUNT,
    T::OFFICE_CONTENT_PROBE_SUPPORTED,
];

/// What compound files tell beyond the contract about how they are protected.
const PROTECTION: [T; 4] = [
    T::SECURITY_PASSWORD_TO_MODIFY,
    T::SECURITY_ENCRYPTION_ALGORITHM,
    T::SECURITY_ENCRYPTION_KEY_BITS,
    T::SECURITY_ENCRYPTION_SCHEME,
];

static PDF_FAMILY: Family = Family {
    driver: DriverId::Pdf,
    own_targets: PDF,
    our_targets: &[
        T::PDF_CONFORMANCE,
        T::PDF_HAS_OUTLINE,
        T::PDF_IS_TAGGED,
        T::PDF_LINK_COUNT,
        T::PDF_PAGE_SIZES,
    ],
    header: &[T::PDF_VERSION, T::PDF_LINEARIZED],
    metadata_default: &[
        T::DOCUMENT_TITLE,
        T::DOCUMENT_AUTHOR,
        T::DOCUMENT_APPLICATION,
        T::SECURITY_ENCRYPTED,
        T::PDF_PAGE_COUNT,
        T::PDF_OBJECT_COUNT,
        T::PDF_XREF_TYPE,
        T::PDF_REPAIRED,
    ],
    deep_default: &[],
    summary: &[],
    paths: &[
        PathId::PdfHeader,
        PathId::PdfDocumentStructure,
        PathId::PdfInfoDictionary,
        PathId::PdfDocumentFeatures,
        PathId::PdfDeepDocumentFeatures,
        PathId::PdfActiveContentAssessment,
    ],
};

static WORD_FAMILY: Family = Family {
    driver: DriverId::Word,
    own_targets: WORD,
    our_targets: &[T::OFFICE_CUSTOM_PROPERTIES],
    header: &[T::SECURITY_ENCRYPTED, T::OFFICE_DOCUMENT_KIND],
    metadata_default: &[
        T::DOCUMENT_TITLE,
        T::DOCUMENT_AUTHOR,
        T::DOCUMENT_APPLICATION,
        T::SECURITY_HAS_MACROS,
        T::OFFICE_PACKAGE_ENTRY_COUNT,
        T::WORD_PAGE_COUNT,
        T::WORD_WORD_COUNT,
        T::WORD_IS_TEMPLATE,
    ],
    deep_default: &[T::WORD_PARAGRAPH_COUNT, T::WORD_TABLE_COUNT],
    summary: &[T::WORD_PAGE_COUNT, T::WORD_WORD_COUNT, T::WORD_IS_TEMPLATE],
    paths: &[
        PathId::OoxmlIdentity,
        PathId::OoxmlCoreProperties,
        PathId::OoxmlAppProperties,
        PathId::OoxmlPackageInventory,
        PathId::OoxmlReadabilitySecurity,
        PathId::OoxmlPackageSecurity,
        PathId::OoxmlDeepSecurity,
        PathId::WordProfile,
        PathId::WordAssetInventory,
        PathId::WordAppStatistics,
        PathId::WordDocumentStructure,
    ],
};

static EXCEL_FAMILY: Family = Family {
    driver: DriverId::Excel,
    own_targets: EXCEL,
    our_targets: &[T::OFFICE_CUSTOM_PROPERTIES],
    header: &[T::SECURITY_ENCRYPTED, T::OFFICE_DOCUMENT_KIND],
    metadata_default: &[
        T::DOCUMENT_TITLE,
        T::DOCUMENT_AUTHOR,
        T::DOCUMENT_APPLICATION,
        T::SECURITY_HAS_MACROS,
        T::OFFICE_PACKAGE_ENTRY_COUNT,
        T::EXCEL_IS_TEMPLATE,
        T::EXCEL_BINARY_WORKBOOK,
        T::EXCEL_TABLE_COUNT,
        T::EXCEL_SHEET_COUNT,
        T::EXCEL_SHEET_NAMES,
        T::EXCEL_HIDDEN_SHEET_COUNT,
    ],
    deep_default: &[T::EXCEL_SHARED_STRING_COUNT],
    summary: &[
        T::EXCEL_SHEET_COUNT,
        T::EXCEL_SHEET_NAMES,
        T::EXCEL_IS_TEMPLATE,
        T::EXCEL_BINARY_WORKBOOK,
    ],
    paths: &[
        PathId::OoxmlIdentity,
        PathId::OoxmlCoreProperties,
        PathId::OoxmlAppProperties,
        PathId::OoxmlPackageInventory,
        PathId::OoxmlReadabilitySecurity,
        PathId::OoxmlPackageSecurity,
        PathId::OoxmlDeepSecurity,
        PathId::ExcelProfile,
        PathId::ExcelTableInventory,
        PathId::ExcelAssetInventory,
        PathId::ExcelWorkbookXml,
        PathId::ExcelWorksheetInventory,
        PathId::ExcelSharedStrings,
    ],
};

static POWERPOINT_FAMILY: Family = Family {
    driver: DriverId::Powerpoint,
    own_targets: POWERPOINT,
    our_targets: &[T::OFFICE_CUSTOM_PROPERTIES],
    header: &[T::SECURITY_ENCRYPTED, T::OFFICE_DOCUMENT_KIND],
    metadata_default: &[
        T::DOCUMENT_TITLE,
        T::DOCUMENT_AUTHOR,
        T::DOCUMENT_APPLICATION,
        T::SECURITY_HAS_MACROS,
        T::OFFICE_PACKAGE_ENTRY_COUNT,
        T::POWERPOINT_SLIDE_COUNT,
        T::POWERPOINT_HIDDEN_SLIDE_COUNT,
        T::POWERPOINT_MASTER_COUNT,
        T::POWERPOINT_LAYOUT_COUNT,
        T::POWERPOINT_SLIDE_SIZE,
        T::POWERPOINT_ASPECT_RATIO,
        T::POWERPOINT_ORIENTATION,
        T::POWERPOINT_PRESENTATION_KIND,
    ],
    deep_default: &[],
    summary: &[
        T::POWERPOINT_SLIDE_COUNT,
        T::POWERPOINT_SLIDE_SIZE,
        T::POWERPOINT_ASPECT_RATIO,
        T::POWERPOINT_ORIENTATION,
        T::POWERPOINT_PRESENTATION_KIND,
    ],
    paths: &[
        PathId::OoxmlIdentity,
        PathId::OoxmlCoreProperties,
        PathId::OoxmlAppProperties,
        PathId::OoxmlPackageInventory,
        PathId::OoxmlReadabilitySecurity,
        PathId::OoxmlPackageSecurity,
        PathId::OoxmlDeepSecurity,
        PathId::PowerpointProfile,
        PathId::PowerpointPartInventory,
        PathId::PowerpointAssetInventory,
        PathId::PowerpointAppStatistics,
        PathId::PowerpointPresentationXml,
    ],
};

static KEYNOTE_FAMILY: Family = Family {
    driver: DriverId::Keynote,
    own_targets: KEYNOTE,
    our_targets: &[],
    header: &[T::SECURITY_ENCRYPTED, T::IWORK_DOCUMENT_KIND],
    metadata_default: &[
        T::DOCUMENT_APPLICATION,
        T::DOCUMENT_APPLICATION_VERSION,
        T::SECURITY_HAS_MACROS,
        T::IWORK_FILE_FORMAT_VERSION,
        T::IWORK_IS_MULTI_PAGE,
        T::IWORK_PACKAGE_ENTRY_COUNT,
        T::IWORK_IWA_ENTRY_COUNT,
        T::IWORK_DATA_ASSET_COUNT,
        T::IWORK_HAS_PREVIEW,
        T::KEYNOTE_SLIDE_COUNT,
        T::KEYNOTE_MASTER_SLIDE_COUNT,
        T::KEYNOTE_TABLE_COMPONENT_COUNT,
    ],
    deep_default: &[],
    summary: &[
        T::KEYNOTE_SLIDE_COUNT,
        T::KEYNOTE_SLIDE_SIZE,
        T::KEYNOTE_ASPECT_RATIO,
        T::KEYNOTE_ORIENTATION,
        T::KEYNOTE_HIDDEN_SLIDE_COUNT,
        T::IWORK_HAS_PREVIEW,
    ],
    paths: &[
        PathId::IworkIdentity,
        PathId::IworkPackageMetadata,
        PathId::IworkPackageInventory,
        PathId::IworkPreviewMetadata,
        PathId::IworkIwaIntegrity,
        PathId::IworkIwaObjects,
    ],
};

static NUMBERS_FAMILY: Family = Family {
    driver: DriverId::Numbers,
    own_targets: NUMBERS,
    our_targets: &[],
    header: &[T::SECURITY_ENCRYPTED, T::IWORK_DOCUMENT_KIND],
    metadata_default: &[
        T::DOCUMENT_APPLICATION,
        T::DOCUMENT_APPLICATION_VERSION,
        T::SECURITY_HAS_MACROS,
        T::IWORK_FILE_FORMAT_VERSION,
        T::IWORK_IS_MULTI_PAGE,
        T::IWORK_PACKAGE_ENTRY_COUNT,
        T::IWORK_IWA_ENTRY_COUNT,
        T::IWORK_DATA_ASSET_COUNT,
        T::IWORK_HAS_PREVIEW,
        T::NUMBERS_SHEET_COUNT,
        T::NUMBERS_SHEET_NAMES,
        T::NUMBERS_TABLE_COMPONENT_COUNT,
    ],
    deep_default: &[],
    summary: &[
        T::NUMBERS_SHEET_COUNT,
        T::NUMBERS_SHEET_NAMES,
        T::NUMBERS_TABLE_COUNT,
        T::IWORK_HAS_PREVIEW,
    ],
    paths: &[
        PathId::IworkIdentity,
        PathId::IworkPackageMetadata,
        PathId::IworkPackageInventory,
        PathId::IworkPreviewMetadata,
        PathId::IworkIwaIntegrity,
        PathId::IworkIwaObjects,
    ],
};

static PAGES_FAMILY: Family = Family {
    driver: DriverId::Pages,
    own_targets: PAGES,
    our_targets: &[],
    header: &[T::SECURITY_ENCRYPTED, T::IWORK_DOCUMENT_KIND],
    metadata_default: &[
        T::DOCUMENT_APPLICATION,
        T::DOCUMENT_APPLICATION_VERSION,
        T::SECURITY_HAS_MACROS,
        T::IWORK_FILE_FORMAT_VERSION,
        T::IWORK_IS_MULTI_PAGE,
        T::IWORK_PACKAGE_ENTRY_COUNT,
        T::IWORK_IWA_ENTRY_COUNT,
        T::IWORK_DATA_ASSET_COUNT,
        T::IWORK_HAS_PREVIEW,
        T::PAGES_TABLE_COMPONENT_COUNT,
    ],
    deep_default: &[],
    summary: &[
        T::PAGES_SECTION_COUNT,
        T::PAGES_PAGE_SIZE,
        T::PAGES_ASPECT_RATIO,
        T::PAGES_ORIENTATION,
        T::PAGES_CACHED_PAGE_COUNT,
        T::IWORK_IS_MULTI_PAGE,
        T::IWORK_HAS_PREVIEW,
    ],
    paths: &[
        PathId::IworkIdentity,
        PathId::IworkPackageMetadata,
        PathId::IworkPackageInventory,
        PathId::IworkPreviewMetadata,
        PathId::IworkIwaIntegrity,
        PathId::IworkIwaObjects,
    ],
};

static DOC_FAMILY: Family = Family {
    driver: DriverId::OfficeLegacy,
    own_targets: DOC,
    our_targets: &PROTECTION,
    header: &[
        T::SECURITY_ENCRYPTED,
        T::OFFICE_DOCUMENT_KIND,
        T::OFFICE_LEGACY_KIND,
        T::OFFICE_CFB_CONTAINER,
        T::OFFICE_CONTENT_PROBE_SUPPORTED,
    ],
    metadata_default: &[
        T::DOCUMENT_TITLE,
        T::DOCUMENT_AUTHOR,
        T::DOCUMENT_APPLICATION,
        T::SECURITY_HAS_MACROS,
        T::OFFICE_CFB_ENTRY_COUNT,
        T::WORD_PAGE_COUNT,
        T::WORD_WORD_COUNT,
        T::WORD_CHARACTER_COUNT,
        T::WORD_PARAGRAPH_COUNT,
        T::WORD_IS_TEMPLATE,
    ],
    deep_default: &[],
    summary: &[T::OFFICE_CFB_ENTRY_COUNT],
    paths: &[
        PathId::OfficeLegacyCfbInventory,
        PathId::OfficeLegacySummaryInformation,
        PathId::OfficeLegacyContentStatistics,
    ],
};

static XLS_FAMILY: Family = Family {
    driver: DriverId::OfficeLegacy,
    own_targets: XLS,
    our_targets: &[
        T::SECURITY_PASSWORD_TO_MODIFY,
        T::SECURITY_ENCRYPTION_ALGORITHM,
        T::SECURITY_ENCRYPTION_KEY_BITS,
        T::SECURITY_ENCRYPTION_SCHEME,
        T::EXCEL_HIDDEN_SHEET_COUNT,
        T::EXCEL_DEFINED_NAME_COUNT,
        T::EXCEL_SHARED_STRING_COUNT,
    ],
    header: &[
        T::SECURITY_ENCRYPTED,
        T::OFFICE_DOCUMENT_KIND,
        T::OFFICE_LEGACY_KIND,
        T::OFFICE_CFB_CONTAINER,
        T::OFFICE_CONTENT_PROBE_SUPPORTED,
    ],
    metadata_default: &[
        T::DOCUMENT_TITLE,
        T::DOCUMENT_AUTHOR,
        T::DOCUMENT_APPLICATION,
        T::SECURITY_HAS_MACROS,
        T::OFFICE_CFB_ENTRY_COUNT,
        T::EXCEL_SHEET_COUNT,
        T::EXCEL_SHEET_NAMES,
        T::EXCEL_IS_TEMPLATE,
        T::EXCEL_BINARY_WORKBOOK,
    ],
    deep_default: &[],
    summary: &[T::OFFICE_CFB_ENTRY_COUNT],
    paths: &[
        PathId::OfficeLegacyCfbInventory,
        PathId::OfficeLegacySummaryInformation,
        PathId::OfficeLegacyContentStatistics,
    ],
};

static PPT_FAMILY: Family = Family {
    driver: DriverId::OfficeLegacy,
    own_targets: PPT,
    our_targets: &[
        T::SECURITY_PASSWORD_TO_MODIFY,
        T::SECURITY_ENCRYPTION_ALGORITHM,
        T::SECURITY_ENCRYPTION_KEY_BITS,
        T::SECURITY_ENCRYPTION_SCHEME,
        T::POWERPOINT_HIDDEN_SLIDE_COUNT,
        T::POWERPOINT_MASTER_COUNT,
        T::POWERPOINT_SLIDE_SIZE,
        T::POWERPOINT_ASPECT_RATIO,
        T::POWERPOINT_ORIENTATION,
    ],
    header: &[
        T::SECURITY_ENCRYPTED,
        T::OFFICE_DOCUMENT_KIND,
        T::OFFICE_LEGACY_KIND,
        T::OFFICE_CFB_CONTAINER,
        T::OFFICE_CONTENT_PROBE_SUPPORTED,
    ],
    metadata_default: &[
        T::DOCUMENT_TITLE,
        T::DOCUMENT_AUTHOR,
        T::DOCUMENT_APPLICATION,
        T::SECURITY_HAS_MACROS,
        T::OFFICE_CFB_ENTRY_COUNT,
        T::POWERPOINT_SLIDE_COUNT,
        T::POWERPOINT_NOTES_SLIDE_COUNT,
        T::POWERPOINT_PRESENTATION_KIND,
    ],
    deep_default: &[],
    summary: &[T::OFFICE_CFB_ENTRY_COUNT],
    paths: &[
        PathId::OfficeLegacyCfbInventory,
        PathId::OfficeLegacySummaryInformation,
        PathId::OfficeLegacyContentStatistics,
    ],
};

static ENCRYPTED_OOXML_FAMILY: Family = Family {
    driver: DriverId::OfficeLegacy,
    own_targets: ENCRYPTED_OOXML,
    our_targets: &PROTECTION,
    header: &[
        T::SECURITY_ENCRYPTED,
        T::OFFICE_DOCUMENT_KIND,
        T::OFFICE_LEGACY_KIND,
        T::OFFICE_CFB_CONTAINER,
        T::OFFICE_CONTENT_PROBE_SUPPORTED,
    ],
    metadata_default: &[
        T::DOCUMENT_TITLE,
        T::DOCUMENT_AUTHOR,
        T::DOCUMENT_APPLICATION,
        T::SECURITY_HAS_MACROS,
        T::OFFICE_CFB_ENTRY_COUNT,
    ],
    deep_default: &[],
    summary: &[T::OFFICE_CFB_ENTRY_COUNT],
    paths: &[
        PathId::OfficeLegacyCfbInventory,
        PathId::OfficeLegacySummaryInformation,
        PathId::OfficeLegacyContentStatistics,
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_stands_at_its_own_index() {
        for (index, spec) in SPECS.iter().enumerate() {
            assert_eq!(spec.profile as usize, index, "{}", spec.name);
        }
    }
}
