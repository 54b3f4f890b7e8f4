//! Which pages show text and which show images only (ISO 32000-2, 9.4.3, 8.8).

use std::collections::HashMap;

use super::opened::Opened;
use super::pages;
use crate::contract::Confidence::High;
use crate::engine::catalogue::Target;
use crate::engine::container::pdf::{Content, Dict, Document, Object};
use crate::engine::error::Result;
use crate::engine::findings::Findings;
use crate::engine::value::Value;

/// Pages that are examined, spread evenly over the document.
const SAMPLE: u64 = 10;

/// Raw bytes of a content stream that are decoded first. Most pages show text at once.
const HEAD: usize = 2 * 1024;

/// Raw bytes of a content stream beyond which it is not decoded further.
const MAX_RAW: usize = 256 * 1024;

/// How deep forms are followed, and how many of a page.
const MAX_FORM_DEPTH: usize = 3;
const MAX_FORMS: usize = 16;

const OF_CONTENT: &[&[u8]] = &[b"Type", b"Kids", b"Count", b"Contents", b"Resources"];

pub(super) fn run(opened: &Opened<'_>, out: &mut Findings) -> Result<()> {
    let document = &opened.document;
    if let Some(catalogue) = document.catalogue()
        && document.can_decrypt()?
        && let Some(pages) = examine(document, catalogue)?
    {
        put(&pages, out);
    }
    for target in [
        Target::PDF_TEXT_LAYER,
        Target::PDF_IS_SCAN,
        Target::PDF_PAGE_TEXT,
    ] {
        out.unknown(target);
    }
    Ok(())
}

/// What an examined page shows.
#[derive(Clone, Copy, Debug, Default)]
struct Shown {
    text: bool,
    image: bool,
    /// Some content could not be decoded.
    unread: bool,
}

/// What the sampled pages show, by page number. `None` when the page tree cannot be read.
fn examine<'p>(document: &Document<'p>, catalogue: &Dict<'p>) -> Result<Option<Vec<(u64, Shown)>>> {
    let Some(count) = pages::count(document, catalogue)? else {
        return Ok(None);
    };
    let mut page = 0;
    let mut examined = Vec::new();
    let mut forms = HashMap::new();
    pages::for_each(document, catalogue, OF_CONTENT, |dict, inherited| {
        // The pages that are nearest to an even spread.
        let is_sampled =
            count <= SAMPLE || (page * SAMPLE) / count != ((page + 1) * SAMPLE) / count;
        page += 1;
        if !is_sampled || examined.len() as u64 >= SAMPLE {
            return Ok(());
        }
        let resources = dict.get(b"Resources").or(inherited.resources.as_deref());
        let resources = match resources {
            Some(resources) => document.resolve(resources)?.as_dict().cloned(),
            None => None,
        };
        let mut look = Look {
            document,
            shown: Shown::default(),
            forms_left: MAX_FORMS,
            forms: &mut forms,
        };
        if let Some(contents) = dict.get(b"Contents") {
            look.contents(contents, resources.as_ref())?;
        }
        examined.push((page, look.shown));
        Ok(())
    })?;
    Ok(Some(examined))
}

fn put(pages: &[(u64, Shown)], out: &mut Findings) {
    const SOURCE: &str = "content streams of sampled pages";
    let shows = |what: fn(&Shown) -> bool| pages.iter().filter(|(_, shown)| what(shown)).count();
    let with_text = shows(|shown| shown.text);
    let with_content = shows(|shown| shown.text || shown.image);
    let unread = shows(|shown| shown.unread && !shown.text);
    let listed = pages.iter().map(|(page, shown)| {
        Value::object([
            ("image", Value::from(shown.image)),
            ("page", Value::from(*page)),
            (
                "text",
                if shown.unread && !shown.text {
                    Value::Null
                } else {
                    Value::from(shown.text)
                },
            ),
        ])
    });
    out.put(
        Target::PDF_PAGE_TEXT,
        Value::List(listed.collect()),
        High,
        SOURCE,
    );
    if unread > 0 {
        return;
    }
    let layer = match with_text {
        0 => "none",
        some if some == with_content => "full",
        _ => "partial",
    };
    out.put(Target::PDF_TEXT_LAYER, Value::word(layer), High, SOURCE);
    let is_scan = with_text == 0 && with_content > 0;
    out.put(Target::PDF_IS_SCAN, is_scan, High, SOURCE);
}

struct Look<'d, 'p> {
    document: &'d Document<'p>,
    shown: Shown,
    forms_left: usize,
    /// What forms show that were looked at, since pages share them.
    forms: &'d mut HashMap<u32, Shown>,
}

impl<'p> Look<'_, 'p> {
    /// Reads the streams of a page until one shows text.
    fn contents(&mut self, contents: &Object<'p>, resources: Option<&Dict<'p>>) -> Result<()> {
        let resolved = self.document.resolve(contents)?;
        match resolved.as_array() {
            Some(streams) => {
                for stream in streams {
                    self.document.count_step()?;
                    self.stream(stream, resources, 0)?;
                    if self.shown.text {
                        break;
                    }
                }
                Ok(())
            }
            None => self.stream(contents, resources, 0),
        }
    }

    fn stream(
        &mut self,
        stream: &Object<'p>,
        resources: Option<&Dict<'p>>,
        depth: usize,
    ) -> Result<()> {
        let Some(reference) = stream.as_ref() else {
            return Ok(());
        };
        let loaded = self.document.load(reference)?;
        if !loaded.is_stream() {
            return Ok(());
        }
        for len in [HEAD, MAX_RAW] {
            let Some(data) = self.document.stream_head(&loaded, len)? else {
                self.shown.unread = true;
                return Ok(());
            };
            let content = Content::read(data);
            self.shown.image |= content.has_inline_image;
            if content.shows_text {
                self.shown.text = true;
                return Ok(());
            }
            if len == MAX_RAW || loaded.object.as_dict().is_some_and(|dict| is_short(dict)) {
                for name in content.painted {
                    self.painted(&name.bytes(), resources, depth)?;
                }
                return Ok(());
            }
        }
        Ok(())
    }

    fn painted(&mut self, name: &[u8], resources: Option<&Dict<'p>>, depth: usize) -> Result<()> {
        let Some(objects) = resources
            .map(|resources| self.document.dict_of(resources, b"XObject"))
            .transpose()?
            .flatten()
        else {
            return Ok(());
        };
        let Some(object) = objects.get(name) else {
            return Ok(());
        };
        let keys: &[&[u8]] = &[b"Subtype", b"Resources"];
        let resolved = self.document.resolve_keys(object, keys)?;
        let Some(dict) = resolved.as_dict() else {
            return Ok(());
        };
        if dict.is(b"Subtype", b"Image") {
            self.shown.image = true;
        } else if dict.is(b"Subtype", b"Form") && depth < MAX_FORM_DEPTH {
            self.form(object, dict, resources, depth)?;
        }
        Ok(())
    }

    fn form(
        &mut self,
        object: &Object<'p>,
        dict: &Dict<'p>,
        resources: Option<&Dict<'p>>,
        depth: usize,
    ) -> Result<()> {
        let number = object.as_ref().map_or(0, |reference| reference.number);
        if let Some(known) = self.forms.get(&number) {
            self.shown.text |= known.text;
            self.shown.image |= known.image;
            self.shown.unread |= known.unread;
            return Ok(());
        }
        let Some(left) = self.forms_left.checked_sub(1) else {
            return Ok(());
        };
        self.forms_left = left;
        let own = self.document.dict_of(dict, b"Resources")?;
        let page = std::mem::take(&mut self.shown);
        let looked = self.stream(object, own.as_ref().or(resources), depth + 1);
        let form = std::mem::replace(&mut self.shown, page);
        self.forms.insert(number, form);
        self.shown.text |= form.text;
        self.shown.image |= form.image;
        self.shown.unread |= form.unread;
        looked
    }
}

/// Whether the first look covered a whole stream.
fn is_short(dict: &Dict<'_>) -> bool {
    let length = dict.get(b"Length").and_then(Object::as_u64);
    length.is_some_and(|length| length <= HEAD as u64)
}
