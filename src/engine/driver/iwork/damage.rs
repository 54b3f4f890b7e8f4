//! Which components cannot be decoded, and which facts are lost with them.

use super::package::{Component, is_numbered};

/// Which components cannot be decoded, by what is missing because of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Damage {
    /// Any component.
    pub(super) any: bool,
    /// One that may hold slides, sheets, text or tables.
    pub(super) content: bool,
    /// One that holds cells and formulas of tables.
    pub(super) tables: bool,
    /// One that holds the state of the window.
    pub(super) view: bool,
}

impl Damage {
    /// Every component.
    pub(super) const ALL: Self = Self {
        any: true,
        content: true,
        tables: true,
        view: true,
    };

    pub(super) fn add(&mut self, component: &Component<'_, '_>) {
        const NO_CONTENT: [&str; 5] = [
            "DocumentStylesheet",
            "Metadata",
            "DocumentMetadata",
            "AnnotationAuthorStorage",
            "OperationStorage",
        ];
        self.any = true;
        let name = component.name().unwrap_or_default();
        let is = |prefix: &str| is_numbered(name, prefix);
        if name.starts_with("Tables/") {
            self.tables = true;
        } else if is("ViewState") {
            self.view = true;
        } else if !NO_CONTENT.into_iter().any(is) {
            self.content = true;
        }
    }

    /// Whether content is lost when this component cannot be decoded: slides and sheets are in such
    /// components only.
    pub(super) fn loses_content(component: &Component<'_, '_>) -> bool {
        let mut damage = Self::default();
        damage.add(component);
        damage.content
    }
}
