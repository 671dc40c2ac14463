//! A scenario: a leased stack, the operators that run on it, the Tenants it makes, and the oracles, by name. When it fails it says what
//! the operator, the Tenants and AWS have to say.

use std::{collections::BTreeSet, path::PathBuf, time::Duration};

use k8s_openapi::api::events::v1::Event;
use kube::{Api, Client};
use sandbox::{Stack, User};
use serde_json::{Value, json};

use super::{
    SWEEP,
    baseline::{Baseline, copies},
    ground::{self, Ground},
    is_ready,
    operator::{Manner, Operator},
    oracle::{self, Flag, Oracle, Violation},
    recorder::Recorder,
    server_log::ServerLog,
    settings::SettingsText,
    snapshot::{Snapshot, Thing},
    tenants::Tenants,
    until,
};

pub struct Scenario {
    pub tenants: Tenants,
    pub operators: Vec<Operator>,
    client: Client,
    recorder: Recorder,
    log: ServerLog,
    settings: PathBuf,
    /// Every tenant that the scenario made.
    acting: BTreeSet<String>,
    /// Those of them that the scenario leaves alone, so that `ot` has somebody to watch over.
    bystanders: BTreeSet<String>,
    /// What there was before, and with the bystanders.
    before: Snapshot,
    baselines: Vec<Baseline>,
    outages: Vec<Flag>,
    /// Where a tenant's history begins for `st`: what another client did to its status before is not the operator's.
    histories: Vec<(String, usize)>,
    /// Last, so that the stack is given back when nothing uses it any more.
    ground: Ground,
}

impl Scenario {
    /// With one operator on the stack's own settings.
    pub async fn begin() -> Self {
        Self::with(Manner::shipped()).await
    }

    /// With an operator that is started in this manner.
    pub async fn with(manner: Manner) -> Self {
        let mut scenario = Self::without_operator().await;
        scenario.start(&manner).await;
        scenario
    }

    pub async fn without_operator() -> Self {
        let ground = Ground::lease().await;
        let stack = ground.stack();
        let client = ground::client(stack, User::Administrator).await;
        let tenants = Tenants::new(client.clone());
        let recorder = Recorder::start(tenants.api().clone()).await;
        let settings = SettingsText::of(stack).write(&stack.directory().join("scenario.yaml"));
        Self {
            log: ServerLog::of(&stack.postgres),
            before: Snapshot::take(stack).await,
            tenants,
            operators: Vec::new(),
            client,
            recorder,
            settings,
            acting: BTreeSet::new(),
            bystanders: BTreeSet::new(),
            baselines: Vec::new(),
            outages: Vec::new(),
            histories: Vec::new(),
            ground,
        }
    }

    pub fn stack(&self) -> &Stack {
        self.ground.stack()
    }

    pub fn log(&self) -> &ServerLog {
        &self.log
    }

    /// Changes the settings file that operators of this scenario read.
    pub fn set(&self, settings: &SettingsText) {
        settings.write(&self.settings);
    }

    /// Starts one more operator and waits until it watches.
    pub async fn start(&mut self, manner: &Manner) {
        let mut operator = self.launch(manner);
        operator.ready().await;
        self.operators.push(operator);
    }

    /// Starts an operator of which nothing is awaited.
    pub fn launch(&self, manner: &Manner) -> Operator {
        Operator::start(self.stack(), &self.settings, manner)
    }

    /// Ends all operators as Kubernetes does.
    pub async fn stop(&mut self) {
        for operator in self.operators.drain(..) {
            operator.terminate().await;
        }
    }

    pub async fn apply(&mut self, name: &str, spec: &Value) {
        self.acting.insert(name.to_owned());
        self.tenants.apply(name, spec).await;
    }

    /// Waits until a Tenant is as the test says.
    pub async fn wait(&self, name: &str, what: &str, test: impl Fn(&Value) -> bool) -> Value {
        let what = format!("{name}: {what}");
        until(&what, async || {
            self.tenants.get(name).await.filter(|tenant| test(tenant))
        })
        .await
    }

    pub async fn ready(&self, name: &str) -> Value {
        self.wait(name, "Ready", is_ready).await
    }

    /// Applies a manifest, waits until it is Ready, and takes the baseline.
    pub async fn provision(&mut self, name: &str, spec: &Value) -> Value {
        self.apply(name, spec).await;
        let object = self.ready(name).await;
        self.take_baseline(name, &object).await;
        object
    }

    /// Provisions a tenant to which nothing happens.
    pub async fn bystander(&mut self, name: &str) {
        self.provision(name, &json!({})).await;
        self.bystanders.insert(name.to_owned());
        self.before = Snapshot::take(self.stack()).await;
    }

    pub async fn take_baseline(&mut self, name: &str, object: &Value) {
        self.acting.insert(name.to_owned());
        let baseline = Baseline::take(self.ground.stack(), name, object, self.log.mark()).await;
        self.baselines.push(baseline);
    }

    pub fn baseline(&self, name: &str) -> &Baseline {
        self.baselines
            .iter()
            .find(|baseline| baseline.tenant == name)
            .expect("a baseline was taken")
    }

    /// What pods of a tenant read at first.
    pub fn published(&self, name: &str, app: &str) -> Value {
        self.baseline(name).copies()[app].clone()
    }

    /// What pods of a tenant read now, by app.
    pub async fn reads(&self, name: &str) -> std::collections::BTreeMap<String, Value> {
        copies(&Snapshot::take(self.stack()).await, name)
    }

    /// The scenario touches this thing itself: what becomes of it is asserted by the scenario and not by an oracle.
    pub fn touches(&mut self, thing: &Thing) {
        for baseline in &mut self.baselines {
            baseline.forgotten.insert(thing.clone());
        }
    }

    /// A real outage: these flags may turn false, and sessions at that server are cut.
    pub fn outage(&mut self, flag: Flag) {
        self.outages.push(flag);
        for baseline in &mut self.baselines {
            match flag {
                Flag::Database => baseline.sessions.database = None,
                Flag::Cache => baseline.sessions.cache = None,
                Flag::Credentials => {}
            }
        }
    }

    /// What was recorded of this tenant so far is not judged: another client had its hands on it.
    pub async fn forget_history(&mut self, name: &str) {
        self.has_recorded(name).await;
        self.histories
            .push((name.to_owned(), self.recorder.versions(name).len()));
    }

    /// Waits until the recorder has seen the newest version of a Tenant.
    async fn has_recorded(&self, name: &str) {
        if let Some(now) = self.tenants.get(name).await {
            let version = now["metadata"]["resourceVersion"].as_str().unwrap_or_default();
            self.recorder.has_seen(name, version).await;
        }
    }

    /// Every tenant has been looked at twice.
    pub async fn two_sweeps(&self) {
        tokio::time::sleep(SWEEP * 2 + Duration::from_millis(600)).await;
    }

    /// The status has every key that it had at first Ready.
    pub async fn status_is_complete(&self, name: &str) {
        let now = self.ready(name).await;
        let (now, then) = (oracle::status_keys(&now["status"]), &self.baseline(name).status_keys);
        assert!(then.is_subset(&now), "missing: {:?}", then.difference(&now));
    }

    /// Holds every tenant of the scenario to these oracles.
    pub async fn holds(&mut self, oracles: &[Oracle]) {
        let violations = self.violations(oracles).await;
        let text: Vec<String> = violations.iter().map(ToString::to_string).collect();
        assert!(violations.is_empty(), "{} violations:\n{}", text.len(), text.join("\n"));
    }

    /// What the oracles find.
    pub async fn violations(&mut self, oracles: &[Oracle]) -> Vec<Violation> {
        let mut found = Vec::new();
        // What must come about comes first, and what must stay quiet last of all is waited for before the rest is judged.
        if oracles.contains(&Oracle::Li) {
            for name in &self.acting {
                self.ready(name).await;
            }
        }
        if oracles.contains(&Oracle::Qu) {
            found.extend(self.unrest().await);
        }
        for oracle in oracles {
            match oracle {
                Oracle::Cr => {
                    for baseline in &mut self.baselines {
                        found.extend(oracle::credentials(self.ground.stack(), &self.log, baseline).await);
                    }
                }
                Oracle::St => found.extend(self.status_violations().await),
                Oracle::Da => {
                    for baseline in &self.baselines {
                        found.extend(oracle::nothing_dropped(self.stack(), baseline).await);
                    }
                }
                Oracle::Ot => {
                    let acting = self.acting.difference(&self.bystanders).cloned().collect();
                    found.extend(oracle::others_untouched(self.stack(), &self.before, &acting).await);
                }
                Oracle::Li | Oracle::Qu => {}
            }
        }
        found
    }

    async fn status_violations(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        for name in &self.acting {
            self.has_recorded(name).await;
            let versions = self.recorder.versions(name);
            let from = self
                .histories
                .iter()
                .rev()
                .find(|(it, _)| it == name)
                .map_or(0, |(_, from)| *from);
            let baseline = self.baselines.iter().find(|baseline| baseline.tenant == *name);
            found.extend(oracle::status(name, &versions[from..], baseline, &self.outages));
        }
        found
    }

    /// `qu`: what was written anywhere during two sweeps.
    async fn unrest(&self) -> Vec<Violation> {
        let before = self.settled().await;
        let (calls, statements) = (self.stack().aws.mark(), self.log.mark());
        self.two_sweeps().await;
        let mut found = self.writes_since(calls, statements);
        let after = self.kubernetes().await;
        found.extend(after.difference(&before).map(|object| format!("Kubernetes: {object}")));
        found
            .into_iter()
            .map(|what| Violation {
                oracle: Oracle::Qu,
                what,
            })
            .collect()
    }

    /// Events follow a status by moments. What goes on and on does not settle, and is found out afterwards.
    async fn settled(&self) -> BTreeSet<String> {
        let mut before = self.kubernetes().await;
        for _ in 0..10 {
            tokio::time::sleep(Duration::from_millis(800)).await;
            let after = self.kubernetes().await;
            if after == before {
                break;
            }
            before = after;
        }
        before
    }

    /// Every write to AWS, cache or PostgreSQL since two marks, in words.
    pub fn writes_since(&self, calls: u64, statements: u64) -> Vec<String> {
        let calls = self.stack().aws.writes_since(calls).into_iter();
        let mut found: Vec<String> = calls
            .map(|call| format!("{} of {} {:?}", call.name(), call.key, call.flags))
            .collect();
        let statements = self.log.writes_since(statements).into_iter();
        found.extend(statements.map(|sql| format!("PostgreSQL: {}", sql.split('\'').next().unwrap_or_default())));
        found
    }

    /// Names and versions of everything that the operator may write in Kubernetes.
    async fn kubernetes(&self) -> BTreeSet<String> {
        let events: Api<Event> = Api::all(self.client.clone());
        let events = events.list(&kube::api::ListParams::default()).await.unwrap();
        let events = events.into_iter().map(|event| {
            let (name, version) = (
                event.metadata.name.unwrap_or_default(),
                event.metadata.resource_version.unwrap_or_default(),
            );
            format!("event {name} {version}: {}", event.note.unwrap_or_default())
        });
        let tenants = self.tenants.all().await.into_iter().map(|tenant| {
            format!(
                "Tenant {} {}: {}",
                tenant["metadata"]["name"], tenant["metadata"]["resourceVersion"], tenant["status"]
            )
        });
        events.chain(tenants).collect()
    }

    /// Ends a scenario that went well: operators stop, Tenants go, and what they had stays, since nobody may drop it.
    pub async fn end(mut self) {
        for operator in self.operators.drain(..) {
            operator.kill().await;
        }
        self.stack().aws.clear_faults();
        for tenant in self.tenants.all().await {
            self.tenants
                .delete(tenant["metadata"]["name"].as_str().unwrap_or_default())
                .await;
        }
    }
}

impl Drop for Scenario {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        for operator in &self.operators {
            eprintln!("--- {} ends with:\n{}", operator.log.display(), operator.tail());
        }
        for name in &self.acting {
            if let Some(last) = self.recorder.versions(name).last() {
                let text = serde_json::to_string_pretty(&last.object["status"]).unwrap_or_default();
                eprintln!("--- Tenant {name} at version {}: {text}", last.number);
            }
        }
        let calls = self.stack().aws.calls_since(0);
        eprintln!("--- the last calls to AWS:");
        for call in &calls[calls.len().saturating_sub(40)..] {
            eprintln!(
                "{} {} {} {:?} {:?}",
                call.seq,
                call.name(),
                call.key,
                call.flags,
                call.outcome
            );
        }
    }
}
