//! The ledger: what was ever issued to a tenant, in numbered records that are created once and never changed. This file holds the
//! records as types and the questions that the planner asks of them; `record.rs` reads and writes their JSON.
//!
//! A record is the commit point: a credential exists once its record does, before any server hears of it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;

use crate::{
    acl::CacheProfile,
    name::{Access, AppName, CacheUser, RecordNo, RoleName, TargetName},
    secret::Secret,
};

/// On which server and in which cache a tenant lives. Fixed by the first record of a life, repeated by the later ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Placement {
    /// The database server, by its name in the settings.
    pub database: TargetName,
    /// The cache; none while the settings have none.
    pub cache: Option<TargetName>,
}

/// What a record will say about an app, before passwords are drawn: names only, so that a plan can be printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CredentialNames {
    /// The PostgreSQL login.
    pub login: RoleName,
    /// What the login may do; decides its group.
    pub access: Access,
    /// The cache user and the profile it is made with, if the app uses the cache.
    pub cache: Option<(CacheUser, CacheProfile)>,
}

/// A record that is about to be committed: everything but the passwords.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IssueDraft {
    /// Its number.
    pub number: RecordNo,
    /// The Tenant that asked.
    pub uid: String,
    /// When, in whole seconds.
    pub at: Timestamp,
    /// Where the tenant lives.
    pub placement: Placement,
    /// For which apps.
    pub apps: BTreeMap<AppName, CredentialNames>,
}

impl IssueDraft {
    /// The record, with a password from `draw` for every login and every cache user.
    pub fn seal(&self, mut draw: impl FnMut() -> Secret) -> Record {
        let apps = self
            .apps
            .iter()
            .map(|(app, names)| {
                let credential = Credential {
                    login: names.login.clone(),
                    login_password: draw(),
                    access: names.access,
                    cache: names.cache.as_ref().map(|(user, profile)| CacheCredential {
                        user: user.clone(),
                        password: draw(),
                        profile: *profile,
                    }),
                };
                (app.clone(), credential)
            })
            .collect();
        Record {
            number: self.number,
            uid: self.uid.clone(),
            at: self.at,
            body: Body::Issue {
                placement: self.placement.clone(),
                apps,
            },
        }
    }
}

/// One app's credential, as issued. Immutable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// The PostgreSQL login.
    pub login: RoleName,
    /// Its password.
    pub login_password: Secret,
    /// The group it belongs to.
    pub access: Access,
    /// The cache user, if the app uses the cache.
    pub cache: Option<CacheCredential>,
}

/// The cache half of a credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheCredential {
    /// Id and name of the user.
    pub user: CacheUser,
    /// Its password.
    pub password: Secret,
    /// The profile it was issued with; a changed profile waits for the next rotation.
    pub profile: CacheProfile,
}

impl Credential {
    /// The names without the values.
    pub fn names(&self) -> CredentialNames {
        CredentialNames {
            login: self.login.clone(),
            access: self.access,
            cache: self.cache.as_ref().map(|cache| (cache.user.clone(), cache.profile)),
        }
    }
}

/// One record of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its number; also the generation of what it issued.
    pub number: RecordNo,
    /// The Tenant that asked.
    pub uid: String,
    /// When.
    pub at: Timestamp,
    /// What it says.
    pub body: Body,
}

/// What a record says. (`close` comes with deletion; until then it is a record that this version cannot read, so it stops.)
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// These apps have these credentials.
    Issue {
        /// Where the tenant lives.
        placement: Placement,
        /// Whom it was issued to.
        apps: BTreeMap<AppName, Credential>,
    },
    /// The Tenant was created again and goes on with what is there.
    Open,
    /// This number holds nothing: its record was lost.
    Void,
}

/// All records of a tenant that could be read, and the numbers that were read directly and are not there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// The records, by number.
    pub records: BTreeMap<RecordNo, Record>,
    /// Numbers whose record is missing although another layer names them, each confirmed by a read of that very number.
    pub confirmed_missing: BTreeSet<RecordNo>,
}

/// How many lost records are mended without a person. A crash loses none and a slip of the hand a few; a number far beyond the ledger is
/// likelier a mistake in the place that names it.
pub const MOST_MENDED: usize = 8;

impl Ledger {
    /// The record with the highest number.
    pub fn last(&self) -> Option<&Record> {
        self.records.values().next_back()
    }

    /// The number that began this life. (With `close` there will be later lives.)
    pub fn life(&self) -> RecordNo {
        RecordNo::FIRST
    }

    /// Where the ledger says that the tenant lives. The cache may have been added by a later record.
    pub fn placement(&self) -> Option<Placement> {
        let mut placement: Option<Placement> = None;
        for record in self.records.values() {
            if let Body::Issue { placement: found, .. } = &record.body {
                match &mut placement {
                    None => placement = Some(found.clone()),
                    Some(first) if first.cache.is_none() => first.cache.clone_from(&found.cache),
                    Some(_) => {}
                }
            }
        }
        placement
    }

    /// The newest credential issued to an app, and the record that issued it.
    pub fn newest(&self, app: &AppName) -> Option<(&Record, &Credential)> {
        self.records.values().rev().find_map(|record| match &record.body {
            Body::Issue { apps, .. } => apps.get(app).map(|credential| (record, credential)),
            Body::Open | Body::Void => None,
        })
    }

    /// The credential that a record issued to an app.
    pub fn credential(&self, number: RecordNo, app: &AppName) -> Option<&Credential> {
        match &self.records.get(&number)?.body {
            Body::Issue { apps, .. } => apps.get(app),
            Body::Open | Body::Void => None,
        }
    }

    /// Every app that was ever issued a credential.
    pub fn apps(&self) -> BTreeSet<&AppName> {
        self.records
            .values()
            .filter_map(|record| match &record.body {
                Body::Issue { apps, .. } => Some(apps.keys()),
                Body::Open | Body::Void => None,
            })
            .flatten()
            .collect()
    }

    /// The numbers up to `highest` that have no record that was read; no more of them than one over what is mended without a person.
    pub fn missing(&self, highest: Option<RecordNo>) -> Vec<RecordNo> {
        let mut missing = Vec::new();
        let mut number = Some(self.life());
        while let Some(n) =
            number.filter(|n| highest.is_some_and(|highest| *n <= highest) && missing.len() <= MOST_MENDED)
        {
            if !self.records.contains_key(&n) {
                missing.push(n);
            }
            number = n.next();
        }
        missing
    }

    /// How a Tenant stands to this ledger.
    pub fn claim(&self, uid: &str) -> Claim {
        match self.last() {
            None => Claim::Free,
            Some(last) if last.uid == uid => Claim::Held,
            Some(last) if self.records.values().any(|record| record.uid == uid) => Claim::Superseded {
                by: last.uid.clone(),
                at: last.number,
            },
            Some(_) => Claim::Anothers,
        }
    }
}

/// How a Tenant, known by its uid, stands to a ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Nobody has it.
    Free,
    /// The last record names this Tenant.
    Held,
    /// The last record names an earlier Tenant: this one opens before it does anything else.
    Anothers,
    /// This Tenant had it, and then another one came: it never comes back by itself.
    Superseded {
        /// The uid that has it now.
        by: String,
        /// The record that says so.
        at: RecordNo,
    },
}

/// A record's time: the second that has begun, so that no record is ever from the future.
pub fn whole_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}
