//! The list of apps in the status: those that should be there, and those that were and are kept.

use crate::{
    api::{AppState, AppStatus},
    cursor::Outcome,
    ledger::{Credential, Record},
    name::AppName,
    observed::{Presence, StoreView},
    reason::Reason,
    step::Step,
};

use super::{
    Pass,
    problem::{Problem, Weight},
};

/// One entry for each app that is desired or was ever issued a credential.
pub(super) fn statuses(pass: Pass<'_>, problems: &[Problem]) -> Vec<AppStatus> {
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
        .map(|app| status(pass, store, app, problems))
        .collect()
}

fn status(pass: Pass<'_>, store: &StoreView, app: &AppName, problems: &[Problem]) -> AppStatus {
    let issued = store.ledger.newest(app);
    let version = match store.copy(app) {
        Presence::Ours(seen) => Some(seen.version.clone()),
        Presence::Absent if published_now(pass, app) => Some("1".into()),
        Presence::Absent | Presence::Foreign(_) | Presence::Unknown(_) => None,
    };
    let mut status = AppStatus {
        name: app.to_string(),
        record: None,
        issued_at: None,
        login: None,
        cache_user: None,
        parameter: Some(pass.desired.prefix.copy(&pass.desired.tenant, app)),
        version,
        state: state(pass, app, problems),
    };
    match issued {
        Some((record, credential)) => describe(&mut status, record, credential),
        None => describe_committed(&mut status, pass, app),
    }
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

fn state(pass: Pass<'_>, app: &AppName, problems: &[Problem]) -> AppState {
    if !pass.desired.apps.contains_key(app) {
        return AppState::Retained;
    }
    let mut own = problems
        .iter()
        .filter(|problem| problem.app.as_ref().is_none_or(|found| found == app));
    match own.clone().map(|problem| problem.weight).max() {
        None => AppState::Ready,
        Some(Weight::Wrong) if own.any(Problem::needs_a_person) => AppState::Blocked,
        Some(Weight::Wrong | Weight::Unknown) => AppState::Degraded,
        Some(Weight::Waiting) => AppState::Provisioning,
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
