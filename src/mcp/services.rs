//! What the tools and resources work with.

use crate::access::Access;
use crate::config::Config;
use crate::supervisor::Supervisor;

/// Shared by all connections of one server.
pub(super) struct Services {
    pub(super) supervisor: Supervisor,
    pub(super) access: Access,
    pub(super) settings: ToolSettings,
}

/// The settings that the tools depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct ToolSettings {
    /// Most paths in one batch.
    pub(super) max_batch: usize,
    /// Largest document inside a call, in bytes; `None` when none is accepted.
    pub(super) inline_bytes: Option<u64>,
}

impl Services {
    pub(super) fn new(config: &Config, supervisor: Supervisor) -> Self {
        Self {
            supervisor,
            access: Access::new(config.supervisor.roots.clone()),
            settings: ToolSettings {
                max_batch: config.max_batch,
                inline_bytes: config.inline_bytes,
            },
        }
    }
}
