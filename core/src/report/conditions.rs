//! Conditions (KEP-1623, kstatus) and the three flags, from the problems of a pass.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use crate::{
    api::TenantStatus,
    failure::{Class, Failure},
    observed::Layer,
    reason::Reason,
};

use super::{
    Pass,
    problem::{Problem, Weight},
};

/// A condition's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Truth {
    True,
    False,
    Unknown,
}

impl Truth {
    fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// How one layer, or the whole, stands.
struct Standing {
    truth: Truth,
    flag: bool,
    reason: Reason,
    message: String,
}

/// How a tenant stands after a pass.
pub(super) struct Summary {
    ready: Standing,
    layers: Vec<(Layer, Standing)>,
    waiting: bool,
    stalled: bool,
    /// Nobody has to look: all is well, under way, or suspended by a person.
    quiet: bool,
}

const READY: &str = "Ready";

fn condition_type(layer: Layer) -> &'static str {
    match layer {
        Layer::Database => "DatabaseReady",
        Layer::Cache => "CacheReady",
        Layer::Store => "CredentialsReady",
    }
}

fn last_flag(layer: Layer, previous: Option<&TenantStatus>) -> bool {
    previous.is_some_and(|status| match layer {
        Layer::Database => status.db_ready,
        Layer::Cache => status.redis_ready,
        Layer::Store => status.credentials_ready,
    })
}

impl Summary {
    pub(super) fn of(pass: Pass<'_>, problems: &[Problem], previous: Option<&TenantStatus>) -> Self {
        let layers = Layer::ALL
            .map(|layer| (layer, standing(pass, layer, problems, previous)))
            .into();
        let ready = match problems.first() {
            None => Standing {
                truth: Truth::True,
                flag: true,
                reason: Reason::Provisioned,
                message: ready_message(pass),
            },
            Some(worst) => Standing {
                truth: truth(worst.weight),
                flag: false,
                reason: if worst.weight == Weight::Waiting {
                    Reason::Provisioning
                } else {
                    worst.failure.reason
                },
                message: message(problems.iter(), pass),
            },
        };
        let stalled = problems.iter().any(Problem::needs_a_person);
        let is_quiet = |it: &Problem| it.weight == Weight::Waiting || it.failure.reason == Reason::Suspended;
        Self {
            ready,
            layers,
            waiting: !problems.is_empty() && !stalled,
            stalled,
            quiet: problems.iter().all(is_quiet),
        }
    }

    /// A refused manifest says nothing about the layers: they keep what they had.
    pub(super) fn refused(refusal: &Failure, previous: Option<&TenantStatus>) -> Self {
        let unjudged = |layer| {
            (
                layer,
                unjudged(layer, previous, refusal.reason, refusal.message.clone()),
            )
        };
        Self {
            ready: Standing {
                truth: Truth::False,
                flag: false,
                reason: refusal.reason,
                message: refusal.message.clone(),
            },
            layers: Layer::ALL.map(unjudged).into(),
            waiting: false,
            stalled: refusal.class != Class::Transient,
            quiet: false,
        }
    }

    pub(super) fn flag(&self, layer: Layer) -> bool {
        self.layers
            .iter()
            .any(|(found, standing)| *found == layer && standing.flag)
    }

    pub(super) fn reason(&self) -> Reason {
        self.ready.reason
    }

    pub(super) fn message(&self) -> String {
        self.ready.message.clone()
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether Ready now says something else than the last status did.
    pub(super) fn changed(&self, previous: Option<&TenantStatus>) -> bool {
        let last = previous.and_then(|status| status.conditions.iter().find(|condition| condition.type_ == READY));
        last.is_none_or(|last| last.reason != self.ready.reason.as_str() || last.status != self.ready.truth.as_str())
    }

    /// The conditions, with `lastTransitionTime` moved only where the status flipped. Reconciling and Stalled are there only while true.
    pub(super) fn conditions(
        &self,
        generation: i64,
        previous: Option<&TenantStatus>,
        now: Timestamp,
    ) -> Vec<Condition> {
        let last = |kind: &str| previous.and_then(|status| status.conditions.iter().find(|it| it.type_ == kind));
        let make = |kind: &str, truth: Truth, reason: Reason, message: &str| Condition {
            type_: kind.to_owned(),
            status: truth.as_str().to_owned(),
            reason: reason.as_str().to_owned(),
            message: message.to_owned(),
            observed_generation: Some(generation),
            last_transition_time: last(kind)
                .filter(|condition| condition.status == truth.as_str())
                .map_or_else(
                    || Time(crate::ledger::whole_seconds(now)),
                    |it| it.last_transition_time.clone(),
                ),
        };
        let ready = &self.ready;
        let mut conditions = vec![make(READY, ready.truth, ready.reason, &ready.message)];
        conditions.extend(self.layers.iter().map(|(layer, standing)| {
            make(
                condition_type(*layer),
                standing.truth,
                standing.reason,
                &standing.message,
            )
        }));
        if self.waiting {
            conditions.push(make("Reconciling", Truth::True, ready.reason, &ready.message));
        }
        if self.stalled {
            conditions.push(make("Stalled", Truth::True, ready.reason, &ready.message));
        }
        conditions
    }
}

fn standing(pass: Pass<'_>, layer: Layer, problems: &[Problem], previous: Option<&TenantStatus>) -> Standing {
    let last = last_flag(layer, previous);
    let own: Vec<&Problem> = problems
        .iter()
        .filter(|problem| problem.layer == layer && !problem.is_about_the_manifest())
        .collect();
    let worst = own.first();
    if worst.is_none_or(|worst| worst.weight != Weight::Wrong) && !pass.plan.judged.contains(&layer) {
        // Nothing was said about this layer: it keeps its flag, and the reason is whatever kept us from looking.
        let (reason, message) = match worst.copied().or(problems.first()) {
            Some(problem) => (problem.failure.reason, problem.failure.message.clone()),
            None => (Reason::Provisioning, "not looked at yet".into()),
        };
        return unjudged(layer, previous, reason, message);
    }
    match worst {
        None => Standing {
            truth: Truth::True,
            flag: true,
            reason: Reason::Provisioned,
            message: in_sync(layer).into(),
        },
        Some(worst) => Standing {
            truth: truth(worst.weight),
            flag: last
                && own
                    .iter()
                    .all(|problem| problem.harmless || problem.weight == Weight::Unknown),
            reason: worst.failure.reason,
            message: message(own.iter().copied(), pass),
        },
    }
}

/// A layer about which nothing was said keeps its flag. A database that was last seen to be lost is lost still: the status may be all
/// that remembers it.
fn unjudged(layer: Layer, previous: Option<&TenantStatus>, reason: Reason, message: String) -> Standing {
    let last = previous.and_then(|status| {
        let mut conditions = status.conditions.iter();
        conditions.find(|it| it.type_ == condition_type(layer) && it.reason == Reason::DatabaseLost.as_str())
    });
    let (reason, message) = match last {
        Some(last) => (Reason::DatabaseLost, last.message.clone()),
        None => (reason, message),
    };
    Standing {
        truth: Truth::Unknown,
        flag: last_flag(layer, previous),
        reason,
        message,
    }
}

fn truth(weight: Weight) -> Truth {
    match weight {
        Weight::Unknown => Truth::Unknown,
        Weight::Waiting | Weight::Wrong => Truth::False,
    }
}

fn in_sync(layer: Layer) -> &'static str {
    match layer {
        Layer::Database => "the database is there and every login logs in",
        Layer::Cache => "every cache user logs in",
        Layer::Store => "every credential is published",
    }
}

/// What a person should know besides.
fn asides(pass: Pass<'_>) -> impl Iterator<Item = &str> {
    pass.desired
        .unsupported
        .iter()
        .copied()
        .chain(pass.plan.notes.iter().map(String::as_str))
}

fn ready_message(pass: Pass<'_>) -> String {
    let mut message = String::from("every published credential logs in");
    for said in asides(pass) {
        message.push_str("; ");
        message.push_str(said);
    }
    message
}

/// At most three sentences: a condition is read on one screen. What waits for an earlier step says nothing new beside that step.
fn message<'a>(problems: impl Iterator<Item = &'a Problem>, pass: Pass<'_>) -> String {
    let mut all: Vec<&str> = Vec::new();
    for problem in problems {
        // One fault that blinds two layers is said once.
        if !all.contains(&problem.failure.message.as_str()) {
            all.push(&problem.failure.message);
        }
    }
    let mut shown: Vec<&str> = all.iter().copied().take(3).collect();
    let more = format!("and {} more", all.len() - shown.len());
    if all.len() > shown.len() {
        shown.push(&more);
    }
    shown.extend(asides(pass));
    shown.join("; ")
}
