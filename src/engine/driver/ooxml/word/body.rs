//! Counting what a story of a Word document holds (ISO/IEC 29500-1, 17): one pass, token by token, so
//! that no part has to be held as a whole.

use std::collections::BTreeMap;

use super::super::unless_damaged;
use crate::engine::container::opc::Package;
use crate::engine::container::xml::{Ns, Tag, Token, Xml};
use crate::engine::container::zip::Entry;
use crate::engine::driver::field_code::{self, Outside};
use crate::engine::error::{ProbeError, Result};

/// Bytes of a field's code that are kept.
const MAX_CODE: usize = 256;

/// Most paragraph styles that are told apart. Documents use a few dozen.
const MAX_STYLES: usize = 10_000;

/// What one story holds.
#[derive(Debug, Default)]
pub(super) struct Body {
    pub(super) paragraphs: u64,
    pub(super) tables: u64,
    pub(super) words: u64,
    /// Characters other than white space, as Word counts them.
    pub(super) characters: u64,
    pub(super) sections: u64,
    pub(super) footnotes: u64,
    pub(super) endnotes: u64,
    pub(super) images: u64,
    pub(super) insertions: u64,
    pub(super) deletions: u64,
    pub(super) hidden_text: bool,
    /// Paragraphs by style id; those with an outline level of their own are under `outlined`.
    pub(super) styles: BTreeMap<String, u64>,
    pub(super) outlined: u64,
    pub(super) dde: bool,
    pub(super) links: bool,
    pub(super) hyperlinks: bool,
}

impl Body {
    /// Reads a part with this root element. `None` when it is damaged.
    pub(super) fn read(package: &Package<'_>, part: Entry<'_>, root: &str) -> Result<Option<Self>> {
        let mut counter = Counter::default();
        let mut is_root = true;
        let read = package.scan(part, &mut |xml, token| {
            if let (true, Token::Open(tag)) = (is_root, &token) {
                if !xml.is(tag, Ns::Word, root) {
                    return Err(ProbeError::malformed("the root element is another one"));
                }
                is_root = false;
            }
            counter.see(xml, &token)
        });
        // Without a root element there is no document.
        let is_whole = unless_damaged(read)?.is_some() && !is_root;
        Ok(is_whole.then(|| counter.finish()))
    }
}

/// The state of the pass.
#[derive(Debug, Default)]
struct Counter {
    body: Body,
    /// The depths of the open alternatives, and whether a branch was taken. Of alternative contents
    /// (ISO/IEC 29500-3, 7.6) the first branch counts, since a document shows one of them.
    alternatives: Vec<(usize, bool)>,
    /// Everything above this depth is passed over.
    skipped: Option<usize>,
    /// The depth of the element whose text is being read, and what the text is.
    text: Option<(usize, Text)>,
    in_word: bool,
    /// The depth of the open run properties, and whether they hide the run.
    run_properties: Option<usize>,
    run_hidden: bool,
    /// The depth of the open paragraph properties.
    paragraph_properties: Option<usize>,
    style: Option<String>,
    outlined: bool,
    /// The code of the innermost open field.
    code: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Text {
    Shown,
    Code,
}

impl Counter {
    fn see(&mut self, xml: &Xml<'_>, token: &Token<'_>) -> Result<()> {
        if let Some(depth) = self.skipped {
            if xml.depth() < depth {
                self.skipped = None;
            }
            return Ok(());
        }
        match token {
            Token::Open(tag) => match xml.ns(tag) {
                Ns::Word => self.open(xml, tag),
                Ns::Compatibility => {
                    self.alternative(xml, tag);
                    Ok(())
                }
                Ns::Picture if tag.local() == "pic" => {
                    self.body.images += 1;
                    Ok(())
                }
                Ns::Vml if tag.local() == "imagedata" => {
                    self.body.images += 1;
                    Ok(())
                }
                _ => Ok(()),
            },
            Token::Close => {
                self.close(xml.depth());
                Ok(())
            }
            Token::Text(text) => {
                match self.text {
                    Some((_, Text::Shown)) => self.shown(text),
                    Some((_, Text::Code)) => self.push_code(text),
                    None => {}
                }
                Ok(())
            }
            // It might stand for paragraphs.
            Token::Reference => Err(ProbeError::malformed("an entity is not defined")),
        }
    }

    fn open(&mut self, xml: &Xml<'_>, tag: &Tag<'_>) -> Result<()> {
        let depth = xml.depth();
        let body = &mut self.body;
        match tag.local() {
            "t" => self.text = Some((depth, Text::Shown)),
            "r" => {
                self.run_hidden = false;
            }
            "rPr" if self.paragraph_properties.is_none() => self.run_properties = Some(depth),
            "p" => {
                body.paragraphs += 1;
                self.in_word = false;
                self.style = None;
                self.outlined = false;
            }
            "pPr" => self.paragraph_properties = Some(depth),
            "tbl" => body.tables += 1,
            "tab" | "br" | "cr" | "tc" => self.in_word = false,
            "pStyle" if self.paragraph_properties.is_some() => {
                self.style = value(tag)?;
            }
            "outlineLvl" if self.paragraph_properties.is_some() => {
                self.outlined = is_heading_level(value(tag)?.as_deref());
            }
            "sectPr" => body.sections += 1,
            "footnoteReference" => body.footnotes += 1,
            "endnoteReference" => body.endnotes += 1,
            "ins" => body.insertions += 1,
            "del" => body.deletions += 1,
            "vanish" if self.run_properties.is_some() => {
                self.run_hidden = is_on(value(tag)?.as_deref());
            }
            "instrText" => self.text = Some((depth, Text::Code)),
            "fldChar" => self.judge_code(),
            "fldSimple" => {
                let code = attribute(tag, "instr")?.unwrap_or_default();
                self.push_code(&code);
                self.judge_code();
            }
            // What was before a tracked change of properties.
            "pPrChange" | "rPrChange" | "sectPrChange" => self.skipped = Some(depth),
            _ => {}
        }
        Ok(())
    }

    fn alternative(&mut self, xml: &Xml<'_>, tag: &Tag<'_>) {
        let depth = xml.depth();
        match tag.local() {
            "AlternateContent" => self.alternatives.push((depth, false)),
            "Choice" | "Fallback" => {
                if let Some((at, taken)) = self.alternatives.last_mut()
                    && *at + 1 == depth
                {
                    if *taken {
                        self.skipped = Some(depth);
                    }
                    *taken = true;
                }
            }
            _ => {}
        }
    }

    /// An element has ended; `depth` is that of the element around it.
    fn close(&mut self, depth: usize) {
        if self.text.is_some_and(|(at, _)| at > depth) {
            self.text = None;
        }
        if self.run_properties.is_some_and(|at| at > depth) {
            self.run_properties = None;
        }
        if self.paragraph_properties.is_some_and(|at| at > depth) {
            self.paragraph_properties = None;
            self.end_of_properties();
        }
        if self.alternatives.last().is_some_and(|&(at, _)| at > depth) {
            self.alternatives.pop();
        }
    }

    fn end_of_properties(&mut self) {
        if self.outlined {
            self.body.outlined += 1;
        } else if let Some(style) = self.style.take() {
            let styles = &mut self.body.styles;
            if let Some(count) = styles.get_mut(&style) {
                *count += 1;
            } else if styles.len() < MAX_STYLES {
                styles.insert(style, 1);
            }
        }
        self.outlined = false;
    }

    fn shown(&mut self, text: &str) {
        self.body.hidden_text |= self.run_hidden && !text.is_empty();
        for c in text.chars() {
            if c.is_whitespace() {
                self.in_word = false;
                continue;
            }
            self.body.characters += 1;
            let alone = is_word_by_itself(c);
            self.body.words += u64::from(alone || !self.in_word);
            self.in_word = !alone;
        }
    }

    fn push_code(&mut self, text: &str) {
        let room = MAX_CODE.saturating_sub(self.code.len());
        self.code.extend(text.chars().take(room));
    }

    /// Looks at the code that a field mark has ended.
    fn judge_code(&mut self) {
        match field_code::outside(&self.code) {
            Some(Outside::Dde) => self.body.dde = true,
            Some(Outside::Link) => self.body.links = true,
            Some(Outside::Hyperlink) => self.body.hyperlinks = true,
            None => {}
        }
        self.code.clear();
    }

    fn finish(mut self) -> Body {
        // A field that does not end.
        self.judge_code();
        self.body
    }
}

/// Ideographs and kana: Word counts each as a word.
fn is_word_by_itself(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

/// Levels 0 to 8 are those of headings; 9 is body text (17.3.1.20).
pub(super) fn is_heading_level(level: Option<&str>) -> bool {
    matches!(
        level.and_then(|level| level.trim().parse().ok()),
        Some(0_u8..=8)
    )
}

/// A switch is on unless its value says otherwise (17.17.4).
pub(super) fn is_on(value: Option<&str>) -> bool {
    !matches!(value.map(str::trim), Some("0" | "false" | "off"))
}

/// `w:val`.
pub(super) fn value(tag: &Tag<'_>) -> Result<Option<String>> {
    attribute(tag, "val")
}

/// An attribute with a prefix, as all of Word's have.
pub(super) fn attribute(tag: &Tag<'_>, local: &str) -> Result<Option<String>> {
    Ok(tag
        .prefixed_attribute(local)?
        .map(std::borrow::Cow::into_owned))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Level, Limits};
    use crate::engine::budget::Meter;

    const TRANSITIONAL: &str = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";
    const STRICT: &str = "http://purl.oclc.org/ooxml/wordprocessingml/main";
    const COMPATIBILITY: &str = "http://schemas.openxmlformats.org/markup-compatibility/2006";

    fn read(ns: &str, body: &str) -> Option<Body> {
        let meter = Meter::start(Limits::of(Level::Deep));
        let text = format!(
            "<q:document xmlns:q='{ns}' xmlns:mc='{COMPATIBILITY}' xmlns:a='urn:drawing'\
             xmlns:v='urn:schemas-microsoft-com:vml'\
             xmlns:pic='http://schemas.openxmlformats.org/drawingml/2006/picture'>\
             <q:body>{body}</q:body></q:document>"
        )
        .replace("'xmlns", "' xmlns");
        let mut xml = Xml::new(&text, &meter);
        let mut counter = Counter::default();
        loop {
            match xml.next() {
                Ok(Some(token)) => counter.see(&xml, &token).ok()?,
                Ok(None) => return Some(counter.finish()),
                Err(_) => return None,
            }
        }
    }

    fn counted(ns: &str, body: &str) -> Option<(u64, u64)> {
        read(ns, body).map(|body| (body.paragraphs, body.tables))
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

    #[test]
    fn words_are_what_white_space_tabs_and_paragraphs_divide() {
        let run = |text: &str| format!("<q:r><q:t>{text}</q:t></q:r>");
        let body = format!(
            "<q:p>{}{}<q:r><q:tab/><q:t xml:space='preserve'> four </q:t></q:r></q:p><q:p>{}</q:p>\
             <q:p><q:r><q:delText>gone away</q:delText></q:r></q:p>",
            run("one tw"),
            run("o three"),
            run("日本 five")
        );
        let body = read(TRANSITIONAL, &body).unwrap();
        assert_eq!((body.words, body.characters), (7, 21));
    }

    #[test]
    fn review_marks_hidden_text_headings_and_notes_are_counted() {
        let body = "<q:p><q:pPr><q:pStyle q:val='H1'/><q:rPr><q:vanish/><q:ins/></q:rPr></q:pPr>\
             <q:r><q:t>head</q:t></q:r></q:p>\
             <q:p><q:pPr><q:outlineLvl q:val='1'/></q:pPr><q:ins><q:r><q:t>x</q:t></q:r></q:ins></q:p>\
             <q:p><q:pPr><q:pPrChange><q:pPr><q:pStyle q:val='H1'/></q:pPr></q:pPrChange></q:pPr>\
             <q:del><q:r><q:delText>y</q:delText></q:r></q:del><q:r><q:footnoteReference/></q:r>\
             <q:r><q:drawing><pic:pic/></q:drawing></q:r><q:r><q:pict><v:imagedata/></q:pict></q:r></q:p>\
             <q:sectPr/>";
        let body = read(TRANSITIONAL, body).unwrap();
        assert_eq!((body.insertions, body.deletions), (2, 1));
        assert_eq!((body.footnotes, body.images, body.sections), (1, 2, 1));
        assert_eq!(body.styles.get("H1"), Some(&1));
        assert_eq!(body.outlined, 1);
        assert!(!body.hidden_text, "only the paragraph mark is hidden");
        let hidden = "<q:p><q:r><q:rPr><q:vanish/></q:rPr><q:t>x</q:t></q:r></q:p>";
        assert!(read(TRANSITIONAL, hidden).unwrap().hidden_text);
        let shown = hidden.replace("<q:vanish/>", "<q:vanish q:val='0'/>");
        assert!(!read(TRANSITIONAL, &shown).unwrap().hidden_text);
    }

    #[test]
    fn the_code_of_a_field_may_stand_in_several_runs() {
        let begin = "<q:r><q:fldChar q:fldCharType='begin'/></q:r>";
        let end = "<q:r><q:fldChar q:fldCharType='end'/></q:r>";
        let code = |text: &str| format!("<q:r><q:instrText>{text}</q:instrText></q:r>");
        let split = format!(
            "<q:p>{begin}{}{}{end}</q:p>",
            code(" DDE"),
            code("AUTO x y")
        );
        assert!(read(TRANSITIONAL, &split).unwrap().dde);
        let unfinished = format!("<q:p>{begin}{}</q:p>", code("LINK Excel.Sheet a.xls"));
        assert!(read(TRANSITIONAL, &unfinished).unwrap().links);
        let simple = "<q:p><q:fldSimple q:instr=' INCLUDEPICTURE \"http://x\" '/></q:p>";
        assert!(read(TRANSITIONAL, simple).unwrap().links);
        let inside = format!("<q:p>{begin}{}{end}</q:p>", code("HYPERLINK \\l \"a\""));
        let inside = read(TRANSITIONAL, &inside).unwrap();
        assert!(!inside.dde && !inside.links && !inside.hyperlinks);
    }
}
