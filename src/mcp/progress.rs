//! Progress notifications: coalesced and rate-limited.
//!
//! A separate task sends them, so a client that does not read delays no work. The last state is sent
//! before the reply if the client reads it in time; none follows the reply.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Shortest time between two notifications of one call.
const INTERVAL: Duration = Duration::from_millis(100);
/// Longest wait for the last one before the reply.
const LAST: Duration = Duration::from_millis(500);

/// How far a call has come.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct State {
    pub(super) progress: f64,
    pub(super) total: f64,
    pub(super) message: String,
}

/// Reports on one call. Without a token it does nothing.
pub(super) struct Progress {
    sender: Option<(watch::Sender<State>, Task)>,
}

struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Progress {
    /// A reporter for the call, if the client asked for one.
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        let sender = context.meta.get_progress_token().map(|token| {
            let (sender, states) = watch::channel(State::default());
            let task = tokio::spawn(send(context.peer.clone(), token, states));
            (sender, Task(task))
        });
        Self { sender }
    }

    /// Whether the client asked for progress.
    pub(super) fn is_wanted(&self) -> bool {
        self.sender.is_some()
    }

    /// Records how far the call has come. The value must increase.
    pub(super) fn at(&self, state: State) {
        if let Some((sender, _)) = &self.sender {
            sender.send_replace(state);
        }
    }

    /// Sends the last state. To be awaited before the reply.
    pub(super) async fn finish(self) {
        if let Some((sender, mut task)) = self.sender {
            drop(sender);
            let _sent_or_late = tokio::time::timeout(LAST, &mut task.0).await;
        }
    }
}

async fn send(peer: Peer<RoleServer>, token: ProgressToken, mut states: watch::Receiver<State>) {
    let mut sent = -1.0;
    loop {
        let open = states.changed().await.is_ok();
        let state = states.borrow_and_update().clone();
        if state.total > 0.0 && state.progress > sent {
            sent = state.progress;
            let note = ProgressNotificationParam::new(token.clone(), state.progress)
                .with_total(state.total)
                .with_message(state.message);
            if peer.notify_progress(note).await.is_err() {
                return;
            }
        }
        if !open {
            return;
        }
        // The pause ends early when the call does: its reply must not wait for it.
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            () = closed(&states) => {}
        }
    }
}

async fn closed(states: &watch::Receiver<State>) {
    let mut states = states.clone();
    while states.changed().await.is_ok() {}
}
