//! SIGTERM and SIGINT, or what the system has in their place.

/// Waits for the signals that ask us to stop.
pub(super) struct Signals {
    #[cfg(unix)]
    pair: Option<(tokio::signal::unix::Signal, tokio::signal::unix::Signal)>,
}

impl Signals {
    #[cfg(unix)]
    pub(super) fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let both = signal(SignalKind::terminate())
            .and_then(|terminate| Ok((terminate, signal(SignalKind::interrupt())?)));
        if let Err(error) = &both {
            tracing::warn!(%error, "signals end the server at once, without a drain");
        }
        Self { pair: both.ok() }
    }

    #[cfg(unix)]
    pub(super) async fn next(&mut self) {
        match &mut self.pair {
            Some((terminate, interrupt)) => {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
            }
            None => std::future::pending().await,
        }
    }

    #[cfg(not(unix))]
    pub(super) fn new() -> Self {
        Self {}
    }

    #[cfg(not(unix))]
    pub(super) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
