//! Accepts connections: at most so many, with limits on how long headers may take and how long an
//! answer may lie unread.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::write_timeout::WriteTimeout;

/// Longest time for the head of a request, from its first byte or from the end of the last one.
const HEADER_TIME: Duration = Duration::from_secs(15);
/// Largest head of a request, in bytes.
const HEADER_BYTES: usize = 64 * 1024;
/// Pause after an accept that failed, for example for want of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// The connections that are still open after the listener was closed.
pub(super) struct Open(GracefulShutdown);

impl Open {
    /// Lets requests in flight be answered, at most for a while.
    pub(super) async fn finish(self, limit: Duration) {
        let _finished_or_late = tokio::time::timeout(limit, self.0.shutdown()).await;
    }
}

/// Serves until `stop` resolves. More connections than `most` wait in the system's queue.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    most: usize,
    stop: impl Future<Output = ()>,
) -> Open {
    // Idle connections of polite clients must not keep others out.
    let places = Arc::new(Semaphore::new(most.saturating_mul(4)));
    let open = GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (listener.accept().await, place)
        };
        let (accepted, place) = tokio::select! {
            () = &mut stop => return Open(open),
            next = next => next,
        };
        match accepted {
            Ok((stream, _peer)) => {
                let connection = open.watch(connection(stream, router.clone()));
                tokio::spawn(async move {
                    if let Err(error) = connection.await {
                        tracing::debug!(%error, "a connection broke off");
                    }
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn connection(
    stream: TcpStream,
    router: Router,
) -> http1::Connection<TokioIo<WriteTimeout<TcpStream>>, TowerToHyperService<Router>> {
    // Answers are small and written at once: waiting for more costs 40 ms a call.
    let _unsupported = stream.set_nodelay(true);
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .max_buf_size(HEADER_BYTES)
        .serve_connection(
            TokioIo::new(WriteTimeout::new(stream)),
            TowerToHyperService::new(router),
        )
}
