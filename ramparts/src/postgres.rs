//! One PostgreSQL server. It is reached over TLS that verifies chain and name, or not at all; every object that is changed is one whose
//! ownership mark was read in the same transaction; and nothing here can change the password of a role that exists: the only statement
//! with a password in it creates the role, and holds a verifier in place of it.

mod catalog;
mod connect;
mod database;
mod door;
mod enrol;
mod failure;
mod guard;
mod lock;
mod login;
mod observe;
mod prove;
mod session;

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use ramparts_core::{
    failure::Failure,
    name::{Installation, TargetName, TenantName},
    settings::{Database, Endpoint, PasswordSource},
};

pub use lock::TenantLock;

use crate::gate::Gate;

/// The operator's own database on every server: closed to PUBLIC, it holds nothing but the sessions and locks of the operator.
const WORKPLACE: &str = "ramparts";
/// Where the operator starts on a server that has no [`WORKPLACE`] yet.
const MAINTENANCE: &str = "postgres";
/// The first release in which each membership has options of its own, and in which CREATEROLE alone gives none.
const MEMBERSHIP_OPTIONS: u32 = 16;

/// One server of the settings. Cheap to clone; clones share the session that is kept between looks.
#[derive(Clone)]
pub struct Server(Arc<Inner>);

struct Inner {
    name: TargetName,
    endpoint: Endpoint,
    user: String,
    password: PasswordSource,
    roots: door::Roots,
    installation: Installation,
    gate: Gate,
    idle: Mutex<session::Idle>,
}

impl Server {
    /// A server that has not been spoken to yet. What could never work is refused here: a CA file that cannot be read or has none.
    pub fn new(name: TargetName, settings: &Database, installation: Installation, gate: Gate) -> Result<Self, Failure> {
        let roots = door::Roots::new(&name, settings.ca.as_deref())?;
        Ok(Self(Arc::new(Inner {
            name,
            endpoint: settings.endpoint.clone(),
            user: settings.admin_user.clone(),
            password: settings.admin_password.clone(),
            roots,
            installation,
            gate,
            idle: Mutex::default(),
        })))
    }

    /// Its name in the settings.
    pub fn name(&self) -> &TargetName {
        &self.0.name
    }
}

impl Inner {
    fn whose<'a>(&'a self, tenant: &'a TenantName) -> guard::Whose<'a> {
        guard::Whose {
            installation: &self.installation,
            tenant,
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({} at {})", self.0.name, self.0.endpoint)
    }
}
