//! Versions of PDF.

use std::borrow::Cow;

/// A version of PDF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    major: u32,
    minor: u32,
}

impl Version {
    pub(super) const TWO: Self = Self { major: 2, minor: 0 };

    /// Reads `1.7`; what follows a second number is ignored.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let mut parts = text.split('.');
        let major = parts.next()?.parse().ok()?;
        let minor = parts.next()?.parse().ok()?;
        Some(Self { major, minor })
    }

    pub(super) fn text(self) -> Cow<'static, str> {
        const USUAL: [&str; 8] = ["1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7"];
        match (self.major, USUAL.get(self.minor as usize)) {
            (1, Some(text)) => Cow::Borrowed(text),
            _ => Cow::Owned(format!("{}.{}", self.major, self.minor)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn versions_compare_as_numbers() {
        let version = |text: &[u8]| Version::parse(text);
        assert!(version(b"1.10") > version(b"1.7"));
        assert!(version(b"2.0") > version(b"1.7"));
        assert_eq!(version(b"1.4.2").map(Version::text).as_deref(), Some("1.4"));
        for odd in [&b""[..], b"1", b"1.", b".7", b"x"] {
            assert_eq!(version(odd), None);
        }
    }
}
