//! Puts an engine's JSON into the responses of tool calls.
//!
//! The SDK prints results from parsed trees. A handler leaves its JSON in the request's slot instead, the
//! SDK prints the rest of the response, and this layer streams both to the client.

use std::convert::Infallible;

use axum::body::{Body, BodyDataStream, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use serde_json::Value;

use super::super::raw_json::{ResponseChunks, ResultSlot};

/// Longest response of the SDK around a result, in bytes.
const LONGEST_ENVELOPE: usize = 1024 * 1024;

/// The layer around the protocol's service.
pub(super) async fn write_results(mut request: Request, next: Next) -> Response {
    let slot = ResultSlot::default();
    request.extensions_mut().insert(slot.clone());
    let response = next.run(request).await;
    let (parts, body) = response.into_parts();
    if is_event_stream(parts.headers.get(header::CONTENT_TYPE)) {
        return Response::from_parts(parts, with_results_in_events(body, slot));
    }
    let Some(json) = slot.take() else {
        return Response::from_parts(parts, body);
    };
    let chunks = match to_bytes(body, LONGEST_ENVELOPE).await {
        Ok(envelope) => response_of(&envelope)
            .and_then(|(id, result)| ResponseChunks::new(&id, result, json).ok()),
        Err(_) => None,
    };
    let Some(chunks) = chunks else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let chunks = chunks.map(|chunk| Ok::<_, Infallible>(Bytes::from(chunk)));
    Response::from_parts(parts, Body::from_stream(stream::iter(chunks)))
}

fn is_event_stream(kind: Option<&HeaderValue>) -> bool {
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// The id and the result of a printed response.
fn response_of(message: &[u8]) -> Option<(Value, Value)> {
    let mut message: Value = serde_json::from_slice(message).ok()?;
    let result = message.get_mut("result")?.take();
    Some((message.get_mut("id")?.take(), result))
}

struct Events {
    frames: BodyDataStream,
    slot: ResultSlot,
    /// The rest of an event that is being written.
    event: Option<Box<dyn Iterator<Item = Bytes> + Send>>,
}

/// The same events; the one with the result carries its JSON.
fn with_results_in_events(body: Body, slot: ResultSlot) -> Body {
    let events = Events {
        frames: body.into_data_stream(),
        slot,
        event: None,
    };
    Body::from_stream(stream::unfold(events, |mut events| async {
        loop {
            if let Some(event) = &mut events.event {
                if let Some(chunk) = event.next() {
                    return Some((Ok(chunk), events));
                }
                events.event = None;
            }
            match events.frames.next().await? {
                Ok(frame) => match event_with_result(&frame, &events.slot) {
                    Some(event) => events.event = Some(event),
                    None => return Some((Ok(frame), events)),
                },
                Err(error) => return Some((Err(error), events)),
            }
        }
    }))
}

/// The chunks of the event in `frame`, if it is the one with the result. The SDK sends an event as one
/// frame, with its data on one line.
fn event_with_result(
    frame: &Bytes,
    slot: &ResultSlot,
) -> Option<Box<dyn Iterator<Item = Bytes> + Send>> {
    let from = memchr::memmem::find(frame, b"data:")? + b"data:".len();
    let length = memchr::memchr(b'\n', frame.get(from..)?)?;
    let (id, result) = response_of(frame.get(from..from + length)?)?;
    let chunks = ResponseChunks::new(&id, result, slot.take()?).ok()?;
    let (head, tail) = (frame.slice(..from), frame.slice(from + length..));
    let event = std::iter::once(head)
        .chain(chunks.map(Bytes::from))
        .chain(std::iter::once(tail));
    Some(Box::new(event))
}
