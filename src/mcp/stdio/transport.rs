//! The SDK's `Transport` over bounded lines, with bounded work in flight.

use std::collections::VecDeque;
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

use super::super::raw_json::ResultSlot;
use super::super::text::excerpt;
use super::in_flight::{Admission, InFlight};
use super::lines::{Line, LineReader};
use super::outgoing::Outgoing;
use super::streams::{Input, Output, input_hung_up, reader_gone};

/// The bounds of a connection.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Longest line from the client, in bytes.
    pub line_bytes: usize,
    /// Most requests that run at once; further ones wait. Pings and notifications do not wait.
    pub requests: usize,
    /// Most bytes of unanswered requests and unread replies; above it we stop reading.
    pub bytes: usize,
    /// Longest wait for replies after the client closed its end.
    pub drain: Duration,
    /// The same after a signal.
    pub drain_on_stop: Duration,
}

/// Newline-delimited JSON-RPC over two streams.
pub struct StdioTransport {
    lines: LineReader,
    output: Arc<Mutex<Output>>,
    in_flight: Arc<InFlight>,
    limits: ConnectionLimits,
    /// Requests that wait for their turn, as they were read.
    waiting: VecDeque<(RequestId, Vec<u8>)>,
    /// The error that the transport itself is sending. Nothing is read meanwhile, so that a client that
    /// sends malformed lines and does not read takes no memory.
    refusing: Option<JoinHandle<io::Result<()>>>,
    /// Whether a request was seen that fixes the revision of the protocol.
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

/// What comes next.
enum Event {
    Line(Line),
    /// The first of the waiting requests may run.
    Turn,
    /// The connection is over.
    Over,
}

impl StdioTransport {
    /// A transport over two streams. `eof` is cancelled when the client closes its end, `gone` when it
    /// can no longer read our answers; cancelling `stop` ends the connection after what is in flight.
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
            waiting: VecDeque::new(),
            refusing: None,
            opened: false,
            ended: false,
            drain_until: None,
            eof,
            gone,
            stop,
        }
    }

    /// The next event. Cancel-safe.
    async fn next(&mut self) -> Event {
        loop {
            if self.drain_until.is_none() && self.stop.is_cancelled() {
                self.drain_until = Some(Instant::now() + self.limits.drain_on_stop);
            }
            if !self.ended && !self.stop.is_cancelled() && self.may_read() {
                // A client that hung up and reads again: its end will be read in its turn.
                self.drain_until = None;
            }
            let event = match self.drain_until {
                None => self.next_while_open().await,
                Some(until) => self.next_while_draining(until).await,
            };
            match event {
                Some(Event::Line(Line::End)) => {
                    self.ended = true;
                    self.eof.cancel();
                    self.drain_until
                        .get_or_insert(Instant::now() + self.limits.drain);
                }
                Some(event) => return event,
                None => {}
            }
        }
    }

    async fn next_while_open(&mut self) -> Option<Event> {
        let may_read = self.refusing.is_none();
        let in_flight = &self.in_flight;
        tokio::select! {
            biased;
            () = in_flight.broken() => {
                self.gone.cancel();
                Some(Event::Over)
            }
            () = self.stop.cancelled() => None,
            () = in_flight.next_may_run(), if !self.waiting.is_empty() => Some(Event::Turn),
            () = finished(&mut self.refusing) => None,
            line = next_line(in_flight, &mut self.lines), if may_read => Some(Event::Line(line)),
            // The end of input lies behind lines that cannot be read now: a client that closed its end
            // and does not read is given as long as one whose end was read.
            () = input_hung_up(), if !may_read || !in_flight.has_room() => {
                self.drain_until = Some(Instant::now() + self.limits.drain);
                None
            }
        }
    }

    /// After a signal we still read: a call that comes now is refused by its handler.
    async fn next_while_draining(&mut self, until: Instant) -> Option<Event> {
        let may_read = self.refusing.is_none() && !self.ended;
        let in_flight = &self.in_flight;
        tokio::select! {
            biased;
            () = in_flight.settled(), if self.ended || self.stop.is_cancelled() => Some(Event::Over),
            () = tokio::time::sleep_until(until) => {
                tracing::warn!("some calls were not answered before the drain time was over");
                // Nothing more is written: a client that does not read delays nothing now.
                in_flight.set_broken();
                Some(Event::Over)
            }
            // The client did not only close its end: it has left, and its calls with it.
            () = reader_gone(), if self.ended || !self.stop.is_cancelled() => {
                in_flight.set_broken();
                self.gone.cancel();
                Some(Event::Over)
            }
            () = in_flight.next_may_run(), if !self.waiting.is_empty() => Some(Event::Turn),
            () = finished(&mut self.refusing) => None,
            line = next_line(in_flight, &mut self.lines), if may_read => Some(Event::Line(line)),
        }
    }

    fn may_read(&self) -> bool {
        self.refusing.is_none() && self.in_flight.has_room()
    }

    /// Turns a line into a message for the service, or into an error for the client.
    fn accept(&mut self, line: Line) -> Option<RxJsonRpcMessage<RoleServer>> {
        let bytes = match line {
            Line::Text(bytes) => bytes,
            Line::TooLong(id) => {
                let most = self.limits.line_bytes;
                let text = format!("a message may have at most {most} bytes");
                self.refuse(ErrorData::invalid_request(text, None), id);
                return None;
            }
            Line::End => return None,
        };
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        match serde_json::from_slice::<RxJsonRpcMessage<RoleServer>>(&bytes) {
            Ok(message) => self.admit(message, bytes),
            Err(_) => {
                self.refuse_malformed(&bytes);
                None
            }
        }
    }

    fn admit(
        &mut self,
        mut message: RxJsonRpcMessage<RoleServer>,
        bytes: Vec<u8>,
    ) -> Option<RxJsonRpcMessage<RoleServer>> {
        match &mut message {
            JsonRpcMessage::Request(request) => {
                let is_ping = matches!(request.request, ClientRequest::PingRequest(_));
                self.opened |=
                    !is_ping && !matches!(request.request, ClientRequest::DiscoverRequest(_));
                let (id, slot) = (request.id.clone(), ResultSlot::default());
                let admission =
                    self.in_flight
                        .enter(id.clone(), bytes.len(), slot.clone(), is_ping);
                match admission {
                    Admission::Runs => {
                        request.request.extensions_mut().insert(slot);
                    }
                    Admission::Waits => {
                        self.waiting.push_back((id, bytes));
                        return None;
                    }
                    Admission::Duplicate => {
                        // An error with this id would be taken for the answer to the first request.
                        let id = excerpt(&id.to_string());
                        let text = format!("id {id} is already in use by a request");
                        self.refuse(ErrorData::invalid_request(text, None), None);
                        return None;
                    }
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // It gets no reply any more; waiting for one would delay the end.
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

    /// The first waiting request, unless it was cancelled.
    fn take_waiting(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let (id, bytes) = self.waiting.pop_front()?;
        let slot = self.in_flight.run(&id)?;
        let mut message = serde_json::from_slice::<RxJsonRpcMessage<RoleServer>>(&bytes).ok()?;
        if let JsonRpcMessage::Request(request) = &mut message {
            request.request.extensions_mut().insert(slot);
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
        // In a task, since `receive` may be dropped in the middle of it.
        self.refusing = Some(tokio::spawn(self.send(error)));
    }
}

/// The id of an object that is not a valid message, if it has one that a request may have.
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

/// Completes when an error of ours has been sent; never when there is none.
async fn finished(refusing: &mut Option<JoinHandle<io::Result<()>>>) {
    match refusing {
        Some(task) => {
            let _sent_or_broken = task.await;
            *refusing = None;
        }
        None => std::future::pending().await,
    }
}

/// Writes one message. A write that began is finished even if the caller goes away, since half a line
/// would spoil the next one.
async fn write(
    output: Arc<Mutex<Output>>,
    in_flight: Arc<InFlight>,
    message: TxJsonRpcMessage<RoleServer>,
) -> io::Result<()> {
    let answers = match &message {
        JsonRpcMessage::Response(response) => Some(response.id.clone()),
        JsonRpcMessage::Error(error) => error.id.clone(),
        _ => None,
    };
    let json = answers.as_ref().and_then(|id| in_flight.take_json(id));
    let outgoing = Outgoing::new(message, json)?;
    let queued = in_flight.queue(outgoing.held_bytes());
    let mut output = output.lock().await;
    let outcome = tokio::select! {
        biased;
        // The client has left or was given up. Half a line may be out, but nothing follows it.
        () = in_flight.broken() => Ok(()),
        outcome = put(&mut output, outgoing) => outcome,
    };
    drop(output);
    if let Err(error) = outcome {
        // The client closed its end, which is an ordinary way to leave and no error of this call.
        tracing::debug!(%error, "writing to the client failed");
        in_flight.set_broken();
    }
    if let Some(id) = answers {
        in_flight.close(&id);
    }
    drop(queued);
    Ok(())
}

async fn put(output: &mut Output, outgoing: Outgoing) -> io::Result<()> {
    for chunk in outgoing {
        output.write_all(&chunk).await?;
    }
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
            let message = match self.next().await {
                Event::Line(line) => self.accept(line),
                Event::Turn => self.take_waiting(),
                Event::Over => return None,
            };
            if message.is_some() {
                return message;
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
