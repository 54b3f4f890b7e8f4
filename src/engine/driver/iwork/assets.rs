//! Which data assets the document counts on.

use super::limit;
use super::package::Package;
use crate::engine::container::iwa::{DecodeError, Fields, text};

/// `TSP.PackageMetadata`.
const PACKAGE_METADATA: u32 = 11_006;

/// The files that the package's own list of data names.
#[derive(Default)]
pub(super) struct Assets {
    named: Option<Vec<String>>,
}

impl Assets {
    pub(super) fn wants(&self, kind: u32) -> bool {
        kind == PACKAGE_METADATA && self.named.is_none()
    }

    /// Field 4 of the metadata are the data, field 4 of each the name of its file. What comes with the
    /// application (field 5) has none.
    pub(super) fn message(&mut self, kind: u32, payload: &[u8]) -> Result<(), DecodeError> {
        if !self.wants(kind) {
            return Ok(());
        }
        let mut named = Vec::new();
        for field in Fields::of(payload) {
            let field = field?;
            if field.number == 4
                && let Some(data) = field.value.bytes()
            {
                let name = text(data, 4)?.filter(|name| !name.is_empty());
                named.extend(name);
                limit::check_items(named.len())?;
            }
        }
        self.named = Some(named);
        Ok(())
    }

    /// Whether a file that is named is not in the package. `None` when there is no list.
    pub(super) fn are_missing(&self, package: &Package<'_>) -> Option<bool> {
        let named = self.named.as_ref()?;
        let is_missing = |name: &String| package.find(&format!("Data/{name}")).is_none();
        Some(named.iter().any(is_missing))
    }
}
