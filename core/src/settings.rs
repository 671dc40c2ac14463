//! The settings: one YAML file, the same for the operator and the command line. It is read strictly and to the end: a key that
//! nobody knows, a reference to nothing and a value out of range are all errors, each with its line, and all are reported at once.
//! A key is accepted only once what it promises works. Values are parsed here and nowhere else.

mod endpoint;
mod length;
mod problem;
mod read;
mod sections;
mod tree;

use std::{collections::BTreeMap, time::Duration};

pub use endpoint::Endpoint;
pub use problem::{Problem, SettingsError};

use crate::{
    acl::CacheProfile,
    name::{Access, AppName, Installation, PlanName, Short, StorePrefix, TargetName},
};

/// What holds for every tenant of an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub installation: Installation,
    /// The plan of a tenant that names none. It is one of `plans`.
    pub default_plan: PlanName,
    pub apps: BTreeMap<AppName, App>,
    pub plans: BTreeMap<PlanName, Plan>,
    pub databases: BTreeMap<TargetName, Database>,
    pub caches: BTreeMap<TargetName, Cache>,
    pub credentials: Credentials,
    pub aws: Aws,
    pub sweep: Sweep,
}

/// An app that tenants have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct App {
    /// No two apps share it.
    pub short: Short,
    pub access: Access,
    pub cache: Option<CacheProfile>,
    /// Only where a tenant adds it.
    pub opt_in: bool,
}

/// Limits on every login of a tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub connections: i32,
    pub statement_timeout: Option<Duration>,
    pub idle_in_transaction_timeout: Option<Duration>,
    /// Further settings of PostgreSQL, none of which says who a session is or what its names mean.
    pub settings: BTreeMap<String, String>,
}

/// A database server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Database {
    pub endpoint: Endpoint,
    pub admin_user: String,
    pub admin_password: PasswordSource,
    /// The file of the certificate authority that its certificate is checked against.
    pub ca: Option<String>,
}

/// Where a password is read, at each new connection. The settings never hold one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PasswordSource {
    Env(String),
    File(String),
}

/// A cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    pub endpoint: Endpoint,
    pub ca: Option<String>,
    /// The ElastiCache user group of its cluster.
    pub user_group: String,
}

/// The store of ledger and copies: SSM Parameter Store, in this version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    pub prefix: StorePrefix,
    pub kms_key: Option<String>,
    pub tier: Tier,
}

/// A tier of Parameter Store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tier {
    #[default]
    Standard,
    Advanced,
}

impl Tier {
    /// How much one parameter may hold.
    pub fn bytes(self) -> usize {
        match self {
            Self::Standard => 4096,
            Self::Advanced => 8192,
        }
    }
}

/// Where AWS is; what is absent is found as the SDK finds it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aws {
    pub region: Option<String>,
    /// Only for a local stack.
    pub endpoint: Option<String>,
}

/// How often everything is looked at though nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sweep {
    pub interval: Duration,
    /// How old a proof by login may grow.
    pub proof: Duration,
}

impl Default for Sweep {
    fn default() -> Self {
        Self {
            interval: Duration::from_mins(10),
            proof: Duration::from_hours(24),
        }
    }
}

impl Settings {
    pub fn parse(text: &str) -> Result<Self, SettingsError> {
        sections::settings(&tree::parse(text)?)
    }
}

pub(crate) mod guc {
    pub const STATEMENT_TIMEOUT: &str = "statement_timeout";
    pub const IDLE_IN_TRANSACTION_TIMEOUT: &str = "idle_in_transaction_session_timeout";
}

impl Plan {
    /// Everything that a login gets by `ALTER ROLE … SET`, under PostgreSQL's own names and in its own units.
    pub fn role_settings(&self) -> BTreeMap<String, String> {
        let mut settings = self.settings.clone();
        let timeouts = [
            (guc::STATEMENT_TIMEOUT, self.statement_timeout),
            (guc::IDLE_IN_TRANSACTION_TIMEOUT, self.idle_in_transaction_timeout),
        ];
        for (name, timeout) in timeouts {
            settings.extend(timeout.map(|timeout| (name.to_owned(), format!("{}s", timeout.as_secs()))));
        }
        settings
    }
}
