//! Stories about what a Tenant's status says: flags, conditions, phase, apps, events. The status is computed whole in every pass.

#![allow(clippy::unwrap_used, clippy::panic, clippy::wildcard_enum_match_arm)]

#[path = "../common/mod.rs"]
mod common;

mod apps;
mod conditions;
mod drift;
mod flags;
mod secrets;
