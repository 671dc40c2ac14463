//! What a process remembers of earlier passes over a tenant: which proofs are fresh, and how often a cache login was refused.
//! Losing it costs a proof, never a decision: an empty recall is always a valid one.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;

use crate::{
    cursor::Outcome,
    name::{AppName, CacheUser, RecordNo},
    observed::{Layer, LoginSeen, Presence},
    published::Whereabouts,
    reason::Reason,
    report::Pass,
    step::{Source, Step},
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
            proof.record == record
                && proof.object == object
                && !age.is_negative()
                && age.unsigned_abs() < self.proof_lasts
        })
    }

    /// The memory after a pass: what logged in is fresh, what was refused is counted.
    #[must_use]
    pub fn after(&self, pass: Pass<'_>, now: Timestamp) -> Self {
        let mut next = self.clone();
        let life = pass.observed.store.known().map(|store| store.ledger.life());
        let at = life
            .zip(pass.plan.placement.as_ref())
            .and_then(|(life, at)| pass.desired.whereabouts(at, life));
        let Some(at) = at else { return next };
        for (planned, outcome) in pass.plan.steps.iter().zip(pass.outcomes) {
            if let Step::ProveLogin {
                app,
                record,
                login,
                from: Source::Ledger,
            } = &planned.step
            {
                // A login made in this very pass has no known identity yet: it is proven once more in the next.
                let seen = pass.observed.database.known().map(|view| view.login(login));
                let object = match seen {
                    Some(Presence::Ours(seen)) => login_object(&at, seen),
                    Some(Presence::Absent | Presence::Foreign(_) | Presence::Unknown(_)) | None => String::new(),
                };
                next.note((app, Layer::Database), *record, object, outcome, now);
            }
            if let Step::ProveCacheUser {
                app,
                record,
                user,
                from,
            } = &planned.step
            {
                if *from == Source::Ledger {
                    next.note((app, Layer::Cache), *record, user_object(&at, user), outcome, now);
                }
                next.count(app, outcome, pass.observed.is_settled(user));
            }
        }
        next
    }

    fn note(&mut self, of: (&AppName, Layer), record: RecordNo, object: String, outcome: &Outcome, at: Timestamp) {
        let key = (of.0.clone(), of.1);
        if *outcome == Outcome::Done {
            self.proofs.insert(key, Proof { record, object, at });
        } else {
            self.proofs.remove(&key);
        }
    }

    /// Only a refusal by a user with nothing under way is a sighting.
    fn count(&mut self, app: &AppName, outcome: &Outcome, settled: bool) {
        match outcome {
            Outcome::Failed(failure) if failure.reason == Reason::LoginRefused && settled => {
                *self.refusals.entry(app.clone()).or_default() += 1;
            }
            Outcome::Done => {
                self.refusals.remove(app);
            }
            Outcome::Failed(_) | Outcome::Pending(..) | Outcome::Skipped => {}
        }
    }
}

/// What makes a login this login.
pub(crate) fn login_object(at: &Whereabouts, seen: &LoginSeen) -> String {
    format!("{}:{}/{}", at.database.host, at.database.port, seen.oid)
}

/// What makes a cache user this cache user.
pub(crate) fn user_object(at: &Whereabouts, user: &CacheUser) -> String {
    at.cache
        .as_ref()
        .map_or_else(String::new, |cache| format!("{}:{}/{user}", cache.host, cache.port))
}
