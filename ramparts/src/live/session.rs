//! One pass over one tenant on live servers. It keeps the ledger that was read, and every credential that it uses comes from there: a
//! value that was drawn is dropped as soon as the store was asked to keep it.

mod commit;

use std::sync::Arc;

use ramparts_core::{
    cursor::Outcome,
    desired::Desired,
    failure::{Class, Failure},
    ledger::{Credential, IssueDraft, Placement},
    name::{AppName, CacheUser, KeyPrefix, RecordNo, RoleName, TargetName, TenantName},
    observed::{CacheView, DatabaseView, Observed, StoreView, View},
    reason::Reason,
    recall::Recall,
    step::{Source, Step},
};

use crate::{
    aws::{CreatedUser, Joined},
    cache,
    postgres::TenantLock,
    world::Session,
};

use super::Live;

/// A pass in progress.
#[derive(Debug)]
pub struct LiveSession {
    live: Arc<Live>,
    desired: Desired,
    /// What the store gave: the only source of credentials.
    store: StoreView,
    database: Option<DatabaseView>,
    placement: Option<Placement>,
    lock: Option<(TargetName, TenantLock)>,
    /// The names of the record that this pass tried to commit, for comparison with what is read back.
    committed: Option<IssueDraft>,
}

impl LiveSession {
    pub(super) fn new(live: Arc<Live>, desired: Desired) -> Self {
        Self {
            live,
            desired,
            store: StoreView::default(),
            database: None,
            placement: None,
            lock: None,
            committed: None,
        }
    }

    /// The tenant's part of its server, on the locked session if there is one. Borrows nothing of this pass, so that the cache can be
    /// looked at meanwhile.
    async fn observe_database(
        live: &Live,
        lock: Option<&mut TenantLock>,
        tenant: &TenantName,
        server: &TargetName,
        wanted: &[RoleName],
    ) -> Result<DatabaseView, Failure> {
        let id = live.enrolled(server).await?;
        live.server(server)?.observe(lock, &id, tenant, wanted).await
    }

    async fn observe_cache(
        live: &Live,
        tenant: &TenantName,
        cache: Option<&TargetName>,
        wanted: &[CacheUser],
    ) -> Result<CacheView, Failure> {
        match cache {
            None => Ok(CacheView::default()),
            Some(cache) => live.cache(cache)?.users.observe(tenant, wanted).await,
        }
    }

    /// Numbers that another layer names and the listing did not show are read directly: a listing may lag, a read of the very name
    /// decides.
    async fn read_missing(&mut self, observed: &mut Observed) {
        let View::Known(store) = &observed.store else { return };
        for number in store.ledger.missing(observed.highest()) {
            match self.live.store.record(&self.desired.tenant, number, false).await {
                Ok(Some(record)) => {
                    self.store.ledger.records.insert(number, record);
                }
                Ok(None) => {
                    self.store.ledger.confirmed_missing.insert(number);
                }
                Err(failure) => {
                    observed.store = View::Unknown(failure);
                    return;
                }
            }
        }
        observed.store = View::Known(self.store.clone());
    }

    fn credential(&self, app: &AppName, record: RecordNo) -> Result<&Credential, Failure> {
        self.store
            .ledger
            .credential(record, app)
            .ok_or_else(|| Failure::defect(format!("record {record} has no credential for {app} in this pass")))
    }

    fn placed(&self) -> Result<&Placement, Failure> {
        self.placement
            .as_ref()
            .ok_or_else(|| Failure::defect("a step was asked for before the tenant was placed"))
    }

    fn locked(&mut self) -> Result<&mut TenantLock, Failure> {
        let lock = self.lock.as_mut().map(|(_, lock)| lock);
        lock.ok_or_else(|| Failure::defect("a write was asked for without the tenant's lock"))
    }

    async fn carry_out(&mut self, step: &Step) -> Result<Outcome, Failure> {
        if step.writes() {
            // Everything that changes anything outside happens under the lock.
            self.locked()?;
        }
        let tenant = self.desired.tenant.clone();
        match step {
            Step::CommitIssue(_)
            | Step::CommitOpen { .. }
            | Step::CommitVoid { .. }
            | Step::FillRecord { .. }
            | Step::ReadBack { .. }
            | Step::Publish { .. } => return self.commit(step).await,
            Step::CreateGroups { groups, record } => self.locked()?.create_groups(&tenant, groups, *record).await?,
            Step::CreateDatabase { database } => self.locked()?.create_database(database).await?,
            Step::SealDatabase {
                database,
                record,
                layout,
            } => {
                self.locked()?
                    .seal_database(&tenant, database, *record, *layout)
                    .await?;
            }
            Step::PrepareDatabase {
                database,
                record,
                layout,
            } => {
                self.locked()?
                    .prepare_database(&tenant, database, *record, *layout)
                    .await?;
            }
            Step::CreateLogin {
                app,
                record,
                login,
                access,
            } => {
                let password = self.credential(app, *record)?.login_password.clone();
                self.locked()?
                    .create_login(&tenant, app, *record, login, *access, &password)
                    .await?;
            }
            Step::ConfigureLogin { login, changes } => {
                let database = self.desired.database();
                self.locked()?.configure_login(&database, login, changes).await?;
            }
            Step::ProveLogin {
                app,
                record,
                login,
                from,
            } => self.prove_login(app, *record, login, *from).await?,
            Step::CreateCacheUser { app, record, user } => return self.create_cache_user(app, *record, user).await,
            Step::JoinUserGroup { users } => {
                let cache = self.placed_cache()?;
                return Ok(match cache.users.join(users).await? {
                    Joined::Done => Outcome::Done,
                    Joined::Pending(state) => Outcome::Pending(Reason::UserGroupPending, state),
                });
            }
            Step::ProveCacheUser {
                app,
                record,
                user,
                from,
            } => self.prove_cache_user(app, *record, user, *from).await?,
        }
        Ok(Outcome::Done)
    }

    fn placed_cache(&self) -> Result<&super::LiveCache, Failure> {
        let cache = self.placed()?.cache.as_ref();
        self.live
            .cache(cache.ok_or_else(|| Failure::defect("this tenant is placed on no cache"))?)
    }

    async fn create_cache_user(&self, app: &AppName, record: RecordNo, user: &CacheUser) -> Result<Outcome, Failure> {
        let cache = self.credential(app, record)?.cache.as_ref();
        let cache = cache.ok_or_else(|| Failure::defect(format!("record {record} has no cache user for {app}")))?;
        let prefix = KeyPrefix::of(&self.desired.tenant, self.store.ledger.life());
        let rules = cache.profile.access_string(&prefix);
        let users = &self.placed_cache()?.users;
        let created = users
            .create_user(&self.desired.tenant, app, record, user, &rules, &cache.password)
            .await?;
        Ok(match created {
            CreatedUser::Active => Outcome::Done,
            CreatedUser::Pending(state) => {
                Outcome::Pending(Reason::CacheUserPending, format!("cache user {user} is {state}"))
            }
        })
    }

    async fn prove_login(
        &self,
        app: &AppName,
        record: RecordNo,
        login: &RoleName,
        from: Source,
    ) -> Result<(), Failure> {
        let password = match from {
            Source::Ledger => self.credential(app, record)?.login_password.clone(),
            Source::Copy => self.copy(app)?.database.password.clone(),
        };
        let server = self.live.server(&self.placed()?.database)?;
        server.prove(&self.desired.database(), login, &password).await
    }

    async fn prove_cache_user(
        &self,
        app: &AppName,
        record: RecordNo,
        user: &CacheUser,
        from: Source,
    ) -> Result<(), Failure> {
        let missing = || Failure::defect(format!("record {record} has no cache user for {app}"));
        let password = match from {
            Source::Ledger => self
                .credential(app, record)?
                .cache
                .as_ref()
                .ok_or_else(missing)?
                .password
                .clone(),
            Source::Copy => self.copy(app)?.cache.as_ref().ok_or_else(missing)?.password.clone(),
        };
        let cache = &self.placed_cache()?.settings;
        let prefix = KeyPrefix::of(&self.desired.tenant, self.store.ledger.life());
        cache::prove(
            &self.live.gate,
            &cache.endpoint,
            cache.ca.as_deref(),
            user,
            &password,
            prefix.as_str(),
        )
        .await
    }
}

impl Session for LiveSession {
    async fn observe(&mut self, recall: Recall) -> Observed {
        self.committed = None;
        let store = self.live.store.observe(&self.desired.tenant).await;
        let ledger = store.as_ref().ok().and_then(|store| store.ledger.placement());
        self.store = store.as_ref().cloned().unwrap_or_default();
        let placement = self.desired.place(ledger.as_ref());
        self.placement = placement.as_ref().ok().cloned();
        let mut observed = Observed {
            store: view(store),
            database: View::Unknown(Failure::transient(
                Reason::UnknownPlacement,
                "this tenant is not placed yet",
            )),
            cache: View::Unknown(Failure::transient(
                Reason::UnknownPlacement,
                "this tenant is not placed yet",
            )),
            placement,
            recall,
        };
        let Some(placement) = self.placement.clone() else {
            return observed;
        };
        if self
            .lock
            .as_ref()
            .is_some_and(|(server, _)| *server != placement.database)
        {
            // The ledger places it elsewhere than was guessed: that lock guards nothing.
            self.release().await;
        }
        let wanted = self.desired.names_to_look_for(&self.store);
        let roles: Vec<RoleName> = wanted.iter().map(|names| names.login.clone()).collect();
        let users: Vec<CacheUser> = wanted.into_iter().filter_map(|names| Some(names.cache?.0)).collect();
        let (live, tenant) = (&self.live, &self.desired.tenant);
        let lock = self.lock.as_mut().map(|(_, lock)| lock);
        let (database, cache) = tokio::join!(
            Self::observe_database(live, lock, tenant, &placement.database, &roles),
            Self::observe_cache(live, tenant, placement.cache.as_ref(), &users),
        );
        if let Err(failure) = database.as_ref()
            && failure.reason == Reason::NotEnrolled
        {
            // Server and store do not belong together: then what the store says is not about this fleet.
            observed.store = View::Unknown(failure.clone());
        }
        observed.database = view(database);
        observed.cache = view(cache);
        self.database = observed.database.known().cloned();
        self.read_missing(&mut observed).await;
        observed
    }

    async fn lock(&mut self) -> Result<(), Failure> {
        let placement = match &self.placement {
            Some(placement) => placement.clone(),
            None => self.desired.place(None)?,
        };
        let name = placement.database;
        // The lock lives in the operator's own database, which is there only once the server is enrolled.
        self.live.enrolled(&name).await?;
        let lock = self.live.server(&name)?.lock(&self.desired.tenant).await?;
        self.lock = Some((name, lock));
        Ok(())
    }

    fn is_locked(&self) -> bool {
        self.lock.is_some()
    }

    async fn apply(&mut self, step: &Step) -> Outcome {
        match self.carry_out(step).await {
            Ok(outcome) => outcome,
            Err(failure) => {
                if failure.class == Class::Defect {
                    tracing::error!(step = %step, message = failure.message, "a step could not be understood");
                }
                Outcome::Failed(failure)
            }
        }
    }

    async fn close(mut self) {
        #[cfg(feature = "chaos")]
        crate::mutant::overwrite_on_create(&self).await;
        self.release().await;
    }
}

impl LiveSession {
    async fn release(&mut self) {
        if let Some((_, lock)) = self.lock.take() {
            lock.release().await;
        }
    }
}

fn view<T>(result: Result<T, Failure>) -> View<T> {
    match result {
        Ok(state) => View::Known(state),
        Err(failure) => View::Unknown(failure),
    }
}

#[cfg(feature = "chaos")]
impl LiveSession {
    /// What the mutant `overwrites-on-create` does: see `mutant.rs`.
    pub(crate) async fn overwrite_copies(&self) {
        for (app, copy) in &self.store.copies {
            let ramparts_core::observed::Presence::Ours(seen) = copy else {
                continue;
            };
            let mut copy = seen.copy.clone();
            copy.database.password = super::draw();
            self.live.store.overwrite_copy(&self.desired.tenant, app, &copy).await;
        }
    }
}
