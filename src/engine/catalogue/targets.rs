//! Every target of the contract, and ours, in ascending order of its id.
//!
//! The order is a promise: a [`Target`] compares like its id, so a walk over a [`TargetSet`] is the
//! order of `results`. A test holds the table to it.
//!
//! [`TargetSet`]: super::TargetSet

use crate::contract::Level;

/// A target, as an index into [`SPECS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Target(u8);

/// What kind of value a target has (`value_type` of the catalogue).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueType {
    Text,
    TextOrNull,
    Bool,
    BoolOrNull,
    U64,
    U64OrNull,
    /// `string[]|null`: the spelling of the workbook targets.
    StringsOrNull,
    Texts,
    TextsOrNull,
    Objects,
    Object,
    ObjectOrNull,
}

impl ValueType {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::TextOrNull => "string|null",
            Self::Bool => "bool",
            Self::BoolOrNull => "bool|null",
            Self::U64 => "u64",
            Self::U64OrNull => "u64|null",
            Self::StringsOrNull => "string[]|null",
            Self::Texts => "array<string>",
            Self::TextsOrNull => "array<string>|null",
            Self::Objects => "array<object>",
            Self::Object => "object",
            Self::ObjectOrNull => "object|null",
        }
    }
}

/// Which part of the catalogue a target belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Common,
    Office,
    Format,
}

impl Scope {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Common => "common",
            Self::Office => "office",
            Self::Format => "format",
        }
    }
}

/// One row of the catalogue.
#[derive(Debug)]
pub(crate) struct TargetSpec {
    pub(crate) id: &'static str,
    pub(crate) value_type: ValueType,
    pub(crate) scope: Scope,
    pub(crate) min_level: Level,
    pub(crate) description: &'static str,
}

impl Target {
    /// How many targets there are.
    pub(crate) const COUNT: usize = SPECS.len();

    /// The target at an index below [`Target::COUNT`].
    pub(crate) const fn from_index(index: usize) -> Self {
        assert!(index < Self::COUNT);
        #[expect(clippy::cast_possible_truncation, reason = "COUNT is below 256")]
        Self(index as u8)
    }

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) const fn spec(self) -> &'static TargetSpec {
        &SPECS[self.index()]
    }

    /// The canonical id.
    pub(crate) const fn id(self) -> &'static str {
        self.spec().id
    }

    /// The part of the id after its last dot: the alias, where it is unique in a catalogue.
    pub(crate) fn suffix(self) -> &'static str {
        self.id().rsplit('.').next().unwrap_or_default()
    }
}

macro_rules! targets {
    ($($name:ident = $id:literal, $value_type:ident, $scope:ident, $level:ident, $text:literal;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "named like the constants")]
        #[repr(u8)]
        enum Index { $($name,)* }

        impl Target {
            $(
                #[doc = concat!("`", $id, "`: ", $text, ".")]
                pub(crate) const $name: Self = Self(Index::$name as u8);
            )*
        }

        /// The catalogue, ascending by id.
        pub(crate) static SPECS: &[TargetSpec] = &[
            $(TargetSpec {
                id: $id,
                value_type: ValueType::$value_type,
                scope: Scope::$scope,
                min_level: Level::$level,
                description: $text,
            },)*
        ];
    };
}

targets! {
    DOCUMENT_APPLICATION = "document.application", TextOrNull, Common, Metadata, "Program that wrote the document, as the document names it";
    DOCUMENT_APPLICATION_VERSION = "document.application_version", TextOrNull, Common, Metadata, "Version of that program";
    DOCUMENT_AUTHOR = "document.author", TextOrNull, Common, Metadata, "Author as recorded in the document's properties";
    DOCUMENT_CREATED_AT = "document.created_at", TextOrNull, Common, Metadata, "Creation time as recorded, in the document's own notation";
    DOCUMENT_DESCRIPTION = "document.description", TextOrNull, Common, Metadata, "Description or comments property";
    DOCUMENT_EXTENSION = "document.extension", Text, Common, Header, "Extension of the input name, lower case, without the dot";
    DOCUMENT_EXTENSION_MATCHES = "document.extension_matches", Bool, Common, Header, "Whether the extension fits what the container says it is";
    DOCUMENT_FILE_SIZE = "document.file_size", U64, Common, Header, "Size of the input in bytes";
    DOCUMENT_FORMAT = "document.format", Text, Common, Header, "Format family";
    DOCUMENT_FORMAT_PROFILE = "document.format_profile", Text, Common, Header, "Exact profile, such as docx, xlsm or pdf";
    DOCUMENT_KEYWORDS = "document.keywords", TextOrNull, Common, Metadata, "Keywords property";
    DOCUMENT_LANGUAGE = "document.language", TextOrNull, Common, Metadata, "Language that the document declares";
    DOCUMENT_LOCALE = "document.locale", TextOrNull, Common, Metadata, "Locale that the document declares";
    DOCUMENT_MIME_TYPE = "document.mime_type", Text, Common, Header, "Media type of the profile";
    DOCUMENT_MODIFIED_AT = "document.modified_at", TextOrNull, Common, Metadata, "Time of the last change as recorded, in the document's own notation";
    DOCUMENT_SUBJECT = "document.subject", TextOrNull, Common, Metadata, "Subject property";
    DOCUMENT_TITLE = "document.title", TextOrNull, Common, Metadata, "Title property";
    EXCEL_BINARY_WORKBOOK = "excel.binary_workbook", Bool, Format, Metadata, "Whether the workbook is stored in a binary format";
    EXCEL_CHART_PART_COUNT = "excel.chart_part_count", U64, Format, Metadata, "Chart parts in the package";
    EXCEL_DEFINED_NAME_COUNT = "excel.defined_name_count", U64OrNull, Format, Metadata, "Names that the user defined in the workbook";
    EXCEL_HIDDEN_SHEET_COUNT = "excel.hidden_sheet_count", U64OrNull, Format, Metadata, "Sheets that are hidden or very hidden";
    EXCEL_IS_TEMPLATE = "excel.is_template", Bool, Format, Metadata, "Whether the file is a template";
    EXCEL_PIVOT_TABLE_PART_COUNT = "excel.pivot_table_part_count", U64, Format, Metadata, "Pivot table parts in the package";
    EXCEL_SHARED_STRING_COUNT = "excel.shared_string_count", U64OrNull, Format, Deep, "Distinct strings in the shared string table";
    EXCEL_SHEET_COUNT = "excel.sheet_count", U64OrNull, Format, Metadata, "Sheets of every kind, hidden ones included";
    EXCEL_SHEET_NAMES = "excel.sheet_names", StringsOrNull, Format, Metadata, "Names of the sheets in tab order";
    EXCEL_TABLE_COUNT = "excel.table_count", U64OrNull, Format, Metadata, "Table (list object) parts";
    EXCEL_UNIQUE_IMAGE_ASSET_COUNT = "excel.unique_image_asset_count", U64, Format, Metadata, "Distinct image parts";
    IWORK_ALL_IWA_VALID = "iwork.all_iwa_valid", Bool, Format, Deep, "Whether every IWA component decodes";
    IWORK_ARCHIVE_OBJECT_COUNT = "iwork.archive_object_count", U64, Format, Deep, "Archived objects in all IWA components";
    IWORK_ASSET_TYPE_COUNTS = "iwork.asset_type_counts", Object, Format, Metadata, "Data assets by kind: audio, font, image, other, video";
    IWORK_DATA_ASSET_BYTES = "iwork.data_asset_bytes", U64, Format, Metadata, "Total size of the data assets in bytes";
    IWORK_DATA_ASSET_COUNT = "iwork.data_asset_count", U64, Format, Metadata, "Files under Data/";
    IWORK_DOCUMENT_KIND = "iwork.document_kind", Text, Format, Header, "keynote, numbers or pages";
    IWORK_FILE_FORMAT_VERSION = "iwork.file_format_version", TextOrNull, Format, Metadata, "Version of the file format";
    IWORK_HAS_EXTERNAL_OR_MISSING_DATA = "iwork.has_external_or_missing_data", BoolOrNull, Format, Metadata, "Whether data is referenced outside the package or missing";
    IWORK_HAS_PREVIEW = "iwork.has_preview", Bool, Format, Metadata, "Whether the package holds a preview image";
    IWORK_IS_MULTI_PAGE = "iwork.is_multi_page", BoolOrNull, Format, Metadata, "Whether the document has more than one page";
    IWORK_IWA_ENTRY_COUNT = "iwork.iwa_entry_count", U64, Format, Metadata, "IWA components in the package";
    IWORK_MESSAGE_TYPE_COUNTS = "iwork.message_type_counts", Object, Format, Deep, "Archived messages by type number";
    IWORK_OBJECT_TYPE_COUNTS = "iwork.object_type_counts", Object, Format, Deep, "Archived objects by kind";
    IWORK_PACKAGE_ENTRY_COUNT = "iwork.package_entry_count", U64, Format, Metadata, "Entries in the package";
    IWORK_PREVIEW_COUNT = "iwork.preview_count", U64, Format, Metadata, "Preview images in the package";
    IWORK_PREVIEW_DIMENSIONS = "iwork.preview_dimensions", Object, Format, Metadata, "Pixel size of each preview image";
    IWORK_PRODUCER_BUILD = "iwork.producer_build", TextOrNull, Format, Metadata, "Build of the application that saved the document last";
    KEYNOTE_ASPECT_RATIO = "keynote.aspect_ratio", ObjectOrNull, Format, Deep, "Width to height of a slide";
    KEYNOTE_HIDDEN_SLIDE_COUNT = "keynote.hidden_slide_count", U64, Format, Deep, "Slides that are skipped in the show";
    KEYNOTE_MASTER_SLIDE_COUNT = "keynote.master_slide_count", U64, Format, Metadata, "Master or template slides";
    KEYNOTE_ORIENTATION = "keynote.orientation", TextOrNull, Format, Deep, "landscape, portrait or square";
    KEYNOTE_SLIDE_COUNT = "keynote.slide_count", U64, Format, Metadata, "Slides of the show";
    KEYNOTE_SLIDE_SIZE = "keynote.slide_size", ObjectOrNull, Format, Deep, "Size of a slide in points";
    KEYNOTE_SLIDES_WITH_BUILDS_COUNT = "keynote.slides_with_builds_count", U64, Format, Deep, "Slides with builds";
    KEYNOTE_SLIDES_WITH_NOTES_COUNT = "keynote.slides_with_notes_count", U64, Format, Deep, "Slides with presenter notes";
    KEYNOTE_SLIDES_WITH_TRANSITIONS_COUNT = "keynote.slides_with_transitions_count", U64, Format, Deep, "Slides with a transition";
    KEYNOTE_TABLE_COMPONENT_COUNT = "keynote.table_component_count", U64, Format, Metadata, "Table tile components";
    KEYNOTE_TABLE_COUNT = "keynote.table_count", U64, Format, Deep, "Tables on the slides";
    NUMBERS_FILTERED_ROW_COUNT = "numbers.filtered_row_count", U64, Format, Deep, "Rows hidden by a filter, over all tables";
    NUMBERS_FORMULA_DEFINITION_COUNT = "numbers.formula_definition_count", U64, Format, Deep, "Formula definitions over all tables";
    NUMBERS_HIDDEN_COLUMN_COUNT = "numbers.hidden_column_count", U64, Format, Deep, "Hidden columns over all tables";
    NUMBERS_HIDDEN_ROW_COUNT = "numbers.hidden_row_count", U64, Format, Deep, "Hidden rows over all tables";
    NUMBERS_SHEET_COUNT = "numbers.sheet_count", U64OrNull, Format, Metadata, "Sheets";
    NUMBERS_SHEET_NAMES = "numbers.sheet_names", TextsOrNull, Format, Metadata, "Names of the sheets in order";
    NUMBERS_TABLE_COMPONENT_COUNT = "numbers.table_component_count", U64, Format, Metadata, "Table tile components";
    NUMBERS_TABLE_COUNT = "numbers.table_count", U64, Format, Deep, "Tables";
    NUMBERS_TABLE_DIMENSIONS = "numbers.table_dimensions", Objects, Format, Deep, "Rows, columns and hidden parts of each table";
    OFFICE_CFB_CONTAINER = "office.cfb_container", Bool, Format, Header, "Whether the container is a compound file";
    OFFICE_CFB_ENTRY_COUNT = "office.cfb_entry_count", U64, Format, Metadata, "Storages and streams in the compound file, the root included";
    OFFICE_CONFORMANCE = "office.conformance", Text, Office, Metadata, "transitional or strict";
    OFFICE_CONTENT_PROBE_SUPPORTED = "office.content_probe_supported", Bool, Format, Header, "Whether the content can be probed (not encrypted)";
    OFFICE_CUSTOM_PROPERTIES = "office.custom_properties", Object, Office, Metadata, "Properties that users or programs added, by name, each value as written";
    OFFICE_DOCUMENT_KIND = "office.document_kind", Text, Office, Header, "word, excel, powerpoint or encrypted";
    OFFICE_LEGACY_KIND = "office.legacy_kind", Text, Format, Header, "doc, xls, ppt or encrypted-ooxml";
    OFFICE_PACKAGE_ENTRY_COUNT = "office.package_entry_count", U64, Office, Metadata, "Entries in the package";
    PAGES_ASPECT_RATIO = "pages.aspect_ratio", ObjectOrNull, Format, Deep, "Width to height of a page";
    PAGES_BODY_PARAGRAPH_BREAK_COUNT = "pages.body_paragraph_break_count", U64OrNull, Format, Deep, "Paragraph breaks in the body text";
    PAGES_BODY_TEXT_LENGTH = "pages.body_text_length", U64OrNull, Format, Deep, "Length of the body text in UTF-16 units";
    PAGES_CACHED_PAGE_COUNT = "pages.cached_page_count", U64OrNull, Format, Deep, "Page count that the application saved";
    PAGES_CHANGE_TRACKING_ENABLED = "pages.change_tracking_enabled", Bool, Format, Deep, "Whether changes are tracked";
    PAGES_ORIENTATION = "pages.orientation", TextOrNull, Format, Deep, "landscape, portrait or square";
    PAGES_PAGE_SIZE = "pages.page_size", ObjectOrNull, Format, Deep, "Size of a page in points";
    PAGES_SECTION_COUNT = "pages.section_count", U64, Format, Deep, "Sections";
    PAGES_SECTION_NAMES = "pages.section_names", Texts, Format, Deep, "Names of the sections";
    PAGES_TABLE_COMPONENT_COUNT = "pages.table_component_count", U64, Format, Metadata, "Table tile components";
    PAGES_TABLE_COUNT = "pages.table_count", U64, Format, Deep, "Tables";
    PDF_ANNOTATION_COUNT = "pdf.annotation_count", U64OrNull, Format, Metadata, "Annotations on all pages";
    PDF_ATTACHMENT_COUNT = "pdf.attachment_count", U64OrNull, Format, Metadata, "Embedded files";
    PDF_CONFORMANCE = "pdf.conformance", Texts, Format, Metadata, "Standards that the document claims: PDF/A, PDF/UA, PDF/X";
    PDF_FORM_FIELD_COUNT = "pdf.form_field_count", U64OrNull, Format, Metadata, "Terminal form fields";
    PDF_HAS_OUTLINE = "pdf.has_outline", Bool, Format, Metadata, "Whether the document has bookmarks";
    PDF_HAS_XMP = "pdf.has_xmp", Bool, Format, Metadata, "Whether the document has an XMP metadata stream";
    PDF_IS_TAGGED = "pdf.is_tagged", Bool, Format, Metadata, "Whether the document says that it is tagged";
    PDF_LINEARIZED = "pdf.linearized", Bool, Format, Header, "Whether the file is laid out for fast web view";
    PDF_LINK_COUNT = "pdf.link_count", U64, Format, Metadata, "Link annotations on all pages";
    PDF_OBJECT_COUNT = "pdf.object_count", U64OrNull, Format, Metadata, "Objects in use";
    PDF_PAGE_COUNT = "pdf.page_count", U64OrNull, Format, Metadata, "Pages";
    PDF_PAGE_SIZES = "pdf.page_sizes", Objects, Format, Metadata, "Distinct page sizes in points with the number of pages, the most frequent first";
    PDF_REPAIRED = "pdf.repaired", Bool, Format, Metadata, "Whether the cross-reference data had to be rebuilt";
    PDF_VERSION = "pdf.version", Text, Format, Header, "PDF version in force";
    PDF_XREF_TYPE = "pdf.xref_type", Text, Format, Metadata, "table, stream or hybrid";
    POWERPOINT_ASPECT_RATIO = "powerpoint.aspect_ratio", ObjectOrNull, Format, Metadata, "Width to height of a slide";
    POWERPOINT_CHART_PART_COUNT = "powerpoint.chart_part_count", U64, Format, Metadata, "Chart parts in the package";
    POWERPOINT_COMMENT_PART_COUNT = "powerpoint.comment_part_count", U64, Format, Metadata, "Comment parts in the package";
    POWERPOINT_HIDDEN_SLIDE_COUNT = "powerpoint.hidden_slide_count", U64OrNull, Format, Metadata, "Slides that are hidden in the show";
    POWERPOINT_LAYOUT_COUNT = "powerpoint.layout_count", U64OrNull, Format, Metadata, "Slide layouts";
    POWERPOINT_MASTER_COUNT = "powerpoint.master_count", U64OrNull, Format, Metadata, "Slide masters";
    POWERPOINT_NOTES_SLIDE_COUNT = "powerpoint.notes_slide_count", U64OrNull, Format, Metadata, "Slides with a notes page";
    POWERPOINT_ORIENTATION = "powerpoint.orientation", TextOrNull, Format, Metadata, "landscape, portrait or square";
    POWERPOINT_PRESENTATION_KIND = "powerpoint.presentation_kind", Text, Format, Metadata, "presentation, show or template";
    POWERPOINT_SLIDE_COUNT = "powerpoint.slide_count", U64OrNull, Format, Metadata, "Slides of the show, hidden ones included";
    POWERPOINT_SLIDE_SIZE = "powerpoint.slide_size", ObjectOrNull, Format, Metadata, "Size of a slide in EMU and points";
    POWERPOINT_UNIQUE_IMAGE_ASSET_COUNT = "powerpoint.unique_image_asset_count", U64, Format, Metadata, "Distinct image parts";
    POWERPOINT_UNIQUE_MEDIA_ASSET_COUNT = "powerpoint.unique_media_asset_count", U64, Format, Metadata, "Distinct audio and video parts";
    QUALITY_CORRUPTED = "quality.corrupted", BoolOrNull, Common, Deep, "Whether parts of the document are damaged";
    QUALITY_MISSING_ASSETS = "quality.missing_assets", BoolOrNull, Common, Deep, "Whether referenced assets are missing";
    SECURITY_ACTIVE_CONTENT_RISK = "security.active_content_risk", TextOrNull, Common, Deep, "none, low, medium or high, judged by active content";
    SECURITY_ENCRYPTED = "security.encrypted", Bool, Common, Header, "Whether the document is encrypted";
    SECURITY_ENCRYPTION_ALGORITHM = "security.encryption_algorithm", TextOrNull, Common, Metadata, "Cipher that the document is encrypted with";
    SECURITY_ENCRYPTION_KEY_BITS = "security.encryption_key_bits", U64OrNull, Common, Metadata, "Length of the encryption key in bits";
    SECURITY_ENCRYPTION_SCHEME = "security.encryption_scheme", TextOrNull, Common, Metadata, "agile, standard, extensible, cryptoapi, rc4, xor or rights-management";
    SECURITY_HAS_DIGITAL_SIGNATURE = "security.has_digital_signature", Bool, Common, Metadata, "Whether the document is signed";
    SECURITY_HAS_EMBEDDED_FILES = "security.has_embedded_files", Bool, Common, Metadata, "Whether files or objects are embedded";
    SECURITY_HAS_EXTERNAL_RELATIONSHIPS = "security.has_external_relationships", Bool, Common, Metadata, "Whether the document refers to resources outside itself";
    SECURITY_HAS_JAVASCRIPT = "security.has_javascript", Bool, Common, Deep, "Whether the document holds JavaScript";
    SECURITY_HAS_MACROS = "security.has_macros", Bool, Common, Metadata, "Whether the document holds macros";
    SECURITY_PASSWORD_PROTECTED = "security.password_protected", BoolOrNull, Common, Metadata, "Whether a password is needed to open the document";
    SECURITY_PASSWORD_TO_MODIFY = "security.password_to_modify", BoolOrNull, Common, Metadata, "Whether a password is asked for before the document may be changed";
    SECURITY_SIGNATURE_COUNT = "security.signature_count", U64OrNull, Common, Deep, "Digital signatures";
    WORD_CHARACTER_COUNT = "word.character_count", U64OrNull, Format, Metadata, "Characters as counted by the application or from the text";
    WORD_COMMENT_PART_COUNT = "word.comment_part_count", U64, Format, Metadata, "Comment parts in the package";
    WORD_IS_TEMPLATE = "word.is_template", Bool, Format, Metadata, "Whether the file is a template";
    WORD_PAGE_COUNT = "word.page_count", U64OrNull, Format, Metadata, "Pages as counted by the application";
    WORD_PARAGRAPH_COUNT = "word.paragraph_count", U64OrNull, Format, Metadata, "Paragraphs";
    WORD_TABLE_COUNT = "word.table_count", U64OrNull, Format, Deep, "Tables";
    WORD_UNIQUE_IMAGE_ASSET_COUNT = "word.unique_image_asset_count", U64, Format, Metadata, "Distinct image parts";
    WORD_WORD_COUNT = "word.word_count", U64OrNull, Format, Metadata, "Words as counted by the application or from the text";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_ascends_by_id() {
        for pair in SPECS.windows(2) {
            assert!(
                pair[0].id < pair[1].id,
                "{} stands before {}",
                pair[0].id,
                pair[1].id
            );
        }
    }
}
