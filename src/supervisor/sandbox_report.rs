//! What confines the children, as their launchers reported it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::launch_spec::Applied;
use super::settings::SandboxMode;

/// The latest report. A change is logged.
pub(super) struct SandboxReport {
    mode: SandboxMode,
    known: Mutex<Option<Applied>>,
}

impl SandboxReport {
    pub(super) fn new(mode: SandboxMode) -> Self {
        Self {
            mode,
            known: Mutex::default(),
        }
    }

    /// Notes what the launcher of a child put in force.
    pub(super) fn note(&self, applied: Option<&Applied>) {
        let mut known = self.lock();
        if known.as_ref() == applied {
            return;
        }
        if let Some(applied) = applied {
            let (landlock, seccomp) = (&applied.landlock, applied.seccomp);
            if applied.missing.is_empty() {
                tracing::info!(landlock, seccomp, "engine sandbox");
            } else {
                let missing = applied.missing.join("; ");
                tracing::warn!(landlock, seccomp, missing, "engine sandbox is incomplete");
            }
        } else if self.mode != SandboxMode::Off {
            tracing::warn!("this system offers no engine sandbox");
        }
        *known = applied.cloned();
    }

    pub(super) fn latest(&self) -> Option<Applied> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Applied>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
