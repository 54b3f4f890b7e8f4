//! Streamable HTTP: the same handler behind a gate.
//!
//! No session is kept: every request stands alone, so that any replica can answer it. In front of the
//! protocol stand a bearer token, the lists of hosts and origins, and limits on connections, headers,
//! bodies, time and requests at once. Beside it: `/healthz` (the process lives), `/readyz` (it can take
//! calls), `/metrics` (Prometheus), and a page at `/` that shows the pool.

mod connections;
mod endpoints;
mod gate;
mod held_body;
mod page;
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
use self::page::Followers;
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
    settings
        .origins
        .extend(own_origins(address, &settings.hosts));
    let followers = Followers::new(supervisor.clone(), settings.hosts.clone());
    let router = router(
        config,
        &settings,
        &supervisor,
        endpoints.clone(),
        followers.clone(),
        ending.clone(),
    );
    tracing::info!(%address, token = settings.token.is_some(), "serving MCP over HTTP at /mcp");

    let open = connections::serve(listener, router, settings.max_requests, async {
        signals.next().await;
    });
    let open = open.await;
    tracing::info!("asked to stop; finishing what is in flight");
    endpoints.drain();
    followers.end();
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

/// The origins of our own page: on this machine under its loopback names and port, elsewhere under the
/// names by which clients come, directly or through a proxy that adds TLS.
fn own_origins(address: SocketAddr, hosts: &[String]) -> Vec<String> {
    if address.ip().is_loopback() {
        let port = address.port();
        let names = ["localhost", "127.0.0.1", "[::1]"];
        return names.map(|host| format!("http://{host}:{port}")).into();
    }
    let schemes = ["http", "https"].into_iter();
    let origins =
        schemes.flat_map(|scheme| hosts.iter().map(move |host| format!("{scheme}://{host}")));
    origins.collect()
}

fn router(
    config: &Config,
    settings: &HttpSettings,
    supervisor: &Supervisor,
    endpoints: Endpoints,
    followers: Followers,
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
        .route_layer(from_fn_with_state(gate.clone(), gate::admit))
        .merge(page::events(followers).route_layer(from_fn_with_state(gate, gate::authorize)))
        .merge(page::files())
        .route("/healthz", get(endpoints::healthz))
        .route("/readyz", get(endpoints::readyz))
        .with_state(endpoints)
}
