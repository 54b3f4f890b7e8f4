//! One input of an engine in `--jsonl` mode.

use serde::Serialize;

use super::{Envelope, ErrorCode, ProbeOptions};

/// What a record asks to be probed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A file, by a path that the engine can open.
    Path {
        /// The path to open, absolute and resolved by the access check.
        path: String,
        /// The name that was asked for. It becomes `input.display_name` and decides the extension;
        /// without it the engine takes the last component of `path`.
        name: Option<String>,
    },
    /// Bytes that travel inside the record.
    Bytes {
        /// The display name, which decides the extension.
        name: String,
        /// The document as standard base64 with padding, exactly as the caller sent it.
        data_base64: String,
    },
}

/// A record: an input that is known to fit on one line and to get exactly one reply.
///
/// Building one refuses what would break the framing or the pairing of lines and replies
/// (contract §1.4): a record is always valid JSON, is never blank and holds no raw line break, since
/// JSON escapes those.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    input: Input,
}

impl Record {
    /// A record for a file.
    ///
    /// # Errors
    /// `MCP_INVALID_ARGUMENT` when the path is empty or holds a NUL, which no file system call
    /// accepts.
    pub fn from_path(path: impl Into<String>, name: Option<String>) -> Result<Self, Envelope> {
        let path = path.into();
        if path.is_empty() {
            return Err(invalid("path is empty; give the path of a file"));
        }
        if path.contains('\0') || name.as_ref().is_some_and(|name| name.contains('\0')) {
            return Err(invalid(
                "path holds a NUL character, which no file name can",
            ));
        }
        Ok(Self {
            input: Input::Path { path, name },
        })
    }

    /// A record for bytes. The base64 text is the engine's to decode; its size is the caller's to
    /// bound.
    ///
    /// # Errors
    /// `MCP_INVALID_ARGUMENT` when the name is empty.
    pub fn from_base64(
        name: impl Into<String>,
        data_base64: impl Into<String>,
    ) -> Result<Self, Envelope> {
        let name = name.into();
        if name.is_empty() {
            return Err(invalid(
                "name is empty; inline bytes need a name with an extension",
            ));
        }
        Ok(Self {
            input: Input::Bytes {
                name,
                data_base64: data_base64.into(),
            },
        })
    }

    /// What is probed.
    #[must_use]
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// The `input.display_name` that a good reply to this record carries, where we can know it.
    #[must_use]
    pub fn display_name(&self) -> Option<&str> {
        match &self.input {
            Input::Bytes { name, .. } => Some(name),
            Input::Path {
                name: Some(name), ..
            } => Some(name),
            Input::Path { path, name: None } => std::path::Path::new(path)
                .file_name()
                .and_then(std::ffi::OsStr::to_str),
        }
    }

    /// Appends the record as one LF-terminated line. `options` is given only to an engine that
    /// understands the `"options"` member (the built-in one).
    pub fn write_line(&self, options: Option<&ProbeOptions>, line: &mut Vec<u8>) {
        #[derive(Serialize)]
        struct Wire<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            path: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            name: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            data_base64: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            options: Option<&'a ProbeOptions>,
        }
        let wire = match &self.input {
            Input::Path { path, name } => Wire {
                path: Some(path),
                name: name.as_deref(),
                data_base64: None,
                options,
            },
            Input::Bytes { name, data_base64 } => Wire {
                path: None,
                name: Some(name),
                data_base64: Some(data_base64),
                options,
            },
        };
        // Writing strings, maps and integers to memory cannot fail.
        let _infallible = serde_json::to_writer(&mut *line, &wire);
        line.push(b'\n');
    }
}

fn invalid(message: &str) -> Envelope {
    Envelope::new(ErrorCode::McpInvalidArgument, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(record: &Record) -> String {
        let mut line = Vec::new();
        record.write_line(None, &mut line);
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn a_record_is_always_one_line_of_json() {
        let names = [
            "plain.pdf",
            "a\nb.docx",
            "\r.pdf",
            "\u{2028}.key",
            "-l",
            "\"quoted\\\".xls",
        ];
        for name in names {
            let record = Record::from_path(format!("/tmp/{name}"), Some(name.into())).unwrap();
            let text = line(&record);
            assert_eq!(text.matches('\n').count(), 1, "{name:?}");
            let back: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(back["path"], format!("/tmp/{name}"));
            assert_eq!(back["name"], name);
            assert_eq!(record.display_name(), Some(name));
        }
    }

    #[test]
    fn what_no_file_system_accepts_is_refused_before_an_engine_sees_it() {
        for (path, name) in [("", None), ("a\0b", None), ("a.pdf", Some("x\0.pdf"))] {
            let refused = Record::from_path(path, name.map(String::from)).unwrap_err();
            assert_eq!(refused.code, ErrorCode::McpInvalidArgument);
        }
        assert!(Record::from_base64("", "AAAA").is_err());
    }

    #[test]
    fn bytes_travel_as_they_were_sent() {
        let record = Record::from_base64("x.pdf", "JVBERi0=").unwrap();
        assert_eq!(
            line(&record),
            "{\"name\":\"x.pdf\",\"data_base64\":\"JVBERi0=\"}\n"
        );
    }
}
