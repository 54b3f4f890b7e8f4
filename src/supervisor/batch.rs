//! Many records as one call: one place in the queue, turns by record, replies as they finish.

use std::sync::Arc;

use futures_util::{Stream, StreamExt};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::Instrument;

use crate::contract::{Envelope, ProbeOptions, Record, Reply};

use super::dispatcher::{Dispatcher, Plan, Turn, record_span};
use super::failure::AdmissionError;
use super::fair_queue::Lane;
use super::ledger::Which;
use super::pool::BatchSeat;
use super::pool_state::Arrival;
use super::reply_memory::Beyond;
use super::stats::Ended;

/// Replies that may lie ready for a slow consumer. Beyond this, no further record starts.
const READY: usize = 32;

/// The replies of a batch, in the order in which they finish. Dropping it cancels what is left.
pub struct Batch {
    replies: mpsc::Receiver<(usize, Reply)>,
    _cancel_on_drop: DropGuard,
}

impl Batch {
    /// The next reply and the position of its record in the input; `None` after the last.
    pub async fn next(&mut self) -> Option<(usize, Reply)> {
        self.replies.recv().await
    }

    /// Starts a batch. Records are taken from the stream as their turns come.
    pub(super) fn start<I>(
        dispatcher: &Arc<Dispatcher>,
        records: I,
        options: ProbeOptions,
    ) -> Result<Self, Envelope>
    where
        I: Stream<Item = Result<Record, Envelope>> + Send + 'static,
    {
        let seat = dispatcher.pool.take_batch_seat();
        let seat = seat.map_err(|refusal| refusal.envelope())?;
        let (sender, replies) = mpsc::channel(READY);
        let cancel = CancellationToken::new();
        let run = Run {
            dispatcher: Arc::clone(dispatcher),
            options: Arc::new(options),
            running: JoinSet::new(),
            beyond: None,
        };
        let work = run.run(records, sender, seat);
        dispatcher
            .calls
            .spawn(cancel.clone().run_until_cancelled_owned(work));
        Ok(Self {
            replies,
            _cancel_on_drop: cancel.drop_guard(),
        })
    }
}

/// A batch under way. Dropping it, when the batch is cancelled, cancels every record in it.
struct Run {
    dispatcher: Arc<Dispatcher>,
    options: Arc<ProbeOptions>,
    running: JoinSet<()>,
    /// The right to go beyond the reply memory, if this batch has it.
    beyond: Option<Beyond>,
}

impl Run {
    async fn run<I>(mut self, records: I, sender: mpsc::Sender<(usize, Reply)>, seat: BatchSeat)
    where
        I: Stream<Item = Result<Record, Envelope>> + Send + 'static,
    {
        // Once a turn was refused, so is the rest of the batch.
        let mut refused: Option<AdmissionError> = None;
        let mut records = std::pin::pin!(records.enumerate());
        while let Some((index, record)) = records.next().await {
            // Room for the reply first: a slow consumer holds no place and no child.
            let Ok(room) = sender.clone().reserve_owned().await else {
                return;
            };
            let record = match record {
                Ok(record) => record,
                Err(envelope) => {
                    room.send((index, self.dispatcher.reply(&envelope)));
                    continue;
                }
            };
            let turn = match &refused {
                Some(refusal) => Err(Stopped::Refused(refusal.clone())),
                None => self.turn().await,
            };
            let (plan, turn) = match turn {
                Ok(granted) => granted,
                Err(stopped) => {
                    let reply = match stopped {
                        Stopped::NoEngine(reply) => reply,
                        Stopped::Refused(refusal) => {
                            let reply = self.dispatcher.reply(&refusal.envelope());
                            refused = Some(refusal);
                            reply
                        }
                    };
                    self.dispatcher.stats.count_outcome(Ended::of(&reply));
                    room.send((index, reply));
                    continue;
                }
            };
            // Finished tasks keep their memory until they are joined.
            while self.running.try_join_next().is_some() {}
            let (dispatcher, options) = (Arc::clone(&self.dispatcher), Arc::clone(&self.options));
            let beyond = self.beyond.clone();
            self.running.spawn(async move {
                let run = dispatcher.run_counted(&record, &options, plan, turn, beyond);
                let reply = run.instrument(record_span()).await;
                room.send((index, reply));
            });
        }
        drop(seat);
        while self.running.join_next().await.is_some() {}
    }

    /// The turn of the next record. While others of the batch run, waiting has no limit of its own:
    /// they have. Alone, it gives up as a single call does.
    async fn turn(&mut self) -> Result<(Plan, Turn), Stopped> {
        let plan = match self.dispatcher.plan_now(&self.options) {
            Some(plan) => plan,
            None => {
                let plan = self.dispatcher.plan(&self.options).await;
                let no_engine = plan.map_err(|e| e.reply(&self.dispatcher.tool_version()));
                no_engine.map_err(Stopped::NoEngine)?
            }
        };
        let longest = self.dispatcher.settings.queue_timeout;
        loop {
            let replies = Arc::clone(&self.dispatcher.replies);
            replies.room_for_batch(&mut self.beyond).await;
            let turn =
                self.dispatcher
                    .turn(&plan, Which::Any, Lane::Batch, Arrival::Inside, longest);
            let turn = turn.await;
            let waits_for_memory = self.beyond.is_none() && !replies.has_room();
            match turn {
                Ok(_) | Err(AdmissionError::WaitedTooLong { .. }) if waits_for_memory => {}
                Ok(turn) => return Ok((plan, turn)),
                Err(AdmissionError::WaitedTooLong { .. }) if self.others_run() => {}
                Err(refusal) => return Err(Stopped::Refused(refusal)),
            }
        }
    }

    fn others_run(&mut self) -> bool {
        // A record that has finished counts as running until it is joined.
        while self.running.try_join_next().is_some() {}
        !self.running.is_empty()
    }
}

/// Why a record of a batch got no turn.
enum Stopped {
    /// There is no engine: this record fails, the next one may not.
    NoEngine(Reply),
    /// The pool refused it, and with it the rest of the batch.
    Refused(AdmissionError),
}
