//! Small packages as their applications would write them, with the part under test in one's hands.

use super::zip::{Archive, Part};

pub(super) const CONTENT_TYPES: &str = "[Content_Types].xml";
pub(super) const WORD_NS: &str = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";
pub(super) const SHEET_NS: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
pub(super) const SLIDE_NS: &str = "http://schemas.openxmlformats.org/presentationml/2006/main";
pub(super) const RELATIONSHIP_NS: &str =
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const STRICT_RELATIONSHIP_NS: &str = "http://purl.oclc.org/ooxml/officeDocument/relationships";
const OPENXML: &str = "application/vnd.openxmlformats-officedocument.";

/// The content type of the main part of each extension (ISO/IEC 29500-1; Microsoft's for macros).
pub(super) const MAIN_TYPES: [(&str, &str); 15] = [
    (
        "docx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml",
    ),
    (
        "docm",
        "application/vnd.ms-word.document.macroEnabled.main+xml",
    ),
    (
        "dotx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml",
    ),
    (
        "dotm",
        "application/vnd.ms-word.template.macroEnabledTemplate.main+xml",
    ),
    (
        "xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml",
    ),
    (
        "xlsm",
        "application/vnd.ms-excel.sheet.macroEnabled.main+xml",
    ),
    (
        "xltx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.template.main+xml",
    ),
    (
        "xltm",
        "application/vnd.ms-excel.template.macroEnabled.main+xml",
    ),
    (
        "xlsb",
        "application/vnd.ms-excel.sheet.binary.macroEnabled.main",
    ),
    (
        "pptx",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml",
    ),
    (
        "pptm",
        "application/vnd.ms-powerpoint.presentation.macroEnabled.main+xml",
    ),
    (
        "ppsx",
        "application/vnd.openxmlformats-officedocument.presentationml.slideshow.main+xml",
    ),
    (
        "ppsm",
        "application/vnd.ms-powerpoint.slideshow.macroEnabled.main+xml",
    ),
    (
        "potx",
        "application/vnd.openxmlformats-officedocument.presentationml.template.main+xml",
    ),
    (
        "potm",
        "application/vnd.ms-powerpoint.template.macroEnabled.main+xml",
    ),
];

/// A package in the making.
#[derive(Clone)]
pub(super) struct Package {
    /// Part name, content type (none: the default of its extension), content.
    pub(super) parts: Vec<(String, Option<String>, Vec<u8>)>,
    /// Relationships of the package: type and target.
    pub(super) root: Vec<(String, String)>,
    strict: bool,
}

impl Package {
    /// A package of this extension with an empty main part and no properties.
    pub(super) fn new(extension: &str) -> Self {
        let main_type = MAIN_TYPES
            .iter()
            .find(|(known, _)| *known == extension)
            .map(|(_, main_type)| *main_type)
            .expect("a known extension");
        let (name, content) = match &extension[..1] {
            "d" => (
                "word/document.xml",
                format!("<w:document xmlns:w='{WORD_NS}'><w:body/></w:document>"),
            ),
            "x" if extension == "xlsb" => ("xl/workbook.bin", String::new()),
            "x" => (
                "xl/workbook.xml",
                format!("<workbook xmlns='{SHEET_NS}'><sheets/></workbook>"),
            ),
            _ => (
                "ppt/presentation.xml",
                format!("<p:presentation xmlns:p='{SLIDE_NS}'/>"),
            ),
        };
        Self {
            parts: vec![(name.into(), Some(main_type.into()), content.into_bytes())],
            root: vec![(format!("{RELATIONSHIP_NS}/officeDocument"), name.into())],
            strict: false,
        }
    }

    /// The same in the strict conformance class.
    pub(super) fn strict(extension: &str) -> Self {
        let mut package = Self::new(extension);
        package.strict = true;
        package.root[0].0 = format!("{STRICT_RELATIONSHIP_NS}/officeDocument");
        let content = String::from_utf8(package.parts[0].2.clone()).unwrap();
        package.parts[0].2 = content
            .replace(
                "http://schemas.openxmlformats.org/",
                "http://purl.oclc.org/ooxml/",
            )
            .replace("/2006/main", "/main")
            .into_bytes();
        package
    }

    /// Replaces the content of the main part.
    pub(super) fn main(mut self, content: impl AsRef<[u8]>) -> Self {
        self.parts[0].2 = content.as_ref().to_vec();
        self
    }

    /// Moves the main part, and the relationship with it.
    pub(super) fn main_at(mut self, name: &str, target: &str) -> Self {
        self.parts[0].0 = name.into();
        self.root[0].1 = target.into();
        self
    }

    /// Adds a part with the default type of its extension.
    pub(super) fn part(mut self, name: &str, content: impl AsRef<[u8]>) -> Self {
        self.parts
            .push((name.into(), None, content.as_ref().to_vec()));
        self
    }

    /// Adds a part with a content type.
    pub(super) fn typed(mut self, name: &str, kind: &str, content: impl AsRef<[u8]>) -> Self {
        let kind = if kind.contains('/') {
            kind.to_owned()
        } else {
            format!("{OPENXML}{kind}")
        };
        self.parts
            .push((name.into(), Some(kind), content.as_ref().to_vec()));
        self
    }

    /// Adds the core properties, as children of their root.
    pub(super) fn core(self, children: &str) -> Self {
        let content = format!(
            "<?xml version='1.0' encoding='UTF-8' standalone='yes'?>\n{}",
            core_xml(children)
        );
        self.core_part(content)
    }

    /// Adds the core properties part as it is.
    pub(super) fn core_part(mut self, content: impl AsRef<[u8]>) -> Self {
        self.root.push((
            "http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties"
                .into(),
            "docProps/core.xml".into(),
        ));
        self.typed(
            "docProps/core.xml",
            "application/vnd.openxmlformats-package.core-properties+xml",
            content,
        )
    }

    /// Adds the extended properties, as children of their root.
    pub(super) fn app(mut self, children: &str) -> Self {
        let (word, ns) = if self.strict {
            (
                format!("{STRICT_RELATIONSHIP_NS}/extendedProperties"),
                "http://purl.oclc.org/ooxml/officeDocument/extendedProperties",
            )
        } else {
            (
                format!("{RELATIONSHIP_NS}/extended-properties"),
                "http://schemas.openxmlformats.org/officeDocument/2006/extended-properties",
            )
        };
        self.root.push((word, "docProps/app.xml".into()));
        self.typed(
            "docProps/app.xml",
            "extended-properties+xml",
            format!("<Properties xmlns='{ns}'>{children}</Properties>"),
        )
    }

    /// `[Content_Types].xml` for the parts so far.
    pub(super) fn content_types(&self) -> String {
        let mut text = String::from(
            "<?xml version='1.0'?><Types xmlns='http://schemas.openxmlformats.org/package/2006/content-types'>\
             <Default Extension='rels' ContentType='application/vnd.openxmlformats-package.relationships+xml'/>\
             <Default Extension='xml' ContentType='application/xml'/>\
             <Default Extension='PNG' ContentType='image/png'/>\
             <Default Extension='mp4' ContentType='video/mp4'/>\
             <Default Extension='bin' ContentType='application/octet-stream'/>",
        );
        for (name, kind, _) in &self.parts {
            if let Some(kind) = kind {
                let name = name.trim_start_matches('/').replace('\\', "/");
                text += &format!("<Override PartName='/{name}' ContentType='{kind}'/>");
            }
        }
        text + "</Types>"
    }

    /// The parts as entries: content types first, then the package's relationships.
    pub(super) fn entries(&self) -> Vec<Part> {
        let relationships: Vec<_> = self
            .root
            .iter()
            .map(|(kind, target)| (kind.as_str(), target.as_str(), false))
            .collect();
        let mut entries = vec![
            Part::new(CONTENT_TYPES, self.content_types()),
            Part::new("_rels/.rels", relationships_xml(&relationships)),
        ];
        entries.extend(
            self.parts
                .iter()
                .map(|(name, _, content)| Part::new(name, content)),
        );
        entries
    }

    pub(super) fn build(&self) -> Vec<u8> {
        Archive::new(self.entries()).build()
    }

    /// The package with one entry changed.
    pub(super) fn build_with(&self, name: &str, change: impl Fn(Part) -> Part) -> Vec<u8> {
        Archive::new(self.entries().into_iter().map(|part| {
            if part.name == name.as_bytes() {
                change(part)
            } else {
                part
            }
        }))
        .build()
    }
}

/// A core properties element.
pub(super) fn core_xml(children: &str) -> String {
    format!(
        "<cp:coreProperties \
         xmlns:cp='http://schemas.openxmlformats.org/package/2006/metadata/core-properties' \
         xmlns:dc='http://purl.org/dc/elements/1.1/' xmlns:dcterms='http://purl.org/dc/terms/' \
         xmlns:x='urn:foreign'>{children}</cp:coreProperties>"
    )
}

/// A relationship part: type (a last word of Office's, or a whole URI), target, external.
pub(super) fn relationships_xml(relationships: &[(&str, &str, bool)]) -> String {
    let mut text = String::from(
        "<Relationships xmlns='http://schemas.openxmlformats.org/package/2006/relationships'>",
    );
    for (index, (kind, target, external)) in relationships.iter().enumerate() {
        let kind = if kind.contains(':') {
            (*kind).to_owned()
        } else {
            format!("{RELATIONSHIP_NS}/{kind}")
        };
        let mode = if *external {
            " TargetMode='External'"
        } else {
            ""
        };
        text += &format!(
            "<Relationship Id='rId{}' Type='{kind}' Target='{target}'{mode}/>",
            index + 1
        );
    }
    text + "</Relationships>"
}
