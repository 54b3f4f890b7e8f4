//! The path `office_legacy.content_statistics`: what the document itself says.

use super::powerpoint::Powerpoint;
use super::{Content, Legacy, excel, summary};
use crate::contract::Confidence::Exact;
use crate::engine::catalogue::{Profile, Target};
use crate::engine::error::Result;
use crate::engine::findings::Findings;
use crate::engine::value::Value;

pub(super) fn run(legacy: &mut Legacy<'_>, out: &mut Findings) -> Result<()> {
    match legacy.probe.profile {
        Profile::Doc => word(legacy, out),
        Profile::Xls => excel(legacy, out),
        Profile::Ppt => powerpoint(legacy, out),
        _ => Ok(()),
    }
}

const WORD_COUNTS: [Target; 3] = [
    Target::WORD_WORD_COUNT,
    Target::WORD_CHARACTER_COUNT,
    Target::WORD_PARAGRAPH_COUNT,
];

fn word(legacy: &mut Legacy<'_>, out: &mut Findings) -> Result<()> {
    if out.wants(Target::WORD_PAGE_COUNT) {
        summary::put_page_count(legacy, out)?;
    }
    let by_name = legacy.probe.extension == "dot";
    let wants_counts = out.wants_any(&WORD_COUNTS);
    let mut counts = None;
    let mut is_template = by_name;
    if let Content::Word(word) = legacy.content(out)? {
        is_template |= word.is_template();
        if wants_counts {
            counts = word.counts()?;
        }
    }
    out.put(
        Target::WORD_IS_TEMPLATE,
        is_template,
        Exact,
        "FIB and extension",
    );
    let source = "main document text";
    out.put_or_unknown(
        Target::WORD_WORD_COUNT,
        counts.map(|c| c.words),
        Exact,
        source,
    );
    let characters = counts.map(|c| c.characters);
    out.put_or_unknown(Target::WORD_CHARACTER_COUNT, characters, Exact, source);
    let paragraphs = counts.map(|c| c.paragraphs);
    out.put_or_unknown(Target::WORD_PARAGRAPH_COUNT, paragraphs, Exact, source);
    Ok(())
}

fn excel(legacy: &mut Legacy<'_>, out: &mut Findings) -> Result<()> {
    let by_name = legacy.probe.extension == "xlt";
    let (encrypted, globals) = match legacy.content(out)? {
        Content::Excel(excel) => (excel.encryption()?.is_some(), excel.globals()?),
        _ => (false, None),
    };
    let source = "BIFF globals";
    let is_template = by_name || globals.is_some_and(|globals| globals.is_template);
    out.put(
        Target::EXCEL_IS_TEMPLATE,
        is_template,
        Exact,
        "BIFF globals and extension",
    );
    out.put(Target::EXCEL_BINARY_WORKBOOK, true, Exact, "container");
    let sheets = globals.map(|globals| globals.sheets.as_slice());
    out.put_or_unknown(
        Target::EXCEL_SHEET_COUNT,
        sheets.map(<[_]>::len),
        Exact,
        source,
    );
    let names = sheets.and_then(names);
    out.put_or_unknown(Target::EXCEL_SHEET_NAMES, names, Exact, source);
    let hidden = sheets.and_then(hidden);
    out.put_or_unknown(Target::EXCEL_HIDDEN_SHEET_COUNT, hidden, Exact, source);
    // Names are encrypted with the rest, their flags too.
    let clear = globals.filter(|_| !encrypted);
    let defined = clear.map(|globals| globals.defined_names);
    out.put_or_unknown(Target::EXCEL_DEFINED_NAME_COUNT, defined, Exact, source);
    let strings = clear.and_then(|globals| globals.shared_strings);
    out.put_or_unknown(Target::EXCEL_SHARED_STRING_COUNT, strings, Exact, source);
    Ok(())
}

/// All names, or none: a list with holes would not fit the count.
fn names(sheets: &[excel::Sheet]) -> Option<Vec<String>> {
    sheets.iter().map(|sheet| sheet.name.clone()).collect()
}

fn hidden(sheets: &[excel::Sheet]) -> Option<u64> {
    sheets.iter().map(|sheet| sheet.hidden.map(u64::from)).sum()
}

fn powerpoint(legacy: &mut Legacy<'_>, out: &mut Findings) -> Result<()> {
    let kind = match legacy.probe.extension {
        "pps" => "show",
        "pot" => "template",
        _ => "presentation",
    };
    out.put(
        Target::POWERPOINT_PRESENTATION_KIND,
        kind,
        Exact,
        "extension",
    );
    let Content::Powerpoint(powerpoint) = legacy.content(out)? else {
        DECK.into_iter().for_each(|target| out.unknown(target));
        return Ok(());
    };
    slides(powerpoint, out)
}

const DECK: [Target; 7] = [
    Target::POWERPOINT_SLIDE_COUNT,
    Target::POWERPOINT_HIDDEN_SLIDE_COUNT,
    Target::POWERPOINT_NOTES_SLIDE_COUNT,
    Target::POWERPOINT_MASTER_COUNT,
    Target::POWERPOINT_SLIDE_SIZE,
    Target::POWERPOINT_ASPECT_RATIO,
    Target::POWERPOINT_ORIENTATION,
];

fn slides(powerpoint: &mut Powerpoint<'_>, out: &mut Findings) -> Result<()> {
    if out.wants(Target::POWERPOINT_HIDDEN_SLIDE_COUNT) {
        let hidden = powerpoint.hidden_slides()?;
        let source = "slide show settings";
        out.put_or_unknown(Target::POWERPOINT_HIDDEN_SLIDE_COUNT, hidden, Exact, source);
    }
    let Some(document) = powerpoint.document()? else {
        DECK.into_iter().for_each(|target| out.unknown(target));
        return Ok(());
    };
    let source = "persist directory";
    out.put(
        Target::POWERPOINT_SLIDE_COUNT,
        document.slide_count(),
        Exact,
        source,
    );
    out.put(
        Target::POWERPOINT_NOTES_SLIDE_COUNT,
        document.notes,
        Exact,
        source,
    );
    out.put(
        Target::POWERPOINT_MASTER_COUNT,
        document.masters,
        Exact,
        source,
    );
    let size = document.slide_size.filter(|(width, height)| {
        (1..=MAX_SIDE).contains(width) && (1..=MAX_SIDE).contains(height)
    });
    out.put_or_unknown(
        Target::POWERPOINT_SLIDE_SIZE,
        size.map(slide_size),
        Exact,
        "DocumentAtom",
    );
    out.put_or_unknown(
        Target::POWERPOINT_ASPECT_RATIO,
        size.map(aspect_ratio),
        Exact,
        "DocumentAtom",
    );
    out.put_or_unknown(
        Target::POWERPOINT_ORIENTATION,
        size.map(orientation),
        Exact,
        "DocumentAtom",
    );
    Ok(())
}

/// Longest side of a slide in master units ([MS-PPT] §2.4.2 allows 56 inches).
const MAX_SIDE: u32 = 32_256;

/// As for pptx: English Metric Units, 914 400 to the inch, and points.
fn slide_size((width, height): (u32, u32)) -> Value {
    let emu = |units: u32| u64::from(units) * 914_400 / 576;
    let points = |units: u32| f64::from(units) / 8.0;
    Value::object([
        ("width_emu", Value::from(emu(width))),
        ("height_emu", Value::from(emu(height))),
        ("width_pt", Value::from(points(width))),
        ("height_pt", Value::from(points(height))),
    ])
}

fn aspect_ratio((width, height): (u32, u32)) -> Value {
    let divisor = greatest_common_divisor(width, height);
    Value::object([
        ("width", Value::from(width / divisor)),
        ("height", Value::from(height / divisor)),
        ("decimal", Value::from(f64::from(width) / f64::from(height))),
    ])
}

fn orientation((width, height): (u32, u32)) -> Value {
    Value::from(match width.cmp(&height) {
        std::cmp::Ordering::Greater => "landscape",
        std::cmp::Ordering::Less => "portrait",
        std::cmp::Ordering::Equal => "square",
    })
}

fn greatest_common_divisor(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}
