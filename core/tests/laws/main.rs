//! The laws as properties, over worlds that no story would think of: any start, and any few things done to it by anybody.

#![allow(clippy::unwrap_used, clippy::panic, clippy::wildcard_enum_match_arm)]

#[path = "../common/mod.rs"]
mod common;

mod any;
mod plans;
mod runs;

/// The same worlds in every run: a failure here is a failure everywhere. Another seed is a matter of changing this line.
const SEED: u64 = 20_261_116;
