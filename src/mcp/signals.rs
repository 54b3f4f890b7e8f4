//! The signals that end the server: SIGTERM, SIGINT and SIGHUP, or Ctrl-C where there are no others.

/// Waits for the signals that ask us to stop.
pub(super) struct Signals {
    #[cfg(unix)]
    signals: Option<[tokio::signal::unix::Signal; 3]>,
}

impl Signals {
    #[cfg(unix)]
    pub(super) fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let all = || {
            Ok::<_, std::io::Error>([
                signal(SignalKind::terminate())?,
                signal(SignalKind::interrupt())?,
                signal(SignalKind::hangup())?,
            ])
        };
        let signals = all();
        if let Err(error) = &signals {
            tracing::warn!(%error, "signals end the server at once, without a drain");
        }
        Self {
            signals: signals.ok(),
        }
    }

    #[cfg(unix)]
    pub(super) async fn next(&mut self) {
        match &mut self.signals {
            Some([terminate, interrupt, hangup]) => {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                    _ = hangup.recv() => {}
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
