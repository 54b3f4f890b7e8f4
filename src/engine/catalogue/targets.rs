//! Every target, one row each: what it is, whose it is, which formats have it, which paths yield it and
//! which selectors hold it. Everything else about targets is derived from here.
//!
//! Rows are in the order of the discovery output. A [`Target`] compares like its id, so a walk over a
//! [`TargetSet`] is the order of `results`.
//!
//! To add a target: add a row, and [`put`] its value in a path of the driver.
//!
//! [`TargetSet`]: super::TargetSet
//! [`put`]: crate::engine::findings::Findings::put

use super::formats::{PathId::*, families::*};
use super::target::ValueType::*;
use super::target::{TargetSpec, ascending, common, format, office, ranks, sorted};
use crate::contract::Level::*;

/// A target, as its place in the ascending order of ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Target(u16);

impl Target {
    /// How many targets there are.
    pub(crate) const COUNT: usize = ROWS.len();

    /// The target at an index below [`Target::COUNT`].
    pub(crate) const fn from_index(index: usize) -> Self {
        assert!(index < Self::COUNT);
        #[expect(clippy::cast_possible_truncation, reason = "COUNT is far below 65536")]
        Self(index as u16)
    }

    /// The targets in the order of the table.
    pub(crate) fn in_table_order() -> impl Iterator<Item = Self> {
        RANKS.into_iter().map(Self)
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

const ORDER: [u16; Target::COUNT] = ascending(&ROWS);
const RANKS: [u16; Target::COUNT] = ranks(ORDER);
static SPECS: [TargetSpec; Target::COUNT] = sorted(&ROWS, ORDER);

macro_rules! targets {
    ($($name:ident = $row:expr;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "named like the constants")]
        enum Position { $($name,)* }

        impl Target {
            $(pub(crate) const $name: Self = Self(RANKS[Position::$name as usize]);)*
        }

        const ROWS: [TargetSpec; [$(Position::$name,)*].len()] = [$($row,)*];
    };
}

targets! {
    DOCUMENT_FORMAT = common("document.format", Text, Header, "Format family")
        .contract(ANY).identity();
    DOCUMENT_FORMAT_PROFILE = common("document.format_profile", Text, Header, "Exact profile, such as docx, xlsm or pdf")
        .contract(ANY).identity();
    DOCUMENT_MIME_TYPE = common("document.mime_type", Text, Header, "Media type of the profile")
        .contract(ANY).identity();
    DOCUMENT_FILE_SIZE = common("document.file_size", U64, Header, "Size of the input in bytes")
        .contract(ANY).identity();
    DOCUMENT_EXTENSION = common("document.extension", Text, Header, "Extension of the input name, lower case, without the dot")
        .contract(ANY).identity();
    DOCUMENT_EXTENSION_MATCHES = common("document.extension_matches", Bool, Header, "Whether the extension fits what the container says it is")
        .contract(ANY).identity();
    DOCUMENT_TITLE = common("document.title", TextOrNull, Metadata, "Title property")
        .contract(ANY).by(&[PdfInfoDictionary, OoxmlCoreProperties, OfficeLegacySummaryInformation]).by_ours(&[IworkPackageMetadata])
        .default(PDF | OOXML | LEGACY).summary(ANY);
    DOCUMENT_SUBJECT = common("document.subject", TextOrNull, Metadata, "Subject property")
        .contract(ANY).by(&[PdfInfoDictionary, OoxmlCoreProperties, OfficeLegacySummaryInformation]);
    DOCUMENT_AUTHOR = common("document.author", TextOrNull, Metadata, "Author as recorded in the document's properties")
        .contract(ANY).by(&[PdfInfoDictionary, OoxmlCoreProperties, OfficeLegacySummaryInformation]).by_ours(&[IworkPackageMetadata])
        .default(PDF | OOXML | LEGACY).summary(ANY);
    DOCUMENT_KEYWORDS = common("document.keywords", TextOrNull, Metadata, "Keywords property")
        .contract(ANY).by(&[PdfInfoDictionary, OoxmlCoreProperties, OfficeLegacySummaryInformation]).by_ours(&[IworkPackageMetadata]);
    DOCUMENT_DESCRIPTION = common("document.description", TextOrNull, Metadata, "Description or comments property")
        .contract(ANY).by(&[PdfInfoDictionary, OoxmlCoreProperties]).by_ours(&[OfficeLegacySummaryInformation, IworkPackageMetadata]);
    DOCUMENT_CREATED_AT = common("document.created_at", TextOrNull, Metadata, "Creation time as recorded, in the document's own notation")
        .contract(ANY).by(&[PdfInfoDictionary, OoxmlCoreProperties, OfficeLegacySummaryInformation]).by_ours(&[IworkPackageMetadata]);
    DOCUMENT_MODIFIED_AT = common("document.modified_at", TextOrNull, Metadata, "Time of the last change as recorded, in the document's own notation")
        .contract(ANY).by(&[PdfInfoDictionary, OoxmlCoreProperties, OfficeLegacySummaryInformation]).by_ours(&[IworkPackageMetadata]);
    DOCUMENT_CREATED_UTC = common("document.created_utc", TextOrNull, Metadata, "Creation time as recorded, in RFC 3339 and UTC")
        .ours(ANY).by(&[PdfInfoDictionary, OoxmlCoreProperties, OfficeLegacySummaryInformation, IworkPackageMetadata]);
    DOCUMENT_MODIFIED_UTC = common("document.modified_utc", TextOrNull, Metadata, "Time of the last change as recorded, in RFC 3339 and UTC")
        .ours(ANY).by(&[PdfInfoDictionary, OoxmlCoreProperties, OfficeLegacySummaryInformation, IworkPackageMetadata]);
    DOCUMENT_LAST_MODIFIED_BY = common("document.last_modified_by", TextOrNull, Metadata, "Who saved the document last")
        .ours(OOXML | LEGACY).by(&[OoxmlCoreProperties, OfficeLegacySummaryInformation]);
    DOCUMENT_REVISION = common("document.revision", TextOrNull, Metadata, "Revision number as recorded: how often the document was saved")
        .ours(OOXML | LEGACY).by(&[OoxmlCoreProperties, OfficeLegacySummaryInformation]);
    DOCUMENT_TEMPLATE = common("document.template", TextOrNull, Metadata, "Template that the document was made from")
        .ours(OOXML | LEGACY | IWORK).by(&[OoxmlAppProperties, OfficeLegacySummaryInformation, IworkPackageMetadata]);
    DOCUMENT_TOTAL_EDIT_TIME = common("document.total_edit_time", U64OrNull, Metadata, "Time spent on the document in minutes, as the application counted it")
        .ours(OOXML | LEGACY).by(&[OoxmlAppProperties, OfficeLegacySummaryInformation]);
    DOCUMENT_COMPANY = common("document.company", TextOrNull, Metadata, "Company property")
        .ours(OOXML | LEGACY).by(&[OoxmlAppProperties, OfficeLegacySummaryInformation]);
    DOCUMENT_MANAGER = common("document.manager", TextOrNull, Metadata, "Manager property")
        .ours(OOXML | LEGACY).by(&[OoxmlAppProperties, OfficeLegacySummaryInformation]);
    DOCUMENT_CUSTOM_PROPERTIES = common("document.custom_properties", Objects, Metadata, "Custom properties: name, type and value of each")
        .ours(OOXML).by(&[OoxmlAppProperties]);
    DOCUMENT_SENSITIVITY_LABELS = common("document.sensitivity_labels", Objects, Metadata, "Sensitivity labels (MSIP): id, name, site and state of each")
        .ours(OOXML).by(&[OoxmlAppProperties]);
    DOCUMENT_MARKED_FINAL = common("document.marked_final", Bool, Metadata, "Whether the document is marked as final")
        .ours(OOXML).by(&[OoxmlAppProperties]);
    DOCUMENT_SHA256 = common("document.sha256", Text, Header, "SHA-256 of the file in hexadecimal; the whole file is read")
        .ours(ANY).by(&[DocumentDigest]).by_name_only();
    DOCUMENT_APPLICATION = common("document.application", TextOrNull, Metadata, "Program that wrote the document, as the document names it")
        .contract(ANY)
        .by(&[PdfInfoDictionary, OoxmlAppProperties, OfficeLegacySummaryInformation, IworkPackageInventory])
        .default(ANY).summary(ANY);
    DOCUMENT_APPLICATION_VERSION = common("document.application_version", TextOrNull, Metadata, "Version of that program")
        .contract(ANY).by(&[PdfInfoDictionary, OoxmlAppProperties, IworkPackageMetadata])
        .by_ours(&[OfficeLegacySummaryInformation]).default(IWORK).summary(ANY);
    DOCUMENT_LANGUAGE = common("document.language", TextOrNull, Metadata, "Language that the document declares")
        .contract(ANY).by(&[IworkPackageMetadata]).by_ours(&[PdfDocumentStructure, OoxmlCoreProperties]);
    DOCUMENT_LOCALE = common("document.locale", TextOrNull, Metadata, "Locale that the document declares")
        .contract(ANY).by(&[IworkPackageMetadata]);

    SECURITY_ENCRYPTED = common("security.encrypted", Bool, Header, "Whether the document is encrypted")
        .contract(ANY).by(&[PdfDocumentStructure, OoxmlIdentity, OfficeLegacyCfbInventory, IworkIdentity])
        .header(OOXML | IWORK | LEGACY).default(PDF);
    SECURITY_HAS_MACROS = common("security.has_macros", Bool, Metadata, "Whether the document holds macros")
        .contract(ANY)
        .by(&[PdfDocumentStructure, OoxmlPackageInventory, OfficeLegacyCfbInventory, IworkPackageInventory])
        .default(OOXML | IWORK | LEGACY);
    SECURITY_PASSWORD_PROTECTED = common("security.password_protected", BoolOrNull, Metadata, "Whether a password is needed to open the document")
        .contract(ANY)
        .by(&[PdfDocumentFeatures, PdfDeepDocumentFeatures, PdfActiveContentAssessment, OoxmlReadabilitySecurity, OfficeLegacyCfbInventory, IworkPackageInventory]);
    SECURITY_HAS_DIGITAL_SIGNATURE = common("security.has_digital_signature", Bool, Metadata, "Whether the document is signed")
        .contract(ANY)
        .by(&[PdfDocumentFeatures, PdfDeepDocumentFeatures, PdfActiveContentAssessment, OoxmlPackageSecurity])
        .by_ours(&[OfficeLegacyCfbInventory]);
    SECURITY_SIGNATURE_COUNT = common("security.signature_count", U64OrNull, Deep, "Digital signatures")
        .contract(ANY).by(&[PdfDeepDocumentFeatures, PdfActiveContentAssessment, OoxmlDeepSecurity])
        .by_ours(&[OfficeLegacyCfbInventory]);
    SECURITY_HAS_JAVASCRIPT = common("security.has_javascript", Bool, Deep, "Whether the document holds JavaScript")
        .contract(ANY).by(&[PdfDeepDocumentFeatures, PdfActiveContentAssessment, OoxmlDeepSecurity]);
    SECURITY_HAS_EXTERNAL_RELATIONSHIPS = common("security.has_external_relationships", Bool, Metadata, "Whether the document refers to resources outside itself")
        .contract(ANY)
        .by(&[PdfDocumentFeatures, PdfDeepDocumentFeatures, PdfActiveContentAssessment, OoxmlPackageSecurity])
        .by_ours(&[OfficeLegacyReferences]);
    SECURITY_HAS_EMBEDDED_FILES = common("security.has_embedded_files", Bool, Metadata, "Whether files or objects are embedded")
        .contract(ANY)
        .by(&[PdfDocumentFeatures, PdfDeepDocumentFeatures, PdfActiveContentAssessment, OoxmlPackageSecurity, OfficeLegacyCfbInventory]);
    SECURITY_ACTIVE_CONTENT_RISK = common("security.active_content_risk", TextOrNull, Deep, "none, low, medium or high, judged by active content")
        .contract(ANY).by(&[PdfActiveContentAssessment, OoxmlDeepSecurity]).by_ours(&[OfficeLegacyReferences]);
    SECURITY_RISK_SIGNALS = common("security.risk_signals", Objects, Metadata, "What may be a risk: signal, severity, number and location of each finding")
        .ours(PDF | OOXML | DOC | XLS | PPT)
        .by(&[PdfDocumentFeatures, PdfDeepDocumentFeatures, PdfActiveContentAssessment, OoxmlDeepSecurity, OfficeLegacyReferences]);

    QUALITY_CORRUPTED = common("quality.corrupted", BoolOrNull, Deep, "Whether parts of the document are damaged")
        .contract(ANY).by(&[IworkIwaIntegrity, IworkIwaObjects]).by_ours(&[OfficeLegacyCfbInventory]);
    QUALITY_MISSING_ASSETS = common("quality.missing_assets", BoolOrNull, Deep, "Whether referenced assets are missing")
        .contract(ANY).by_ours(&[IworkIwaObjects]);

    SECURITY_PASSWORD_TO_MODIFY = common("security.password_to_modify", BoolOrNull, Metadata, "Whether a password is asked for before the document may be changed")
        .ours(LEGACY).by(&[OfficeLegacyCfbInventory]);
    SECURITY_ENCRYPTION_ALGORITHM = common("security.encryption_algorithm", TextOrNull, Metadata, "Cipher that the document is encrypted with")
        .ours(LEGACY).by(&[OfficeLegacyCfbInventory]);
    SECURITY_ENCRYPTION_KEY_BITS = common("security.encryption_key_bits", U64OrNull, Metadata, "Length of the encryption key in bits")
        .ours(LEGACY).by(&[OfficeLegacyCfbInventory]);
    SECURITY_ENCRYPTION_SCHEME = common("security.encryption_scheme", TextOrNull, Metadata, "agile, standard, extensible, cryptoapi, rc4, xor or rights-management")
        .ours(LEGACY).by(&[OfficeLegacyCfbInventory]);

    OFFICE_DOCUMENT_KIND = office("office.document_kind", Text, Header, "word, excel, powerpoint or encrypted")
        .contract(OOXML | LEGACY).by(&[OoxmlIdentity, OfficeLegacyCfbInventory]).header(OOXML | LEGACY);
    OFFICE_PACKAGE_ENTRY_COUNT = office("office.package_entry_count", U64, Metadata, "Entries in the package")
        .contract(OOXML).by(&[OoxmlPackageInventory]).default(OOXML);
    OFFICE_CONFORMANCE = office("office.conformance", Text, Metadata, "transitional or strict")
        .contract(OOXML).by(&[OoxmlPackageInventory]);
    OFFICE_CUSTOM_PROPERTIES = office("office.custom_properties", Object, Metadata, "Properties that users or programs added, by name, each value as written")
        .ours(OOXML).by(&[OoxmlAppProperties]);

    OFFICE_LEGACY_KIND = format("office.legacy_kind", Text, Header, "doc, xls, ppt or encrypted-ooxml")
        .contract(LEGACY).by(&[OfficeLegacyCfbInventory]).header(LEGACY);
    OFFICE_CFB_CONTAINER = format("office.cfb_container", Bool, Header, "Whether the container is a compound file")
        .contract(LEGACY).by(&[OfficeLegacyCfbInventory]).header(LEGACY);
    OFFICE_CFB_ENTRY_COUNT = format("office.cfb_entry_count", U64, Metadata, "Storages and streams in the compound file, the root included")
        .contract(LEGACY).by(&[OfficeLegacyCfbInventory]).default(LEGACY).summary(LEGACY);
    OFFICE_CONTENT_PROBE_SUPPORTED = format("office.content_probe_supported", Bool, Header, "Whether the content can be probed (not encrypted)")
        .contract(LEGACY).by(&[OfficeLegacyCfbInventory]).header(LEGACY);

    PDF_VERSION = format("pdf.version", Text, Header, "PDF version in force")
        .contract(PDF).by(&[PdfHeader]).header(PDF);
    PDF_LINEARIZED = format("pdf.linearized", Bool, Header, "Whether the file is laid out for fast web view")
        .contract(PDF).by(&[PdfHeader]).header(PDF);
    PDF_PAGE_COUNT = format("pdf.page_count", U64OrNull, Metadata, "Pages")
        .contract(PDF).by(&[PdfDocumentStructure]).default(PDF);
    PDF_OBJECT_COUNT = format("pdf.object_count", U64OrNull, Metadata, "Objects in use")
        .contract(PDF).by(&[PdfDocumentStructure]).default(PDF);
    PDF_XREF_TYPE = format("pdf.xref_type", Text, Metadata, "table, stream or hybrid")
        .contract(PDF).by(&[PdfDocumentStructure]).default(PDF);
    PDF_REPAIRED = format("pdf.repaired", Bool, Metadata, "Whether the cross-reference data had to be rebuilt")
        .contract(PDF).by(&[PdfDocumentStructure]).default(PDF);
    PDF_ANNOTATION_COUNT = format("pdf.annotation_count", U64OrNull, Metadata, "Annotations on all pages")
        .contract(PDF).by(&[PdfDocumentFeatures, PdfDeepDocumentFeatures, PdfActiveContentAssessment]);
    PDF_FORM_FIELD_COUNT = format("pdf.form_field_count", U64OrNull, Metadata, "Terminal form fields")
        .contract(PDF).by(&[PdfDocumentFeatures, PdfDeepDocumentFeatures, PdfActiveContentAssessment]);
    PDF_ATTACHMENT_COUNT = format("pdf.attachment_count", U64OrNull, Metadata, "Embedded files")
        .contract(PDF).by(&[PdfDocumentFeatures, PdfDeepDocumentFeatures, PdfActiveContentAssessment]);
    PDF_HAS_XMP = format("pdf.has_xmp", Bool, Metadata, "Whether the document has an XMP metadata stream")
        .contract(PDF).by(&[PdfDocumentFeatures, PdfDeepDocumentFeatures, PdfActiveContentAssessment]);
    PDF_CONFORMANCE = format("pdf.conformance", Texts, Metadata, "Standards that the document claims: PDF/A, PDF/UA, PDF/X")
        .ours(PDF).by(&[PdfInfoDictionary]);
    PDF_HAS_OUTLINE = format("pdf.has_outline", Bool, Metadata, "Whether the document has bookmarks")
        .ours(PDF).by(&[PdfDocumentStructure]);
    PDF_IS_TAGGED = format("pdf.is_tagged", Bool, Metadata, "Whether the document says that it is tagged")
        .ours(PDF).by(&[PdfDocumentStructure]);
    PDF_LINK_COUNT = format("pdf.link_count", U64, Metadata, "Link annotations on all pages")
        .ours(PDF).by(&[PdfDocumentFeatures, PdfDeepDocumentFeatures, PdfActiveContentAssessment]);
    PDF_PAGE_SIZES = format("pdf.page_sizes", Objects, Metadata, "Distinct page sizes in points with the number of pages, the most frequent first")
        .ours(PDF).by(&[PdfDocumentFeatures, PdfDeepDocumentFeatures, PdfActiveContentAssessment]);

    PDF_SIGNATURES = format("pdf.signatures", Objects, Metadata, "Signatures: signer, time and format as recorded, and whether the whole file is covered; nothing is verified")
        .ours(PDF).by(&[PdfDocumentFeatures, PdfDeepDocumentFeatures, PdfActiveContentAssessment]);

    PDF_FONTS = format("pdf.fonts", Objects, Metadata, "Fonts: name, type, whether they are embedded, and whether as a subset")
        .ours(PDF).by(&[PdfDocumentFeatures, PdfDeepDocumentFeatures, PdfActiveContentAssessment]);
    PDF_IMAGE_COUNT = format("pdf.image_count", U64, Metadata, "Image objects, masks not counted")
        .ours(PDF).by(&[PdfDocumentFeatures, PdfDeepDocumentFeatures, PdfActiveContentAssessment]);
    PDF_PAGE_SIZE_CLASSES = format("pdf.page_size_classes", Objects, Metadata, "Page sizes by name, such as A4 or Letter, with orientation and number of pages")
        .ours(PDF).by(&[PdfDocumentFeatures, PdfDeepDocumentFeatures, PdfActiveContentAssessment]);
    PDF_FORM_TYPE = format("pdf.form_type", Text, Metadata, "none, acroform, xfa or acroform_xfa")
        .ours(PDF).by(&[PdfDocumentStructure]);
    PDF_PERMISSIONS = format("pdf.permissions", ObjectOrNull, Metadata, "What users without the owner's password may do; null when the document is not encrypted")
        .ours(PDF).by(&[PdfDocumentStructure]);
    PDF_OUTLINE_ITEM_COUNT = format("pdf.outline_item_count", U64, Metadata, "Bookmarks")
        .ours(PDF).by(&[PdfDocumentStructure]);
    PDF_OUTLINE_DEPTH = format("pdf.outline_depth", U64, Metadata, "Levels of bookmarks")
        .ours(PDF).by(&[PdfDocumentStructure]);
    PDF_PAGE_LABELS = format("pdf.page_labels", Objects, Metadata, "Ranges of page labels: first page, style, prefix and start")
        .ours(PDF).by(&[PdfDocumentStructure]);
    PDF_INCREMENTAL_UPDATE_COUNT = format("pdf.incremental_update_count", U64, Metadata, "Updates that were appended to the file")
        .ours(PDF).by(&[PdfDocumentStructure]);
    PDF_PRODUCER_FAMILY = format("pdf.producer_family", TextOrNull, Metadata, "Family of the program that wrote the file, by its name")
        .ours(PDF).by(&[PdfInfoDictionary]);
    PDF_TEXT_LAYER = format("pdf.text_layer", Text, Deep, "full, partial or none, by a sample of up to ten pages")
        .ours(PDF).by(&[PdfPageContent]);
    PDF_IS_SCAN = format("pdf.is_scan", Bool, Deep, "Whether the sampled pages show images and no text")
        .ours(PDF).by(&[PdfPageContent]);
    PDF_PAGE_TEXT = format("pdf.page_text", Objects, Deep, "For each sampled page whether it shows text and images")
        .ours(PDF).by(&[PdfPageContent]);

    WORD_PAGE_COUNT = format("word.page_count", U64OrNull, Metadata, "Pages as counted by the application")
        .contract(WORD | DOC).by(&[WordAppStatistics, OfficeLegacySummaryInformation, OfficeLegacyContentStatistics])
        .default(WORD | DOC).summary(WORD);
    WORD_WORD_COUNT = format("word.word_count", U64OrNull, Metadata, "Words as counted by the application or from the text")
        .contract(WORD | DOC).by(&[WordAppStatistics, OfficeLegacySummaryInformation, OfficeLegacyContentStatistics])
        .default(WORD | DOC).summary(WORD);
    WORD_CHARACTER_COUNT = format("word.character_count", U64OrNull, Metadata, "Characters as counted by the application or from the text")
        .contract(WORD | DOC).by(&[WordAppStatistics, OfficeLegacySummaryInformation, OfficeLegacyContentStatistics])
        .default(DOC);
    WORD_PARAGRAPH_COUNT = format("word.paragraph_count", U64OrNull, Metadata, "Paragraphs")
        .contract(WORD | DOC).by(&[WordAppStatistics, WordDocumentStructure, OfficeLegacyContentStatistics])
        .default(DOC).deep_default(WORD);
    WORD_TABLE_COUNT = format("word.table_count", U64OrNull, Deep, "Tables")
        .contract(WORD).by(&[WordDocumentStructure]).deep_default(WORD);
    WORD_IS_TEMPLATE = format("word.is_template", Bool, Metadata, "Whether the file is a template")
        .contract(WORD | DOC).by(&[WordProfile, OfficeLegacyContentStatistics]).default(WORD | DOC).summary(WORD);
    WORD_UNIQUE_IMAGE_ASSET_COUNT = format("word.unique_image_asset_count", U64, Metadata, "Distinct image parts")
        .contract(WORD).by(&[WordAssetInventory]);
    WORD_COMMENT_PART_COUNT = format("word.comment_part_count", U64, Metadata, "Comment parts in the package")
        .contract(WORD).by(&[WordAssetInventory]);
    WORD_BODY_WORD_COUNT = format("word.body_word_count", U64OrNull, Deep, "Words of the main text, counted")
        .ours(WORD).by(&[WordDocumentStructure]);
    WORD_BODY_CHARACTER_COUNT = format("word.body_character_count", U64OrNull, Deep, "Characters of the main text without white space, counted")
        .ours(WORD).by(&[WordDocumentStructure]);
    WORD_HEADING_COUNT = format("word.heading_count", U64OrNull, Deep, "Paragraphs of the main text that are headings, by style or outline level")
        .ours(WORD).by(&[WordDocumentStructure]);
    WORD_SECTION_COUNT = format("word.section_count", U64OrNull, Deep, "Sections of the main text")
        .ours(WORD).by(&[WordDocumentStructure]);
    WORD_FOOTNOTE_COUNT = format("word.footnote_count", U64OrNull, Deep, "References to footnotes in the main text")
        .ours(WORD).by(&[WordDocumentStructure]);
    WORD_ENDNOTE_COUNT = format("word.endnote_count", U64OrNull, Deep, "References to endnotes in the main text")
        .ours(WORD).by(&[WordDocumentStructure]);
    WORD_IMAGE_COUNT = format("word.image_count", U64OrNull, Deep, "Pictures in the main text")
        .ours(WORD).by(&[WordDocumentStructure]);
    WORD_INSERTION_COUNT = format("word.insertion_count", U64OrNull, Deep, "Tracked insertions in the main text")
        .ours(WORD).by(&[WordDocumentStructure]);
    WORD_DELETION_COUNT = format("word.deletion_count", U64OrNull, Deep, "Tracked deletions in the main text")
        .ours(WORD).by(&[WordDocumentStructure]);
    WORD_HAS_HIDDEN_TEXT = format("word.has_hidden_text", BoolOrNull, Deep, "Whether the main text has hidden runs")
        .ours(WORD).by(&[WordDocumentStructure]);
    WORD_COMMENT_COUNT = format("word.comment_count", U64OrNull, Deep, "Comments")
        .ours(WORD).by(&[WordDocumentStructure]);
    WORD_COMMENTER_COUNT = format("word.commenter_count", U64OrNull, Deep, "Different authors of comments")
        .ours(WORD).by(&[WordDocumentStructure]);
    WORD_PROTECTION = format("word.protection", TextOrNull, Metadata, "Kind of editing that the document is protected down to: read-only, forms, comments, tracked-changes; null without")
        .ours(WORD).by(&[WordReviewSettings]);

    EXCEL_SHEET_COUNT = format("excel.sheet_count", U64OrNull, Metadata, "Sheets of every kind, hidden ones included")
        .contract(EXCEL | XLS).by(&[ExcelWorkbookXml, ExcelWorksheetInventory, OfficeLegacyContentStatistics])
        .default(EXCEL | XLS).summary(EXCEL);
    EXCEL_SHEET_NAMES = format("excel.sheet_names", StringsOrNull, Metadata, "Names of the sheets in tab order")
        .contract(EXCEL | XLS).by(&[ExcelWorkbookXml, OfficeLegacyContentStatistics]).default(EXCEL | XLS)
        .summary(EXCEL);
    EXCEL_HIDDEN_SHEET_COUNT = format("excel.hidden_sheet_count", U64OrNull, Metadata, "Sheets that are hidden or very hidden")
        .contract(EXCEL).ours(XLS).by(&[ExcelWorkbookXml, OfficeLegacyContentStatistics]).default(EXCEL);
    EXCEL_HIDDEN_SHEET_NAMES = format("excel.hidden_sheet_names", StringsOrNull, Metadata, "Names of the hidden sheets, which a user can show")
        .ours(EXCEL).by(&[ExcelWorkbookXml]);
    EXCEL_VERY_HIDDEN_SHEET_NAMES = format("excel.very_hidden_sheet_names", StringsOrNull, Metadata, "Names of the sheets that only a program can show")
        .ours(EXCEL).by(&[ExcelWorkbookXml]);
    EXCEL_EXTERNAL_LINK_TARGETS = format("excel.external_link_targets", StringsOrNull, Deep, "What external link parts lead to")
        .ours(EXCEL).by(&[ExcelExternalLinks]);
    EXCEL_DEFINED_NAME_COUNT = format("excel.defined_name_count", U64OrNull, Metadata, "Names that the user defined in the workbook")
        .contract(EXCEL).ours(XLS).by(&[ExcelWorkbookXml, OfficeLegacyContentStatistics]);
    EXCEL_SHARED_STRING_COUNT = format("excel.shared_string_count", U64OrNull, Deep, "Distinct strings in the shared string table")
        .contract(EXCEL).ours(XLS).by(&[ExcelSharedStrings, OfficeLegacyContentStatistics]).deep_default(EXCEL);
    EXCEL_TABLE_COUNT = format("excel.table_count", U64OrNull, Metadata, "Table (list object) parts")
        .contract(EXCEL).by(&[ExcelTableInventory]).default(EXCEL);
    EXCEL_IS_TEMPLATE = format("excel.is_template", Bool, Metadata, "Whether the file is a template")
        .contract(EXCEL | XLS).by(&[ExcelProfile, OfficeLegacyContentStatistics]).default(EXCEL | XLS).summary(EXCEL);
    EXCEL_BINARY_WORKBOOK = format("excel.binary_workbook", Bool, Metadata, "Whether the workbook is stored in a binary format")
        .contract(EXCEL | XLS).by(&[ExcelProfile, OfficeLegacyContentStatistics]).default(EXCEL | XLS).summary(EXCEL);
    EXCEL_CHART_PART_COUNT = format("excel.chart_part_count", U64, Metadata, "Chart parts in the package")
        .contract(EXCEL).by(&[ExcelAssetInventory]);
    EXCEL_PIVOT_TABLE_PART_COUNT = format("excel.pivot_table_part_count", U64, Metadata, "Pivot table parts in the package")
        .contract(EXCEL).by(&[ExcelAssetInventory]);
    EXCEL_UNIQUE_IMAGE_ASSET_COUNT = format("excel.unique_image_asset_count", U64, Metadata, "Distinct image parts")
        .contract(EXCEL).by(&[ExcelAssetInventory]);

    POWERPOINT_SLIDE_COUNT = format("powerpoint.slide_count", U64OrNull, Metadata, "Slides of the show, hidden ones included")
        .contract(POWERPOINT | PPT)
        .by(&[PowerpointAppStatistics, PowerpointPresentationXml, OfficeLegacyContentStatistics])
        .default(POWERPOINT | PPT).summary(POWERPOINT);
    POWERPOINT_HIDDEN_SLIDE_COUNT = format("powerpoint.hidden_slide_count", U64OrNull, Metadata, "Slides that are hidden in the show")
        .contract(POWERPOINT).ours(PPT).by(&[PowerpointPresentationXml, OfficeLegacyContentStatistics])
        .default(POWERPOINT);
    POWERPOINT_HIDDEN_SLIDE_NUMBERS = format("powerpoint.hidden_slide_numbers", Numbers, Metadata, "Places of the hidden slides in the show, from 1")
        .ours(POWERPOINT).by(&[PowerpointPresentationXml]);
    POWERPOINT_SLIDE_TITLES = format("powerpoint.slide_titles", Texts, Deep, "Titles of the slides in order, empty where a slide has none")
        .ours(POWERPOINT).by(&[PowerpointSlides]);
    POWERPOINT_TRANSITION_COUNT = format("powerpoint.transition_count", U64OrNull, Deep, "Slides with a transition")
        .ours(POWERPOINT).by(&[PowerpointSlides]);
    POWERPOINT_MASTER_COUNT = format("powerpoint.master_count", U64OrNull, Metadata, "Slide masters")
        .contract(POWERPOINT).ours(PPT).by(&[PowerpointPartInventory, OfficeLegacyContentStatistics])
        .default(POWERPOINT);
    POWERPOINT_LAYOUT_COUNT = format("powerpoint.layout_count", U64OrNull, Metadata, "Slide layouts")
        .contract(POWERPOINT).by(&[PowerpointPartInventory]).default(POWERPOINT);
    POWERPOINT_NOTES_SLIDE_COUNT = format("powerpoint.notes_slide_count", U64OrNull, Metadata, "Slides with a notes page")
        .contract(POWERPOINT | PPT).by(&[PowerpointPartInventory, OfficeLegacyContentStatistics]).default(PPT);
    POWERPOINT_SLIDE_SIZE = format("powerpoint.slide_size", ObjectOrNull, Metadata, "Size of a slide in EMU and points")
        .contract(POWERPOINT).ours(PPT).by(&[PowerpointPresentationXml, OfficeLegacyContentStatistics])
        .default(POWERPOINT).summary(POWERPOINT);
    POWERPOINT_ASPECT_RATIO = format("powerpoint.aspect_ratio", ObjectOrNull, Metadata, "Width to height of a slide")
        .contract(POWERPOINT).ours(PPT).by(&[PowerpointPresentationXml, OfficeLegacyContentStatistics])
        .default(POWERPOINT).summary(POWERPOINT);
    POWERPOINT_ORIENTATION = format("powerpoint.orientation", TextOrNull, Metadata, "landscape, portrait or square")
        .contract(POWERPOINT).ours(PPT).by(&[PowerpointPresentationXml, OfficeLegacyContentStatistics])
        .default(POWERPOINT).summary(POWERPOINT);
    POWERPOINT_PRESENTATION_KIND = format("powerpoint.presentation_kind", Text, Metadata, "presentation, show or template")
        .contract(POWERPOINT | PPT).by(&[PowerpointProfile, OfficeLegacyContentStatistics]).default(POWERPOINT | PPT)
        .summary(POWERPOINT);
    POWERPOINT_CHART_PART_COUNT = format("powerpoint.chart_part_count", U64, Metadata, "Chart parts in the package")
        .contract(POWERPOINT).by(&[PowerpointAssetInventory]);
    POWERPOINT_UNIQUE_IMAGE_ASSET_COUNT = format("powerpoint.unique_image_asset_count", U64, Metadata, "Distinct image parts")
        .contract(POWERPOINT).by(&[PowerpointAssetInventory]);
    POWERPOINT_UNIQUE_MEDIA_ASSET_COUNT = format("powerpoint.unique_media_asset_count", U64, Metadata, "Distinct audio and video parts")
        .contract(POWERPOINT).by(&[PowerpointAssetInventory]);
    POWERPOINT_COMMENT_PART_COUNT = format("powerpoint.comment_part_count", U64, Metadata, "Comment parts in the package")
        .contract(POWERPOINT).by(&[PowerpointAssetInventory]);

    IWORK_DOCUMENT_KIND = format("iwork.document_kind", Text, Header, "keynote, numbers or pages")
        .contract(IWORK).by(&[IworkIdentity]).header(IWORK);
    IWORK_FILE_FORMAT_VERSION = format("iwork.file_format_version", TextOrNull, Metadata, "Version of the file format")
        .contract(IWORK).by(&[IworkPackageMetadata]).default(IWORK);
    IWORK_PRODUCER_BUILD = format("iwork.producer_build", TextOrNull, Metadata, "Build of the application that saved the document last")
        .contract(IWORK).by(&[IworkPackageMetadata]);
    IWORK_PACKAGE_ENTRY_COUNT = format("iwork.package_entry_count", U64, Metadata, "Entries in the package")
        .contract(IWORK).by(&[IworkPackageInventory]).default(IWORK);
    IWORK_IWA_ENTRY_COUNT = format("iwork.iwa_entry_count", U64, Metadata, "IWA components in the package")
        .contract(IWORK).by(&[IworkPackageInventory]).default(IWORK);
    IWORK_DATA_ASSET_COUNT = format("iwork.data_asset_count", U64, Metadata, "Files under Data/")
        .contract(IWORK).by(&[IworkPackageInventory]).default(IWORK);
    IWORK_DATA_ASSET_BYTES = format("iwork.data_asset_bytes", U64, Metadata, "Total size of the data assets in bytes")
        .contract(IWORK).by(&[IworkPackageInventory]);
    IWORK_ASSET_TYPE_COUNTS = format("iwork.asset_type_counts", Object, Metadata, "Data assets by kind: audio, font, image, other, video")
        .contract(IWORK).by(&[IworkPackageInventory]);
    IWORK_HAS_PREVIEW = format("iwork.has_preview", Bool, Metadata, "Whether the package holds a preview image")
        .contract(IWORK).by(&[IworkPackageInventory]).default(IWORK).summary(IWORK);
    IWORK_PREVIEW_COUNT = format("iwork.preview_count", U64, Metadata, "Preview images in the package")
        .contract(IWORK).by(&[IworkPackageInventory]);
    IWORK_PREVIEW_DIMENSIONS = format("iwork.preview_dimensions", Object, Metadata, "Pixel size of each preview image")
        .contract(IWORK).by(&[IworkPreviewMetadata]);
    IWORK_IS_MULTI_PAGE = format("iwork.is_multi_page", BoolOrNull, Metadata, "Whether the document has more than one page")
        .contract(IWORK).by(&[IworkPackageMetadata]).default(IWORK).summary(PAGES);
    IWORK_HAS_EXTERNAL_OR_MISSING_DATA = format("iwork.has_external_or_missing_data", BoolOrNull, Metadata, "Whether data is referenced outside the package or missing")
        .contract(IWORK).by(&[IworkPackageMetadata]);
    IWORK_ALL_IWA_VALID = format("iwork.all_iwa_valid", Bool, Deep, "Whether every IWA component decodes")
        .contract(IWORK).by(&[IworkIwaIntegrity, IworkIwaObjects]);
    IWORK_ARCHIVE_OBJECT_COUNT = format("iwork.archive_object_count", U64, Deep, "Archived objects in all IWA components")
        .contract(IWORK).by(&[IworkIwaObjects]);
    IWORK_MESSAGE_TYPE_COUNTS = format("iwork.message_type_counts", Object, Deep, "Archived messages by type number")
        .contract(IWORK).by(&[IworkIwaObjects]);
    IWORK_OBJECT_TYPE_COUNTS = format("iwork.object_type_counts", Object, Deep, "Archived objects by kind")
        .contract(IWORK).by(&[IworkIwaObjects]);

    KEYNOTE_SLIDE_COUNT = format("keynote.slide_count", U64, Metadata, "Slides of the show")
        .contract(KEYNOTE).by(&[IworkPackageInventory]).default(KEYNOTE).summary(KEYNOTE);
    KEYNOTE_MASTER_SLIDE_COUNT = format("keynote.master_slide_count", U64, Metadata, "Master or template slides")
        .contract(KEYNOTE).by(&[IworkPackageInventory]).default(KEYNOTE);
    KEYNOTE_TABLE_COMPONENT_COUNT = format("keynote.table_component_count", U64, Metadata, "Table tile components")
        .contract(KEYNOTE).by(&[IworkPackageInventory]).default(KEYNOTE);
    KEYNOTE_SLIDE_SIZE = format("keynote.slide_size", ObjectOrNull, Deep, "Size of a slide in points")
        .contract(KEYNOTE).by(&[IworkIwaObjects]).summary(KEYNOTE);
    KEYNOTE_ASPECT_RATIO = format("keynote.aspect_ratio", ObjectOrNull, Deep, "Width to height of a slide")
        .contract(KEYNOTE).by(&[IworkIwaObjects]).summary(KEYNOTE);
    KEYNOTE_ORIENTATION = format("keynote.orientation", TextOrNull, Deep, "landscape, portrait or square")
        .contract(KEYNOTE).by(&[IworkIwaObjects]).summary(KEYNOTE);
    KEYNOTE_HIDDEN_SLIDE_COUNT = format("keynote.hidden_slide_count", U64, Deep, "Slides that are skipped in the show")
        .contract(KEYNOTE).by(&[IworkIwaObjects]).summary(KEYNOTE);
    KEYNOTE_SLIDES_WITH_NOTES_COUNT = format("keynote.slides_with_notes_count", U64, Deep, "Slides with presenter notes")
        .contract(KEYNOTE).by(&[IworkIwaObjects]);
    KEYNOTE_SLIDES_WITH_BUILDS_COUNT = format("keynote.slides_with_builds_count", U64, Deep, "Slides with builds")
        .contract(KEYNOTE).by(&[IworkIwaObjects]);
    KEYNOTE_SLIDES_WITH_TRANSITIONS_COUNT = format("keynote.slides_with_transitions_count", U64, Deep, "Slides with a transition")
        .contract(KEYNOTE).by(&[IworkIwaObjects]);
    KEYNOTE_TABLE_COUNT = format("keynote.table_count", U64, Deep, "Tables on the slides")
        .contract(KEYNOTE).by(&[IworkIwaObjects]);

    NUMBERS_SHEET_COUNT = format("numbers.sheet_count", U64OrNull, Metadata, "Sheets")
        .contract(NUMBERS).by(&[IworkPackageInventory]).default(NUMBERS).summary(NUMBERS);
    NUMBERS_SHEET_NAMES = format("numbers.sheet_names", TextsOrNull, Metadata, "Names of the sheets in order")
        .contract(NUMBERS).by(&[IworkPackageInventory]).default(NUMBERS).summary(NUMBERS);
    NUMBERS_TABLE_COMPONENT_COUNT = format("numbers.table_component_count", U64, Metadata, "Table tile components")
        .contract(NUMBERS).by(&[IworkPackageInventory]).default(NUMBERS);
    NUMBERS_TABLE_COUNT = format("numbers.table_count", U64, Deep, "Tables")
        .contract(NUMBERS).by(&[IworkIwaObjects]).summary(NUMBERS);
    NUMBERS_TABLE_DIMENSIONS = format("numbers.table_dimensions", Objects, Deep, "Rows, columns and hidden parts of each table")
        .contract(NUMBERS).by(&[IworkIwaObjects]);
    NUMBERS_HIDDEN_ROW_COUNT = format("numbers.hidden_row_count", U64, Deep, "Hidden rows over all tables")
        .contract(NUMBERS).by(&[IworkIwaObjects]);
    NUMBERS_HIDDEN_COLUMN_COUNT = format("numbers.hidden_column_count", U64, Deep, "Hidden columns over all tables")
        .contract(NUMBERS).by(&[IworkIwaObjects]);
    NUMBERS_FILTERED_ROW_COUNT = format("numbers.filtered_row_count", U64, Deep, "Rows hidden by a filter, over all tables")
        .contract(NUMBERS).by(&[IworkIwaObjects]);
    NUMBERS_FORMULA_DEFINITION_COUNT = format("numbers.formula_definition_count", U64, Deep, "Formula definitions over all tables")
        .contract(NUMBERS).by(&[IworkIwaObjects]);

    PAGES_TABLE_COMPONENT_COUNT = format("pages.table_component_count", U64, Metadata, "Table tile components")
        .contract(PAGES).by(&[IworkPackageInventory]).default(PAGES);
    PAGES_SECTION_COUNT = format("pages.section_count", U64, Deep, "Sections")
        .contract(PAGES).by(&[IworkIwaObjects]).summary(PAGES);
    PAGES_SECTION_NAMES = format("pages.section_names", Texts, Deep, "Names of the sections")
        .contract(PAGES).by(&[IworkIwaObjects]);
    PAGES_PAGE_SIZE = format("pages.page_size", ObjectOrNull, Deep, "Size of a page in points")
        .contract(PAGES).by(&[IworkIwaObjects]).summary(PAGES);
    PAGES_ASPECT_RATIO = format("pages.aspect_ratio", ObjectOrNull, Deep, "Width to height of a page")
        .contract(PAGES).by(&[IworkIwaObjects]).summary(PAGES);
    PAGES_ORIENTATION = format("pages.orientation", TextOrNull, Deep, "landscape, portrait or square")
        .contract(PAGES).by(&[IworkIwaObjects]).summary(PAGES);
    PAGES_CHANGE_TRACKING_ENABLED = format("pages.change_tracking_enabled", Bool, Deep, "Whether changes are tracked")
        .contract(PAGES).by(&[IworkIwaObjects]);
    PAGES_BODY_TEXT_LENGTH = format("pages.body_text_length", U64OrNull, Deep, "Length of the body text in UTF-16 units")
        .contract(PAGES).by(&[IworkIwaObjects]);
    PAGES_BODY_PARAGRAPH_BREAK_COUNT = format("pages.body_paragraph_break_count", U64OrNull, Deep, "Paragraph breaks in the body text")
        .contract(PAGES).by(&[IworkIwaObjects]);
    PAGES_CACHED_PAGE_COUNT = format("pages.cached_page_count", U64OrNull, Deep, "Page count that the application saved")
        .contract(PAGES).by(&[IworkIwaObjects]).summary(PAGES);
    PAGES_TABLE_COUNT = format("pages.table_count", U64, Deep, "Tables")
        .contract(PAGES).by(&[IworkIwaObjects]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_ascend_with_ids_and_no_id_occurs_twice() {
        for pair in SPECS.windows(2) {
            assert!(
                pair[0].id < pair[1].id,
                "{} before {}",
                pair[0].id,
                pair[1].id
            );
        }
        assert_eq!(Target::DOCUMENT_TITLE.id(), "document.title");
        assert_eq!(Target::in_table_order().count(), Target::COUNT);
    }

    #[test]
    fn every_row_belongs_to_a_family_that_has_its_paths() {
        for spec in &SPECS {
            assert_eq!(spec.contract & spec.ours, 0, "{}", spec.id);
            for path in spec.paths.iter().chain(spec.our_paths) {
                let families = path.row().families;
                assert_ne!(
                    families & (spec.contract | spec.ours),
                    0,
                    "{} {path:?}",
                    spec.id
                );
            }
        }
    }
}
