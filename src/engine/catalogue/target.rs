//! What one row of the target table says, and how the rows are put in order.

use super::formats::{Families, PathId};
use crate::contract::Level;

/// What kind of value a target has (`value_type` of the catalogue).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueType {
    Text,
    TextOrNull,
    Bool,
    BoolOrNull,
    U64,
    U64OrNull,
    /// `string[]|null`: the spelling of the workbook targets.
    StringsOrNull,
    Texts,
    TextsOrNull,
    Numbers,
    Objects,
    Object,
    ObjectOrNull,
}

impl ValueType {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::TextOrNull => "string|null",
            Self::Bool => "bool",
            Self::BoolOrNull => "bool|null",
            Self::U64 => "u64",
            Self::U64OrNull => "u64|null",
            Self::StringsOrNull => "string[]|null",
            Self::Texts => "array<string>",
            Self::TextsOrNull => "array<string>|null",
            Self::Numbers => "array<u64>",
            Self::Objects => "array<object>",
            Self::Object => "object",
            Self::ObjectOrNull => "object|null",
        }
    }

    /// The JSON Schema of a value (contract §1.7).
    pub(crate) const fn schema(self) -> &'static str {
        match self {
            Self::Text => r#"{"type":"string"}"#,
            Self::TextOrNull => r#"{"type":["string","null"]}"#,
            Self::Bool => r#"{"type":"boolean"}"#,
            Self::BoolOrNull => r#"{"type":["boolean","null"]}"#,
            Self::U64 => r#"{"minimum":0,"type":"integer"}"#,
            Self::U64OrNull => r#"{"minimum":0,"type":["integer","null"]}"#,
            Self::StringsOrNull | Self::TextsOrNull => {
                r#"{"items":{"type":"string"},"type":["array","null"]}"#
            }
            Self::Texts => r#"{"items":{"type":"string"},"type":"array"}"#,
            Self::Numbers => r#"{"items":{"minimum":0,"type":"integer"},"type":"array"}"#,
            Self::Objects => r#"{"items":{"type":"object"},"type":"array"}"#,
            Self::Object => r#"{"type":"object"}"#,
            Self::ObjectOrNull => r#"{"type":["object","null"]}"#,
        }
    }
}

/// Which part of the catalogue a target belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Common,
    Office,
    Format,
}

impl Scope {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Common => "common",
            Self::Office => "office",
            Self::Format => "format",
        }
    }
}

/// One row of the target table: everything there is to know about a target but how it is found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TargetSpec {
    pub(crate) id: &'static str,
    pub(crate) value_type: ValueType,
    pub(crate) scope: Scope,
    pub(crate) min_level: Level,
    pub(crate) description: &'static str,
    /// Families whose catalogue has the target in the original engine.
    pub(super) contract: Families,
    /// Families whose catalogue has it here only. It is listed after the contract's targets.
    pub(super) ours: Families,
    /// Paths that yield it. A path all of whose families have the target as ours makes it ours there.
    pub(super) paths: &'static [PathId],
    /// Paths that yield it here only, in families where the contract knows the target.
    pub(super) our_paths: &'static [PathId],
    /// One of the six targets that every identity path yields; in `@header` everywhere.
    pub(crate) is_identity: bool,
    /// Not in `@all`: asking for it is a decision.
    pub(super) by_name_only: bool,
    /// Families with the target in `@header`.
    pub(super) header: Families,
    /// Families with the target in `@default` from metadata on.
    pub(super) default: Families,
    /// Families with the target in `@default` at deep.
    pub(super) deep_default: Families,
    /// Families with the target in `@summary` from metadata on, where applicable.
    pub(super) summary: Families,
}

/// A target of every format family.
pub(super) const fn common(
    id: &'static str,
    value_type: ValueType,
    min_level: Level,
    description: &'static str,
) -> TargetSpec {
    TargetSpec {
        id,
        value_type,
        scope: Scope::Common,
        min_level,
        description,
        contract: 0,
        ours: 0,
        paths: &[],
        our_paths: &[],
        is_identity: false,
        by_name_only: false,
        header: 0,
        default: 0,
        deep_default: 0,
        summary: 0,
    }
}

/// A target of the Office formats.
pub(super) const fn office(
    id: &'static str,
    value_type: ValueType,
    min_level: Level,
    description: &'static str,
) -> TargetSpec {
    TargetSpec {
        scope: Scope::Office,
        ..common(id, value_type, min_level, description)
    }
}

/// A target of one format family.
pub(super) const fn format(
    id: &'static str,
    value_type: ValueType,
    min_level: Level,
    description: &'static str,
) -> TargetSpec {
    TargetSpec {
        scope: Scope::Format,
        ..common(id, value_type, min_level, description)
    }
}

impl TargetSpec {
    /// In the original engine's catalogue of these families.
    pub(super) const fn contract(mut self, families: Families) -> Self {
        self.contract = families;
        self
    }

    /// In our catalogue of these families: by name, and in `@all` at deep.
    pub(super) const fn ours(mut self, families: Families) -> Self {
        self.ours = families;
        self
    }

    /// Yielded by these paths.
    pub(super) const fn by(mut self, paths: &'static [PathId]) -> Self {
        self.paths = paths;
        self
    }

    /// Yielded by these paths too, unlike in the original engine.
    pub(super) const fn by_ours(mut self, paths: &'static [PathId]) -> Self {
        self.our_paths = paths;
        self
    }

    /// In no selector.
    pub(super) const fn by_name_only(mut self) -> Self {
        self.by_name_only = true;
        self
    }

    pub(super) const fn identity(mut self) -> Self {
        self.is_identity = true;
        self
    }

    pub(super) const fn header(mut self, families: Families) -> Self {
        self.header = families;
        self
    }

    pub(super) const fn default(mut self, families: Families) -> Self {
        self.default = families;
        self
    }

    pub(super) const fn deep_default(mut self, families: Families) -> Self {
        self.deep_default = families;
        self
    }

    pub(super) const fn summary(mut self, families: Families) -> Self {
        self.summary = families;
        self
    }
}

/// The positions of rows in ascending order of their ids.
pub(super) const fn ascending<const N: usize>(rows: &[TargetSpec; N]) -> [u16; N] {
    let mut order = [0; N];
    let mut sorted = 0;
    while sorted < N {
        // Binary insertion: the table is long, and constant evaluation is slow.
        let id = rows[sorted].id.as_bytes();
        let (mut low, mut high) = (0, sorted);
        while low < high {
            let middle = low.midpoint(high);
            if is_less(rows[order[middle] as usize].id.as_bytes(), id) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let mut at = sorted;
        while at > low {
            order[at] = order[at - 1];
            at -= 1;
        }
        #[expect(clippy::cast_possible_truncation, reason = "few thousand rows at most")]
        let position = sorted as u16;
        order[low] = position;
        sorted += 1;
    }
    order
}

const fn is_less(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() {
        if a[i] != b[i] {
            return a[i] < b[i];
        }
        i += 1;
    }
    a.len() < b.len()
}

/// The place of each row in such an order.
pub(super) const fn ranks<const N: usize>(order: [u16; N]) -> [u16; N] {
    let mut ranks = [0; N];
    let mut place = 0;
    while place < N {
        #[expect(clippy::cast_possible_truncation, reason = "few thousand rows at most")]
        let rank = place as u16;
        ranks[order[place] as usize] = rank;
        place += 1;
    }
    ranks
}

/// Rows in such an order.
pub(super) const fn sorted<const N: usize>(
    rows: &[TargetSpec; N],
    order: [u16; N],
) -> [TargetSpec; N] {
    let mut sorted = *rows;
    let mut place = 0;
    while place < N {
        sorted[place] = rows[order[place] as usize];
        place += 1;
    }
    sorted
}
