//! Macros, signatures, external targets, embedded objects, and the risk that follows from them.

use super::embedded::{self, Macros};
use super::links::{self, Links};
use super::{Office, ends_ignore_case, starts_ignore_case};
use crate::contract::Confidence::{Exact, High};
use crate::contract::Level;
use crate::engine::catalogue::{Profile, Target as T};
use crate::engine::container::opc::Kind;
use crate::engine::container::zip::Entry;
use crate::engine::driver::risk::{Risk, Signals};
use crate::engine::error::Result;
use crate::engine::findings::{Findings, Status};

/// What the text of a document refers to outside of it, by the parts that do so.
#[derive(Clone, Debug, Default)]
pub(super) struct InContent {
    dde: Vec<String>,
    links: Vec<String>,
    /// Some of the text could not be read.
    damaged: bool,
}

impl InContent {
    /// Takes what one part says: DDE fields, other fields that lead outside. `None` for a damaged part.
    pub(super) fn take(&mut self, fields: Option<(bool, bool)>, part: &str) {
        let Some((dde, links)) = fields else {
            self.damaged = true;
            return;
        };
        if dde {
            self.dde.push(part.to_owned());
        }
        if links {
            self.links.push(part.to_owned());
        }
    }

    fn is_external(&self) -> bool {
        !self.dde.is_empty() || !self.links.is_empty()
    }
}

impl Office<'_> {
    /// The text has been looked at.
    pub(super) fn content_read(&self, found: InContent) {
        let _only_once = self.content.set(found);
    }

    pub(super) fn content_is_known(&self) -> bool {
        self.content.get().is_some()
    }

    pub(super) fn put_macros(&self, out: &mut Findings) -> Result<()> {
        if !out.wants(T::SECURITY_HAS_MACROS) {
            return Ok(());
        }
        if self.has_own_macros()? {
            out.put(T::SECURITY_HAS_MACROS, true, Exact, "parts of the package");
            return Ok(());
        }
        let deep = self.probe().level >= Level::Deep;
        match embedded::macros(&self.package, deep)? {
            Macros::In(part) => out.put(
                T::SECURITY_HAS_MACROS,
                true,
                Exact,
                format!("embedded object {part}"),
            ),
            Macros::Nowhere => {
                out.put(T::SECURITY_HAS_MACROS, false, Exact, "parts of the package");
            }
            Macros::Unread => out.put(
                T::SECURITY_HAS_MACROS,
                false,
                High,
                "parts of the package, embedded objects not read",
            ),
        }
        Ok(())
    }

    /// VBA projects and Excel 4.0 macro sheets of the document itself.
    fn has_own_macros(&self) -> Result<bool> {
        if self.macro_parts().next().is_some() {
            return Ok(true);
        }
        if !self.may_hide_macros() {
            return Ok(false);
        }
        Ok(!self.main_links()?.vba.is_empty())
    }

    /// The parts that are macros by content type or name.
    fn macro_parts(&self) -> impl Iterator<Item = (Entry<'_>, Kind)> {
        self.package.parts().filter(|(entry, kind)| {
            matches!(kind, Kind::VbaProject | Kind::Macrosheet)
                || ends_ignore_case(entry.name(), "vbaproject.bin")
        })
    }

    /// Whether a VBA project may be there under a name and a content type of another kind. Then the
    /// relationships of the main part tell.
    fn may_hide_macros(&self) -> bool {
        let holds_macros = matches!(
            self.profile(),
            Profile::Docm
                | Profile::Dotm
                | Profile::Xlsm
                | Profile::Xltm
                | Profile::Xlsb
                | Profile::Pptm
                | Profile::Ppsm
                | Profile::Potm
        );
        holds_macros
            || self.probe().level >= Level::Deep
            || self.package.parts().any(|(entry, kind)| {
                kind == Kind::Other && !entry.is_directory() && !is_harmless(entry.trimmed_name())
            })
    }

    /// What the relationships of the main part say.
    fn main_links(&self) -> Result<Links> {
        let mut links = Links::default();
        let main = self.main();
        if let Some(part) = self.package.relationships_of(main.name()) {
            let read = self.package.relationships(part, |relationship| {
                links.see(&self.package, main.name(), relationship);
            });
            links.damaged = super::unless_damaged(read)?.is_none();
        }
        Ok(links)
    }

    pub(super) fn package_security(&self, out: &mut Findings) -> Result<()> {
        let everything = wants_signals(out);
        let wanted = links::Wanted {
            external: out.wants(T::SECURITY_HAS_EXTERNAL_RELATIONSHIPS) || everything,
            embedded: out.wants(T::SECURITY_HAS_EMBEDDED_FILES) || everything,
            everything,
        };
        let links = self.links(wanted)?;
        let root = &self.root()?.links;
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
        self.put_external(links, out);
        out.put_or_unknown(
            T::SECURITY_HAS_EMBEDDED_FILES,
            (links.embedded || !links.damaged).then_some(links.embedded),
            Exact,
            "relationship parts",
        );
        Ok(())
    }

    fn put_external(&self, links: &Links, out: &mut Findings) {
        let target = T::SECURITY_HAS_EXTERNAL_RELATIONSHIPS;
        let content = self.content.get();
        if links.external {
            out.put(target, true, Exact, "relationship parts");
        } else if self.data_parts().next().is_some() {
            out.put(target, true, Exact, "connection and external link parts");
        } else if content.is_some_and(InContent::is_external) {
            out.put(target, true, Exact, "fields of the text");
        } else if links.damaged || content.is_some_and(|content| content.damaged) {
            out.unknown(target);
        } else if self.has_unread_text() {
            out.put(target, false, High, "relationship parts, fields not read");
        } else {
            out.put(target, false, Exact, "relationship parts");
        }
    }

    /// Fields stand in the text of Word documents, which only a deep probe reads.
    fn has_unread_text(&self) -> bool {
        self.probe().profile.driver() == crate::engine::catalogue::DriverId::Word
            && !self.content_is_known()
    }

    /// Links to other workbooks or DDE servers, and connections to databases and web pages.
    fn data_parts(&self) -> impl Iterator<Item = (Entry<'_>, Kind)> {
        self.package
            .parts()
            .filter(|(_, kind)| matches!(kind, Kind::ExternalLink | Kind::Connections))
    }

    pub(super) fn deep_security(&self, out: &mut Findings) -> Result<()> {
        out.put(
            T::SECURITY_SIGNATURE_COUNT,
            self.signature_count(),
            Exact,
            "signature parts",
        );
        out.no_value(T::SECURITY_HAS_JAVASCRIPT, Status::Unsupported);
        if wants_signals(out) {
            let signals = self.signals()?;
            let source = "macro, control, embedding and relationship parts";
            let target = T::SECURITY_ACTIVE_CONTENT_RISK;
            out.put_or_unknown(target, signals.rating(), Exact, source);
            out.put_or_unknown(T::SECURITY_RISK_SIGNALS, signals.value(), Exact, source);
        }
        Ok(())
    }

    /// Everything that makes the document risky to open.
    fn signals(&self) -> Result<Signals> {
        let mut signals = Signals::default();
        let links = self.links(links::Wanted {
            external: true,
            embedded: true,
            everything: true,
        })?;
        self.macro_signals(links, &mut signals)?;
        for (part, kind) in self.package.parts() {
            match kind {
                Kind::ActiveX => signals.add("activex_control", Risk::Medium, part.name(), None),
                Kind::Connections => {
                    signals.add("external_connection", Risk::Low, part.name(), None);
                }
                Kind::ExternalLink => signals.add("external_link", Risk::Low, part.name(), None),
                _ => {}
            }
        }
        embedded::signals(&self.package, &mut signals)?;
        if links.embedded && embedded::parts(&self.package).next().is_none() {
            signals.add("embedded_object", Risk::Medium, "relationship parts", None);
        }
        for outside in &links.outside {
            let (kind, risk) = match outside.kind.as_str() {
                "attachedTemplate" => ("remote_template", Risk::Medium),
                "hyperlink" => ("hyperlink", Risk::Low),
                "oleObject" => ("linked_object", Risk::Medium),
                _ => ("external_relationship", Risk::Low),
            };
            signals.add(kind, risk, &*outside.part, Some(outside.address.clone()));
        }
        if let Some(content) = self.content.get() {
            for part in &content.dde {
                signals.add("dde_field", Risk::Medium, &**part, None);
            }
            for part in &content.links {
                signals.add("field_with_address", Risk::Low, &**part, None);
            }
        }
        if links.damaged || self.content.get().is_some_and(|content| content.damaged) {
            signals.set_incomplete();
        }
        Ok(signals)
    }

    fn macro_signals(&self, links: &Links, signals: &mut Signals) -> Result<()> {
        for (part, kind) in self.macro_parts() {
            if kind == Kind::Macrosheet {
                signals.add("xlm_macro_sheet", Risk::High, part.name(), None);
            } else {
                self.vba_signal(part, signals)?;
            }
        }
        for &index in &links.vba {
            let part = self.package.entry(index);
            if !self.macro_parts().any(|(known, _)| known.index() == index) {
                self.vba_signal(part, signals)?;
            }
        }
        Ok(())
    }

    fn vba_signal(&self, part: Entry<'_>, signals: &mut Signals) -> Result<()> {
        signals.add("vba_macros", Risk::High, part.name(), None);
        for name in embedded::auto_exec_names(&self.package, part)? {
            signals.add("auto_exec_macro", Risk::High, part.name(), Some(name));
        }
        Ok(())
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
        let links = links::scan(&self.package, &self.root()?.links, wanted)?;
        Ok(self.links.get_or_init(|| links))
    }
}

fn wants_signals(out: &Findings) -> bool {
    out.wants_any(&[T::SECURITY_ACTIVE_CONTENT_RISK, T::SECURITY_RISK_SIGNALS])
}

/// Whether a part of no known content type is one that cannot be a VBA project: an XML part, or one of
/// the binary parts that Office writes beside it.
fn is_harmless(name: &str) -> bool {
    [
        ".xml", ".rels", ".vml", ".odttf", ".xlsx", ".docx", ".pptx", ".txt",
    ]
    .iter()
    .any(|end| ends_ignore_case(name, end))
        || [
            "printersettings",
            "embeddings",
            "media",
            "fonts",
            "customxml",
            "activex",
            "thumbnail",
        ]
        .iter()
        .any(|known| {
            name.split(['/', '\\'])
                .any(|segment| starts_ignore_case(segment, known))
        })
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
