//! Entries from front to back, and archives in archives.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::{Archive, CHUNK, Entry, Held, damaged, directory};
use crate::engine::error::Result;

/// First piece that is read. Who wants only the beginning of an entry pays for little more.
const FIRST_PIECE: u64 = 16 * 1024;

/// Most unpacked bytes that one step makes.
const STEP: usize = 64 * 1024;

/// Reads one entry piece by piece. Unlike [`Archive::read`] it never holds the whole, and what nobody
/// asks for is neither read nor judged.
pub(crate) struct EntryStream<'a, 's> {
    archive: &'a Archive<'s>,
    entry: Entry<'a>,
    /// Position of the next packed byte; `None` before the local header was looked at.
    next: Option<u64>,
    /// Packed bytes that were not read yet.
    packed_left: u64,
    /// Size of the next piece.
    piece: u64,
    /// Packed bytes that were read and not unpacked yet, from `used` on.
    packed: Vec<u8>,
    used: usize,
    inflate: Option<Decompress>,
    made: u64,
    crc: Crc,
}

impl<'s> Archive<'s> {
    /// Reads an entry piece by piece.
    pub(crate) fn stream<'a>(&'a self, entry: Entry<'a>) -> EntryStream<'a, 's> {
        EntryStream {
            archive: self,
            entry,
            next: None,
            packed_left: entry.packed_size(),
            piece: FIRST_PIECE,
            packed: Vec::new(),
            used: 0,
            inflate: None,
            made: 0,
            crc: Crc::new(),
        }
    }

    /// Opens an entry that is an archive itself. A stored one is read in place, entry by entry; only a
    /// packed one has to be unpacked as a whole.
    ///
    /// # Errors
    /// As [`Archive::open`] and [`Archive::read`].
    pub(crate) fn nested(&self, entry: Entry<'_>) -> Result<Self> {
        let source = if entry.record.method == directory::STORED && !entry.is_encrypted() {
            let start = self.data_start(entry)?;
            self.source.part(start, entry.packed_size())
        } else {
            self.source.unpacked(self.read(entry)?)
        };
        Self::read_directory(Held::Own(Box::new(source)))
    }
}

impl EntryStream<'_, '_> {
    /// Appends some more unpacked bytes. `false` at the end.
    ///
    /// # Errors
    /// As [`Archive::read`]; the checksum is compared at the end.
    pub(crate) fn more(&mut self, out: &mut Vec<u8>) -> Result<bool> {
        if self.next.is_none() {
            self.begin()?;
        }
        let before = out.len();
        if self.inflate.is_some() {
            self.unpack(out)?;
        } else if self.fetch()? {
            out.append(&mut self.packed);
        }
        let made = &out[before..];
        if made.is_empty() {
            self.finish()?;
            return Ok(false);
        }
        self.made += made.len() as u64;
        self.crc.update(made);
        self.archive.charge(self.entry, made.len())?;
        if self.made > self.entry.size() {
            return Err(damaged(self.entry, "it holds more than it claims"));
        }
        Ok(true)
    }

    fn begin(&mut self) -> Result<()> {
        if self.entry.is_encrypted() {
            return Err(damaged(self.entry, "it is encrypted"));
        }
        match self.entry.record.method {
            directory::STORED => {}
            directory::DEFLATE => self.inflate = Some(Decompress::new(false)),
            other => {
                return Err(damaged(
                    self.entry,
                    format_args!("compression method {other} is not supported"),
                ));
            }
        }
        self.next = Some(self.archive.data_start(self.entry)?);
        Ok(())
    }

    /// Reads the next packed piece; `false` when there is none.
    fn fetch(&mut self) -> Result<bool> {
        let Some(next) = self.next else {
            return Ok(false);
        };
        let wanted = self.piece.min(self.packed_left);
        if wanted == 0 {
            return Ok(false);
        }
        let archive = self.archive;
        let piece = archive.window.range(&archive.source, next, wanted)?;
        if (piece.len() as u64) < wanted {
            return Err(damaged(self.entry, "the file ends inside it"));
        }
        self.packed.clear();
        self.packed.extend_from_slice(&piece);
        self.used = 0;
        self.next = Some(next + wanted);
        self.packed_left -= wanted;
        self.piece = (self.piece * 4).min(CHUNK);
        Ok(true)
    }

    /// Unpacks until something came out or the packed bytes are over.
    fn unpack(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let before = out.len();
        while out.len() == before {
            // The decompressor may hold output back although it took all input: ask it until it is dry.
            let input_is_over = self.used == self.packed.len() && !self.fetch()?;
            let Some(inflate) = self.inflate.as_mut() else {
                return Ok(());
            };
            out.reserve(STEP);
            let taken = inflate.total_in();
            let status = inflate
                .decompress_vec(&self.packed[self.used..], out, FlushDecompress::None)
                .map_err(|_| damaged(self.entry, "its packed bytes are not valid deflate"))?;
            #[expect(clippy::cast_possible_truncation, reason = "at most what is in memory")]
            let used = (inflate.total_in() - taken) as usize;
            self.used += used;
            if status == Status::StreamEnd {
                self.packed_left = 0;
                self.used = self.packed.len();
                return Ok(());
            }
            if used == 0 && out.len() == before {
                if input_is_over {
                    return Ok(());
                }
                return Err(damaged(
                    self.entry,
                    "its packed bytes are not valid deflate",
                ));
            }
            self.archive.source.meter().check_clock()?;
        }
        Ok(())
    }

    fn finish(&self) -> Result<()> {
        if self.made != self.entry.size() {
            return Err(damaged(self.entry, "it holds less than it claims"));
        }
        if self.crc.sum() != self.entry.record.crc {
            return Err(damaged(self.entry, "its checksum is wrong"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::build::{self, Packing, Part};
    use super::*;
    use crate::engine::source::Source;

    fn drain(archive: &Archive<'_>, name: &str) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        let entry = archive.find_exact(name).unwrap();
        let mut stream = archive.stream(entry);
        while stream.more(&mut content)? {}
        Ok(content)
    }

    fn noise(len: usize) -> Vec<u8> {
        let mut state = 1_u32;
        std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .take(len)
        .collect()
    }

    #[test]
    fn a_stream_yields_what_a_read_yields() {
        for content in [
            Vec::new(),
            b"short".to_vec(),
            vec![7; 1 << 20],
            noise(700_000),
        ] {
            for packing in [Packing::Stored, Packing::Deflate] {
                let part = Part::new("a", &content).packing(packing);
                let bytes = build::Archive::new([part]).build();
                let source = Source::for_test("x.key", bytes);
                let archive = Archive::open(&source).unwrap();
                assert!(drain(&archive, "a").unwrap() == content, "{packing:?}");
                let expanded = source.meter().cost().expanded_bytes;
                assert_eq!(expanded, content.len() as u64);
            }
        }
    }

    #[test]
    fn who_wants_the_beginning_pays_for_the_beginning() {
        for packing in [Packing::Stored, Packing::Deflate] {
            let part = Part::new("a", noise(1 << 20)).packing(packing);
            let source = Source::for_test("x.key", build::Archive::new([part]).build());
            let archive = Archive::open(&source).unwrap();
            let mut out = Vec::new();
            assert!(archive.stream(archive.entry(0)).more(&mut out).unwrap());
            let cost = source.meter().cost();
            assert!(
                cost.physical_bytes < 20_000 && cost.expanded_bytes <= 64 * 1024,
                "{cost:?}"
            );
        }
    }

    #[test]
    fn damage_is_told_at_the_end_at_the_latest() {
        let text = vec![b'x'; 300_000];
        let part = |packing| Part::new("a", &text).packing(packing);
        let cases = [
            (part(Packing::Stored).claimed_crc(1), "checksum"),
            (part(Packing::Deflate).claimed_crc(1), "checksum"),
            (
                part(Packing::Deflate).claimed_size(10),
                "more than it claims",
            ),
            (
                part(Packing::Deflate).claimed_size(1 << 30),
                "less than it claims",
            ),
            (part(Packing::Claimed(8)), "not valid deflate"),
            (part(Packing::Claimed(99)), "method 99"),
            (part(Packing::Stored).flags(1), "encrypted"),
        ];
        for (part, words) in cases {
            let source = Source::for_test("x.key", build::Archive::new([part]).build());
            let error = drain(&Archive::open(&source).unwrap(), "a").unwrap_err();
            assert!(
                error.is_malformed() && error.message().contains(words),
                "{error} / {words}"
            );
        }
    }

    #[test]
    fn an_archive_in_an_archive_is_read_in_place_when_it_is_stored() {
        let inner = build::Archive::new([
            Part::new("one", b"1").packing(Packing::Stored),
            Part::new("big", noise(1 << 20)).packing(Packing::Stored),
        ])
        .build();
        for (packing, stored) in [(Packing::Stored, true), (Packing::Deflate, false)] {
            let part = Part::new("Index.zip", &inner).packing(packing);
            let source = Source::for_test("x.key", build::Archive::new([part]).build());
            let outer = Archive::open(&source).unwrap();
            let nested = outer.nested(outer.entry(0)).unwrap();
            assert_eq!(drain(&nested, "one").unwrap(), b"1");
            let cost = source.meter().cost();
            assert_eq!(cost.expanded_bytes < 100, stored, "{cost:?}");
            assert_eq!(cost.physical_bytes < 10_000, stored, "{cost:?}");
        }
    }
}
