//! The root object: which application a document belongs to, and what it declares about itself.

use crate::engine::container::iwa::{DecodeError, Field, Fields, Wire, message, text};

/// Longest identifier that is kept, in bytes. Real ones have some dozens.
const MAX_TEXT: usize = 4096;

/// The root object of a document.
#[derive(Clone, Debug)]
pub(super) struct Root {
    pub(super) kind: RootKind,
    pub(super) declared: Declared,
}

/// The kind of a document by its root object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RootKind {
    Keynote,
    Numbers,
    Pages,
    /// A root object that Keynote and Numbers share, without the fields in which they differ.
    KeynoteOrNumbers,
}

/// What a document declares in the part of the root object that all three applications share.
#[derive(Clone, Debug, Default)]
pub(super) struct Declared {
    /// The locale of its formats, such as `en_US` or `en_US@rg=dezzzz`.
    pub(super) locale: Option<String>,
    /// The language of its texts, such as `en-GB`.
    pub(super) language: Option<String>,
    /// The template that it was made from, such as `Application/Blank/Traditional`.
    pub(super) template: Option<String>,
}

impl Root {
    /// Reads the root object: `TP.DocumentArchive` is type 10000; `KN.DocumentArchive` and
    /// `TN.DocumentArchive` are both type 1, but only the former has a show (field 2), and only the
    /// latter keeps sheets in field 1 and the shared part in field 8.
    pub(super) fn read(kind: u32, payload: &[u8]) -> Result<Self, DecodeError> {
        let kind = match kind {
            10_000 => RootKind::Pages,
            _ => RootKind::read(payload)?,
        };
        let shared: &[u32] = match kind {
            RootKind::Keynote => &[3],
            RootKind::Numbers => &[8],
            RootKind::Pages => &[15],
            RootKind::KeynoteOrNumbers => &[3, 8],
        };
        let declared = shared
            .iter()
            .find_map(|field| Declared::read(message(payload, *field).ok()??).ok());
        Ok(Self {
            kind,
            declared: declared.unwrap_or_default(),
        })
    }
}

impl RootKind {
    fn read(payload: &[u8]) -> Result<Self, DecodeError> {
        let (mut show, mut sheets) = (false, false);
        for field in Fields::of(payload) {
            match field? {
                Field {
                    number: 2,
                    value: Wire::Bytes(_),
                } => show = true,
                Field {
                    number: 1 | 8,
                    value: Wire::Bytes(_),
                } => sheets = true,
                _ => {}
            }
        }
        Ok(match (show, sheets) {
            (true, false) => Self::Keynote,
            (false, true) => Self::Numbers,
            _ => Self::KeynoteOrNumbers,
        })
    }
}

impl Declared {
    /// `TSA.DocumentArchive`: field 1 is the `TSK.DocumentArchive`, in which field 4 is the locale; field 3
    /// is the language and field 9 the template.
    fn read(shared: &[u8]) -> Result<Self, DecodeError> {
        let short = |value: Option<String>| {
            value.filter(|value| !value.is_empty() && value.len() <= MAX_TEXT)
        };
        let locale = match message(shared, 1)? {
            Some(base) => short(text(base, 4)?),
            None => None,
        };
        Ok(Self {
            language: short(text(shared, 3)?).or_else(|| locale.as_deref().map(language_of)),
            template: short(text(shared, 9)?),
            locale,
        })
    }
}

/// The language of a locale, with its script where it has one: `en` of `en_US@rg=dezzzz`, `zh-Hans` of
/// `zh_Hans_CN`.
fn language_of(locale: &str) -> String {
    let plain = locale.split('@').next().unwrap_or_default();
    let mut parts = plain.split(['_', '-']);
    let language = parts.next().unwrap_or_default();
    match parts.next().filter(|script| script.len() == 4) {
        Some(script) => format!("{language}-{script}"),
        None => language.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_of_a_locale_keeps_the_script_and_drops_the_rest() {
        for (locale, language) in [
            ("en_US@rg=dezzzz", "en"),
            ("de", "de"),
            ("zh_Hans_CN", "zh-Hans"),
            ("pt-BR", "pt"),
        ] {
            assert_eq!(language_of(locale), language);
        }
    }
}
