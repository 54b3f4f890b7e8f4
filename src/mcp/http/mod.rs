//! Streamable HTTP: the same handler behind a gate.
//!
//! No session is kept: every request stands alone, so that any replica can answer it. In front of the
//! protocol stand a bearer token, the lists of hosts and origins, and limits on connections, headers,
//! bodies, time and requests at once. Beside it: `/healthz` (the process lives), `/readyz` (it can take
//! calls) and `/metrics` (Prometheus).

mod connections;
mod endpoints;
mod gate;
mod held_body;
mod responses;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use rmcp::transport::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::tower::StreamableHttpService;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::endpoints::Endpoints;
use self::gate::Gate;
use super::panic::log_panics;
use super::server::Server;
use super::signals::Signals;
use crate::config::{Config, HttpSettings};
use crate::supervisor::{Supervisor, Waiting};

/// How long requests in flight may take after a signal.
const DRAIN: Duration = Duration::from_secs(10);

/// Serves HTTP until a signal comes. When it returns, no child is left.
pub async fn serve_http(config: &Config, settings: &HttpSettings) -> ExitCode {
    log_panics();
    // Before anything is told about us, so that no signal finds the default in place.
    let mut signals = Signals::new();
    let listener = match TcpListener::bind(settings.address).await {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(address = %settings.address, %error, "cannot listen");
            return ExitCode::FAILURE;
        }
    };
    let recorder = endpoints::install_recorder();
    let supervisor = Supervisor::start(config.supervisor.clone());
    let endpoints = Endpoints::new(supervisor.clone(), recorder);
    let ending = CancellationToken::new();
    let address = listener.local_addr().unwrap_or(settings.address);
    let mut settings = settings.clone();
    settings.origins.extend(own_origins(address));
    let router = router(
        config,
        &settings,
        &supervisor,
        endpoints.clone(),
        ending.clone(),
    );
    tracing::info!(%address, token = settings.token.is_some(), "serving MCP over HTTP at /mcp");

    let open = connections::serve(listener, router, settings.max_requests, async {
        signals.next().await;
    });
    let open = open.await;
    tracing::info!("asked to stop; finishing what is in flight");
    endpoints.drain();
    let finish = async {
        supervisor.drain(DRAIN, Waiting::Refuse).await;
        // Answers are on their way; then what still streams is cut.
        open.finish(Duration::from_secs(2)).await;
        ending.cancel();
    };
    tokio::select! {
        () = finish => ExitCode::SUCCESS,
        () = signals.next() => {
            tracing::warn!("asked twice to stop; ending at once");
            supervisor.abort();
            ExitCode::FAILURE
        }
    }
}

/// The origins that a page of our own would have on this machine; there is none, so this lets nobody
/// in, and tools that send their target as the origin work.
fn own_origins(address: SocketAddr) -> Vec<String> {
    if !address.ip().is_loopback() {
        return Vec::new();
    }
    let port = address.port();
    ["localhost", "127.0.0.1", "[::1]"]
        .map(|host| format!("http://{host}:{port}"))
        .into()
}

fn router(
    config: &Config,
    settings: &HttpSettings,
    supervisor: &Supervisor,
    endpoints: Endpoints,
    ending: CancellationToken,
) -> Router {
    let server = Server::new(config, supervisor.clone());
    let protocol = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_allowed_hosts(settings.hosts.iter().cloned())
        .with_allowed_origins(settings.origins.iter().cloned())
        .enforce_origin_validation()
        .with_max_request_body_bytes(settings.max_body)
        .with_cancellation_token(ending);
    let mcp = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(NeverSessionManager::default()),
        protocol,
    );
    let gate = Gate::new(settings);
    Router::new()
        .route_service("/mcp", mcp)
        .route_layer(from_fn(responses::write_results))
        .route("/metrics", get(endpoints::metrics))
        .route_layer(from_fn_with_state(gate, gate::admit))
        .route("/healthz", get(endpoints::healthz))
        .route("/readyz", get(endpoints::readyz))
        .with_state(endpoints)
}
