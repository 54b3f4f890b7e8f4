//! Which target names may travel on a command line.

/// Longest target name that is accepted, in bytes. The longest of the contract has 38.
const MAX_TARGET_BYTES: usize = 128;

/// Checks that a target name or selector cannot change the meaning of a command line.
///
/// # Errors
/// A sentence that says what is wrong with the name and what is accepted.
pub fn check_target(name: &str) -> Result<(), String> {
    let accepted = "a target name such as slide_count, powerpoint.slide_count or @summary";
    if name.is_empty() {
        return Err(format!("got an empty name; accepts {accepted}"));
    }
    if name.len() > MAX_TARGET_BYTES {
        return Err(format!(
            "got a name of {} bytes; at most {MAX_TARGET_BYTES}",
            name.len()
        ));
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '@');
    match name.chars().find(|c| !is_plain(*c)) {
        Some(c) => Err(format!(
            "got {name:?}, which holds {c:?}; accepts {accepted}"
        )),
        None if name.starts_with('-') => Err(format!(
            "got {name:?}, which begins with a dash; accepts {accepted}"
        )),
        None => Ok(()),
    }
}
