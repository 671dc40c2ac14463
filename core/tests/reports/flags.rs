//! Law 5: three flags that are always there. One keeps its last value while its layer could not be read, turns false when a proof is
//! refused or cannot reach the server, and for no other reason.

use crate::common::{
    Wish, World, app, condition, fault, flags, minutes_later, now,
    passes::{Fate, Passed, finish},
    record, tenant, world,
};
use ramparts_core::{
    api::Phase,
    cursor::Outcome,
    failure::Failure,
    ledger::Body,
    observed::{Membership, Presence},
    plan::plan,
    reason::Reason,
    report::refuse,
    secret::Secret,
};

/// A Ready tenant and its status.
fn ready(apps: &[&str]) -> (World, Wish) {
    let mut world = World::ready(apps);
    let mut wish = apps.iter().fold(tenant("acme"), |wish, app| wish.app(app));
    let passed = world.pass(&mut wish, now());
    assert_eq!(
        (flags(&passed.report), passed.report.status.phase),
        ([true; 3], Phase::Ready)
    );
    (world, wish)
}

/// A later pass, when every proof is old.
fn next_day(world: &mut World, wish: &mut Wish) -> Passed {
    world.pass(wish, minutes_later(24 * 60 + 1))
}

#[test]
fn law_5_all_three_flags_are_there_from_the_first_write_on() {
    let (mut world, mut wish) = (world(), tenant("acme").app("api"));
    world.store_fault = Some(fault(Reason::StoreUnreachable));
    let passed = world.pass(&mut wish, now());
    let refusal = refuse(&Failure::refused(Reason::UnknownPlan, "no such plan"), 1, None, now());
    for status in [passed.report.status, refusal.status] {
        let written = serde_json::to_value(&status).unwrap();
        for flag in ["dbReady", "redisReady", "credentialsReady"] {
            assert_eq!(written[flag], serde_json::Value::Bool(false), "{flag}");
        }
    }
}

#[test]
fn each_flag_turns_true_when_its_own_layer_is_done() {
    let (mut world, mut wish) = (world(), tenant("acme").app("api").app("reporting"));
    world.slow_cache = true;
    let passed = world.pass(&mut wish, now());
    assert_eq!(
        (flags(&passed.report), passed.report.status.phase),
        ([true, false, false], Phase::Provisioning)
    );
    world.settle();
    let passed = world.pass(&mut wish, minutes_later(1));
    assert_eq!(
        (flags(&passed.report), passed.report.status.phase),
        ([true, false, false], Phase::Provisioning)
    );
    world.settle();
    let passed = world.pass(&mut wish, minutes_later(2));
    assert_eq!(
        (flags(&passed.report), passed.report.status.phase),
        ([true; 3], Phase::Ready)
    );
}

#[test]
fn law_3_no_flag_is_true_for_a_tenant_that_was_not_issued_anything() {
    for (store, database, cache) in [(true, false, false), (false, true, false), (false, false, true)] {
        let (mut world, mut wish) = (world(), tenant("acme").app("api"));
        world.store_fault = store.then(|| fault(Reason::StoreUnreachable));
        world.database_fault = database.then(|| fault(Reason::DatabaseUnreachable));
        world.cache_fault = cache.then(|| fault(Reason::CacheUnreachable));
        let passed = world.pass(&mut wish, now());
        assert_eq!(
            (flags(&passed.report), passed.report.status.phase),
            ([false; 3], Phase::Pending)
        );
    }
}

#[test]
fn a_tenant_without_apps_has_nothing_that_could_be_ready() {
    let passed = world().pass(&mut tenant("acme"), now());
    assert_eq!(flags(&passed.report), [false; 3]);
}

#[test]
fn law_3_a_flag_keeps_its_last_value_while_its_layer_could_not_be_read() {
    let denied = || Some(fault(Reason::AccessDenied));
    for break_it in [
        (|world| world.store_fault = Some(fault(Reason::StoreUnreachable))) as fn(&mut World),
        |world| world.database_fault = Some(fault(Reason::AccessDenied)),
        |world| world.cache_fault = Some(fault(Reason::AccessDenied)),
        |world| {
            let unread = Presence::Unknown(fault(Reason::AccessDenied));
            world.store.copies.insert(app("api"), unread);
        },
    ] {
        let (mut world, mut wish) = ready(&["api"]);
        break_it(&mut world);
        let passed = next_day(&mut world, &mut wish);
        assert_eq!(
            (flags(&passed.report), passed.report.status.phase),
            ([true; 3], Phase::Degraded)
        );
        assert_eq!(condition(&passed.report.status, "Ready").unwrap().0, "Unknown");
    }
    // And one that was false stays false.
    let (mut world, mut wish) = (World::ready(&["api"]), tenant("acme").app("api"));
    world.database_fault = denied();
    assert_eq!(flags(&world.pass(&mut wish, now()).report), [false, true, true]);
}

#[test]
fn a_flag_turns_false_when_the_proof_cannot_reach_the_server() {
    let (mut world, mut wish) = ready(&["api"]);
    world.database_fault = Some(fault(Reason::DatabaseUnreachable));
    let passed = next_day(&mut world, &mut wish);
    assert_eq!(
        (flags(&passed.report), passed.report.status.phase),
        ([false, true, true], Phase::Degraded)
    );
    world.database_fault = None;
    world.cache_fault = Some(fault(Reason::CacheUnreachable));
    let passed = next_day(&mut world, &mut wish);
    assert_eq!(flags(&passed.report), [true, false, true]);
    world.cache_fault = None;
    assert_eq!(flags(&next_day(&mut world, &mut wish).report), [true; 3]);
}

#[test]
fn law_5_an_app_that_is_being_made_takes_nothing_from_those_that_are_ready() {
    let (mut world, wish) = ready(&["api", "reporting"]);
    world.slow_cache = true;
    let wish = wish.app("worker");
    let steps = world.plan(&wish).steps.len();
    for fate in [Fate::Happens, Fate::Fails, Fate::ReplyLost] {
        for at in 0..steps {
            let (mut world, mut wish) = (world.clone(), wish.clone());
            for minute in 1..6 {
                let now = minutes_later(minute);
                let fated = |index| {
                    if index == at && minute == 1 {
                        fate
                    } else {
                        Fate::Happens
                    }
                };
                let passed = world.pass_with(&mut wish, now, fated).unwrap();
                let proof_failed = passed
                    .plan
                    .steps
                    .iter()
                    .zip(&passed.outcomes)
                    .any(|(planned, outcome)| {
                        planned.step.app().is_some_and(|app| app.as_str() != "worker") && *outcome != Outcome::Done
                    });
                if !proof_failed {
                    assert_eq!(
                        flags(&passed.report),
                        [true; 3],
                        "{fate:?} at {}, minute {minute}",
                        at + 1
                    );
                }
                world.settle();
            }
            assert_eq!(wish.tenant.status.unwrap().phase, Phase::Ready);
        }
    }
}

#[test]
fn a_busy_user_group_takes_nothing_from_those_that_are_ready() {
    let (mut world, wish) = ready(&["api"]);
    world.cache.group_busy = Some("modifying".into());
    let passed = world.pass(&mut wish.app("worker"), minutes_later(1));
    assert_eq!(
        (flags(&passed.report), passed.report.status.phase),
        ([true; 3], Phase::Provisioning)
    );
}

#[test]
fn a_user_that_the_service_is_changing_is_ready_as_long_as_it_logs_in() {
    let (mut world, mut wish) = ready(&["api"]);
    world.user_mut("prod-acme-api").pending = Some("modifying".into());
    let passed = next_day(&mut world, &mut wish);
    assert_eq!(
        (flags(&passed.report), passed.report.status.phase),
        ([true; 3], Phase::Ready)
    );
}

#[test]
fn a_lock_that_another_holds_takes_nothing_away() {
    let (world, mut wish) = ready(&["api"]);
    wish = wish.plan("large").app("worker");
    let desired = wish.desired();
    let observed = world.observe(&desired);
    let locked = Failure::transient(Reason::Locked, "another pass is at it");
    let plan = plan(&desired, &observed, minutes_later(1)).without_writes(locked);
    assert!(!plan.writes());
    let report = finish(&wish, &observed, &plan, &[], minutes_later(1));
    assert_eq!(flags(&report), [true; 3]);
    assert_eq!(condition(&report.status, "Ready"), Some(("False", "Provisioning")));
    assert_eq!(
        report.status.plan.as_deref(),
        Some("standard"),
        "the new plan is not in force yet"
    );
}

#[test]
fn suspending_takes_nothing_away() {
    let (mut world, wish) = ready(&["api"]);
    let passed = world.pass(&mut wish.plan("large").app("worker").suspended(), minutes_later(1));
    assert_eq!(flags(&passed.report), [true; 3]);
    assert_eq!(condition(&passed.report.status, "Ready"), Some(("False", "Suspended")));
    assert_eq!(passed.report.status.plan.as_deref(), Some("standard"));
}

#[test]
fn a_manifest_that_cannot_be_followed_takes_nothing_away() {
    let (mut world, wish) = ready(&["api"]);
    let passed = world.pass(&mut wish.clone().pinned(Some("second"), None), minutes_later(1));
    assert_eq!(
        (flags(&passed.report), passed.report.status.phase),
        ([true; 3], Phase::Blocked)
    );
    world = world.with_body(2, "uid-2", Body::Open);
    let passed = world.pass(&mut wish.clone(), minutes_later(1));
    assert_eq!(
        (flags(&passed.report), passed.report.status.phase),
        ([true; 3], Phase::Blocked)
    );
}

#[test]
fn limits_that_could_not_be_set_take_nothing_away() {
    let (mut world, mut wish) = ready(&["api"]);
    wish = wish.plan("large");
    let passed = world.pass_with(&mut wish, minutes_later(1), |_| Fate::Fails).unwrap();
    assert_eq!(
        (flags(&passed.report), passed.report.status.plan.as_deref()),
        ([true; 3], Some("standard"))
    );
    let passed = world.pass(&mut wish, minutes_later(2));
    assert_eq!(
        (passed.report.status.plan.as_deref(), passed.report.status.phase),
        (Some("large"), Phase::Ready)
    );
}

#[test]
fn while_a_record_is_mended_the_flags_stay_as_they_were() {
    let (mut world, mut wish) = ready(&["api"]);
    world = world.lost_record(1).confirmed(1);
    let passed = world.pass(&mut wish, minutes_later(1));
    assert!(world.has_record(1));
    assert_eq!(
        (flags(&passed.report), passed.report.status.phase),
        ([true; 3], Phase::Provisioning)
    );
    let (mut fresh, mut newcomer) = (
        World::ready(&["api"]).lost_record(1).confirmed(1),
        tenant("acme").app("api"),
    );
    assert_eq!(flags(&fresh.pass(&mut newcomer, now()).report), [false; 3]);
}

#[test]
fn a_copy_that_was_deleted_and_cannot_be_written_again_is_missed() {
    let (mut world, mut wish) = ready(&["api"]);
    world = world.without_copy("api");
    let steps = world.plan(&wish).steps.len();
    let publishing = |index| if index + 1 == steps { Fate::Fails } else { Fate::Happens };
    for minute in 1..3 {
        let passed = world.pass_with(&mut wish, minutes_later(minute), publishing).unwrap();
        assert_eq!(flags(&passed.report), [true, true, false]);
    }
    assert_eq!(flags(&world.pass(&mut wish, minutes_later(3)).report), [true; 3]);
}

#[test]
fn a_copy_that_was_deleted_and_is_written_again_is_not_missed() {
    let (mut world, mut wish) = ready(&["api"]);
    world = world.without_copy("api");
    assert_eq!(flags(&world.pass(&mut wish, minutes_later(1)).report), [true; 3]);
}

#[test]
fn a_copy_that_somebody_changed_is_no_longer_a_ready_credential() {
    let (mut world, mut wish) = ready(&["api", "worker"]);
    world.copy_mut("api").copy.database.password = Secret::new("CANARY".into());
    let passed = world.pass(&mut wish, minutes_later(1));
    assert_eq!(
        (flags(&passed.report), passed.report.status.phase),
        ([true, true, false], Phase::Blocked)
    );
}

#[test]
fn a_cache_user_that_is_made_again_is_not_ready_until_it_logs_in() {
    let (mut world, mut wish) = ready(&["api"]);
    world.slow_cache = true;
    world = world.without_user("prod-acme-api");
    for minute in 1..3 {
        let passed = world.pass(&mut wish, minutes_later(minute));
        assert_eq!(flags(&passed.report), [true, false, true]);
        world.settle();
    }
    assert_eq!(flags(&world.pass(&mut wish, minutes_later(3)).report), [true; 3]);
}

#[test]
fn a_published_user_outside_a_busy_group_is_not_ready() {
    let (mut world, mut wish) = ready(&["api"]);
    world.cache.group_busy = Some("modifying".into());
    world.user_mut("prod-acme-api").membership = Membership::Outside;
    assert_eq!(
        flags(&world.pass(&mut wish, minutes_later(1)).report),
        [true, false, true]
    );
}

#[test]
fn law_7_a_database_that_only_the_status_remembers_stays_lost_whatever_comes_between() {
    let (mut world, mut wish) = ready(&["api"]);
    world = world.without_database().without_login("acme_api").without_copy("api");
    for minute in 1..8 {
        // A store that does not answer, and a manifest that is refused, must not make the status forget.
        world.store_fault = (minute % 3 == 0).then(|| fault(Reason::StoreUnreachable));
        let passed = world.pass(&mut wish, minutes_later(minute));
        assert!(!passed.plan.writes(), "minute {minute}: {}", passed.plan);
        assert!(!passed.report.status.db_ready || minute % 3 == 0);
        if minute % 2 == 0 {
            let refusal = Failure::refused(Reason::UnknownPlan, "no such plan");
            let refused = refuse(&refusal, 2, wish.tenant.status.as_ref(), minutes_later(minute));
            wish.tenant.status = Some(refused.status);
        }
    }
    assert_eq!(
        condition(wish.tenant.status.as_ref().unwrap(), "Ready").unwrap().1,
        "DatabaseLost"
    );
}

#[test]
fn a_database_that_is_lost_is_not_ready() {
    let (mut world, mut wish) = ready(&["api"]);
    world = world.without_database();
    let passed = world.pass(&mut wish, minutes_later(1));
    assert_eq!(
        (flags(&passed.report), passed.report.status.phase),
        ([false, true, true], Phase::Blocked)
    );
    assert_eq!(
        condition(&passed.report.status, "DatabaseReady"),
        Some(("False", "DatabaseLost"))
    );
    assert!(world.store.ledger.records.contains_key(&record(1)));
}
