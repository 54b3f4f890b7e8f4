//! The path `office_legacy.summary_information`: what the property sets record.

use super::properties::{self, PropertySet};
use super::{Content, Legacy};
use crate::contract::Confidence::{Exact, High};
use crate::engine::catalogue::{Profile, Target};
use crate::engine::error::Result;
use crate::engine::findings::Findings;

const SOURCE: &str = "SummaryInformation";

/// Texts of `SummaryInformation` ([MS-OLEPS] §3.1.2) and their targets.
const TEXTS: [(u32, Target); 9] = [
    (2, Target::DOCUMENT_TITLE),
    (3, Target::DOCUMENT_SUBJECT),
    (4, Target::DOCUMENT_AUTHOR),
    (5, Target::DOCUMENT_KEYWORDS),
    (6, Target::DOCUMENT_DESCRIPTION),
    (7, Target::DOCUMENT_TEMPLATE),
    (8, Target::DOCUMENT_LAST_MODIFIED_BY),
    (9, Target::DOCUMENT_REVISION),
    (18, Target::DOCUMENT_APPLICATION),
];

/// Texts of `DocumentSummaryInformation` ([MS-OSHARED] §2.3.3.2.2.1).
const MORE_TEXTS: [(u32, Target); 2] = [
    (14, Target::DOCUMENT_MANAGER),
    (15, Target::DOCUMENT_COMPANY),
];

/// Time spent on the document, in units of 100 ns.
const EDIT_TIME: u32 = 10;

/// Such units in a minute.
const MINUTE: u64 = 600_000_000;

const TIMES: [(u32, Target); 2] = [
    (12, Target::DOCUMENT_CREATED_AT),
    (13, Target::DOCUMENT_MODIFIED_AT),
];

/// Counts that Word keeps there.
const COUNTS: [(u32, Target); 3] = [
    (14, Target::WORD_PAGE_COUNT),
    (15, Target::WORD_WORD_COUNT),
    (16, Target::WORD_CHARACTER_COUNT),
];

/// Application version in `DocumentSummaryInformation` ([MS-OSHARED] §2.3.3.2.2.1).
const VERSION: u32 = 23;

pub(super) fn run(legacy: &mut Legacy<'_>, out: &mut Findings) -> Result<()> {
    let mut set = legacy.summary(properties::SUMMARY)?;
    for (id, target) in TEXTS {
        if out.wants(target) {
            let text = read(&mut set, |set| set.text(id))?;
            out.put_or_unknown(target, text, High, SOURCE);
        }
    }
    for (id, target) in TIMES {
        if out.wants(target) {
            let time = read(&mut set, |set| set.time(id))?;
            out.put_or_unknown(target, time, High, SOURCE);
        }
    }
    if legacy.probe.profile == Profile::Doc {
        for (id, target) in COUNTS {
            if out.wants(target) {
                match read(&mut set, |set| set.number(id))? {
                    Some(count) => out.put(target, count, High, SOURCE),
                    None => put_counted(legacy, target, out)?,
                }
            }
        }
    }
    if out.wants(Target::DOCUMENT_TOTAL_EDIT_TIME) {
        let ticks = read(&mut set, |set| set.ticks(EDIT_TIME))?;
        let minutes = ticks.map(|ticks| ticks / MINUTE);
        out.put_or_unknown(Target::DOCUMENT_TOTAL_EDIT_TIME, minutes, High, SOURCE);
    }
    if out.wants_any(&MORE_TEXTS.map(|(_, target)| target)) {
        let mut more = legacy.summary(properties::DOCUMENT_SUMMARY)?;
        for (id, target) in MORE_TEXTS {
            let text = read(&mut more, |set| set.text(id))?;
            out.put_or_unknown(target, text, High, "DocumentSummaryInformation");
        }
    }
    if out.wants(Target::DOCUMENT_APPLICATION_VERSION) {
        let mut more = legacy.summary(properties::DOCUMENT_SUMMARY)?;
        // Major version in the high half, build or minor version in the low one.
        let version = read(&mut more, |set| set.number(VERSION))?
            .filter(|version| *version >> 16 > 0)
            .map(|version| format!("{}.{}", version >> 16, version & 0xFFFF));
        let source = "DocumentSummaryInformation";
        out.put_or_unknown(Target::DOCUMENT_APPLICATION_VERSION, version, High, source);
    }
    Ok(())
}

/// Puts the page count that Word saved: the only place where it stands.
pub(super) fn put_page_count(legacy: &Legacy<'_>, out: &mut Findings) -> Result<()> {
    let mut set = legacy.summary(properties::SUMMARY)?;
    let (id, target) = COUNTS[0];
    let count = read(&mut set, |set| set.number(id))?;
    out.put_or_unknown(target, count, High, SOURCE);
    Ok(())
}

/// Where Word saved no count, the text can still be counted; its pages cannot.
fn put_counted(legacy: &mut Legacy<'_>, target: Target, out: &mut Findings) -> Result<()> {
    let counts = match legacy.content(out)? {
        Content::Word(word) if target != Target::WORD_PAGE_COUNT => word.counts()?,
        _ => None,
    };
    let count = counts.map(|counts| match target {
        Target::WORD_WORD_COUNT => counts.words,
        _ => counts.characters,
    });
    out.put_or_unknown(target, count, Exact, "main document text");
    Ok(())
}

fn read<'p, T>(
    set: &mut Option<PropertySet<'p>>,
    read: impl FnOnce(&mut PropertySet<'p>) -> Result<Option<T>>,
) -> Result<Option<T>> {
    set.as_mut().map_or(Ok(None), read)
}
