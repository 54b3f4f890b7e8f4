//! Accepts connections: a bounded number of them, with limits on how long a head may take and how long
//! an answer may stay unread.
//!
//! A connection is trusted once a request on it has passed the gate. When there are too many, the oldest
//! that is not trusted is closed for the newest, and a few places are kept from the trusted ones: so the
//! health checks get through whatever silent or strange clients do.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;

/// Longest time for the head of a request, from its first byte or from the end of the last one.
const HEADER_TIME: Duration = Duration::from_secs(15);
/// Largest head of a request, in bytes.
const HEADER_BYTES: usize = 64 * 1024;
/// Longest time in which not one byte of an answer is taken.
const STALLED: Duration = Duration::from_secs(30);
/// Pause after an accept that failed and could not be helped.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);
/// Places that trusted connections cannot take.
const SPARE: usize = 16;

/// A connection that is given up when the client takes nothing.
type Stream = Pin<Box<TimeoutStream<TcpStream>>>;

/// The connections that are still open after the listener was closed.
pub(super) struct Open(GracefulShutdown);

impl Open {
    /// Lets requests in flight be answered, at most for a while.
    pub(super) async fn finish(self, limit: Duration) {
        let _finished_or_late = tokio::time::timeout(limit, self.0.shutdown()).await;
    }
}

/// Serves until `stop` resolves. `most` is the number of requests at once; idle connections of other
/// clients may be open beside them.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    most: usize,
    stop: impl Future<Output = ()>,
) -> Open {
    let registry = Arc::new(Registry::new(most.saturating_mul(4)));
    let open = GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => return Open(open),
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _peer)) => {
                let handle = registry.enter();
                let closed = handle.0.close.clone();
                let connection =
                    connection(stream, router.clone().layer(Extension(handle.clone())));
                let connection = open.watch(connection);
                tokio::spawn(async move {
                    tokio::select! {
                        outcome = connection => if let Err(error) = outcome {
                            tracing::debug!(%error, "a connection broke off");
                        },
                        () = closed.cancelled() => {
                            tracing::debug!("a connection was closed to make room for another");
                        }
                    }
                    handle.leave();
                });
            }
            // For want of descriptors, for example.
            Err(error) => {
                if !is_exhausted(&error) || !registry.close_oldest() {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
                tokio::task::yield_now().await;
            }
        }
    }
}

#[cfg(unix)]
fn is_exhausted(error: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(
        Errno::from_io_error(error),
        Some(Errno::MFILE | Errno::NFILE)
    )
}

#[cfg(not(unix))]
fn is_exhausted(_error: &io::Error) -> bool {
    false
}

fn connection(
    stream: TcpStream,
    router: Router,
) -> http1::Connection<TokioIo<Stream>, TowerToHyperService<Router>> {
    // Answers are written at once: waiting for more costs 40 ms a call.
    let _unsupported = stream.set_nodelay(true);
    // A client that sends requests and reads no answer stops the connection in the middle of a write, and
    // nothing else would end that.
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(STALLED));
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .max_buf_size(HEADER_BYTES)
        .serve_connection(
            TokioIo::new(Box::pin(stream)),
            TowerToHyperService::new(router),
        )
}

/// One connection, as the gate sees it.
#[derive(Clone)]
pub(super) struct ConnectionHandle(Arc<Connection>);

struct Connection {
    id: u64,
    registry: Arc<Registry>,
    /// Fired to close it.
    close: CancellationToken,
}

impl ConnectionHandle {
    /// Makes the connection a trusted one. `false` when there are too many.
    pub(super) fn admit(&self) -> bool {
        self.0.registry.trust(self.0.id)
    }

    fn leave(&self) {
        self.0.registry.lock().open.remove(&self.0.id);
    }
}

/// The open connections.
struct Registry {
    /// Most trusted ones.
    most: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next_id: u64,
    /// In the order in which they were accepted.
    open: BTreeMap<u64, Entry>,
}

struct Entry {
    trusted: bool,
    close: CancellationToken,
}

impl Registry {
    fn new(most: usize) -> Self {
        Self {
            most,
            state: Mutex::default(),
        }
    }

    /// Enters a new connection, and closes the oldest one that is not trusted if there are too many.
    fn enter(self: &Arc<Self>) -> ConnectionHandle {
        let close = CancellationToken::new();
        if self.lock().open.len() >= self.most.saturating_add(SPARE) {
            self.close_oldest();
        }
        let mut state = self.lock();
        let id = state.next_id;
        state.next_id += 1;
        let entry = Entry {
            trusted: false,
            close: close.clone(),
        };
        state.open.insert(id, entry);
        ConnectionHandle(Arc::new(Connection {
            id,
            registry: Arc::clone(self),
            close,
        }))
    }

    /// Closes the oldest connection that is not trusted. `false` when there is none.
    fn close_oldest(&self) -> bool {
        let mut state = self.lock();
        let oldest = state.open.iter().find(|(_, entry)| !entry.trusted);
        let Some(id) = oldest.map(|(id, _)| *id) else {
            return false;
        };
        if let Some(entry) = state.open.remove(&id) {
            entry.close.cancel();
        }
        true
    }

    fn trust(&self, id: u64) -> bool {
        let mut state = self.lock();
        if state.open.get(&id).is_some_and(|entry| entry.trusted) {
            return true;
        }
        let trusted = state.open.values().filter(|entry| entry.trusted).count();
        match state.open.get_mut(&id) {
            Some(entry) if trusted < self.most => {
                entry.trusted = true;
                true
            }
            _ => false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_untrusted_connection_is_closed_first() {
        let registry = Arc::new(Registry::new(2));
        let first = registry.enter();
        assert!(first.admit());
        let silent: Vec<_> = (0..SPARE + 1).map(|_| registry.enter()).collect();
        let newest = registry.enter();
        assert!(silent[0].0.close.is_cancelled());
        assert!(!silent[1].0.close.is_cancelled());
        assert!(!first.0.close.is_cancelled());
        assert!(newest.admit());
        assert!(first.admit(), "a trusted one stays so");
        assert!(!silent[5].admit(), "two may be trusted");
        first.leave();
        assert!(silent[5].admit());
    }
}
