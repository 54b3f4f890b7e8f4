//! The header of a compound file ([MS-CFB] §2.2).

use crate::engine::error::{ProbeError, Result};
use crate::engine::source::Source;

/// Bytes of the header, whatever the sector size.
pub(super) const LEN: usize = 512;

/// Locations of allocation table sectors that stand in the header itself.
pub(super) const DIFAT_IN_HEADER: usize = 109;

const SIGNATURE: [u8; 8] = [0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1];

/// What the header says, as far as it is needed.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) major_version: u16,
    /// Sector size as a power of two: 9 in version 3, 12 in version 4.
    pub(super) sector_shift: u32,
    /// Mini sector size as a power of two: 6.
    pub(super) mini_shift: u32,
    pub(super) first_directory_sector: u32,
    /// Streams below this size live in the mini stream: 4096.
    pub(super) mini_stream_cutoff: u64,
    pub(super) first_mini_fat_sector: u32,
    pub(super) first_difat_sector: u32,
    pub(super) difat: [u32; DIFAT_IN_HEADER],
}

impl Header {
    /// The header of a container without sectors.
    pub(super) fn empty() -> Self {
        Self {
            major_version: 3,
            sector_shift: 9,
            mini_shift: 6,
            first_directory_sector: u32::MAX,
            mini_stream_cutoff: 4096,
            first_mini_fat_sector: u32::MAX,
            first_difat_sector: u32::MAX,
            difat: [u32::MAX; DIFAT_IN_HEADER],
        }
    }

    pub(super) fn read(source: &Source) -> Result<Self> {
        let mut raw = [0; LEN];
        if source.read_at(0, &mut raw)? < LEN || raw[..8] != SIGNATURE {
            return Err(ProbeError::malformed("there is no compound file header"));
        }
        let u16_at = |at: usize| u16::from_le_bytes([raw[at], raw[at + 1]]);
        let u32_at = |at: usize| u32_at(&raw, at).unwrap_or_default();
        let major_version = u16_at(0x1A);
        // Writers exist that leave odd sizes here; outside what any reader takes, the version decides.
        let sector_shift = match u32::from(u16_at(0x1E)) {
            shift @ 7..=16 => shift,
            _ if major_version == 4 => 12,
            _ => 9,
        };
        let mini_shift = match u32::from(u16_at(0x20)) {
            shift if (4..=sector_shift).contains(&shift) => shift,
            _ => 6,
        };
        let cutoff = match u32_at(0x38) {
            0 => 4096,
            cutoff => cutoff,
        };
        Ok(Self {
            major_version,
            sector_shift,
            mini_shift,
            first_directory_sector: u32_at(0x30),
            mini_stream_cutoff: cutoff.into(),
            first_mini_fat_sector: u32_at(0x3C),
            first_difat_sector: u32_at(0x44),
            difat: std::array::from_fn(|index| u32_at(0x4C + 4 * index)),
        })
    }
}

/// The little-endian number at an offset, if the bytes reach that far.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let field = bytes.get(at..at.checked_add(4)?)?;
    field.try_into().ok().map(u32::from_le_bytes)
}
