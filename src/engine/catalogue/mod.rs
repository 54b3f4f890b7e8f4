//! What can be asked: targets, selectors, paths, formats and their options, as static data.
//!
//! `formats.rs` and `targets.rs` are the tables; the rest is derived from them. Names and numbers are the
//! contract's. What is ours is marked as such: it never changes what a `@…` selector of the contract
//! returns, except `@all` at deep.

mod formats;
mod index;
mod options;
mod paths;
mod set;
mod table;
mod target;
mod targets;

pub(crate) use formats::{Container, DriverId, PathId, Profile};
pub(crate) use index::{Index, SELECTORS, index};
pub(crate) use options::FormatOptions;
pub(crate) use set::TargetSet;
pub(crate) use targets::Target;
