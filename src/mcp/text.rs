//! Text from a caller in our messages: quoted, bounded, and compared with the names that we know.

/// Longest excerpt of a value that is shown in a message, in characters.
const EXCERPT: usize = 80;
/// Longest name that is compared with the known ones, in bytes: comparing takes time and memory.
const COMPARED: usize = 64;

/// What a caller wrote, for a message: quoted, escaped and bounded.
pub(super) fn quoted(text: &str) -> String {
    format!("{:?}", excerpt(text))
}

/// The beginning of a text that is too long for a message.
pub(super) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(EXCERPT) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// The known name that an unknown one is most likely meant to be.
pub(super) fn nearest<'a>(unknown: &str, known: &[&'a str]) -> Option<&'a str> {
    if unknown.len() > COMPARED {
        return None;
    }
    let typed = unknown.to_ascii_lowercase().replace('-', "_");
    let begins = |name: &&&str| typed.len() >= 3 && name.starts_with(&typed);
    if let Some(name) = known.iter().find(begins) {
        return Some(name);
    }
    known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(&typed, name), *name))
        .min()
        .filter(|(distance, name)| *distance <= 2.min(name.len() / 2))
        .map(|(_, name)| name)
}
