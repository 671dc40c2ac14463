//! The least that three servers do: each step has its effect on the world, once, and only if what it rests on is there. A step that
//! could not have been carried out by a real server panics: a plan that asks for it is wrong.

use std::collections::BTreeMap;

use ramparts_core::{
    acl::CacheProfile,
    cursor::Outcome,
    desired::Desired,
    failure::Failure,
    ledger::{Body, CacheCredential, Credential, Record},
    mark::Mark,
    name::{Access, AppName, RecordNo, RoleName},
    observed::{CacheUserSeen, CopySeen, DatabaseSeen, LoginSeen, Membership, Presence},
    published::PublishedCopy,
    reason::Reason,
    secret::Secret,
    step::{LoginChanges, Source, Step},
};

use super::{World, now, world::access_of};

impl World {
    pub fn apply(&mut self, desired: &Desired, step: &Step) -> Outcome {
        match step {
            Step::CommitIssue(draft) => {
                let drawn = &mut self.drawn;
                let record = draft.seal(|| {
                    *drawn += 1;
                    Secret::new(format!("rmp_CANARYdrawn{drawn}"))
                });
                self.commit(record)
            }
            Step::CommitOpen { record, uid } => self.commit_body(*record, uid, Body::Open),
            Step::CommitVoid { record, uid } => self.commit_body(*record, uid, Body::Void),
            Step::FillRecord { record, uid, apps } => {
                let apps = apps
                    .iter()
                    .map(|app| (app.clone(), self.credential_of_copy(app)))
                    .collect();
                let placement = desired.place(self.store.ledger.placement().as_ref()).unwrap();
                self.commit_body(*record, uid, Body::Issue { placement, apps })
            }
            Step::ReadBack { record } => {
                assert!(
                    self.store.ledger.records.contains_key(record),
                    "record {record} is read back and not there"
                );
                Outcome::Done
            }
            Step::Publish { app, record } => self.publish(desired, app, *record),
            Step::CreateGroups { .. }
            | Step::CreateDatabase { .. }
            | Step::SealDatabase { .. }
            | Step::PrepareDatabase { .. }
            | Step::CreateLogin { .. }
            | Step::ConfigureLogin { .. }
            | Step::ProveLogin { .. } => self.apply_to_database(desired, step),
            Step::CreateCacheUser { .. } | Step::JoinUserGroup { .. } | Step::ProveCacheUser { .. } => {
                self.apply_to_cache(desired, step)
            }
        }
    }

    fn commit_body(&mut self, number: RecordNo, uid: &str, body: Body) -> Outcome {
        self.commit(Record {
            number,
            uid: uid.into(),
            at: now(),
            body,
        })
    }

    /// Create-only: what is there stays.
    fn commit(&mut self, record: Record) -> Outcome {
        assert!(
            !self.store.ledger.records.contains_key(&record.number),
            "record {} is committed twice",
            record.number
        );
        self.store.ledger.records.insert(record.number, record);
        Outcome::Done
    }

    fn credential_of_copy(&self, app: &AppName) -> Credential {
        let Presence::Ours(seen) = self.store.copy(app) else {
            panic!("{app} has no copy to fill from")
        };
        Credential {
            login: seen.copy.database.username.clone(),
            login_password: seen.copy.database.password.clone(),
            access: access_of(app.as_str()),
            cache: seen.copy.cache.as_ref().map(|cache| CacheCredential {
                user: cache.username.clone(),
                password: cache.password.clone(),
                profile: CacheProfile::Standard,
            }),
        }
    }

    fn issued(&self, app: &AppName, record: RecordNo) -> &Credential {
        self.store
            .ledger
            .credential(record, app)
            .unwrap_or_else(|| panic!("law 2: record {record} gives {app} nothing"))
    }

    fn publish(&mut self, desired: &Desired, app: &AppName, record: RecordNo) -> Outcome {
        assert_eq!(
            *self.store.copy(app),
            Presence::Absent,
            "{app} is published over something"
        );
        let placement = self.store.ledger.placement().unwrap();
        let at = desired.whereabouts(&placement, self.store.ledger.life()).unwrap();
        let issued_at = self.store.ledger.records[&record].at;
        let copy = PublishedCopy::of(self.issued(app, record), record, issued_at, &at).unwrap();
        self.store.copies.insert(
            app.clone(),
            Presence::Ours(CopySeen {
                copy,
                version: "1".into(),
            }),
        );
        Outcome::Done
    }

    fn apply_to_database(&mut self, desired: &Desired, step: &Step) -> Outcome {
        if let Some(fault) = &self.database_fault {
            assert!(!step.writes(), "law 3: {step}");
            if fault.reason == Reason::DatabaseUnreachable {
                return unreachable(step);
            }
        }
        let view = &mut self.database;
        match step {
            Step::CreateGroups { groups, .. } => {
                for (access, _) in groups {
                    assert_eq!(
                        view.groups
                            .insert(*access, Presence::Ours(()))
                            .unwrap_or(Presence::Absent),
                        Presence::Absent
                    );
                }
            }
            Step::CreateDatabase { .. } => {
                assert_eq!(view.database, Presence::Absent, "{step}");
                view.database = Presence::Ours(DatabaseSeen {
                    mark: None,
                    sealed: false,
                });
            }
            Step::SealDatabase { record, layout, .. } => {
                assert_eq!(view.groups.len(), Access::ALL.len(), "{step} before its groups");
                let Presence::Ours(seen) = &mut view.database else {
                    panic!("{step} before the database")
                };
                *seen = DatabaseSeen {
                    mark: Some(own_mark(desired, None, *record, *layout)),
                    sealed: true,
                };
            }
            Step::PrepareDatabase { record, layout, .. } => {
                let Presence::Ours(seen) = &mut view.database else {
                    panic!("{step} before the database")
                };
                assert!(seen.sealed, "{step} before it was closed to others");
                seen.mark = Some(own_mark(desired, None, *record, Some(*layout)));
            }
            Step::CreateLogin {
                app,
                record,
                login,
                access,
            } => {
                assert_eq!(self.issued(app, *record).login, *login, "{step}");
                self.create_login(desired, app, *record, login, *access);
            }
            Step::ConfigureLogin { login, changes } => self.configure(login, changes),
            Step::ProveLogin {
                app,
                record,
                login,
                from,
            } => return self.prove_login(app, *record, login, *from),
            other => panic!("{other} is not for the database"),
        }
        Outcome::Done
    }

    fn create_login(&mut self, desired: &Desired, app: &AppName, record: RecordNo, login: &RoleName, access: Access) {
        assert!(
            matches!(self.database.database, Presence::Ours(_)),
            "{login} is made before the database"
        );
        assert_eq!(*self.database.login(login), Presence::Absent, "{login} is made twice");
        self.oids += 1;
        let seen = LoginSeen {
            mark: own_mark(desired, Some(app), record, None),
            oid: self.oids,
            can_login: true,
            expired: false,
            connections: -1,
            settings: BTreeMap::new(),
            member_of: vec![RoleName::group(&desired.tenant, access)],
        };
        self.database.logins.insert(login.clone(), Presence::Ours(seen));
    }

    fn configure(&mut self, login: &RoleName, changes: &LoginChanges) {
        let Some(Presence::Ours(seen)) = self.database.logins.get_mut(login) else {
            panic!("{login} is not ours to configure")
        };
        seen.connections = changes.connections.unwrap_or(seen.connections);
        seen.settings.extend(changes.set.clone());
        seen.settings.retain(|key, _| !changes.reset.contains(key));
        seen.member_of.extend(changes.join.clone());
    }

    fn prove_login(&self, app: &AppName, record: RecordNo, login: &RoleName, from: Source) -> Outcome {
        if from == Source::Ledger {
            assert_eq!(self.issued(app, record).login, *login);
        }
        // Without the catalog, or from a copy alone, nobody could know better than to ask.
        let blind = self.database_fault.is_some() || from == Source::Copy;
        match self.database.login(login) {
            Presence::Ours(seen) if seen.can_login && !seen.expired => {}
            _ if blind => return refused(login.as_str()),
            other => panic!("{login} is proven and cannot log in: {other:?}"),
        }
        self.answer(login.as_str())
    }

    fn apply_to_cache(&mut self, desired: &Desired, step: &Step) -> Outcome {
        if let Some(fault) = &self.cache_fault {
            assert!(!step.writes(), "law 3: {step}");
            if fault.reason == Reason::CacheUnreachable {
                return unreachable(step);
            }
        }
        match step {
            Step::CreateCacheUser { app, record, user } => {
                assert_eq!(self.issued(app, *record).cache.as_ref().unwrap().user, *user, "{step}");
                assert_eq!(*self.cache.user(user), Presence::Absent, "{user} is made twice");
                let pending = self.slow_cache.then(|| "creating".to_owned());
                let mark = own_mark(desired, Some(app), *record, None);
                let seen = CacheUserSeen {
                    mark,
                    pending: pending.clone(),
                    membership: Membership::Outside,
                };
                self.cache.users.insert(user.clone(), Presence::Ours(seen));
                pending.map_or(Outcome::Done, |state| {
                    Outcome::Pending(Reason::CacheUserPending, format!("cache user {user} is {state}"))
                })
            }
            Step::JoinUserGroup { users } => {
                assert_eq!(self.cache.group_busy, None, "{step}");
                let slow = self.slow_cache;
                for user in users {
                    let Some(Presence::Ours(seen)) = self.cache.users.get_mut(user) else {
                        panic!("{user} joins and is not there")
                    };
                    seen.membership = if slow { Membership::Joining } else { Membership::Member };
                }
                if slow {
                    return Outcome::Pending(Reason::UserGroupPending, "the user group is modifying".into());
                }
                Outcome::Done
            }
            Step::ProveCacheUser { user, .. } => {
                match self.cache.user(user) {
                    Presence::Ours(_) => {}
                    _ if self.cache_fault.is_some() => return refused(user.as_str()),
                    other => panic!("{user} is proven and not there: {other:?}"),
                }
                self.answer(user.as_str())
            }
            other => panic!("{other} is not for the cache"),
        }
    }

    fn answer(&self, name: &str) -> Outcome {
        if self.refusing.contains(name) {
            refused(name)
        } else {
            Outcome::Done
        }
    }
}

fn refused(name: &str) -> Outcome {
    Outcome::Failed(Failure::blocked(Reason::LoginRefused, format!("{name} is refused")))
}

fn own_mark(desired: &Desired, app: Option<&AppName>, record: RecordNo, layout: Option<u32>) -> Mark {
    Mark {
        installation: desired.installation.clone(),
        tenant: desired.tenant.clone(),
        app: app.cloned(),
        record,
        layout,
    }
}

pub(super) fn unreachable(step: &Step) -> Outcome {
    use ramparts_core::observed::Layer;
    let reason = match step.layer() {
        Layer::Store => Reason::StoreUnreachable,
        Layer::Database => Reason::DatabaseUnreachable,
        Layer::Cache => Reason::CacheUnreachable,
    };
    Outcome::Failed(Failure::transient(reason, format!("{step}: it did not answer")))
}
