//! Word documents and templates (contract §9.2).

mod body;
mod review;

use std::cell::OnceCell;

use memchr::memmem;

use self::body::Body;
use super::{Office, security, unless_damaged};
use crate::contract::Confidence::{Exact, High};
use crate::contract::Level;
use crate::engine::catalogue::{PathId, Profile, Target as T};
use crate::engine::container::opc::{Kind, Package};
use crate::engine::container::zip::Entry;
use crate::engine::driver::{Driver, Probe};
use crate::engine::error::Result;
use crate::engine::findings::Findings;

const DOCUMENT: &str = "main document part";

/// docx, docm, dotx and dotm.
pub(crate) struct Word<'p> {
    office: Office<'p>,
    /// The main document, counted once. `None` when it is damaged.
    body: OnceCell<Option<Body>>,
}

impl<'p> Driver<'p> for Word<'p> {
    fn open(probe: &'p Probe<'p>) -> Result<Self> {
        Ok(Self {
            office: Office::open(probe)?,
            body: OnceCell::new(),
        })
    }

    fn run(&mut self, path: PathId, out: &mut Findings) -> Result<()> {
        match path {
            PathId::WordProfile => self.profile(out),
            PathId::WordAssetInventory => self.assets(out)?,
            PathId::WordAppStatistics => self.app_statistics(out)?,
            PathId::WordDocumentStructure => self.structure(out)?,
            PathId::WordReviewSettings => self.settings(out)?,
            PathId::OoxmlPackageSecurity | PathId::OoxmlDeepSecurity => {
                self.look_for_fields(out)?;
                self.office.run(path, out)?;
            }
            shared => self.office.run(shared, out)?,
        }
        Ok(())
    }
}

impl Word<'_> {
    fn profile(&self, out: &mut Findings) {
        let template = matches!(self.office.profile(), Profile::Dotx | Profile::Dotm);
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
            self.office.image_count()?,
            Exact,
            "image parts",
        );
        out.put(
            T::WORD_COMMENT_PART_COUNT,
            self.office.package().count(&[Kind::WordComments]),
            Exact,
            "comment parts",
        );
        Ok(())
    }

    fn app_statistics(&self, out: &mut Findings) -> Result<()> {
        let app = self.office.app()?;
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
        let body = self.body()?;
        for (target, count) in [
            (T::WORD_PARAGRAPH_COUNT, body.map(|body| body.paragraphs)),
            (T::WORD_TABLE_COUNT, body.map(|body| body.tables)),
            (T::WORD_BODY_WORD_COUNT, body.map(|body| body.words)),
            (
                T::WORD_BODY_CHARACTER_COUNT,
                body.map(|body| body.characters),
            ),
            // The last section has its properties at the end of the document, or none.
            (T::WORD_SECTION_COUNT, body.map(|body| body.sections.max(1))),
            (T::WORD_FOOTNOTE_COUNT, body.map(|body| body.footnotes)),
            (T::WORD_ENDNOTE_COUNT, body.map(|body| body.endnotes)),
            (T::WORD_IMAGE_COUNT, body.map(|body| body.images)),
            (T::WORD_INSERTION_COUNT, body.map(|body| body.insertions)),
            (T::WORD_DELETION_COUNT, body.map(|body| body.deletions)),
        ] {
            out.put_or_unknown(target, count, Exact, DOCUMENT);
        }
        let hidden = body.map(|body| body.hidden_text);
        out.put_or_unknown(T::WORD_HAS_HIDDEN_TEXT, hidden, Exact, DOCUMENT);
        if out.wants(T::WORD_HEADING_COUNT) {
            let headings = match body {
                Some(body) => review::headings(self.office.package(), body)?,
                None => None,
            };
            out.put_or_unknown(
                T::WORD_HEADING_COUNT,
                headings,
                Exact,
                "main document and style parts",
            );
        }
        if out.wants_any(&[T::WORD_COMMENT_COUNT, T::WORD_COMMENTER_COUNT]) {
            let comments = review::comments(self.office.package())?;
            let source = "comment part";
            out.put_or_unknown(
                T::WORD_COMMENT_COUNT,
                comments.map(|found| found.0),
                Exact,
                source,
            );
            out.put_or_unknown(
                T::WORD_COMMENTER_COUNT,
                comments.map(|found| found.1),
                Exact,
                source,
            );
        }
        Ok(())
    }

    fn settings(&self, out: &mut Findings) -> Result<()> {
        let protection = review::protection(self.office.package())?;
        out.put_or_unknown(T::WORD_PROTECTION, protection, Exact, "settings part");
        Ok(())
    }

    /// The main document, read at first need.
    fn body(&self) -> Result<Option<&Body>> {
        if let Some(body) = self.body.get() {
            return Ok(body.as_ref());
        }
        let body = Body::read(self.office.package(), self.office.main(), "document")?;
        Ok(self.body.get_or_init(|| body).as_ref())
    }

    /// Looks for fields that lead out of the document. Below the deep level a large document is not read
    /// for them.
    fn look_for_fields(&self, out: &Findings) -> Result<()> {
        let wanted = [
            T::SECURITY_HAS_EXTERNAL_RELATIONSHIPS,
            T::SECURITY_ACTIVE_CONTENT_RISK,
            T::SECURITY_RISK_SIGNALS,
        ];
        if !out.wants_any(&wanted) || self.office.content_is_known() {
            return Ok(());
        }
        let package = self.office.package();
        let main = self.office.main();
        let is_deep = self.office.probe().level >= Level::Deep;
        let stories = || {
            package
                .parts()
                .filter_map(|(part, kind)| Some((part, story_root(kind)?)))
        };
        let size: u64 = main.size() + stories().map(|(part, _)| part.size()).sum::<u64>();
        if !is_deep && size > MAX_SHALLOW {
            return Ok(());
        }
        let mut found = security::InContent::default();
        if is_deep {
            found.take(self.body()?.map(outside), main.name());
        } else {
            found.take(fields_of(package, main, "document")?, main.name());
        }
        for (part, root) in stories() {
            found.take(fields_of(package, part, root)?, part.name());
        }
        self.office.content_read(found);
        Ok(())
    }
}

/// Text that is read for fields below the deep level, in bytes.
const MAX_SHALLOW: u64 = 1 << 20;

/// Whether fields fetch data by DDE, and whether they lead out of the document in another way.
fn outside(body: &Body) -> (bool, bool) {
    (body.dde, body.links || body.hyperlinks)
}

/// The fields of one part. `None` when it is damaged.
fn fields_of(package: &Package<'_>, part: Entry<'_>, root: &str) -> Result<Option<(bool, bool)>> {
    if part.size() <= MAX_SHALLOW {
        let Some(bytes) = unless_damaged(package.read(part))? else {
            return Ok(None);
        };
        // Most parts have no field. Texts in other encodings than UTF-8 are parsed in any case.
        let has = |what: &[u8]| memmem::find(&bytes, what).is_some();
        if bytes.first() == Some(&b'<')
            && bytes.get(1) != Some(&0)
            && !has(b"instrText")
            && !has(b"fldSimple")
        {
            return Ok(Some((false, false)));
        }
    }
    Ok(Body::read(package, part, root)?.as_ref().map(outside))
}

/// The root element of a story beside the main document.
fn story_root(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::WordHeader => "hdr",
        Kind::WordFooter => "ftr",
        Kind::WordFootnotes => "footnotes",
        Kind::WordEndnotes => "endnotes",
        Kind::WordComments => "comments",
        _ => return None,
    })
}
