//! What can be asked: targets, selectors, paths, profiles and format options, as static data.
//!
//! Names and numbers are the contract's. What is ours is marked as such: it never changes what a
//! `@…` selector of the contract returns, except `@all` at deep.

mod index;
mod options;
mod paths;
mod profiles;
mod set;
mod targets;

pub(crate) use index::{Index, SELECTORS, index};
pub(crate) use options::{FormatOptions, specs as option_specs};
pub(crate) use paths::{PathId, PathSpec};
pub(crate) use profiles::{DriverId, Profile};
pub(crate) use set::TargetSet;
pub(crate) use targets::{Target, ValueType};
