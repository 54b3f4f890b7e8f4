//! Who answers: the contract version that is implemented, with our build as metadata.

/// `tool_version` of every reply of the built-in engine.
pub(crate) const TOOL_VERSION: &str = concat!("2.4.0", "+builtin.", env!("CARGO_PKG_VERSION"));

#[cfg(test)]
mod tests {
    #[test]
    fn the_version_begins_with_the_contracts() {
        assert!(super::TOOL_VERSION.starts_with(crate::contract::CONTRACT_VERSION));
    }
}
