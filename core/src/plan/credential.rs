//! Which credential each app has: the one in the ledger, a new one, or none that anybody may touch.

use crate::{
    failure::Failure,
    ledger::{Credential, CredentialNames, Placement, Record},
    name::{AppName, RecordNo},
    observed::{CopySeen, Layer, Presence, StoreView},
    published::Whereabouts,
    reason::Reason,
};

use super::Draft;

/// An app's credential that this pass may work with.
pub(super) struct Holding {
    pub app: AppName,
    pub record: RecordNo,
    pub names: CredentialNames,
    /// The version of the published copy; none if there is no copy yet.
    pub copy_version: Option<String>,
}

/// An app that the ledger has no credential for.
enum Newcomer {
    /// Nothing anywhere speaks of it.
    New,
    /// It had one, and its values are gone.
    Lost,
    /// What stands in its place is not ours, or could not be read.
    Hindered,
}

impl Draft<'_> {
    /// Every app's credential: those in the ledger, and those that this plan commits.
    pub(super) fn holdings(&mut self, store: &StoreView, placement: &Placement, at: &Whereabouts) -> Vec<Holding> {
        let mut holdings = Vec::new();
        let mut fresh = Vec::new();
        let mut hindered = Vec::new();
        for app in self.desired.apps.keys() {
            if let Some((record, credential)) = store.ledger.newest(app) {
                holdings.extend(self.issued(app, record, credential, store, at));
                continue;
            }
            match self.newcomer(app, store) {
                Newcomer::New => fresh.push(app.clone()),
                Newcomer::Lost => {}
                Newcomer::Hindered => hindered.push(app.clone()),
            }
        }
        // New credentials are issued together or not at all: one record, and no half of it blocked by a name that is taken.
        let started = !store.ledger.records.is_empty();
        let clean = hindered.is_empty() && !self.database_blocked && (started || self.desired.complaints.is_empty());
        if self.desired.apps.is_empty() && !started {
            let message = "this tenant asks for no app, so there is nothing to make; add one, or take one out of spec.apps.remove";
            self.wrong(Layer::Store, None, Failure::refused(Reason::NoApps, message));
        }
        let committed = self.commit(store, placement, if clean { &fresh } else { &[] });
        if committed.is_empty() {
            hindered.extend(fresh);
        }
        for app in &hindered {
            self.await_credential(app);
        }
        holdings.extend(committed);
        holdings
    }

    /// No layer is as it should be while an app that belongs to it has no credential.
    fn await_credential(&mut self, app: &AppName) {
        let cached = self.desired.apps.get(app).is_some_and(|wanted| wanted.cache.is_some());
        for layer in Layer::ALL {
            if layer != Layer::Cache || cached {
                let message =
                    format!("{app} has no credential yet, and none is issued before what is in the way is gone");
                self.wait(layer, app, Reason::Provisioning, message);
            }
        }
    }

    fn issued(
        &mut self,
        app: &AppName,
        record: &Record,
        credential: &Credential,
        store: &StoreView,
        at: &Whereabouts,
    ) -> Option<Holding> {
        let number = record.number;
        let copy_version = match store.copy(app) {
            Presence::Absent => None,
            Presence::Ours(seen) => Some(self.published(app, number, credential, seen, at)?),
            Presence::Foreign(what) => {
                self.taken(
                    Layer::Store,
                    app,
                    &self.desired.prefix.copy(&self.desired.tenant, app),
                    &what.clone(),
                );
                return None;
            }
            Presence::Unknown(_) => return None,
        };
        Some(Holding {
            app: app.clone(),
            record: number,
            names: credential.names(),
            copy_version,
        })
    }

    /// The version of a copy that agrees with the ledger.
    fn published(
        &mut self,
        app: &AppName,
        number: RecordNo,
        credential: &Credential,
        seen: &CopySeen,
        at: &Whereabouts,
    ) -> Option<String> {
        let name = self.desired.prefix.copy(&self.desired.tenant, app);
        if seen.copy.record < number {
            let message = format!(
                "{name} holds record {}, the ledger has {number}; publishing forward is not done by this version",
                seen.copy.record
            );
            self.wrong(Layer::Store, Some(app), Failure::blocked(Reason::NotSupported, message));
            return None;
        }
        if seen.copy.record != number || !seen.copy.holds(credential) {
            let message =
                format!("{name} and ledger record {number} give different values; nothing is created from either");
            self.wrong(
                Layer::Store,
                Some(app),
                Failure::blocked(Reason::CredentialConflict, message),
            );
            return None;
        }
        if !seen.copy.points_at(at) {
            let message = format!(
                "{name} points at an endpoint that the settings no longer name; this version does not rewrite it"
            );
            self.wrong(
                Layer::Store,
                Some(app),
                Failure::blocked(Reason::EndpointChanged, message),
            );
        }
        Some(seen.version.clone())
    }

    /// An app without a record is new only if nothing anywhere says that it once had one.
    fn newcomer(&mut self, app: &AppName, store: &StoreView) -> Newcomer {
        let marked = self
            .observed
            .marks()
            .find(|mark| mark.app.as_ref() == Some(app))
            .map(|mark| mark.record);
        let record = match (store.copy(app), marked) {
            (Presence::Absent, None) => return Newcomer::New,
            (Presence::Foreign(what), _) => {
                let name = self.desired.prefix.copy(&self.desired.tenant, app);
                self.taken(Layer::Store, app, &name, what);
                return Newcomer::Hindered;
            }
            (Presence::Unknown(_), _) => return Newcomer::Hindered,
            (Presence::Ours(seen), _) => seen.copy.record,
            (Presence::Absent, Some(record)) => record,
        };
        let message = format!(
            "the credential of record {record} for {app} is in use and its values are lost; running pods are not affected, \
             and no new one is made unless asked"
        );
        let failure = Failure::blocked(Reason::CredentialLost, message);
        self.wrong(Layer::Store, Some(app), failure);
        Newcomer::Lost
    }

    /// A name that we need is in other hands.
    pub(super) fn taken(&mut self, layer: Layer, app: &AppName, name: &str, what: &str) {
        let message = format!("{name} exists and is not ours ({what}); it is left alone");
        self.wrong(layer, Some(app), Failure::blocked(Reason::NotOwned, message));
    }
}
