//! Scripts in XFA forms (ISO 32000-2, annex K; XML Forms Architecture 3.3, "script").

use super::xml_text::utf8;
use crate::engine::container::pdf::{Dict, Document};
use crate::engine::container::xml::{Token, Xml};
use crate::engine::error::Result;

/// The scripts of a form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Scripts {
    pub(super) java_script: u64,
    /// Scripts without a type are in FormCalc.
    pub(super) form_calc: u64,
}

/// Most packets of a form. Writers make about ten.
const MAX_PACKETS: usize = 256;

/// Counts the scripts in the XFA packets of a form. What cannot be read is counted by
/// [`Document::blocked`].
///
/// # Errors
/// Budget and I/O errors.
pub(super) fn scripts<'p>(document: &Document<'p>, form: &Dict<'p>) -> Result<Scripts> {
    let mut scripts = Scripts::default();
    let Some(entry) = form.get(b"XFA") else {
        return Ok(scripts);
    };
    // One stream with the whole form, or an array of names and streams.
    let packets = match document.resolve(entry)?.as_array() {
        Some(packets) => packets.to_vec(),
        None => vec![entry.clone()],
    };
    for packet in packets.iter().take(MAX_PACKETS) {
        if let Some(reference) = packet.as_ref() {
            let loaded = document.load(reference)?;
            match document.stream_data(&loaded)? {
                Some(data) => scripts.add(document, &utf8(data))?,
                None if loaded.is_stream() => document.count_unreadable(),
                None => {}
            }
        }
    }
    Ok(scripts)
}

impl Scripts {
    fn add(&mut self, document: &Document<'_>, text: &str) -> Result<()> {
        let mut xml = Xml::new(text, document.meter());
        loop {
            match xml.next() {
                Ok(Some(Token::Open(tag))) if tag.local() == "script" => {
                    let kind = tag.attribute("contentType").ok().flatten();
                    match kind.is_some_and(|kind| is_java_script(&kind)) {
                        true => self.java_script += 1,
                        false => self.form_calc += 1,
                    }
                }
                Ok(Some(_)) => {}
                Ok(None) => return Ok(()),
                // The first and the last packet of an array hold only one of the root's tags.
                Err(error) if error.is_malformed() => {
                    let rest = xml.rest();
                    self.java_script += u64::from(is_java_script(rest));
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }
}

fn is_java_script(text: &str) -> bool {
    text.as_bytes()
        .windows("javascript".len())
        .any(|window| window.eq_ignore_ascii_case(b"javascript"))
}

#[cfg(test)]
mod tests {
    use super::is_java_script;

    #[test]
    fn content_types_of_java_script_are_recognised() {
        for kind in ["application/x-javascript", "text/JavaScript"] {
            assert!(is_java_script(kind), "{kind}");
        }
        assert!(!is_java_script("application/x-formcalc"));
        assert!(!is_java_script(""));
    }
}
