//! What each layer looks like, as far as it could be seen. What could not be read is Unknown, which is never the same as absent;
//! what bears no mark of ours is Foreign, which is never touched.

use std::collections::BTreeMap;

use crate::{
    failure::Failure,
    ledger::{Body, Credential, Ledger, Placement},
    mark::Mark,
    name::{Access, AppName, CacheUser, RecordNo, RoleName},
    published::PublishedCopy,
    recall::Recall,
};

/// The three kinds of server that a tenant is spread over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// Ledger and copies.
    Store,
    /// PostgreSQL.
    Database,
    /// ElastiCache.
    Cache,
}

impl Layer {
    /// All three, in the order in which they are reported.
    pub const ALL: [Self; 3] = [Self::Database, Self::Cache, Self::Store];

    /// The spelling used in text and as a metric label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Store => "store",
            Self::Database => "database",
            Self::Cache => "cache",
        }
    }
}

/// A layer's state, or why it is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum View<T> {
    /// It was read.
    Known(T),
    /// It could not be read: no write may rest on it.
    Unknown(Failure),
}

impl<T> View<T> {
    /// The state, if it was read.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(state) => Some(state),
            Self::Unknown(_) => None,
        }
    }
}

/// One object on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence<T> {
    /// It is not there.
    Absent,
    /// It is there and bears our mark.
    Ours(T),
    /// It is there and is not ours; the text says what is known about it.
    Foreign(String),
    /// It could not be read.
    Unknown(Failure),
}

impl<T> Presence<T> {
    /// Why it could not be read, if it could not.
    pub fn unknown(&self) -> Option<&Failure> {
        match self {
            Self::Unknown(failure) => Some(failure),
            Self::Absent | Self::Ours(_) | Self::Foreign(_) => None,
        }
    }

    /// Who has this name, as far as that is known; nobody if it is free.
    pub fn holder(&self, mark: impl FnOnce(&T) -> &Mark) -> Option<String> {
        match self {
            Self::Absent | Self::Unknown(_) => None,
            Self::Ours(seen) => Some(mark(seen).to_string()),
            Self::Foreign(what) => Some(what.clone()),
        }
    }
}

/// Everything that a pass has seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// Where the tenant lives or would live; why not, if that cannot be said.
    pub placement: Result<Placement, Failure>,
    /// Ledger and copies.
    pub store: View<StoreView>,
    /// The tenant's part of its database server.
    pub database: View<DatabaseView>,
    /// The tenant's part of its cache; known and empty where no cache is placed.
    pub cache: View<CacheView>,
    /// What earlier passes of this process saw.
    pub recall: Recall,
}

/// Ledger and copies of one tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreView {
    /// The records.
    pub ledger: Ledger,
    /// A value in the ledger's place that is not ours, by name.
    pub foreign_record: Option<String>,
    /// The copies, by app; an app that is not here has none.
    pub copies: BTreeMap<AppName, Presence<CopySeen>>,
}

/// A published copy and its version in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopySeen {
    /// The document.
    pub copy: PublishedCopy,
    /// The store's own version of it.
    pub version: String,
}

/// One tenant's part of a PostgreSQL server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseView {
    /// The tenant's database.
    pub database: Presence<DatabaseSeen>,
    /// Its group roles.
    pub groups: BTreeMap<Access, Presence<()>>,
    /// Its logins, by name: those that bear the tenant's mark and those that were asked for; a name that is not here is absent.
    pub logins: BTreeMap<RoleName, Presence<LoginSeen>>,
}

/// A database of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseSeen {
    /// Its mark; none between CREATE DATABASE and the transaction that closes it to others.
    pub mark: Option<Mark>,
    /// It accepts connections, PUBLIC may not connect, and the groups may.
    pub sealed: bool,
}

/// A login of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginSeen {
    /// Which app and record it belongs to.
    pub mark: Mark,
    /// Tells this role from a later one of the same name.
    pub oid: u32,
    /// LOGIN or NOLOGIN.
    pub can_login: bool,
    /// Its VALID UNTIL has passed.
    pub expired: bool,
    /// Its connection limit.
    pub connections: i32,
    /// Its settings in the tenant's database.
    pub settings: BTreeMap<String, String>,
    /// The roles that it is a member of.
    pub member_of: Vec<RoleName>,
}

/// One tenant's part of a cache.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheView {
    /// Its users, by id; an id that is not here is absent.
    pub users: BTreeMap<CacheUser, Presence<CacheUserSeen>>,
    /// Why the user group takes no change now, if it does not.
    pub group_busy: Option<String>,
}

/// A cache user of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheUserSeen {
    /// Which app and record it belongs to.
    pub mark: Mark,
    /// The service's word, if it is not `active`.
    pub pending: Option<String>,
    /// How it stands to the user group.
    pub membership: Membership,
}

/// How a cache user stands to its group, with pending changes counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    /// Not in it.
    Outside,
    /// The service is adding it.
    Joining,
    /// In it.
    Member,
    /// The service is removing it.
    Leaving,
}

impl Observed {
    /// The highest record number seen in any layer.
    pub fn highest(&self) -> Option<RecordNo> {
        let store = self.store.known();
        let stored = store.into_iter().flat_map(StoreView::numbers);
        stored.chain(self.marks().map(|mark| mark.record)).max()
    }

    /// Everything that could not be read: whole layers, and single objects with the app that they belong to, where that is known.
    pub fn unreadable(&self) -> Vec<(Layer, Option<&AppName>, &Failure)> {
        let mut found = Vec::new();
        match &self.store {
            View::Unknown(failure) => found.push((Layer::Store, None, failure)),
            View::Known(store) => {
                let copies = store
                    .copies
                    .iter()
                    .map(|(app, copy)| (Layer::Store, Some(app), copy.unknown()));
                found.extend(copies.filter_map(known));
            }
        }
        match &self.database {
            View::Unknown(failure) => found.push((Layer::Database, None, failure)),
            View::Known(view) => {
                let owner = |login: &RoleName| self.owner(|credential| credential.login == *login);
                found.extend(known((Layer::Database, None, view.database.unknown())));
                let groups = view
                    .groups
                    .values()
                    .map(|group| (Layer::Database, None, group.unknown()));
                found.extend(groups.filter_map(known));
                let logins = view
                    .logins
                    .iter()
                    .map(|(name, it)| (Layer::Database, owner(name), it.unknown()));
                found.extend(logins.filter_map(known));
            }
        }
        match &self.cache {
            View::Unknown(failure) => found.push((Layer::Cache, None, failure)),
            View::Known(view) => {
                let owner = |id: &CacheUser| {
                    self.owner(|credential| credential.cache.as_ref().is_some_and(|it| it.user == *id))
                };
                let users = view
                    .users
                    .iter()
                    .map(|(id, it)| (Layer::Cache, owner(id), it.unknown()));
                found.extend(users.filter_map(known));
            }
        }
        found
    }

    /// The app whose credential in the ledger is like that.
    fn owner(&self, is_it: impl Fn(&Credential) -> bool) -> Option<&AppName> {
        let store = self.store.known()?;
        store.ledger.records.values().find_map(|record| match &record.body {
            Body::Issue { apps, .. } => apps
                .iter()
                .find(|(_, credential)| is_it(credential))
                .map(|(app, _)| app),
            Body::Open | Body::Void => None,
        })
    }

    /// Nothing about this cache user or its group is under way: whether it can log in says something about its password.
    pub fn is_settled(&self, user: &CacheUser) -> bool {
        self.cache.known().is_some_and(|view| {
            let settled = |seen: &CacheUserSeen| seen.membership == Membership::Member && seen.pending.is_none();
            view.group_busy.is_none() && matches!(view.user(user), Presence::Ours(seen) if settled(seen))
        })
    }

    /// Every mark of this tenant on a server.
    pub fn marks(&self) -> impl Iterator<Item = &Mark> {
        let database = self.database.known();
        let own = database.into_iter().filter_map(|view| match &view.database {
            Presence::Ours(seen) => seen.mark.as_ref(),
            Presence::Absent | Presence::Foreign(_) | Presence::Unknown(_) => None,
        });
        let logins = database
            .into_iter()
            .flat_map(|view| view.logins.values())
            .filter_map(|login| match login {
                Presence::Ours(seen) => Some(&seen.mark),
                Presence::Absent | Presence::Foreign(_) | Presence::Unknown(_) => None,
            });
        let cache = self.cache.known();
        let users = cache
            .into_iter()
            .flat_map(|view| view.users.values())
            .filter_map(|user| match user {
                Presence::Ours(seen) => Some(&seen.mark),
                Presence::Absent | Presence::Foreign(_) | Presence::Unknown(_) => None,
            });
        own.chain(logins).chain(users)
    }
}

fn known<L, A, F>((layer, app, failure): (L, A, Option<F>)) -> Option<(L, A, F)> {
    failure.map(|failure| (layer, app, failure))
}

impl DatabaseView {
    /// The login of that name.
    pub fn login(&self, name: &RoleName) -> &Presence<LoginSeen> {
        self.logins.get(name).unwrap_or(&Presence::Absent)
    }

    /// The group role for that access.
    pub fn group(&self, access: Access) -> &Presence<()> {
        self.groups.get(&access).unwrap_or(&Presence::Absent)
    }
}

impl CacheView {
    /// The user of that id.
    pub fn user(&self, id: &CacheUser) -> &Presence<CacheUserSeen> {
        self.users.get(id).unwrap_or(&Presence::Absent)
    }
}

impl StoreView {
    /// Every number that a record or a copy names.
    pub fn numbers(&self) -> impl Iterator<Item = RecordNo> {
        let copies = self.copies.iter().filter_map(|(app, copy)| match copy {
            // One that holds what another record issued is misnumbered: a conflict, not the trace of a record.
            Presence::Ours(seen)
                if self
                    .ledger
                    .newest(app)
                    .is_some_and(|(_, issued)| seen.copy.holds(issued)) =>
            {
                None
            }
            Presence::Ours(seen) => Some(seen.copy.record),
            Presence::Absent | Presence::Foreign(_) | Presence::Unknown(_) => None,
        });
        self.ledger.records.keys().copied().chain(copies)
    }

    /// The copy of that app.
    pub fn copy(&self, app: &AppName) -> &Presence<CopySeen> {
        self.copies.get(app).unwrap_or(&Presence::Absent)
    }
}
