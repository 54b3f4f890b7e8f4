//! The formats, one row each: what they are called, how they are recognised, who answers for them, and
//! by which paths.
//!
//! To add a format: add a row to [`Profile`], one to [`DriverId`] unless a driver has it already, the
//! driver's paths to [`PathId`], and the driver itself to [`driver`](crate::engine::driver).

use super::options::{
    COMMON_OPTIONS, EXCEL_OPTIONS, FormatOptions, OptionSpec, PDF_OPTIONS, POWERPOINT_OPTIONS,
    WORD_OPTIONS,
};
use super::table::table;
use crate::contract::Confidence::{self, Exact, High, Medium};
use crate::contract::Level::{self, Deep, Header, Metadata};

/// A set of format families, one bit each. Profiles of one family share a catalogue and paths.
pub(crate) type Families = u32;

pub(crate) mod families {
    use super::Families;

    pub(crate) const PDF: Families = 1;
    pub(crate) const WORD: Families = 1 << 1;
    pub(crate) const EXCEL: Families = 1 << 2;
    pub(crate) const POWERPOINT: Families = 1 << 3;
    pub(crate) const KEYNOTE: Families = 1 << 4;
    pub(crate) const NUMBERS: Families = 1 << 5;
    pub(crate) const PAGES: Families = 1 << 6;
    pub(crate) const DOC: Families = 1 << 7;
    pub(crate) const XLS: Families = 1 << 8;
    pub(crate) const PPT: Families = 1 << 9;
    pub(crate) const ENCRYPTED: Families = 1 << 10;

    pub(crate) const OOXML: Families = WORD | EXCEL | POWERPOINT;
    pub(crate) const IWORK: Families = KEYNOTE | NUMBERS | PAGES;
    pub(crate) const LEGACY: Families = DOC | XLS | PPT | ENCRYPTED;
    pub(crate) const ANY: Families = Families::MAX;
}
use families::*;

/// What a file begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Container {
    Pdf,
    Cfb,
    Zip,
    Other,
}

table! {
    /// The driver that answers for a profile (`driver.id`).
    DriverId: DriverSpec {
        Pdf = driver("pdf", Container::Pdf, "PDF", "PDF 1.0 to 2.0, damaged and encrypted files included")
            .options(PDF_OPTIONS);
        Word = driver("word", Container::Zip, "ZIP/OPC or encrypted CFB", OOXML_SUPPORT)
            .options(WORD_OPTIONS).when_encrypted(Container::Cfb).stands_for("word", "docx");
        Excel = driver("excel", Container::Zip, "ZIP/OPC or encrypted CFB", OOXML_SUPPORT)
            .options(EXCEL_OPTIONS).when_encrypted(Container::Cfb).stands_for("excel", "xlsx");
        Powerpoint = driver("powerpoint", Container::Zip, "ZIP/OPC or encrypted CFB", OOXML_SUPPORT)
            .options(POWERPOINT_OPTIONS).when_encrypted(Container::Cfb).stands_for("powerpoint", "pptx");
        Keynote = driver("keynote", Container::Zip, "ZIP/IWA", IWORK_SUPPORT)
            .stands_for("keynote", "key").group("iwork");
        Numbers = driver("numbers", Container::Zip, "ZIP/IWA", IWORK_SUPPORT).group("iwork");
        Pages = driver("pages", Container::Zip, "ZIP/IWA", IWORK_SUPPORT).group("iwork");
        OfficeLegacy = driver("office-legacy", Container::Cfb, "CFB/OLE", LEGACY_SUPPORT)
            .stands_for("legacy", "ppt").group("legacy");
    }
}

const OOXML_SUPPORT: &str =
    "Office Open XML, transitional and strict, macro-enabled and templates included";
const IWORK_SUPPORT: &str = "iWork packages of 2013 and later (IWA), and of '08 and '09 (XML)";
const LEGACY_SUPPORT: &str = "Office 97-2003 compound files (and 95 where noted), templates included; \
                              encrypted Office Open XML up to its boundary";

table! {
    /// A format profile (`driver.profile`).
    Profile: ProfileSpec {
        Pdf = profile("pdf", "pdf", "application/pdf", DriverId::Pdf, PDF);
        Docx = ooxml("docx", mime!(ooxml "wordprocessingml.document"), DriverId::Word, WORD);
        Docm = ooxml("docm", mime!(ms "word.document"), DriverId::Word, WORD);
        Dotx = ooxml("dotx", mime!(ooxml "wordprocessingml.template"), DriverId::Word, WORD);
        Dotm = ooxml("dotm", mime!(ms "word.template"), DriverId::Word, WORD);
        Xlsx = ooxml("xlsx", mime!(ooxml "spreadsheetml.sheet"), DriverId::Excel, EXCEL);
        Xlsm = ooxml("xlsm", mime!(ms "excel.sheet"), DriverId::Excel, EXCEL);
        Xltx = ooxml("xltx", mime!(ooxml "spreadsheetml.template"), DriverId::Excel, EXCEL);
        Xltm = ooxml("xltm", mime!(ms "excel.template"), DriverId::Excel, EXCEL);
        Xlsb = ooxml("xlsb", mime!(ms "excel.sheet.binary"), DriverId::Excel, EXCEL);
        Pptx = ooxml("pptx", mime!(ooxml "presentationml.presentation"), DriverId::Powerpoint, POWERPOINT);
        Pptm = ooxml("pptm", mime!(ms "powerpoint.presentation"), DriverId::Powerpoint, POWERPOINT);
        Ppsx = ooxml("ppsx", mime!(ooxml "presentationml.slideshow"), DriverId::Powerpoint, POWERPOINT);
        Ppsm = ooxml("ppsm", mime!(ms "powerpoint.slideshow"), DriverId::Powerpoint, POWERPOINT);
        Potx = ooxml("potx", mime!(ooxml "presentationml.template"), DriverId::Powerpoint, POWERPOINT);
        Potm = ooxml("potm", mime!(ms "powerpoint.template"), DriverId::Powerpoint, POWERPOINT);
        Key = iwork("key", "application/x-iwork-keynote-sffkey", DriverId::Keynote, KEYNOTE);
        Numbers = iwork("numbers", "application/x-iwork-numbers-sffnumbers", DriverId::Numbers, NUMBERS);
        Pages = iwork("pages", "application/x-iwork-pages-sffpages", DriverId::Pages, PAGES);
        Doc = legacy("doc", "application/msword", DOC).also(&["dot"]);
        Xls = legacy("xls", "application/vnd.ms-excel", XLS).also(&["xlt"]);
        Ppt = legacy("ppt", "application/vnd.ms-powerpoint", PPT).also(&["pps", "pot"]);
        EncryptedOoxml = profile(
            "encrypted-ooxml", "office-open-xml", "application/x-ole-storage",
            DriverId::OfficeLegacy, ENCRYPTED,
        ).unnamed();
    }
}

table! {
    /// A way to an answer, with its level, confidence and price (contract §7).
    PathId: PathRow {
        DocumentDigest = path("document.digest", ANY, Header, Exact, 1000);
        PdfHeader = path("pdf.header", PDF, Header, Exact, 1).identity();
        PdfDocumentStructure = path("pdf.document_structure", PDF, Metadata, Exact, 100);
        PdfInfoDictionary = path("pdf.info_dictionary", PDF, Metadata, High, 100);
        PdfDocumentFeatures = path("pdf.document_features", PDF, Metadata, Exact, 100);
        PdfDeepDocumentFeatures = path("pdf.deep_document_features", PDF, Deep, Exact, 105);
        PdfActiveContentAssessment = path("pdf.active_content_assessment", PDF, Deep, High, 110);
        PdfPageContent = path("pdf.page_content", PDF, Deep, High, 120);
        OoxmlIdentity = path("ooxml.identity", OOXML, Header, Exact, 1).identity();
        OoxmlCoreProperties = path("ooxml.core_properties", OOXML, Metadata, High, 8);
        OoxmlAppProperties = path("ooxml.app_properties", OOXML, Metadata, High, 8);
        OoxmlPackageInventory = path("ooxml.package_inventory", OOXML, Metadata, Exact, 4);
        OoxmlReadabilitySecurity = path("ooxml.readability_security", OOXML, Metadata, Exact, 1);
        OoxmlPackageSecurity = path("ooxml.package_security", OOXML, Metadata, Exact, 12);
        OoxmlDeepSecurity = path("ooxml.deep_security", OOXML, Deep, Exact, 14);
        WordProfile = path("word.profile", WORD, Metadata, Exact, 1);
        WordAssetInventory = path("word.asset_inventory", WORD, Metadata, Exact, 2);
        WordAppStatistics = path("word.app_statistics", WORD, Metadata, High, 8).when(|o| o.statistics_path.saved());
        WordDocumentStructure = path("word.document_structure", WORD, Deep, Exact, 40)
            .when(|o| o.statistics_path.content());
        WordReviewSettings = path("word.review_settings", WORD, Metadata, Exact, 9);
        ExcelProfile = path("excel.profile", EXCEL, Metadata, Exact, 1);
        ExcelTableInventory = path("excel.table_inventory", EXCEL, Metadata, Exact, 2);
        ExcelAssetInventory = path("excel.asset_inventory", EXCEL, Metadata, Exact, 2);
        ExcelWorkbookXml = path("excel.workbook_xml", EXCEL, Metadata, Exact, 12).when(|o| o.workbook_path.content());
        ExcelWorksheetInventory = path("excel.worksheet_inventory", EXCEL, Metadata, Medium, 2)
            .when(|o| o.workbook_path.saved());
        ExcelSharedStrings = path("excel.shared_strings", EXCEL, Deep, Exact, 20);
        ExcelExternalLinks = path("excel.external_links", EXCEL, Deep, Exact, 15);
        PowerpointProfile = path("powerpoint.profile", POWERPOINT, Metadata, Exact, 1);
        PowerpointPartInventory = path("powerpoint.part_inventory", POWERPOINT, Metadata, Exact, 2);
        PowerpointAssetInventory = path("powerpoint.asset_inventory", POWERPOINT, Metadata, Exact, 2);
        PowerpointAppStatistics = path("powerpoint.app_statistics", POWERPOINT, Metadata, High, 4)
            .when(|o| o.slide_count_path.saved());
        PowerpointPresentationXml = path("powerpoint.presentation_xml", POWERPOINT, Metadata, Exact, 12)
            .when(|o| o.slide_count_path.content());
        PowerpointSlides = path("powerpoint.slides", POWERPOINT, Deep, Exact, 60);
        OfficeLegacyCfbInventory = path("office_legacy.cfb_inventory", LEGACY, Header, Exact, 4).identity();
        OfficeLegacySummaryInformation = path("office_legacy.summary_information", LEGACY, Metadata, High, 8);
        OfficeLegacyContentStatistics = path("office_legacy.content_statistics", LEGACY, Metadata, Exact, 50);
        OfficeLegacyReferences = path("office_legacy.references", DOC | XLS | PPT, Metadata, High, 400);
        IworkIdentity = path("iwork.identity", IWORK, Header, Exact, 3).identity();
        IworkPackageMetadata = path("iwork.package_metadata", IWORK, Metadata, High, 4);
        IworkPackageInventory = path("iwork.package_inventory", IWORK, Metadata, Exact, 8);
        IworkPreviewMetadata = path("iwork.preview_metadata", IWORK, Metadata, Exact, 5);
        IworkIwaIntegrity = path("iwork.iwa_integrity", IWORK, Deep, Exact, 40);
        IworkIwaObjects = path("iwork.iwa_objects", IWORK, Deep, Exact, 42);
    }
}

/// One row of the driver table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DriverSpec {
    pub(crate) name: &'static str,
    /// What its documents begin with.
    pub(crate) container: Container,
    /// What they begin with when they are encrypted, where that differs.
    pub(crate) encrypted: Option<Container>,
    /// The container in words, for messages.
    pub(crate) container_name: &'static str,
    /// `support` of the discovery output.
    pub(crate) support: &'static str,
    pub(crate) options: &'static [OptionSpec],
    /// A name that discovery takes, and the profile that it names.
    pub(crate) alias: Option<(&'static str, &'static str)>,
    /// Another name under which the driver's formats can be asserted.
    pub(crate) group: Option<&'static str>,
}

const fn driver(
    name: &'static str,
    container: Container,
    container_name: &'static str,
    support: &'static str,
) -> DriverSpec {
    DriverSpec {
        name,
        container,
        encrypted: None,
        container_name,
        support,
        options: &[],
        alias: None,
        group: None,
    }
}

impl DriverSpec {
    const fn options(mut self, options: &'static [OptionSpec]) -> Self {
        self.options = options;
        self
    }

    const fn when_encrypted(mut self, container: Container) -> Self {
        self.encrypted = Some(container);
        self
    }

    const fn stands_for(mut self, name: &'static str, profile: &'static str) -> Self {
        self.alias = Some((name, profile));
        self
    }

    const fn group(mut self, name: &'static str) -> Self {
        self.group = Some(name);
        self
    }
}

impl DriverId {
    /// The options of the driver, and those that every driver has.
    pub(crate) fn options(self) -> impl Iterator<Item = &'static OptionSpec> {
        self.row().options.iter().chain(COMMON_OPTIONS)
    }

    pub(crate) const fn as_str(self) -> &'static str {
        self.row().name
    }
}

/// One row of the profile table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProfileSpec {
    pub(crate) name: &'static str,
    /// `document.format`.
    pub(crate) format: &'static str,
    pub(crate) mime: &'static str,
    /// Whether the name is the extension of its files.
    is_extension: bool,
    /// More extensions of its files.
    more_extensions: &'static [&'static str],
    pub(crate) driver: DriverId,
    pub(crate) family: Families,
}

const fn profile(
    name: &'static str,
    format: &'static str,
    mime: &'static str,
    driver: DriverId,
    family: Families,
) -> ProfileSpec {
    ProfileSpec {
        name,
        format,
        mime,
        is_extension: true,
        more_extensions: &[],
        driver,
        family,
    }
}

const fn ooxml(
    name: &'static str,
    mime: &'static str,
    driver: DriverId,
    family: Families,
) -> ProfileSpec {
    profile(name, "office-open-xml", mime, driver, family)
}

const fn iwork(
    name: &'static str,
    mime: &'static str,
    driver: DriverId,
    family: Families,
) -> ProfileSpec {
    profile(name, "apple-iwork", mime, driver, family)
}

const fn legacy(name: &'static str, mime: &'static str, family: Families) -> ProfileSpec {
    profile(name, "office-legacy", mime, DriverId::OfficeLegacy, family)
}

/// Media types of Office Open XML: those of the standard, and those for macros.
macro_rules! mime {
    (ooxml $kind:literal) => {
        concat!("application/vnd.openxmlformats-officedocument.", $kind)
    };
    (ms $kind:literal) => {
        concat!("application/vnd.ms-", $kind, ".macroenabled.12")
    };
}
use mime;

impl ProfileSpec {
    /// Files of this profile have these extensions too.
    const fn also(mut self, extensions: &'static [&'static str]) -> Self {
        self.more_extensions = extensions;
        self
    }

    /// No extension leads to this profile.
    const fn unnamed(mut self) -> Self {
        self.is_extension = false;
        self
    }
}

impl Profile {
    pub(crate) const COUNT: usize = Self::ALL.len();

    pub(crate) const fn spec(self) -> &'static ProfileSpec {
        self.row()
    }

    pub(crate) const fn name(self) -> &'static str {
        self.row().name
    }

    pub(crate) const fn driver(self) -> DriverId {
        self.row().driver
    }

    pub(crate) const fn family(self) -> Families {
        self.row().family
    }

    /// Whether files of this extension (lower case) are of this profile.
    pub(crate) fn has_extension(self, extension: &str) -> bool {
        let row = self.row();
        row.is_extension && row.name == extension || row.more_extensions.contains(&extension)
    }

    /// The paths that the profile's driver has.
    pub(crate) fn paths(self) -> impl Iterator<Item = PathId> {
        let family = self.family();
        let paths = PathId::ALL.iter().copied();
        paths.filter(move |path| path.row().families & family != 0)
    }
}

/// One row of the path table. Which targets a path yields is in the rows of the targets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathRow {
    /// The id in reports.
    pub(crate) name: &'static str,
    pub(crate) families: Families,
    pub(crate) min_level: Level,
    pub(crate) confidence: Confidence,
    pub(crate) estimated_cost: u64,
    /// Whether it yields the six identity targets.
    pub(crate) is_identity: bool,
    /// Whether the path exists with these format options; `None` = always.
    pub(crate) when: Option<fn(&FormatOptions) -> bool>,
}

const fn path(
    name: &'static str,
    families: Families,
    min_level: Level,
    confidence: Confidence,
    estimated_cost: u64,
) -> PathRow {
    PathRow {
        name,
        families,
        min_level,
        confidence,
        estimated_cost,
        is_identity: false,
        when: None,
    }
}

impl PathRow {
    const fn identity(mut self) -> Self {
        self.is_identity = true;
        self
    }

    const fn when(mut self, exists: fn(&FormatOptions) -> bool) -> Self {
        self.when = Some(exists);
        self
    }
}

impl PathId {
    pub(super) const COUNT: usize = Self::ALL.len();

    /// The id as printed in reports.
    pub(crate) const fn name(self) -> &'static str {
        self.row().name
    }
}
