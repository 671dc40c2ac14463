//! Everything that keeps a tenant from being Ready, gathered from the plan's findings and the steps' outcomes in one form.

use crate::{
    api::TenantStatus,
    cursor::Outcome,
    failure::{Class, Failure},
    name::{AppName, CacheUser},
    observed::{Layer, Presence},
    plan::{Finding, FindingKind},
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
    /// It says something of what is asked for, and nothing of any server.
    pub(super) fn is_about_the_manifest(&self) -> bool {
        matches!(
            self.failure.reason,
            Reason::UnknownPlan | Reason::UnknownApp | Reason::NoApps
        )
    }

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
pub(super) fn problems(pass: Pass<'_>, previous: Option<&TenantStatus>) -> Vec<Problem> {
    let findings = pass.plan.findings.iter().map(|finding| Problem {
        layer: finding.layer,
        app: finding.app.clone(),
        weight: match finding.kind {
            FindingKind::Waiting => Weight::Waiting,
            FindingKind::Unknown => Weight::Unknown,
            FindingKind::Wrong => Weight::Wrong,
        },
        failure: finding.failure.clone(),
        harmless: is_harmless(pass, previous, finding),
    });
    let ran = pass.plan.steps.iter().map(|planned| &planned.step).zip(pass.outcomes);
    let held = pass.plan.held.iter().map(|step| (step, &Outcome::Skipped));
    let outcomes = ran.chain(held).filter_map(|(step, outcome)| {
        let (weight, failure) = weigh(pass, step, outcome)?;
        Some(Problem {
            layer: step.layer(),
            app: step.app().cloned(),
            weight,
            failure,
            harmless: takes_nothing(pass, previous, step),
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

/// What concerns the ledger as a whole, or who may write now, takes nothing from the copies that stand.
fn is_harmless(pass: Pass<'_>, previous: Option<&TenantStatus>, finding: &Finding) -> bool {
    match &finding.app {
        None => finding.layer == Layer::Store || finding.failure.reason == Reason::Locked,
        Some(app) => !was_published(pass, previous, app),
    }
}

/// Whether all that was ready is so still, though this step was not done.
fn takes_nothing(pass: Pass<'_>, previous: Option<&TenantStatus>, step: &Step) -> bool {
    match step {
        Step::ConfigureLogin { .. }
        | Step::CommitIssue(_)
        | Step::CommitOpen { .. }
        | Step::CommitVoid { .. }
        | Step::FillRecord { .. }
        | Step::ReadBack { .. } => true,
        Step::JoinUserGroup { users } => !users.iter().any(|user| is_published(pass, user)),
        Step::CreateGroups { .. }
        | Step::CreateDatabase { .. }
        | Step::SealDatabase { .. }
        | Step::PrepareDatabase { .. } => false,
        Step::CreateLogin { app, .. }
        | Step::ProveLogin { app, .. }
        | Step::CreateCacheUser { app, .. }
        | Step::ProveCacheUser { app, .. }
        | Step::Publish { app, .. } => !was_published(pass, previous, app),
    }
}

/// Whether pods could ever read this app's credential: a copy stands there, or the last status still has its version.
pub(super) fn was_published(pass: Pass<'_>, previous: Option<&TenantStatus>, app: &AppName) -> bool {
    let copy = pass.observed.store.known().map(|store| store.copy(app));
    let stands = copy.is_none_or(|copy| !matches!(copy, Presence::Absent));
    stands || last_version(previous, app).is_some()
}

/// The version that the last status has of an app's copy.
pub(super) fn last_version<'a>(previous: Option<&'a TenantStatus>, app: &AppName) -> Option<&'a String> {
    let last = previous?.apps.iter().find(|last| last.name == app.as_str())?;
    last.version.as_ref()
}

fn is_published(pass: Pass<'_>, user: &CacheUser) -> bool {
    let copies = pass
        .observed
        .store
        .known()
        .into_iter()
        .flat_map(|store| store.copies.values());
    copies.into_iter().any(|copy| match copy {
        Presence::Ours(seen) => seen.copy.cache.as_ref().is_some_and(|cache| cache.username == *user),
        Presence::Absent | Presence::Foreign(_) | Presence::Unknown(_) => false,
    })
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
        let settled = pass.observed.is_settled(user);
        let seen_before = pass.observed.recall.refusals.get(app).copied().unwrap_or(0) > 0;
        if !(settled && seen_before) {
            let message = format!("the cache does not know {user} yet; asking again");
            return (Weight::Waiting, Failure::transient(Reason::CacheUserPending, message));
        }
    }
    if matches!(step, Step::ProveLogin { .. }) && pass.observed.database.known().is_none() {
        // Refused it is; whether that is drift, nobody knows without the catalog.
        let refused = Failure::transient(Reason::LoginRefused, failure.message.clone());
        return (Weight::Wrong, refused);
    }
    let message = format!(
        "{}; it was changed by another's hand and is not altered: a rotation replaces it",
        failure.message
    );
    (Weight::Wrong, Failure::blocked(Reason::CredentialDrift, message))
}
