//! The page at `/`: static files built into the binary, and the state of the pool as server-sent events.
//!
//! The files hold nothing of this server, so they need no token; `/events` does. Everything on the page
//! comes from this origin, which the content security policy enforces.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::stream::{self, Stream};
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::supervisor::{LatencyView, Snapshot, Supervisor};

/// Time between two events.
const EVERY: Duration = Duration::from_secs(1);
/// Most pages that follow the pool at once. Each costs a connection and a snapshot a second.
const MAX_FOLLOWERS: usize = 16;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Those who follow the pool.
#[derive(Clone)]
pub(super) struct Followers {
    supervisor: Supervisor,
    places: Arc<Semaphore>,
    /// Names by which clients may come; any where there is none.
    hosts: Arc<[String]>,
    ending: CancellationToken,
}

impl Followers {
    pub(super) fn new(supervisor: Supervisor, hosts: Vec<String>) -> Self {
        Self {
            supervisor,
            places: Arc::new(Semaphore::new(MAX_FOLLOWERS)),
            hosts: hosts.into(),
            ending: CancellationToken::new(),
        }
    }

    /// Ends all streams, which would otherwise hold up the end of the server.
    pub(super) fn end(&self) {
        self.ending.cancel();
    }

    /// Whether a request names this server. A page elsewhere whose name was pointed at us (DNS
    /// rebinding) does not.
    fn is_asked(&self, headers: &HeaderMap) -> bool {
        let host = headers
            .get(header::HOST)
            .and_then(|host| host.to_str().ok());
        let host = host.unwrap_or("").to_ascii_lowercase();
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
            _ => &host,
        };
        let mut hosts = self.hosts.iter();
        self.hosts.is_empty()
            || hosts
                .any(|known| known.eq_ignore_ascii_case(&host) || known.eq_ignore_ascii_case(name))
    }
}

/// The static files.
pub(super) fn files<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let file =
        |kind: &'static str, text: &'static str| get(move || async move { served(kind, text) });
    Router::new()
        .route(
            "/",
            file("text/html; charset=utf-8", include_str!("page.html")),
        )
        .route(
            "/page.css",
            file("text/css; charset=utf-8", include_str!("page.css")),
        )
        .route(
            "/page.js",
            file("text/javascript; charset=utf-8", include_str!("page.js")),
        )
}

fn served(kind: &'static str, text: &'static str) -> Response {
    let headers: [(HeaderName, &'static str); 5] = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        // The page belongs to the running binary.
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, text).into_response()
}

/// `/events`: a snapshot of the pool every second, for as long as the client reads.
pub(super) fn events<S: Clone + Send + Sync + 'static>(followers: Followers) -> Router<S> {
    Router::new()
        .route("/events", get(follow))
        .with_state(followers)
}

async fn follow(State(followers): State<Followers>, headers: HeaderMap) -> Response {
    if !followers.is_asked(&headers) {
        let text = "this host name is not among DECKPROBE_MCP_HTTP_HOSTS\n";
        return (StatusCode::FORBIDDEN, text).into_response();
    }
    let Ok(place) = Arc::clone(&followers.places).try_acquire_owned() else {
        let text = "too many pages follow this server already\n";
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    };
    let headers = [(header::CACHE_CONTROL, "no-store")];
    (headers, Sse::new(snapshots(followers, place))).into_response()
}

/// What one event holds.
#[derive(Serialize)]
struct Update {
    #[serde(flatten)]
    pool: Snapshot,
    /// Of the records since the event before.
    recent_latency: LatencyView,
}

fn snapshots(
    followers: Followers,
    place: OwnedSemaphorePermit,
) -> impl Stream<Item = Result<Event, Infallible>> {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let recent_latency = followers.supervisor.recent_latency();
    let start = (followers, place, ticks, recent_latency);
    stream::unfold(start, |(followers, place, mut ticks, mut recent)| async {
        tokio::select! {
            () = followers.ending.cancelled() => return None,
            _ = ticks.tick() => {}
        }
        let update = Update {
            pool: followers.supervisor.snapshot(),
            recent_latency: recent(),
        };
        let event = Event::default().data(serde_json::to_string(&update).ok()?);
        Some((Ok(event), (followers, place, ticks, recent)))
    })
}
