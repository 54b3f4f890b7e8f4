//! Writes ZIP files for tests: well-formed ones, and ones that are broken on purpose.

use std::io::Write as _;

/// How an entry is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// As it is.
    Stored,
    /// With deflate.
    Deflate,
    /// Bytes as they are, under a method number that they do not have.
    Claimed(u16),
}

/// One entry to be written, with what it claims.
#[derive(Clone, Debug)]
pub struct Part {
    pub name: Vec<u8>,
    pub content: Vec<u8>,
    pub packing: Packing,
    /// General purpose flags.
    pub flags: u16,
    /// What the headers say instead of the true unpacked size.
    pub claimed_size: Option<u64>,
    /// What the headers say instead of the true checksum.
    pub claimed_crc: Option<u32>,
    /// Sizes and offset stand in a ZIP64 extra field.
    pub zip64: bool,
    /// Length of padding in the local header's extra field, as Office leaves it.
    pub local_padding: u16,
}

impl Part {
    pub fn new(name: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Self {
        Self {
            name: name.as_ref().to_vec(),
            content: content.as_ref().to_vec(),
            packing: Packing::Deflate,
            flags: 0,
            claimed_size: None,
            claimed_crc: None,
            zip64: false,
            local_padding: 0,
        }
    }

    pub fn packing(mut self, packing: Packing) -> Self {
        self.packing = packing;
        self
    }

    /// Sets general purpose flags. With bit 3 the sizes stand in a data descriptor.
    pub fn flags(mut self, flags: u16) -> Self {
        self.flags |= flags;
        self
    }

    pub fn claimed_size(mut self, size: u64) -> Self {
        self.claimed_size = Some(size);
        self
    }

    pub fn claimed_crc(mut self, crc: u32) -> Self {
        self.claimed_crc = Some(crc);
        self
    }

    pub fn zip64(mut self) -> Self {
        self.zip64 = true;
        self
    }

    pub fn local_padding(mut self, len: u16) -> Self {
        self.local_padding = len;
        self
    }
}

/// What stands round the entries.
#[derive(Clone, Debug, Default)]
pub struct Archive {
    pub parts: Vec<Part>,
    /// Bytes before the first local header; offsets do not count them.
    pub prefix: Vec<u8>,
    pub comment: Vec<u8>,
    /// Bytes behind the end record.
    pub junk: Vec<u8>,
    /// End record of ZIP64.
    pub zip64: bool,
    /// What the end record says instead of the true number of entries.
    pub claimed_entries: Option<u64>,
}

impl Archive {
    pub fn new(parts: impl IntoIterator<Item = Part>) -> Self {
        Self {
            parts: parts.into_iter().collect(),
            ..Self::default()
        }
    }

    pub fn build(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut directory = Vec::new();
        for part in &self.parts {
            write_part(&mut out, &mut directory, part);
        }
        let offset = out.len() as u64;
        let entries = self.claimed_entries.unwrap_or(self.parts.len() as u64);
        out.extend(&directory);
        if self.zip64 {
            write_end64(&mut out, entries, directory.len() as u64, offset);
        }
        out.extend(b"PK\x05\x06\0\0\0\0");
        if self.zip64 {
            out.extend([0xFF; 12]);
        } else {
            out.extend((entries as u16).to_le_bytes());
            out.extend((entries as u16).to_le_bytes());
            out.extend((directory.len() as u32).to_le_bytes());
            out.extend((offset as u32).to_le_bytes());
        }
        out.extend((self.comment.len() as u16).to_le_bytes());
        out.extend(&self.comment);
        out.extend(&self.junk);
        [self.prefix.clone(), out].concat()
    }
}

/// A well-formed archive of these parts.
pub fn archive<N: AsRef<[u8]>, C: AsRef<[u8]>>(parts: impl IntoIterator<Item = (N, C)>) -> Vec<u8> {
    Archive::new(
        parts
            .into_iter()
            .map(|(name, content)| Part::new(name, content)),
    )
    .build()
}

/// Raw deflate.
pub fn deflate(content: &[u8]) -> Vec<u8> {
    let mut encoder =
        flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

fn write_part(out: &mut Vec<u8>, directory: &mut Vec<u8>, part: &Part) {
    let (method, packed) = match part.packing {
        Packing::Stored => (0, part.content.clone()),
        Packing::Deflate => (8, deflate(&part.content)),
        Packing::Claimed(method) => (method, part.content.clone()),
    };
    let mut crc = flate2::Crc::new();
    crc.update(&part.content);
    let crc = part.claimed_crc.unwrap_or(crc.sum());
    let size = part.claimed_size.unwrap_or(part.content.len() as u64);
    let offset = out.len() as u64;
    let descriptor = part.flags & 8 != 0;

    let fixed = |crc: u32, packed: u32, size: u32, extra: usize| {
        let mut header = Vec::new();
        header.extend(part.flags.to_le_bytes());
        header.extend(method.to_le_bytes());
        header.extend([0; 4]);
        header.extend(crc.to_le_bytes());
        header.extend(packed.to_le_bytes());
        header.extend(size.to_le_bytes());
        header.extend((part.name.len() as u16).to_le_bytes());
        header.extend((extra as u16).to_le_bytes());
        header
    };
    let local_extra = vec![0; usize::from(part.local_padding)];
    out.extend(b"PK\x03\x04\x14\0");
    out.extend(if descriptor {
        fixed(0, 0, 0, local_extra.len())
    } else {
        fixed(crc, packed.len() as u32, size as u32, local_extra.len())
    });
    out.extend(&part.name);
    out.extend(&local_extra);
    out.extend(&packed);
    if descriptor {
        out.extend(b"PK\x07\x08");
        out.extend(crc.to_le_bytes());
        out.extend((packed.len() as u32).to_le_bytes());
        out.extend((size as u32).to_le_bytes());
    }

    let mut extra = Vec::new();
    if part.zip64 {
        extra.extend([1, 0, 24, 0]);
        for value in [size, packed.len() as u64, offset] {
            extra.extend(value.to_le_bytes());
        }
    }
    directory.extend(b"PK\x01\x02\x14\0\x14\0");
    if part.zip64 {
        directory.extend(fixed(crc, u32::MAX, u32::MAX, extra.len()));
    } else {
        directory.extend(fixed(crc, packed.len() as u32, size as u32, extra.len()));
    }
    directory.extend([0; 10]);
    directory.extend(if part.zip64 { u32::MAX } else { offset as u32 }.to_le_bytes());
    directory.extend(&part.name);
    directory.extend(&extra);
}

fn write_end64(out: &mut Vec<u8>, entries: u64, size: u64, offset: u64) {
    let at = out.len() as u64;
    out.extend(b"PK\x06\x06");
    out.extend(44_u64.to_le_bytes());
    out.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    for value in [entries, entries, size, offset] {
        out.extend(value.to_le_bytes());
    }
    out.extend(b"PK\x06\x07\0\0\0\0");
    out.extend(at.to_le_bytes());
    out.extend(1_u32.to_le_bytes());
}
