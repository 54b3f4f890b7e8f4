//! Writes iWork packages: protobuf messages, IWA components, and the ZIP file round them.

use crate::support::zip::{Archive, Packing, Part};

/// A protobuf message under construction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message(Vec<u8>);

pub(crate) fn message() -> Message {
    Message::default()
}

/// A `TSP.Reference`.
pub(crate) fn reference(identifier: u64) -> Message {
    message().number(1, identifier)
}

impl Message {
    pub(crate) fn number(mut self, field: u64, value: u64) -> Self {
        put_varint(&mut self.0, field << 3);
        put_varint(&mut self.0, value);
        self
    }

    pub(crate) fn bytes(mut self, field: u64, value: impl AsRef<[u8]>) -> Self {
        put_varint(&mut self.0, field << 3 | 2);
        put_varint(&mut self.0, value.as_ref().len() as u64);
        self.0.extend_from_slice(value.as_ref());
        self
    }

    pub(crate) fn message(self, field: u64, value: &Message) -> Self {
        self.bytes(field, &value.0)
    }

    pub(crate) fn references(self, field: u64, identifiers: &[u64]) -> Self {
        identifiers
            .iter()
            .fold(self, |message, id| message.message(field, &reference(*id)))
    }

    pub(crate) fn float(mut self, field: u64, value: f32) -> Self {
        put_varint(&mut self.0, field << 3 | 5);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(crate) fn double(mut self, field: u64, value: f64) -> Self {
        put_varint(&mut self.0, field << 3 | 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// A group (wire types 3 and 4), which the schemas of today do not have.
    pub(crate) fn group(mut self, field: u64, content: &Message) -> Self {
        put_varint(&mut self.0, field << 3 | 3);
        self.0.extend(&content.0);
        put_varint(&mut self.0, field << 3 | 4);
        self
    }

    /// The bytes of the message with their length before them, as an archive's header stands.
    pub(crate) fn with_length(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, self.0.len() as u64);
        out.extend(&self.0);
        out
    }

    /// Bytes as they are.
    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// An object: identifier, message type, content.
pub(crate) type Object = (u64, u64, Message);

/// The decoded bytes of a component.
pub(crate) fn plain(objects: &[Object]) -> Vec<u8> {
    let mut out = Vec::new();
    for (identifier, kind, content) in objects {
        let info = message()
            .number(1, *kind)
            .bytes(2, [1, 0, 5])
            .number(3, content.0.len() as u64);
        let info = message().number(1, *identifier).message(2, &info);
        put_varint(&mut out, info.0.len() as u64);
        out.extend(info.0);
        out.extend(&content.0);
    }
    out
}

/// A component: Snappy blocks of up to 64 KiB, as the applications write them.
pub(crate) fn component(objects: &[Object]) -> Vec<u8> {
    chunks(&plain(objects))
}

pub(crate) fn chunks(plain: &[u8]) -> Vec<u8> {
    plain.chunks(65_536).flat_map(chunk).collect()
}

fn chunk(plain: &[u8]) -> Vec<u8> {
    let block = snap::raw::Encoder::new().compress_vec(plain).unwrap();
    let mut out = vec![0];
    out.extend(&(block.len() as u32).to_le_bytes()[..3]);
    out.extend(block);
    out
}

/// An XML property list with a dictionary of texts and booleans.
pub(crate) fn properties(entries: &[(&str, &str)]) -> Vec<u8> {
    let mut text = String::from("<?xml version=\"1.0\"?><plist version=\"1.0\"><dict>");
    for (key, value) in entries {
        text += &match *value {
            "true" | "false" => format!("<key>{key}</key><{value}/>"),
            _ => format!("<key>{key}</key><string>{value}</string>"),
        };
    }
    (text + "</dict></plist>").into_bytes()
}

/// A package under construction.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    pub(crate) parts: Vec<(String, Vec<u8>)>,
}

impl Package {
    /// A package with the metadata that every document has.
    pub(crate) fn new() -> Self {
        let history = "<plist><array><string>Template: Blank (14.1)</string>\
                       <string>M14.1-7040.0.73-4</string></array></plist>";
        Self { parts: Vec::new() }
            .with(
                "Metadata/Properties.plist",
                properties(&[("fileFormatVersion", "14.1.1"), ("isMultiPage", "false")]),
            )
            .with("Metadata/BuildVersionHistory.plist", history)
            .with("Metadata/DocumentIdentifier", "F00D")
            .component("Metadata", &[(3, 11_006, message().number(1, 99))])
    }

    /// Adds an entry, or replaces the one of that name.
    pub(crate) fn with(mut self, name: &str, content: impl AsRef<[u8]>) -> Self {
        self.parts.retain(|(known, _)| known != name);
        self.parts
            .push((name.to_owned(), content.as_ref().to_vec()));
        self
    }

    /// Adds a component under `Index/`.
    pub(crate) fn component(self, name: &str, objects: &[Object]) -> Self {
        self.with(&format!("Index/{name}.iwa"), component(objects))
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.parts.retain(|(known, _)| known != name);
        self
    }

    /// A ZIP file with stored entries, as the applications write it.
    pub(crate) fn build(&self) -> Vec<u8> {
        zip(&self.parts, Packing::Stored)
    }

    /// The same with deflated entries, as some other programs write it.
    pub(crate) fn build_deflated(&self) -> Vec<u8> {
        zip(&self.parts, Packing::Deflate)
    }

    /// The same in a folder, as a compressed directory package has it.
    pub(crate) fn build_in_folder(&self, folder: &str) -> Vec<u8> {
        let mut parts = vec![
            (format!("{folder}/"), Vec::new()),
            (format!("__MACOSX/{folder}/Index/._Document.iwa"), vec![0]),
        ];
        for (name, content) in &self.parts {
            parts.push((format!("{folder}/{name}"), content.clone()));
        }
        zip(&parts, Packing::Deflate)
    }

    /// The same with all components in an `Index.zip`, as directory packages have it.
    pub(crate) fn build_nested(&self, packing: Packing, keep_folder: bool) -> Vec<u8> {
        let (index, mut outer): (Vec<_>, Vec<_>) = self
            .parts
            .iter()
            .cloned()
            .partition(|(name, _)| name.starts_with("Index/"));
        let inner: Vec<_> = index
            .into_iter()
            .map(|(name, content)| {
                let bare = name.trim_start_matches("Index/").to_owned();
                (if keep_folder { name } else { bare }, content)
            })
            .collect();
        outer.push(("Index.zip".to_owned(), zip(&inner, Packing::Stored)));
        zip(&outer, packing)
    }
}

fn zip(parts: &[(String, Vec<u8>)], packing: Packing) -> Vec<u8> {
    Archive::new(
        parts
            .iter()
            .map(|(name, content)| Part::new(name, content).packing(packing)),
    )
    .build()
}

/// A table: the info that places it and its model (rows, columns, name).
pub(crate) fn table(info: u64, model: u64, name: &str, rows: u64, columns: u64) -> [Object; 2] {
    let place = message().bytes(1, "").message(2, &reference(model));
    let content = message()
        .bytes(1, "3F2A")
        .number(6, rows)
        .number(7, columns)
        .bytes(8, name);
    [(info, 6000, place), (model, 6001, content)]
}

/// A slide node: the slide, and which of skipped (4), builds (6), transition (7), note (8) are set.
pub(crate) fn node(identifier: u64, slide: u64, set: &[u64], children: &[u64]) -> Object {
    let mut node = message()
        .references(1, children)
        .message(2, &reference(slide));
    for field in [4, 6, 7, 8] {
        node = node.number(field, u64::from(set.contains(&field)));
    }
    (identifier, 4, node)
}

/// A presentation of three slides, one of them skipped and one with all the rest, a master and an
/// orphaned slide.
pub(crate) fn presentation() -> Package {
    let size = message().float(1, 1024.0).float(2, 768.0);
    let show = message()
        .message(2, &reference(90))
        .message(3, &message().references(2, &[11, 12, 13]))
        .message(4, &size);
    let mut objects = vec![
        (1, 1, message().message(2, &reference(2)).bytes(3, "")),
        (2, 2, show),
        node(13, 23, &[], &[]),
        node(12, 22, &[6, 7, 8], &[]),
        node(11, 21, &[4], &[]),
        node(80, 81, &[4, 6, 7, 8], &[]),
        node(99, 29, &[4, 6, 7, 8], &[]),
    ];
    objects.push((90, 10, message().references(2, &[80])));
    let [info, model] = table(40, 41, "Table 1", 3, 4);
    Package::new()
        .component("Document", &objects)
        .component("Slide", &[(21, 5, message().bytes(1, ""))])
        .component("Slide-22", &[(22, 5, message()), info])
        .component("Slide-23", &[(23, 5, message())])
        .component("Slide-29", &[(29, 5, message())])
        .component("MasterSlide-81", &[(81, 5, message())])
        .component("CalculationEngine", &[model])
        .component("Tables/Tile", &[(50, 6002, message())])
        .component("DocumentStylesheet", &[(60, 401, message())])
}

/// A spreadsheet of two sheets and a form, with two tables and some formulas.
pub(crate) fn spreadsheet() -> Package {
    let document = message()
        .references(1, &[31, 30, 32])
        .message(4, &reference(60))
        .bytes(8, "x");
    let mut calculation = Vec::new();
    calculation.extend(table(40, 41, "Table 2", 8, 9));
    calculation.extend(table(42, 43, "Ausgaben", 15, 3));
    calculation[3].2 = calculation[3]
        .2
        .clone()
        .number(14, 2)
        .number(15, 1)
        .double(16, 20.5)
        .double(17, 98.0)
        .number(40, 4);
    calculation.push((
        44,
        6001,
        message().number(6, 1).number(7, 1).bytes(8, "nowhere"),
    ));
    let formulas = message()
        .number(1, 3)
        .bytes(3, "a")
        .bytes(3, "b")
        .bytes(3, "c");
    let strings = message().number(1, 1).bytes(3, "a").bytes(3, "b");
    Package::new()
        .component(
            "Document",
            &[
                (1, 1, document),
                (
                    30,
                    2,
                    message().bytes(1, "Zahlen").message(2, &reference(40)),
                ),
                (
                    31,
                    2,
                    message().bytes(1, "Übersicht").message(2, &reference(42)),
                ),
                (32, 3, message().bytes(1, "Formular")),
            ],
        )
        .component("CalculationEngine", &calculation)
        .component("Tables/Tile", &[(50, 6002, message())])
        .component("Tables/Tile-51", &[(51, 6002, message())])
        .component("Tables/DataList", &[(52, 6005, formulas)])
        .component("Tables/DataList-53", &[(53, 6005, strings)])
}

/// A text document on A4.
pub(crate) fn text(body: &str) -> Package {
    let document = message()
        .message(4, &reference(20))
        .bytes(15, "")
        .float(30, 595.28)
        .float(31, 841.89)
        .number(40, 1);
    Package::new()
        .component(
            "Document",
            &[
                (1, 10_000, document),
                (20, 2001, message().number(1, 0).bytes(3, body)),
                (21, 2001, message().bytes(3, "a header\n")),
                (22, 10_011, message().bytes(26, "Deckblatt")),
                (23, 10_011, message().bytes(26, "Text Page")),
            ],
        )
        .component("ViewState", &[(70, 10_131, message().number(4, 7))])
        .component("DocumentStylesheet", &[(60, 401, message())])
}
