//! Many records as one call: one place in the queue, turns by record, replies as they finish.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::Instrument;

use crate::contract::{Envelope, ProbeOptions, Record, Reply};

use super::admission::{AdmissionError, BatchPlace};
use super::core::Core;
use super::fair_queue::Lane;

/// Replies that may lie ready for a slow consumer. Beyond this, no further record starts.
const READY: usize = 32;

/// The replies of a batch, in the order in which they finish. Dropping it cancels what is left.
pub struct Batch {
    replies: mpsc::Receiver<(usize, Reply)>,
    _cancel_on_drop: DropGuard,
}

impl Batch {
    /// The next reply and the place of its record in the input; `None` after the last.
    pub async fn next(&mut self) -> Option<(usize, Reply)> {
        self.replies.recv().await
    }
}

impl Core {
    /// Starts a batch. Records are taken from the iterator as their turns come.
    pub(super) fn batch<I>(
        self: &Arc<Self>,
        records: I,
        options: ProbeOptions,
    ) -> Result<Batch, Envelope>
    where
        I: Iterator<Item = Result<Record, Envelope>> + Send + 'static,
    {
        let place = self
            .admission
            .enter_batch()
            .map_err(|refusal| refusal.envelope())?;
        let (sender, replies) = mpsc::channel(READY);
        let cancel = CancellationToken::new();
        let work = Arc::clone(self).run_batch(records, options.into(), sender, place);
        self.calls
            .spawn(cancel.clone().run_until_cancelled_owned(work));
        Ok(Batch {
            replies,
            _cancel_on_drop: cancel.drop_guard(),
        })
    }

    async fn run_batch<I>(
        self: Arc<Self>,
        records: I,
        options: Arc<ProbeOptions>,
        sender: mpsc::Sender<(usize, Reply)>,
        place: BatchPlace,
    ) where
        I: Iterator<Item = Result<Record, Envelope>> + Send + 'static,
    {
        // Dropping the set, when the batch is cancelled, cancels every record in it.
        let mut running = JoinSet::new();
        let mut refused: Option<AdmissionError> = None;
        for (index, record) in records.enumerate() {
            while running.try_join_next().is_some() {}
            // Room for the reply first: a slow consumer holds no permit and no child.
            let Ok(room) = sender.clone().reserve_owned().await else {
                return;
            };
            let answer = |envelope: &Envelope| (index, self.reply(envelope));
            let record = match record {
                Ok(record) => record,
                Err(envelope) => {
                    room.send(answer(&envelope));
                    continue;
                }
            };
            let permit = match &refused {
                Some(refusal) => Err(refusal.clone()),
                None => self.batch_turn(&running).await,
            };
            let permit = match permit {
                Ok(permit) => permit,
                Err(refusal) => {
                    let reply = answer(&refusal.envelope());
                    self.stats.count_outcome(super::stats::Ended::of(&reply.1));
                    room.send(reply);
                    refused = Some(refusal);
                    continue;
                }
            };
            let (core, options) = (Arc::clone(&self), Arc::clone(&options));
            running.spawn(async move {
                let tally = super::OutcomeGuard { core: &core };
                let run = core.run(&record, &options, permit, tally);
                let reply = run.instrument(super::record_span()).await;
                room.send((index, reply));
            });
        }
        drop(place);
        while running.join_next().await.is_some() {}
    }

    /// A permit for the next record. While others of the batch run, waiting has no limit of its own:
    /// they have. Alone, it gives up as a single call does, and the rest of the batch with it.
    async fn batch_turn(
        self: &Arc<Self>,
        running: &JoinSet<()>,
    ) -> Result<super::admission::Permit, AdmissionError> {
        loop {
            let longest = self.settings.queue_timeout;
            match self.admission.acquire(Lane::Batch, longest).await {
                Err(AdmissionError::WaitedTooLong { .. }) if !running.is_empty() => {}
                other => return other,
            }
        }
    }
}
