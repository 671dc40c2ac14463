//! What is committed: the next number, and the mending of numbers whose record was lost. Nothing is committed unless every layer was
//! read, and nothing while a number that any layer names has no record that was read.

use crate::{
    failure::Failure,
    ledger::{Claim, CredentialNames, IssueDraft, MOST_MENDED, Placement, whole_seconds},
    mark::Mark,
    name::{AppName, RecordNo},
    observed::{CopySeen, Layer, Presence, StoreView},
    reason::Reason,
    secret::Secret,
    step::{Source, Step},
};

use super::{Draft, FindingKind, credential::Holding};

/// The length of a sealed password; the size of a record is known before its values are drawn.
const PASSWORD_LENGTH: usize = 50;

impl Draft<'_> {
    /// Whether every number up to the highest seen has a record; if not, plans how to mend that and nothing else.
    pub(super) fn ledger_is_whole(&mut self, store: &StoreView) -> bool {
        let missing = store.ledger.missing(self.observed.highest());
        if missing.is_empty() {
            return true;
        }
        if missing.len() > MOST_MENDED {
            let message = format!(
                "more than {MOST_MENDED} numbers up to {} have no record; nothing is written before a person has looked at what names them",
                self.observed.highest().map_or(0, RecordNo::get),
            );
            self.wrong(Layer::Store, None, Failure::blocked(Reason::RecordsMissing, message));
            return false;
        }
        if let Some(number) = missing
            .iter()
            .find(|number| !store.ledger.confirmed_missing.contains(number))
        {
            let message =
                format!("record {number} is named by another layer and the store has not shown it yet; looking again");
            self.find(
                Layer::Store,
                None,
                FindingKind::Unknown,
                Failure::transient(Reason::LedgerStale, message),
            );
        } else if self.sees_all && self.looks_where_the_copies_point(store, &missing) {
            // Nothing is judged in this pass: what each app has is known once the ledger is whole.
            let message = "a record is missing and is mended first; the rest is looked at after that";
            let failure = Failure::transient(Reason::LedgerStale, message);
            self.find(Layer::Store, None, FindingKind::Waiting, failure);
            for number in missing {
                self.mend(number, store);
            }
            self.plan.again = true;
        }
        false
    }

    /// The lost record said where the tenant lives. A copy that names another server, and whose login is not on this one, says that this is
    /// the wrong one: nothing is declared lost on its word.
    fn looks_where_the_copies_point(&mut self, store: &StoreView, missing: &[RecordNo]) -> bool {
        let here = self.observed.placement.as_ref().ok();
        let here = here.and_then(|placement| self.desired.databases.get(&placement.database));
        for (app, copy) in &store.copies {
            let Presence::Ours(seen) = copy else { continue };
            let elsewhere = Some(&seen.copy.database.endpoint) != here && !self.is_provable(app, seen);
            if elsewhere && missing.contains(&seen.copy.record) {
                let message = format!(
                    "record {} is missing, and the copy of {app} that names it points at {}, which is not where this tenant is looked \
                     for; say where it lives in spec.placement",
                    seen.copy.record, seen.copy.database.endpoint,
                );
                let failure = Failure::blocked(Reason::UnknownPlacement, message);
                self.wrong(Layer::Store, Some(app), failure);
                return false;
            }
        }
        true
    }

    /// From the copies that name it, each proven first; else void. History is mended under the uid that last held it: a repair is
    /// no claim.
    fn mend(&mut self, record: RecordNo, store: &StoreView) {
        let uid = store
            .ledger
            .last()
            .map_or_else(|| self.desired.uid.clone(), |last| last.uid.clone());
        let mut needs = Vec::new();
        let mut apps = Vec::new();
        for (app, copy) in &store.copies {
            let Presence::Ours(seen) = copy else { continue };
            if seen.copy.record == record && self.is_provable(app, seen) {
                let because = "its record is missing and the copy may stand in for it, if it logs in";
                let login = seen.copy.database.username.clone();
                let from = Source::Copy;
                needs.push(self.step(
                    Step::ProveLogin {
                        app: app.clone(),
                        record,
                        login,
                        from,
                    },
                    because,
                    vec![],
                ));
                if let Some(cache) = &seen.copy.cache {
                    let user = cache.username.clone();
                    needs.push(self.step(
                        Step::ProveCacheUser {
                            app: app.clone(),
                            record,
                            user,
                            from,
                        },
                        because,
                        vec![],
                    ));
                }
                apps.push(app.clone());
            }
        }
        if apps.is_empty() {
            self.step(
                Step::CommitVoid { record, uid },
                "another layer names this number and its record is lost",
                needs,
            );
        } else {
            self.step(
                Step::FillRecord { record, uid, apps },
                "its record is missing and these copies name it",
                needs,
            );
        }
    }

    /// A copy can be proven only where its login and its user are there to log in, bear the mark of that very app and record, and did not
    /// refuse it time and again: one app that drifted must not keep the others' record from being mended.
    fn is_provable(&self, app: &AppName, seen: &CopySeen) -> bool {
        let is_its = |mark: &Mark| mark.app.as_ref() == Some(app) && mark.record == seen.copy.record;
        let database = self.observed.database.known();
        let login = database.is_some_and(
            |view| matches!(view.login(&seen.copy.database.username), Presence::Ours(login) if is_its(&login.mark)),
        );
        let cache = self.observed.cache.known();
        let user = seen.copy.cache.as_ref().is_none_or(|copy| {
            cache.is_some_and(|view| matches!(view.user(&copy.username), Presence::Ours(user) if is_its(&user.mark)))
        });
        login && user && !self.observed.recall.is_refused(app)
    }

    /// Commits what this pass has to commit: credentials for new apps, or the claim of a Tenant that was created again.
    pub(super) fn commit(&mut self, store: &StoreView, placement: &Placement, fresh: &[AppName]) -> Vec<Holding> {
        let claim = store.ledger.claim(&self.desired.uid);
        if fresh.is_empty() && claim != Claim::Anothers {
            return Vec::new();
        }
        if !self.sees_all {
            // What could not be read is a finding already; until it can be, nothing is committed, and nothing may follow.
            self.may_write = claim != Claim::Anothers;
            return Vec::new();
        }
        let next = self.observed.highest().map_or(Some(RecordNo::FIRST), RecordNo::next);
        let Some(number) = next else {
            let message = "all record numbers of this tenant are used";
            self.wrong(Layer::Store, None, Failure::blocked(Reason::LedgerFull, message));
            self.may_write = claim != Claim::Anothers;
            return Vec::new();
        };
        match self.draft(number, placement, fresh) {
            Some(draft) if !fresh.is_empty() => self.commit_issue(draft),
            Some(_) | None => {
                if claim == Claim::Anothers {
                    let step = Step::CommitOpen {
                        record: number,
                        uid: self.desired.uid.clone(),
                    };
                    let open = self.step(step, "the ledger names an earlier Tenant object of this name", vec![]);
                    self.root = vec![open];
                }
                Vec::new()
            }
        }
    }

    fn commit_issue(&mut self, draft: IssueDraft) -> Vec<Holding> {
        let record = draft.number;
        let holdings = draft
            .apps
            .iter()
            .map(|(app, names)| Holding {
                app: app.clone(),
                record,
                names: names.clone(),
                copy_version: None,
            })
            .collect();
        let commit = self.step(Step::CommitIssue(draft), "these apps have no credential yet", vec![]);
        let because = "only what the store gives back is ever used";
        let back = self.step(Step::ReadBack { record }, because, vec![commit]);
        self.root = vec![back];
        holdings
    }

    /// The record that would be committed, if its names are free and it fits.
    fn draft(&mut self, number: RecordNo, placement: &Placement, fresh: &[AppName]) -> Option<IssueDraft> {
        let mut draft = IssueDraft {
            number,
            uid: self.desired.uid.clone(),
            at: whole_seconds(self.now),
            placement: placement.clone(),
            apps: std::collections::BTreeMap::new(),
        };
        let mut free = true;
        for app in fresh {
            let wanted = self.desired.apps.get(app)?;
            match wanted.names(&self.desired.installation, &self.desired.tenant, number) {
                Ok(names) => {
                    free &= self.names_are_free(app, &names);
                    draft.apps.insert(app.clone(), names);
                }
                Err(error) => {
                    self.wrong(Layer::Store, Some(app), crate::desired::refusal(&error));
                    free = false;
                }
            }
        }
        (free && self.fits(&draft)).then_some(draft)
    }

    /// Every object was read before a draft is made, so a name is free or somebody has it.
    fn names_are_free(&mut self, app: &AppName, names: &CredentialNames) -> bool {
        let login = self.observed.database.known().map(|view| view.login(&names.login));
        let holder = login.and_then(|login| login.holder(|seen| &seen.mark));
        if let Some(holder) = &holder {
            self.taken(Layer::Database, app, &format!("role {}", names.login), holder);
        }
        let Some((id, _)) = &names.cache else {
            return holder.is_none();
        };
        let user = self.observed.cache.known().map(|view| view.user(id));
        let user_holder = user.and_then(|user| user.holder(|seen| &seen.mark));
        if let Some(holder) = &user_holder {
            self.taken(Layer::Cache, app, &format!("cache user {id}"), holder);
        }
        holder.is_none() && user_holder.is_none()
    }

    fn fits(&mut self, draft: &IssueDraft) -> bool {
        let record = draft.seal(|| Secret::new("x".repeat(PASSWORD_LENGTH)));
        let size = record
            .write(&self.desired.installation, &self.desired.tenant)
            .expose()
            .len();
        let room = self.desired.tier.bytes();
        if size > room {
            let message = format!(
                "record {} would be {size} bytes, a parameter of this tier holds {room}",
                draft.number
            );
            self.wrong(Layer::Store, None, Failure::refused(Reason::RecordTooLarge, message));
        }
        size <= room
    }
}
