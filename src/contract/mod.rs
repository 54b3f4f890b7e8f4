//! What the supervisor and an engine say to each other.
//!
//! Both sides use these types, to print and to parse: the words of the engine contract (levels,
//! confidences, error codes, exit statuses), [`ProbeOptions`] as argv (a [`Profile`]) and as the
//! `"options"` member of a record, the [`Record`] that goes down, the [`Reply`] that comes back, and
//! the error [`Envelope`] of every layer. The module depends on no other one and does no I/O.

mod budget;
mod envelope;
mod line_safe;
mod options;
mod pretty;
mod record;
mod reply;
mod vocabulary;

pub use budget::{Budget, Limits};
pub use envelope::{Envelope, ErrorCode};
pub use line_safe::escape_line_breaks;
pub use options::{InvalidOption, ProbeOptions, Profile, check_target};
pub(crate) use options::{OptionFlags, from_argv};
pub use pretty::indent;
pub use record::{Input, Record, RecordError};
pub use reply::{MAX_REPLY_BYTES, Reply, ReplyError, ReplyHead, ReplyStatus};
pub use vocabulary::{CONTRACT_VERSION, Confidence, Level, SCHEMA_VERSION, View};
