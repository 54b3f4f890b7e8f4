//! Codes of Word fields (ISO/IEC 29500-1, 17.16; [MS-DOC] 2.9.90): which of them lead out of the document.

/// What a field refers to outside its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outside {
    /// Data from another program, fetched by dynamic data exchange.
    Dde,
    /// A linked object, picture, text or data source.
    Link,
    /// An address that a reader can follow.
    Hyperlink,
}

/// What a field with this code refers to outside the document, if anything. A hyperlink whose first
/// argument is the switch `\l` leads to a bookmark.
pub(crate) fn outside(code: &str) -> Option<Outside> {
    let code = code.trim_start();
    let end = code
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(code.len());
    let (keyword, arguments) = code.split_at(end);
    let is = |known: &[&str]| known.iter().any(|word| word.eq_ignore_ascii_case(keyword));
    if is(&["DDE", "DDEAUTO"]) {
        Some(Outside::Dde)
    } else if is(&[
        "INCLUDEPICTURE",
        "INCLUDETEXT",
        "INCLUDE",
        "IMPORT",
        "LINK",
        "RD",
        "DATABASE",
    ]) {
        Some(Outside::Link)
    } else if is(&["HYPERLINK"]) {
        let first = arguments.split_ascii_whitespace().next();
        let is_bookmark = first.is_some_and(|argument| argument.eq_ignore_ascii_case("\\l"));
        (!is_bookmark).then_some(Outside::Hyperlink)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_an_address_lead_outside() {
        for (code, expected) in [
            (" DDEAUTO c:\\\\x \"y\" ", Some(Outside::Dde)),
            ("dde\"cmd\" \"/k\"", Some(Outside::Dde)),
            (
                " INCLUDEPICTURE \"http://x/a.png\" \\d",
                Some(Outside::Link),
            ),
            ("LINK Excel.Sheet.8 a.xls", Some(Outside::Link)),
            ("DATABASE \\c \"DSN=x\"", Some(Outside::Link)),
            ("RD chapter2.doc", Some(Outside::Link)),
            ("HYPERLINK \"http://x\"", Some(Outside::Hyperlink)),
            ("HYPERLINK \\l \"mark\"", None),
            ("HYPERLINK", Some(Outside::Hyperlink)),
            ("PAGE", None),
            ("LINKED x", None),
            ("", None),
        ] {
            assert_eq!(outside(code), expected, "{code}");
        }
    }
}
