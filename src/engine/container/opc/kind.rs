//! What a part is, as its content type says.

/// The kinds of parts that some target asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No content type is declared, or one that we have no use for.
    Other,
    /// A main part; which kind of document it makes.
    Main(Main),
    CoreProperties,
    ExtendedProperties,
    CustomProperties,
    Image,
    Audio,
    Video,
    Signature,
    VbaProject,
    ActiveX,
    Chart,
    WordComments,
    WordHeader,
    WordFooter,
    WordFootnotes,
    WordEndnotes,
    WordSettings,
    WordStyles,
    Worksheet,
    Chartsheet,
    Dialogsheet,
    Macrosheet,
    SharedStrings,
    Table,
    PivotTable,
    /// A link to another workbook, or to a DDE or OLE server.
    ExternalLink,
    /// Databases, web queries and other sources of data.
    Connections,
    Slide,
    SlideMaster,
    SlideLayout,
    NotesSlide,
    SlideComments,
}

/// The kinds of documents, by the content type of the main part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Main {
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
}

/// What most content types begin with.
const OPENXML: &str = "application/vnd.openxmlformats-officedocument.";

/// Whether there is more than small letters and signs.
fn is_odd(content_type: &str) -> bool {
    // Without a way out of the loop, so that many bytes are looked at at a time.
    content_type.bytes().fold(false, |any, byte| {
        any | (byte.is_ascii_uppercase() || byte <= b' ' || !byte.is_ascii())
    })
}

impl Kind {
    /// The kind that a content type names. Media types are the same in upper and lower case.
    pub(crate) fn of(content_type: &str) -> Self {
        match Self::exactly(content_type) {
            Self::Other if is_odd(content_type) => {
                Self::exactly(&content_type.trim().to_ascii_lowercase())
            }
            kind => kind,
        }
    }

    /// As [`Kind::of`], for the spellings in use and all lower case.
    fn exactly(content_type: &str) -> Self {
        if let Some(rest) = content_type.strip_prefix(OPENXML) {
            return Self::openxml(rest);
        }
        if content_type.starts_with("image/") {
            return Self::Image;
        }
        if content_type.starts_with("audio/") {
            return Self::Audio;
        }
        if content_type.starts_with("video/") {
            return Self::Video;
        }
        match content_type {
            "application/vnd.openxmlformats-package.core-properties+xml" => Self::CoreProperties,
            "application/vnd.openxmlformats-package.digital-signature-xmlsignature+xml" => {
                Self::Signature
            }
            other => other
                .strip_prefix("application/vnd.ms-")
                .map_or(Self::Other, Self::microsoft),
        }
    }

    fn openxml(rest: &str) -> Self {
        match rest {
            "extended-properties+xml" => Self::ExtendedProperties,
            "custom-properties+xml" => Self::CustomProperties,
            "drawingml.chart+xml" => Self::Chart,
            "wordprocessingml.document.main+xml" => Self::Main(Main::Docx),
            "wordprocessingml.template.main+xml" => Self::Main(Main::Dotx),
            "wordprocessingml.comments+xml" => Self::WordComments,
            "wordprocessingml.header+xml" => Self::WordHeader,
            "wordprocessingml.footer+xml" => Self::WordFooter,
            "wordprocessingml.footnotes+xml" => Self::WordFootnotes,
            "wordprocessingml.endnotes+xml" => Self::WordEndnotes,
            "wordprocessingml.settings+xml" => Self::WordSettings,
            "wordprocessingml.styles+xml" => Self::WordStyles,
            "spreadsheetml.externalLink+xml" | "spreadsheetml.externallink+xml" => {
                Self::ExternalLink
            }
            "spreadsheetml.connections+xml" => Self::Connections,
            "spreadsheetml.sheet.main+xml" => Self::Main(Main::Xlsx),
            "spreadsheetml.template.main+xml" => Self::Main(Main::Xltx),
            "spreadsheetml.worksheet+xml" => Self::Worksheet,
            "spreadsheetml.chartsheet+xml" => Self::Chartsheet,
            "spreadsheetml.dialogsheet+xml" => Self::Dialogsheet,
            "spreadsheetml.sharedStrings+xml" | "spreadsheetml.sharedstrings+xml" => {
                Self::SharedStrings
            }
            "spreadsheetml.table+xml" => Self::Table,
            "spreadsheetml.pivotTable+xml" | "spreadsheetml.pivottable+xml" => Self::PivotTable,
            "presentationml.presentation.main+xml" => Self::Main(Main::Pptx),
            "presentationml.slideshow.main+xml" => Self::Main(Main::Ppsx),
            "presentationml.template.main+xml" => Self::Main(Main::Potx),
            "presentationml.slide+xml" => Self::Slide,
            "presentationml.slideMaster+xml" | "presentationml.slidemaster+xml" => {
                Self::SlideMaster
            }
            "presentationml.slideLayout+xml" | "presentationml.slidelayout+xml" => {
                Self::SlideLayout
            }
            "presentationml.notesSlide+xml" | "presentationml.notesslide+xml" => Self::NotesSlide,
            "presentationml.comments+xml" => Self::SlideComments,
            _ => Self::Other,
        }
    }

    fn microsoft(rest: &str) -> Self {
        match rest {
            "word.document.macroEnabled.main+xml" | "word.document.macroenabled.main+xml" => {
                Self::Main(Main::Docm)
            }
            "word.template.macroEnabledTemplate.main+xml"
            | "word.template.macroenabledtemplate.main+xml" => Self::Main(Main::Dotm),
            "excel.sheet.macroEnabled.main+xml" | "excel.sheet.macroenabled.main+xml" => {
                Self::Main(Main::Xlsm)
            }
            "excel.template.macroEnabled.main+xml" | "excel.template.macroenabled.main+xml" => {
                Self::Main(Main::Xltm)
            }
            "excel.sheet.binary.macroEnabled.main" | "excel.sheet.binary.macroenabled.main" => {
                Self::Main(Main::Xlsb)
            }
            "excel.worksheet" => Self::Worksheet,
            "excel.chartsheet" => Self::Chartsheet,
            "excel.dialogsheet" => Self::Dialogsheet,
            "excel.macrosheet"
            | "excel.intlmacrosheet"
            | "excel.macrosheet+xml"
            | "excel.intlmacrosheet+xml" => Self::Macrosheet,
            "excel.sharedStrings" | "excel.sharedstrings" => Self::SharedStrings,
            "excel.externalLink" | "excel.externallink" => Self::ExternalLink,
            "excel.connections" => Self::Connections,
            "excel.table" => Self::Table,
            "excel.pivotTable" | "excel.pivottable" => Self::PivotTable,
            "powerpoint.presentation.macroEnabled.main+xml"
            | "powerpoint.presentation.macroenabled.main+xml" => Self::Main(Main::Pptm),
            "powerpoint.slideshow.macroEnabled.main+xml"
            | "powerpoint.slideshow.macroenabled.main+xml" => Self::Main(Main::Ppsm),
            "powerpoint.template.macroEnabled.main+xml"
            | "powerpoint.template.macroenabled.main+xml" => Self::Main(Main::Potm),
            "powerpoint.comments+xml" => Self::SlideComments,
            "office.vbaProject" | "office.vbaproject" => Self::VbaProject,
            "office.activeX+xml" | "office.activex+xml" => Self::ActiveX,
            "office.chartex+xml" => Self::Chart,
            _ => Self::Other,
        }
    }
}
