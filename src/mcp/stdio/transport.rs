//! The SDK's `Transport`, over bounded lines and bounded work in flight.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ClientNotification, ClientRequest, ErrorData, GetExtensions, JsonRpcMessage, RequestId,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Deserialize;
use tokio::io::AsyncWriteExt;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::super::text::excerpt;
use super::in_flight::InFlight;
use super::lines::{Line, LineReader};
use super::raw_json::{RawJsonTransport, render};
use super::streams::{Input, Output, reader_gone};

/// The bounds of a connection.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Longest line from the client, in bytes.
    pub line_bytes: usize,
    /// Most requests without a reply; above it we stop reading.
    pub requests: usize,
    /// Most bytes of unanswered requests and unread replies; above it we stop reading.
    pub bytes: usize,
    /// Longest wait for replies after the client closed its end.
    pub drain: Duration,
    /// The same after we were told to stop.
    pub drain_on_stop: Duration,
}

/// Newline-delimited JSON-RPC over two streams.
pub struct StdioTransport {
    lines: LineReader,
    output: Arc<Mutex<Output>>,
    in_flight: Arc<InFlight>,
    limits: ConnectionLimits,
    /// The error that we are answering by ourselves. One at a time, and nothing is read meanwhile, so
    /// that a client that sends nonsense and does not read costs nothing.
    refusing: Option<JoinHandle<io::Result<()>>>,
    /// Whether a request was seen that fixes the generation of the protocol.
    opened: bool,
    /// Set when the input has ended.
    ended: bool,
    /// When replies in flight are given up; set by the end of input or by `stop`.
    drain_until: Option<Instant>,
    /// Fired by us at the end of input.
    eof: CancellationToken,
    /// Fired by us when nobody can read our answers any more.
    gone: CancellationToken,
    /// Fired from outside to end the connection after what is in flight.
    stop: CancellationToken,
}

impl StdioTransport {
    /// A transport over two streams. `eof` is cancelled when the client closes its end, `gone` when it
    /// cannot hear us any more; cancelling `stop` ends the connection after what is in flight.
    #[must_use]
    pub fn new(
        (input, output): (Input, Output),
        limits: ConnectionLimits,
        eof: CancellationToken,
        gone: CancellationToken,
        stop: CancellationToken,
    ) -> Self {
        Self {
            lines: LineReader::new(input, limits.line_bytes),
            output: Arc::new(Mutex::new(output)),
            in_flight: Arc::new(InFlight::new(limits.requests, limits.bytes)),
            limits,
            refusing: None,
            opened: false,
            ended: false,
            drain_until: None,
            eof,
            gone,
            stop,
        }
    }

    /// The next line while there is one, `None` when the connection is over. Safe to drop.
    async fn line(&mut self) -> Option<Line> {
        loop {
            if self.drain_until.is_none() && self.stop.is_cancelled() {
                self.drain_until = Some(Instant::now() + self.limits.drain_on_stop);
            }
            let in_flight = Arc::clone(&self.in_flight);
            let Some(until) = self.drain_until else {
                tokio::select! {
                    biased;
                    () = in_flight.broken() => {
                        self.gone.cancel();
                        return None;
                    }
                    () = self.stop.cancelled() => {}
                    line = next_line(&in_flight, &mut self.lines) => match line {
                        Line::End => {
                            self.ended = true;
                            self.eof.cancel();
                            self.drain_until = Some(Instant::now() + self.limits.drain);
                        }
                        line => return Some(line),
                    }
                }
                continue;
            };
            // Told to stop, we still read: a call that comes now is refused by its handler.
            tokio::select! {
                biased;
                () = in_flight.settled() => return None,
                () = tokio::time::sleep_until(until) => {
                    tracing::warn!("some calls were not answered before the drain time was over");
                    // Nothing more is written: a client that does not read holds up nothing now.
                    self.in_flight.broke();
                    return None;
                }
                // The client did not only close its end: it has left, and its calls with it.
                () = reader_gone(), if self.ended => {
                    self.in_flight.broke();
                    self.gone.cancel();
                    return None;
                }
                line = next_line(&in_flight, &mut self.lines), if !self.ended => match line {
                    Line::End => {
                        self.ended = true;
                        self.eof.cancel();
                    }
                    line => return Some(line),
                }
            }
        }
    }

    /// Turns a line into a message for the service, or into an error for the client.
    fn judge(&mut self, line: Line) -> Option<RxJsonRpcMessage<RoleServer>> {
        let bytes = match line {
            Line::Text(bytes) => bytes,
            Line::TooLong(id) => {
                let most = self.limits.line_bytes;
                self.refuse(
                    ErrorData::invalid_request(
                        format!("a message may have at most {most} bytes"),
                        None,
                    ),
                    id,
                );
                return None;
            }
            Line::End => return None,
        };
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        match serde_json::from_slice::<RxJsonRpcMessage<RoleServer>>(&bytes) {
            Ok(message) => self.admit(message, bytes.len()),
            Err(_) => {
                self.refuse_malformed(&bytes);
                None
            }
        }
    }

    fn admit(
        &mut self,
        mut message: RxJsonRpcMessage<RoleServer>,
        bytes: usize,
    ) -> Option<RxJsonRpcMessage<RoleServer>> {
        match &mut message {
            JsonRpcMessage::Request(request) => {
                if !self.in_flight.open(request.id.clone(), bytes) {
                    // An error with this id would be taken for the answer to the first request.
                    let id = excerpt(&request.id.to_string());
                    let text = format!("id {id} is already in use by a request");
                    self.refuse(ErrorData::invalid_request(text, None), None);
                    return None;
                }
                self.opened |= !matches!(
                    request.request,
                    ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_)
                );
                request
                    .request
                    .extensions_mut()
                    .insert(RawJsonTransport(Arc::clone(&self.in_flight)));
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // It gets no reply any more; waiting for one would hold up the end.
                    self.in_flight.close(id);
                }
                if !self.opened {
                    // Before the first request the service would take it for a broken handshake.
                    return None;
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {
                if !self.opened {
                    return None;
                }
            }
        }
        Some(message)
    }

    fn refuse_malformed(&mut self, bytes: &[u8]) {
        let is_object = bytes.trim_ascii_start().first() == Some(&b'{');
        let error = match serde_json::from_slice::<serde::de::IgnoredAny>(bytes) {
            Err(error) => ErrorData::parse_error(format!("not JSON: {error}"), None),
            Ok(_) if bytes.trim_ascii_start().first() == Some(&b'[') => ErrorData::invalid_request(
                "batches of messages are not part of this protocol",
                None,
            ),
            Ok(_) => ErrorData::invalid_request("not a JSON-RPC 2.0 message", None),
        };
        let id = is_object.then(|| id_of(bytes)).flatten();
        self.refuse(error, id);
    }

    fn refuse(&mut self, error: ErrorData, id: Option<RequestId>) {
        tracing::debug!(message = %error.message, "refused a line from the client");
        let error = JsonRpcMessage::error(error, id);
        // A task of its own, since `receive` may be dropped in the middle of it.
        self.refusing = Some(tokio::spawn(self.send(error)));
    }
}

/// The id of an object that is no valid message, where it has one that a request may have.
fn id_of(object: &[u8]) -> Option<RequestId> {
    #[derive(Deserialize)]
    struct WithId {
        id: RequestId,
    }
    serde_json::from_slice::<WithId>(object)
        .ok()
        .map(|with| with.id)
}

async fn next_line(in_flight: &InFlight, lines: &mut LineReader) -> Line {
    in_flight.room().await;
    lines.next().await
}

/// Writes one message. A write that began is finished even if the caller goes away, since half a line
/// would spoil the next one.
async fn write(
    output: Arc<Mutex<Output>>,
    in_flight: Arc<InFlight>,
    message: TxJsonRpcMessage<RoleServer>,
) -> io::Result<()> {
    let (line, answers) = render(message)?;
    let queued = in_flight.queue(line.len());
    let mut output = output.lock().await;
    let outcome = tokio::select! {
        biased;
        // The client has left or was given up, which was said once. Half a line may stand there, but
        // nothing comes behind it.
        () = in_flight.broken() => Ok(()),
        outcome = put(&mut output, &line) => outcome,
    };
    drop(output);
    if let Err(error) = &outcome {
        // The client closed its end, which is an ordinary way to leave.
        tracing::debug!(%error, "writing to the client failed");
        in_flight.broke();
    }
    if let Some(id) = answers {
        in_flight.close(&id);
    }
    drop(queued);
    outcome
}

async fn put(output: &mut Output, line: &[u8]) -> io::Result<()> {
    output.write_all(line).await?;
    output.flush().await
}

impl Transport<RoleServer> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        write(Arc::clone(&self.output), Arc::clone(&self.in_flight), item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(refusing) = &mut self.refusing {
                let _written_or_broken = refusing.await;
                self.refusing = None;
            }
            let line = self.line().await?;
            if let Some(message) = self.judge(line) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        // A client that does not read must not keep us from leaving.
        let flush = async { self.output.lock().await.flush().await };
        tokio::time::timeout(Duration::from_millis(200), flush)
            .await
            .unwrap_or(Ok(()))
    }
}
