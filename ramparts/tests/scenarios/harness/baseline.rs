//! A tenant at its first Ready: everything of its that exists, one open session at each server, and the keys of its status. The oracles
//! compare with this.

use std::collections::{BTreeMap, BTreeSet};

use redis::aio::MultiplexedConnection;
use sandbox::Stack;
use serde_json::Value;

use super::{
    document,
    oracle::status_keys,
    snapshot::{Snapshot, Thing},
};

pub struct Baseline {
    pub tenant: String,
    pub uid: String,
    /// Everything, other tenants' things included.
    pub snapshot: Snapshot,
    pub status_keys: BTreeSet<String>,
    pub sessions: Sessions,
    /// Things that the scenario itself touches by hand, and says so.
    pub forgotten: BTreeSet<Thing>,
    pub calls: u64,
    pub statements: u64,
}

/// Sessions that a pod opened with what it read.
#[derive(Default)]
pub struct Sessions {
    pub database: Option<tokio_postgres::Client>,
    pub cache: Option<MultiplexedConnection>,
}

/// What a pod reads: the copies of a tenant, by app.
pub fn copies(snapshot: &Snapshot, tenant: &str) -> BTreeMap<String, Value> {
    let folder = format!("/ramparts/{tenant}/");
    let parameters = snapshot.things.iter().filter_map(|(thing, trace)| match thing {
        Thing::Parameter(name) => Some((name.strip_prefix(&folder)?.to_owned(), document(&trace.credential))),
        Thing::Role(_) | Thing::Database(_) | Thing::CacheUser(_) | Thing::Member(_) => None,
    });
    parameters.collect()
}

impl Sessions {
    /// With the credential of the first app that has both.
    pub async fn open(stack: &Stack, copies: &BTreeMap<String, Value>) -> Self {
        let Some(copy) = copies.values().find(|copy| copy.get("cache_username").is_some()) else {
            panic!("no published app has a cache user");
        };
        Self {
            database: Some(log_in(stack, copy).await.unwrap()),
            cache: log_in_to_cache(stack, copy).await.unwrap(),
        }
    }

    /// Whether they still work.
    pub async fn check(&mut self) -> Result<(), String> {
        if let Some(session) = &self.database {
            session
                .simple_query("SELECT 1")
                .await
                .map_err(|error| format!("the open database session: {error}"))?;
        }
        if let Some(session) = &mut self.cache {
            let answer = redis::cmd("PING").query_async::<()>(session).await;
            answer.map_err(|error| format!("the open cache session: {error}"))?;
        }
        Ok(())
    }
}

fn field<'a>(copy: &'a Value, name: &str) -> &'a str {
    copy[name].as_str().unwrap_or_default()
}

/// Logs in to the database with what a copy says.
pub async fn log_in(stack: &Stack, copy: &Value) -> Result<tokio_postgres::Client, String> {
    let (user, password) = (field(copy, "database_username"), field(copy, "database_password"));
    let client = stack.postgres.login(user, password, field(copy, "database_name")).await;
    let client = client.map_err(|error| format!("login {user}: {error} ({:?})", error.code()))?;
    client
        .simple_query("SELECT 1")
        .await
        .map_err(|error| format!("login {user}: {error}"))?;
    Ok(client)
}

/// Logs in to the cache with what a copy says, if it says anything about one.
pub async fn log_in_to_cache(stack: &Stack, copy: &Value) -> Result<Option<MultiplexedConnection>, String> {
    let (user, password) = (field(copy, "cache_username"), field(copy, "cache_password"));
    if user.is_empty() {
        return Ok(None);
    }
    let mut session = stack
        .redis
        .login(user, password)
        .await
        .map_err(|error| format!("cache user {user}: {error:#}"))?;
    let answer = redis::cmd("PING").query_async::<()>(&mut session).await;
    answer.map_err(|error| format!("cache user {user}: {error}"))?;
    Ok(Some(session))
}

impl Baseline {
    /// Of a tenant that is Ready.
    pub async fn take(stack: &Stack, tenant: &str, object: &Value, statements: u64) -> Self {
        let snapshot = Snapshot::take(stack).await;
        let sessions = Sessions::open(stack, &copies(&snapshot, tenant)).await;
        Self {
            tenant: tenant.to_owned(),
            uid: object["metadata"]["uid"].as_str().unwrap_or_default().to_owned(),
            status_keys: status_keys(&object["status"]),
            snapshot,
            sessions,
            forgotten: BTreeSet::new(),
            calls: stack.aws.mark(),
            statements,
        }
    }

    /// The copies as they were.
    pub fn copies(&self) -> BTreeMap<String, Value> {
        copies(&self.snapshot, &self.tenant)
    }

    /// The tenant's own things that the scenario does not touch by hand.
    pub fn own(&self) -> impl Iterator<Item = (&Thing, &super::snapshot::Trace)> {
        self.snapshot
            .of(&self.tenant)
            .filter(|(thing, _)| !self.forgotten.contains(*thing))
    }
}
