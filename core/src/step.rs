//! Every change that Ramparts can ever make, and the proofs. A step is one effect on one layer: one request or one transaction.
//! Two calls that can fail apart are two steps. Steps hold no secrets, so a plan can be printed, logged and compared.

use std::{collections::BTreeMap, fmt};

use serde::Serialize;

use crate::{
    ledger::IssueDraft,
    name::{Access, AppName, CacheUser, DatabaseName, RecordNo, RoleName},
    observed::Layer,
};

/// One effect on one layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "step", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Step {
    /// Create-only: the record that issues credentials. The point of agreement.
    CommitIssue(IssueDraft),
    /// Create-only: this Tenant goes on with what an earlier one left.
    CommitOpen { record: RecordNo, uid: String },
    /// Create-only: a number whose record was lost holds nothing.
    CommitVoid { record: RecordNo, uid: String },
    /// Create-only: a number whose record was lost, from the copies that name it.
    FillRecord {
        record: RecordNo,
        uid: String,
        apps: Vec<AppName>,
    },
    /// Reads a record just committed: from here on the value read is the value used.
    ReadBack { record: RecordNo },

    /// The tenant's NOLOGIN group roles that are missing, marked, in one transaction.
    CreateGroups {
        groups: Vec<(Access, RoleName)>,
        record: RecordNo,
    },
    /// An empty database that refuses connections.
    CreateDatabase { database: DatabaseName },
    /// Closes it to PUBLIC, lets the groups in, marks it, and only then opens it.
    SealDatabase {
        database: DatabaseName,
        record: RecordNo,
        layout: Option<u32>,
    },
    /// Schema and default privileges inside it.
    PrepareDatabase {
        database: DatabaseName,
        record: RecordNo,
        layout: u32,
    },
    /// A login with its verifier, its membership and its mark, in one transaction.
    CreateLogin {
        app: AppName,
        record: RecordNo,
        login: RoleName,
        access: Access,
    },
    /// Limits, settings and membership of a login; never its password.
    ConfigureLogin { login: RoleName, changes: LoginChanges },
    /// Logs in to the database with the credential.
    ProveLogin {
        app: AppName,
        record: RecordNo,
        login: RoleName,
        from: Source,
    },

    /// A cache user, tagged.
    CreateCacheUser {
        app: AppName,
        record: RecordNo,
        user: CacheUser,
    },
    /// Adds users to the user group.
    JoinUserGroup { users: Vec<CacheUser> },
    /// Logs in to the cache with the credential.
    ProveCacheUser {
        app: AppName,
        record: RecordNo,
        user: CacheUser,
        from: Source,
    },

    /// Create-only: what pods read.
    Publish { app: AppName, record: RecordNo },
}

/// Where a proof takes the credential from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The ledger: always, but for one case.
    Ledger,
    /// The published copy, when its record was lost and is to be filled from it.
    Copy,
}

/// What differs on a login from what the plan says; only what differs is named to the server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoginChanges {
    /// CONNECTION LIMIT.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<i32>,
    /// Settings to set in the tenant's database.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// Settings of ours that the plan no longer has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reset: Vec<String>,
    /// The group that it should be a member of and is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub join: Option<RoleName>,
}

impl LoginChanges {
    /// Nothing differs.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Step {
    /// The layer that it touches.
    pub fn layer(&self) -> Layer {
        match self {
            Self::CommitIssue(_)
            | Self::CommitOpen { .. }
            | Self::CommitVoid { .. }
            | Self::FillRecord { .. }
            | Self::ReadBack { .. }
            | Self::Publish { .. } => Layer::Store,
            Self::CreateGroups { .. }
            | Self::CreateDatabase { .. }
            | Self::SealDatabase { .. }
            | Self::PrepareDatabase { .. }
            | Self::CreateLogin { .. }
            | Self::ConfigureLogin { .. }
            | Self::ProveLogin { .. } => Layer::Database,
            Self::CreateCacheUser { .. } | Self::JoinUserGroup { .. } | Self::ProveCacheUser { .. } => Layer::Cache,
        }
    }

    /// Whether it changes anything outside. Proofs and the read-back do not.
    pub fn writes(&self) -> bool {
        !matches!(
            self,
            Self::ReadBack { .. } | Self::ProveLogin { .. } | Self::ProveCacheUser { .. }
        )
    }

    /// The app that it is for, if it is for one.
    pub fn app(&self) -> Option<&AppName> {
        match self {
            Self::CreateLogin { app, .. }
            | Self::ProveLogin { app, .. }
            | Self::CreateCacheUser { app, .. }
            | Self::ProveCacheUser { app, .. }
            | Self::Publish { app, .. } => Some(app),
            Self::CommitIssue(_)
            | Self::CommitOpen { .. }
            | Self::CommitVoid { .. }
            | Self::FillRecord { .. }
            | Self::ReadBack { .. }
            | Self::CreateGroups { .. }
            | Self::CreateDatabase { .. }
            | Self::SealDatabase { .. }
            | Self::PrepareDatabase { .. }
            | Self::ConfigureLogin { .. }
            | Self::JoinUserGroup { .. } => None,
        }
    }

    /// The bounded word for metrics.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::CommitIssue(_) => "commit-issue",
            Self::CommitOpen { .. } => "commit-open",
            Self::CommitVoid { .. } => "commit-void",
            Self::FillRecord { .. } => "fill-record",
            Self::ReadBack { .. } => "read-back",
            Self::CreateGroups { .. } => "create-groups",
            Self::CreateDatabase { .. } => "create-database",
            Self::SealDatabase { .. } => "seal-database",
            Self::PrepareDatabase { .. } => "prepare-database",
            Self::CreateLogin { .. } => "create-login",
            Self::ConfigureLogin { .. } => "configure-login",
            Self::ProveLogin { .. } => "prove-login",
            Self::CreateCacheUser { .. } => "create-cache-user",
            Self::JoinUserGroup { .. } => "join-user-group",
            Self::ProveCacheUser { .. } => "prove-cache-user",
            Self::Publish { .. } => "publish",
        }
    }
}

/// `a`, `a and b`, `a, b and c`.
fn list<T: fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    match items.as_slice() {
        [] => "nothing".into(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CommitIssue(draft) => {
                write!(
                    f,
                    "commit record {} with credentials for {}",
                    draft.number,
                    list(draft.apps.keys())
                )
            }
            Self::CommitOpen { record, .. } => write!(
                f,
                "commit record {record}, which takes over what an earlier Tenant left"
            ),
            Self::CommitVoid { record, .. } => write!(f, "commit record {record} as void"),
            Self::FillRecord { record, apps, .. } => {
                write!(f, "write record {record} again from the copies of {}", list(apps))
            }
            Self::ReadBack { record } => write!(f, "read record {record} back"),
            Self::CreateGroups { groups, .. } => {
                write!(f, "create roles {}", list(groups.iter().map(|(_, role)| role)))
            }
            Self::CreateDatabase { database } => write!(f, "create database {database}"),
            Self::SealDatabase { database, .. } => write!(f, "close database {database} to all but its own groups"),
            Self::PrepareDatabase { database, .. } => write!(f, "set privileges inside database {database}"),
            Self::CreateLogin { login, .. } => write!(f, "create login {login}"),
            Self::ConfigureLogin { login, .. } => write!(f, "configure login {login}"),
            Self::ProveLogin { login, .. } => write!(f, "log in as {login}"),
            Self::CreateCacheUser { user, .. } => write!(f, "create cache user {user}"),
            Self::JoinUserGroup { users } => write!(f, "add {} to the user group", list(users)),
            Self::ProveCacheUser { user, .. } => write!(f, "log in to the cache as {user}"),
            Self::Publish { app, record } => write!(f, "publish record {record} for {app}"),
        }
    }
}
