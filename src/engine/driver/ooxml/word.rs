//! Word documents and templates (contract §9.2).

use super::{Office, unless_damaged};
use crate::contract::Confidence::{Exact, High};
use crate::engine::budget::Meter;
use crate::engine::catalogue::{PathId, Profile, Target as T};
use crate::engine::container::opc::Kind;
use crate::engine::container::xml::{Ns, Token, Xml};
use crate::engine::driver::{Driver, Probe};
use crate::engine::error::{ProbeError, Result};
use crate::engine::findings::Findings;

/// docx, docm, dotx and dotm.
pub(crate) struct Word<'p>(Office<'p>);

impl<'p> Driver<'p> for Word<'p> {
    fn open(probe: &'p Probe<'p>) -> Result<Self> {
        Office::open(probe).map(Self)
    }

    fn run(&mut self, path: PathId, out: &mut Findings) -> Result<()> {
        match path {
            PathId::WordProfile => self.profile(out),
            PathId::WordAssetInventory => self.assets(out)?,
            PathId::WordAppStatistics => self.app_statistics(out)?,
            PathId::WordDocumentStructure => self.structure(out)?,
            shared => self.0.run(shared, out)?,
        }
        Ok(())
    }
}

impl Word<'_> {
    fn profile(&self, out: &mut Findings) {
        let template = matches!(self.0.profile(), Profile::Dotx | Profile::Dotm);
        out.put(
            T::WORD_IS_TEMPLATE,
            template,
            Exact,
            "content type of the main part",
        );
    }

    fn assets(&self, out: &mut Findings) -> Result<()> {
        out.put(
            T::WORD_UNIQUE_IMAGE_ASSET_COUNT,
            self.0.image_count()?,
            Exact,
            "image parts",
        );
        out.put(
            T::WORD_COMMENT_PART_COUNT,
            self.0.package().count(&[Kind::WordComments]),
            Exact,
            "comment parts",
        );
        Ok(())
    }

    fn app_statistics(&self, out: &mut Findings) -> Result<()> {
        let app = self.0.app()?;
        for (target, value) in [
            (T::WORD_PAGE_COUNT, app.pages),
            (T::WORD_WORD_COUNT, app.words),
            (T::WORD_CHARACTER_COUNT, app.characters),
            (T::WORD_PARAGRAPH_COUNT, app.paragraphs),
        ] {
            out.put_or_unknown(target, value, High, "extended properties part");
        }
        Ok(())
    }

    fn structure(&self, out: &mut Findings) -> Result<()> {
        let text = unless_damaged(self.0.package().read_text(self.0.main()))?;
        let counts = match text {
            Some(text) => unless_damaged(count(&text, self.0.package().meter()))?,
            None => None,
        };
        out.put_or_unknown(
            T::WORD_PARAGRAPH_COUNT,
            counts.map(|counts| counts.paragraphs),
            Exact,
            "main document part",
        );
        out.put_or_unknown(
            T::WORD_TABLE_COUNT,
            counts.map(|counts| counts.tables),
            Exact,
            "main document part",
        );
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    paragraphs: u64,
    tables: u64,
}

/// Counts `w:p` and `w:tbl` at any depth. Of alternative contents (ISO/IEC 29500-3, 7.6) only the
/// first choice counts, since a document shows one of them.
fn count(text: &str, meter: &Meter) -> Result<Counts> {
    let mut xml = Xml::new(text, meter);
    let root = xml.root()?;
    if !xml.is(&root, Ns::Word, "document") {
        return Err(ProbeError::malformed("the root element is not document"));
    }
    let mut counts = Counts::default();
    // The depths of the alternatives that are open, and whether a branch was taken.
    let mut alternatives: Vec<(usize, bool)> = Vec::new();
    while let Some(token) = xml.next()? {
        match token {
            Token::Open(tag) => match tag.local() {
                "p" if xml.ns(&tag) == Ns::Word => counts.paragraphs += 1,
                "tbl" if xml.ns(&tag) == Ns::Word => counts.tables += 1,
                "AlternateContent" if xml.ns(&tag) == Ns::Compatibility => {
                    alternatives.push((xml.depth(), false));
                }
                "Choice" | "Fallback" if xml.ns(&tag) == Ns::Compatibility => {
                    let depth = xml.depth();
                    match alternatives.last_mut() {
                        Some((at, taken)) if *at + 1 == depth => {
                            if *taken {
                                xml.skip()?;
                            }
                            *taken = true;
                        }
                        _ => {}
                    }
                }
                _ => {}
            },
            Token::Close => {
                if alternatives
                    .last()
                    .is_some_and(|&(depth, _)| xml.depth() < depth)
                {
                    alternatives.pop();
                }
            }
            // It might stand for paragraphs.
            Token::Reference => return Err(ProbeError::malformed("an entity is not defined")),
            Token::Text(_) => {}
        }
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Level, Limits};

    const TRANSITIONAL: &str = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";
    const STRICT: &str = "http://purl.oclc.org/ooxml/wordprocessingml/main";
    const COMPATIBILITY: &str = "http://schemas.openxmlformats.org/markup-compatibility/2006";

    fn counted(ns: &str, body: &str) -> Option<(u64, u64)> {
        let meter = Meter::start(Limits::of(Level::Deep));
        let text = format!(
            "<q:document xmlns:q='{ns}' xmlns:mc='{COMPATIBILITY}' xmlns:a='urn:drawing'>\
             <q:body>{body}</q:body></q:document>"
        );
        count(&text, &meter)
            .ok()
            .map(|counts| (counts.paragraphs, counts.tables))
    }

    #[test]
    fn paragraphs_and_tables_of_the_text_are_counted_once() {
        let cell = "<q:tbl><q:tr><q:tc><q:p/></q:tc></q:tr></q:tbl>";
        let both = format!(
            "<mc:AlternateContent><mc:Choice Requires='wps'>{cell}<mc:AlternateContent>\
             <mc:Choice><q:p/></mc:Choice><mc:Choice><q:p/></mc:Choice></mc:AlternateContent>\
             </mc:Choice><mc:Fallback>{cell}<q:p/></mc:Fallback></mc:AlternateContent><q:p/>"
        );
        let cases = [
            ("<q:p/><q:p></q:p>", (2, 0)),
            ("<q:p/><a:p/><p/><q:pPr/>", (1, 0)),
            (cell, (1, 1)),
            (&both, (3, 1)),
            (
                "<mc:AlternateContent><mc:Fallback><q:p/></mc:Fallback></mc:AlternateContent>",
                (1, 0),
            ),
        ];
        for (body, expected) in cases {
            for ns in [TRANSITIONAL, STRICT] {
                assert_eq!(counted(ns, body), Some(expected), "{body}");
            }
        }
        assert_eq!(counted(TRANSITIONAL, "<q:p/><q:p>"), None);
        assert_eq!(counted(TRANSITIONAL, "<q:p/>&bad;"), None);
    }
}
