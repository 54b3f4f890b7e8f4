//! What the supervisor and an engine say to each other.
//!
//! This room knows nobody else and does no I/O. It holds the words of the engine contract (levels,
//! confidences, error codes, exit statuses), the three spellings of an option set (typed
//! [`ProbeOptions`] ⇄ argv, which is the [`Profile`] ⇄ the `"options"` object of a record), the
//! [`Record`] that goes down, the [`Reply`] that comes back, and the one error grammar that every
//! layer speaks ([`Envelope`]).

mod budget;
mod envelope;
mod options;
mod pretty;
mod record;
mod reply;
mod vocabulary;

pub use budget::{Budget, Limits};
pub use envelope::{Envelope, ErrorCode};
pub use options::{InvalidOption, ProbeOptions, Profile, check_target};
pub use pretty::indent;
pub use record::{Input, Record};
pub use reply::{MAX_REPLY_BYTES, Reply, ReplyError, ReplyHead, ReplyStatus};
pub use vocabulary::{CONTRACT_VERSION, Confidence, Level, SCHEMA_VERSION, View};
