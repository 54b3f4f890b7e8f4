//! Office Open XML packages: the parts that `@summary` needs.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::Case;
use super::documents;

/// Packages as the applications write them.
pub(crate) fn built(directory: &Path) -> Vec<Case> {
    documents::all()
        .into_iter()
        .map(|(name, bytes)| {
            let path = directory.join(name);
            std::fs::write(&path, bytes).unwrap();
            case(path)
        })
        .collect()
}

/// The packages of the shared corpus that the engine answers.
pub(crate) fn corpus(shared: &Path) -> Vec<Case> {
    let mut engine = deckprobe_mcp::engine::Session::new(["-t", "@summary"]).unwrap();
    let mut cases = Vec::new();
    for extension in [
        "docx", "docm", "dotx", "dotm", "xlsx", "xlsm", "xltx", "xltm", "xlsb", "pptx", "pptm",
        "ppsx", "ppsm", "potx", "potm",
    ] {
        let mut files: Vec<PathBuf> = std::fs::read_dir(shared.join("corpus").join(extension))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        for path in files {
            let mut out = Vec::new();
            let record = line(&path);
            // Refused documents have no floor, and encrypted ones are no packages.
            if engine.answer(record.as_bytes(), 1, &mut out) == Some(0)
                && !String::from_utf8_lossy(&out).contains("encrypted-ooxml")
            {
                cases.push(case(path));
            }
        }
    }
    cases
}

pub(crate) fn line(path: &Path) -> String {
    serde_json::json!({ "path": path }).to_string()
}

fn case(path: PathBuf) -> Case {
    let bytes = std::fs::read(&path).unwrap();
    let directory = Directory::of(&bytes);
    let parts = needed(&path, &bytes, &directory);
    let line = line(&path);
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let tail = directory.start.min(bytes.len().saturating_sub(2048));
    let size = bytes.len();
    Case {
        name,
        line,
        floor: Box::new(move || {
            let file = File::open(&path).unwrap();
            let mut total = file.metadata().unwrap().len() as usize - size;
            total += read(&file, 0, 8).len();
            total += read(&file, tail, size - tail).len();
            for part in &parts {
                let packed = read(&file, part.start, part.packed);
                total += if part.deflated {
                    inflate(&packed, part.size).len()
                } else {
                    packed.len()
                };
            }
            total
        }),
    }
}

pub(crate) fn read(file: &File, offset: usize, len: usize) -> Vec<u8> {
    let mut buffer = vec![0; len];
    #[cfg(unix)]
    std::os::unix::fs::FileExt::read_exact_at(file, &mut buffer, offset as u64).unwrap();
    #[cfg(windows)]
    std::os::windows::fs::FileExt::seek_read(file, &mut buffer, offset as u64).unwrap();
    buffer
}

fn inflate(packed: &[u8], size: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(size);
    flate2::Decompress::new(false)
        .decompress_vec(packed, &mut out, flate2::FlushDecompress::Finish)
        .unwrap();
    out
}

/// One entry: where its packed bytes are, and what comes out.
struct Part {
    name: String,
    start: usize,
    packed: usize,
    size: usize,
    deflated: bool,
}

/// What the central directory says. A benchmark's reader: its documents are known to be well-formed.
struct Directory {
    start: usize,
    parts: Vec<Part>,
}

impl Directory {
    fn of(bytes: &[u8]) -> Self {
        let end = bytes
            .windows(4)
            .rposition(|window| window == b"PK\x05\x06")
            .unwrap();
        let start = u32_at(bytes, end + 16);
        let mut parts = Vec::new();
        let mut at = start;
        while bytes[at..].starts_with(b"PK\x01\x02") {
            let name_len = u16_at(bytes, at + 28);
            let offset = u32_at(bytes, at + 42);
            parts.push(Part {
                name: String::from_utf8_lossy(&bytes[at + 46..at + 46 + name_len]).into_owned(),
                start: offset + 30 + u16_at(bytes, offset + 26) + u16_at(bytes, offset + 28),
                packed: u32_at(bytes, at + 20),
                size: u32_at(bytes, at + 24),
                deflated: u16_at(bytes, at + 10) == 8,
            });
            at += 46 + name_len + u16_at(bytes, at + 30) + u16_at(bytes, at + 32);
        }
        Self { start, parts }
    }
}

/// Content types, properties, and the main part where it says something that `@summary` asks for.
fn needed(path: &Path, bytes: &[u8], directory: &Directory) -> Vec<Part> {
    let mut names = vec![
        "[content_types].xml",
        "docprops/core.xml",
        "docprops/app.xml",
    ];
    match path.extension().unwrap().as_encoded_bytes() {
        b"xlsb" => names.push("xl/workbook.bin"),
        [b'x', ..] => names.push("xl/workbook.xml"),
        [b'p', ..] => names.push("ppt/presentation.xml"),
        _ => {}
    }
    assert!(!bytes.is_empty());
    directory
        .parts
        .iter()
        .filter(|part| names.contains(&part.name.to_ascii_lowercase().as_str()))
        .map(|part| Part {
            name: part.name.clone(),
            ..*part
        })
        .collect()
}

fn u16_at(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u16_at(bytes, at) | u16_at(bytes, at + 2) << 16
}
