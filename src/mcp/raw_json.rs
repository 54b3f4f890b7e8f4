//! Tool results with an engine's JSON in them, byte for byte and without a copy.
//!
//! The SDK keeps `structuredContent` as a parsed tree and the text block as a string: three copies of a
//! report, and the spelling of numbers and the order of keys are lost. So a handler puts the JSON into
//! the request's [`ResultSlot`], and the transport writes the result by hand, in chunks, from the one
//! copy that the engine's reply is.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::contract::{Reply, indent};

/// Most bytes of JSON that one chunk is made from.
const CHUNK: usize = 64 * 1024;
/// Below this many bytes the text block is indented, for people; above, that would only cost tokens.
const INDENT_BELOW: usize = 8 * 1024;

/// JSON text in pieces, each held once.
#[derive(Clone, Debug, Default)]
pub(super) struct JsonText {
    pieces: Vec<Piece>,
    len: usize,
}

#[derive(Clone, Debug)]
enum Piece {
    /// A reply of the engine. It keeps its place in the supervisor's reply memory while it is held.
    Reply(Reply),
    /// Cached text.
    Shared(Arc<str>),
    /// Text of our own.
    Own(String),
}

impl Piece {
    fn as_str(&self) -> &str {
        match self {
            Self::Reply(reply) => reply.json(),
            Self::Shared(text) => text,
            Self::Own(text) => text,
        }
    }
}

impl JsonText {
    pub(super) fn push_reply(&mut self, reply: &Reply) {
        self.push(Piece::Reply(reply.clone()));
    }

    pub(super) fn push_str(&mut self, text: &str) {
        if let Some(Piece::Own(last)) = self.pieces.last_mut() {
            last.push_str(text);
            self.len += text.len();
        } else {
            self.push(Piece::Own(text.to_owned()));
        }
    }

    /// The length in bytes.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The whole text as one string.
    pub(super) fn to_text(&self) -> String {
        self.pieces.iter().map(Piece::as_str).collect()
    }

    /// Raw line breaks are white space between JSON tokens. In a message they would end its line.
    fn push(&mut self, piece: Piece) {
        let text = piece.as_str();
        let piece = if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_some() {
            Piece::Own(text.replace(['\n', '\r'], " "))
        } else {
            piece
        };
        self.len += piece.as_str().len();
        self.pieces.push(piece);
    }
}

impl From<&Reply> for JsonText {
    fn from(reply: &Reply) -> Self {
        let mut text = Self::default();
        text.push_reply(reply);
        text
    }
}

impl From<&Arc<str>> for JsonText {
    fn from(shared: &Arc<str>) -> Self {
        let mut text = Self::default();
        text.push(Piece::Shared(Arc::clone(shared)));
        text
    }
}

impl From<String> for JsonText {
    fn from(own: String) -> Self {
        let mut text = Self::default();
        text.push(Piece::Own(own));
        text
    }
}

/// What the transport writes into a result.
#[derive(Clone, Debug)]
pub(super) struct RawJson {
    /// The first text block.
    text: JsonText,
    /// `structuredContent`.
    structured: JsonText,
}

impl RawJson {
    /// The same JSON in both places.
    pub(super) fn new(json: JsonText) -> Self {
        Self::with_text(json.clone(), json)
    }

    /// The same without indenting it, for callers that count characters.
    pub(super) fn compact(json: JsonText) -> Self {
        Self {
            text: json.clone(),
            structured: json,
        }
    }

    /// A text block that differs from the structured content.
    pub(super) fn with_text(text: JsonText, structured: JsonText) -> Self {
        let text = if text.len() < INDENT_BELOW {
            JsonText {
                pieces: vec![Piece::Own(indent(&text.to_text()))],
                len: 0,
            }
        } else {
            text
        };
        Self { text, structured }
    }

    /// The text block, and the structured content as a tree.
    pub(super) fn into_parts(self) -> (String, Option<Value>) {
        let structured = serde_json::from_str(&self.structured.to_text()).ok();
        (self.text.to_text(), structured)
    }
}

/// Where a handler leaves the JSON of its result for the transport. A request without one is served by
/// a transport that cannot do this.
#[derive(Clone, Debug, Default)]
pub(super) struct ResultSlot(Arc<Mutex<Option<RawJson>>>);

impl ResultSlot {
    pub(super) fn put(&self, json: RawJson) {
        *self.lock() = Some(json);
    }

    pub(super) fn take(&self) -> Option<RawJson> {
        self.lock().take()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<RawJson>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A JSON-RPC response as chunks of bytes, without a line feed.
#[derive(Debug)]
pub(super) struct ResponseChunks {
    sections: std::vec::IntoIter<Section>,
    current: Option<Section>,
    piece: usize,
    offset: usize,
}

#[derive(Debug)]
enum Section {
    Bytes(Vec<u8>),
    /// JSON inside a JSON string.
    Escaped(JsonText),
    Raw(JsonText),
}

impl ResponseChunks {
    /// The response to `id` whose result is `result`, an object, with the JSON in its place: as first
    /// content block and as `structuredContent`.
    ///
    /// # Errors
    /// When the small parts cannot be printed.
    pub(super) fn new(
        id: &Value,
        mut result: Value,
        json: RawJson,
    ) -> Result<Self, serde_json::Error> {
        let members = result
            .as_object_mut()
            .map(std::mem::take)
            .unwrap_or_default();
        let mut head = b"{\"jsonrpc\":\"2.0\",\"id\":".to_vec();
        serde_json::to_writer(&mut head, id)?;
        head.extend_from_slice(b",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"");
        let mut middle = b"\"}".to_vec();
        let mut tail = Vec::new();
        for (key, value) in members {
            match key.as_str() {
                "content" => {
                    for block in value.as_array().into_iter().flatten() {
                        middle.push(b',');
                        serde_json::to_writer(&mut middle, block)?;
                    }
                }
                "structuredContent" => {}
                _ => {
                    tail.push(b',');
                    serde_json::to_writer(&mut tail, &key)?;
                    tail.push(b':');
                    serde_json::to_writer(&mut tail, &value)?;
                }
            }
        }
        middle.extend_from_slice(b"],\"structuredContent\":");
        tail.extend_from_slice(b"}}");
        let sections = vec![
            Section::Bytes(head),
            Section::Escaped(json.text),
            Section::Bytes(middle),
            Section::Raw(json.structured),
            Section::Bytes(tail),
        ];
        Ok(Self {
            sections: sections.into_iter(),
            current: None,
            piece: 0,
            offset: 0,
        })
    }

    /// The next stretch of the current piece of `text`; `None` after the last.
    fn stretch<'t>(&mut self, text: &'t JsonText) -> Option<&'t str> {
        loop {
            let rest = text.pieces.get(self.piece)?.as_str().get(self.offset..)?;
            if rest.is_empty() {
                self.piece += 1;
                self.offset = 0;
                continue;
            }
            let end = rest.floor_char_boundary(CHUNK);
            self.offset += end;
            return rest.get(..end);
        }
    }

    /// Appends to `chunk` what fits; true when the section has ended.
    fn write(&mut self, section: &Section, chunk: &mut Vec<u8>) -> bool {
        let text = match section {
            Section::Bytes(bytes) => {
                chunk.extend_from_slice(bytes);
                return true;
            }
            Section::Escaped(text) | Section::Raw(text) => text,
        };
        while chunk.len() < CHUNK {
            let Some(stretch) = self.stretch(text) else {
                return true;
            };
            if matches!(section, Section::Raw(_)) {
                chunk.extend_from_slice(stretch.as_bytes());
            } else {
                escape_into(stretch, chunk);
            }
        }
        false
    }
}

impl Iterator for ResponseChunks {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let mut chunk = Vec::new();
        while chunk.len() < CHUNK {
            let Some(section) = self.current.take().or_else(|| self.sections.next()) else {
                break;
            };
            if self.write(&section, &mut chunk) {
                // The memory of a section is freed with it.
                self.piece = 0;
                self.offset = 0;
            } else {
                self.current = Some(section);
            }
        }
        (!chunk.is_empty()).then_some(chunk)
    }
}

/// Appends `text` as the inside of a JSON string.
fn escape_into(text: &str, out: &mut Vec<u8>) {
    let from = out.len();
    // Printing a string to memory cannot fail.
    if serde_json::to_writer(&mut *out, text).is_ok() {
        out.pop();
        out.remove(from);
    }
}
