//! Everything the sandbox knows, behind one lock that is never held across an await.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};

use super::call::{Body, Recognised};
use super::elasticache::{self, Directory};
use super::fault::{Fault, Faults, RuleId};
use super::log::{Log, Service};
use super::place::Place;
use super::project::{Progress, Projection};
use super::refusal::Refusal;
use super::ssm::{self, Parameters};
use super::terms::Terms;
use super::xml::Xml;

/// The account that everything belongs to.
pub const ACCOUNT: &str = "123456789012";
/// The region of whoever does not name one.
pub const HOME: &str = "eu-west-1";

/// How long an answer waits for a cache that is up to follow a change.
const PATIENCE: Duration = Duration::from_secs(2);

/// What one region holds.
#[derive(Debug, Default)]
pub struct Region {
    pub parameters: Parameters,
    pub directory: Directory,
}

#[derive(Debug, Default)]
pub struct State {
    regions: BTreeMap<String, Region>,
    pub log: Log,
    pub faults: Faults,
    pub terms: Terms,
    pub projections: Vec<Projection>,
}

impl State {
    pub fn region(&mut self, name: &str) -> &mut Region {
        self.regions.entry(name.to_owned()).or_default()
    }

    /// A region together with the terms that hold in it.
    pub fn region_and_terms(&mut self, name: &str) -> (&mut Region, &Terms) {
        (self.regions.entry(name.to_owned()).or_default(), &self.terms)
    }
}

/// The state and the bells that tell others of a change to it.
#[derive(Debug)]
pub struct Shared {
    state: Mutex<State>,
    /// Rung when users or groups may have changed.
    pub changed: Notify,
    /// Rung when fault rules were cleared.
    pub cleared: watch::Sender<()>,
}

impl Shared {
    pub fn new() -> Self {
        Self {
            state: Mutex::default(),
            changed: Notify::new(),
            cleared: watch::Sender::new(()),
        }
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a call in the log and says whether it is refused at the door or struck by a fault.
    pub fn admit(&self, asked: &Recognised) -> (u64, Result<Option<(RuleId, Fault)>, Refusal>) {
        let state = &mut *self.lock();
        let (caller, region) = asked.signer.as_ref().map_or(("", HOME), |signer| {
            (signer.access_key.as_str(), signer.region.as_str())
        });
        let seq = state
            .log
            .begin(asked.service, &asked.operation, region, caller, &asked.subject);
        if asked.signer.is_none() {
            let code = match asked.service {
                Service::Ssm => "MissingAuthenticationTokenException",
                Service::ElastiCache | Service::Sts => "MissingAuthenticationToken",
            };
            return (
                seq,
                Err(Refusal::new(code, 403, "Request is missing Authentication Token")),
            );
        }
        if let Err(refusal) = state.faults.admit(asked.service, &asked.operation, Instant::now()) {
            return (seq, Err(refusal));
        }
        (
            seq,
            Ok(state.faults.strike(asked.service, &asked.operation, &asked.subject.key)),
        )
    }

    /// Does what a call asks. The answer lacks the envelope of its protocol.
    pub fn apply(&self, asked: &Recognised, now: Instant) -> Result<String, Refusal> {
        let state = &mut *self.lock();
        let region = asked.signer.as_ref().map_or(HOME, |signer| signer.region.as_str());
        let (kept, terms) = state.region_and_terms(region);
        let at = Place {
            account: ACCOUNT,
            region,
            now,
            terms,
        };
        match &asked.body {
            Body::Json(input) => {
                ssm::answer(&asked.operation, input.clone(), &mut kept.parameters, &at).map(|answer| answer.to_string())
            }
            Body::Form(_) if asked.service == Service::Sts => identify(&asked.operation),
            Body::Form(form) => {
                let answer = elasticache::answer(&asked.operation, form, &mut kept.directory, &at);
                self.changed.notify_waiters();
                answer
            }
        }
    }

    /// On AWS an active membership is one that the cache knows of. So an answer waits for the caches that can be reached; one that
    /// cannot be reached holds nobody up.
    pub async fn let_projection_catch_up(&self, asked: &Recognised) {
        if asked.service == Service::ElastiCache {
            let region = asked.signer.as_ref().map_or(HOME, |signer| signer.region.as_str());
            self.await_projection(region, PATIENCE, false).await;
        }
    }

    /// Waits until every cache of the region has followed the last change; `down` says whether to wait for one that is unreachable.
    pub async fn await_projection(&self, region: &str, patience: Duration, down: bool) -> bool {
        let (epoch, progress): (u64, Vec<watch::Receiver<Progress>>) = {
            let state = &mut *self.lock();
            let epoch = state.region(region).directory.epoch;
            let here = state
                .projections
                .iter()
                .filter(|projection| projection.region == region);
            (epoch, here.map(|projection| projection.progress.subscribe()).collect())
        };
        let done = |progress: &Progress| progress.epoch >= epoch || (!down && progress.trouble.is_some());
        let all = async {
            for mut one in progress {
                if one.wait_for(&done).await.is_err() {
                    return;
                }
            }
        };
        tokio::time::timeout(patience, all).await.is_ok()
    }

    pub fn note(&self, seq: u64, outcome: &str) {
        self.lock().log.end(seq, outcome);
    }
}

fn identify(operation: &str) -> Result<String, Refusal> {
    if operation != "GetCallerIdentity" {
        return Err(Refusal::client(
            "InvalidAction",
            format!("the sandbox has no operation {operation}"),
        ));
    }
    let mut xml = Xml::default();
    xml.leaf("Arn", &format!("arn:aws:iam::{ACCOUNT}:user/sandbox"));
    xml.leaf("UserId", "AIDASANDBOX");
    xml.leaf("Account", ACCOUNT);
    Ok(xml.finish())
}
