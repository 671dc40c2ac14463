//! The list of apps in the status: those that should be there, and those that were and are kept.

use crate::{
    api::{AppState, AppStatus, TenantStatus},
    cursor::Outcome,
    ledger::{Credential, Record},
    name::AppName,
    observed::{Presence, StoreView},
    reason::Reason,
    step::Step,
};

use super::{
    Pass,
    problem::{Problem, Weight, last_version},
};

/// One entry for each app that is desired or was ever issued a credential.
pub(super) fn statuses(pass: Pass<'_>, problems: &[Problem], previous: Option<&TenantStatus>) -> Vec<AppStatus> {
    let Some(store) = pass.observed.store.known() else {
        return Vec::new();
    };
    let mut names: Vec<&AppName> = pass.desired.apps.keys().collect();
    names.extend(
        store
            .ledger
            .apps()
            .into_iter()
            .filter(|app| !pass.desired.apps.contains_key(*app)),
    );
    names.sort();
    names
        .into_iter()
        .map(|app| status(pass, store, app, problems, previous))
        .collect()
}

fn status(
    pass: Pass<'_>,
    store: &StoreView,
    app: &AppName,
    problems: &[Problem],
    previous: Option<&TenantStatus>,
) -> AppStatus {
    let version = match store.copy(app) {
        Presence::Ours(seen) => Some(seen.version.clone()),
        // What create-only wrote is the first version.
        Presence::Absent if published_now(pass, app) => Some("1".into()),
        // The last version stays: it is how a later pass knows that there was once something to lose.
        Presence::Absent | Presence::Unknown(_) => last_version(previous, app).cloned(),
        Presence::Foreign(_) => None,
    };
    // A record that is missing for now takes nothing from what was said of it.
    let last = previous.and_then(|status| status.apps.iter().find(|last| last.name == app.as_str()));
    let mut status = AppStatus {
        name: app.to_string(),
        record: last.and_then(|last| last.record),
        issued_at: last.and_then(|last| last.issued_at.clone()),
        login: last.and_then(|last| last.login.clone()),
        cache_user: last.and_then(|last| last.cache_user.clone()),
        parameter: Some(pass.desired.prefix.copy(&pass.desired.tenant, app)),
        version,
        state: AppState::Pending,
    };
    match store.ledger.newest(app) {
        Some((record, credential)) => describe(&mut status, record, credential),
        None => describe_committed(&mut status, pass, app),
    }
    status.state = state(pass, app, problems, &status);
    status
}

fn describe(status: &mut AppStatus, record: &Record, credential: &Credential) {
    status.record = i32::try_from(record.number.get()).ok();
    status.issued_at = Some(record.at.to_string());
    status.login = Some(credential.login.to_string());
    status.cache_user = credential.cache.as_ref().map(|cache| cache.user.to_string());
}

/// A credential that was committed in this very pass.
fn describe_committed(status: &mut AppStatus, pass: Pass<'_>, app: &AppName) {
    let read_back = |number| {
        pass.plan.steps.iter().zip(pass.outcomes).any(|(planned, outcome)| {
            matches!(&planned.step, Step::ReadBack { record } if *record == number) && *outcome == Outcome::Done
        })
    };
    for planned in &pass.plan.steps {
        let Step::CommitIssue(draft) = &planned.step else {
            continue;
        };
        let Some(names) = draft.apps.get(app).filter(|_| read_back(draft.number)) else {
            continue;
        };
        status.record = i32::try_from(draft.number.get()).ok();
        status.issued_at = Some(draft.at.to_string());
        status.login = Some(names.login.to_string());
        status.cache_user = names.cache.as_ref().map(|(user, _)| user.to_string());
    }
}

fn published_now(pass: Pass<'_>, name: &AppName) -> bool {
    pass.plan.steps.iter().zip(pass.outcomes).any(|(planned, outcome)| {
        matches!(&planned.step, Step::Publish { app, .. } if app == name) && *outcome == Outcome::Done
    })
}

fn state(pass: Pass<'_>, app: &AppName, problems: &[Problem], status: &AppStatus) -> AppState {
    if !pass.desired.apps.contains_key(app) {
        return AppState::Retained;
    }
    let published = status.version.is_some();
    // What concerns the whole tenant concerns a published app only where it takes something from it, or stops everything.
    let concerns = |problem: &&Problem| match &problem.app {
        Some(found) => found == app,
        None => !published || !problem.harmless || problem.weight == Weight::Unknown || problem.needs_a_person(),
    };
    let mut own = problems.iter().filter(concerns).peekable();
    if own.peek().is_none() {
        AppState::Ready
    } else if own.any(Problem::needs_a_person) {
        AppState::Blocked
    } else if published {
        AppState::Degraded
    } else if status.record.is_some() {
        AppState::Provisioning
    } else {
        AppState::Pending
    }
}

/// The word for a step that was done.
pub(super) fn event_reason(step: &Step) -> Reason {
    match step {
        Step::CommitIssue(_)
        | Step::CommitOpen { .. }
        | Step::CommitVoid { .. }
        | Step::FillRecord { .. }
        | Step::ReadBack { .. } => Reason::RecordCommitted,
        Step::CreateDatabase { .. } | Step::SealDatabase { .. } | Step::PrepareDatabase { .. } => {
            Reason::DatabaseChanged
        }
        Step::CreateGroups { .. }
        | Step::CreateLogin { .. }
        | Step::ConfigureLogin { .. }
        | Step::ProveLogin { .. } => Reason::RoleChanged,
        Step::CreateCacheUser { .. } | Step::JoinUserGroup { .. } | Step::ProveCacheUser { .. } => {
            Reason::CacheUserChanged
        }
        Step::Publish { .. } => Reason::Published,
    }
}
