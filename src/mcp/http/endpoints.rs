//! What stands beside the protocol: health, readiness, metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use crate::supervisor::Supervisor;
use crate::telemetry::metric;

/// Longest wait for the engine to be found, in a readiness check.
const LOOK: Duration = Duration::from_millis(200);
/// Time between two rounds of the recorder's housekeeping.
const UPKEEP: Duration = Duration::from_secs(5);
/// Upper bounds of the latency histograms, in seconds.
const SECONDS: &[f64] = &[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];

/// What the endpoints look at.
#[derive(Clone)]
pub(super) struct Endpoints {
    supervisor: Supervisor,
    recorder: Option<PrometheusHandle>,
    draining: Arc<AtomicBool>,
}

impl Endpoints {
    pub(super) fn new(supervisor: Supervisor, recorder: Option<PrometheusHandle>) -> Self {
        Self {
            supervisor,
            recorder,
            draining: Arc::default(),
        }
    }

    /// From now on we are not ready any more.
    pub(super) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }
}

/// Installs the process-wide recorder, which everything in the program counts into. To be called before
/// anything counts, or a gauge would only see the second half of a pair.
pub(super) fn install_recorder() -> Option<PrometheusHandle> {
    let recorder = PrometheusBuilder::new()
        .set_buckets(SECONDS)
        .and_then(PrometheusBuilder::install_recorder);
    match recorder {
        Ok(recorder) => {
            metric::describe();
            drop(tokio::spawn(keep_up(recorder.clone())));
            Some(recorder)
        }
        Err(error) => {
            tracing::warn!(%error, "there are no metrics");
            None
        }
    }
}

async fn keep_up(recorder: PrometheusHandle) {
    let mut rounds = tokio::time::interval(UPKEEP);
    loop {
        rounds.tick().await;
        recorder.run_upkeep();
    }
}

/// The process lives.
pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

/// Calls can be taken: an engine was found and we are not ending.
pub(super) async fn readyz(State(endpoints): State<Endpoints>) -> Response {
    if endpoints.draining.load(Ordering::Relaxed) {
        return (StatusCode::SERVICE_UNAVAILABLE, "shutting down\n").into_response();
    }
    match tokio::time::timeout(LOOK, endpoints.supervisor.engine()).await {
        Ok(Ok(_engine)) => "ready\n".into_response(),
        // The reason may name paths of this machine: that is for its log, not for strangers.
        Ok(Err(_)) => (StatusCode::SERVICE_UNAVAILABLE, "no usable engine\n").into_response(),
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "looking for an engine\n").into_response(),
    }
}

/// Everything that is counted, for Prometheus.
pub(super) async fn metrics(State(endpoints): State<Endpoints>) -> Response {
    let kind = (header::CONTENT_TYPE, "text/plain; version=0.0.4");
    match &endpoints.recorder {
        Some(recorder) => ([kind], recorder.render()).into_response(),
        None => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}
