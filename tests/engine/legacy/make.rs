//! Small documents of our own making. The container is written by another implementation than the one
//! under test.

use std::io::{Cursor, Write};

/// A compound file of these streams. A path that ends in `/` is a storage.
pub(crate) fn compound(streams: &[(&str, &[u8])]) -> Vec<u8> {
    compound_of(cfb::Version::V3, streams)
}

/// As [`compound`], in the layout of a version.
pub(super) fn compound_of(version: cfb::Version, streams: &[(&str, &[u8])]) -> Vec<u8> {
    let mut file =
        cfb::CompoundFile::create_with_version(version, Cursor::new(Vec::new())).unwrap();
    for (path, content) in streams {
        if let Some(storage) = path.strip_suffix('/') {
            file.create_storage_all(storage).unwrap();
            continue;
        }
        if let Some((storage, _)) = path.rsplit_once('/') {
            file.create_storage_all(format!("/{storage}")).unwrap();
        }
        let mut stream = file.create_stream(format!("/{path}")).unwrap();
        stream.write_all(content).unwrap();
    }
    file.flush().unwrap();
    file.into_inner().into_inner()
}

/// A value of a property set.
pub(super) enum Property<'a> {
    I2(u16),
    I4(u32),
    /// Text in the set's code page.
    Text(&'a [u8]),
    /// UTF-16 text.
    Wide(&'a str),
    /// 100 ns since 1601.
    Time(u64),
}

/// A property set with one section.
pub(super) fn property_set(properties: &[(u32, Property<'_>)]) -> Vec<u8> {
    let mut values: Vec<u8> = Vec::new();
    let mut table: Vec<u8> = Vec::new();
    let first = 8 + 8 * properties.len();
    for (id, property) in properties {
        table.extend(id.to_le_bytes());
        table.extend(u32::try_from(first + values.len()).unwrap().to_le_bytes());
        match property {
            Property::I2(value) => {
                values.extend([2, 0, 0, 0]);
                values.extend(value.to_le_bytes());
            }
            Property::I4(value) => {
                values.extend([3, 0, 0, 0]);
                values.extend(value.to_le_bytes());
            }
            Property::Text(text) => {
                values.extend([30, 0, 0, 0]);
                values.extend(u32::try_from(text.len()).unwrap().to_le_bytes());
                values.extend(*text);
            }
            Property::Wide(text) => {
                let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
                values.extend([31, 0, 0, 0]);
                values.extend(u32::try_from(units.len()).unwrap().to_le_bytes());
                values.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
            }
            Property::Time(ticks) => {
                values.extend([64, 0, 0, 0]);
                values.extend(ticks.to_le_bytes());
            }
        }
        values.resize(values.len().next_multiple_of(4), 0);
    }
    let mut set = vec![0xFE, 0xFF, 0, 0, 0, 0, 0, 0];
    set.extend([0; 16]);
    set.extend(1_u32.to_le_bytes());
    set.extend([0; 16]);
    set.extend(48_u32.to_le_bytes());
    set.extend(u32::try_from(first + values.len()).unwrap().to_le_bytes());
    set.extend(u32::try_from(properties.len()).unwrap().to_le_bytes());
    set.extend(table);
    set.extend(values);
    set
}

/// Where the text of our Word documents begins.
pub(super) const TEXT_AT: usize = 0x400;

/// A piece of a Word document: where its bytes are, and whether they are one a character.
pub(super) struct Piece {
    pub(super) offset: usize,
    pub(super) characters: usize,
    pub(super) compressed: bool,
}

/// `WordDocument` and `1Table` of a Word 97 document with this text in the main stream and these pieces.
pub(super) fn word_of_pieces(flags: u16, text: &[u8], pieces: &[Piece]) -> (Vec<u8>, Vec<u8>) {
    let total: usize = pieces.iter().map(|piece| piece.characters).sum();
    let mut main = vec![0; TEXT_AT];
    main[..4].copy_from_slice(&[0xEC, 0xA5, 0xC1, 0]);
    // The table stream is 1Table.
    main[0x0A..0x0C].copy_from_slice(&(flags | 1 << 9).to_le_bytes());
    main[0x4C..0x50].copy_from_slice(&u32::try_from(total).unwrap().to_le_bytes());
    main.extend(text);
    let mut plc = Vec::new();
    let mut cp = 0;
    for characters in pieces.iter().map(|piece| piece.characters).chain([0]) {
        plc.extend(u32::try_from(cp).unwrap().to_le_bytes());
        cp += characters;
    }
    for piece in pieces {
        let place = if piece.compressed {
            (piece.offset * 2) | 0x4000_0000
        } else {
            piece.offset
        };
        plc.extend([0, 0]);
        plc.extend(u32::try_from(place).unwrap().to_le_bytes());
        plc.extend([0, 0]);
    }
    let mut table = vec![2];
    table.extend(u32::try_from(plc.len()).unwrap().to_le_bytes());
    table.extend(plc);
    main[0x1A6..0x1AA].copy_from_slice(&u32::try_from(table.len()).unwrap().to_le_bytes());
    (main, table)
}

/// A Word 97 document with one piece of 8-bit text.
pub(super) fn word(flags: u16, text: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let piece = Piece {
        offset: TEXT_AT,
        characters: text.len(),
        compressed: true,
    };
    word_of_pieces(flags, text, &[piece])
}

/// A whole `.doc`.
pub(super) fn doc(text: &[u8]) -> Vec<u8> {
    let (main, table) = word(0, text);
    compound(&[("WordDocument", &main), ("1Table", &table)])
}

/// A BIFF record.
pub(super) fn record(kind: u16, body: &[u8]) -> Vec<u8> {
    let mut record = kind.to_le_bytes().to_vec();
    record.extend(u16::try_from(body.len()).unwrap().to_le_bytes());
    record.extend(body);
    record
}

/// The first record of a substream: `0x0500` is BIFF5, `0x0600` BIFF8; 5 globals, 0x10 worksheet, 0x20
/// chart, 0x40 macro sheet.
pub(super) fn bof(version: u16, kind: u16) -> Vec<u8> {
    let mut body = version.to_le_bytes().to_vec();
    body.extend(kind.to_le_bytes());
    body.extend([0; 12]);
    record(0x0809, &body)
}

pub(super) fn eof() -> Vec<u8> {
    record(0x000A, &[])
}

/// BOUNDSHEET of BIFF8.
pub(super) fn bound_sheet(name: &str, state: u8, kind: u8) -> Vec<u8> {
    let wide = name.chars().any(|c| c > '\u{ff}');
    let units: Vec<u16> = name.encode_utf16().collect();
    let mut body = vec![0, 0, 0, 0, state, kind];
    body.extend([u8::try_from(units.len()).unwrap(), u8::from(wide)]);
    for unit in units {
        if wide {
            body.extend(unit.to_le_bytes());
        } else {
            body.push(u8::try_from(unit).unwrap());
        }
    }
    record(0x0085, &body)
}

/// BOUNDSHEET of BIFF5: the name in the workbook's code page.
pub(super) fn bound_sheet_5(name: &[u8]) -> Vec<u8> {
    let mut body = vec![0, 0, 0, 0, 0, 0, u8::try_from(name.len()).unwrap()];
    body.extend(name);
    record(0x0085, &body)
}

/// A BIFF8 workbook stream: these records in its globals, these sheets behind.
pub(super) fn workbook(globals: &[Vec<u8>], sheets: &[Vec<u8>]) -> Vec<u8> {
    let mut stream = bof(0x0600, 5);
    stream.extend(globals.concat());
    stream.extend(eof());
    stream.extend(sheets.concat());
    stream
}

/// A whole `.xls`.
pub(super) fn xls(globals: &[Vec<u8>]) -> Vec<u8> {
    compound(&[("Workbook", &workbook(globals, &[]))])
}

/// A PowerPoint record: version and instance in one word.
pub(super) fn atom(first: u16, kind: u16, body: &[u8]) -> Vec<u8> {
    let mut record = first.to_le_bytes().to_vec();
    record.extend(kind.to_le_bytes());
    record.extend(u32::try_from(body.len()).unwrap().to_le_bytes());
    record.extend(body);
    record
}

/// A PowerPoint container.
pub(super) fn container(instance: u16, kind: u16, children: &[Vec<u8>]) -> Vec<u8> {
    atom(instance << 4 | 0xF, kind, &children.concat())
}

/// The list entry of a slide, master or notes page.
pub(super) fn slide_persist(id: u32) -> Vec<u8> {
    let mut body = id.to_le_bytes().to_vec();
    body.extend([0; 16]);
    atom(0, 0x03F3, &body)
}

/// A slide without text.
pub(super) fn slide(hidden: bool) -> Vec<u8> {
    let mut show = [0; 16];
    show[10] = u8::from(hidden) << 2;
    container(
        0,
        0x03EE,
        &[atom(2, 0x03EF, &[0; 24]), atom(0, 0x03F9, &show)],
    )
}

/// The streams of a presentation, written object by object.
pub(super) struct Deck {
    stream: Vec<u8>,
    places: Vec<(u32, u32)>,
    last_edit: u32,
}

impl Deck {
    pub(super) fn new() -> Self {
        Self {
            stream: Vec::new(),
            places: Vec::new(),
            last_edit: 0,
        }
    }

    /// Appends a persist object.
    pub(super) fn object(&mut self, id: u32, record: &[u8]) -> &mut Self {
        self.places.push((id, self.here()));
        self.stream.extend(record);
        self
    }

    /// Lets another identifier point at the object that was appended last.
    pub(super) fn alias(&mut self, id: u32) -> &mut Self {
        let (_, place) = *self.places.last().unwrap();
        self.places.push((id, place));
        self
    }

    /// Ends a user edit: the directory of what was appended since the last one.
    pub(super) fn save(&mut self, document: u32) -> &mut Self {
        let directory = self.here();
        let body: Vec<u8> = (self.places.drain(..))
            .flat_map(|(id, place)| [id | 1 << 20, place])
            .flat_map(u32::to_le_bytes)
            .collect();
        self.stream.extend(atom(0, 0x1772, &body));
        let edit = self.here();
        let fields = [0, 0, self.last_edit, directory, document, 0, 0];
        let body: Vec<u8> = fields.into_iter().flat_map(u32::to_le_bytes).collect();
        self.stream.extend(atom(0, 0x0FF5, &body));
        self.last_edit = edit;
        self
    }

    fn here(&self) -> u32 {
        u32::try_from(self.stream.len()).unwrap()
    }

    pub(super) fn stream(&self) -> &[u8] {
        &self.stream
    }

    /// The stream that says where the newest edit is.
    pub(super) fn current_user(&self, encrypted: bool) -> Vec<u8> {
        let token: u32 = if encrypted { 0xF3D1_C4DF } else { 0xE391_C05F };
        let fields = [20, token, self.last_edit, 0, 0];
        let body: Vec<u8> = fields.into_iter().flat_map(u32::to_le_bytes).collect();
        atom(0, 0x0FF6, &body)
    }

    /// A whole `.ppt`.
    pub(super) fn ppt(&self) -> Vec<u8> {
        compound(&[
            ("PowerPoint Document", &self.stream),
            ("Current User", &self.current_user(false)),
        ])
    }
}

/// A document container with these lists of slides, masters and notes, and more children.
pub(super) fn document(
    slides: &[u32],
    masters: &[u32],
    notes: &[u32],
    more: &[Vec<u8>],
) -> Vec<u8> {
    let mut size: Vec<u8> = [5760_u32, 4320, 4320, 5760]
        .into_iter()
        .flat_map(u32::to_le_bytes)
        .collect();
    size.extend([0; 24]);
    let list = |instance, ids: &[u32]| {
        let entries: Vec<_> = ids.iter().copied().map(slide_persist).collect();
        container(instance, 0x0FF0, &entries)
    };
    let mut children = vec![
        atom(1, 0x03E9, &size),
        list(0, slides),
        list(1, masters),
        list(2, notes),
    ];
    children.extend_from_slice(more);
    container(0, 0x03E8, &children)
}
