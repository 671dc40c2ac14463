//! `plan`: from what should be and what is to an ordered list of steps, the reason for each, and what stands in the way. Pure, total and
//! deterministic. The rules of DESIGN's table stand here and in the files beside this one, each in one place:
//! `credential.rs` decides which credential an app has, `ledger.rs` what is committed, `database.rs` and `cache.rs` what each server lacks.

mod cache;
mod credential;
mod database;
mod ledger;
mod render;

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::{
    desired::Desired,
    failure::Failure,
    ledger::{Claim, Placement},
    name::AppName,
    observed::{Layer, Observed, StoreView},
    published::Whereabouts,
    reason::Reason,
    step::Step,
};

pub use database::LAYOUT;

/// What a pass will do, and what it cannot do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Where the tenant lives, if that is known.
    pub placement: Option<Placement>,
    /// The steps, in order.
    pub steps: Vec<Planned>,
    /// What stands in the way, or is awaited.
    pub findings: Vec<Finding>,
    /// The layers about which this plan says everything: what is neither a step nor a finding there is in sync.
    pub judged: BTreeSet<Layer>,
    /// A number of the ledger is being mended first: when that is done, look again at once.
    pub again: bool,
    /// What would be written if this pass might write: it is suspended, has no lock, or cannot make its claim.
    pub held: Vec<Step>,
    /// What a person should know though nothing is wrong.
    pub notes: Vec<String>,
}

/// A step, why, and which earlier steps must be done before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// What to do.
    pub step: Step,
    /// Why.
    pub because: &'static str,
    /// Indexes of the steps that it needs.
    pub needs: Vec<usize>,
}

/// Something that is not as it should be and that no step of this plan mends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Where.
    pub layer: Layer,
    /// For which app; none if for the whole tenant.
    pub app: Option<AppName>,
    /// How it weighs.
    pub kind: FindingKind,
    /// What it is.
    pub failure: Failure,
}

/// How a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingKind {
    /// A service is at it.
    Waiting,
    /// It could not be read.
    Unknown,
    /// It is wrong.
    Wrong,
}

/// How a layer stands, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As it should be.
    InSync,
    /// Steps of this plan change it.
    Changing,
    /// A service is at it.
    Waiting,
    /// It could not be read, or nothing can be said about it before something else is known.
    Unknown,
    /// Something is wrong that no step mends.
    Wrong,
}

impl Plan {
    /// Whether anything outside would change.
    pub fn writes(&self) -> bool {
        self.steps.iter().any(|planned| planned.step.writes())
    }

    /// How a layer stands.
    pub fn verdict(&self, layer: Layer) -> Verdict {
        let found = |kind| {
            self.findings
                .iter()
                .any(|finding| finding.layer == layer && finding.kind == kind)
        };
        if found(FindingKind::Wrong) {
            Verdict::Wrong
        } else if found(FindingKind::Unknown) || !self.judged.contains(&layer) {
            Verdict::Unknown
        } else if found(FindingKind::Waiting) || self.held.iter().any(|step| step.layer() == layer) {
            Verdict::Waiting
        } else if self
            .steps
            .iter()
            .any(|planned| planned.step.layer() == layer && planned.step.writes())
        {
            Verdict::Changing
        } else {
            Verdict::InSync
        }
    }
}

/// What to do about the difference.
pub fn plan(desired: &Desired, observed: &Observed, now: Timestamp) -> Plan {
    let mut draft = Draft::new(desired, observed, now);
    draft.survey();
    draft.finish()
}

/// A plan in the making.
struct Draft<'a> {
    desired: &'a Desired,
    observed: &'a Observed,
    now: Timestamp,
    plan: Plan,
    /// What every writing step needs: the commit and its read-back, once there is one.
    root: Vec<usize>,
    /// What a step inside the database needs: the last of the steps that make it ready.
    database_ready: Vec<usize>,
    /// A group's name is in other hands: nothing is done on that server.
    database_blocked: bool,
    /// Every layer was read, and every object on it: what a commit needs.
    sees_all: bool,
    /// False while this Tenant cannot make its claim: then it writes nothing.
    may_write: bool,
}

impl<'a> Draft<'a> {
    fn new(desired: &'a Desired, observed: &'a Observed, now: Timestamp) -> Self {
        let plan = Plan {
            placement: observed.placement.as_ref().ok().cloned(),
            steps: Vec::new(),
            findings: Vec::new(),
            judged: BTreeSet::new(),
            again: false,
            held: Vec::new(),
            notes: Vec::new(),
        };
        Self {
            desired,
            observed,
            now,
            plan,
            root: Vec::new(),
            database_ready: Vec::new(),
            database_blocked: false,
            sees_all: true,
            may_write: true,
        }
    }

    /// The order of the questions is the order of the laws: may anything be said at all, is it ours, is the ledger whole, is the
    /// database there; only then what each app has and lacks.
    fn survey(&mut self) {
        self.note_what_could_not_be_read();
        for complaint in &self.desired.complaints {
            self.wrong(Layer::Store, None, complaint.clone());
        }
        let Some(placement) = self.placement() else { return };
        let Some(store) = self.observed.store.known() else {
            return;
        };
        if !self.is_ours_to_work_on(store) || !self.ledger_is_whole(store) || !self.database_is_not_lost(store) {
            return;
        }
        self.judge_what_was_read();
        let Some(whereabouts) = self.desired.whereabouts(&placement, store.ledger.life()) else {
            return;
        };
        let groups = self.missing_groups();
        let holdings = self.holdings(store, &placement, &whereabouts);
        if store.ledger.records.is_empty() && self.root.is_empty() {
            // Nothing was committed and nothing will be: no server may hear of this tenant, and nothing can be said of it.
            self.plan.judged.clear();
            return;
        }
        self.note_what_waits_for_a_rotation(store);
        self.prepare_database(store, groups);
        self.plan_logins(store, &holdings);
        self.plan_cache_users(&holdings);
        self.prove_and_publish(&holdings, &whereabouts);
    }

    /// What an app was issued stands until it is issued anew: a person who changed the settings is told so.
    fn note_what_waits_for_a_rotation(&mut self, store: &StoreView) {
        for (app, wanted) in &self.desired.apps {
            let Some((_, credential)) = store.ledger.newest(app) else {
                continue;
            };
            let profile = credential.cache.as_ref().map(|cache| cache.profile);
            if credential.access != wanted.access || profile != wanted.cache {
                self.plan.notes.push(format!(
                    "the changed access or cache profile of {app} takes effect with its next rotation"
                ));
            }
        }
    }

    /// Every layer and every object that could not be read, said once; whatever else is decided, nothing is committed then.
    fn note_what_could_not_be_read(&mut self) {
        for (layer, app, failure) in self.observed.unreadable() {
            self.find(layer, app, FindingKind::Unknown, failure.clone());
            self.sees_all = false;
        }
    }

    fn placement(&mut self) -> Option<Placement> {
        match &self.observed.placement {
            Ok(placement) => Some(placement.clone()),
            Err(failure) => {
                // While the store cannot be read, that is the only thing to say.
                if self.observed.store.known().is_some() {
                    self.find(Layer::Store, None, FindingKind::Wrong, failure.clone());
                }
                None
            }
        }
    }

    fn is_ours_to_work_on(&mut self, store: &StoreView) -> bool {
        if let Some(name) = &store.foreign_record {
            let message =
                format!("parameter {name} stands where the ledger's records go and is not ours; remove or rename it");
            self.wrong(Layer::Store, None, Failure::blocked(Reason::NotOwned, message));
            return false;
        }
        if let Claim::Superseded { by, at } = store.ledger.claim(&self.desired.uid) {
            let message =
                format!("record {at} gave this tenant to another Tenant object (uid {by}); this one does nothing more");
            self.wrong(Layer::Store, None, Failure::blocked(Reason::Superseded, message));
            return false;
        }
        true
    }

    fn judge_what_was_read(&mut self) {
        let observed = self.observed;
        let known = [
            (Layer::Store, observed.store.known().is_some()),
            (Layer::Database, observed.database.known().is_some()),
            (Layer::Cache, observed.cache.known().is_some()),
        ];
        self.plan.judged = known
            .into_iter()
            .filter_map(|(layer, known)| known.then_some(layer))
            .collect();
    }

    fn step(&mut self, step: Step, because: &'static str, needs: Vec<usize>) -> usize {
        let mut all = self.root.clone();
        all.extend(needs);
        self.plan.steps.push(Planned {
            step,
            because,
            needs: all,
        });
        self.plan.steps.len() - 1
    }

    /// A proof. It waits for a commit only if something is published on the strength of it: looking needs no claim.
    fn proof(&mut self, step: Step, because: &'static str, needs: Vec<usize>, publish: bool) -> usize {
        if publish {
            return self.step(step, because, needs);
        }
        self.plan.steps.push(Planned { step, because, needs });
        self.plan.steps.len() - 1
    }

    fn wrong(&mut self, layer: Layer, app: Option<&AppName>, failure: Failure) {
        self.find(layer, app, FindingKind::Wrong, failure);
    }

    fn wait(&mut self, layer: Layer, app: &AppName, reason: Reason, message: String) {
        let failure = Failure::transient(reason, message);
        self.find(layer, Some(app), FindingKind::Waiting, failure);
    }

    fn find(&mut self, layer: Layer, app: Option<&AppName>, kind: FindingKind, failure: Failure) {
        self.plan.findings.push(Finding {
            layer,
            app: app.cloned(),
            kind,
            failure,
        });
    }

    /// Without the database server there is no lock, and without the lock nothing is written; a suspended tenant is only looked at.
    fn finish(mut self) -> Plan {
        let locked_out = self.observed.database.known().is_none();
        if (locked_out || !self.may_write || self.desired.suspend) && self.plan.writes() {
            if self.desired.suspend {
                let waiting = self.plan.steps.iter().filter(|planned| planned.step.writes()).count();
                let steps = if waiting == 1 { "step waits" } else { "steps wait" };
                let message = format!("{waiting} {steps} until suspend is lifted");
                self.wrong(Layer::Store, None, Failure::refused(Reason::Suspended, message));
            }
            self.plan.drop_writes();
        }
        self.plan
    }
}

impl Draft<'_> {
    /// Published means proven: both logins first, then the copy, create-only.
    fn prove_and_publish(&mut self, holdings: &[credential::Holding], whereabouts: &Whereabouts) {
        for holding in holdings {
            let publish = holding.copy_version.is_none();
            let login = self.prove_login(holding, whereabouts, publish);
            let user = self.prove_cache_user(holding, whereabouts, publish);
            if let (true, Some(login), Some(user)) = (publish, login, user) {
                let needs = [login, user].concat();
                let step = Step::Publish {
                    app: holding.app.clone(),
                    record: holding.record,
                };
                self.step(step, "the credential logs in and pods cannot read it yet", needs);
            } else if publish {
                let message = format!(
                    "record {} for {} is published once it has logged in",
                    holding.record, holding.app
                );
                self.wait(Layer::Store, &holding.app, Reason::Provisioning, message);
            }
        }
    }
}

impl Plan {
    /// The same plan with nothing left that writes, because the lock could not be had; what can be looked at is looked at.
    #[must_use]
    pub fn without_writes(mut self, failure: Failure) -> Self {
        self.drop_writes();
        self.findings.push(Finding {
            layer: Layer::Database,
            app: None,
            kind: FindingKind::Waiting,
            failure,
        });
        self
    }

    fn drop_writes(&mut self) {
        let (kept, dropped): (Vec<Planned>, Vec<Planned>) = std::mem::take(&mut self.steps)
            .into_iter()
            .partition(|planned| !planned.step.writes() && planned.needs.is_empty());
        self.steps = kept;
        self.held = dropped
            .into_iter()
            .map(|planned| planned.step)
            .filter(Step::writes)
            .collect();
        self.again = false;
    }
}
