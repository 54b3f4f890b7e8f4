//! Who may come in, how many at once, and for how long.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::Semaphore;

use crate::config::{HttpSettings, Token};
use crate::telemetry::metric;

/// Most bytes of request bodies at once. Each may be held several times over while it is read.
const BODIES: usize = 64 * 1024 * 1024;
/// Longest `Authorization` header that is looked at, in bytes.
const LONGEST_CREDENTIALS: usize = 8192;

/// The gate before everything but the health checks.
#[derive(Clone)]
pub(super) struct Gate {
    token: Option<Token>,
    places: Arc<Semaphore>,
    /// Room for request bodies, in KiB. A body is counted by its announced length, or as the largest.
    room: Arc<Semaphore>,
    max_body: usize,
    timeout: Duration,
}

impl Gate {
    pub(super) fn new(settings: &HttpSettings) -> Self {
        Self {
            token: settings.token.clone(),
            places: Arc::new(Semaphore::new(settings.max_requests)),
            room: Arc::new(Semaphore::new(BODIES.max(settings.max_body) / 1024)),
            max_body: settings.max_body,
            timeout: settings.timeout,
        }
    }

    fn body_kib(&self, announced: Option<usize>) -> u32 {
        let bytes = announced.unwrap_or(self.max_body);
        u32::try_from(bytes / 1024).unwrap_or(u32::MAX)
    }

    fn knows(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else {
            return true;
        };
        let mut given = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(one), None) = (given.next(), given.next()) else {
            return false;
        };
        bearer(one).is_some_and(|presented| token.matches(presented))
    }
}

/// Lets a request in, or answers it here: before its body is read.
pub(super) async fn admit(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    if !gate.knows(request.headers()) {
        metrics::counter!(metric::HTTP_REFUSED, "reason" => "token").increment(1);
        let challenge = (header::WWW_AUTHENTICATE, "Bearer realm=\"deckprobe-mcp\"");
        let text = "a bearer token is needed, or the one presented is not right\n";
        return (StatusCode::UNAUTHORIZED, [challenge], text).into_response();
    }
    let announced = body_length(request.headers());
    if announced.is_some_and(|bytes| bytes > gate.max_body) {
        let text = format!("a request may have at most {} bytes\n", gate.max_body);
        return (StatusCode::PAYLOAD_TOO_LARGE, text).into_response();
    }
    let (Ok(_place), Ok(_room)) = (
        gate.places.try_acquire(),
        gate.room.try_acquire_many(gate.body_kib(announced)),
    ) else {
        metrics::counter!(metric::HTTP_REFUSED, "reason" => "busy").increment(1);
        let retry = (header::RETRY_AFTER, "2");
        let text = "too many requests at once; try again in some seconds\n";
        return (StatusCode::SERVICE_UNAVAILABLE, [retry], text).into_response();
    };
    match tokio::time::timeout(gate.timeout, next.run(request)).await {
        Ok(response) => response,
        Err(_elapsed) => {
            metrics::counter!(metric::HTTP_REFUSED, "reason" => "timeout").increment(1);
            let text = "the request was not answered in time (DECKPROBE_MCP_HTTP_TIMEOUT_MS)\n";
            (StatusCode::GATEWAY_TIMEOUT, text).into_response()
        }
    }
}

/// The announced length of the body. One that is no number never gets here.
fn body_length(headers: &HeaderMap) -> Option<usize> {
    let length = headers.get(header::CONTENT_LENGTH)?;
    length.to_str().ok()?.parse().ok()
}

/// The credentials of a `Bearer` header. The scheme's name has no case (RFC 9110 §11.1).
fn bearer(value: &HeaderValue) -> Option<&[u8]> {
    let bytes = value.as_bytes();
    if bytes.len() > LONGEST_CREDENTIALS {
        return None;
    }
    let (scheme, rest) = bytes.split_at_checked(7)?;
    scheme
        .eq_ignore_ascii_case(b"bearer ")
        .then(|| rest.trim_ascii())
}
