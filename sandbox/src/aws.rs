//! The AWS sandbox: SSM Parameter Store and `ElastiCache` users and user groups over their real wire protocols, so that the real SDKs, boto3
//! and the AWS command line work against it. It keeps everything in memory, per region; it logs every call and no value; it commits the
//! faults it is told to; and it projects cache users into a real Redis, so that a login can be proven.

mod admin;
mod call;
mod elasticache;
mod fault;
mod hand;
mod log;
mod page;
mod place;
mod project;
mod refusal;
mod server;
mod ssm;
mod state;
mod terms;
mod xml;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rand::RngExt as _;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;

use self::elasticache::Form;
pub use self::fault::{Fault, Rule, RuleId, Times};
pub use self::hand::{Hand, StoredParameter, StoredUser};
pub use self::log::{Call, Service};
use self::place::Place;
pub use self::project::Progress;
use self::project::{Projection, Projector};
pub use self::refusal::Refusal;
use self::state::{ACCOUNT, HOME, Shared};
pub use self::terms::{Quotas, Transition};
use crate::redis::RedisAdmin;

/// A running sandbox. It ends, with every connection to it, when it is dropped.
#[derive(Debug)]
pub struct Aws {
    shared: Arc<Shared>,
    address: SocketAddr,
    redis: Option<RedisAdmin>,
    /// What runs the sandbox: it was started there and must not die with the runtime of a later caller.
    runtime: Handle,
    tasks: Mutex<JoinSet<()>>,
}

impl Aws {
    /// Starts on a free port of the loopback interface. The Redis is governed by the groups that `create_user_group` makes.
    pub async fn start(redis: Option<RedisAdmin>) -> anyhow::Result<Self> {
        Self::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), redis).await
    }

    pub async fn start_at(address: SocketAddr, redis: Option<RedisAdmin>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(address)
            .await
            .with_context(|| format!("listen on {address} for the AWS sandbox"))?;
        let address = listener.local_addr().context("learn the AWS sandbox's own address")?;
        let shared = Arc::new(Shared::new());
        let mut tasks = JoinSet::new();
        tasks.spawn(server::serve(listener, Arc::clone(&shared)));
        Ok(Self {
            shared,
            address,
            redis,
            runtime: Handle::current(),
            tasks: Mutex::new(tasks),
        })
    }

    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn account(&self) -> &'static str {
        ACCOUNT
    }

    /// The region of `hand`, `create_user_group` and whoever does not name one.
    pub fn region(&self) -> &'static str {
        HOME
    }

    /// Makes a user group as an administrator would: with a disabled user named `default`, governing the Redis of `start`.
    pub fn create_user_group(&self, id: &str) -> anyhow::Result<()> {
        self.create_user_group_in(HOME, id, self.redis.clone())
    }

    pub fn create_user_group_in(&self, region: &str, id: &str, redis: Option<RedisAdmin>) -> anyhow::Result<()> {
        let default = format!("{id}-default");
        let password: String = rand::rng()
            .sample_iter(rand::distr::Alphanumeric)
            .take(32)
            .map(char::from)
            .collect();
        self.directly(
            region,
            "CreateUser",
            &[
                ("UserId", &default),
                ("UserName", "default"),
                ("Engine", "redis"),
                ("AccessString", "off -@all"),
                ("Passwords.member.1", &password),
            ],
        )?;
        self.directly(
            region,
            "CreateUserGroup",
            &[("UserGroupId", id), ("Engine", "redis"), ("UserIds.member.1", &default)],
        )?;
        if let Some(redis) = redis {
            self.attach(region, id, redis);
        }
        Ok(())
    }

    /// Lets a user group govern the users of a Redis, as attaching it to a replication group does.
    pub fn attach(&self, region: &str, group: &str, redis: RedisAdmin) {
        let progress = watch::Sender::new(Progress::default());
        let projector = Projector::new(Arc::clone(&self.shared), region, group, redis);
        let (region, group) = (region.to_owned(), group.to_ascii_lowercase());
        self.shared.lock().projections.push(Projection {
            region,
            group,
            progress: progress.clone(),
        });
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.spawn_on(projector.run(progress), &self.runtime);
    }

    /// Does what a call would, without delay and without a trace in the log.
    fn directly(&self, region: &str, operation: &str, fields: &[(&str, &str)]) -> anyhow::Result<()> {
        let state = &mut *self.shared.lock();
        let kept = state.region(region);
        let terms = terms::Terms::default();
        let at = Place {
            account: ACCOUNT,
            region,
            now: Instant::now(),
            terms: &terms,
        };
        let answer = elasticache::answer(operation, &Form::of(fields), &mut kept.directory, &at);
        answer
            .map(|_| ())
            .map_err(|refusal| anyhow::anyhow!("{operation}: {}: {}", refusal.code, refusal.message))
    }

    /// A person's hand on the home region.
    pub fn hand(&self) -> Hand {
        self.hand_in(HOME)
    }

    pub fn hand_in(&self, region: &str) -> Hand {
        Hand {
            shared: Arc::clone(&self.shared),
            region: region.to_owned(),
        }
    }

    /// A place in the call log: the number of the last call so far.
    pub fn mark(&self) -> u64 {
        self.shared.lock().log.mark()
    }

    pub fn calls_since(&self, mark: u64) -> Vec<Call> {
        self.shared.lock().log.since(mark).to_vec()
    }

    /// The calls to operations that change something, whatever came of them.
    pub fn writes_since(&self, mark: u64) -> Vec<Call> {
        self.shared
            .lock()
            .log
            .since(mark)
            .iter()
            .filter(|call| call.is_write())
            .cloned()
            .collect()
    }

    /// Calls by `service.Operation` since the start or the last reset.
    pub fn counters(&self) -> BTreeMap<String, u64> {
        self.shared.lock().log.counters().clone()
    }

    /// The counter of one `service.Operation`.
    pub fn count(&self, operation: &str) -> u64 {
        self.shared
            .lock()
            .log
            .counters()
            .get(operation)
            .copied()
            .unwrap_or_default()
    }

    pub fn reset_counters(&self) {
        self.shared.lock().log.reset_counters();
    }

    /// Lets calls of an operation fail; see `Rule::operation` for what may be named.
    pub fn fail(&self, operation: &str, fault: Fault, times: Times) -> RuleId {
        self.inject(Rule::new(operation, fault, times))
    }

    pub fn inject(&self, rule: Rule) -> RuleId {
        self.shared.lock().faults.add(rule)
    }

    /// Ends one fault; what hangs by it breaks.
    pub fn clear_fault(&self, id: RuleId) {
        self.shared.lock().faults.clear(id);
        self.shared.cleared.send_replace(());
    }

    pub fn clear_faults(&self) {
        self.shared.lock().faults.clear_all();
        self.shared.cleared.send_replace(());
    }

    /// Throttles the operations that a pattern names, all together, by a token bucket.
    pub fn set_rate(&self, operation: &str, per_second: f64, burst: f64) {
        self.shared
            .lock()
            .faults
            .set_rate(operation, per_second, burst, Instant::now());
    }

    pub fn clear_rates(&self) {
        self.shared.lock().faults.clear_rates();
    }

    pub fn set_delay(&self, of: Transition, delay: Duration) {
        self.shared.lock().terms.set_delay(of, delay);
    }

    pub fn set_quotas(&self, quotas: Quotas) {
        self.shared.lock().terms.quotas = quotas;
    }

    /// A read does not see what was put less than this long ago.
    pub fn set_stale_reads(&self, late: Duration) {
        self.shared.lock().terms.stale_reads = late;
    }

    /// Listings begin with an empty page and go on in short ones.
    pub fn set_short_pages(&self, short: bool) {
        self.shared.lock().terms.short_pages = short;
    }

    /// How far the Redis of a group in the home region has followed it; nothing if it has none.
    pub fn projection(&self, group: &str) -> Option<Progress> {
        let state = self.shared.lock();
        let mut all = state.projections.iter();
        let found = all.find(|one| one.region == HOME && one.group.eq_ignore_ascii_case(group))?;
        Some(found.progress.borrow().clone())
    }

    /// Waits until every Redis of the home region has followed the last change, and says whether that came to pass in time.
    pub async fn projected(&self, patience: Duration) -> bool {
        self.shared.await_projection(HOME, patience, true).await
    }
}
