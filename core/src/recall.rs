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
    /// How many passes in a row the database has refused an app's credential, with its login there to be used.
    pub login_refusals: BTreeMap<AppName, u32>,
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

    /// Whether a server has refused this app's credential for good: twice in a row, with nothing under way.
    pub fn is_refused(&self, app: &AppName) -> bool {
        [&self.refusals, &self.login_refusals]
            .into_iter()
            .any(|counted| counted.get(app).is_some_and(|times| *times > 1))
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
                from,
            } = &planned.step
            {
                let seen = match pass.observed.database.known().map(|view| view.login(login)) {
                    Some(Presence::Ours(seen)) => Some(seen),
                    Some(Presence::Absent | Presence::Foreign(_) | Presence::Unknown(_)) | None => None,
                };
                if *from == Source::Ledger {
                    // A login made in this very pass has no known identity yet: it is proven once more in the next.
                    let object = seen.map_or_else(String::new, |seen| login_object(&at, seen));
                    next.note((app, Layer::Database), *record, object, outcome, now);
                }
                let usable = seen.is_some_and(|seen| seen.can_login && !seen.expired);
                count(&mut next.login_refusals, app, outcome, usable);
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
                count(&mut next.refusals, app, outcome, pass.observed.is_settled(user));
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
}

/// Only a refusal by something with nothing under way is a sighting.
fn count(refusals: &mut BTreeMap<AppName, u32>, app: &AppName, outcome: &Outcome, settled: bool) {
    match outcome {
        Outcome::Failed(failure) if failure.reason == Reason::LoginRefused && settled => {
            *refusals.entry(app.clone()).or_default() += 1;
        }
        Outcome::Done => {
            refusals.remove(app);
        }
        Outcome::Failed(_) | Outcome::Pending(..) | Outcome::Skipped => {}
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
