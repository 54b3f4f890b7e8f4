//! Which requests are let in, how many at once, and for how long.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connections::ConnectionHandle;
use super::held_body::HeldBody;
use crate::config::{HttpSettings, Token};
use crate::telemetry::metric;

/// Most bytes of request bodies at once. Each may be held several times over while it is read.
const BODIES: usize = 64 * 1024 * 1024;
/// Longest `Authorization` header that is compared, in bytes.
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

/// What a request holds until the last byte of its answer.
type Held = (OwnedSemaphorePermit, OwnedSemaphorePermit);

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

    fn hold(&self, announced: Option<usize>) -> Option<Held> {
        let kib = u32::try_from(announced.unwrap_or(self.max_body) / 1024).unwrap_or(u32::MAX);
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let room = Arc::clone(&self.room).try_acquire_many_owned(kib).ok()?;
        Some((place, room))
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

    /// The answer to a request with a wrong head or token. A good one makes its connection trusted.
    fn refusal(&self, request: &Request) -> Option<Response> {
        if let Some(wrong) = wrong_head(request) {
            return Some(bad_request(wrong));
        }
        if !self.knows(request.headers()) {
            count_refused("token");
            let challenge = (header::WWW_AUTHENTICATE, "Bearer realm=\"deckprobe-mcp\"");
            let text = "a bearer token is needed, or the one presented is not right\n";
            return Some((StatusCode::UNAUTHORIZED, [challenge], text).into_response());
        }
        match request.extensions().get::<ConnectionHandle>() {
            Some(connection) if !connection.admit() => Some(busy()),
            _ => None,
        }
    }

    /// Reads the body, so that what is wrong with it is a 400, and passes the request on.
    async fn run(&self, request: Request, next: Next) -> Response {
        if request.method() != Method::POST {
            return next.run(request).await;
        }
        let (parts, body) = request.into_parts();
        let body = match to_bytes(body, self.max_body).await {
            Ok(body) => body,
            Err(error) if is_too_long(&error) => return too_large(self.max_body),
            Err(_) => return bad_request("the body of the request is malformed or incomplete\n"),
        };
        if serde_json::from_slice::<serde::de::IgnoredAny>(&body).is_err() {
            return bad_request("the body of the request is not JSON\n");
        }
        next.run(Request::from_parts(parts, Body::from(body))).await
    }
}

/// Lets a request in, or answers it here.
pub(super) async fn admit(State(gate): State<Gate>, mut request: Request, next: Next) -> Response {
    if let Some(refused) = gate.refusal(&request) {
        return refused;
    }
    let announced = request.body().size_hint().exact();
    let announced = announced.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    if announced.is_some_and(|bytes| bytes > gate.max_body) {
        return too_large(gate.max_body);
    }
    let Some(held) = gate.hold(announced) else {
        return busy();
    };
    accept_what_we_send(request.headers_mut());
    match tokio::time::timeout(gate.timeout, gate.run(request, next)).await {
        Ok(response) => response.map(|body| Body::new(HeldBody::new(body, held))),
        Err(_elapsed) => {
            count_refused("timeout");
            let text = "the request was not answered in time (DECKPROBE_MCP_HTTP_TIMEOUT_MS)\n";
            (StatusCode::GATEWAY_TIMEOUT, text).into_response()
        }
    }
}

/// Only checks the token: for streams, which are counted by themselves and last as long as they are read.
pub(super) async fn authorize(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    match gate.refusal(&request) {
        None => next.run(request).await,
        Some(refused) => refused,
    }
}

/// What is wrong with the head of a request. Two values for one of these headers, or a name with a user
/// in it, could mean one thing to a proxy and another to us.
fn wrong_head(request: &Request) -> Option<&'static str> {
    let headers = request.headers();
    let count = |name| headers.get_all(name).iter().count();
    if count(header::HOST) > 1 || count(header::ORIGIN) > 1 {
        return Some("a request has at most one Host and one Origin\n");
    }
    let host = headers.get(header::HOST).map(HeaderValue::as_bytes);
    let target = request
        .uri()
        .authority()
        .map(|name| name.as_str().as_bytes());
    let has_user = |name: Option<&[u8]>| name.is_some_and(|name| name.contains(&b'@'));
    (has_user(host) || has_user(target)).then_some("a host has no user name\n")
}

/// `*/*` includes both kinds of answer that the protocol's service may choose from.
fn accept_what_we_send(headers: &mut HeaderMap) {
    let takes_anything = |value: &HeaderValue| {
        let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
        let mut kinds = text.split(',').map(|kind| kind.split(';').next());
        kinds.any(|kind| kind.is_some_and(|kind| kind.trim() == "*/*"))
    };
    if headers.get_all(header::ACCEPT).iter().any(takes_anything) {
        let both = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(header::ACCEPT, both);
    }
}

fn is_too_long(error: &axum::Error) -> bool {
    let mut source: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = source {
        // The type of the limit is not ours to name; its message is fixed.
        if error.to_string() == "length limit exceeded" {
            return true;
        }
        source = error.source();
    }
    false
}

fn too_large(most: usize) -> Response {
    let text = format!("a request may have at most {most} bytes\n");
    (StatusCode::PAYLOAD_TOO_LARGE, text).into_response()
}

fn bad_request(why: &'static str) -> Response {
    count_refused("malformed");
    (StatusCode::BAD_REQUEST, why).into_response()
}

fn busy() -> Response {
    count_refused("busy");
    let retry = (header::RETRY_AFTER, "2");
    let text = "too many requests at once; try again in some seconds\n";
    (StatusCode::SERVICE_UNAVAILABLE, [retry], text).into_response()
}

fn count_refused(reason: &'static str) {
    metrics::counter!(metric::HTTP_REFUSED, "reason" => reason).increment(1);
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
