//! Tables, which all three kinds of documents have.

use std::collections::{HashMap, HashSet};

use super::limit;
use crate::contract::Confidence::Exact;
use crate::engine::catalogue::{DriverId, Profile, Target};
use crate::engine::container::iwa::{self, DecodeError, Fields};
use crate::engine::findings::Findings;
use crate::engine::value::Value;

/// `TST.TableInfoArchive`: a table on a page.
const INFO: u32 = 6000;
/// `TST.WPTableInfoArchive`: a table in a text.
const TEXT_INFO: u32 = 6007;
/// `TST.TableModelArchive`: what is in a table.
const MODEL: u32 = 6001;
/// `TST.TableDataList`, registered twice.
const LIST: [u32; 2] = [6005, 6201];
/// The lists that hold formulas (`TST.TableDataList.ListType`).
const FORMULAS: u64 = 3;

/// What is known of the tables.
#[derive(Default)]
pub(super) struct Tables {
    counts_formulas: bool,
    /// Models that stand somewhere in the document.
    placed: HashSet<u64>,
    models: HashMap<u64, Model>,
    formulas: u64,
}

/// The measures of a table.
#[derive(Clone, Debug, Default)]
struct Model {
    rows: Option<u64>,
    columns: Option<u64>,
    name: Option<String>,
    identifier: Option<String>,
    hidden_rows: u64,
    hidden_columns: u64,
    filtered_rows: u64,
    default_row_height: Option<f64>,
    default_column_width: Option<f64>,
}

impl Tables {
    /// What [`Tables::put`] puts.
    pub(super) const TARGETS: [Target; 5] = [
        Target::NUMBERS_TABLE_COUNT,
        Target::NUMBERS_TABLE_DIMENSIONS,
        Target::NUMBERS_HIDDEN_ROW_COUNT,
        Target::NUMBERS_HIDDEN_COLUMN_COUNT,
        Target::NUMBERS_FILTERED_ROW_COUNT,
    ];

    pub(super) fn new(profile: Profile) -> Self {
        Self {
            counts_formulas: profile.driver() == DriverId::Numbers,
            ..Self::default()
        }
    }

    pub(super) fn wants(&self, kind: u32) -> bool {
        matches!(kind, INFO | TEXT_INFO | MODEL) || (self.counts_formulas && LIST.contains(&kind))
    }

    pub(super) fn message(
        &mut self,
        identifier: u64,
        kind: u32,
        payload: &[u8],
    ) -> Result<(), DecodeError> {
        match kind {
            INFO => self.placed.extend(iwa::reference(payload, 2)?),
            TEXT_INFO => {
                if let Some(info) = iwa::message(payload, 1)? {
                    self.placed.extend(iwa::reference(info, 2)?);
                }
            }
            MODEL => {
                let model = Model::read(payload)?;
                self.models.entry(identifier).or_insert(model);
                // A model is some twenty times as large as its shortest message.
                limit::check_items(self.models.len().saturating_mul(10))?;
            }
            _ if self.wants(kind) => self.formulas += count_formulas(payload)?,
            _ => {}
        }
        Ok(())
    }

    /// How many tables stand in the document.
    pub(super) fn count(&self) -> usize {
        self.logical().count()
    }

    pub(super) fn formulas(&self) -> u64 {
        self.formulas
    }

    /// Puts number and measures of the tables of a spreadsheet.
    pub(super) fn put(&self, out: &mut Findings) {
        let mut tables: Vec<_> = self.logical().collect();
        tables.sort_unstable_by(|(a, one), (b, other)| one.name().cmp(other.name()).then(a.cmp(b)));
        out.put(
            Target::NUMBERS_TABLE_COUNT,
            tables.len(),
            Exact,
            "table objects",
        );
        type Part = fn(&Model) -> u64;
        let sums: [(Target, Part); 3] = [
            (Target::NUMBERS_HIDDEN_ROW_COUNT, |model| model.hidden_rows),
            (Target::NUMBERS_HIDDEN_COLUMN_COUNT, |model| {
                model.hidden_columns
            }),
            (Target::NUMBERS_FILTERED_ROW_COUNT, |model| {
                model.filtered_rows
            }),
        ];
        for (target, part) in sums {
            let sum = tables
                .iter()
                .fold(0_u64, |sum, (_, model)| sum.saturating_add(part(model)));
            out.put(target, sum, Exact, "table objects");
        }
        if !out.wants(Target::NUMBERS_TABLE_DIMENSIONS) {
            return;
        }
        // What stands round the name takes about 200 bytes.
        let length = tables
            .iter()
            .map(|(_, model)| 200 + model.name().len())
            .sum();
        limit::put(
            Target::NUMBERS_TABLE_DIMENSIONS,
            length,
            "table objects",
            out,
            || Value::List(tables.iter().map(|(_, model)| model.dimensions()).collect()),
        );
    }

    /// The models that have measures and stand in the document.
    fn logical(&self) -> impl Iterator<Item = (u64, &Model)> {
        self.models
            .iter()
            .filter(|(identifier, model)| {
                model.rows.is_some() && model.columns.is_some() && self.placed.contains(identifier)
            })
            .map(|(identifier, model)| (*identifier, model))
    }
}

impl Model {
    fn read(payload: &[u8]) -> Result<Self, DecodeError> {
        let mut model = Self::default();
        for field in Fields::of(payload) {
            let field = field?;
            let number = field.value.number();
            let text = || {
                field
                    .value
                    .bytes()
                    .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            };
            match field.number {
                1 => model.identifier = text(),
                6 => model.rows = number,
                7 => model.columns = number,
                8 => model.name = text(),
                14 => model.hidden_rows = number.unwrap_or_default(),
                15 => model.hidden_columns = number.unwrap_or_default(),
                16 => model.default_row_height = field.value.double(),
                17 => model.default_column_width = field.value.double(),
                40 => model.filtered_rows = number.unwrap_or_default(),
                _ => {}
            }
        }
        Ok(model)
    }

    fn name(&self) -> &str {
        self.name
            .as_deref()
            .or(self.identifier.as_deref())
            .unwrap_or_default()
    }

    fn dimensions(&self) -> Value {
        Value::object([
            ("columns", Value::from(self.columns)),
            (
                "default_column_width_pt",
                Value::from(self.default_column_width),
            ),
            (
                "default_row_height_pt",
                Value::from(self.default_row_height),
            ),
            ("filtered_rows", Value::from(self.filtered_rows)),
            ("hidden_columns", Value::from(self.hidden_columns)),
            ("hidden_rows", Value::from(self.hidden_rows)),
            ("name", Value::from(self.name())),
            ("rows", Value::from(self.rows)),
        ])
    }
}

/// The entries (field 3) of a list, if it is one of formulas (field 1).
fn count_formulas(payload: &[u8]) -> Result<u64, DecodeError> {
    let (mut kind, mut entries) = (None, 0);
    for field in Fields::of(payload) {
        let field = field?;
        match field.number {
            1 => kind = field.value.number(),
            3 => entries += 1,
            _ => {}
        }
    }
    Ok(if kind == Some(FORMULAS) { entries } else { 0 })
}
