//! Conditions (kstatus), phase, events, and when to look again.

use crate::common::{World, condition, events, fault, flags, minutes_later, now, passes::Fate, record, tenant, world};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use ramparts_core::{
    api::{Phase, TenantStatus},
    failure::{Class, Failure},
    ledger::Body,
    reason::Reason,
    report::{Next, refuse},
};

fn kinds(status: &TenantStatus) -> Vec<&str> {
    status
        .conditions
        .iter()
        .map(|condition| condition.type_.as_str())
        .collect()
}

#[test]
fn a_tenant_that_is_ready_says_so_four_times_and_nothing_else() {
    let (mut world, mut wish) = (world(), tenant("acme").app("api").app("reporting"));
    let passed = world.pass(&mut wish, now());
    let status = &passed.report.status;
    assert_eq!(
        kinds(status),
        ["Ready", "DatabaseReady", "CacheReady", "CredentialsReady"]
    );
    for kind in kinds(status) {
        assert_eq!(condition(status, kind), Some(("True", "Provisioned")), "{kind}");
    }
    assert!(
        status
            .conditions
            .iter()
            .all(|condition| condition.observed_generation == Some(1))
    );
    assert_eq!(
        (status.observed_generation, status.plan.as_deref()),
        (Some(1), Some("standard"))
    );
    let placement = status.placement.as_ref().unwrap();
    assert_eq!(
        (placement.database.as_str(), placement.cache.as_deref()),
        ("main", Some("main"))
    );
    assert_eq!(passed.report.next, Next::Sweep);
}

#[test]
fn reconciling_and_stalled_are_there_only_while_they_are_true() {
    let (mut world, mut wish) = (world(), tenant("acme").app("api"));
    world.slow_cache = true;
    let passed = world.pass(&mut wish, now());
    let status = &passed.report.status;
    assert_eq!(
        kinds(status),
        [
            "Ready",
            "DatabaseReady",
            "CacheReady",
            "CredentialsReady",
            "Reconciling"
        ]
    );
    assert_eq!(condition(status, "Ready"), Some(("False", "Provisioning")));
    assert_eq!(condition(status, "DatabaseReady"), Some(("True", "Provisioned")));
    assert_eq!(condition(status, "CacheReady"), Some(("False", "CacheUserPending")));
    assert_eq!(passed.report.next, Next::Soon);
    world = world.with_body(2, "uid-2", Body::Open);
    let passed = world.pass(&mut wish, minutes_later(1));
    assert_eq!(
        condition(&passed.report.status, "Stalled"),
        Some(("True", "Superseded"))
    );
    assert_eq!(condition(&passed.report.status, "Reconciling"), None);
    assert_eq!(passed.report.next, Next::Retry(Class::Blocked));
    world.store.ledger.records.remove(&record(2));
    world.settle();
    world.slow_cache = false;
    let passed = world.pass(&mut wish, minutes_later(2));
    assert_eq!(
        kinds(&passed.report.status),
        ["Ready", "DatabaseReady", "CacheReady", "CredentialsReady"]
    );
}

#[test]
fn the_time_of_a_condition_moves_only_when_its_status_flips() {
    let time = |status: &TenantStatus, kind: &str| {
        status
            .conditions
            .iter()
            .find(|it| it.type_ == kind)
            .unwrap()
            .last_transition_time
            .clone()
    };
    let (mut world, mut wish) = (world(), tenant("acme").app("api"));
    world.slow_cache = true;
    world.pass(&mut wish, now());
    world.settle();
    let second = world.pass(&mut wish, minutes_later(1)).report.status;
    assert_eq!(
        time(&second, "Ready"),
        Time(now()),
        "False for another reason is False still"
    );
    assert_eq!(time(&second, "DatabaseReady"), Time(now()));
    world.settle();
    let third = world.pass(&mut wish, minutes_later(2)).report.status;
    assert_eq!(time(&third, "Ready"), Time(minutes_later(2)));
    assert_eq!(time(&third, "CacheReady"), Time(minutes_later(2)));
    assert_eq!(time(&third, "DatabaseReady"), Time(now()));
}

#[test]
fn law_5_two_passes_over_the_same_world_say_the_same_and_nothing_happens() {
    let mut drifted = World::ready(&["api", "worker"]);
    drifted.refusing.insert("acme_api".into());
    let mut blind = World::ready(&["api", "worker"]);
    blind.cache_fault = Some(fault(Reason::CacheUnreachable));
    for (what, mut world) in [
        ("ready", World::ready(&["api", "worker"])),
        ("drifted", drifted),
        ("blind", blind),
        ("lost", World::ready(&["api", "worker"]).without_database()),
        ("conflict", World::ready(&["api", "worker"]).foreign_copy("api")),
    ] {
        let mut wish = tenant("acme").app("api").app("worker");
        world.pass(&mut wish, now());
        let first = world.pass(&mut wish, minutes_later(1)).report;
        let second = world.pass(&mut wish, minutes_later(2)).report;
        assert_eq!(first.status, second.status, "{what}");
        assert_eq!(events(&second), [""; 0], "{what}");
    }
}

#[test]
fn every_step_that_was_done_is_an_event_and_then_the_tenant_is_ready() {
    let (mut world, mut wish) = (world(), tenant("acme").app("api"));
    let passed = world.pass(&mut wish, now());
    assert_eq!(
        events(&passed.report),
        [
            "Normal RecordCommitted",
            "Normal RoleChanged",
            "Normal DatabaseChanged",
            "Normal DatabaseChanged",
            "Normal DatabaseChanged",
            "Normal RoleChanged",
            "Normal RoleChanged",
            "Normal CacheUserChanged",
            "Normal CacheUserChanged",
            "Normal Published",
            "Normal Provisioned",
        ]
    );
    assert_eq!(
        passed.report.events[0].message,
        "commit record 1 with credentials for api: these apps have no credential yet"
    );
}

#[test]
fn what_was_not_done_is_no_event() {
    let (mut world, mut wish) = (world(), tenant("acme").app("api"));
    let passed = world
        .pass_with(
            &mut wish,
            now(),
            |index| if index == 3 { Fate::Fails } else { Fate::Happens },
        )
        .unwrap();
    let told = events(&passed.report);
    assert_eq!(told[..2], ["Normal RecordCommitted", "Normal RoleChanged"]);
    assert!(
        !told
            .iter()
            .any(|event| event.contains("DatabaseChanged") || event.contains("Published")),
        "{told:?}"
    );
    assert_eq!(told.last().unwrap(), "Warning DatabaseUnreachable");
    assert_eq!(passed.report.next, Next::Retry(Class::Transient));
}

#[test]
fn trouble_is_a_warning_once_and_so_is_nothing_that_merely_waits() {
    let (mut drifted, mut wish) = (World::ready(&["api"]), tenant("acme").app("api"));
    drifted.pass(&mut wish, now());
    drifted.login_mut("acme_api").can_login = false;
    assert_eq!(
        events(&drifted.pass(&mut wish, minutes_later(1)).report),
        ["Warning CredentialDrift"]
    );
    assert_eq!(events(&drifted.pass(&mut wish, minutes_later(2)).report), [""; 0]);
    drifted.login_mut("acme_api").can_login = true;
    assert_eq!(
        events(&drifted.pass(&mut wish, minutes_later(3)).report),
        ["Normal Provisioned"]
    );

    let (mut slow, mut wish) = (world(), tenant("acme").app("api"));
    slow.slow_cache = true;
    assert_eq!(
        events(&slow.pass(&mut wish, now()).report).last().unwrap(),
        "Normal Provisioning"
    );

    let mut suspended = tenant("acme").app("api").suspended();
    assert_eq!(
        events(&world().pass(&mut suspended, now()).report),
        ["Normal Suspended"]
    );
}

#[test]
fn the_phase_follows_what_is_known() {
    let phase = |mut world: World, wish: crate::common::Wish| world.pass(&mut wish.clone(), now()).report.status.phase;
    let wish = || tenant("acme").app("api");
    let mut unread = world();
    unread.cache_fault = Some(fault(Reason::CacheUnreachable));
    assert_eq!(phase(unread, wish()), Phase::Pending);
    let mut half = world().with_record(1, &["api"]);
    half.cache_fault = Some(fault(Reason::CacheUnreachable));
    assert_eq!(phase(half, wish()), Phase::Provisioning);
    assert_eq!(phase(world(), wish()), Phase::Ready);
    assert_eq!(phase(world().foreign_role("acme_api"), wish()), Phase::Blocked);
    assert_eq!(phase(world(), wish().suspended()), Phase::Pending);
}

#[test]
fn a_refused_manifest_leaves_everything_in_force_and_in_sight() {
    let (mut world, mut wish) = (world(), tenant("acme").app("api"));
    let before = world.pass(&mut wish, now()).report;
    let refusal = wish.clone().pinned(Some("third"), None).desire().unwrap_err();
    let after = refuse(&refusal, 2, wish.tenant.status.as_ref(), minutes_later(1));
    assert_eq!(flags(&after), [true; 3]);
    assert_eq!(
        (after.status.plan.as_deref(), &after.status.apps),
        (Some("standard"), &before.status.apps)
    );
    assert_eq!(
        (after.status.phase, after.status.observed_generation),
        (Phase::Blocked, Some(2))
    );
    assert_eq!(condition(&after.status, "Ready"), Some(("False", "UnknownPlacement")));
    assert_eq!(condition(&after.status, "Stalled"), Some(("True", "UnknownPlacement")));
    assert_eq!(
        (events(&after), after.next),
        (vec!["Warning UnknownPlacement".into()], Next::Retry(Class::Refused))
    );
    let again = refuse(&refusal, 2, Some(&after.status), minutes_later(2));
    assert_eq!((again.status, again.events), (after.status, vec![]));
}

#[test]
fn a_plan_that_the_settings_do_not_know_is_said_and_everything_else_is_looked_after() {
    let (mut world, mut wish) = (World::ready(&["api"]), tenant("acme").app("api"));
    world.pass(&mut wish, now());
    let mut wish = wish.plan("huge");
    world.login_mut("acme_api").connections = 1;
    world.cache.users.clear();
    let passed = world.pass(&mut wish, minutes_later(1));
    assert_eq!(
        condition(&passed.report.status, "Ready"),
        Some(("False", "UnknownPlan"))
    );
    assert_eq!(
        condition(&passed.report.status, "CredentialsReady"),
        Some(("True", "Provisioned"))
    );
    assert_eq!(
        (flags(&passed.report), passed.report.status.phase),
        ([true; 3], Phase::Blocked)
    );
    assert_eq!(passed.report.status.plan.as_deref(), Some("standard"));
    assert_eq!(world.cache.users.len(), 1, "what was lost is made again");
    assert_eq!(world.login_mut("acme_api").connections, 1, "the limits in force stay");
}

#[test]
fn a_new_tenant_with_an_unknown_plan_or_app_waits() {
    for mut wish in [
        tenant("acme").app("api").plan("huge"),
        tenant("acme").app("api").adding("nosuch"),
    ] {
        let mut world = world();
        let passed = world.pass(&mut wish, now());
        assert!(!passed.plan.writes());
        assert_eq!(
            (flags(&passed.report), passed.report.status.phase),
            ([false; 3], Phase::Blocked)
        );
    }
}

#[test]
fn what_this_version_does_not_do_is_said_beside_ready() {
    let (mut world, mut wish) = (World::ready(&["api"]), tenant("acme").app("api"));
    wish = wish.deleting_everything().issued_before("2026-11-14T00:00:00Z");
    let passed = world.pass(&mut wish, now());
    let ready = &passed.report.status.conditions[0];
    assert_eq!((ready.type_.as_str(), ready.status.as_str()), ("Ready", "True"));
    assert!(
        ready.message.contains("deletionPolicy Delete is not carried out"),
        "{}",
        ready.message
    );
    assert!(
        ready.message.contains("rotation is not carried out"),
        "{}",
        ready.message
    );
}

#[test]
fn one_fault_is_said_once_and_a_condition_stays_short() {
    let apps = ["api", "worker", "reporting", "web-admin"];
    let mut world = World::ready(&apps);
    for app in ["acme_api", "acme_worker", "acme_reporting", "acme_webadmin"] {
        world.login_mut(app).can_login = false;
    }
    let mut wish = apps.iter().fold(tenant("acme"), |wish, app| wish.app(app));
    let message = &world.pass(&mut wish, now()).report.status.conditions[0].message;
    assert_eq!(message.matches("NOLOGIN").count(), 3, "{message}");
    assert!(message.ends_with("and 1 more"), "{message}");
}

#[test]
fn a_server_that_is_not_enrolled_needs_a_person_and_keeps_the_flags() {
    let (mut world, mut wish) = (World::ready(&["api"]), tenant("acme").app("api"));
    world.pass(&mut wish, now());
    world.database_fault = Some(Failure::blocked(
        Reason::NotEnrolled,
        "server main and the store do not know each other",
    ));
    let passed = world.pass(&mut wish, minutes_later(1));
    assert_eq!(
        (flags(&passed.report), passed.report.status.phase),
        ([true; 3], Phase::Blocked)
    );
    assert_eq!(
        condition(&passed.report.status, "DatabaseReady"),
        Some(("Unknown", "NotEnrolled"))
    );
    assert_eq!(
        condition(&passed.report.status, "Stalled"),
        Some(("True", "NotEnrolled"))
    );
}
