//! Acts. The shell around `ramparts-core`: it watches Tenants, observes the servers, carries out plans and writes one status.
//! [`reconcile`] is the whole story on one page; the rest is what it stands on.

pub mod aws;
pub mod cache;
#[cfg(feature = "chaos")]
pub mod chaos;
pub mod cli;
pub mod cluster;
pub mod controller;
pub mod gate;
pub mod live;
pub mod memory;
pub mod metrics;
#[cfg(feature = "chaos")]
pub mod mutant;
pub mod postgres;
pub mod reconcile;
pub mod server;
pub mod setup;
pub mod telemetry;
pub mod world;
