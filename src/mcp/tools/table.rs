//! The table view of a batch: one row a document, and no fact twice.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::super::text::excerpt;
use crate::contract::Reply;

/// The documents of a batch, with their replies in the values view.
pub(super) struct Documents<'a> {
    pub(super) paths: &'a [String],
    pub(super) replies: &'a [Reply],
    /// The targets as they were asked for; presets among them.
    pub(super) targets: &'a [String],
}

#[derive(Deserialize)]
struct Report<'a> {
    #[serde(borrow, default)]
    values: BTreeMap<String, &'a RawValue>,
    #[serde(default)]
    unresolved_targets: Vec<String>,
    #[serde(default)]
    diagnostics: Vec<Diagnostic>,
}

#[derive(Deserialize)]
struct Diagnostic {
    code: String,
    #[serde(default)]
    message: String,
}

#[derive(Deserialize)]
struct Failure {
    error: FailureError,
}

#[derive(Deserialize)]
struct FailureError {
    code: String,
    message: String,
}

/// Columns in the order of the question, then of their names.
#[derive(Default)]
struct Columns {
    names: Vec<String>,
}

impl Columns {
    /// The column of a full target name. A short name that was asked for collects the targets of all
    /// formats that have it.
    fn of(&mut self, target: &str, asked: &[String]) -> usize {
        let short = target.rsplit('.').next().unwrap_or(target);
        let asked = asked.iter().find(|name| *name == target || *name == short);
        let name = asked.map_or(target, String::as_str);
        if let Some(known) = self.names.iter().position(|known| known == name) {
            return known;
        }
        self.names.push(name.to_owned());
        self.names.len() - 1
    }
}

/// The table of the first `count` documents.
pub(super) fn table(documents: &Documents<'_>, count: usize) -> Value {
    let paths = documents.paths.get(..count).unwrap_or(documents.paths);
    let base = common_directory(paths);
    let mut columns = Columns {
        names: documents
            .targets
            .iter()
            .filter(|name| !name.starts_with('@'))
            .cloned()
            .collect(),
    };
    let mut rows: Vec<(&str, Vec<Value>)> = Vec::new();
    let mut unresolved: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    let mut errors = Vec::new();
    for (path, reply) in paths.iter().zip(documents.replies) {
        let name = path.get(base.len()..).unwrap_or(path);
        let report = match serde_json::from_str::<Report<'_>>(reply.json()) {
            Ok(report) if !reply.is_error() => report,
            _ => {
                errors.push(failure(name, reply));
                continue;
            }
        };
        let mut cells = Vec::new();
        for (target, value) in &report.values {
            let at = columns.of(target, documents.targets);
            cells.resize(cells.len().max(at + 1), Value::Null);
            cells[at] = serde_json::from_str(value.get()).unwrap_or_default();
        }
        for target in &report.unresolved_targets {
            let at = columns.of(target, documents.targets);
            let why = report
                .diagnostics
                .iter()
                .find(|diagnostic| diagnostic.message.contains(target.as_str()))
                .map_or("UNRESOLVED_TARGET", |diagnostic| &diagnostic.code);
            let column = unresolved.entry(columns.names[at].clone()).or_default();
            *column.entry(why.to_owned()).or_default() += 1;
        }
        rows.push((name, cells));
    }
    for (_, cells) in &mut rows {
        cells.resize(columns.names.len(), Value::Null);
    }
    let same = lift(&mut columns, &mut rows);
    let mut table = Map::new();
    if !base.is_empty() {
        table.insert("base".into(), base.into());
    }
    let mut names = vec!["path".to_owned()];
    names.extend(columns.names);
    table.insert("columns".into(), names.into());
    let rows: Vec<Value> = rows
        .into_iter()
        .map(|(name, cells)| {
            let mut row = vec![Value::from(name)];
            row.extend(cells);
            Value::Array(row)
        })
        .collect();
    table.insert("rows".into(), rows.into());
    if !same.is_empty() {
        table.insert("same".into(), Value::Object(same));
    }
    if !unresolved.is_empty() {
        table.insert("unresolved".into(), json!(unresolved));
    }
    table.insert("errors".into(), errors.into());
    Value::Object(table)
}

/// Takes out the columns that have one value in all rows.
fn lift(columns: &mut Columns, rows: &mut [(&str, Vec<Value>)]) -> Map<String, Value> {
    let mut same = Map::new();
    if rows.len() < 2 {
        return same;
    }
    for at in (0..columns.names.len()).rev() {
        let first = rows[0].1[at].clone();
        if first.is_null() || rows.iter().any(|(_, cells)| cells[at] != first) {
            continue;
        }
        for (_, cells) in rows.iter_mut() {
            cells.remove(at);
        }
        same.insert(columns.names.remove(at), first);
    }
    same
}

fn failure(name: &str, reply: &Reply) -> Value {
    match serde_json::from_str::<Failure>(reply.json()) {
        Ok(Failure { error }) => {
            json!({"path": name, "code": error.code, "message": excerpt(&error.message)})
        }
        Err(_) => json!({"path": name, "code": "MCP_ENGINE_FAILURE"}),
    }
}

/// The directory that all paths begin with, with its separator; empty when there is none.
fn common_directory(paths: &[String]) -> &str {
    let Some(first) = paths.first() else {
        return "";
    };
    let directory = |text: &str| text.rfind(['/', '\\']).map_or(0, |at| at + 1);
    let mut length = directory(first);
    for path in paths {
        let equal = first
            .bytes()
            .zip(path.bytes())
            .take_while(|(one, other)| one == other)
            .count();
        length = directory(&first[..first.floor_char_boundary(equal.min(length))]);
    }
    if paths.len() < 2 {
        ""
    } else {
        &first[..length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(json: &str) -> Reply {
        Reply::from_engine(json.as_bytes(), None).unwrap()
    }

    #[test]
    fn values_are_rows_and_no_fact_is_there_twice() {
        let paths: Vec<String> = ["/d/x/a.pdf", "/d/x/b.docx", "/d/y/c.xlsx", "/d/gone.pdf"]
            .map(String::from)
            .into();
        let replies = [
            r#"{"status":"ok","values":{"pdf.page_count":3,"security.has_macros":false}}"#,
            r#"{"status":"ok","values":{"security.has_macros":false,"word.page_count":7}}"#,
            r#"{"diagnostics":[{"code":"X","message":"excel.page_count could not"}],"status":"partial",
                "unresolved_targets":["excel.page_count"],"values":{"security.has_macros":false}}"#,
            r#"{"error":{"code":"MCP_PATH_NOT_FOUND","exit_code":2,"message":"no file"},"status":"error"}"#,
        ]
        .map(reply);
        let documents = Documents {
            paths: &paths,
            replies: &replies,
            targets: &["page_count".into(), "@security".into()],
        };
        assert_eq!(
            table(&documents, 4),
            json!({
                "base": "/d/",
                "columns": ["path", "page_count"],
                "rows": [["x/a.pdf", 3], ["x/b.docx", 7], ["y/c.xlsx", null]],
                "same": {"security.has_macros": false},
                "unresolved": {"page_count": {"X": 1}},
                "errors": [{"path": "gone.pdf", "code": "MCP_PATH_NOT_FOUND", "message": "no file"}],
            })
        );
        assert_eq!(
            table(&documents, 1)["rows"],
            json!([["/d/x/a.pdf", 3, false]])
        );
    }
}
