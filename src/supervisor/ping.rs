//! Whether a child that was just started is an engine that answers.
//!
//! A child counts as ready when it has answered a request that touches no file, so that a start that
//! fails is never blamed on a document.

use tokio_util::sync::CancellationToken;

use crate::contract::{ErrorCode, Reply};

use super::child::{Child, ChildLimits, ExchangeError, IdleEvent};
use super::ending::exit_soon;
use super::engine_program::ResolvedEngine;
use super::failure::StartError;
use super::stderr_tail::excerpt;

/// The shortest request: every engine answers that it has no input.
const PING: &[u8] = b"{}\n";

/// Pings a child that was just started.
pub(super) async fn ping(
    child: &mut Child,
    engine: &ResolvedEngine,
    limits: &ChildLimits,
    kill: &CancellationToken,
) -> Result<(), StartError> {
    let nobody = None::<&mut tokio::sync::oneshot::Sender<()>>;
    let answer = child
        .exchange(
            PING,
            limits.start_timeout,
            limits.max_reply_bytes,
            nobody,
            kill,
        )
        .await;
    let length = match answer {
        Ok(length) => length,
        Err(error) => return Err(failed(child, engine, limits, error, kill).await),
    };
    let refuse = |why: String| StartError::Failed(engine.cannot_start(&why));
    let line = child.output().get(..length).unwrap_or_default();
    let reply = Reply::from_engine(line, None).map_err(|error| {
        refuse(format!(
            "its first line is not a reply ({error}): {}",
            excerpt(line)
        ))
    })?;
    match reply.head().code {
        Some(ErrorCode::InvalidRequest) => {}
        // The command line was refused: these options are at fault, not the engine.
        Some(ErrorCode::CliSyntax) => return Err(StartError::Refused(reply)),
        _ => {
            let what = excerpt(reply.json().as_bytes());
            return Err(refuse(format!(
                "it does not answer as a deckprobe engine does: {what}"
            )));
        }
    }
    if let Some(more) = child.take_line(length) {
        return Err(refuse(format!("it printed something unasked: {more}")));
    }
    child.read_available_stderr();
    Ok(())
}

async fn failed(
    child: &mut Child,
    engine: &ResolvedEngine,
    limits: &ChildLimits,
    error: ExchangeError,
    kill: &CancellationToken,
) -> StartError {
    let why = match error {
        ExchangeError::Killed => return StartError::ShuttingDown,
        ExchangeError::Deadline | ExchangeError::NeverRead => {
            let limit = limits.start_timeout.as_millis();
            format!("it was not ready within {limit} ms")
        }
        ExchangeError::BeforeHandOver(IdleEvent::Unasked(what)) => {
            // The command line may have been refused before the ping was written.
            let line = child.output().split(|byte| *byte == b'\n').next();
            let refusal = line.and_then(|line| Reply::from_engine(line, None).ok());
            if let Some(reply) = refusal.filter(Reply::is_error) {
                return StartError::Refused(reply);
            }
            format!("it printed something unasked: {what}")
        }
        ExchangeError::Oversized => "its first line does not end".to_owned(),
        _ => match exit_soon(child, limits, false, kill).await {
            Some(exit) => {
                let perhaps = exit.perhaps.map(|why| format!(" ({why})"));
                let perhaps = perhaps.unwrap_or_default();
                format!("it {} before it was ready{perhaps}", exit.how)
            }
            None => "it closed its pipes before it was ready".to_owned(),
        },
    };
    if let Some(why) = child.stderr_tail.launch_failure() {
        return StartError::Failed(engine.cannot_start(why));
    }
    let stderr = match child.stderr_tail.shown().as_str() {
        "" => String::new(),
        stderr => format!("; the end of its stderr: {stderr}"),
    };
    StartError::Failed(engine.cannot_start(&format!("{why}{stderr}")))
}
