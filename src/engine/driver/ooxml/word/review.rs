//! Comments, protection and headings (ISO/IEC 29500-1, 17.13.4, 17.15.1.29 and 17.7.4).

use std::collections::HashSet;

use super::super::unless_damaged;
use super::body::{self, Body};
use crate::engine::container::opc::{Kind, Package};
use crate::engine::container::xml::{Ns, Token};
use crate::engine::error::Result;
use crate::engine::value::Value;

/// How many comments there are, and how many different authors they have. `None` for a damaged part.
pub(super) fn comments(package: &Package<'_>) -> Result<Option<(u64, u64)>> {
    let mut count = 0;
    let mut authors = HashSet::new();
    for (part, kind) in package.parts() {
        if kind != Kind::WordComments {
            continue;
        }
        let read = package.scan(part, &mut |xml, token| {
            if let Token::Open(tag) = token
                && xml.depth() == 2
                && xml.is(&tag, Ns::Word, "comment")
            {
                count += 1;
                if let Some(author) = body::attribute(&tag, "author")? {
                    authors.insert(author);
                }
            }
            Ok(())
        });
        if unless_damaged(read)?.is_none() {
            return Ok(None);
        }
    }
    Ok(Some((count, authors.len() as u64)))
}

/// What the settings protect the document down to; null when nothing is enforced. `None` for a damaged
/// part.
pub(super) fn protection(package: &Package<'_>) -> Result<Option<Value>> {
    let Some(part) = package.only(Kind::WordSettings) else {
        return Ok(Some(Value::Null));
    };
    let mut protection = Value::Null;
    let read = package.scan(part, &mut |xml, token| {
        if let Token::Open(tag) = token
            && xml.depth() == 2
            && xml.is(&tag, Ns::Word, "documentProtection")
        {
            let enforced = body::attribute(&tag, "enforcement")?;
            if enforced.is_some() && body::is_on(enforced.as_deref()) {
                protection = match body::attribute(&tag, "edit")?.as_deref() {
                    Some("readOnly") => Value::word("read-only"),
                    Some("forms") => Value::word("forms"),
                    Some("comments") => Value::word("comments"),
                    Some("trackedChanges") => Value::word("tracked-changes"),
                    _ => Value::Null,
                };
            }
        }
        Ok(())
    });
    Ok(unless_damaged(read)?.map(|()| protection))
}

/// How many paragraphs are headings: by an outline level of their own, or by a style that is named
/// "heading 1" to "heading 9" or has an outline level. `None` when the styles are damaged.
pub(super) fn headings(package: &Package<'_>, body: &Body) -> Result<Option<u64>> {
    if body.styles.is_empty() {
        return Ok(Some(body.outlined));
    }
    let Some(part) = package.only(Kind::WordStyles) else {
        return Ok(Some(body.outlined));
    };
    let mut headings = HashSet::new();
    let mut current = None;
    let read = package.scan(part, &mut |xml, token| {
        let Token::Open(tag) = token else {
            return Ok(());
        };
        if xml.ns(&tag) != Ns::Word {
            return Ok(());
        }
        match tag.local() {
            "style" if xml.depth() == 2 => current = body::attribute(&tag, "styleId")?,
            "name" if xml.depth() == 3 => {
                let name = body::value(&tag)?;
                if name.as_deref().is_some_and(is_heading_name) {
                    headings.extend(current.clone());
                }
            }
            "outlineLvl"
                if xml.depth() == 4 && body::is_heading_level(body::value(&tag)?.as_deref()) =>
            {
                headings.extend(current.clone());
            }
            _ => {}
        }
        Ok(())
    });
    if unless_damaged(read)?.is_none() {
        return Ok(None);
    }
    let styled = body
        .styles
        .iter()
        .filter(|(style, _)| headings.contains(*style))
        .map(|(_, count)| count);
    Ok(Some(body.outlined + styled.sum::<u64>()))
}

/// The built-in names are the same in every language.
fn is_heading_name(name: &str) -> bool {
    name.get(..8)
        .is_some_and(|start| start.eq_ignore_ascii_case("heading "))
        && name[8..].len() == 1
        && name[8..].bytes().all(|byte| matches!(byte, b'1'..=b'9'))
}
