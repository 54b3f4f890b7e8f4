//! The stdio server from its first line to its last child.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::service::{QuitReason, ServerInitializeError};
use tokio_util::sync::CancellationToken;

use super::panic::log_panics;
use super::server::Server;
use super::signals::Signals;
use super::stdio::{ConnectionLimits, StdioTransport, open_streams};
use crate::config::Config;
use crate::supervisor::{DrainSummary, Supervisor, Waiting};

/// Longest line that a client may send, in bytes, beside a document inside it.
const MAX_LINE: usize = 4 * 1024 * 1024;
/// Most requests without a reply before we stop reading.
const MAX_REQUESTS: usize = 1024;
/// Most bytes of unanswered requests and unread replies before we stop reading.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// How long calls in flight may take after a signal.
const DRAIN_ON_SIGNAL: Duration = Duration::from_secs(10);
/// What the supervisor's answers need to reach the client after the drain is over.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Serves one client on standard input and output until it closes its end or a signal comes. When it
/// returns, no child is left.
pub async fn serve_stdio(config: &Config) -> ExitCode {
    log_panics();
    if std::io::stdin().is_terminal() {
        tracing::info!(
            "this is an MCP server; it waits for a client on standard input (see --help)"
        );
    }
    let supervisor = Supervisor::start(config.supervisor.clone());
    let eof = CancellationToken::new();
    let gone = CancellationToken::new();
    let stop = CancellationToken::new();
    let limits = ConnectionLimits {
        line_bytes: longest_line(config),
        requests: MAX_REQUESTS,
        bytes: MAX_BYTES,
        drain: config.drain + LAST_WORDS,
        drain_on_stop: DRAIN_ON_SIGNAL + LAST_WORDS,
    };
    let ends = (eof.clone(), gone.clone());
    let transport = StdioTransport::new(open_streams(), limits, eof, gone, stop.clone());
    let server = Server::new(config, supervisor.clone());

    let signals = Signals::new();
    let hurried = end(
        supervisor.clone(),
        signals,
        ends,
        stop.clone(),
        config.drain,
    );
    let finished = async {
        let code = serve(server, transport).await;
        // The barrier: nothing of ours is alive or still being started after it.
        let rest = supervisor.drain(DRAIN_ON_SIGNAL, Waiting::Refuse).await;
        if !rest.lost.is_empty() {
            tracing::error!(processes = ?rest.lost, "some engine processes could not be killed");
        }
        code
    };
    // Signals are heard until the very end: a client that does not read can hold up our last words.
    tokio::select! {
        biased;
        code = finished => code,
        code = hurried => code,
    }
}

/// A document inside a call makes its line longer.
fn longest_line(config: &Config) -> usize {
    let inline = config.inline_bytes.unwrap_or(0) / 3 * 4;
    MAX_LINE.saturating_add(usize::try_from(inline).unwrap_or(usize::MAX))
}

async fn serve(server: Server, transport: StdioTransport) -> ExitCode {
    let service = match server.serve(transport).await {
        Ok(service) => service,
        // The client left before it asked for anything.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            tracing::error!(%error, "the connection could not be opened");
            return ExitCode::FAILURE;
        }
    };
    match service.waiting().await {
        Ok(QuitReason::JoinError(error)) | Err(error) => {
            tracing::error!(%error, "the connection broke off");
            ExitCode::FAILURE
        }
        Ok(_) => ExitCode::SUCCESS,
    }
}

/// Tells the supervisor about the end: calls in flight are finished within the drain time, the rest
/// get `MCP_SHUTTING_DOWN`. Completes only when the process is to end at once, since it was asked twice;
/// otherwise it is dropped with everything else when all is answered.
async fn end(
    supervisor: Supervisor,
    mut signals: Signals,
    (eof, gone): (CancellationToken, CancellationToken),
    stop: CancellationToken,
    drain: Duration,
) -> ExitCode {
    // After the end of input the client may only have closed its end: what it asked for is still served,
    // and calls that are not with the supervisor yet must find it open. Usually all is answered, and this
    // future dropped, long before the time is over.
    let patience = async {
        eof.cancelled().await;
        tokio::time::sleep(drain).await;
    };
    let over = async {
        tokio::select! {
            () = patience => {}
            () = gone.cancelled() => {}
        }
    };
    tokio::select! {
        () = over => {
            report(&supervisor.drain(Duration::ZERO, Waiting::Refuse).await);
            signals.next().await;
        }
        () = signals.next() => {}
    }
    tracing::info!("asked to stop; finishing what is in flight");
    stop.cancel();
    let drained = async {
        report(&supervisor.drain(DRAIN_ON_SIGNAL, Waiting::Refuse).await);
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = drained => {}
        () = signals.next() => {}
    }
    tracing::warn!("asked twice to stop; ending at once");
    supervisor.abort();
    ExitCode::FAILURE
}

fn report(rest: &DrainSummary) {
    if rest.abandoned > 0 {
        tracing::warn!(
            calls = rest.abandoned,
            "calls were cut off at the end of the drain"
        );
    }
}
