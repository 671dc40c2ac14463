//! The store's steps: every one of them create-only, every one of them indifferent to who wrote first. What counts afterwards is what
//! the store gives back.

use std::collections::BTreeMap;

use jiff::Timestamp;
use ramparts_core::{
    acl::CacheProfile,
    cursor::Outcome,
    failure::Failure,
    ledger::{Body, CacheCredential, Credential, IssueDraft, Record, whole_seconds},
    name::{Access, AppName, RecordNo, RoleName},
    observed::Presence,
    published::PublishedCopy,
    reason::Reason,
    step::Step,
};

use crate::{aws::Created, live::draw};

use super::LiveSession;

impl LiveSession {
    pub(super) async fn commit(&mut self, step: &Step) -> Result<Outcome, Failure> {
        match step {
            Step::CommitIssue(draft) => {
                self.committed = Some(draft.clone());
                // Whether it was ours or another's that was kept, the next step reads it back; the values drawn here go no further.
                self.create(draft.seal(draw)).await?;
            }
            Step::CommitOpen { record, uid } => self.claim(*record, uid, Body::Open).await?,
            Step::CommitVoid { record, uid } => {
                self.create(Record {
                    number: *record,
                    uid: uid.clone(),
                    at: now(),
                    body: Body::Void,
                })
                .await?;
            }
            Step::FillRecord { record, uid, apps } => self.fill(*record, uid, apps).await?,
            Step::ReadBack { record } => self.read_back(*record).await?,
            Step::Publish { app, record } => return self.publish(app, *record).await,
            Step::CreateGroups { .. }
            | Step::CreateDatabase { .. }
            | Step::SealDatabase { .. }
            | Step::PrepareDatabase { .. }
            | Step::CreateLogin { .. }
            | Step::ConfigureLogin { .. }
            | Step::ProveLogin { .. }
            | Step::CreateCacheUser { .. }
            | Step::JoinUserGroup { .. }
            | Step::ProveCacheUser { .. } => return Err(Failure::defect(format!("{step} is no step of the store"))),
        }
        Ok(Outcome::Done)
    }

    async fn create(&self, record: Record) -> Result<Created, Failure> {
        self.live.store.create_record(&self.desired.tenant, &record).await
    }

    /// A claim that another made first is lost: the next pass sees whose it is.
    async fn claim(&self, number: RecordNo, uid: &str, body: Body) -> Result<(), Failure> {
        match self
            .create(Record {
                number,
                uid: uid.to_owned(),
                at: now(),
                body,
            })
            .await?
        {
            Created::Written => Ok(()),
            Created::Existed => Err(lost(number)),
        }
    }

    async fn read_back(&mut self, number: RecordNo) -> Result<(), Failure> {
        let record = self.live.store.record(&self.desired.tenant, number, true).await?;
        let Some(record) = record else {
            let message = format!("record {number} was committed and the store does not show it yet; looking again");
            return Err(Failure::transient(Reason::LedgerStale, message));
        };
        if !self
            .committed
            .as_ref()
            .is_some_and(|draft| is_as_planned(draft, &record))
        {
            return Err(lost(number));
        }
        self.store.ledger.records.insert(number, record);
        Ok(())
    }

    async fn fill(&self, number: RecordNo, uid: &str, apps: &[AppName]) -> Result<(), Failure> {
        let mut credentials = BTreeMap::new();
        let mut at: Option<Timestamp> = None;
        for app in apps {
            let copy = self.copy(app)?;
            at = Some(at.map_or(copy.issued_at, |at| at.min(copy.issued_at)));
            credentials.insert(app.clone(), self.credential_of(app, copy));
        }
        let body = Body::Issue {
            placement: self.placed()?.clone(),
            apps: credentials,
        };
        self.create(Record {
            number,
            uid: uid.to_owned(),
            at: at.unwrap_or_else(now),
            body,
        })
        .await?;
        Ok(())
    }

    pub(super) fn copy(&self, app: &AppName) -> Result<&PublishedCopy, Failure> {
        match self.store.copy(app) {
            Presence::Ours(seen) => Ok(&seen.copy),
            Presence::Absent | Presence::Foreign(_) | Presence::Unknown(_) => {
                Err(Failure::defect(format!("the copy of {app} was not read in this pass")))
            }
        }
    }

    /// The credential that a proven copy holds. Its access is that of the group its login is in.
    fn credential_of(&self, app: &AppName, copy: &PublishedCopy) -> Credential {
        let desired = self.desired.apps.get(app);
        let login = &copy.database.username;
        let groups = match self.database.as_ref().map(|view| view.login(login)) {
            Some(Presence::Ours(seen)) => seen.member_of.clone(),
            Some(Presence::Absent | Presence::Foreign(_) | Presence::Unknown(_)) | None => Vec::new(),
        };
        let member = Access::ALL
            .into_iter()
            .find(|it| groups.contains(&RoleName::group(&self.desired.tenant, *it)));
        Credential {
            login: login.clone(),
            login_password: copy.database.password.clone(),
            access: member.or(desired.map(|app| app.access)).unwrap_or(Access::ReadOnly),
            cache: copy.cache.as_ref().map(|cache| CacheCredential {
                user: cache.username.clone(),
                password: cache.password.clone(),
                profile: desired.and_then(|app| app.cache).unwrap_or(CacheProfile::Standard),
            }),
        }
    }

    async fn publish(&self, app: &AppName, number: RecordNo) -> Result<Outcome, Failure> {
        let credential = self.credential(app, number)?;
        let ledger = &self.store.ledger;
        let issued_at = ledger.records.get(&number).map_or_else(now, |record| record.at);
        let at = self.desired.whereabouts(self.placed()?, ledger.life());
        let copy = at.and_then(|at| PublishedCopy::of(credential, number, issued_at, &at));
        let copy = copy.ok_or_else(|| Failure::defect(format!("the endpoints of {app} are not known in this pass")))?;
        let (store, tenant) = (&self.live.store, &self.desired.tenant);
        if store.create_copy(tenant, app, &copy).await? == Created::Written {
            return Ok(Outcome::Done);
        }
        // Ours, from a reply that was lost or behind a listing that lags: then all is well. Or another's, which the next pass reads.
        match store.copy(tenant, app).await? {
            Presence::Ours(seen) if seen.copy.record == number && seen.copy.holds(credential) => Ok(Outcome::Done),
            Presence::Absent | Presence::Ours(_) | Presence::Foreign(_) | Presence::Unknown(_) => {
                Err(Failure::transient(
                    Reason::LostRace,
                    format!("the copy of {app} appeared while it was being published; looking again"),
                ))
            }
        }
    }
}

/// Another writer may have committed first; that is as good, if it committed the same names for the same object.
fn is_as_planned(draft: &IssueDraft, record: &Record) -> bool {
    match &record.body {
        Body::Issue { placement, apps } => {
            record.uid == draft.uid
                && *placement == draft.placement
                && apps.len() == draft.apps.len()
                && apps
                    .iter()
                    .all(|(app, credential)| draft.apps.get(app) == Some(&credential.names()))
        }
        Body::Open | Body::Void => false,
    }
}

fn lost(number: RecordNo) -> Failure {
    let message = format!("another writer committed record {number} first; looking again");
    Failure::transient(Reason::LostRace, message)
}

fn now() -> Timestamp {
    whole_seconds(Timestamp::now())
}
