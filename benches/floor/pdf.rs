//! PDF files: the tail, and what leads from it to the catalogue.
//!
//! The floor reads the end of the file, every cross-reference section on the way to the entry of the
//! catalogue, and the catalogue itself, and inflates what is compressed of these. Where they are was
//! found out before: nothing is parsed in the measured part.

use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};

use memchr::memmem;

use super::Case;
use super::ooxml::{line, read};

/// Files of the size and shape that writers make for small documents.
pub(crate) fn built(directory: &Path) -> Vec<Case> {
    [("letter.pdf", 1), ("report.pdf", 40), ("book.pdf", 900)]
        .into_iter()
        .map(|(name, pages)| {
            let path = directory.join(name);
            std::fs::write(&path, document(pages)).unwrap();
            case(path).unwrap()
        })
        .collect()
}

/// The files of the shared corpus that the engine answers and whose way to the catalogue is sound.
pub(crate) fn corpus(shared: &Path, arguments: &[&str]) -> Vec<Case> {
    let mut engine = deckprobe_mcp::engine::Session::new(arguments.iter().copied()).unwrap();
    let mut files: Vec<PathBuf> = std::fs::read_dir(shared.join("corpus/pdf"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
        .into_iter()
        .filter(|path| {
            let mut out = Vec::new();
            engine.answer(line(path).as_bytes(), 1, &mut out) == Some(0)
                && memmem::find(&out, b"\"error\"").is_none()
        })
        .filter_map(case)
        .collect()
}

fn case(path: PathBuf) -> Option<Case> {
    let bytes = std::fs::read(&path).unwrap();
    let ranges = way_to_catalogue(&bytes)?;
    let tail = bytes.len().saturating_sub(1024);
    let size = bytes.len();
    Some(Case {
        name: path.file_name()?.to_string_lossy().into_owned(),
        line: line(&path),
        floor: Box::new(move || {
            let file = File::open(&path).unwrap();
            let mut total = file.metadata().unwrap().len() as usize - size;
            total += read(&file, tail, size - tail).len();
            for range in &ranges {
                let piece = read(&file, range.start, range.len);
                total += match range.packed {
                    Some((from, to)) => inflate(&piece[from..to]).len(),
                    None => piece.len(),
                };
            }
            total
        }),
    })
}

/// Bytes that have to be read, and which of them are compressed.
struct Range {
    start: usize,
    len: usize,
    packed: Option<(usize, usize)>,
}

fn inflate(packed: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(packed.len() * 4);
    let mut inflater = flate2::Decompress::new(true);
    loop {
        let before = inflater.total_out();
        let used = inflater.total_in() as usize;
        let status =
            inflater.decompress_vec(&packed[used..], &mut out, flate2::FlushDecompress::None);
        match status {
            Ok(flate2::Status::StreamEnd) | Err(_) => return out,
            Ok(_) if inflater.total_out() == before && out.len() < out.capacity() => return out,
            Ok(_) => out.reserve(out.len().max(1024)),
        }
    }
}

/// Follows the sections from `startxref` to the entry of the root. A benchmark's reader: what is not
/// plainly written is left out.
fn way_to_catalogue(bytes: &[u8]) -> Option<Vec<Range>> {
    let keyword = memmem::rfind(&bytes[bytes.len().saturating_sub(1024)..], b"startxref")?
        + bytes.len().saturating_sub(1024);
    let mut start = number(bytes, keyword + 9)?;
    let mut ranges = Vec::new();
    let mut root = None;
    for _ in 0..20 {
        let section = Section::read(bytes, start)?;
        root = root.or(key(section.dict, b"/Root"));
        let entry = section.entry(root?);
        let previous = key(section.dict, b"/Prev");
        ranges.push(section.range);
        match entry {
            Some(Place::At(offset)) => {
                let end = memmem::find(&bytes[offset..], b"endobj")?;
                ranges.push(Range {
                    start: offset,
                    len: end,
                    packed: None,
                });
                return Some(ranges);
            }
            Some(Place::In(container)) => {
                let Some(Place::At(offset)) = section
                    .entries
                    .iter()
                    .find_map(|(number, place)| (*number == container).then_some(*place))
                else {
                    return None;
                };
                ranges.push(Stream::read(bytes, offset)?.range);
                return Some(ranges);
            }
            None => start = previous?,
        }
    }
    None
}

#[derive(Clone, Copy)]
enum Place {
    At(usize),
    In(usize),
}

struct Section<'b> {
    dict: &'b [u8],
    range: Range,
    entries: Vec<(usize, Place)>,
}

impl<'b> Section<'b> {
    fn read(bytes: &'b [u8], start: usize) -> Option<Self> {
        if !bytes.get(start..)?.starts_with(b"xref") {
            return Self::read_stream(bytes, start);
        }
        let trailer = start + memmem::find(&bytes[start..], b"trailer")?;
        let end = trailer + memmem::find(&bytes[trailer..], b"startxref")?;
        let text = std::str::from_utf8(&bytes[start + 4..trailer]).ok()?;
        let mut words = text.split_ascii_whitespace();
        let mut entries = Vec::new();
        while let (Some(first), Some(count)) = (words.next(), words.next()) {
            let first: usize = first.parse().ok()?;
            for number in first..first + count.parse::<usize>().ok()? {
                let (offset, _, kind) = (words.next()?, words.next()?, words.next()?);
                if kind == "n" {
                    entries.push((number, Place::At(offset.parse().ok()?)));
                }
            }
        }
        Some(Self {
            dict: &bytes[trailer..end],
            range: Range {
                start,
                len: end - start,
                packed: None,
            },
            entries,
        })
    }

    fn read_stream(bytes: &'b [u8], start: usize) -> Option<Self> {
        let stream = Stream::read(bytes, start)?;
        let widths = numbers(stream.dict, b"/W")?;
        let size = key(stream.dict, b"/Size")?;
        let index = numbers(stream.dict, b"/Index").unwrap_or_else(|| vec![0, size]);
        let stride: usize = widths.iter().sum();
        let (from, to) = stream.range.packed?;
        let mut data = inflate(&bytes[start + from..start + to]);
        if memmem::find(stream.dict, b"/Predictor 12").is_some() {
            data = up(&data, stride)?;
        }
        let mut records = data.chunks_exact(stride);
        let mut entries = Vec::new();
        for pair in index.chunks_exact(2) {
            for number in pair[0]..pair[0] + pair[1] {
                let record = records.next()?;
                let field = |from: usize, len: usize| {
                    record[from..from + len]
                        .iter()
                        .fold(0, |value, byte| value << 8 | usize::from(*byte))
                };
                let second = field(widths[0], widths[1]);
                match if widths[0] == 0 {
                    1
                } else {
                    field(0, widths[0])
                } {
                    1 => entries.push((number, Place::At(second))),
                    2 => entries.push((number, Place::In(second))),
                    _ => {}
                }
            }
        }
        Some(Self {
            dict: stream.dict,
            range: stream.range,
            entries,
        })
    }

    fn entry(&self, number: usize) -> Option<Place> {
        self.entries
            .iter()
            .find_map(|(entry, place)| (*entry == number).then_some(*place))
    }
}

/// Undoes the one predictor that writers use: each row minus the one above.
fn up(data: &[u8], stride: usize) -> Option<Vec<u8>> {
    let mut above = vec![0; stride];
    let mut out = Vec::new();
    for row in data.chunks_exact(stride + 1) {
        if row[0] != 2 {
            return None;
        }
        for (value, byte) in above.iter_mut().zip(&row[1..]) {
            *value = u8::wrapping_add(*value, *byte);
        }
        out.extend_from_slice(&above);
    }
    Some(out)
}

struct Stream<'b> {
    dict: &'b [u8],
    range: Range,
}

impl<'b> Stream<'b> {
    fn read(bytes: &'b [u8], start: usize) -> Option<Self> {
        let keyword = start + memmem::find(bytes.get(start..)?, b"stream")?;
        let dict = &bytes[start..keyword];
        memmem::find(dict, b"/FlateDecode")?;
        let data = keyword
            + 6
            + bytes[keyword + 6..]
                .iter()
                .position(|byte| *byte == b'\n')?
            + 1;
        let len = key(dict, b"/Length")?;
        (data + len <= bytes.len()).then_some(())?;
        Some(Self {
            dict,
            range: Range {
                start,
                len: data + len - start,
                packed: Some((data - start, data + len - start)),
            },
        })
    }
}

fn key(dict: &[u8], name: &[u8]) -> Option<usize> {
    number(dict, memmem::find(dict, name)? + name.len())
}

fn numbers(dict: &[u8], name: &[u8]) -> Option<Vec<usize>> {
    let at = memmem::find(dict, name)? + name.len();
    let open = at + dict[at..].iter().position(|byte| *byte == b'[')? + 1;
    let close = open + dict[open..].iter().position(|byte| *byte == b']')?;
    let text = std::str::from_utf8(&dict[open..close]).ok()?;
    text.split_ascii_whitespace()
        .map(|word| word.parse().ok())
        .collect()
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let text: String = bytes
        .get(at..)?
        .iter()
        .map(|byte| char::from(*byte))
        .skip_while(char::is_ascii_whitespace)
        .take_while(char::is_ascii_digit)
        .collect();
    text.parse().ok()
}

/// A file with a table, an Info dictionary and pages of text.
fn document(pages: usize) -> Vec<u8> {
    let mut bytes = b"%PDF-1.4\n".to_vec();
    let mut places = Vec::new();
    let mut object = |bytes: &mut Vec<u8>, body: &str| {
        places.push(bytes.len());
        let number = places.len();
        bytes.extend(format!("{number} 0 obj\n{body}\nendobj\n").bytes());
    };
    let kids: String = (0..pages)
        .map(|page| format!("{} 0 R ", 4 + 2 * page))
        .collect();
    object(&mut bytes, "<</Type/Catalog/Pages 2 0 R/Lang(en-GB)>>");
    object(
        &mut bytes,
        &format!("<</Type/Pages/Count {pages}/Kids[{kids}]>>"),
    );
    object(
        &mut bytes,
        "<</Title(A report)/Author(Somebody)/Producer(Maker 1.2)/CreationDate(D:20240102030405Z)>>",
    );
    for page in 0..pages {
        let contents = 5 + 2 * page;
        object(
            &mut bytes,
            &format!("<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents {contents} 0 R>>"),
        );
        let text = format!("BT /F1 12 Tf 72 720 Td (Page {page}) Tj ET\n").repeat(40);
        object(
            &mut bytes,
            &format!("<</Length {}>>stream\n{text}\nendstream", text.len()),
        );
    }
    let start = bytes.len();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", places.len() + 1);
    for place in &places {
        writeln!(table, "{place:010} 00000 n ").unwrap();
    }
    bytes.extend(table.bytes());
    bytes.extend(
        format!(
            "trailer\n<</Size {}/Root 1 0 R/Info 3 0 R>>\nstartxref\n{start}\n%%EOF\n",
            places.len() + 1
        )
        .bytes(),
    );
    bytes
}
