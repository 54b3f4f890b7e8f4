//! A panic in a handler becomes an error reply; the server goes on.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;

use crate::telemetry::metric;

/// Runs a handler. A panic is counted, logged once and returned as its message.
pub(super) async fn caught<T>(handler: impl Future<Output = T>) -> Result<T, String> {
    AssertUnwindSafe(handler)
        .catch_unwind()
        .await
        .map_err(|payload| {
            metrics::counter!(metric::HANDLER_PANICS).increment(1);
            message(payload.as_ref())
        })
}

/// Sends panic messages to the log instead of stderr.
pub(super) fn log_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string);
        tracing::error!(
            place = place.as_deref().unwrap_or("unknown"),
            panic = %message(info.payload()).escape_debug(),
            "a handler panicked"
        );
    }));
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    text.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn panic_becomes_its_message_and_the_next_call_runs() {
        let broken = caught(async { panic!("no {}", "way") }).await;
        assert_eq!(broken, Err::<(), _>("no way".into()));
        assert_eq!(caught(async { 7 }).await, Ok(7));
    }
}
