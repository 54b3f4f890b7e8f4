//! What the stateless revision of the protocol adds to every result: the server's name, and for how
//! long a client may keep what never changes.

use rmcp::RoleServer;
use rmcp::model::{
    CacheScope, CallToolResult, CompleteResult, GetPromptResult, GetSkillResult, Implementation,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult,
    ListToolsResult, MetaObject, ProtocolVersion, ReadResourceResult,
};
use rmcp::service::RequestContext;

/// How long a client may keep an answer that is constant for one build and engine.
pub(super) const CONSTANT_MS: u64 = 3_600_000;

/// Whether an answer can change while the server runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lifetime {
    /// It is constant for one build and engine.
    Constant,
    /// It is right for this request only.
    Once,
}

/// The name that we sign with.
pub(super) fn identity() -> Implementation {
    Implementation::new("deckprobe", env!("CARGO_PKG_VERSION")).with_title("DeckProbe")
}

/// Whether the request uses the revision that has cache hints and signed results.
pub(super) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// The result as this request's revision expects it.
pub(super) fn stamped<R: Stamp>(stateless: bool, mut result: R, lifetime: Lifetime) -> R {
    if !stateless {
        return result;
    }
    if lifetime == Lifetime::Constant {
        result.keep_for(CONSTANT_MS);
    }
    if let Ok(name) = serde_json::to_value(identity()) {
        result
            .meta()
            .get_or_insert_default()
            .insert("io.modelcontextprotocol/serverInfo".into(), name);
    }
    result
}

/// A result that can be stamped.
pub(super) trait Stamp {
    fn meta(&mut self) -> &mut Option<MetaObject>;
    /// Does nothing where the protocol has no cache hint.
    fn keep_for(&mut self, _ttl_ms: u64) {}
}

macro_rules! stamp {
    ($($result:ty),*) => {$(
        impl Stamp for $result {
            fn meta(&mut self) -> &mut Option<MetaObject> {
                &mut self.meta
            }
        }
    )*};
}

macro_rules! stamp_and_cache {
    ($($result:ty),*) => {$(
        impl Stamp for $result {
            fn meta(&mut self) -> &mut Option<MetaObject> {
                &mut self.meta
            }
            fn keep_for(&mut self, ttl_ms: u64) {
                self.ttl_ms = Some(ttl_ms);
                self.cache_scope = Some(CacheScope::Public);
            }
        }
    )*};
}

stamp!(CallToolResult, CompleteResult, GetPromptResult);
stamp_and_cache!(
    GetSkillResult,
    ListPromptsResult,
    ListResourceTemplatesResult,
    ListResourcesResult,
    ListSkillsResult,
    ListToolsResult,
    ReadResourceResult
);
