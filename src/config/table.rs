//! The variables as text: for `--help`, and as the table of the README.

use std::fmt::Write as _;

use super::field::Draft;
use super::variables::VARIABLES;

/// The variables with their defaults, for `--help`.
#[must_use]
pub fn settings_help() -> String {
    let mut draft = Draft::default();
    let mut text = String::from("Settings (environment variables):\n");
    for variable in VARIABLES {
        let (accepts, default) = (variable.accepts(&mut draft), variable.shown(&mut draft));
        let help = variable.help.replace('`', "");
        // Writing to a string cannot fail.
        let _infallible = write!(
            text,
            "  {}\n      {help} [{accepts}; default: {default}]\n",
            variable.name
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: &str = "| variable | accepts | default | meaning |\n|---|---|---|---|\n";

    /// The rows of the README's table.
    fn rows() -> String {
        let mut draft = Draft::default();
        let mut rows = String::new();
        for variable in VARIABLES {
            let (accepts, default) = (variable.accepts(&mut draft), variable.shown(&mut draft));
            let (name, help) = (variable.name, variable.help);
            writeln!(rows, "| `{name}` | {accepts} | {default} | {help} |").unwrap();
        }
        rows
    }

    /// `UPDATE_README=1 cargo test --lib the_readme` writes the table instead of checking it.
    #[test]
    fn the_readme_lists_every_variable_as_it_is_declared() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
        let readme = std::fs::read_to_string(&path).unwrap();
        let (before, rest) = readme.split_once(BEGIN).expect("the README has the table");
        let end = rest.find("\n\n").unwrap() + 1;
        let (table, after) = rest.split_at(end);
        if std::env::var_os("UPDATE_README").is_some() {
            std::fs::write(&path, format!("{before}{BEGIN}{}{after}", rows())).unwrap();
        } else {
            assert_eq!(table, rows());
        }
    }

    #[test]
    fn the_help_has_every_variable_with_its_default() {
        let help = settings_help();
        for part in [
            "DECKPROBE_MCP_TIMEOUT_MS\n      hard deadline of one document [1 to 604800000; default: 30000]",
            "[auto, require, off; default: auto]",
            "[directories; default: unrestricted]",
        ] {
            assert!(help.contains(part), "{part}\n{help}");
        }
        assert_eq!(help.matches("DECKPROBE_MCP_").count(), VARIABLES.len());
    }
}
