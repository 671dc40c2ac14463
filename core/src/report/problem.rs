//! Everything that keeps a tenant from being Ready, gathered from the plan's findings and the steps' outcomes in one form.

use crate::{
    cursor::Outcome,
    failure::{Class, Failure},
    name::AppName,
    observed::{Layer, Membership, Presence},
    plan::FindingKind,
    reason::Reason,
    step::Step,
};

use super::Pass;

/// One thing that is not as it should be.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Problem {
    pub layer: Layer,
    pub app: Option<AppName>,
    pub weight: Weight,
    pub failure: Failure,
    /// It concerns only limits, or an app that was never published: nothing that was ready is any less so.
    pub harmless: bool,
}

/// How a problem weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// Under way.
    Waiting,
    /// Not known.
    Unknown,
    /// Wrong.
    Wrong,
}

impl Problem {
    /// Nothing goes on until a person acts. Drift is no such thing: the tenant works, with less than it should have.
    pub(super) fn needs_a_person(&self) -> bool {
        let degraded = matches!(
            self.failure.reason,
            Reason::CredentialDrift | Reason::LoginExpired | Reason::EndpointChanged | Reason::Suspended
        );
        self.weight != Weight::Waiting && matches!(self.failure.class, Class::Blocked | Class::Refused) && !degraded
    }
}

/// What stands between this tenant and Ready, worst first.
pub(super) fn problems(pass: Pass<'_>) -> Vec<Problem> {
    let findings = pass.plan.findings.iter().map(|finding| Problem {
        layer: finding.layer,
        app: finding.app.clone(),
        weight: match finding.kind {
            FindingKind::Waiting => Weight::Waiting,
            FindingKind::Unknown => Weight::Unknown,
            FindingKind::Wrong => Weight::Wrong,
        },
        failure: finding.failure.clone(),
        harmless: is_unpublished(pass, finding.app.as_ref()),
    });
    let outcomes = pass
        .plan
        .steps
        .iter()
        .zip(pass.outcomes)
        .filter_map(|(planned, outcome)| {
            let step = &planned.step;
            let (weight, failure) = weigh(pass, step, outcome)?;
            let limits = matches!(step, Step::ConfigureLogin { .. });
            let harmless = limits || is_unpublished(pass, step.app());
            Some(Problem {
                layer: step.layer(),
                app: step.app().cloned(),
                weight,
                failure,
                harmless,
            })
        });
    let mut problems: Vec<Problem> = Vec::new();
    for problem in findings.chain(outcomes) {
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }
    problems.sort_by_key(|problem| std::cmp::Reverse((problem.weight, problem.failure.class)));
    problems
}

fn is_unpublished(pass: Pass<'_>, app: Option<&AppName>) -> bool {
    let (Some(app), Some(store)) = (app, pass.observed.store.known()) else {
        return false;
    };
    matches!(store.copy(app), Presence::Absent)
}

fn weigh(pass: Pass<'_>, step: &Step, outcome: &Outcome) -> Option<(Weight, Failure)> {
    match outcome {
        Outcome::Done => None,
        Outcome::Pending(reason, message) => Some((Weight::Waiting, Failure::transient(*reason, message.clone()))),
        Outcome::Skipped => {
            let message = format!("waits for an earlier step: {step}");
            Some((Weight::Waiting, Failure::transient(Reason::Provisioning, message)))
        }
        Outcome::Failed(failure) if failure.reason == Reason::LoginRefused => Some(refused(pass, step, failure)),
        Outcome::Failed(failure) => Some((Weight::Wrong, failure.clone())),
    }
}

/// A refused login is drift only where everything else says that it should have worked.
fn refused(pass: Pass<'_>, step: &Step, failure: &Failure) -> (Weight, Failure) {
    if let Step::ProveCacheUser { app, user, .. } = step {
        let settled = pass.observed.cache.known().is_some_and(|view| {
            view.group_busy.is_none()
                && matches!(view.user(user), Presence::Ours(seen) if seen.membership == Membership::Member && seen.pending.is_none())
        });
        let seen_before = pass.observed.recall.refusals.get(app).copied().unwrap_or(0) > 0;
        if !(settled && seen_before) {
            let message = format!("the cache does not know {user} yet; asking again");
            return (Weight::Waiting, Failure::transient(Reason::CacheUserPending, message));
        }
    }
    if matches!(step, Step::ProveLogin { .. }) && pass.observed.database.known().is_none() {
        // Without the catalog nobody knows whether the login is there at all.
        return (Weight::Unknown, failure.clone());
    }
    let message = format!(
        "{}; it was changed by another's hand and is not altered: a rotation replaces it",
        failure.message
    );
    (Weight::Wrong, Failure::blocked(Reason::CredentialDrift, message))
}
