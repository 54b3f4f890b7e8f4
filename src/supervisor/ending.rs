//! How a child is ended, and what its end says.

use std::process::ExitStatus;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::child::{Child, ChildLimits};
use super::os;
use super::recycle::Reason;

/// How long the exit status may come after the end of the output.
const STATUS_WAIT: Duration = Duration::from_millis(200);
/// How long after SIGKILL a child counts as one that cannot be killed.
const REAP_LIMIT: Duration = Duration::from_secs(2);

/// How a child ended by itself.
pub(super) struct Exit {
    /// [`Reason::Exit`] or [`Reason::Signal`].
    pub(super) reason: Reason,
    /// "exited with status 3", "was ended by signal 11 (SIGSEGV)".
    pub(super) how: String,
    /// A likely cause, where one is known.
    pub(super) perhaps: Option<String>,
}

/// The exit of a child whose output has ended, if it comes soon. `ready` says whether it has ever
/// answered.
pub(super) async fn exit_soon(
    child: &mut Child,
    limits: &ChildLimits,
    ready: bool,
    kill: &CancellationToken,
) -> Option<Exit> {
    if !child.wait_end(STATUS_WAIT, kill).await {
        return None;
    }
    let (how, signal) = describe(child.reap().await);
    let limit = limits.max_memory_bytes.unwrap_or_default() >> 20;
    let perhaps = if child.stderr_tail.mentions_memory() {
        Some(match limit {
            0 => "it ran out of memory".to_owned(),
            limit => format!("it reached its memory limit of {limit} MiB"),
        })
    } else if !ready && signal.is_some() && limit > 0 {
        Some(format!(
            "perhaps its memory limit of {limit} MiB is too low"
        ))
    } else if signal == Some(os::KILLED) {
        Some("not by this server; perhaps the system is out of memory".to_owned())
    } else {
        None
    };
    let reason = match signal {
        Some(_) => Reason::Signal,
        None => Reason::Exit,
    };
    Some(Exit {
        reason,
        how,
        perhaps,
    })
}

/// An exit status in words, and the signal in it.
pub(super) fn describe(status: Option<ExitStatus>) -> (String, Option<i32>) {
    status.map_or_else(|| ("ended".to_owned(), None), os::describe_exit)
}

/// Ends a child and reaps it: by the end of its input if the end is planned, else by SIGTERM, and by
/// SIGKILL after the grace. `lost` is called when it does not even end by that; the wait goes on.
pub(super) async fn end(
    child: &mut Child,
    reason: Reason,
    grace: Duration,
    kill: &CancellationToken,
    lost: impl FnOnce(),
) -> Option<ExitStatus> {
    child.close_stdin();
    let ended = reason.is_planned() && child.wait_end(grace, kill).await;
    if !ended && !child.has_ended() {
        child.info.signal(os::StopSignal::End);
        if !child.wait_end(grace, kill).await {
            child.kill();
            let never = CancellationToken::new();
            if !child.wait_end(REAP_LIMIT, &never).await {
                lost();
                child.wait_end_for_ever().await;
            }
        }
    }
    child.reap().await
}
