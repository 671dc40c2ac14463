//! What holds for every plan, whatever it was made from.

use std::collections::BTreeSet;

use proptest::{prelude::*, test_runner::RngSeed};
use ramparts_core::{
    cursor::{Cursor, Outcome},
    failure::Failure,
    ledger::{Claim, IssueDraft},
    name::{AppName, CacheUser, RecordNo, RoleName},
    observed::{Layer, Observed, Presence},
    plan::{Plan, plan},
    reason::Reason,
    step::{Source, Step},
};

use crate::{
    any::{Scene, scene},
    common::{CANARY, now},
};

fn planned(scene: &Scene) -> (Observed, Plan) {
    let desired = scene.wish().desired();
    let observed = scene.world().observe(&desired);
    let plan = plan(&desired, &observed, now());
    (observed, plan)
}

fn is_commit(step: &Step) -> bool {
    matches!(
        step,
        Step::CommitIssue(_) | Step::CommitOpen { .. } | Step::CommitVoid { .. } | Step::FillRecord { .. }
    )
}

/// Everything that a step rests on, however far back.
fn roots(plan: &Plan, of: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut todo = plan.steps[of].needs.clone();
    while let Some(need) = todo.pop() {
        if found.insert(need) {
            todo.extend(plan.steps[need].needs.clone());
        }
    }
    found
}

fn draft(plan: &Plan) -> Option<(usize, &IssueDraft)> {
    plan.steps
        .iter()
        .enumerate()
        .find_map(|(index, planned)| match &planned.step {
            Step::CommitIssue(draft) => Some((index, draft)),
            _ => None,
        })
}

/// The login and the cache user that a record gives an app, from the ledger or from what this plan commits and reads back first.
fn issued(
    observed: &Observed,
    plan: &Plan,
    of: usize,
    app: &AppName,
    record: RecordNo,
) -> Option<(RoleName, Option<CacheUser>)> {
    let store = observed.store.known()?;
    if let Some(credential) = store.ledger.credential(record, app) {
        return Some((
            credential.login.clone(),
            credential.cache.as_ref().map(|cache| cache.user.clone()),
        ));
    }
    let (_, draft) = draft(plan)?;
    let read_back = roots(plan, of)
        .into_iter()
        .any(|need| matches!(plan.steps[need].step, Step::ReadBack { record: read } if read == record));
    let names = draft.apps.get(app).filter(|_| draft.number == record && read_back)?;
    Some((names.login.clone(), names.cache.as_ref().map(|(user, _)| user.clone())))
}

fn untouchable<T>(presence: &Presence<T>) -> bool {
    matches!(presence, Presence::Foreign(_) | Presence::Unknown(_))
}

/// Whether a step names an object that is not ours, or that could not be read.
fn touches_what_is_not_ours(observed: &Observed, step: &Step) -> bool {
    let login = |name: &RoleName| {
        observed
            .database
            .known()
            .is_some_and(|view| untouchable(view.login(name)))
    };
    let user = |id: &CacheUser| observed.cache.known().is_some_and(|view| untouchable(view.user(id)));
    match step {
        Step::CreateLogin { login: name, .. }
        | Step::ConfigureLogin { login: name, .. }
        | Step::ProveLogin { login: name, .. } => login(name),
        Step::CreateCacheUser { user: id, .. } | Step::ProveCacheUser { user: id, .. } => user(id),
        Step::JoinUserGroup { users } => users.iter().any(user),
        Step::CreateDatabase { .. } | Step::SealDatabase { .. } | Step::PrepareDatabase { .. } => {
            observed.database.known().is_none_or(|view| untouchable(&view.database))
        }
        Step::CreateGroups { groups, .. } => groups.iter().any(|(access, _)| {
            observed
                .database
                .known()
                .is_none_or(|view| *view.group(*access) != Presence::Absent)
        }),
        Step::Publish { app, .. } => observed
            .store
            .known()
            .is_none_or(|store| *store.copy(app) != Presence::Absent),
        Step::CommitIssue(_)
        | Step::CommitOpen { .. }
        | Step::CommitVoid { .. }
        | Step::FillRecord { .. }
        | Step::ReadBack { .. } => observed
            .store
            .known()
            .is_none_or(|store| store.foreign_record.is_some()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, rng_seed: RngSeed::Fixed(crate::SEED), ..ProptestConfig::default() })]

    #[test]
    fn a_plan_is_a_function_of_what_was_seen(scene in scene()) {
        prop_assert_eq!(planned(&scene), planned(&scene));
    }

    #[test]
    fn every_step_waits_only_for_earlier_ones(scene in scene()) {
        let (_, plan) = planned(&scene);
        for (index, planned) in plan.steps.iter().enumerate() {
            prop_assert!(planned.needs.iter().all(|need| *need < index), "{}", plan);
        }
    }

    #[test]
    fn law_1_no_login_and_no_user_is_made_where_one_is(scene in scene()) {
        let (observed, plan) = planned(&scene);
        for planned in &plan.steps {
            match &planned.step {
                Step::CreateLogin { login, .. } => {
                    prop_assert_eq!(observed.database.known().unwrap().login(login), &Presence::Absent);
                }
                Step::CreateCacheUser { user, .. } => {
                    prop_assert_eq!(observed.cache.known().unwrap().user(user), &Presence::Absent);
                }
                Step::CreateDatabase { .. } => {
                    prop_assert_eq!(&observed.database.known().unwrap().database, &Presence::Absent);
                }
                _ => {}
            }
        }
    }

    #[test]
    fn law_2_every_credential_comes_from_a_record_that_was_read(scene in scene()) {
        let (observed, plan) = planned(&scene);
        for (index, planned) in plan.steps.iter().enumerate() {
            match &planned.step {
                Step::CreateLogin { app, record, login, .. } | Step::ProveLogin { app, record, login, from: Source::Ledger } => {
                    let names = issued(&observed, &plan, index, app, *record);
                    prop_assert_eq!(names.map(|(login, _)| login), Some(login.clone()), "{}", plan);
                }
                Step::CreateCacheUser { app, record, user } | Step::ProveCacheUser { app, record, user, from: Source::Ledger } => {
                    let names = issued(&observed, &plan, index, app, *record);
                    prop_assert_eq!(names.and_then(|(_, user)| user), Some(user.clone()), "{}", plan);
                }
                _ => {}
            }
        }
    }

    #[test]
    fn law_2_a_commit_takes_the_next_number_of_a_ledger_that_is_whole(scene in scene()) {
        let (observed, plan) = planned(&scene);
        let commits: Vec<&Step> = plan.steps.iter().map(|planned| &planned.step).filter(|step| is_commit(step)).collect();
        let Some(first) = commits.first() else { return Ok(()) };
        let store = observed.store.known().unwrap();
        let missing = store.ledger.missing(observed.highest());
        match first {
            Step::CommitIssue(IssueDraft { number, .. }) | Step::CommitOpen { record: number, .. } => {
                prop_assert_eq!(commits.len(), 1);
                prop_assert!(missing.is_empty(), "{}", plan);
                let next = observed.highest().map_or(Some(RecordNo::FIRST), RecordNo::next);
                prop_assert_eq!(Some(*number), next);
            }
            _ => {
                let mended: Vec<RecordNo> = commits
                    .iter()
                    .map(|step| match step {
                        Step::CommitVoid { record, .. } | Step::FillRecord { record, .. } => *record,
                        other => panic!("{other} beside a mended record"),
                    })
                    .collect();
                prop_assert!(mended.iter().all(|number| store.ledger.confirmed_missing.contains(number)));
                prop_assert_eq!(mended, missing);
                prop_assert!(plan.steps.iter().all(|planned| is_commit(&planned.step) || !planned.step.writes()));
            }
        }
    }

    #[test]
    fn law_3_nothing_is_committed_unless_everything_was_read(scene in scene()) {
        let (observed, plan) = planned(&scene);
        if plan.steps.iter().any(|planned| is_commit(&planned.step)) {
            prop_assert!(observed.unreadable().is_empty(), "{}", plan);
        }
    }

    #[test]
    fn law_3_no_layer_that_is_unknown_is_written_and_none_at_all_without_store_or_database(scene in scene()) {
        let (observed, plan) = planned(&scene);
        let unknown = |layer| match layer {
            Layer::Store => observed.store.known().is_none(),
            Layer::Database => observed.database.known().is_none(),
            Layer::Cache => observed.cache.known().is_none(),
        };
        for planned in plan.steps.iter().filter(|planned| planned.step.writes()) {
            prop_assert!(!unknown(planned.step.layer()), "{}", plan);
            prop_assert!(!unknown(Layer::Store) && !unknown(Layer::Database), "{}", plan);
        }
    }

    #[test]
    fn law_3_whatever_could_not_be_read_is_said(scene in scene()) {
        let (observed, plan) = planned(&scene);
        for (layer, _, failure) in observed.unreadable() {
            let said = plan.findings.iter().any(|finding| finding.layer == layer && finding.failure == *failure);
            prop_assert!(said, "{}", plan);
        }
    }

    #[test]
    fn law_4_what_is_published_has_logged_in_everywhere_first(scene in scene()) {
        let (observed, plan) = planned(&scene);
        for (index, planned) in plan.steps.iter().enumerate() {
            let Step::Publish { app, record } = &planned.step else { continue };
            let (login, user) = issued(&observed, &plan, index, app, *record).unwrap();
            let rests_on = roots(&plan, index);
            let proven = |step: Step| rests_on.iter().any(|need| plan.steps[*need].step == step);
            let (app, record, from) = (app.clone(), *record, Source::Ledger);
            prop_assert!(proven(Step::ProveLogin { app: app.clone(), record, login, from }), "{}", plan);
            if let Some(user) = user {
                prop_assert!(proven(Step::ProveCacheUser { app, record, user, from }), "{}", plan);
            }
        }
    }

    #[test]
    fn law_6_no_step_names_what_is_not_ours(scene in scene()) {
        let (observed, plan) = planned(&scene);
        for planned in &plan.steps {
            prop_assert!(!touches_what_is_not_ours(&observed, &planned.step), "{} in\n{}", planned.step, plan);
        }
    }

    #[test]
    fn law_7_a_database_is_made_only_where_nothing_remembers_one(scene in scene()) {
        let (observed, plan) = planned(&scene);
        if plan.steps.iter().any(|planned| matches!(planned.step, Step::CreateDatabase { .. })) {
            let store = observed.store.known().unwrap();
            prop_assert!(store.copies.values().all(|copy| matches!(copy, Presence::Absent | Presence::Foreign(_))), "{}", plan);
            let logins = &observed.database.known().unwrap().logins;
            prop_assert!(logins.values().all(|login| matches!(login, Presence::Absent | Presence::Foreign(_))), "{}", plan);
            prop_assert!(!scene.once_ready);
        }
    }

    #[test]
    fn a_tenant_that_is_suspended_or_superseded_writes_nothing(scene in scene()) {
        let (observed, plan) = planned(&scene);
        let claim = observed.store.known().map(|store| store.ledger.claim(scene.uid));
        if scene.suspended || matches!(claim, Some(Claim::Superseded { .. })) {
            prop_assert!(!plan.writes(), "{}", plan);
        }
    }

    #[test]
    fn a_tenant_created_again_makes_its_claim_before_it_writes_anything(scene in scene()) {
        let (observed, plan) = planned(&scene);
        if plan.again || observed.store.known().map(|store| store.ledger.claim(scene.uid)) != Some(Claim::Anothers) {
            return Ok(());
        }
        for (index, planned) in plan.steps.iter().enumerate().filter(|(_, planned)| planned.step.writes()) {
            let claims = |step: &Step| matches!(step, Step::CommitOpen { .. } | Step::CommitIssue(_));
            let claimed = claims(&planned.step) || roots(&plan, index).iter().any(|need| claims(&plan.steps[*need].step));
            prop_assert!(claimed, "{}", plan);
        }
    }

    #[test]
    fn law_8_no_plan_shows_a_secret(scene in scene()) {
        let (observed, plan) = planned(&scene);
        for shown in [format!("{observed:?}"), format!("{plan:?}"), plan.to_string(), plan.to_json().to_string()] {
            prop_assert!(!shown.contains(CANARY));
        }
    }

    #[test]
    fn no_step_runs_before_all_that_it_waits_for_is_done(scene in scene(), luck in prop::collection::vec(0..4_u8, 40)) {
        let (_, plan) = planned(&scene);
        let mut cursor = Cursor::new(&plan);
        let mut ran: Vec<Option<Outcome>> = vec![None; plan.steps.len()];
        while let Some(index) = cursor.advance() {
            prop_assert!(ran[index].is_none(), "a step runs once");
            prop_assert!(plan.steps[index].needs.iter().all(|need| ran[*need] == Some(Outcome::Done)), "{}", plan);
            let outcome = match luck.get(index).copied().unwrap_or(0) {
                0 | 1 => Outcome::Done,
                2 => Outcome::Pending(Reason::CacheUserPending, String::new()),
                _ => Outcome::Failed(Failure::blocked(Reason::Unexpected, "")),
            };
            ran[index] = Some(outcome.clone());
            cursor.note(outcome);
        }
        let outcomes = cursor.finish();
        prop_assert_eq!(outcomes.len(), plan.steps.len());
        for (told, ran) in outcomes.iter().zip(&ran) {
            prop_assert_eq!(told, ran.as_ref().unwrap_or(&Outcome::Skipped));
        }
    }
}
