//! Users of a cache and their user group, at ElastiCache. A user is created once, with its tags, and never modified; a group is only
//! ever added to. Every password given to the service is forgotten by it, so nothing here can be read back and compared.

mod change;
mod observe;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError},
};

use aws_sdk_elasticache::Client;
use ramparts_core::{
    mark::Mark,
    name::{CacheUser, Installation},
    observed::Layer,
};
use tokio::sync::Mutex;

pub use change::{CreatedUser, Joined};

use crate::gate::{Call, Gate};

/// One user group and the users that this installation makes for it. Clones share what they know.
#[derive(Clone)]
pub struct ElastiCache {
    client: Client,
    user_group: Arc<str>,
    installation: Installation,
    gate: Gate,
    known: Arc<StdMutex<Known>>,
    /// One change of the group at a time: while one is under way the service refuses every other.
    joining: Arc<Mutex<()>>,
}

/// What this process need not ask again.
#[derive(Default)]
struct Known {
    /// Marks that were read from tags, or written by us at creation. Tags cannot be read at every pass: the service refuses that while
    /// a user changes, and each read is a call. A user that is seen absent or another's is forgotten, and one that can be added to
    /// the group is read again.
    marks: HashMap<CacheUser, Mark>,
    /// The group's engine, which its users share.
    engine: Option<String>,
}

impl ElastiCache {
    /// The users of this group.
    pub fn new(client: Client, user_group: String, installation: Installation, gate: Gate) -> Self {
        Self {
            client,
            user_group: user_group.into(),
            installation,
            gate,
            known: Arc::default(),
            joining: Arc::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ElastiCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ElastiCache")
            .field("user_group", &self.user_group)
            .finish_non_exhaustive()
    }
}

fn call<'a>(operation: &'static str, target: &'a str) -> Call<'a> {
    Call {
        layer: Layer::Cache,
        operation,
        target,
    }
}
