//! What a process remembers of earlier passes over a tenant: which proofs are fresh, and how often a cache login was refused.
//! Losing it costs a proof, never a decision: an empty recall is always a valid one.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;

use crate::{
    name::{AppName, RecordNo},
    observed::Layer,
};

/// The memory of one tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recall {
    /// The last successful login of each app at each server.
    pub proofs: BTreeMap<(AppName, Layer), Proof>,
    /// How many passes in a row the cache has refused an app's credential.
    pub refusals: BTreeMap<AppName, u32>,
    /// How long a proof stays fresh.
    pub proof_lasts: Duration,
}

/// A login that worked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Of which record's credential.
    pub record: RecordNo,
    /// Of which object: another oid or copy version makes the proof void.
    pub object: String,
    /// When.
    pub at: Timestamp,
}

impl Recall {
    /// Whether this very credential has logged in recently.
    pub fn is_fresh(&self, app: &AppName, layer: Layer, record: RecordNo, object: &str, now: Timestamp) -> bool {
        self.proofs.get(&(app.clone(), layer)).is_some_and(|proof| {
            let age = now.duration_since(proof.at);
            proof.record == record && proof.object == object && !age.is_negative() && age.unsigned_abs() < self.proof_lasts
        })
    }
}
