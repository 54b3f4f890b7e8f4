//! From a name and a few bytes to a profile (contract §8).
//!
//! The extension of the display name chooses the driver; the signature only confirms it. Content
//! never changes the routing, with one exception of the standard's own making: an encrypted Office
//! Open XML package is a compound file under an Office Open XML extension.

use std::borrow::Cow;

use super::catalogue::{Container, DriverId, Profile};
use super::error::{ProbeError, Result};
use super::source::Source;
use crate::contract::Level;

/// First bytes that are read for a decision: a whole CFB header.
const HEAD_BYTES: usize = 512;

/// A ZIP record signature and the word behind it are enough: the directory is at the end.
const ZIP_HEAD_BYTES: usize = 8;

/// The extension of a display name, lower case, without dot. A name whose only dot is its first
/// character has none. Slashes at the end, and `.` as the last component, do not count.
pub(crate) fn extension(display_name: &str) -> Option<Cow<'_, str>> {
    let mut name = display_name;
    while let Some(shorter) = name.strip_suffix('/').or_else(|| name.strip_suffix("/.")) {
        name = shorter;
    }
    let last = name.rsplit('/').next()?;
    let (stem, extension) = last.rsplit_once('.')?;
    (!stem.is_empty() && last != "..").then(|| {
        if extension.bytes().any(|byte| byte.is_ascii_uppercase()) {
            Cow::Owned(extension.to_ascii_lowercase())
        } else {
            Cow::Borrowed(extension)
        }
    })
}

/// Routes an input. The level of the probe says how much of the input is worth reading for that.
///
/// # Errors
/// `UNSUPPORTED_FORMAT` for an extension that no driver takes, `MALFORMED_INPUT` when the container
/// is not the one that the extension promises.
pub(crate) fn route(source: &Source, extension: Option<&str>, level: Level) -> Result<Profile> {
    let Some(extension) = extension else {
        return Err(ProbeError::unsupported_format(
            "the input name has no extension, which decides the format",
        ));
    };
    let Some(profile) = by_extension(extension) else {
        return Err(ProbeError::unsupported_format(format_args!(".{extension}")));
    };
    let driver = profile.driver().row();
    let head = match driver.container {
        Container::Pdf => super::container::pdf::read_start(source, level)?,
        Container::Cfb => source.read_head(HEAD_BYTES)?,
        Container::Zip | Container::Other => source.read_head(ZIP_HEAD_BYTES)?,
    };
    let found = container(head);
    // Excel up to version 4, and some exporters, write the workbook stream without a container.
    let is_bare_workbook = profile == Profile::Xls && super::driver::legacy::is_bare_workbook(head);
    if found == driver.container || is_bare_workbook {
        Ok(profile)
    } else if driver.encrypted == Some(found) {
        Ok(Profile::EncryptedOoxml)
    } else {
        Err(mismatch(extension, driver.container_name))
    }
}

fn mismatch(extension: &str, wanted: &str) -> ProbeError {
    ProbeError::malformed(format_args!(
        ".{extension} input does not contain the expected {wanted} container"
    ))
}

/// The profile that an extension asks for, before the content is looked at.
fn by_extension(extension: &str) -> Option<Profile> {
    let mut profiles = Profile::ALL.iter().copied();
    profiles.find(|profile| profile.has_extension(extension))
}

/// What these first bytes are the beginning of.
pub(super) fn container(head: &[u8]) -> Container {
    const CFB: [u8; 8] = [0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1];
    const ZIP: [[u8; 4]; 3] = [*b"PK\x03\x04", *b"PK\x05\x06", *b"PK\x07\x08"];
    if head.starts_with(&CFB) {
        Container::Cfb
    } else if ZIP.iter().any(|signature| head.starts_with(signature)) {
        Container::Zip
    } else if super::container::pdf::Header::find(head).is_some() {
        Container::Pdf
    } else {
        Container::Other
    }
}

/// The names that discovery takes, and the profile of each (contract §1.7).
pub(crate) fn by_discovery_name(name: &str) -> Result<Profile> {
    let name = name.to_ascii_lowercase();
    let name = name.strip_prefix('.').unwrap_or(&name);
    let mut aliases = DriverId::ALL.iter().filter_map(|driver| driver.row().alias);
    let name = aliases
        .find(|(alias, _)| *alias == name)
        .map_or(name, |(_, profile)| profile);
    // The encrypted package has no name here, and an extension that shares a profile is not one.
    let profile = by_extension(name).filter(|profile| profile.name() == name);
    profile.ok_or_else(|| ProbeError::unsupported_format(name))
}

/// Whether an asserted format fits what the input was routed to (contract §6.6).
pub(crate) fn satisfies(profile: Profile, asserted: &str) -> bool {
    let asserted = asserted.to_ascii_lowercase();
    let driver = profile.driver().row();
    asserted == profile.name() || asserted == driver.name || driver.group == Some(&asserted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_is_what_follows_the_last_dot_of_the_last_component() {
        let cases = [
            ("a.PDF", Some("pdf")),
            ("dir.x/a.tar.docx", Some("docx")),
            ("dir.x/a.docx/", Some("docx")),
            ("dir.x/a.docx/./", Some("docx")),
            ("dir.x/.", Some("x")),
            ("/", None),
            ("./.", None),
            ("..docx", Some("docx")),
            (".pdf", None),
            ("..", None),
            ("", None),
            ("noext", None),
            ("dir.pdf/noext", None),
            ("a.", Some("")),
            ("a.pdf ", Some("pdf ")),
            ("a\\b.key", Some("key")),
        ];
        for (name, expected) in cases {
            assert_eq!(extension(name).as_deref(), expected, "{name:?}");
        }
    }

    #[test]
    fn every_extension_is_routed_by_name_and_confirmed_by_signature() {
        const CFB: &[u8] = b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1";
        const ZIP: &[u8] = b"PK\x03\x04rest";
        const PDF: &[u8] = b"junk\n%PDF-1.7";
        let families = [
            (PDF, "pdf", "pdf"),
            (CFB, "doc dot", "doc"),
            (CFB, "xls xlt", "xls"),
            (CFB, "ppt pps pot", "ppt"),
            (
                CFB,
                "docx docm dotx dotm xlsx xlsm xltx xltm xlsb pptx pptm ppsx ppsm potx potm",
                "encrypted-ooxml",
            ),
        ];
        let mut seen = 0;
        for (head, extensions, profile) in families {
            for ext in extensions.split(' ') {
                let source = Source::for_test("x", head);
                assert_eq!(
                    route(&source, Some(ext), Level::Deep).unwrap().name(),
                    profile,
                    "{ext}"
                );
                seen += 1;
            }
        }
        for ext in [
            "docx", "docm", "dotx", "dotm", "xlsx", "xlsm", "xltx", "xltm", "xlsb", "pptx", "pptm",
            "ppsx", "ppsm", "potx", "potm", "key", "numbers", "pages",
        ] {
            assert_eq!(
                route(&Source::for_test("x", ZIP), Some(ext), Level::Deep)
                    .unwrap()
                    .name(),
                ext
            );
        }
        assert_eq!(seen + 3, 26, "26 extensions in all");
        for (head, ext) in [
            (ZIP, "pdf"),
            (ZIP, "doc"),
            (PDF, "docx"),
            (CFB, "key"),
            (b"", "pdf"),
        ] {
            let refused = route(&Source::for_test("x", head), Some(ext), Level::Deep).unwrap_err();
            assert!(
                refused.is_malformed() && refused.message().contains(ext),
                "{refused}"
            );
        }
        for ext in [None, Some("xyz"), Some(""), Some("encrypted-ooxml")] {
            let refused = route(&Source::for_test("x", ZIP), ext, Level::Deep).unwrap_err();
            assert_eq!(
                refused.code(),
                crate::contract::ErrorCode::UnsupportedFormat
            );
        }
    }

    #[test]
    fn discovery_takes_profiles_and_families_but_no_shared_suffixes() {
        for (name, expected) in [
            ("PPTX", "pptx"),
            ("word", "docx"),
            ("legacy", "ppt"),
            (".key", "key"),
            ("xlsb", "xlsb"),
        ] {
            assert_eq!(by_discovery_name(name).unwrap().name(), expected);
        }
        for name in [
            "office-legacy",
            "encrypted-ooxml",
            "iwork",
            "dot",
            "xlt",
            "pps",
            "pot",
            "",
        ] {
            assert!(by_discovery_name(name).is_err(), "{name}");
        }
    }
}
