//! Excel workbooks and templates, binary ones included (contract §9.3).

use std::cell::OnceCell;

use super::sheets::{self, Visibility, Workbook};
use super::{Office, slides, unless_damaged};
use crate::contract::Confidence::{Exact, Medium};
use crate::engine::catalogue::{PathId, Profile, Target as T};
use crate::engine::container::opc::Kind;
use crate::engine::container::zip::Entry;
use crate::engine::driver::{Driver, Probe};
use crate::engine::error::Result;
use crate::engine::findings::Findings;

/// Most external link targets that are listed.
const MAX_TARGETS: usize = 10_000;

/// xlsx, xlsm, xltx, xltm and xlsb.
pub(crate) struct Excel<'p> {
    office: Office<'p>,
    workbook: OnceCell<Workbook>,
}

impl<'p> Driver<'p> for Excel<'p> {
    fn open(probe: &'p Probe<'p>) -> Result<Self> {
        Ok(Self {
            office: Office::open(probe)?,
            workbook: OnceCell::new(),
        })
    }

    fn run(&mut self, path: PathId, out: &mut Findings) -> Result<()> {
        match path {
            PathId::ExcelProfile => self.profile(out),
            PathId::ExcelTableInventory => self.tables(out),
            PathId::ExcelAssetInventory => self.assets(out)?,
            PathId::ExcelWorkbookXml => self.workbook_part(out)?,
            PathId::ExcelWorksheetInventory => self.worksheets(out),
            PathId::ExcelSharedStrings => self.shared_strings(out)?,
            PathId::ExcelExternalLinks => self.external_links(out)?,
            shared => self.office.run(shared, out)?,
        }
        Ok(())
    }
}

impl Excel<'_> {
    fn is_binary(&self) -> bool {
        self.office.profile() == Profile::Xlsb
    }

    fn profile(&self, out: &mut Findings) {
        let template = matches!(self.office.profile(), Profile::Xltx | Profile::Xltm);
        let source = "content type of the main part";
        out.put(T::EXCEL_IS_TEMPLATE, template, Exact, source);
        out.put(T::EXCEL_BINARY_WORKBOOK, self.is_binary(), Exact, source);
    }

    fn tables(&self, out: &mut Findings) {
        out.put(
            T::EXCEL_TABLE_COUNT,
            self.office.package().count(&[Kind::Table]),
            Exact,
            "table parts",
        );
    }

    fn assets(&self, out: &mut Findings) -> Result<()> {
        let package = self.office.package();
        out.put(
            T::EXCEL_CHART_PART_COUNT,
            package.count(&[Kind::Chart]),
            Exact,
            "chart parts",
        );
        out.put(
            T::EXCEL_PIVOT_TABLE_PART_COUNT,
            package.count(&[Kind::PivotTable]),
            Exact,
            "pivot table parts",
        );
        out.put(
            T::EXCEL_UNIQUE_IMAGE_ASSET_COUNT,
            self.office.image_count()?,
            Exact,
            "image parts",
        );
        Ok(())
    }

    fn workbook_part(&self, out: &mut Findings) -> Result<()> {
        let workbook = self.workbook()?;
        let source = "workbook part";
        let sheets = workbook.sheets.as_ref();
        out.put_or_unknown(
            T::EXCEL_SHEET_COUNT,
            sheets.map(|sheets| sheets.count),
            Exact,
            source,
        );
        out.put_or_unknown(
            T::EXCEL_HIDDEN_SHEET_COUNT,
            sheets.map(|sheets| sheets.hidden),
            Exact,
            source,
        );
        if out.wants(T::EXCEL_SHEET_NAMES) {
            let names = sheets.and_then(|sheets| sheets.names.clone());
            out.put_or_unknown(T::EXCEL_SHEET_NAMES, names, Exact, source);
        }
        for (target, state) in [
            (T::EXCEL_HIDDEN_SHEET_NAMES, Visibility::Hidden),
            (T::EXCEL_VERY_HIDDEN_SHEET_NAMES, Visibility::VeryHidden),
        ] {
            if out.wants(target) {
                let names = sheets.and_then(|sheets| sheets.names_of(state));
                out.put_or_unknown(target, names, Exact, source);
            }
        }
        out.put_or_unknown(
            T::EXCEL_DEFINED_NAME_COUNT,
            workbook.defined_names,
            Exact,
            source,
        );
        Ok(())
    }

    /// Where the relationships of external link parts lead (18.14).
    fn external_links(&self, out: &mut Findings) -> Result<()> {
        let package = self.office.package();
        let mut targets = Vec::new();
        let mut damaged = false;
        for (part, _) in package
            .parts()
            .filter(|(_, kind)| *kind == Kind::ExternalLink)
        {
            let Some(relationships) = package.relationships_of(part.name()) else {
                continue;
            };
            let read = package.relationships(relationships, |relationship| {
                if relationship.external && targets.len() < MAX_TARGETS {
                    targets.push(relationship.target.clone().into_owned());
                }
            });
            damaged |= unless_damaged(read)?.is_none();
        }
        let targets = (!damaged).then_some(targets);
        out.put_or_unknown(
            T::EXCEL_EXTERNAL_LINK_TARGETS,
            targets,
            Exact,
            "external link parts",
        );
        Ok(())
    }

    fn worksheets(&self, out: &mut Findings) {
        let count = self.office.package().count(&[
            Kind::Worksheet,
            Kind::Chartsheet,
            Kind::Dialogsheet,
            Kind::Macrosheet,
        ]);
        out.put(T::EXCEL_SHEET_COUNT, count, Medium, "sheet parts");
    }

    fn shared_strings(&self, out: &mut Findings) -> Result<()> {
        let package = self.office.package();
        let Some(part) = self.shared_string_part()? else {
            out.unknown(T::EXCEL_SHARED_STRING_COUNT);
            return Ok(());
        };
        let target = T::EXCEL_SHARED_STRING_COUNT;
        if part.size() > package.meter().expanded_left() {
            // The table does not fit, but its beginning says how many strings it should have.
            if let Some(count) = self.claimed_strings(part)? {
                out.put(
                    target,
                    count,
                    Medium,
                    "uniqueCount of the shared string part",
                );
            }
        }
        let count = if self.is_binary() {
            match unless_damaged(package.read(part))? {
                Some(bytes) => {
                    unless_damaged(sheets::binary::shared_strings(&bytes, package.meter()))?
                }
                None => None,
            }
        } else {
            unless_damaged(sheets::shared_strings(package, part))?
        };
        out.put_or_unknown(target, count, Exact, "shared string part");
        Ok(())
    }

    fn claimed_strings(&self, part: Entry<'_>) -> Result<Option<u64>> {
        if self.is_binary() {
            return Ok(None);
        }
        let claim = slides::at_start(self.office.package(), part, |xml| {
            let root = xml.root()?;
            Ok(root
                .attribute("uniqueCount")?
                .and_then(|count| count.trim().parse().ok()))
        });
        Ok(unless_damaged(claim)?.flatten())
    }

    /// The table of shared strings. Of several (leftovers are not rare after a repair) the one that the
    /// workbook names.
    fn shared_string_part(&self) -> Result<Option<Entry<'_>>> {
        let package = self.office.package();
        let mut parts = package
            .parts()
            .filter(|(_, kind)| *kind == Kind::SharedStrings)
            .map(|(entry, _)| entry);
        let first = parts.next();
        if first.is_none() || parts.next().is_none() {
            return Ok(first);
        }
        let main = self.office.main();
        let Some(relationships) = package.relationships_of(main.name()) else {
            return Ok(None);
        };
        let mut named = None;
        let read = package.relationships(relationships, |relationship| {
            let leads_there = relationship.kind.is_office("sharedStrings");
            if named.is_none() && leads_there && !relationship.external {
                named = package.target(main.name(), &relationship.target);
            }
        });
        unless_damaged(read)?;
        Ok(named)
    }

    /// The workbook part, read once. Nothing is known of a damaged one.
    fn workbook(&self) -> Result<&Workbook> {
        if let Some(workbook) = self.workbook.get() {
            return Ok(workbook);
        }
        let package = self.office.package();
        let main = self.office.main();
        let workbook = if self.is_binary() {
            match unless_damaged(package.read(main))? {
                Some(bytes) => sheets::binary::workbook(&bytes, package.meter())?,
                None => Workbook::default(),
            }
        } else {
            match unless_damaged(package.read_text(main))? {
                Some(text) => sheets::workbook(&text, package.meter())?,
                None => Workbook::default(),
            }
        };
        Ok(self.workbook.get_or_init(|| workbook))
    }
}
