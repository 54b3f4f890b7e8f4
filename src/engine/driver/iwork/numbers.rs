//! Numbers: the sheets of a spreadsheet.

use std::collections::{HashMap, HashSet};

use super::damage::Damage;
use super::limit;
use super::tables::Tables;
use crate::contract::Confidence::Exact;
use crate::engine::catalogue::Target;
use crate::engine::container::iwa::{DecodeError, Fields, text};
use crate::engine::findings::Findings;

const DOCUMENT: u32 = 1;
const SHEET: u32 = 2;

/// What is known of a spreadsheet.
#[derive(Default)]
pub(super) struct Numbers {
    has_root: bool,
    /// What the document names as its sheets, in order, each once.
    named: Vec<u64>,
    /// Those that were not seen yet.
    missing: HashSet<u64>,
    /// Names of `TN.SheetArchive` objects. A sheet without a name has none.
    sheets: HashMap<u64, Option<String>>,
    /// What else was seen before the document could name it: forms stand among the sheets, but they
    /// are views of tables.
    others: HashSet<u64>,
}

impl Numbers {
    pub(super) fn wants(&mut self, identifier: u64, kind: u32) -> bool {
        if kind != SHEET && kind != DOCUMENT {
            if !self.has_root {
                self.others.insert(identifier);
            }
            self.missing.remove(&identifier);
        }
        matches!(kind, DOCUMENT | SHEET)
    }

    pub(super) fn message(
        &mut self,
        identifier: u64,
        kind: u32,
        payload: &[u8],
    ) -> Result<(), DecodeError> {
        match kind {
            DOCUMENT if !self.has_root => self.read_document(payload)?,
            SHEET => {
                // Any valid UTF-8 is a name.
                let name = text(payload, 1)?;
                self.sheets.entry(identifier).or_insert(name);
                self.missing.remove(&identifier);
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn is_outlined(&self) -> bool {
        self.has_root && self.missing.is_empty()
    }

    pub(super) fn inventory(&self, out: &mut Findings) {
        let sheets: Vec<_> = self
            .named
            .iter()
            .filter_map(|id| self.sheets.get(id))
            .collect();
        let count = self.is_outlined().then_some(sheets.len());
        out.put_or_unknown(Target::NUMBERS_SHEET_COUNT, count, Exact, "document object");
        let names: Option<Vec<&str>> = sheets.into_iter().map(Option::as_deref).collect();
        match names.filter(|_| self.is_outlined()) {
            Some(names) => {
                limit::put_texts(Target::NUMBERS_SHEET_NAMES, names, "sheet objects", out)
            }
            None => out.unknown(Target::NUMBERS_SHEET_NAMES),
        }
    }

    pub(super) fn deep(tables: &Tables, damage: Damage, out: &mut Findings) {
        if damage.content {
            for target in Tables::TARGETS {
                out.unknown(target);
            }
        } else {
            tables.put(out);
        }
        let formulas = (!damage.content && !damage.tables).then(|| tables.formulas());
        out.put_or_unknown(
            Target::NUMBERS_FORMULA_DEFINITION_COUNT,
            formulas,
            Exact,
            "formula lists",
        );
    }

    /// Field 1 of `TN.DocumentArchive` names the sheets.
    fn read_document(&mut self, payload: &[u8]) -> Result<(), DecodeError> {
        let mut seen = HashSet::new();
        for field in Fields::of(payload) {
            let field = field?;
            if field.number == 1
                && let Some(identifier) = field.value.reference()?
                && seen.insert(identifier)
            {
                self.named.push(identifier);
                limit::check_items(self.named.len())?;
                if !self.sheets.contains_key(&identifier) && !self.others.contains(&identifier) {
                    self.missing.insert(identifier);
                }
            }
        }
        self.has_root = true;
        self.others = HashSet::new();
        Ok(())
    }
}
