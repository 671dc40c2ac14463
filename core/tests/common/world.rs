//! What the three layers of tenant `acme` look like, told one object at a time. `servers.rs` lets steps act on it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use ramparts_core::{
    acl::CacheProfile,
    desired::Desired,
    failure::Failure,
    ledger::{Body, CacheCredential, Credential, Placement, Record},
    mark::Mark,
    name::{Access, AppName, CacheUser, Installation, RecordNo, RoleName, TargetName, TenantName},
    observed::{
        CacheUserSeen, CacheView, CopySeen, DatabaseSeen, DatabaseView, LoginSeen, Membership, Observed, Presence,
        StoreView, View,
    },
    plan::{LAYOUT, Plan, plan},
    published::PublishedCopy,
    recall::Recall,
    secret::Secret,
};

use super::{Wish, app, now, record, role, user};

/// The three layers, and what is wrong with them.
#[derive(Clone, Debug)]
pub struct World {
    pub store: StoreView,
    pub database: DatabaseView,
    pub cache: CacheView,
    pub recall: Recall,
    pub store_fault: Option<Failure>,
    pub database_fault: Option<Failure>,
    pub cache_fault: Option<Failure>,
    /// Logins and cache users whose password somebody changed.
    pub refusing: BTreeSet<String>,
    /// The cache takes its time: a new user is `creating` until the next pass.
    pub slow_cache: bool,
    /// How many passwords were ever drawn.
    pub drawn: u32,
    pub(super) oids: u32,
}

/// Nothing anywhere.
pub fn world() -> World {
    World {
        store: StoreView::default(),
        database: DatabaseView {
            database: Presence::Absent,
            groups: BTreeMap::new(),
            logins: BTreeMap::new(),
        },
        cache: CacheView::default(),
        recall: Recall {
            proof_lasts: Duration::from_hours(24),
            ..Recall::default()
        },
        store_fault: None,
        database_fault: None,
        cache_fault: None,
        refusing: BTreeSet::new(),
        slow_cache: false,
        drawn: 0,
        oids: 16_384,
    }
}

/// The password that the stories' record of that number gives an app.
pub fn password(of: &str, app: &str, number: u32) -> Secret {
    Secret::new(format!("rmp_CANARY{of}{app}{number}"))
}

fn short(app: &str) -> String {
    app.replace('-', "")
}

fn numbered(name: String, separator: char, number: u32) -> String {
    if number == 1 {
        name
    } else {
        format!("{name}{separator}{number}")
    }
}

pub fn login_of(name: &str, number: u32) -> RoleName {
    role(&numbered(format!("acme_{}", short(name)), '_', number))
}

pub fn user_of(name: &str, number: u32) -> CacheUser {
    user(&numbered(format!("prod-acme-{}", short(name)), '-', number))
}

pub fn mark(of: Option<&str>, number: u32) -> Mark {
    Mark {
        installation: Installation::parse("prod").unwrap(),
        tenant: TenantName::parse("acme").unwrap(),
        app: of.map(app),
        record: record(number),
        layout: None,
    }
}

pub fn access_of(name: &str) -> Access {
    match name {
        "api" => Access::Owner,
        "worker" | "web-admin" => Access::ReadWrite,
        _ => Access::ReadOnly,
    }
}

fn has_cache(name: &str) -> bool {
    matches!(name, "api" | "worker")
}

/// What record `number` gives an app of the stories.
pub fn credential(name: &str, number: u32) -> Credential {
    Credential {
        login: login_of(name, number),
        login_password: password("db", name, number),
        access: access_of(name),
        cache: has_cache(name).then(|| CacheCredential {
            user: user_of(name, number),
            password: password("cache", name, number),
            profile: CacheProfile::Standard,
        }),
    }
}

pub fn target(name: &str) -> TargetName {
    TargetName::parse(name).unwrap()
}

pub fn placement() -> Placement {
    Placement {
        database: target("main"),
        cache: Some(target("main")),
    }
}

impl World {
    /// Everything that a Ready tenant with these apps has, issued by record 1 for `uid-1`.
    pub fn ready(apps: &[&str]) -> Self {
        let mut world = world().with_record(1, apps).with_groups().with_database();
        for app in apps {
            world = world.with_login(app, 1).with_cache_user(app, 1).with_copy(app, 1);
        }
        world
    }

    pub fn with_body(mut self, number: u32, uid: &str, body: Body) -> Self {
        let number = record(number);
        self.store.ledger.records.insert(
            number,
            Record {
                number,
                uid: uid.into(),
                at: now(),
                body,
            },
        );
        self
    }

    pub fn with_record(self, number: u32, apps: &[&str]) -> Self {
        let apps = apps.iter().map(|name| (app(name), credential(name, number))).collect();
        self.with_body(
            number,
            "uid-1",
            Body::Issue {
                placement: placement(),
                apps,
            },
        )
    }

    pub fn placed_on(mut self, database: &str, cache: Option<&str>) -> Self {
        for record in self.store.ledger.records.values_mut() {
            if let Body::Issue { placement, .. } = &mut record.body {
                *placement = Placement {
                    database: target(database),
                    cache: cache.map(target),
                };
            }
        }
        self
    }

    /// The record is gone from the store.
    pub fn lost_record(mut self, number: u32) -> Self {
        self.store.ledger.records.remove(&record(number));
        self
    }

    /// A read of that very number has shown nothing.
    pub fn confirmed(mut self, number: u32) -> Self {
        self.store.ledger.confirmed_missing.insert(record(number));
        self
    }

    pub fn with_groups(mut self) -> Self {
        self.database.groups = Access::ALL.map(|access| (access, Presence::Ours(()))).into();
        self
    }

    pub fn with_database(mut self) -> Self {
        let mark = Mark {
            layout: Some(LAYOUT),
            ..mark(None, 1)
        };
        self.database.database = Presence::Ours(DatabaseSeen {
            mark: Some(mark),
            sealed: true,
        });
        self
    }

    pub fn without_database(mut self) -> Self {
        self.database.database = Presence::Absent;
        self
    }

    /// A login as the plan `standard` wants it.
    pub fn with_login(mut self, name: &str, number: u32) -> Self {
        self.oids += 1;
        let access = access_of(name);
        let mut settings: BTreeMap<String, String> = [("statement_timeout", "30s"), ("work_mem", "16MB")]
            .map(|(k, v)| (k.into(), v.into()))
            .into();
        if access == Access::Owner {
            settings.insert("role".into(), "acme__owner".into());
        }
        let seen = LoginSeen {
            mark: mark(Some(name), number),
            oid: self.oids,
            can_login: true,
            expired: false,
            connections: 20,
            settings,
            member_of: vec![RoleName::group(&TenantName::parse("acme").unwrap(), access)],
        };
        self.database
            .logins
            .insert(login_of(name, number), Presence::Ours(seen));
        self
    }

    pub fn login_mut(&mut self, name: &str) -> &mut LoginSeen {
        match self.database.logins.get_mut(&role(name)) {
            Some(Presence::Ours(seen)) => seen,
            other => panic!("{name} is {other:?}"),
        }
    }

    pub fn without_login(mut self, name: &str) -> Self {
        self.database.logins.remove(&role(name)).unwrap();
        self
    }

    /// A cache user that is active and in its group; nothing for an app that has none.
    pub fn with_cache_user(mut self, name: &str, number: u32) -> Self {
        if has_cache(name) {
            let seen = CacheUserSeen {
                mark: mark(Some(name), number),
                pending: None,
                membership: Membership::Member,
            };
            self.cache.users.insert(user_of(name, number), Presence::Ours(seen));
        }
        self
    }

    pub fn user_mut(&mut self, name: &str) -> &mut CacheUserSeen {
        match self.cache.users.get_mut(&user(name)) {
            Some(Presence::Ours(seen)) => seen,
            other => panic!("{name} is {other:?}"),
        }
    }

    pub fn without_user(mut self, name: &str) -> Self {
        self.cache.users.remove(&user(name)).unwrap();
        self
    }

    pub fn with_copy(mut self, name: &str, number: u32) -> Self {
        let wish = super::tenant("acme").app(name);
        let at = wish.desired().whereabouts(&placement(), RecordNo::FIRST).unwrap();
        let copy = PublishedCopy::of(&credential(name, number), record(number), now(), &at).unwrap();
        self.store.copies.insert(
            app(name),
            Presence::Ours(CopySeen {
                copy,
                version: "1".into(),
            }),
        );
        self
    }

    pub fn copy_mut(&mut self, name: &str) -> &mut CopySeen {
        match self.store.copies.get_mut(&app(name)) {
            Some(Presence::Ours(seen)) => seen,
            other => panic!("{name} is {other:?}"),
        }
    }

    pub fn without_copy(mut self, name: &str) -> Self {
        self.store.copies.remove(&app(name)).unwrap();
        self
    }

    pub fn foreign_role(mut self, name: &str) -> Self {
        self.database
            .logins
            .insert(role(name), Presence::Foreign("it has no mark".into()));
        self
    }

    pub fn foreign_user(mut self, name: &str) -> Self {
        self.cache
            .users
            .insert(user(name), Presence::Foreign("it has no tags".into()));
        self
    }

    pub fn foreign_copy(mut self, name: &str) -> Self {
        self.store
            .copies
            .insert(app(name), Presence::Foreign("it has no mark".into()));
        self
    }

    /// What a pass would see. The placement is that of the ledger, as the live world says it.
    pub fn observe(&self, desired: &Desired) -> Observed {
        fn view<T: Clone>(state: &T, fault: Option<&Failure>) -> View<T> {
            fault.map_or_else(|| View::Known(state.clone()), |fault| View::Unknown(fault.clone()))
        }
        Observed {
            placement: match &self.store_fault {
                None => desired.place(self.store.ledger.placement().as_ref()),
                Some(fault) => Err(fault.clone()),
            },
            store: view(&self.store, self.store_fault.as_ref()),
            database: view(&self.database, self.database_fault.as_ref()),
            cache: view(&self.cache, self.cache_fault.as_ref()),
            recall: self.recall.clone(),
        }
    }

    pub fn plan(&self, wish: &Wish) -> Plan {
        let desired = wish.desired();
        plan(&desired, &self.observe(&desired), now())
    }

    pub fn has_record(&self, number: u32) -> bool {
        self.store.ledger.records.contains_key(&record(number))
    }

    /// Every credential of the ledger, value for value.
    pub fn credentials(&self) -> BTreeMap<(RecordNo, AppName), Credential> {
        self.store
            .ledger
            .records
            .values()
            .filter_map(|record| match &record.body {
                Body::Issue { apps, .. } => {
                    Some(apps.iter().map(|(app, it)| ((record.number, app.clone()), it.clone())))
                }
                Body::Open | Body::Void => None,
            })
            .flatten()
            .collect()
    }
}
