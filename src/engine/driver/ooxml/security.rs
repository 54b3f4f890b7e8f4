//! Macros, signatures, external targets, embedded objects, and the risk that follows from them.

use super::links::{self, Links};
use super::{Office, ends_ignore_case, starts_ignore_case};
use crate::contract::Confidence::Exact;
use crate::engine::catalogue::Target as T;
use crate::engine::container::opc::Kind;
use crate::engine::error::Result;
use crate::engine::findings::{Findings, Status};

impl Office<'_> {
    /// VBA projects and Excel 4.0 macro sheets.
    pub(super) fn has_macros(&self) -> bool {
        self.package.parts().any(|(entry, kind)| {
            matches!(kind, Kind::VbaProject | Kind::Macrosheet)
                || ends_ignore_case(entry.name(), "vbaproject.bin")
        })
    }

    pub(super) fn package_security(&self, out: &mut Findings) -> Result<()> {
        let wanted = links::Wanted {
            external: out.wants(T::SECURITY_HAS_EXTERNAL_RELATIONSHIPS) || wants_risk(out),
            embedded: out.wants(T::SECURITY_HAS_EMBEDDED_FILES) || wants_risk(out),
        };
        let links = *self.links(wanted)?;
        let parts = "relationship parts";
        let root = self.root()?.links;
        let signed = root.signature || self.has_signature_parts();
        if signed || !root.damaged {
            out.put(
                T::SECURITY_HAS_DIGITAL_SIGNATURE,
                signed,
                Exact,
                "signature parts",
            );
        } else {
            out.unknown(T::SECURITY_HAS_DIGITAL_SIGNATURE);
        }
        let known = |found: bool| (found || !links.damaged).then_some(found);
        out.put_or_unknown(
            T::SECURITY_HAS_EXTERNAL_RELATIONSHIPS,
            known(links.external),
            Exact,
            parts,
        );
        out.put_or_unknown(
            T::SECURITY_HAS_EMBEDDED_FILES,
            known(links.embedded),
            Exact,
            parts,
        );
        Ok(())
    }

    pub(super) fn deep_security(&self, out: &mut Findings) -> Result<()> {
        out.put(
            T::SECURITY_SIGNATURE_COUNT,
            self.signature_count(),
            Exact,
            "signature parts",
        );
        out.no_value(T::SECURITY_HAS_JAVASCRIPT, Status::Unsupported);
        if wants_risk(out) {
            let risk = self.risk()?;
            out.put_or_unknown(
                T::SECURITY_ACTIVE_CONTENT_RISK,
                risk,
                Exact,
                "macro, control, embedding and relationship parts",
            );
        }
        Ok(())
    }

    /// `None` when a damaged relationship part could make it worse.
    fn risk(&self) -> Result<Option<&'static str>> {
        if self.has_macros() {
            return Ok(Some("high"));
        }
        let links = self.links(links::Wanted {
            external: true,
            embedded: true,
        })?;
        let controls = self.package.count(&[Kind::ActiveX]) > 0;
        Ok(if controls || links.embedded {
            Some("medium")
        } else if links.damaged {
            None
        } else if links.external {
            Some("low")
        } else {
            Some("none")
        })
    }

    fn has_signature_parts(&self) -> bool {
        self.package.parts().any(|(entry, kind)| {
            kind == Kind::Signature
                || starts_ignore_case(entry.trimmed_name(), "_xmlsignatures/")
                    && !entry.is_directory()
        })
    }

    fn signature_count(&self) -> usize {
        self.package
            .parts()
            .filter(|(entry, kind)| *kind == Kind::Signature || is_signature_name(entry.name()))
            .count()
    }

    /// What all relationship parts say, read once.
    fn links(&self, wanted: links::Wanted) -> Result<&Links> {
        if let Some(links) = self.links.get() {
            return Ok(links);
        }
        let links = links::scan(&self.package, self.root()?.links, wanted)?;
        Ok(self.links.get_or_init(|| links))
    }
}

fn wants_risk(out: &Findings) -> bool {
    out.wants(T::SECURITY_ACTIVE_CONTENT_RISK)
}

/// `_xmlsignatures/…/sig*.xml`, relationship parts aside.
fn is_signature_name(name: &str) -> bool {
    let name = name.trim_start_matches(['/', '\\']);
    let mut segments = name.split(['/', '\\']);
    segments
        .next()
        .is_some_and(|first| first.eq_ignore_ascii_case("_xmlsignatures"))
        && segments
            .next_back()
            .is_some_and(|last| starts_ignore_case(last, "sig") && ends_ignore_case(last, ".xml"))
        && !segments.any(|segment| segment.eq_ignore_ascii_case("_rels"))
}
