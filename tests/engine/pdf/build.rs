//! Writes PDF files for tests: well-formed ones, and ones that are broken on purpose.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;

/// A file in the making: objects, then cross-reference data, then perhaps another revision.
pub(super) struct Pdf {
    pub(super) bytes: Vec<u8>,
    entries: BTreeMap<u32, Entry>,
    previous: Option<usize>,
}

#[derive(Clone, Copy)]
enum Entry {
    Free,
    At(usize),
    In(u32, u32),
}

impl Pdf {
    pub(super) fn new(version: &str) -> Self {
        Self {
            bytes: format!("%PDF-{version}\n%\u{e2}\u{e3}\n").into_bytes(),
            entries: BTreeMap::new(),
            previous: None,
        }
    }

    /// A catalogue (1) with one page (3) below a page tree (2).
    pub(super) fn one_page(catalogue: &str, page: &str) -> Self {
        let mut pdf = Self::new("1.7");
        pdf.object(1, format!("<</Type/Catalog/Pages 2 0 R {catalogue}>>"))
            .object(2, "<</Type/Pages/Kids[3 0 R]/Count 1>>")
            .object(
                3,
                format!("<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]{page}>>"),
            );
        pdf
    }

    pub(super) fn raw(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.bytes.extend_from_slice(bytes.as_ref());
        self
    }

    pub(super) fn object(&mut self, number: u32, body: impl AsRef<[u8]>) -> &mut Self {
        self.entries.insert(number, Entry::At(self.bytes.len()));
        self.raw(format!("{number} 0 obj\n"))
            .raw(body)
            .raw("\nendobj\n")
    }

    pub(super) fn stream(&mut self, number: u32, dict: &str, data: &[u8]) -> &mut Self {
        let head = format!("<<{dict}/Length {}>>\nstream\n", data.len());
        self.object(number, [head.as_bytes(), data, b"\nendstream"].concat())
    }

    pub(super) fn object_stream(&mut self, number: u32, objects: &[(u32, &str)]) -> &mut Self {
        let (mut head, mut body) = (String::new(), String::new());
        for (index, (inner, text)) in (0..).zip(objects) {
            write!(head, "{inner} {} ", body.len()).unwrap();
            write!(body, "{text} ").unwrap();
            self.entries.insert(*inner, Entry::In(number, index));
        }
        let dict = format!(
            "/Type/ObjStm/N {}/First {}/Filter/FlateDecode",
            objects.len(),
            head.len()
        );
        self.stream(number, &dict, &deflate((head + &body).as_bytes()))
    }

    pub(super) fn free(&mut self, number: u32) -> &mut Self {
        self.entries.insert(number, Entry::Free);
        self
    }

    /// Moves the recorded place of an object.
    pub(super) fn shift(&mut self, number: u32, by: isize) -> &mut Self {
        if let Some(Entry::At(at)) = self.entries.get_mut(&number) {
            *at = at.checked_add_signed(by).unwrap();
        }
        self
    }

    /// Where an object of this revision is.
    pub(super) fn place_of(&self, number: u32) -> usize {
        match self.entries[&number] {
            Entry::At(at) => at,
            _ => panic!("object {number} stands nowhere"),
        }
    }

    /// Records a place for an object that was not written.
    pub(super) fn put_at(&mut self, number: u32, at: usize) -> &mut Self {
        self.entries.insert(number, Entry::At(at));
        self
    }

    /// Ends a revision with a table of what was added since the last.
    pub(super) fn table(&mut self, trailer: &str) -> &mut Self {
        let start = self.bytes.len();
        let mut text = String::from("xref\n0 1\n0000000000 65535 f \n");
        for (number, entry) in std::mem::take(&mut self.entries) {
            match entry {
                Entry::At(at) => write!(text, "{number} 1\n{at:010} 00000 n \n").unwrap(),
                Entry::Free => write!(text, "{number} 1\n0000000000 00001 f \n").unwrap(),
                Entry::In(..) => {}
            }
        }
        self.raw(text);
        self.end(start, trailer)
    }

    /// Ends a revision with an xref stream.
    pub(super) fn xref_stream(&mut self, number: u32, trailer: &str) -> &mut Self {
        let start = self.bytes.len();
        self.entries.insert(number, Entry::At(start));
        let previous = self.previous.replace(start);
        let (index, data) = self.records();
        let previous = previous.map_or(String::new(), |at| format!("/Prev {at}"));
        let dict = format!(
            "/Type/XRef/W[1 4 2]/Index[{index}]/Size 1000/Filter/FlateDecode{previous}{trailer}"
        );
        self.stream(number, &dict, &deflate(&data));
        self.entries.clear();
        self.raw(format!("startxref\n{start}\n%%EOF\n"))
    }

    /// Writes an xref stream that only a table's `XRefStm` leads to; returns its place.
    pub(super) fn hidden_xref_stream(&mut self, number: u32) -> usize {
        let start = self.bytes.len();
        let compressed = |entry: &Entry| matches!(entry, Entry::In(..));
        let all = std::mem::take(&mut self.entries);
        let (hidden, open): (BTreeMap<_, _>, BTreeMap<_, _>) =
            all.into_iter().partition(|(_, entry)| compressed(entry));
        self.entries = hidden;
        let (index, data) = self.records();
        self.entries = open;
        let dict = format!("/Type/XRef/W[1 4 2]/Index[{index}]/Size 1000/Filter/FlateDecode");
        self.stream(number, &dict, &deflate(&data));
        start
    }

    fn records(&self) -> (String, Vec<u8>) {
        let (mut index, mut data) = (String::new(), Vec::new());
        for (number, entry) in &self.entries {
            write!(index, "{number} 1 ").unwrap();
            let (kind, second, third) = match *entry {
                Entry::Free => (0, 0, 1),
                Entry::At(at) => (1, u32::try_from(at).unwrap(), 0),
                Entry::In(container, index) => (2, container, u16::try_from(index).unwrap()),
            };
            data.push(kind);
            data.extend_from_slice(&u32::to_be_bytes(second));
            data.extend_from_slice(&u16::to_be_bytes(third));
        }
        (index, data)
    }

    fn end(&mut self, start: usize, trailer: &str) -> &mut Self {
        let previous = self
            .previous
            .replace(start)
            .map_or(String::new(), |at| format!("/Prev {at}"));
        self.raw(format!(
            "trailer\n<</Size 1000{previous}{trailer}>>\nstartxref\n{start}\n%%EOF\n"
        ))
    }
}

pub(super) fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
