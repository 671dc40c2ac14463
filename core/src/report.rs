//! `report`: status, conditions and events from what was planned and what came of it. The whole status is computed anew in every pass and
//! written once; no field ever disappears. A flag keeps its last value while its layer could not be read; it turns false when a
//! proof cannot reach the server or is refused.

mod apps;
mod conditions;
mod problem;

use jiff::Timestamp;

use crate::{
    api::{Phase, PlacementStatus, TenantStatus},
    cursor::Outcome,
    desired::Desired,
    failure::{Class, Failure},
    observed::{Layer, Observed, Presence},
    plan::{Finding, Plan},
    reason::Reason,
    step::Step,
};

use conditions::Summary;
use problem::{Problem, Weight, problems};

/// What a pass has to say.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The whole status.
    pub status: TenantStatus,
    /// What changed, in the order in which it did.
    pub events: Vec<Event>,
    /// When to look again.
    pub next: Next,
}

/// Something that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Something a person may have to look at.
    pub warning: bool,
    /// The word.
    pub reason: Reason,
    /// The sentence.
    pub message: String,
}

/// When to look again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// All is well: at the next sweep.
    Sweep,
    /// Something is under way: soon.
    Soon,
    /// Something failed: after the backoff of its class.
    Retry(Class),
}

/// What a pass knew when it ended.
#[derive(Clone, Copy, Debug)]
pub struct Pass<'a> {
    /// What should be.
    pub desired: &'a Desired,
    /// What was seen.
    pub observed: &'a Observed,
    /// What was planned.
    pub plan: &'a Plan,
    /// What came of it, step by step.
    pub outcomes: &'a [Outcome],
}

/// The report of a pass.
pub fn report(pass: Pass<'_>, previous: Option<&TenantStatus>, now: Timestamp) -> Report {
    let problems = problems(pass, previous);
    let summary = Summary::of(pass, &problems, previous);
    let mut status = previous.cloned().unwrap_or_default();
    status.observed_generation = Some(pass.desired.generation);
    status.phase = phase(pass, &problems, previous);
    if let Some((plan, _)) = &pass.desired.plan
        && (status.plan.is_none() || is_in_force(pass))
    {
        status.plan = Some(plan.to_string());
    }
    status.db_ready = summary.flag(Layer::Database);
    status.redis_ready = summary.flag(Layer::Cache);
    status.credentials_ready = summary.flag(Layer::Store);
    if let Some(placement) = &pass.plan.placement {
        status.placement = Some(PlacementStatus {
            database: placement.database.to_string(),
            cache: placement.cache.as_ref().map(ToString::to_string),
        });
    }
    if pass.observed.store.known().is_some() {
        status.apps = apps::statuses(pass, &problems, previous);
    }
    status.conditions = summary.conditions(pass.desired.generation, previous, now);
    let events = events(pass, &summary, previous);
    Report {
        status,
        events,
        next: next(pass, &problems),
    }
}

/// The report on a manifest that was refused before anything was looked at: what is in force stays, and stays visible.
pub fn refuse(refusal: &Failure, generation: i64, previous: Option<&TenantStatus>, now: Timestamp) -> Report {
    let mut status = previous.cloned().unwrap_or_default();
    status.observed_generation = Some(generation);
    status.phase = Phase::Blocked;
    let summary = Summary::refused(refusal, previous);
    status.conditions = summary.conditions(generation, previous, now);
    let changed = summary.changed(previous);
    let event = Event {
        warning: true,
        reason: refusal.reason,
        message: refusal.message.clone(),
    };
    Report {
        status,
        events: changed.then_some(event).into_iter().collect(),
        next: Next::Retry(refusal.class),
    }
}

/// A plan is in force once every login has its limits.
fn is_in_force(pass: Pass<'_>) -> bool {
    let limits = |step: &Step| matches!(step, Step::ConfigureLogin { .. });
    let mut ran = pass.plan.steps.iter().zip(pass.outcomes);
    let configured = ran.all(|(planned, outcome)| *outcome == Outcome::Done || !limits(&planned.step));
    let stopped = |finding: &Finding| finding.layer == Layer::Database && finding.app.is_none();
    pass.plan.judged.contains(&Layer::Database)
        && configured
        && !pass.plan.held.iter().any(limits)
        && !pass.plan.findings.iter().any(stopped)
}

fn phase(pass: Pass<'_>, problems: &[Problem], previous: Option<&TenantStatus>) -> Phase {
    let has = |test: fn(&Problem) -> bool| problems.iter().any(test);
    // What pods could once read makes the difference between not there yet and not as it was.
    let published = pass.observed.store.known().is_some_and(|store| {
        pass.desired
            .apps
            .keys()
            .all(|app| matches!(store.copy(app), Presence::Ours(_)))
    });
    let once_ready = published || previous.is_some_and(|status| status.credentials_ready);
    let committed = pass
        .observed
        .store
        .known()
        .is_some_and(|store| !store.ledger.records.is_empty())
        || pass
            .plan
            .steps
            .iter()
            .zip(pass.outcomes)
            .any(|(planned, outcome)| matches!(planned.step, Step::ReadBack { .. }) && *outcome == Outcome::Done);
    if problems.is_empty() {
        Phase::Ready
    } else if has(Problem::needs_a_person) {
        Phase::Blocked
    } else if has(|problem| problem.weight != Weight::Waiting || !problem.harmless) && once_ready {
        Phase::Degraded
    } else if committed || once_ready {
        Phase::Provisioning
    } else {
        Phase::Pending
    }
}

fn next(pass: Pass<'_>, problems: &[Problem]) -> Next {
    if let Some(class) = problems
        .iter()
        .filter(|it| it.weight != Weight::Waiting)
        .map(|it| it.failure.class)
        .min()
    {
        // The quickest class decides: what may heal by itself is looked at again soon, though something else needs a person.
        Next::Retry(class)
    } else if !problems.is_empty() || pass.plan.again {
        Next::Soon
    } else {
        Next::Sweep
    }
}

fn events(pass: Pass<'_>, summary: &Summary, previous: Option<&TenantStatus>) -> Vec<Event> {
    let done = pass
        .plan
        .steps
        .iter()
        .zip(pass.outcomes)
        .filter(|(planned, outcome)| planned.step.writes() && **outcome == Outcome::Done);
    let mut events: Vec<Event> = done
        .map(|(planned, _)| Event {
            warning: false,
            reason: apps::event_reason(&planned.step),
            message: format!("{}: {}", planned.step, planned.because),
        })
        .collect();
    if summary.changed(previous) {
        let warning = !summary.is_quiet();
        events.push(Event {
            warning,
            reason: summary.reason(),
            message: summary.message(),
        });
    }
    events
}
