//! Stream filters (ISO 32000-2, 7.4), each within the expansion budget.

use std::cell::RefCell;

use flate2::{Decompress, FlushDecompress, Status};

use super::lexer::is_space;
use super::object::hex_bytes;
use crate::engine::budget::Meter;
use crate::engine::error::Result;

/// Room for output is made in steps of about this size, and never beyond the budget.
const STEP: usize = 16 * 1024;

/// What text and objects are commonly compressed by.
const USUAL_RATIO: usize = 4;

/// A filter with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    Flate(Predictor),
    Lzw {
        early_change: bool,
        predictor: Predictor,
    },
    Ascii85,
    AsciiHex,
    RunLength,
}

/// How rows were prepared for compression (7.4.4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Predictor {
    pub(crate) kind: u64,
    pub(crate) colors: u64,
    pub(crate) bits: u64,
    pub(crate) columns: u64,
}

impl Default for Predictor {
    fn default() -> Self {
        Self {
            kind: 1,
            colors: 1,
            bits: 8,
            columns: 1,
        }
    }
}

/// The name of a filter, long or abbreviated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilterName {
    Flate,
    Lzw,
    Ascii85,
    AsciiHex,
    RunLength,
    Crypt,
}

impl FilterName {
    pub(crate) fn parse(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"FlateDecode" | b"Fl" => Self::Flate,
            b"LZWDecode" | b"LZW" => Self::Lzw,
            b"ASCII85Decode" | b"A85" => Self::Ascii85,
            b"ASCIIHexDecode" | b"AHx" => Self::AsciiHex,
            b"RunLengthDecode" | b"RL" => Self::RunLength,
            b"Crypt" => Self::Crypt,
            _ => return None,
        })
    }
}

/// Runs one filter. Damaged data gives what could be decoded before the damage: half an object
/// stream still holds objects.
///
/// # Errors
/// Budget errors.
pub(crate) fn decode(filter: Filter, input: &[u8], meter: &Meter) -> Result<Vec<u8>> {
    match filter {
        Filter::Flate(predictor) => Ok(undo(predictor, flate(input, meter)?)),
        Filter::Lzw {
            early_change,
            predictor,
        } => Ok(undo(predictor, lzw(input, early_change, meter)?)),
        Filter::Ascii85 => ascii85(input, meter),
        Filter::AsciiHex => {
            let end = memchr::memchr(b'>', input).unwrap_or(input.len());
            meter.charge_expanded(end.div_ceil(2) as u64, WHAT)?;
            Ok(hex_bytes(&input[..end]))
        }
        Filter::RunLength => run_length(input, meter),
    }
}

const WHAT: &str = "a PDF stream";

thread_local! {
    /// The decompressor of the last stream, for the next one: its tables are not small.
    static SPARE: RefCell<Option<Decompress>> = const { RefCell::new(None) };
}

fn flate(input: &[u8], meter: &Meter) -> Result<Vec<u8>> {
    let spare = SPARE.with(RefCell::take).map(|mut spare| {
        spare.reset(true);
        spare
    });
    let mut inflater = spare.unwrap_or_else(|| Decompress::new(true));
    let output = flate_with(&mut inflater, input, meter);
    SPARE.with(|spare| spare.replace(Some(inflater)));
    output
}

fn flate_with(inflater: &mut Decompress, input: &[u8], meter: &Meter) -> Result<Vec<u8>> {
    let mut output = Vec::new();
    let mut used = 0;
    loop {
        if output.len() == output.capacity() {
            if !output.is_empty() {
                meter.check_clock()?;
            }
            // One byte beyond the budget is enough to see that it is passed.
            let left = usize::try_from(meter.expanded_left()).unwrap_or(usize::MAX);
            let first = input.len().saturating_mul(USUAL_RATIO).clamp(512, STEP);
            let step = output.len().clamp(first, 64 * STEP);
            output.reserve_exact(step.min(left.saturating_add(1)));
        }
        let produced = output.len();
        let status = inflater.decompress_vec(&input[used..], &mut output, FlushDecompress::None);
        let total = usize::try_from(inflater.total_in()).unwrap_or(usize::MAX);
        let stuck = total == used && output.len() == produced;
        used = total.min(input.len());
        meter.charge_expanded((output.len() - produced) as u64, WHAT)?;
        match status {
            Ok(Status::StreamEnd) | Err(_) => return Ok(output),
            Ok(_) if stuck => return Ok(output),
            Ok(_) => {}
        }
    }
}

fn lzw(input: &[u8], early_change: bool, meter: &Meter) -> Result<Vec<u8>> {
    use weezl::{BitOrder, LzwStatus, decode::Decoder};
    let mut decoder = if early_change {
        Decoder::with_tiff_size_switch(BitOrder::Msb, 8)
    } else {
        Decoder::new(BitOrder::Msb, 8)
    };
    let mut output = Vec::new();
    let mut buffer = [0; 4096];
    let mut rest = input;
    loop {
        let step = decoder.decode_bytes(rest, &mut buffer);
        meter.check_clock()?;
        meter.charge_expanded(step.consumed_out as u64, WHAT)?;
        output.extend_from_slice(&buffer[..step.consumed_out]);
        rest = &rest[step.consumed_in..];
        let stuck = step.consumed_in == 0 && step.consumed_out == 0;
        if stuck || !matches!(step.status, Ok(LzwStatus::Ok)) {
            return Ok(output);
        }
    }
}

fn ascii85(input: &[u8], meter: &Meter) -> Result<Vec<u8>> {
    // Five digits make four bytes, but a single `z` makes four.
    let mut output = Vec::new();
    let mut group = [0_u8; 5];
    let mut filled = 0;
    let input = input.strip_prefix(b"<~").unwrap_or(input);
    for byte in input {
        match byte {
            b'~' => break,
            b'z' if filled == 0 => {
                meter.charge_expanded(4, WHAT)?;
                output.extend_from_slice(&[0; 4]);
            }
            b'!'..=b'u' => {
                group[filled] = byte - b'!';
                filled += 1;
                if filled == 5 {
                    meter.charge_expanded(4, WHAT)?;
                    output.extend_from_slice(&base85(group));
                    filled = 0;
                }
            }
            byte if is_space(*byte) => {}
            _ => break,
        }
    }
    if filled > 1 {
        group[filled..].fill(84);
        output.extend_from_slice(&base85(group)[..filled - 1]);
    }
    Ok(output)
}

fn base85(group: [u8; 5]) -> [u8; 4] {
    group
        .iter()
        .fold(0_u32, |value, digit| {
            value.wrapping_mul(85).wrapping_add(u32::from(*digit))
        })
        .to_be_bytes()
}

fn run_length(input: &[u8], meter: &Meter) -> Result<Vec<u8>> {
    let mut output = Vec::new();
    let mut rest = input;
    while let Some((&length, tail)) = rest.split_first() {
        let length = usize::from(length);
        match length {
            0..=127 => {
                let run = &tail[..tail.len().min(length + 1)];
                meter.charge_expanded(run.len() as u64, WHAT)?;
                output.extend_from_slice(run);
                rest = &tail[run.len()..];
            }
            128 => break,
            _ => {
                let Some((&byte, tail)) = tail.split_first() else {
                    break;
                };
                let run = 257 - length;
                meter.charge_expanded(run as u64, WHAT)?;
                output.extend(std::iter::repeat_n(byte, run));
                rest = tail;
            }
        }
    }
    Ok(output)
}

/// Undoes a predictor in place. Sizes are claims: they are only ever compared with the data.
fn undo(predictor: Predictor, data: Vec<u8>) -> Vec<u8> {
    if predictor.kind < 2 {
        return data;
    }
    let pixel_bits = predictor.colors.saturating_mul(predictor.bits);
    let row_bits = pixel_bits.saturating_mul(predictor.columns);
    let clip = |bits: u64| usize::try_from(bits.div_ceil(8)).unwrap_or(usize::MAX);
    let (pixel, row) = (clip(pixel_bits).max(1), clip(row_bits).max(1));
    if predictor.kind == 2 {
        tiff(data, predictor.bits, pixel, row)
    } else {
        png(&data, pixel, row)
    }
}

fn tiff(mut data: Vec<u8>, bits: u64, pixel: usize, row: usize) -> Vec<u8> {
    // Other depths occur in images only.
    if bits == 8 {
        for row in data.chunks_mut(row) {
            for i in pixel..row.len() {
                row[i] = row[i].wrapping_add(row[i - pixel]);
            }
        }
    }
    data
}

/// Each row is preceded by its algorithm (PNG specification, clause 9).
fn png(data: &[u8], pixel: usize, row: usize) -> Vec<u8> {
    let mut out = vec![0; data.len()];
    let mut written = 0;
    for line in data.chunks(row.saturating_add(1)) {
        let Some((algorithm, bytes)) = line.split_first() else {
            continue;
        };
        let (done, rest) = out.split_at_mut(written);
        // Only the last row may be short.
        let above = written.checked_sub(row).map(|start| &done[start..]);
        unfilter(*algorithm, bytes, above, pixel, &mut rest[..bytes.len()]);
        written += bytes.len();
    }
    out.truncate(written);
    out
}

/// Undoes the algorithm of one row. What is beside the image counts as zero.
fn unfilter(algorithm: u8, bytes: &[u8], above: Option<&[u8]>, pixel: usize, out: &mut [u8]) {
    match (algorithm, above) {
        // The usual one in cross-reference streams.
        (2, Some(above)) => {
            for ((out, byte), up) in out.iter_mut().zip(bytes).zip(above) {
                *out = byte.wrapping_add(*up);
            }
        }
        (1 | 3 | 4, above) => {
            for (i, byte) in bytes.iter().enumerate() {
                let before = i.checked_sub(pixel);
                let left = before.map_or(0, |at| out[at]);
                let up = above.map_or(0, |above| above[i]);
                let predicted = match algorithm {
                    1 => left,
                    3 => u8::midpoint(left, up),
                    _ => {
                        let corner = above.zip(before).map_or(0, |(above, at)| above[at]);
                        paeth(left, up, corner)
                    }
                };
                out[i] = byte.wrapping_add(predicted);
            }
        }
        _ => out.copy_from_slice(bytes),
    }
}

fn paeth(left: u8, up: u8, corner: u8) -> u8 {
    let (a, b, c) = (i32::from(left), i32::from(up), i32::from(corner));
    let estimate = a + b - c;
    let (to_a, to_b, to_c) = (
        (estimate - a).abs(),
        (estimate - b).abs(),
        (estimate - c).abs(),
    );
    if to_a <= to_b && to_a <= to_c {
        left
    } else if to_b <= to_c {
        up
    } else {
        corner
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Budget, Level, Limits};
    use std::io::Write;

    fn meter(expanded: u64) -> Meter {
        Meter::start(Limits::with(
            Level::Deep,
            &Budget {
                max_expanded_bytes: Some(expanded),
                ..Budget::default()
            },
        ))
    }

    fn deflate(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn filters_decode() {
        let meter = meter(1 << 20);
        let plain = b"The quick brown fox jumps over the lazy dog. ".repeat(30);
        let cases: [(Filter, Vec<u8>, &[u8]); 6] = [
            (Filter::Flate(Predictor::default()), deflate(&plain), &plain),
            (
                Filter::Ascii85,
                b"87cUR D]j7BEbo80~>".to_vec(),
                b"Hello world!",
            ),
            (Filter::Ascii85, b"z87cUR~>".to_vec(), b"\0\0\0\0Hell"),
            (Filter::AsciiHex, b"48 65 6C6c 7>zz".to_vec(), b"Hellp"),
            (
                Filter::RunLength,
                vec![2, b'a', b'b', b'c', 254, b'x', 128, 9],
                b"abcxxx",
            ),
            (
                Filter::Lzw {
                    early_change: true,
                    predictor: Predictor::default(),
                },
                vec![0x80, 0x0B, 0x60, 0x50, 0x22, 0x0C, 0x0C, 0x85, 0x01],
                b"-----A---B",
            ),
        ];
        for (filter, input, expected) in cases {
            let output = decode(filter, &input, &meter).unwrap();
            assert_eq!(output, expected, "{filter:?}");
        }
    }

    #[test]
    fn a_bomb_stops_at_the_budget_before_the_bytes_exist() {
        let meter = meter(100_000);
        let bomb = deflate(&vec![0; 50_000_000]);
        let refused = decode(Filter::Flate(Predictor::default()), &bomb, &meter).unwrap_err();
        assert!(refused.is_budget());
        assert!(meter.cost().expanded_bytes <= 100_000);
    }

    #[test]
    fn a_budget_can_be_used_up_to_its_last_byte() {
        let plain = vec![7; 100_000];
        let exact = meter(100_000);
        let input = deflate(&plain);
        assert_eq!(
            decode(Filter::Flate(Predictor::default()), &input, &exact).unwrap(),
            plain
        );
        assert_eq!(exact.cost().expanded_bytes, 100_000);
        assert!(decode(Filter::Flate(Predictor::default()), &input, &meter(99_999)).is_err());
    }

    #[test]
    fn damaged_data_gives_what_came_before_the_damage() {
        let plain: Vec<u8> = (0..60_000_u32).map(|i| (i * i % 251) as u8).collect();
        let mut input = deflate(&plain);
        input.truncate(input.len() / 2);
        let output = decode(Filter::Flate(Predictor::default()), &input, &meter(1 << 20)).unwrap();
        assert!(!output.is_empty() && plain.starts_with(&output));
    }

    #[test]
    fn predictors_are_undone_and_absurd_columns_claim_no_memory() {
        let png = |columns| Predictor {
            kind: 12,
            columns,
            ..Predictor::default()
        };
        assert_eq!(
            undo(png(2), vec![2, 1, 2, 2, 1, 1, 1, 5, 1]),
            [1, 2, 2, 3, 5, 6]
        );
        assert_eq!(
            undo(png(3), vec![4, 9, 1, 1, 3, 1, 1, 1]),
            [9, 10, 11, 5, 8, 10]
        );
        for columns in [3_000_000_000, u64::MAX] {
            assert_eq!(undo(png(columns), vec![2, 1, 2]), [1, 2]);
        }
        let tiff = Predictor {
            kind: 2,
            columns: 3,
            ..Predictor::default()
        };
        assert_eq!(undo(tiff, vec![1, 1, 1, 2, 2, 2]), [1, 2, 3, 2, 4, 6]);
    }
}
