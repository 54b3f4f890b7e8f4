//! The workbook part and the shared strings of XML workbooks (ISO/IEC 29500-1, 18.2 and 18.4).

mod biff12;
pub(super) mod binary;

use super::choice::each_child;
use super::unless_damaged;
use crate::engine::budget::Meter;
use crate::engine::container::opc::Package;
use crate::engine::container::xml::{Ns, Tag, Token, Xml};
use crate::engine::container::zip::Entry;
use crate::engine::error::{ProbeError, Result};

/// What a workbook part says. What could not be read to its end is `None`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Workbook {
    pub(super) sheets: Option<Sheets>,
    pub(super) defined_names: Option<u64>,
}

/// The sheets of a workbook in tab order, of every kind.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sheets {
    pub(super) count: u64,
    /// `None` when one of them cannot be read: a list with a gap would be wrong.
    pub(super) names: Option<Vec<String>>,
    /// Hidden and very hidden ones.
    pub(super) hidden: u64,
    /// Whether each is shown.
    pub(super) visibility: Vec<Visibility>,
}

/// Whether a sheet is shown (18.18.68).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Visibility {
    Visible,
    Hidden,
    /// Only a program can show it.
    VeryHidden,
}

/// Reads a workbook part.
///
/// # Errors
/// Budget errors.
pub(super) fn workbook(text: &str, meter: &Meter) -> Result<Workbook> {
    let mut workbook = Workbook::default();
    let whole = read(&mut workbook, &mut Xml::new(text, meter));
    if unless_damaged(whole)?.is_some() {
        // Lists that are not there are empty.
        workbook.sheets.get_or_insert_with(|| Sheets {
            names: Some(Vec::new()),
            ..Sheets::default()
        });
        workbook.defined_names.get_or_insert(0);
    }
    Ok(workbook)
}

fn read(workbook: &mut Workbook, xml: &mut Xml<'_>) -> Result<()> {
    let root = xml.root()?;
    if !xml.is(&root, Ns::Spreadsheet, "workbook") {
        return Err(ProbeError::malformed("the root element is not workbook"));
    }
    each_child(xml, 1, &mut |xml, tag| {
        if xml.is(tag, Ns::Spreadsheet, "sheets") {
            workbook.sheets = Some(read_sheets(xml)?);
        } else if xml.is(tag, Ns::Spreadsheet, "definedNames") {
            workbook.defined_names = Some(count(xml, "definedName")?);
        }
        Ok(())
    })
}

fn read_sheets(xml: &mut Xml<'_>) -> Result<Sheets> {
    let mut sheets = Sheets {
        names: Some(Vec::new()),
        ..Sheets::default()
    };
    let depth = xml.depth();
    each_child(xml, depth, &mut |xml, tag| {
        if xml.is(tag, Ns::Spreadsheet, "sheet") {
            sheets.add(tag)?;
        }
        Ok(())
    })?;
    Ok(sheets)
}

impl Sheets {
    /// The names of the sheets in this state; `None` when the names cannot be read.
    pub(super) fn names_of(&self, state: Visibility) -> Option<Vec<String>> {
        let names = self.names.as_ref()?;
        let named = names.iter().zip(&self.visibility);
        Some(
            named
                .filter(|(_, visibility)| **visibility == state)
                .map(|(name, _)| name.clone())
                .collect(),
        )
    }

    fn count(&mut self, visibility: Visibility) {
        self.count += 1;
        self.hidden += u64::from(visibility != Visibility::Visible);
        self.visibility.push(visibility);
    }

    fn add(&mut self, sheet: &Tag<'_>) -> Result<()> {
        let state = unless_damaged(sheet.attribute("state"))?.flatten();
        self.count(match state.as_deref() {
            Some("hidden") => Visibility::Hidden,
            Some("veryHidden") => Visibility::VeryHidden,
            // Anything else hides nothing.
            _ => Visibility::Visible,
        });
        match unless_damaged(sheet.attribute("name"))?.flatten() {
            Some(name) => {
                if let Some(names) = &mut self.names {
                    names.push(name.into_owned());
                }
            }
            None => self.names = None,
        }
        Ok(())
    }
}

fn count(xml: &mut Xml<'_>, local: &str) -> Result<u64> {
    let depth = xml.depth();
    let mut count = 0;
    each_child(xml, depth, &mut |xml, tag| {
        count += u64::from(xml.is(tag, Ns::Spreadsheet, local));
        Ok(())
    })?;
    Ok(count)
}

/// Counts the strings of a shared string part. Its `uniqueCount` is optional and often wrong.
///
/// # Errors
/// `MALFORMED_INPUT` when the part is damaged; budget errors.
pub(super) fn shared_strings(package: &Package<'_>, part: Entry<'_>) -> Result<u64> {
    let mut count = 0;
    let mut is_root = true;
    package.scan(part, &mut |xml, token| {
        if let Token::Open(tag) = token {
            if is_root && !xml.is(&tag, Ns::Spreadsheet, "sst") {
                return Err(ProbeError::malformed("the root element is not sst"));
            }
            is_root = false;
            count += u64::from(xml.depth() == 2 && xml.is(&tag, Ns::Spreadsheet, "si"));
        }
        Ok(())
    })?;
    if is_root {
        return Err(ProbeError::malformed("there is no root element"));
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Level, Limits};

    fn parsed(ns: &str, body: &str) -> Workbook {
        let text = format!("<x:workbook xmlns:x='{ns}' xmlns:y='urn:y'>{body}</x:workbook>");
        workbook(&text, &Meter::start(Limits::of(Level::Deep))).unwrap()
    }

    #[test]
    fn sheets_and_names_are_read_in_both_conformance_classes() {
        let body = "<x:sheets><x:sheet name='R&amp;D' state='hidden'/><x:sheet name='b'/>\
            <y:sheet name='foreign'/><x:sheet name='c' state='veryHidden'/>\
            <x:sheet name='d' state='Visible'/><x:sheet name='e' state=''/></x:sheets>\
            <x:definedNames><x:definedName name='_xlnm.Print_Area'/><x:definedName name='n'/>\
            </x:definedNames>";
        for ns in [
            "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
            "http://purl.oclc.org/ooxml/spreadsheetml/main",
        ] {
            let workbook = parsed(ns, body);
            let sheets = workbook.sheets.unwrap();
            assert_eq!((sheets.count, sheets.hidden), (5, 2));
            assert_eq!(sheets.names.unwrap(), ["R&D", "b", "c", "d", "e"]);
            assert_eq!(workbook.defined_names, Some(2));
        }
    }

    #[test]
    fn sheets_may_stand_in_alternative_contents() {
        let ns = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
        let found = parsed(
            ns,
            "<mc:AlternateContent xmlns:mc='http://schemas.openxmlformats.org/markup-compatibility/2006'>\
             <mc:Choice Requires='x15'><x:sheets><x:sheet name='a'/></x:sheets></mc:Choice>\
             <mc:Fallback><x:sheets/></mc:Fallback></mc:AlternateContent>",
        );
        assert_eq!(found.sheets.unwrap().names.unwrap(), ["a"]);
    }

    #[test]
    fn what_cannot_be_read_is_not_guessed() {
        let ns = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
        let workbook = parsed(ns, "<x:sheets><x:sheet name='&undefined;'/></x:sheets>");
        let sheets = workbook.sheets.unwrap();
        assert_eq!((sheets.count, sheets.names), (1, None));
        let cut = parsed(
            ns,
            "<x:sheets><x:sheet name='a'/></x:sheets><x:definedNames>",
        );
        assert_eq!(cut.sheets.unwrap().count, 1);
        assert_eq!(cut.defined_names, None);
        assert_eq!(parsed("urn:other", ""), Workbook::default());
        assert_eq!(parsed(ns, "").defined_names, Some(0));
    }
}
