//! Users in the cache: whoever is an effective member of the user group exists in a real Redis, with its passwords and its access string, and
//! whoever leaves is gone from it together with its connections. A Redis that is down is tried again until it is up; one that comes back
//! empty is filled again. Users that the sandbox did not put there are left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, RedisError, RedisResult};
use tokio::sync::watch;

use super::elasticache::{Authentication, User};
use super::state::Shared;
use crate::redis::RedisAdmin;

/// How often a Redis is looked at when nothing changed.
const LOOK: Duration = Duration::from_millis(200);
const ANSWER: Duration = Duration::from_secs(2);

/// How far a Redis has followed the users of its group.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// The last change of the directory that is in the cache.
    pub epoch: u64,
    /// The user names that the sandbox keeps in the cache.
    pub names: BTreeSet<String>,
    /// Why it cannot follow, while it cannot.
    pub trouble: Option<String>,
}

/// A user group and the Redis that it governs, as a replication group has one user group.
#[derive(Debug)]
pub struct Projection {
    pub region: String,
    pub group: String,
    pub progress: watch::Sender<Progress>,
}

/// A user as Redis is told of it.
#[derive(Clone, PartialEq, Eq)]
struct Login {
    access: String,
    authentication: Authentication,
}

/// Keeps one Redis as its user group says, until dropped.
pub struct Projector {
    shared: Arc<Shared>,
    region: String,
    group: String,
    admin: RedisAdmin,
    connection: Option<MultiplexedConnection>,
    /// What was told to this Redis since the connection stands.
    told: BTreeMap<String, Login>,
    /// Every name that was ever put there and not taken away.
    ours: BTreeSet<String>,
}

impl fmt::Debug for Projector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Projector({}/{} to {:?})", self.region, self.group, self.admin)
    }
}

impl Projector {
    pub fn new(shared: Arc<Shared>, region: &str, group: &str, admin: RedisAdmin) -> Self {
        crate::tls::install_crypto_provider();
        Self {
            shared,
            region: region.to_owned(),
            group: group.to_owned(),
            admin,
            connection: None,
            told: BTreeMap::new(),
            ours: BTreeSet::new(),
        }
    }

    pub async fn run(mut self, progress: watch::Sender<Progress>) {
        let shared = Arc::clone(&self.shared);
        loop {
            // Taken before looking, so that a change during the work is not slept through.
            let changed = shared.changed.notified();
            let (epoch, wanted) = self.wanted();
            let outcome = self.follow(&wanted).await;
            if outcome.is_err() {
                self.connection = None;
                self.told.clear();
            }
            progress.send_modify(|progress| {
                progress.names.clone_from(&self.ours);
                match outcome {
                    Ok(None) => (progress.epoch, progress.trouble) = (epoch, None),
                    Ok(Some(refused)) => progress.trouble = Some(refused),
                    Err(error) => progress.trouble = Some(format!("{error:#}")),
                }
            });
            let _ = tokio::time::timeout(LOOK, changed).await;
        }
    }

    fn wanted(&self) -> (u64, BTreeMap<String, Login>) {
        let state = &mut *self.shared.lock();
        let directory = &mut state.region(&self.region).directory;
        directory.settle(Instant::now());
        let logins = directory
            .effective(&self.group)
            .filter(|user| user.name != self.admin.user)
            .map(login);
        (directory.epoch, logins.collect())
    }

    /// Says what Redis refused, if anything; fails when Redis cannot be reached.
    async fn follow(&mut self, wanted: &BTreeMap<String, Login>) -> anyhow::Result<Option<String>> {
        let mut connection = match &self.connection {
            Some(connection) => connection.clone(),
            None => self.connection.insert(connect(&self.admin).await?).clone(),
        };
        let held: BTreeSet<String> = redis::cmd("ACL")
            .arg("USERS")
            .query_async(&mut connection)
            .await
            .context("list the users of the cache")?;
        let gone: Vec<String> = self
            .ours
            .iter()
            .filter(|name| !wanted.contains_key(*name))
            .cloned()
            .collect();
        for name in gone {
            remove(&mut connection, &name)
                .await
                .with_context(|| format!("remove user {name} from the cache"))?;
            self.ours.remove(&name);
            self.told.remove(&name);
        }
        let mut refused = None;
        for (name, login) in wanted {
            if held.contains(name) && self.told.get(name) == Some(login) {
                continue;
            }
            match tell(&mut connection, name, login).await {
                Ok(()) => {
                    self.ours.insert(name.clone());
                    self.told.insert(name.clone(), login.clone());
                }
                // One user with a rule that this Redis does not know keeps nobody else out.
                Err(error) if is_refusal(&error) => refused = Some(format!("put user {name} into the cache: {error}")),
                Err(error) => return Err(error).with_context(|| format!("put user {name} into the cache")),
            }
        }
        Ok(refused)
    }
}

fn login(user: &User) -> (String, Login) {
    (
        user.name.clone(),
        Login {
            access: user.access.clone(),
            authentication: user.authentication.clone(),
        },
    )
}

async fn connect(admin: &RedisAdmin) -> anyhow::Result<MultiplexedConnection> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(ANSWER))
        .set_response_timeout(Some(ANSWER));
    admin
        .client()?
        .get_multiplexed_async_connection_with_config(&config)
        .await
        .with_context(|| format!("connect to the cache at {}:{}", admin.host, admin.port))
}

/// One command, so that a user is never half there; the connections of a user that is told again are kept.
async fn tell(connection: &mut MultiplexedConnection, name: &str, login: &Login) -> RedisResult<()> {
    let mut command = redis::cmd("ACL");
    command.arg("SETUSER").arg(name).arg("reset");
    for rule in rules(&login.access) {
        command.arg(rule);
    }
    match &login.authentication {
        Authentication::Passwords(passwords) => {
            for password in passwords {
                command.arg(format!(">{password}"));
            }
        }
        Authentication::NoPassword => {
            command.arg("nopass");
        }
        // Without a password set nobody can log in: the sandbox does not check IAM tokens.
        Authentication::Iam => {}
    }
    command.exec_async(connection).await
}

/// The rules of an access string, a selector being one of them.
fn rules(access: &str) -> Vec<String> {
    let (plain, selectors) = access.split_at(access.find('(').unwrap_or(access.len()));
    let selectors = selectors
        .split_inclusive(')')
        .map(str::trim)
        .filter(|selector| !selector.is_empty());
    plain.split_whitespace().chain(selectors).map(str::to_owned).collect()
}

async fn remove(connection: &mut MultiplexedConnection, name: &str) -> RedisResult<()> {
    if name == "default" {
        // Redis cannot lose this one: it is shut instead.
        redis::cmd("ACL")
            .arg("SETUSER")
            .arg(name)
            .arg("reset")
            .exec_async(connection)
            .await?;
    } else {
        redis::cmd("ACL")
            .arg("DELUSER")
            .arg(name)
            .exec_async(connection)
            .await?;
    }
    match redis::cmd("CLIENT")
        .arg("KILL")
        .arg("USER")
        .arg(name)
        .exec_async(connection)
        .await
    {
        // Redis ends the connections of a deleted user itself, and then knows no user of that name to kill.
        Err(error) if is_refusal(&error) => Ok(()),
        other => other,
    }
}

/// Whether Redis answered, and said no.
fn is_refusal(error: &RedisError) -> bool {
    !error.is_io_error() && !error.is_connection_dropped() && !error.is_timeout() && error.code().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_is_one_rule() {
        assert_eq!(rules("on ~a -@all +get"), ["on", "~a", "-@all", "+get"]);
        assert_eq!(
            rules("on ~a -@all (~b +get) (~c +set)"),
            ["on", "~a", "-@all", "(~b +get)", "(~c +set)"]
        );
    }
}
