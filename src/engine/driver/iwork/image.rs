//! The size of a picture from the beginning of its file.

/// What the bytes so far say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dimensions {
    Known {
        width: u32,
        height: u32,
    },
    /// It is no PNG or JPEG file, or a damaged one.
    Unreadable,
    /// The size stands further behind.
    Further,
}

/// Looks for the size in the beginning of a PNG or JPEG file.
pub(super) fn dimensions(head: &[u8]) -> Dimensions {
    const PNG: &[u8] = b"\x89PNG\r\n\x1A\n";
    const JPEG: &[u8] = b"\xFF\xD8";
    if head.starts_with(PNG) {
        png(&head[PNG.len()..])
    } else if head.starts_with(JPEG) {
        jpeg(&head[JPEG.len()..])
    } else if PNG.starts_with(head) || JPEG.starts_with(head) {
        Dimensions::Further
    } else {
        Dimensions::Unreadable
    }
}

/// The header chunk comes first (PNG 1.2, 4.1.1). Apple's own variant has a chunk of its own before.
fn png(mut chunks: &[u8]) -> Dimensions {
    for _ in 0..2 {
        let Some((head, rest)) = chunks.split_first_chunk::<8>() else {
            return Dimensions::Further;
        };
        let [a, b, c, d, name @ ..] = *head;
        if name == *b"IHDR" {
            let Some(size) = rest.first_chunk::<8>() else {
                return Dimensions::Further;
            };
            let [w0, w1, w2, w3, h0, h1, h2, h3] = *size;
            return known(
                u32::from_be_bytes([w0, w1, w2, w3]),
                u32::from_be_bytes([h0, h1, h2, h3]),
            );
        }
        if name != *b"CgBI" {
            return Dimensions::Unreadable;
        }
        // Length, name and checksum stand round the data.
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        match rest.get(length.saturating_add(4)..) {
            Some(rest) => chunks = rest,
            None => return Dimensions::Further,
        }
    }
    Dimensions::Unreadable
}

/// Walks the marker segments to the frame header (ITU-T T.81, B.2.2).
fn jpeg(mut segments: &[u8]) -> Dimensions {
    loop {
        let [0xFF, marker, rest @ ..] = segments else {
            return match segments {
                [] | [0xFF] => Dimensions::Further,
                _ => Dimensions::Unreadable,
            };
        };
        match marker {
            // A fill byte.
            0xFF => segments = &segments[1..],
            // Markers without a segment.
            0x01 | 0xD0..=0xD7 => segments = rest,
            // The scan or the end comes before any frame header.
            0xD8..=0xDA => return Dimensions::Unreadable,
            _ => {
                let &[a, b, ref content @ ..] = rest else {
                    return Dimensions::Further;
                };
                let length = usize::from(u16::from_be_bytes([a, b]));
                // All frame headers; of the same range are DHT, JPG and DAC.
                if matches!(marker, 0xC0..=0xCF) && !matches!(marker, 0xC4 | 0xC8 | 0xCC) {
                    let &[_, h0, h1, w0, w1, ..] = content else {
                        return Dimensions::Further;
                    };
                    return known(
                        u16::from_be_bytes([w0, w1]).into(),
                        u16::from_be_bytes([h0, h1]).into(),
                    );
                }
                let Some(behind) = length.checked_sub(2) else {
                    return Dimensions::Unreadable;
                };
                match content.get(behind..) {
                    Some(rest) => segments = rest,
                    None => return Dimensions::Further,
                }
            }
        }
    }
}

fn known(width: u32, height: u32) -> Dimensions {
    if width == 0 || height == 0 {
        return Dimensions::Unreadable;
    }
    Dimensions::Known { width, height }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR\0\0\x01\x02\0\0\0\x30\x08";
    const JPEG: &[u8] = b"\xFF\xD8\xFF\xE0\0\x04ab\xFF\xFF\xC2\0\x11\x08\x02\x28\x02\xD0\x03";

    #[test]
    fn sizes_stand_in_the_headers() {
        let cases: [(&[u8], Dimensions); 6] = [
            (
                PNG,
                Dimensions::Known {
                    width: 258,
                    height: 48,
                },
            ),
            (
                JPEG,
                Dimensions::Known {
                    width: 720,
                    height: 552,
                },
            ),
            (b"GIF89a", Dimensions::Unreadable),
            (b"\xFF\xD8\xFF\xDA", Dimensions::Unreadable),
            (b"\xFF\xD8\xFF\xE0\0\x01", Dimensions::Unreadable),
            (
                b"\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR\0\0\0\0\0\0\0\0",
                Dimensions::Unreadable,
            ),
        ];
        for (head, expected) in cases {
            assert_eq!(dimensions(head), expected, "{head:02x?}");
        }
    }

    #[test]
    fn a_beginning_asks_for_more_until_the_size_is_there() {
        for (whole, needed) in [(PNG, 24), (JPEG, 18)] {
            for length in 0..needed {
                assert_eq!(
                    dimensions(&whole[..length]),
                    Dimensions::Further,
                    "{length}"
                );
            }
            assert!(matches!(
                dimensions(&whole[..needed]),
                Dimensions::Known { .. }
            ));
        }
    }

    #[test]
    fn apples_own_png_is_read() {
        let mut bytes = PNG[..8].to_vec();
        bytes.extend(b"\0\0\0\x04CgBI\x50\0\x20\x06\x2B\xD5\xB3\x7F");
        bytes.extend(&PNG[8..]);
        assert_eq!(
            dimensions(&bytes),
            Dimensions::Known {
                width: 258,
                height: 48
            }
        );
    }
}
